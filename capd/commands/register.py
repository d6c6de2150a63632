"""`capd image-property register [FILE ...]`: records from hypervisors into Nova's database.

Results go to standard output, a line for each instance that is worth one; progress goes to
standard error. Interrupted at any point, the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Optional, TextIO

from capd.errors import visible

if TYPE_CHECKING:
    from capd.config import Settings
    from capd.novadb.register import Kind, Outcome

HELP = "write what hypervisors recorded into Nova's database, where Nova has nothing"
DESCRIPTION = """\
Write the records of `capd image-property export` into Nova's database: only properties that are
undefined there, only for instances whose host and image are still the same, all of an instance or
nothing. Nova's own values are never changed; where they differ from the record, both are shown.
It can be interrupted and repeated at will."""

#: seconds between two lines of progress, on a terminal and elsewhere
_TERMINAL, _ELSEWHERE = 0.5, 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `register`."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=Path,
        help="output of `capd image-property export`; - or nothing: standard input",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, write nothing"
    )
    parser.add_argument(
        "--all",
        dest="verbose",
        action="store_true",
        help="a line for every instance, also for those that are complete",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Register; 0 if every instance is complete now, 1 if some were skipped."""
    from capd.novadb import require

    require()
    from capd.novadb import exported
    from capd.novadb.cells import Cloud
    from capd.novadb.register import Kind, Register

    counts: Counter[Kind] = Counter()
    progress = _Progress(_lines(args.files), sys.stderr)
    headed = bool(args.json)
    with Cloud(settings.conf) as cloud:
        try:
            for outcome in Register(cloud, args.dry_run).run(exported.read(args.files)):
                counts[outcome.kind] += 1
                written = outcome.kind is Kind.REGISTERED and (args.dry_run or args.verbose)
                differs = bool(outcome.differences)
                if written or differs or outcome.kind is Kind.SKIPPED or args.verbose:
                    if not headed:
                        print(_row("INSTANCE", "HOST", "RESULT", ""))
                        headed = True
                    _print(outcome, args.json, args.dry_run)
                progress.count(counts[Kind.SKIPPED])
        finally:
            progress.end()
    print(_summary(counts, args.dry_run), file=sys.stderr)
    return 1 if counts[Kind.SKIPPED] else 0


def _print(outcome: Outcome, as_json: bool, dry_run: bool) -> None:
    if as_json:
        document = {
            "uuid": outcome.uuid,
            "name": outcome.name,
            "host": outcome.host,
            "result": outcome.kind.value,
            "dry_run": dry_run,
            "written": dict(outcome.written),
            "differences": [
                {"property": one.name, "nova": one.nova, "recorded": one.recorded}
                for one in outcome.differences
            ],
            "because": outcome.because or None,
        }
        print(json.dumps(document))
        return
    parts = [f"{name}={value}" for name, value in outcome.written.items()]
    parts += [
        f"{one.name} stays {one.nova}, recorded {one.recorded}" for one in outcome.differences
    ]
    what = outcome.because or ", ".join(parts)
    result = "would write" if dry_run and outcome.written else outcome.kind.value
    print(_row(outcome.uuid, outcome.host, result, what))


def _row(uuid: str, host: str, result: str, what: str) -> str:
    return visible(f"{uuid:<36}  {host:<16}  {result:<11}  {what}".rstrip())


def _summary(counts: Counter[Kind], dry_run: bool) -> str:
    verb = "to be registered" if dry_run else "registered"
    parts = {kind.value: number for kind, number in counts.items()}
    text = (
        f"{parts.get('registered', 0)} {verb}, {parts.get('complete', 0)} complete before, "
        f"{parts.get('skipped', 0)} skipped"
    )
    for kind in ("gone", "not Nova's"):
        if parts.get(kind):
            text += f", {parts[kind]} {kind}"
    return text


def _lines(files: Sequence[Path]) -> Optional[int]:
    """How many records the files have; None where that cannot be known beforehand."""
    total = 0
    for path in files or [Path("-")]:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                total += block.count(b"\n")
    return total


class _Progress:
    """How far it is, on standard error."""

    def __init__(self, total: Optional[int], stream: TextIO) -> None:
        self._total, self._stream = total, stream
        self._terminal = stream.isatty()
        self._done = 0
        self._begun = self._last = time.monotonic()

    def count(self, skipped: int) -> None:
        """One more instance."""
        self._done += 1
        now = time.monotonic()
        if now - self._last < (_TERMINAL if self._terminal else _ELSEWHERE):
            return
        self._last = now
        rate = self._done / (now - self._begun)
        total = f" of {self._total}" if self._total else ""
        text = f"{self._done}{total} instances, {rate:.0f}/s, {skipped} skipped"
        end = "\r" if self._terminal else "\n"
        self._stream.write(f"{text:<70}{end}" if self._terminal else f"{text}{end}")
        self._stream.flush()

    def end(self) -> None:
        """Leave the last line standing."""
        if self._terminal and self._done:
            self._stream.write("\n")
