"""From image properties and a flavor to required traits: pure, one outcome per property.

For the exact answer, capd on the hosts must have reported (its traits are `CUSTOM_CAPD_...`); the
standard answer is what Nova's own scheduler would ask for with `[scheduler]
image_metadata_prefilter` and, for TPM, secure boot and virtio sound, without it. Unlike there, a
value without a trait is named and takes nothing else with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Optional

from capd.fields import FIELDS
from capd.match import devices, disputes, spellings
from capd.match.flavors import GROUP_SPEC, Flavor, amount
from capd.match.guest import Given, Guest, given, mapped_buses, read
from capd.match.outcomes import (
    ARCHITECTURE,
    EMULATION,
    MACHINE,
    Ask,
    Origin,
    Outcome,
    Scope,
    Translation,
)
from capd.names import emulated_arch_trait, host_arch_trait, machine_trait, standard_names
from capd.table import BY_NAME, BY_PROPERTY, FAMILIES

_TRAIT = re.compile(r"[A-Z0-9_]{1,255}\Z")
_SIGNS = ("required", "forbidden")
_MAPPINGS = ("block_device_mapping", "img_block_device_mapping")


def translate(
    properties: Mapping[str, str], flavor: Optional[Flavor] = None, exact: bool = True
) -> Translation:
    """The traits that a host must have to take an image (with `flavor`, an instance of it).

    `properties` are the image's, as text. Never raises for what they say: a wrong value is an
    outcome of its own. With `exact` the answer speaks of the machine type and needs hosts that
    run capd; without it, only standard traits are asked for, as Nova's scheduler does.
    """
    entries = given(properties, flavor)
    guest = read(entries)
    outcomes = [_outcome(entry, guest, exact) for entry in entries]
    return Translation(disputes.settle(outcomes, entries), exact)


def _outcome(entry: Given, guest: Guest, exact: bool) -> Outcome:
    """What becomes of one property."""
    name = entry.meaning
    if name is None:
        return entry.ignored(f"{entry.instead} is given too and counts")
    if name.startswith("trait:") or GROUP_SPEC.match(name):
        return _named_trait(entry)
    if name in spellings.ARCHITECTURE_PROPERTIES:
        return _architecture(entry, name, guest, exact)
    if name == "hw_machine_type":
        return _machine(entry, guest, exact)
    if name in _MAPPINGS:
        return _volumes(entry, guest, exact)
    if name in BY_PROPERTY:
        return devices.outcome(entry, name, guest, exact)
    if name.startswith(("hw_mem_encryption", "hw:mem_encryption")):
        return entry.ignored("memory encryption carries inventory and is Nova's to schedule")
    if name in FIELDS or entry.origin is Origin.FLAVOR:
        return entry.ignored("asks for no device that capd reports")
    return entry.ignored("capd and Nova do not know this property")


def _architecture(entry: Given, name: str, guest: Guest, exact: bool) -> Outcome:
    """`hw_architecture` is the host's own, `hw_emulation_architecture` any that it can run."""
    spelling = spellings.architecture(name, entry.value)
    if spelling.word is None:
        return entry.wrong(spelling.note, spelling.choices)
    own = name == "hw_architecture"
    trait = host_arch_trait(spelling.word) if own else emulated_arch_trait(spelling.word)
    if not exact and trait not in standard_names():
        return entry.nothing(f"there is no standard trait for {spelling.word}", spelling.word)
    note = spelling.note
    if not note and exact and guest.foreign and not own:
        note = f"exact traits need hosts with {guest.foreign} in [traits] emulated"
        if guest.machine is None:
            note += "; Nova gives such a guest pc unless hw_machine_type names another"
    ask = Ask(trait, category=ARCHITECTURE if own else EMULATION, value=spelling.word)
    return entry.asked([ask], spelling.word, note)


def _machine(entry: Given, guest: Guest, exact: bool) -> Outcome:
    """The machine type's own trait, alias or version."""
    spelling = spellings.machine_type(entry.value)
    if spelling.word is None:
        return entry.wrong(spelling.note)
    if not exact:
        return entry.nothing("Nova's scheduler asks for no trait here", spelling.word)
    note = spelling.note
    if not note and not guest.familiar:
        where = f" of {guest.arch}" if guest.arch in FAMILIES else ""
        note = f"no machine family{where} with traits of its own: only this trait is exact"
    trait = machine_trait(spelling.word, guest.foreign)
    ask = Ask(trait, category=MACHINE, value=spelling.word, scope=Scope(None, guest.foreign))
    return entry.asked([ask], spelling.word, note)


def _volumes(entry: Given, guest: Guest, exact: bool) -> Outcome:
    """A volume-backed image: its mapping may put disks on buses of their own."""
    buses = mapped_buses(entry.value)
    if not exact or not buses:
        return entry.nothing("volume-backed: the other properties count, not the mapping")
    asks: list[Ask] = []
    for device, bus in buses:
        if BY_NAME["disk_bus"].value(bus) is None:
            return entry.wrong(f"{bus!r} is no disk bus")
        problem = spellings.carries(devices.KINDS.get(device, "disk"), bus)
        if problem:
            return entry.wrong(problem, canonical=bus)
        ask = devices.ask(BY_NAME["disk_bus"], bus, guest)
        if ask is not None and ask not in asks:
            asks.append(ask)
    words = ",".join(dict.fromkeys(bus for _, bus in buses))
    note = "volume-backed: buses that the mapping names"
    return entry.asked(asks, words, note) if asks else entry.nothing(note, words)


def _named_trait(entry: Given) -> Outcome:
    """`trait:X=required|forbidden`, handed on; groups and resources go with the request."""
    match = GROUP_SPEC.match(entry.name)
    if match and match.group("kind") == "resources":
        if amount(entry.value) is None:
            return entry.wrong(f"{entry.value!r} is no amount")
        return entry.nothing("part of the request for resources")
    if match and match.group("suffix") and entry.value in _SIGNS:
        return entry.nothing("part of the request for resources")
    trait = entry.name.partition(":")[2]
    if not _TRAIT.match(trait):
        return entry.wrong(f"{trait!r} cannot be the name of a trait")
    if entry.value not in _SIGNS:
        return entry.wrong(f"{entry.value!r} asks for nothing", _SIGNS)
    forbidden = entry.value == "forbidden"
    image = entry.origin is Origin.IMAGE
    note = "Nova itself reads only required from an image" if forbidden and image else ""
    return entry.asked([Ask(trait, forbidden)], entry.value, note, passed=True)
