"""What a host could do at some time: a `capd --dump --json` document, or a recording, read back.

For `capd diff`. Both become the same `Discovery` that everything else works with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from capd import recording, traits
from capd.config import Settings
from capd.errors import CapdError, InputError
from capd.facts import Claim, Claims, Cost, Discovery, Host, Machine, Source, Support, Trial
from capd.machines import UNTOLD, granted_by_table
from capd.table import CATEGORIES

SCHEMA = 1

#: bytes; the dump of a host with every emulator has 1.3 MB
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class Snapshot:
    """One host at one time; `label` names the file."""

    label: str
    discovery: Discovery
    traits: Mapping[str, Support]


def load(path: Path, settings: Settings) -> Snapshot:
    """Read a dump (file) or a recording (directory). Raises InputError for either."""
    if path.is_dir():
        try:
            discovery = recording.load(path, settings)
        except CapdError as error:
            raise InputError(str(error), culprit=error.culprit, cure=error.cure) from None
        assessment = traits.assess(discovery, settings.traits, settings.libvirt)
        verdicts = assessment.verdicts.values()
        return Snapshot(str(path), discovery, {one.name: one.support for one in verdicts})
    try:
        # not only regular files: zcat's output is as good
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise _unusable(path, f"it is larger than {_LARGEST} bytes")
        document = json.loads(data.decode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", culprit=str(path)) from None
    except (ValueError, RecursionError):
        raise _unusable(path, "it is no JSON") from None
    if not isinstance(document, dict) or "machines" not in document:
        raise _unusable(path, "it is no dump")
    if document.get("schema") != SCHEMA:
        raise _unusable(path, f"its schema is {document.get('schema')}, not {SCHEMA}")
    try:
        found = {one["name"]: Support(one["support"]) for one in document["traits"]}
        return Snapshot(str(path), _discovery(document), found)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _unusable(path, f"it is incomplete ({error!r})") from None


def _discovery(document: Mapping[str, Any]) -> Discovery:
    host = document["host"]
    machines = tuple(_machine(row) for row in document["machines"])
    virt_types = {(row.arch, row.name): row.virt_type for row in machines}
    trials = tuple(
        Trial(
            one["arch"],
            virt_types.get((one["arch"], one["machine"]), host["virt_type"]),
            one["machine"],
            one["category"],
            one["value"],
            one["because"],
        )
        for one in document["refused"]
    )
    facts = Host(
        host["hostname"],
        host["libvirt"],
        host["uri"],
        host["arch"],
        host["virt_type"],
        host["virt_type"] == "kvm",
    )
    return Discovery(facts, (), machines, trials, Cost(0, 0.0))


def _machine(row: Mapping[str, Any]) -> Machine:
    name = row["machine"] or ""
    # a dump has what was claimed; what the table adds or leaves open is the same for a recording
    granted = {} if row["error"] else granted_by_table(row["family"] or "", row["arch"])
    claims: Claims = {
        category.name: Claim(
            _values(row.get(category.name)),
            Source.DOMCAPS,
            granted.get(category.name, frozenset()),
            UNTOLD[category.name],
        )
        for category in CATEGORIES
    }
    return Machine(
        row["arch"],
        row["virt_type"],
        name,
        row["canonical"] or name,
        row["alias"],
        row["family"] or "",
        row["default"],
        row["deprecated"],
        "",
        claims,
        row["error"],
    )


def _values(values: Optional[list[str]]) -> Optional[frozenset[str]]:
    return None if values is None else frozenset(values)


def _unusable(path: Path, because: str) -> InputError:
    return InputError(
        f"{path} cannot be compared: {because}",
        culprit=str(path),
        cure="give the output of capd --dump --json, or a directory of capd --dump --record",
    )
