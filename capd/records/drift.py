"""Drift and danger: where a domain differs from its record, and what this host cannot do.

Pure. From a record, a domain and the host's facts to findings, for the tracker's log and metrics
and for `image-property list --drift` and `--unsupported`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from capd.facts import Support
from capd.properties import CAPTURED
from capd.records.ability import Ability
from capd.records.reading import Domain
from capd.records.records import Property, Record, Source, rebuilt

#: devices that do not just go away; a CD-ROM, a disk or a NIC may
_LASTING = ("hw_input_bus", "hw_pointer_model", "hw_video_model")

#: recorded properties that a domain's XML can be compared with
_COMPARED = (*CAPTURED, "hw_scsi_model", "hw_rng_model")


@dataclass(frozen=True)
class Drift:
    """The domain has `live` where `recorded` is written down; `live` None means no device."""

    property: str
    recorded: str
    live: Optional[str]

    def text(self) -> str:
        """One phrase for people."""
        return f"{self.property}: recorded {self.recorded}, now {self.live or 'none'}"


@dataclass(frozen=True)
class Unsupported:
    """This host cannot do what is recorded."""

    property: str
    value: str
    because: str

    def text(self) -> str:
        """One phrase for people."""
        return f"{self.property}={self.value}: {self.because}"


def compare(record: Record, domain: Domain, ability: Ability) -> tuple[Drift, ...]:
    """Where `domain` differs from `record`.

    A rescued guest and one about to get a new record (rebuilt from another image) are no witness.
    """
    if domain.rescued or rebuilt(record, domain):
        return ()
    found: list[Drift] = []
    for name in _COMPARED:
        recorded = record.properties.get(name)
        if recorded is None:
            continue
        if name == "hw_machine_type":
            drift = _machine_drift(record, recorded, domain, ability)
        else:
            drift = _device_drift(name, recorded, domain)
        if drift is not None:
            found.append(drift)
    return tuple(found)


def unsupported(record: Record, ability: Ability) -> tuple[Unsupported, ...]:
    """What is recorded and this host cannot do; only an explicit no counts."""
    kind = record.properties.get("hw_machine_type")
    names = (record.machine, kind.value if kind is not None else None)
    if not record.arch or not any(names):
        return ()
    if ability.has_machine(record.arch, names) is Support.NO:
        value = record.machine or (kind.value if kind is not None else "")
        because = f"this host has no machine type {value} for {record.arch}"
        return (Unsupported("hw_machine_type", value, because),)
    machine = None
    for name in names:
        machine = machine or ability.machine(record.arch, name, record.virt_type)
    found: list[Unsupported] = []
    for name, recorded in record.properties.items():
        answer = ability.of(machine, name, recorded.value)
        if answer.support is Support.NO:
            found.append(Unsupported(name, recorded.value, answer.because))
    return tuple(found)


def _machine_drift(
    record: Record, recorded: Property, domain: Domain, ability: Ability
) -> Optional[Drift]:
    """An alias stands for the version that was recorded with it, whatever it means by now."""
    live = domain.machine
    if live is None or live in (record.machine, recorded.value):
        return None
    resolved = {ability.resolve(domain.arch, name) for name in (live, record.machine) if name}
    if not resolved.isdisjoint({live, record.machine} - {None}) and len(resolved - {None}) == 1:
        return None
    exact = record.machine or recorded.value
    text = recorded.value if recorded.value == exact else f"{recorded.value} ({exact})"
    return Drift("hw_machine_type", text, live)


def _device_drift(name: str, recorded: Property, domain: Domain) -> Optional[Drift]:
    seen = domain.properties.get(name)
    if seen is None:
        if name in _LASTING and recorded.source is Source.OBSERVED:
            return Drift(name, recorded.value, None)
        return None
    if seen.value == recorded.value:
        return None
    return Drift(name, recorded.value, seen.value)
