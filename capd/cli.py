"""The command line: arguments to one command, and every expected failure to one exit code.

`COMMANDS` and `MODES` are the tables from which the parser, the man page and the shell completion
are made.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional, Protocol

from capd import __version__
from capd.errors import CapdError

#: subcommand to the module in `capd.commands` that does it
COMMANDS = {
    "image-property": "image_property",
    "match": "match",
    "diff": "diff",
}

#: mode flag (without dashes) to module; no flag at all is the daemon
MODES = {
    "once": "once",
    "dump": "dump",
    "check": "check",
    "withdraw": "withdraw",
}

#: option to where argparse keeps it, and the modes it goes with
_OPTIONS_OF_MODES = {
    "--json": ("json", ("dump", "check", "withdraw")),
    "--record": ("record", ("dump",)),
    "--from": ("source", ("dump", "once")),
    "--dry-run": ("dry_run", ("withdraw",)),
}

#: what standard output says where its file cannot grow
_UNWRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

EXIT_CODES = """\
exit codes:
  0  done
  1  something failed; with --once: not everything was reported
  2  wrong command line or configuration
  image-property has codes of its own: see capd image-property --help
"""


class Command(Protocol):
    """What a module of `capd.commands` offers."""

    HELP: str
    DESCRIPTION: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def command(name: str) -> Command:
    """The module that does `name`, a value of COMMANDS or MODES."""
    module: Command = importlib.import_module(f"capd.commands.{name}")
    return module


def build_parser(only: Optional[str] = None) -> argparse.ArgumentParser:
    """The whole parser, or with `only` just that subcommand's arguments (others by name)."""
    parser = argparse.ArgumentParser(
        prog="capd",
        description="Tell OpenStack Placement what this hypervisor can really emulate. Without a "
        "mode or command capd runs as the daemon, in the foreground.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # `--with` is no way to take back every trait of a host
    )
    parser.add_argument("--version", action="version", version=f"capd {__version__}")
    _common(parser)
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--once", action="store_true", help="one full pass, then exit")
    modes.add_argument(
        "--dump",
        action="store_true",
        help="discover and show facts, traits and the plan against Placement; write nothing",
    )
    modes.add_argument(
        "--check", action="store_true", help="PASS / WARN / FAIL for everything capd depends on"
    )
    modes.add_argument(
        "--withdraw", action="store_true", help="take every trait that capd owns back"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="with --dump, --check or --withdraw: one JSON document instead of text",
    )
    parser.add_argument(
        "--record",
        metavar="DIR",
        type=Path,
        help="with --dump: keep the raw documents in DIR, for a bug report or a fixture",
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="DIR",
        type=Path,
        help="with --dump or --once: use recorded documents instead of libvirt and the emulators",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --withdraw: show what would go, write nothing"
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        if only is not None and name != only:
            subparsers.add_parser(name, add_help=False)
            continue
        loaded = command(module)
        child = subparsers.add_parser(
            name,
            help=loaded.HELP,
            description=loaded.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        loaded.add_arguments(child)
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config-file",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="may be given several times, a later file wins; /etc/nova/nova.conf may be one of "
        "them (default: /etc/capd/capd.conf if it exists)",
    )
    parser.add_argument("--debug", action="store_true", help="log every step on standard error")


def _mode(args: argparse.Namespace) -> str:
    if args.command:
        return COMMANDS[args.command]
    for flag, module in MODES.items():
        if getattr(args, flag):
            return module
    return "daemon"


def _refuse_strays(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Exit with 2 where an option would be ignored: `--once --dry-run` would write."""
    mode = _mode(args)
    given = [flag for flag in MODES if getattr(args, flag)]
    if args.command:
        if given:
            parser.error(f"argument --{given[0]}: not allowed with the command {args.command}")
        return
    for option, (place, modes) in _OPTIONS_OF_MODES.items():
        if getattr(args, place) and mode not in modes:
            wanted = " or ".join(f"--{name}" for name in modes)
            parser.error(f"argument {option}: goes with {wanted} only")


def _run(arguments: list[str]) -> int:
    """Parse and do it; the exit code."""
    first = next((word for word in arguments if word in COMMANDS), "")
    wants_help = not first and not {"-h", "--help"}.isdisjoint(arguments)
    parser = build_parser(only=None if wants_help else first)
    args = parser.parse_args(arguments)
    _refuse_strays(parser, args)
    logging.basicConfig(
        level=logging.WARNING,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    # capd's own words only: libraries log each request with what is in it
    logging.getLogger("capd").setLevel(logging.DEBUG if args.debug else logging.NOTSET)
    code = command(_mode(args)).run(args)
    sys.stdout.flush()
    return code


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run `capd` with `argv`; returns the exit code. Never a traceback for an expected failure."""
    _fill_gaps()
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except CapdError as error:
        print(f"capd: {error.line()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as error:
        if error.errno not in _UNWRITTEN or error.filename is not None:
            raise
        _drop_output()
        print(
            f"capd: cannot write the output: {error.strerror} (free some space)", file=sys.stderr
        )
        return 1


def _fill_gaps() -> None:
    """Give standard streams that are closed a place, lest a file of ours gets their number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, so this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _drop_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's end does not stumble."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main())
