"""Can the instance's hypervisor do that? Asked of the traits that capd reports there.

The provider is the instance's compute node; the answer comes from its `CUSTOM_CAPD_` traits,
those of the instance's machine family first. Absence is a *no* only beside siblings that are
there (`..._Q35_STORAGE_BUS_SATA` without `..._Q35_STORAGE_BUS_IDE`); a host that reports nothing,
or that cannot be asked, is unknown, and unknown refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Callable, Optional

from sqlalchemy import select
from sqlalchemy.engine import Connection

from capd import names, properties
from capd.config import Settings
from capd.errors import ConfigError, HostCannot, PlacementError, PropertyValue
from capd.facts import Support
from capd.novadb.instances import Instance
from capd.novadb.schema import compute_nodes
from capd.table import BY_PROPERTY, CUSTOM, Category

MACHINE = "hw_machine_type"

#: what no device of that property can be, whatever bus the host has for others
_NEVER = {
    ("hw_cdrom_bus", "virtio"): "a CD-ROM cannot be on bus virtio: it has no removable media",
    ("hw_disk_bus", "fdc"): "a disk cannot be on bus fdc",
    ("hw_rescue_bus", "fdc"): "a disk cannot be on bus fdc",
}


@dataclass(frozen=True)
class Host:
    """A hypervisor and its traits; `traits` None means that it could not be asked (`why`)."""

    name: str
    provider: str
    traits: Optional[frozenset[str]]
    why: str = ""


@dataclass(frozen=True)
class Answer:
    """Whether the host offers `value` for the property `name`, and in one sentence why."""

    name: str
    value: str
    support: Support
    because: str


def provider_of(connection: Connection, instance: Instance) -> Optional[str]:
    """The resource provider of the instance's compute node; None if it is on no host."""
    if instance.host is None:
        return None
    columns = compute_nodes.c
    statement = select(columns.uuid, columns.hypervisor_hostname).where(
        columns.host == instance.host, columns.deleted == 0
    )
    rows = connection.execute(statement).all()
    for row in rows:
        if instance.node is None or row.hypervisor_hostname == instance.node:
            return str(row.uuid) if row.uuid else None
    return None


#: how the traits of a provider (name, uuid) are asked for
AskHost = Callable[[str, str], Host]


def asking(settings: Settings) -> AskHost:
    """A way to ask the Placement of `settings`; that it does not answer is an answer too."""
    from capd.placement import Placement

    placement = Placement(settings)

    def ask(name: str, provider: str) -> Host:
        placement.begin()
        try:
            return Host(name, provider, placement.provider_traits(provider).traits)
        except (PlacementError, ConfigError) as error:
            return Host(name, provider, None, str(error))

    return ask


def questions(before: Mapping[str, str], changes: Mapping[str, str]) -> Mapping[str, str]:
    """What to ask: the changed properties; with a new machine type all that it has to offer."""
    if MACHINE not in changes:
        return changes
    others = {name: value for name, value in before.items() if name in BY_PROPERTY}
    return {**others, **changes}


def judge(host: Host, after: Mapping[str, str], asked: Mapping[str, str]) -> Iterator[Answer]:
    """An answer for each of `asked`; `after` are all properties the instance would have."""
    for name, value in asked.items():
        because = _NEVER.get((name, value))
        if because is not None:
            yield Answer(name, value, Support.NO, because)
        elif name == MACHINE:
            yield _machine(host, value, _foreign(host, after))
        elif name in BY_PROPERTY:
            yield _value(host, name, value, after)


def refuse(answers: Iterable[Answer]) -> list[str]:
    """Warnings for what is unknown. Raises HostCannot for the first *no*."""
    warnings: list[str] = []
    for answer in answers:
        if answer.support is Support.NO:
            raise HostCannot(
                answer.because, culprit=answer.name, cure="--force sets it all the same"
            )
        if answer.support is Support.UNKNOWN:
            warnings.append(answer.because)
    return warnings


def _foreign(host: Host, after: Mapping[str, str]) -> Optional[str]:
    """The instance's architecture if the host only emulates it."""
    arch = after.get("hw_emulation_architecture") or after.get("hw_architecture")
    if not arch or host.traits is None:
        return None
    try:
        arch = properties.validate("hw_architecture", arch)
    except PropertyValue:
        return None
    return None if names.host_arch_trait(arch) in host.traits else arch


def _machine(host: Host, machine: str, arch: Optional[str]) -> Answer:
    trait = names.machine_trait(machine, arch)
    prefix = trait[: trait.index("MACHINE_") + len("MACHINE_")]
    return _answer(host, MACHINE, machine, trait, prefix, "")


def _value(host: Host, name: str, value: str, after: Mapping[str, str]) -> Answer:
    """The answer for one bus or model, for the family of the instance's machine type."""
    category = BY_PROPERTY[name]
    row = category.value(_canonical(name, value))
    if row is None or not (row.raw or row.families):
        because = f"no host can tell whether it has {name}={value}"
        return Answer(name, value, Support.UNKNOWN, because)
    arch, machine = _foreign(host, after), after.get(MACHINE)
    if not category.per_family:
        trait = names.value_trait(category, row.name) or ""
        return _answer(host, name, value, trait, _prefix(trait, category), "")
    family = names.family(machine) if machine else "DEFAULT"
    trait = names.family_trait(category, row.name, family, arch) or ""
    place = (
        f" for machine type {machine}" if machine else " for the machine type it gives by default"
    )
    return _answer(host, name, value, trait, _prefix(trait, category), place)


def _canonical(name: str, value: str) -> str:
    try:
        return properties.validate(name, value)
    except PropertyValue:
        return value


def _prefix(trait: str, category: Category) -> str:
    """What the traits of all values of the same category begin with."""
    for part in (category.standard, category.custom):
        if part and part in trait:
            return trait[: trait.index(part) + len(part)]
    return trait


def _answer(host: Host, name: str, value: str, trait: str, prefix: str, place: str) -> Answer:
    what = f"{name}={value}{place}"
    if host.traits is None:
        return Answer(
            name,
            value,
            Support.UNKNOWN,
            f"whether {host.name} can do {what} is not known: {host.why}",
        )
    if trait in host.traits:
        return Answer(name, value, Support.YES, f"{host.name} can do {what}")
    reported = any(known.startswith(CUSTOM) for known in host.traits)
    siblings = sorted(known for known in host.traits if known.startswith(prefix))
    if not reported or not siblings:
        because = f"whether {host.name} can do {what} is not known: it has no trait {prefix}*"
        return Answer(name, value, Support.UNKNOWN, because)
    words = ", ".join(known[len(prefix) :].lower() for known in siblings)
    return Answer(name, value, Support.NO, f"{host.name} cannot do {what}: it can do {words}")
