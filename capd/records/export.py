"""Records as JSON: `list --json`, and the lines that carry them to a controller.

`image-property export` writes a line for each instance, `image-property register` reads them on
a controller. A line is one object:

    {"schema": 1, "uuid": ..., "name": ..., "host": ..., "managed_by": "nova" | "libvirt",
     "image": ... | null, "machine": "pc-q35-7.2" | null, "gone": seconds | null,
     "properties": {"hw_disk_bus": {"value": "virtio", "source": "observed", "mixed": [...]}}}

A value that Nova does not know carries `"known": false`. `name` is libvirt's, `host` the name
libvirt gives the hypervisor, `machine` the exact machine type where `hw_machine_type` may be an
alias, `gone` when the instance left that host. Readers must ignore keys that they do not know;
what would break them raises `schema`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from capd.properties import is_novas
from capd.records.entry import Entry
from capd.records.records import Property, Record

SCHEMA = 1


def lines(records: Iterable[Record], host: str) -> Iterator[str]:
    """One line of JSON for each record, without line ends."""
    for record in records:
        yield json.dumps(
            {
                "schema": SCHEMA,
                "uuid": record.uuid,
                "name": record.name,
                "host": host,
                "managed_by": record.managed_by,
                "image": record.image,
                "machine": record.machine,
                "gone": record.gone,
                "properties": _properties(record),
            },
        )


def document(entry: Entry) -> dict[str, Any]:
    """One instance as `list --json` shows it."""
    record = entry.record
    return {
        "uuid": record.uuid,
        "name": record.name,
        "managed_by": record.managed_by,
        "image": record.image,
        "machine": record.machine,
        "recorded": entry.written,
        "gone": record.gone,
        "rescued": entry.domain is not None and entry.domain.rescued,
        "drift": [
            {"property": found.property, "recorded": found.recorded, "live": found.live}
            for found in entry.drift
        ],
        "unsupported": [
            {"property": found.property, "value": found.value, "because": found.because}
            for found in entry.unsupported
        ],
        "properties": _properties(record),
    }


def _properties(record: Record) -> dict[str, Any]:
    return {name: _property(name, found) for name, found in sorted(record.properties.items())}


def _property(name: str, found: Property) -> dict[str, Any]:
    result: dict[str, Any] = {"value": found.value, "source": found.source.value}
    if found.mixed:
        result["mixed"] = list(found.mixed)
    if not is_novas(name, found.value):
        result["known"] = False
    return result
