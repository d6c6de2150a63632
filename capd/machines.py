"""From answers to rows: one `Machine` for each combination, with its claims put together.

`capd.discover` collects the answers; the rows are what the dump shows and traits are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from capd.capabilities import Combination, Listing
from capd.facts import Claim, Claims, Host, Machine, Source
from capd.names import family
from capd.table import CATEGORIES, FAMILIES

NO_CLAIMS: Claims = {}


def representatives(
    machines: Iterable[Machine], arches: Sequence[str], host: Host
) -> Iterator[Machine]:
    """The machine types to try: of each family the one its alias stands for, else the default,
    else the last listed; the table's families first."""
    chosen: dict[tuple[str, str], Machine] = {}
    for machine in machines:
        usable = machine.error is None and machine.name == machine.canonical and machine.name
        if machine.arch not in arches or not usable:
            continue
        if machine.virt_type != host.virt_type_of(machine.arch):
            continue
        key = (machine.arch, machine.family)
        rival = chosen.get(key)
        if rival is None or rival.alias is None:
            chosen[key] = machine
    known = [row for row in chosen.values() if row.family in FAMILIES.get(row.arch, ())]
    yield from known
    yield from (row for row in chosen.values() if row not in known)


def claimed(machine: Machine) -> list[tuple[str, str]]:
    """Every (category, value) that somebody claims for this machine type, sorted."""
    return sorted(
        (category, value)
        for category, claim in machine.claims.items()
        for value in (claim.values or frozenset()) | claim.table
    )


def assemble(
    listing: Listing,
    found: Mapping[Combination, Claims | str],
    device_claims: Mapping[str, Claims],
) -> Iterator[Machine]:
    """A row for each combination, in the document's order.

    `found` has the claims of a combination or the text of its error, `device_claims` what each
    emulator (by path) lists. Machine types with equal claims share one mapping.
    """
    aliases = {
        (row.arch, row.virt_type, row.canonical): row.machine
        for row in listing.combinations
        if row.canonical
    }
    merged: dict[tuple[int, str], Claims] = {}
    granted: dict[tuple[int, str, str], Claims] = {}
    for row in listing.combinations:
        name = row.machine or ""
        canonical = row.canonical or name
        answer = found.get(row, "not asked")
        error = answer if isinstance(answer, str) else None
        claims = NO_CLAIMS
        if not isinstance(answer, str):
            key = (id(answer), row.emulator or "")
            if key not in merged:
                merged[key] = _merge(answer, device_claims.get(row.emulator or "", NO_CLAIMS))
            claims = merged[key]
            extra = granted_by_table(family(canonical), row.arch)
            if extra:
                kin = (id(claims), family(canonical), row.arch)
                if kin not in granted:
                    granted[kin] = {
                        **claims,
                        **{
                            category: replace(claims[category], table=values)
                            for category, values in extra.items()
                        },
                    }
                claims = granted[kin]
        yield Machine(
            row.arch,
            row.virt_type,
            name,
            canonical,
            aliases.get((row.arch, row.virt_type, name)) if canonical == name else None,
            family(canonical),
            row.default,
            row.deprecated,
            row.emulator or "",
            claims,
            error,
        )


def _merge(domcaps: Claims, emulator: Claims) -> Claims:
    """The claims of libvirt's document and of the emulator's device list, category by category."""
    merged: dict[str, Claim] = {}
    for category in CATEGORIES:
        claim = domcaps.get(category.name) or emulator.get(category.name)
        values, source = (claim.values, claim.source) if claim else (None, Source.EMULATOR)
        merged[category.name] = Claim(values, source, untold=UNTOLD[category.name])
    return merged


#: values of each category that no source ever tells
UNTOLD = {
    category.name: frozenset(
        value.name for value in category.values if not value.raw and not value.families
    )
    for category in CATEGORIES
}


@cache
def granted_by_table(kin: str, arch: str) -> Mapping[str, frozenset[str]]:
    """Values that the table grants a machine family, by category; only those with any."""
    found = {
        category.name: frozenset(
            value.name
            for value in category.values
            if kin in value.families or f"{kin}@{arch}" in value.families
        )
        for category in CATEGORIES
    }
    return {name: values for name, values in found.items() if values}
