"""Can this host do that, as that device, for that machine type?

From a `Discovery` (claims and libvirt's own refusals) to one answer per property and value, for
defaults, drift and `image-property set`. Unknown is not no: without facts nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

from capd.facts import Discovery, Machine, Support, Trial

#: image property to the category that answers for it as that kind of device
CATEGORY_OF: dict[str, str] = {
    "hw_disk_bus": "disk_bus",
    "hw_cdrom_bus": "cdrom_bus",
    "hw_floppy_bus": "floppy_bus",
    "hw_rescue_bus": "disk_bus",
    "hw_input_bus": "input_bus",
    "hw_pointer_model": "pointer_model",
    "hw_video_model": "video_model",
    "hw_vif_model": "vif_model",
    "hw_rng_model": "rng_model",
}

#: values of a category that no device of that property can use
_NEVER: dict[str, frozenset[str]] = {
    "hw_disk_bus": frozenset({"fdc"}),
    "hw_rescue_bus": frozenset({"fdc"}),
}


@dataclass(frozen=True)
class Answer:
    """Whether a value is possible and why.

    `possible` are the values that are, after a no; None where nobody can say.
    """

    support: Support
    because: str
    possible: Optional[tuple[str, ...]] = None


class Ability:
    """Answers for the instances of one host; without a discovery every answer is unknown.

    `waiting` says that facts are still to come, so that nothing that depends on them may be
    written down yet.
    """

    def __init__(self, discovery: Optional[Discovery], waiting: bool = False) -> None:
        self.discovery = discovery
        self.waiting = waiting
        self._rows: dict[tuple[str, str], list[Machine]] = {}
        self._refused: dict[tuple[str, str, str, str], Trial] = {}
        if discovery is None:
            return
        for row in discovery.machines:
            self._rows.setdefault((row.arch, row.name), []).append(row)
        for trial in discovery.refusals():
            rows = self._rows.get((trial.arch, trial.machine), [])
            for name in {trial.machine, *(row.family for row in rows)}:
                self._refused[trial.arch, name, trial.category, trial.value] = trial

    def machine(self, arch: str, name: Optional[str], virt_type: str) -> Optional[Machine]:
        """The row of a machine type (alias or version), the one under `virt_type` if there is
        one; devices do not depend on it."""
        rows = self._rows.get((arch, name or ""), [])
        usable = [row for row in rows if row.error is None] or rows
        same = [row for row in usable if row.virt_type == virt_type]
        return next(iter(same or usable), None)

    def alias(self, arch: str, machine: str) -> Optional[str]:
        """The alias that this host resolves to the version `machine`, None if there is none."""
        return next(
            (
                row.alias
                for row in self._rows.get((arch, machine), [])
                if row.alias and row.canonical == machine
            ),
            None,
        )

    def resolve(self, arch: str, machine: str) -> Optional[str]:
        """What this host makes of a machine type's name: the version behind an alias."""
        rows = self._rows.get((arch, machine), [])
        return rows[0].canonical if rows else None

    def of(self, machine: Optional[Machine], name: str, value: str) -> Answer:
        """Whether `machine` can have `value` for the property `name`."""
        category = CATEGORY_OF.get(name)
        if machine is None or machine.error is not None or category is None:
            return Answer(Support.UNKNOWN, "nothing is known about it here")
        refused = self._refusal(machine, category, value)
        if refused is not None:
            return self._no(machine, name, f"libvirt refuses it: {refused.refused}")
        if value in _NEVER.get(name, ()):
            return self._no(machine, name, f"{value} is no bus for a disk")
        support = machine.support(category, value)
        if support is Support.NO:
            return self._no(machine, name, f"{machine.name} has no {value} here")
        words = f"{machine.name} has it here" if support is Support.YES else "nobody can say"
        return Answer(support, words)

    def _no(self, machine: Machine, name: str, because: str) -> Answer:
        return Answer(Support.NO, because, self.possible(machine, name))

    def possible(self, machine: Machine, name: str) -> Optional[tuple[str, ...]]:
        """The values `machine` can have for `name`, sorted; None if unknown."""
        category = CATEGORY_OF.get(name)
        values = self.offered(machine, category) if category else None
        if values is None:
            return None
        return tuple(sorted(values - _NEVER.get(name, frozenset())))

    def offered(self, machine: Machine, category: str) -> Optional[frozenset[str]]:
        """The values of a category that are claimed and not refused; None if unknown."""
        claim = machine.claims.get(category)
        if claim is None or claim.values is None:
            return None
        values = claim.values | claim.table
        return frozenset(
            value for value in values if self._refusal(machine, category, value) is None
        )

    def has_machine(self, arch: str, names: Iterable[Optional[str]]) -> Support:
        """Whether this host knows any of these names of one machine type."""
        if self.discovery is None:
            return Support.UNKNOWN
        if any(name and (arch, name) in self._rows for name in names):
            return Support.YES
        return Support.NO if self.discovery.complete else Support.UNKNOWN

    def _refusal(self, machine: Machine, category: str, value: str) -> Optional[Trial]:
        """libvirt's refusal for this machine type itself, else for its family."""
        if not self._refused:
            return None
        for name in (machine.name, machine.canonical, machine.family):
            trial = self._refused.get((machine.arch, name, category, value))
            if trial is not None:
                return trial
        return None
