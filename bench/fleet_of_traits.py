"""A Placement with many compute nodes, written into its database at once.

Ten thousand hosts of about 200 traits each are two million rows; through the API they would take
hours. What stands there is what capd reports on the captured Debian 12 and 13 hosts
(`fixtures/hosts/*/expected/traits.json`) beside Nova's: a few features and 40 of the CPU's.
Used by `bench.match` and, with fewer hosts, by the tests.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Callable

import os_traits

HOSTS = Path(__file__).parents[1] / "fixtures" / "hosts"

#: of ten hosts in a row: six run Debian 13, three Debian 12, one has no capd
_KINDS = ("trixie",) * 6 + ("bookworm",) * 3 + ("silent",)

_NOVA = (
    "COMPUTE_NODE",
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_RESCUE_BFV",
    "COMPUTE_TRUSTED_CERTS",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
)
#: nova-compute reports one for each feature of the CPU that os-traits has a name for
_CPU = tuple(sorted(os_traits.get_traits("HW_CPU_X86_"))[:40])
_ROWS = 2000
#: Placement cannot compare rows that have no time
_WHEN = "2026-01-01 00:00:00"


def kinds() -> dict[str, tuple[str, ...]]:
    """The traits of each kind of host."""

    def read(name: str) -> tuple[str, ...]:
        expected = json.loads((HOSTS / name / "expected" / "traits.json").read_text())
        return tuple(sorted({*expected["yes"], *_NOVA, *_CPU}))

    return {
        "trixie": read("trixie-x86_64"),
        "bookworm": read("bookworm-x86_64"),
        "silent": (*_NOVA, *_CPU, "HW_ARCH_X86_64", "COMPUTE_STORAGE_BUS_VIRTIO"),
    }


def _vocabulary() -> set[str]:
    """The names that capd on these hosts has made known, whether a host has them or not."""
    found: set[str] = set()
    for name in ("trixie-x86_64", "bookworm-x86_64"):
        expected = json.loads((HOSTS / name / "expected" / "traits.json").read_text())
        found.update(*expected.values())
    return {name for name in found if name.startswith("CUSTOM_")}


def statements(hosts: int, known: Iterable[str]) -> Iterator[str]:
    """SQL for `hosts` compute nodes; `known` are the traits that are there, in order of id."""
    names = list(known)
    rows = kinds()
    missing = sorted(
        ({name for row in rows.values() for name in row} | _vocabulary()) - set(names)
    )
    ids = {name: number for number, name in enumerate([*names, *missing], 1)}
    yield from _insert(
        "traits (id, name, created_at)",
        [f"({ids[name]}, '{name}', '{_WHEN}')" for name in missing],
    )
    yield from _insert(
        "resource_providers (id, uuid, name, generation, root_provider_id, created_at)",
        [
            f"({number}, '{uuid.UUID(int=number)}', 'compute-{number:05}', 1, {number}, '{_WHEN}')"
            for number in range(1, hosts + 1)
        ],
    )
    for number in range(1, hosts + 1):
        kind = rows[_KINDS[number % len(_KINDS)]]
        yield from _insert(
            "resource_provider_traits (trait_id, resource_provider_id)",
            [f"({ids[name]}, {number})" for name in kind],
        )
    # VCPU, MEMORY_MB and DISK_GB are Placement's first three resource classes
    yield from _insert(
        "inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,"
        " max_unit, step_size, allocation_ratio)",
        [
            f"({number}, {kind}, {total}, 0, 1, {total}, 1, 1.0)"
            for number in range(1, hosts + 1)
            for kind, total in ((0, 64), (1, 262144), (2, 2000))
        ],
    )


def fill(hosts: int, known: Sequence[str], execute: Callable[[str], object]) -> None:
    """Write `hosts` compute nodes through `execute`."""
    for statement in statements(hosts, known):
        execute(statement)


def _insert(into: str, values: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(values), _ROWS):
        yield f"INSERT INTO {into} VALUES {', '.join(values[start : start + _ROWS])}"
