"""Facts about just the machine types that a command needs, in a fraction of a second.

A full discovery asks for hundreds of combinations; `image-property` wants a few. The same
`capd.discover` does it, with a witness that asks for no others, and every claim of the wanted
machine types is tried, of foreign architectures too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Optional

from capd import capabilities, trial
from capd.calls import Outcome
from capd.capabilities import Combination
from capd.config import Settings
from capd.discover import Progress, discover, quiet
from capd.emulator import Answer
from capd.facts import Discovery, Trial
from capd.hypervisor import Hypervisor
from capd.live import LiveWitness
from capd.machines import claimed
from capd.records.ability import CATEGORY_OF


class NarrowWitness(LiveWitness):
    """A live witness asked about a few machine types only: pairs of architecture and name."""

    def __init__(
        self, hypervisor: Hypervisor, settings: Settings, wanted: frozenset[tuple[str, str]]
    ) -> None:
        super().__init__(hypervisor, settings.libvirt)
        self._wanted: frozenset[tuple[str, Optional[str]]] = frozenset(wanted)
        self._paths: frozenset[str] = frozenset()

    def capabilities(self) -> str:
        """The capabilities document; notes the versions behind aliases, and the emulators."""
        text = super().capabilities()
        rows = capabilities.read(text).combinations
        self._wanted |= {(row.arch, row.canonical) for row in rows if self._wants(row)}
        self._paths = frozenset(row.emulator for row in rows if row.emulator and self._wants(row))
        return text

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        """One document or error for each wanted row."""
        return super().domain_capabilities(row for row in rows if self._wants(row))

    def emulators(self, paths: Sequence[str]) -> Iterator[Answer]:
        """The device lists of the emulators concerned."""
        return super().emulators([path for path in paths if path in self._paths])

    def _wants(self, row: Combination) -> bool:
        return any((row.arch, name) in self._wanted for name in (row.machine, row.canonical))


def ask(
    hypervisor: Hypervisor,
    settings: Settings,
    wanted: Iterable[tuple[str, str]],
    progress: Progress = quiet,
    categories: Collection[str] = tuple(CATEGORY_OF.values()),
) -> Discovery:
    """What this host can do for the `wanted` machine types. Raises LibvirtError.

    Claims of `categories` are tried, those of others only taken down.
    """
    needed = frozenset(wanted)
    untried = replace(settings, libvirt=replace(settings.libvirt, trials=False))
    discovery = discover(untried, NarrowWitness(hypervisor, settings, needed), progress=progress)
    if not settings.libvirt.trials:
        return discovery
    devices = {emulator.path: emulator.devices for emulator in discovery.emulators}
    trials: dict[tuple[str, str], tuple[Trial, ...]] = {}
    for machine in discovery.machines:
        key = (machine.arch, machine.canonical)
        if machine.error is None and machine.name == machine.canonical and key not in trials:
            progress("letting libvirt validate minimal guests", len(trials), len(needed))
            claims = [claim for claim in claimed(machine) if claim[0] in categories]
            listed = devices.get(machine.emulator)
            hopeless = trial.impossible(machine, claims, listed) if listed is not None else ()
            refuted = {(found.category, found.value) for found in hopeless}
            rest = [claim for claim in claims if claim not in refuted]
            trials[key] = hopeless + trial.run(hypervisor, machine, rest)
    return replace(discovery, trials=tuple(trial for found in trials.values() for trial in found))
