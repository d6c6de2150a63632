"""Whether what was learnt of the host still holds, found out for a few milliseconds.

A full discovery asks libvirt some 700 questions; an unchanged host must not be asked all of them
each minute. From `capd.hypervisor` and the file system to `capd.cycle`: a reason to look at
everything anew, or None. Asked each cycle:

- stamps of the emulators, their module directories and the KVM device (`capd.stamps`);
- libvirt's whole getCapabilities document, which changes when a machine type, an emulator or a
  virt type comes or goes (its version cannot change on a connection that holds);
- getDomainCapabilities of each native machine family in use, compared as a whole, because libvirt
  may answer differently with no file changed. libvirt probes an emulator once for all its machine
  types, so a device package that comes or goes shows in every one of them;
- one further combination, the next of all that are listed, so that each is asked again in turn.

Everything is looked at anew all the same on a new connection, once more after each change (a trait
goes only when two looks agree), while something failed (less and less often), and every hour.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Optional

from capd import stamps
from capd.capabilities import Combination
from capd.facts import Cost, Discovery, Machine
from capd.hypervisor import Hypervisor

#: seconds after which everything is asked anew although nothing seems to have changed
FULL_EVERY = 3600.0

#: native machine families asked each cycle, at most
FAMILIES = 4


class Freshness:
    """What the last full look saw. One per daemon; used by the thread that does the passes."""

    def __init__(self) -> None:
        self._reason: Optional[str] = "the first pass"
        self._stamp: stamps.Stamp = ()
        self._capabilities = 0
        self._answers: dict[Combination, int] = {}
        self._watched: tuple[Combination, ...] = ()
        self._rows: tuple[Combination, ...] = ()
        self._turn = 0
        self._emulators: tuple[str, ...] = ()
        self._directories: tuple[str, ...] = ()
        self._at = 0.0
        self._failures = 0
        self._skip = 0

    def expire(self, reason: str) -> None:
        """The next pass looks at everything."""
        self._reason = self._reason or reason

    def touched(self) -> bool:
        """Whether a file changed since the last look; from any thread, asks nobody."""
        return bool(self._emulators) and self._take() != self._stamp

    def stale(self, hypervisor: Hypervisor) -> Optional[str]:
        """Why everything must be looked at anew, or None. Raises LibvirtError."""
        if self._reason is not None:
            return self._reason
        if self._take() != self._stamp:
            return "an emulator, a device module or the KVM device changed"
        if time.monotonic() - self._at > FULL_EVERY:
            return "an hour has passed"
        if self._failures:
            self._skip -= 1
            if self._skip <= 0:
                return "something could not be learnt last time"
        if hash(hypervisor.capabilities()) != self._capabilities:
            return "libvirt's capabilities changed"
        return self._differs(hypervisor)

    def _differs(self, hypervisor: Hypervisor) -> Optional[str]:
        asked = list(self._watched)
        if self._rows:
            self._turn = (self._turn + 1) % len(self._rows)
            asked.append(self._rows[self._turn])
        reason = None
        for row, outcome in hypervisor.domain_capabilities(asked):
            answer = hash(outcome.value if outcome.error is None else str(outcome.error))
            if self._answers.setdefault(row, answer) != answer and reason is None:
                reason = f"libvirt answers differently for {row.machine} on {row.arch}"
        return reason

    def begin(self, hypervisor: Hypervisor) -> None:
        """A full look begins. What comes cheap is noted before it, so that a change meanwhile is
        found by the next pass. Raises LibvirtError.
        """
        self._at = time.monotonic()
        self._answers = {}
        self._capabilities = hash(hypervisor.capabilities())
        self._differs(hypervisor)

    def learnt(self, hypervisor: Hypervisor, discovery: Discovery, changed: bool) -> None:
        """The look gave `discovery`; `changed` says it differs from the one before.

        Raises LibvirtError.
        """
        self._emulators = tuple(emulator.path for emulator in discovery.emulators)
        self._directories = (*stamps.EMULATOR_DIRECTORIES, *stamps.module_directories())
        self._stamp = self._take()
        self._rows = tuple(_row(machine) for machine in discovery.machines)
        self._watched = tuple(_row(machine) for machine in _families(discovery))
        failed = (
            not discovery.complete
            or bool(discovery.problems)
            or any(machine.error for machine in discovery.machines)
        )
        self._failures = 0 if changed or not failed else self._failures + 1
        self._skip = min(2**self._failures, 60)
        self._reason = "the last look found a change" if changed else self._differs(hypervisor)

    def _take(self) -> stamps.Stamp:
        return stamps.take(self._emulators, self._directories)


def _row(machine: Machine) -> Combination:
    return Combination(
        arch=machine.arch,
        virt_type=machine.virt_type,
        os_type="hvm",
        machine=machine.name or None,
        canonical=machine.canonical or None,
        emulator=machine.emulator or None,
        default=machine.default,
        deprecated=machine.deprecated,
    )


def _families(discovery: Discovery) -> Iterable[Machine]:
    """One machine of each native family under the virt type in use, the default's first."""
    host = discovery.host
    found: dict[str, Machine] = {}
    for machine in sorted(discovery.machines, key=lambda machine: not machine.default):
        if (machine.arch, machine.virt_type) == (host.arch, host.virt_type) and not machine.error:
            found.setdefault(machine.family, machine)
    return list(found.values())[:FAMILIES]


def differs(before: Discovery, after: Discovery) -> bool:
    """Whether two looks saw different things; what they cost does not count."""
    nothing = Cost(0, 0.0)
    return replace(before, cost=nothing) != replace(after, cost=nothing)
