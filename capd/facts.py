"""The words that pass between the parts: support, source, machine types and their claims.

Only frozen dataclasses and enumerations; no I/O, no XML. `capd.discover` fills them from libvirt
and the emulators, `capd.traits` turns them into traits, records and matching look things up here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Optional


class Support(str, Enum):
    """Three values, never two: absence of evidence is not evidence of absence."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Source(str, Enum):
    """Where a piece of knowledge comes from."""

    DOMCAPS = "domcaps"
    CAPABILITIES = "capabilities"
    EMULATOR = "emulator"
    TRIAL = "trial"
    OVERRIDE = "override"
    TABLE = "table"


@dataclass(frozen=True)
class Claim:
    """What one source says about one category of one machine type.

    `values` is None when nothing was said (unknown) and empty when the answer is "none of them".
    `table` are values that capd's own table grants the machine family where no source can tell,
    `untold` those that no source ever tells, which stay unknown.
    """

    values: Optional[frozenset[str]]
    source: Source
    table: frozenset[str] = frozenset()
    untold: frozenset[str] = frozenset()

    def support(self, value: str) -> Support:
        """Yes, no or unknown for one value."""
        if value in self.table:
            return Support.YES
        if self.values is not None and value in self.values:
            return Support.YES
        if self.values is None or value in self.untold:
            return Support.UNKNOWN
        return Support.NO


#: category name (`disk_bus`, `vif_model`, ... see `capd.table`) to what is claimed about it
Claims = Mapping[str, Claim]


@dataclass(frozen=True)
class Machine:
    """One (architecture, virt type, machine type) combination as getCapabilities lists it.

    `alias` is what the name resolves to when it is an alias (`pc-q35-7.2` for `q35`) or the alias
    that resolves to it when it is canonical; `canonical` is the resolved name in both cases.
    `claims` is empty when `error` is set.
    """

    arch: str
    virt_type: str
    name: str
    canonical: str
    alias: Optional[str]
    family: str
    default: bool
    deprecated: bool
    emulator: str
    claims: Claims = field(default_factory=dict)
    error: Optional[str] = None

    def support(self, category: str, value: str) -> Support:
        """Whether this machine type is claimed to offer `value`; unknown if nobody said."""
        claim = self.claims.get(category)
        return claim.support(value) if claim is not None else Support.UNKNOWN

    def values(self, category: str) -> Optional[frozenset[str]]:
        """The claimed values of `category`, None when unknown."""
        claim = self.claims.get(category)
        return claim.values if claim is not None else None


@dataclass(frozen=True)
class Trial:
    """What libvirt's own validation said of a minimal guest; `refused` None means accepted."""

    arch: str
    virt_type: str
    machine: str
    category: str
    value: str
    refused: Optional[str]


@dataclass(frozen=True)
class Fact:
    """One statement: does this machine type offer this value, and who says so."""

    arch: str
    virt_type: str
    machine: str
    category: str
    value: str
    support: Support
    source: Source


@dataclass(frozen=True)
class Emulator:
    """One emulator binary. `devices` is None when it could not be asked (`error` says why)."""

    path: str
    arch: str
    version: Optional[str]
    fingerprint: str
    devices: Optional[frozenset[str]]
    error: Optional[str] = None


@dataclass(frozen=True)
class Host:
    """The hypervisor: `arch` is native, `virt_type` the one in use, `libvirt` its version."""

    hostname: str
    libvirt: str
    uri: str
    arch: str
    virt_type: str
    accelerated: bool

    def virt_type_of(self, arch: str) -> str:
        """The virt type of instances of `arch`: KVM runs no foreign architecture."""
        return "qemu" if arch != self.arch and self.virt_type == "kvm" else self.virt_type


@dataclass(frozen=True)
class Cost:
    """What a discovery took: number of libvirt calls, seconds of wall time."""

    libvirt_calls: int
    seconds: float


@dataclass(frozen=True)
class Discovery:
    """Everything learnt in one pass over one host.

    `complete` is False while only part of the host has been asked; then what is missing is
    unknown, not absent. `problems` are one-line
    descriptions of partial failures.
    """

    host: Host
    emulators: tuple[Emulator, ...]
    machines: tuple[Machine, ...]
    trials: tuple[Trial, ...]
    cost: Cost
    complete: bool = True
    problems: tuple[str, ...] = ()

    def machine(self, arch: str, name: str, virt_type: Optional[str] = None) -> Optional[Machine]:
        """The row for `name` (alias or version) on `arch`, under the virt type in use."""
        wanted = virt_type or self.host.virt_type
        for machine in self.machines:
            if (machine.arch, machine.virt_type, machine.name) == (arch, wanted, name):
                return machine
        return None

    def refusals(self) -> Iterator[Trial]:
        """The trials that libvirt refused."""
        return (trial for trial in self.trials if trial.refused is not None)
