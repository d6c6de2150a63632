"""The live witness: this host's libvirt and its emulators.

Device lists are remembered by the emulator's fingerprint, so a daemon asks an emulator again only
when its package changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Optional

from capd import emulator, trial
from capd.calls import Outcome
from capd.capabilities import Combination
from capd.config import LibvirtSettings, Settings
from capd.discover import Progress, discover, quiet
from capd.emulator import Answer
from capd.facts import Discovery, Machine, Trial
from capd.hypervisor import Hypervisor


class LiveWitness:
    """Asks a `Hypervisor` that is open; `answers` is kept by the caller between passes."""

    def __init__(
        self,
        hypervisor: Hypervisor,
        settings: LibvirtSettings,
        answers: Optional[dict[str, Answer]] = None,
    ) -> None:
        self.hypervisor = hypervisor
        self.settings = settings
        self.answers = {} if answers is None else answers
        self._calls_before = hypervisor.calls
        hypervisor.give_up = time.monotonic() + settings.sweep_timeout

    def host(self) -> tuple[str, str, str]:
        """Host name, libvirt version, URI."""
        return self.hypervisor.hostname(), self.hypervisor.version(), self.hypervisor.uri

    def capabilities(self) -> str:
        """The capabilities document."""
        return self.hypervisor.capabilities()

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        """One document or error for each row; stops early only if libvirt stops answering."""
        return self.hypervisor.domain_capabilities(rows)

    def emulators(self, paths: Sequence[str]) -> Iterator[Answer]:
        """Ask the emulators whose fingerprint changed, two at a time, beginning at once."""
        pool = ThreadPoolExecutor(2, thread_name_prefix="capd-emulator")
        waiting: list[Future[Answer]] = [pool.submit(self._ask, path) for path in paths]
        pool.shutdown(wait=False)
        return (future.result() for future in waiting)

    def _ask(self, path: str) -> Answer:
        known = self.answers.get(path)
        if (
            known is None
            or known.devices is None
            or known.fingerprint != emulator.fingerprint(path)
        ):
            known = emulator.ask(path, self.settings.emulator_timeout)
            # the text is for a recording, made from the first answer; it need not stay in memory
            self.answers[path] = replace(known, text="")
        return known

    def try_claims(
        self,
        machine: Machine,
        claims: Iterable[tuple[str, str]],
    ) -> tuple[Trial, ...]:
        """Let libvirt validate a minimal guest for each claimed value."""
        return trial.run(self.hypervisor, machine, claims)

    def calls(self) -> int:
        """libvirt calls made for this witness."""
        return self.hypervisor.calls - self._calls_before


def discover_here(settings: Settings, progress: Progress = quiet) -> Discovery:
    """Discover this host once, with a connection of its own. Raises LibvirtError."""
    hypervisor = Hypervisor(settings.libvirt)
    try:
        hypervisor.open()
        return discover(settings, LiveWitness(hypervisor, settings.libvirt), progress=progress)
    finally:
        hypervisor.close()
