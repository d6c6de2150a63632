"""The guest that a set of properties describes, as far as one property depends on another.

The architecture and machine type decide of which machine family the traits speak; the presence of
one property changes what another asks for. Read once, before the properties are translated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from capd.fields import LEGACY_NAMES
from capd.match.flavors import DEVICE_SPECS, FLAVOR_WINS, Flavor
from capd.match.outcomes import Ask, Origin, Outcome, Scope, Status
from capd.match.spellings import architecture, machine_type
from capd.names import family
from capd.table import FAMILIES

#: the family word of traits for images that name no machine type
DEFAULT = "DEFAULT"


@dataclass(frozen=True)
class Given:
    """One property as given, and the current name it stands for.

    `meaning` is the name under which `value` is read, None where another property takes its
    place (`instead` names it); `written` is the text itself where it is read as another.
    """

    name: str
    value: str
    meaning: Optional[str]
    origin: Origin = Origin.IMAGE
    instead: str = ""
    written: str = ""

    def asked(
        self, asks: Sequence[Ask], canonical: str, note: str = "", passed: bool = False
    ) -> Outcome:
        """The outcome that a host must have these traits."""
        return Outcome(
            self.name,
            self.written or self.value,
            Status.ASKED,
            tuple(asks),
            canonical,
            note,
            origin=self.origin,
            passed=passed,
        )

    def nothing(self, note: str, canonical: Optional[str] = None) -> Outcome:
        """The outcome that there is nothing to ask a host for."""
        return self._plain(Status.NOTHING, note, canonical)

    def ignored(self, note: str) -> Outcome:
        """The outcome that this says nothing about devices."""
        return self._plain(Status.IGNORED, note, None)

    def wrong(
        self, note: str, choices: tuple[str, ...] = (), canonical: Optional[str] = None
    ) -> Outcome:
        """The outcome that no host can be asked; `choices` are the right values."""
        return self._plain(Status.ERROR, note, canonical, choices)

    def _plain(
        self, status: Status, note: str, canonical: Optional[str], choices: tuple[str, ...] = ()
    ) -> Outcome:
        return Outcome(
            self.name,
            self.written or self.value,
            status,
            canonical=canonical,
            note=note,
            choices=choices,
            origin=self.origin,
        )


@dataclass(frozen=True)
class Guest:
    """What the properties say together.

    `arch` is the architecture the guest runs, None for the host's own; `foreign` the emulated
    one, None for a native guest. `scope` is that of categories with per-family traits;
    `values` are the properties as read, by current name.
    """

    arch: Optional[str]
    foreign: Optional[str]
    machine: Optional[str]
    scope: Scope
    values: Mapping[str, str]

    @property
    def familiar(self) -> bool:
        """Whether the machine type (or the default one) has per-family traits."""
        return self.scope.family is not None


def given(properties: Mapping[str, str], flavor: Optional[Flavor]) -> tuple[Given, ...]:
    """Every property of the image and every extra spec, with the name it is read under."""
    specs = flavor.extra_specs if flavor else {}
    overruled = {DEVICE_SPECS[key]: key for key in specs if DEVICE_SPECS.get(key) in FLAVOR_WINS}
    result = []
    for name, value in properties.items():
        meaning, written = LEGACY_NAMES.get(name, name), value
        if name == "vmware_adaptertype":
            meaning, value = "hw_disk_bus", value and ("ide" if value == "ide" else "scsi")
        instead = meaning if meaning != name and meaning in properties else ""
        instead = instead or overruled.get(meaning, "")
        result.append(
            Given(name, value, None if instead else meaning, Origin.IMAGE, instead, written)
        )
    for key, value in specs.items():
        result.append(Given(key, value, DEVICE_SPECS.get(key, key), Origin.FLAVOR))
    return tuple(result)


def read(properties: tuple[Given, ...]) -> Guest:
    """The guest that the properties describe; wrong values count as absent."""
    values: dict[str, str] = {}
    for entry in properties:
        if entry.meaning is not None:
            values.setdefault(entry.meaning, entry.value)
    own = _architecture(values, "hw_architecture")
    emulated = _architecture(values, "hw_emulation_architecture")
    foreign = emulated if emulated != own else None
    machine = machine_type(values["hw_machine_type"]).word if "hw_machine_type" in values else None
    arch = emulated or own
    return Guest(arch, foreign, machine, _scope(values, arch, foreign, machine), values)


def mapped_buses(text: str) -> tuple[tuple[str, str], ...]:
    """(kind of device, bus) of each entry of a block device mapping that names a bus.

    Nova writes the mapping into snapshots of volume-backed instances, as JSON text.
    """
    return tuple(
        (str(entry.get("device_type") or "disk"), str(entry["disk_bus"]))
        for entry in _mapping(text)
        if entry.get("disk_bus")
    )


def volume_root(text: str) -> bool:
    """Whether a block device mapping puts the root disk on a volume."""
    return any(
        str(entry.get("boot_index")) == "0" and entry.get("destination_type", "volume") == "volume"
        for entry in _mapping(text)
    )


def _mapping(text: str) -> list[dict[str, object]]:
    try:
        entries = json.loads(text)
    except ValueError:
        return []
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


def _architecture(values: Mapping[str, str], name: str) -> Optional[str]:
    return architecture(name, values[name]).word if name in values else None


def _scope(
    values: Mapping[str, str], arch: Optional[str], foreign: Optional[str], machine: Optional[str]
) -> Scope:
    if "hw_machine_type" not in values:
        return Scope(DEFAULT, foreign)
    families = {name for row in FAMILIES.values() for name in row}
    if arch is not None:
        families = set(FAMILIES.get(arch, ()))
    name = family(machine) if machine else ""
    return Scope(name, foreign) if name in families else Scope(None, foreign)
