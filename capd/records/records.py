"""Records: what is written down about an instance, and what a new look at it may change.

Pure. `Record` is what `capd.records.recordstore` keeps; `observe` decides what a domain that has
just been read adds to it. What is defined is never overwritten here, only by `assign`, which is
the operator's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Optional

from capd.errors import PropertyValue
from capd.names import family
from capd.properties import CAPTURED, validate
from capd.records import defaults
from capd.records.ability import Ability
from capd.records.reading import Domain


class Source(str, Enum):
    """Who decided a recorded value."""

    IMAGE = "image"
    OBSERVED = "observed"
    DEFAULT = "default"
    SET = "set"


@dataclass(frozen=True)
class Property:
    """One recorded value. `mixed` are all values that stood in the domain, if more than one."""

    value: str
    source: Source
    mixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """What is kept of one instance.

    `machine` is the exact machine type, alias resolved, None if it is not known. `since` is when
    the record was begun and `gone` when the domain left this host (seconds since the epoch).
    """

    uuid: str
    name: str
    managed_by: str
    image: Optional[str]
    arch: str
    virt_type: str
    machine: Optional[str]
    properties: Mapping[str, Property] = field(default_factory=dict)
    since: float = 0.0
    gone: Optional[float] = None


def begin(domain: Domain, ability: Ability, now: float) -> Record:
    """A new record of `domain`, at the time `now`."""
    return observe(
        Record(
            uuid=domain.uuid,
            name=domain.name,
            managed_by=domain.managed_by,
            image=domain.image,
            arch=domain.arch,
            virt_type=domain.virt_type,
            machine=None,
            since=now,
        ),
        domain,
        ability,
    )


def rebuilt(record: Record, domain: Domain) -> bool:
    """Whether the instance was made anew from another image since it was recorded."""
    return None not in (record.image, domain.image) and record.image != domain.image


def observe(record: Record, domain: Domain, ability: Ability) -> Record:
    """`record` with what `domain` adds: undefined properties, a new name, a first image.

    A rescued guest is no witness and adds nothing. Without facts about the host, machine type and
    defaults stay undefined until there are some.
    """
    if domain.rescued:
        return replace(record, name=domain.name, managed_by=domain.managed_by, gone=None)
    properties = dict(record.properties)
    for name, found in _found(domain, ability).items():
        known = properties.get(name)
        if known is None:
            properties[name] = found
        elif found.source is not Source.DEFAULT and found.mixed != known.mixed:
            properties[name] = replace(known, mixed=found.mixed)
    return replace(
        record,
        name=domain.name,
        managed_by=domain.managed_by,
        image=record.image or domain.image,
        gone=None,
        properties=properties,
        machine=record.machine or domain.machine,
    )


def assign(record: Record, values: Mapping[str, str], machine: Optional[str]) -> Record:
    """`record` as the operator sets it; `machine` is the exact machine type from now on."""
    properties = dict(record.properties)
    for name, value in values.items():
        properties[name] = Property(value, Source.SET)
    return replace(record, properties=properties, machine=machine or record.machine)


def image_values(domain: Domain) -> Mapping[str, str]:
    """The captured properties that the image set, in canonical spelling.

    Empty where this Nova does not write them into the metadata. A value Nova would not take is
    left out.
    """
    given = domain.nova.image_properties if domain.nova is not None else None
    if not given:
        return {}
    canonical = ((name, _canonical(name, given[name])) for name in CAPTURED if name in given)
    return {name: value for name, value in canonical if value}


@lru_cache(maxsize=1024)
def _canonical(name: str, value: str) -> Optional[str]:
    try:
        return validate(name, value)
    except PropertyValue:
        return None


def _found(domain: Domain, ability: Ability) -> Mapping[str, Property]:
    """Everything `domain` says, by property."""
    given = image_values(domain)
    result: dict[str, Property] = {}
    for name in CAPTURED:
        seen = domain.properties.get(name)
        if seen is None:
            if name in given:
                result[name] = Property(given[name], Source.IMAGE)
            continue
        value: Optional[str] = seen.value
        if name == "hw_machine_type":
            value = _machine_value(domain, given.get(name), ability)
        if value is not None:
            mixed = (seen.value, *seen.others) if seen.others else ()
            source = Source.IMAGE if given.get(name) == value else Source.OBSERVED
            result[name] = Property(value, source, mixed)
    if not ability.waiting:
        for name, value in defaults.find(domain, ability).items():
            result.setdefault(name, Property(value, Source.DEFAULT))
    return result


def _machine_value(domain: Domain, given: Optional[str], ability: Ability) -> Optional[str]:
    """The machine type as Nova stores it: the image's word, the alias, or else the version.

    None while nobody can say whether this host has an alias for it.
    """
    machine = domain.machine or ""
    if given and given in (machine, ability.alias(domain.arch, machine)):
        return given
    if given and ability.resolve(domain.arch, given) == machine:
        return given
    if ability.waiting:
        return None
    if ability.discovery is None and given == family(machine):
        return given
    return ability.alias(domain.arch, machine) or machine
