"""What an upgrade takes away, adds and changes: two snapshots compared, and whom it hits.

Pure. For `capd diff`. Unknown is not no: what could not be asked on one side is listed as
unknown there, never as taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from capd.facts import Discovery, Machine, Support
from capd.records import drift
from capd.records.ability import Ability
from capd.records.drift import Unsupported
from capd.records.records import Record
from capd.snapshot import Snapshot
from capd.table import CATEGORIES

#: architecture, virt type, machine type
Row = tuple[str, str, str]


@dataclass(frozen=True)
class Change:
    """One category of some machine types of one family: values lost, gained, unknown by now.

    `machines` are the machine types for which exactly this is so, in the document's order.
    """

    arch: str
    virt_type: str
    family: str
    category: str
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    unknown: tuple[str, ...]
    machines: tuple[str, ...]


@dataclass(frozen=True)
class Alias:
    """A name that stands for another version now."""

    arch: str
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Hit:
    """An instance that could have what is recorded before, and cannot after."""

    record: Record
    lost: tuple[Unsupported, ...]


@dataclass(frozen=True)
class Difference:
    """Everything that differs."""

    machines_lost: tuple[Row, ...]
    machines_gained: tuple[Row, ...]
    aliases: tuple[Alias, ...]
    changes: tuple[Change, ...]
    traits_lost: tuple[str, ...]
    traits_gained: tuple[str, ...]
    hits: tuple[Hit, ...] = ()

    @property
    def takes_away(self) -> bool:
        """Whether anything is lost at all."""
        lost = any(change.lost for change in self.changes)
        return bool(self.machines_lost or self.traits_lost or lost)


def compare(before: Snapshot, after: Snapshot, records: Iterable[Record] = ()) -> Difference:
    """What `after` lost and gained against `before`, and which of `records` that hits."""
    old, new = _rows(before.discovery), _rows(after.discovery)
    common = [(row, old[row], new[row]) for row in old if row in new]
    gone = tuple(row for row in old if row not in new)
    return Difference(
        machines_lost=gone if after.discovery.complete else (),
        machines_gained=tuple(row for row in new if row not in old),
        aliases=tuple(_aliases(common)),
        changes=tuple(_changes(before.discovery, after.discovery, common)),
        traits_lost=tuple(_traits(before.traits, after.traits)),
        traits_gained=tuple(_traits(after.traits, before.traits)),
        hits=tuple(_hits(before.discovery, after.discovery, records)),
    )


def _rows(discovery: Discovery) -> dict[Row, Machine]:
    return {(row.arch, row.virt_type, row.name): row for row in discovery.machines}


def _aliases(common: Iterable[tuple[Row, Machine, Machine]]) -> Iterator[Alias]:
    seen: set[tuple[str, str]] = set()
    for (arch, _, name), old, new in common:
        if old.canonical != new.canonical and (arch, name) not in seen:
            seen.add((arch, name))
            yield Alias(arch, name, old.canonical, new.canonical)


def _changes(
    before: Discovery, after: Discovery, common: Iterable[tuple[Row, Machine, Machine]]
) -> Iterator[Change]:
    old_ability, new_ability = Ability(before), Ability(after)
    grouped: dict[tuple[str, ...], dict[tuple[tuple[str, ...], ...], list[str]]] = {}
    for (arch, virt_type, name), old, new in common:
        if old.error is not None:
            continue
        for category in CATEGORIES:
            kinds = _values(old_ability, old, new_ability, new, category.name)
            if any(kinds):
                key = (arch, virt_type, old.family, category.name)
                grouped.setdefault(key, {}).setdefault(kinds, []).append(name)
    for (arch, virt_type, kin, category_name), found in grouped.items():
        for (lost, gained, unknown), machines in found.items():
            yield Change(
                arch, virt_type, kin, category_name, lost, gained, unknown, tuple(machines)
            )


def _values(
    old_ability: Ability, old: Machine, new_ability: Ability, new: Machine, category: str
) -> tuple[tuple[str, ...], ...]:
    """Values of one category that were lost, gained, and that are unknown by now."""
    was = old_ability.offered(old, category)
    now = new_ability.offered(new, category) if new.error is None else None
    if was is None:
        return (), (), ()
    if now is None:
        return (), (), tuple(sorted(was))
    return tuple(sorted(was - now)), tuple(sorted(now - was)), ()


def _traits(one: Mapping[str, Support], other: Mapping[str, Support]) -> Iterator[str]:
    """Traits that are a yes in `one` and a no in `other`, or not heard of there."""
    for name in sorted(one):
        if one[name] is Support.YES and other.get(name, Support.NO) is Support.NO:
            yield name


def _hits(before: Discovery, after: Discovery, records: Iterable[Record]) -> Iterator[Hit]:
    old_ability, new_ability = Ability(before), Ability(after)
    for record in records:
        if record.gone is not None:
            continue
        known = {found.property for found in drift.unsupported(record, old_ability)}
        lost = drift.unsupported(record, new_ability)
        fresh = tuple(found for found in lost if found.property not in known)
        if fresh:
            yield Hit(record, fresh)
