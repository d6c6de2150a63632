"""One host and one image: per property what is wanted, whether the host has it, and what instead.

Takes a translation and the traits of one resource provider. A host that says nothing about
something is told from one that says no: a trait that is absent means *no* only where capd reports
on that host, for that architecture and that machine family.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Optional

from capd.errors import InputError
from capd.fields import LEGACY_NAMES
from capd.match.outcomes import ARCHITECTURE, EMULATION, MACHINE, Ask, Outcome, Translation
from capd.match.providers import Api, Providers
from capd.match.spellings import DEVICE_OF, carries, known_architectures
from capd.names import emulated_arch_trait, host_arch_trait, machine_trait, word
from capd.table import BY_NAME, CUSTOM, FAMILIES, Category

_VERSION = re.compile(r"(?P<base>.+)-(?P<version>\d+(?:\.\d+)+)\Z")
_VERSION_WORDS = re.compile(r"\d+(?:_\d+)+\Z")


class Said(str, Enum):
    """What a host says about one trait."""

    YES = "yes"
    NO = "no"
    SILENT = "not reported"


@dataclass(frozen=True)
class Finding:
    """One trait that one property asks for, and what the host says.

    `good` is whether it lets the image in: a forbidden trait should be absent. `instead` are the
    values of the same kind that the host offers.
    """

    outcome: Outcome
    ask: Ask
    said: Said
    good: bool
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Everything there is to say about one host; `reporting` is whether capd reports there."""

    name: str
    uuid: str
    reporting: bool
    findings: tuple[Finding, ...]

    @property
    def fits(self) -> bool:
        """Whether the host has all that is asked for."""
        return all(finding.good for finding in self.findings)


def explain(api: Api, host: str, translation: Translation) -> Explanation:
    """Look at the host with this name or uuid.

    Raises InputError if Placement has no such provider, PlacementError if it cannot be asked.
    """
    providers = Providers(api)
    uuid = providers.find(host)
    if uuid is None:
        raise InputError(
            f"Placement has no resource provider {host}",
            culprit=host,
            cure="use the name that `openstack resource provider list` shows",
        )
    traits = providers.traits(uuid)
    return Explanation(
        providers.names[uuid],
        uuid,
        any(trait.startswith(CUSTOM) for trait in traits),
        tuple(judge(translation, traits)),
    )


def judge(translation: Translation, traits: frozenset[str]) -> Iterable[Finding]:
    """A finding for each trait that each property asks for."""
    for outcome in translation.outcomes:
        for ask in outcome.asks:
            there = ask.trait in traits
            said = Said.YES if there else _absent(ask, traits)
            good = there is not ask.forbidden
            instead = () if good else tuple(sorted(set(_offers(outcome, ask, traits))))
            yield Finding(outcome, ask, said, good, instead)


def _absent(ask: Ask, traits: frozenset[str]) -> Said:
    """Whether an absent trait means no, or that the host says nothing about it."""
    if ask.category is None:
        return Said.NO
    if not any(trait.startswith(CUSTOM) for trait in traits):
        return Said.SILENT
    scope = ask.scope
    if scope is not None and scope.arch is not None:
        foreign = f"{CUSTOM}{word(scope.arch)}_"
        if not any(trait.startswith(foreign) for trait in traits):
            return Said.SILENT
    if scope is None or scope.family is None or scope.family not in _families():
        return Said.NO
    if machine_trait(scope.family, scope.arch) not in traits:
        return Said.NO  # the host has no such machine types at all
    category = BY_NAME[ask.category]
    some = any(scope.trait(category, row.name) in traits for row in category.values)
    return Said.NO if some else Said.SILENT


def _offers(outcome: Outcome, ask: Ask, traits: frozenset[str]) -> Iterable[str]:
    """Values that the host has where `ask` names one that it has not."""
    if ask.category == ARCHITECTURE:
        return [arch for arch in known_architectures() if host_arch_trait(arch) in traits]
    if ask.category == EMULATION:
        return [arch for arch in known_architectures() if emulated_arch_trait(arch) in traits]
    if ask.category == MACHINE:
        return _machines(ask, traits)
    if ask.category is None or ask.scope is None:
        return []
    return _values(outcome, BY_NAME[ask.category], ask, traits)


def _values(
    outcome: Outcome, category: Category, ask: Ask, traits: frozenset[str]
) -> Iterable[str]:
    device = DEVICE_OF.get(LEGACY_NAMES.get(outcome.name, outcome.name))
    for row in category.values:
        if device is not None and category.name == "disk_bus" and carries(device, row.name):
            continue
        if ask.scope is not None and ask.scope.trait(category, row.name) in traits:
            yield row.name


def _machines(ask: Ask, traits: frozenset[str]) -> Iterable[str]:
    """Families by their alias names and, for a version, the host's other versions."""
    arch: Optional[str] = ask.scope.arch if ask.scope else None
    for name in _families():
        if machine_trait(name, arch) in traits:
            yield name
    match = _VERSION.match(ask.value or "")
    if match is None:
        return
    prefix = machine_trait(match.group("base"), arch) + "_"
    for trait in traits:
        version = trait[len(prefix) :] if trait.startswith(prefix) else ""
        if _VERSION_WORDS.match(version):
            yield f"{match.group('base')}-{version.replace('_', '.')}"


def _families() -> frozenset[str]:
    return frozenset(name for row in FAMILIES.values() for name in row)
