"""`capd diff`: what an upgrade takes away, adds and changes, and which instances it hits."""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capd.config import Settings
    from capd.difference import Change, Difference, Hit
    from capd.records.records import Record

LOG = logging.getLogger(__name__)

HELP = "what an upgrade takes away, adds and changes, and which instances it hits"

DESCRIPTION = """\
Compare two hosts, or one host before and after an upgrade: outputs of `capd --dump --json`, or
directories of `capd --dump --record`. Before an upgrade: record an upgraded test host, and compare
with production; where capd's records are at hand, the instances that would be hit are named.

exit codes:
  0  nothing is taken away
  1  something is taken away, no instance here uses it
  2  a file cannot be read or compared
  3  nothing is taken away, but values known before are unknown now: no answer for those
  7  something is taken away that instances here use
"""

#: this many machine types are named in a line
_NAMED = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `capd diff`."""
    parser.add_argument("before", metavar="BEFORE", type=Path, help="dump or recording")
    parser.add_argument("after", metavar="AFTER", type=Path, help="dump or recording")
    parser.add_argument("--json", dest="as_json", action="store_true", help="JSON for scripts")
    parser.add_argument(
        "--all-architectures",
        dest="every",
        action="store_true",
        help="emulated architectures too, and not only where instances are of them",
    )


def run(args: argparse.Namespace) -> int:
    """Compare and print; the exit code says how bad it is."""
    from capd import config, snapshot
    from capd.difference import compare

    settings = config.load(args.config_file, needed=False)
    before = snapshot.load(args.before, settings)
    after = snapshot.load(args.after, settings)
    records = _recorded(settings)
    found = compare(before, after, records)
    native = before.discovery.host.arch
    if args.as_json:
        print(json.dumps(_document(found), indent=1))
    else:
        arches = {native, *(hit.record.arch for hit in found.hits)}
        for line in _text(found, None if args.every else arches, len(records)):
            print(line)
    if found.hits:
        return 7
    if found.takes_away:
        return 1
    untold = any(change.unknown for change in found.changes)
    return 3 if untold or not after.discovery.complete else 0


def _recorded(settings: Settings) -> list[Record]:
    """The records of this host, where this user may read them."""
    from capd.records.recordstore import RecordStore
    from capd.store import DATABASE, Store

    path = settings.state_dir / DATABASE
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except PermissionError:
        LOG.warning("%s may not be read by this user: no instance can be named", path)
        return []
    except OSError:
        pass  # there is none, or Store says what is wrong with it
    with Store(path, read_only=True) as store:
        return list(RecordStore(store).all().values())


def _document(found: Difference) -> dict[str, Any]:
    rows = ("arch", "virt_type", "machine")
    return {
        "schema": 1,
        "machines_lost": [dict(zip(rows, row)) for row in found.machines_lost],
        "machines_gained": [dict(zip(rows, row)) for row in found.machines_gained],
        "aliases": [asdict(alias) for alias in found.aliases],
        "changes": [asdict(change) for change in found.changes],
        "traits_lost": list(found.traits_lost),
        "traits_gained": list(found.traits_gained),
        "instances": [_hit(hit) for hit in found.hits],
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "uuid": hit.record.uuid,
        "name": hit.record.name,
        "managed_by": hit.record.managed_by,
        "machine": hit.record.machine,
        "lost": [asdict(one) for one in hit.lost],
    }


def _text(found: Difference, arches: Any, recorded: int) -> Iterator[str]:
    def shown(arch: str) -> bool:
        return arches is None or arch in arches

    lost = [row for row in found.machines_lost if shown(row[0])]
    gained = [row for row in found.machines_gained if shown(row[0])]
    yield from _section("machine types taken away", _machines(lost))
    yield from _section("machine types added", _machines(gained))
    yield from _section(
        "names that stand for another version",
        [
            f"{one.arch} {one.name}: {one.before} -> {one.after}"
            for one in found.aliases
            if shown(one.arch)
        ],
    )
    changes = [change for change in found.changes if shown(change.arch)]
    for title, name in (
        ("taken away", "lost"),
        ("added", "gained"),
        ("unknown by now", "unknown"),
    ):
        described = (_change(one, getattr(one, name)) for one in changes if getattr(one, name))
        # equal for kvm and qemu, as a rule: said once
        yield from _section(title, list(dict.fromkeys(described)))
    yield from _section("traits taken away", found.traits_lost)
    yield from _section("traits added", found.traits_gained)
    hits = [
        f"{hit.record.name} ({hit.record.uuid}): {'; '.join(one.text() for one in hit.lost)}"
        for hit in found.hits
    ]
    yield from _section(f"instances hit, of {recorded} recorded here", hits or ["none"])


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)


def _machines(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """One line for each architecture; virt types do not matter to a reader."""
    by_arch: dict[str, list[str]] = {}
    for arch, _, machine in rows:
        names = by_arch.setdefault(arch, [])
        if machine not in names:
            names.append(machine)
    return [f"{arch}: {' '.join(names)}" for arch, names in by_arch.items()]


def _change(change: Change, values: Sequence[str]) -> str:
    named = " ".join(change.machines[:_NAMED])
    more = len(change.machines) - _NAMED
    text = f"{named} and {more} more" if more > 0 else named
    return f"{change.arch} {change.family}: {change.category} {' '.join(values)} ({text})"
