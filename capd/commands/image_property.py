"""`capd image-property`: list, show and set what instances have, and carry records to Nova.

Chooses where image properties are kept: in Nova's databases if the configuration files name them
(on a controller, with /etc/nova/nova.conf), else on this host. Exit codes are those of
`nova-manage image_property`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from capd.commands import register
from capd.errors import InputError, visible

if TYPE_CHECKING:
    from capd.commands.backend import Backend, Changed, Listing
    from capd.commands.local import LocalBackend
    from capd.config import Settings

HELP = "list, show and set the device buses and models that instances have"

DESCRIPTION = """\
Device buses and models of instances: what each has, where that came from, and how to change it.

On a hypervisor these are capd's records and libvirt's domains. Where the configuration files name
Nova's API database (--config-file /etc/nova/nova.conf on a controller) they are what Nova keeps;
--local stays with this host all the same.

exit codes (those of nova-manage image_property, and 7):
  0  done                                   4  a property is not NAME=VALUE
  1  unexpected failure                     5  no image property of that name
  2  instance not found; wrong command line 6  the property does not take that value
  3  wrong state; property not found;       7  this host cannot do that; list --unsupported
     list --drift found something              found something
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs and their options."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_list(verbs)
    show = _verb(verbs, "show", "print one property of one instance")
    show.add_argument("instance", metavar="INSTANCE", help="uuid or libvirt name")
    show.add_argument("property", metavar="PROPERTY")
    change = _verb(
        verbs,
        "set",
        "change properties of a stopped instance",
        "All properties or none. The instance must be shut off. A domain that Nova does not "
        "manage is defined anew; its old definition is kept for restore.",
    )
    change.add_argument("instance", metavar="INSTANCE", help="uuid or libvirt name")
    change.add_argument(
        "--property",
        dest="properties",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="may be given several times",
    )
    change.add_argument(
        "--force", action="store_true", help="go ahead where the host is known not to be able to"
    )
    put_back = _verb(
        verbs,
        "restore",
        "put back the definition that the last set replaced",
        "Byte for byte; the record goes back with it. Again: the one before. Refused where the "
        "definition was changed by other means since.",
    )
    put_back.add_argument("instance", metavar="INSTANCE", help="uuid or libvirt name")
    put_back.add_argument(
        "--force", action="store_true", help="take back what was changed since, too"
    )
    out = _verb(verbs, "export", "records as lines of JSON, for register on a controller")
    out.add_argument("instance", metavar="INSTANCE", nargs="?", help="only this one")
    into = verbs.add_parser(
        "register",
        help=register.HELP,
        description=register.DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    register.add_arguments(into)


def _add_list(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _verb(verbs, "list", "show all instances, or one")
    parser.add_argument("instance", metavar="INSTANCE", nargs="?", help="uuid or libvirt name")
    parser.add_argument(
        "--host", metavar="HOST", help="with Nova's database: only instances on this hypervisor"
    )
    parser.add_argument(
        "--all", action="store_true", help="all instances; the default without INSTANCE or --host"
    )
    parser.add_argument(
        "--xml",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="domain XML from files instead, for example out of a support bundle; - is standard "
        "input; no store is touched",
    )
    parser.add_argument(
        "--from",
        dest="facts",
        metavar="DIR",
        type=Path,
        help="use the facts of a host recorded with capd --dump --record DIR",
    )
    parser.add_argument(
        "--drift", action="store_true", help="only instances that differ from their record"
    )
    parser.add_argument(
        "--unsupported",
        action="store_true",
        help="only instances of which this host (or that of --from) cannot do what is recorded",
    )


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    more: str = "",
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}. {more}")
    parser.add_argument("--json", dest="as_json", action="store_true", help="JSON for scripts")
    parser.add_argument(
        "--local", action="store_true", help="this host's records, whatever is configured"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Do one verb; returns its exit code."""
    from capd import config

    from_files = args.verb == "list" and bool(args.xml)
    settings = config.load(args.config_file, needed=not from_files)
    if args.verb == "register":
        return register.run(args, settings)
    if args.verb == "export":
        for line in _local(args, settings).export(args.instance):
            print(line)
        return 0
    if args.verb == "list":
        return _print_listing(_list(args, settings), args.as_json)
    if args.verb == "restore":
        done = _local(args, settings).restore(args.instance, args.force)
        return _print_changed(done, args.as_json)
    backend = _backend(args, settings)
    if args.verb == "set":
        done = backend.set(args.instance, args.properties, args.force)
        return _print_changed(done, args.as_json)
    shown = backend.show(args.instance, args.property)
    _notes(shown.notes)
    print(json.dumps(shown.document) if args.as_json else shown.value)
    return 0


def _list(args: argparse.Namespace, settings: Settings) -> Listing:
    if args.xml:
        if args.instance or args.drift:
            raise InputError("list --xml takes neither an instance nor --drift")
        return _local(args, settings).files(args.xml)
    if args.instance is not None and (args.host is not None or args.all):
        raise InputError("list takes an instance, --host or --all, one of them")
    if args.facts is not None or args.drift or args.unsupported:
        if args.host is not None:
            raise InputError(
                "list --host asks Nova's database, --from, --drift and --unsupported this host",
                culprit="--host",
                cure="leave one of them out",
            )
        return _local(args, settings).list(args.instance)
    return _backend(args, settings).list(args.instance)


def _backend(args: argparse.Namespace, settings: Settings) -> Backend:
    """Nova's databases if they are configured, else this host."""
    # the option is Nova's own; a plain look avoids loading SQLAlchemy on hypervisors
    if not args.local and _names_nova(settings):
        from capd.novadb import require

        require()
        from capd.commands.nova import NovaBackend

        return NovaBackend(settings, getattr(args, "host", None))
    if getattr(args, "host", None) is not None:
        raise InputError(
            "list --host needs Nova's database",
            culprit="--host",
            cure="give Nova's file too: --config-file /etc/nova/nova.conf",
        )
    return _local(args, settings)


def _local(args: argparse.Namespace, settings: Settings) -> LocalBackend:
    from capd.commands.local import LocalBackend

    return LocalBackend(
        settings,
        source=getattr(args, "facts", None),
        drift=getattr(args, "drift", False),
        unsupported=getattr(args, "unsupported", False),
        judge=args.as_json,
    )


def _names_nova(settings: Settings) -> bool:
    from oslo_config import cfg

    from capd import osloconf

    settings.conf.register_opt(cfg.StrOpt("connection", secret=True), group="api_database")
    return bool(osloconf.value(settings.conf, "api_database", "connection"))


def _print_listing(listing: Listing, as_json: bool) -> int:
    if as_json:
        print(json.dumps(list(listing.documents), indent=1))
        _notes(listing.notes)
        return listing.exit_code
    rows = [[visible(cell) for cell in row] for row in (listing.header, *listing.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(listing.header))]
    if listing.rows:
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths))
            print("  ".join(cells).rstrip())
    _notes([*listing.notes, *([listing.legend] if listing.legend and listing.rows else [])])
    return listing.exit_code


def _print_changed(done: Changed, as_json: bool) -> int:
    if as_json:
        print(json.dumps(done.document))
    else:
        for message in done.messages:
            print(message)
    _notes(done.warnings)
    return 0


def _notes(notes: Sequence[str]) -> None:
    for note in notes:
        print(f"capd: {note}", file=sys.stderr)
