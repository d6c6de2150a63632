"""Discovery: everything one host says about itself, in one pass.

libvirt and the emulators (or recorded documents, through the same `Source`) are asked for every
combination; each answer is an outcome or an error of its own. What does not change between
passes is kept in a `Memo` by the caller: parsed documents, device lists, trials.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional, Protocol

from capd import capabilities, devices, trial
from capd.calls import Outcome
from capd.capabilities import Combination, Listing
from capd.config import Settings
from capd.domcaps import Reader
from capd.emulator import Answer
from capd.errors import CapdError, DocumentError, LibvirtError
from capd.facts import Claims, Cost, Discovery, Emulator, Host, Machine, Trial
from capd.machines import assemble, claimed, representatives
from capd.table import FAMILIES


class Progress(Protocol):
    """Told how far a discovery is; `done` of `total` steps of `stage`."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


class Witness(Protocol):
    """Where documents come from: a live libvirt and its emulators, or a recording.

    `trials` may yield nothing where trials are not to be had. Methods raise LibvirtError or
    RecordingError when the whole source fails; a failure of one row is its outcome.
    """

    def host(self) -> tuple[str, str, str]:
        """Host name, libvirt version, URI."""

    def capabilities(self) -> str:
        """The capabilities document."""

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        """One document or error for each row, in any order."""

    def emulators(self, paths: Sequence[str]) -> Iterator[Answer]:
        """What each emulator answers; they start on it at once, not when first iterated."""

    def try_claims(self, machine: Machine, claims: Iterable[tuple[str, str]]) -> tuple[Trial, ...]:
        """Verdicts on claimed values of one machine type."""

    def calls(self) -> int:
        """libvirt calls made so far."""


@dataclass
class Memo:
    """What a caller keeps between passes so that nothing is parsed or tried twice.

    Clear it when libvirt's daemon was restarted or upgraded.
    """

    reader: Reader = field(default_factory=Reader)
    trials: dict[tuple[str, ...], tuple[Trial, ...]] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        self.reader = Reader()
        self.trials.clear()


def quiet(stage: str, done: int, total: int) -> None:
    """A progress callback that shows nothing."""


def discover(
    settings: Settings, witness: Witness, memo: Optional[Memo] = None, progress: Progress = quiet
) -> Discovery:
    """Ask `witness` for everything. Raises CapdError only if nothing at all can be learnt."""
    return _Pass(settings, witness, memo or Memo(), progress).run()


class _Pass:
    """One discovery under way; collects problems as it goes."""

    def __init__(
        self, settings: Settings, witness: Witness, memo: Memo, progress: Progress
    ) -> None:
        self.settings = settings
        self.witness = witness
        self.memo = memo
        self.progress = progress
        self.problems: list[str] = []

    def run(self) -> Discovery:
        begun = time.monotonic()
        hostname, version, uri = self.witness.host()
        self.progress("asking libvirt what it can run", 0, 0)
        listing = capabilities.read(self.witness.capabilities(), f"{uri} capabilities")
        host = self._host(listing, hostname, version, uri)
        paths = listing.emulators()
        ordered = sorted(paths, key=lambda path: paths[path] != host.arch)
        answers = self.witness.emulators(ordered)  # they list their devices during the sweep
        claims = self._sweep(listing, host)
        emulators, device_claims, names = self._emulators(paths, answers)
        machines = tuple(assemble(listing, claims, device_claims))
        marks = {emulator.path: emulator.fingerprint for emulator in emulators}
        trials = self._trials(host, machines, names, marks)
        self.memo.reader.forget_unused()
        cost = Cost(self.witness.calls(), round(time.monotonic() - begun, 4))
        return Discovery(
            host, emulators, machines, trials, cost, True, tuple(dict.fromkeys(self.problems))
        )

    def _host(self, listing: Listing, hostname: str, version: str, uri: str) -> Host:
        native = listing.virt_types(listing.host_arch)
        virt_type = self.settings.libvirt.virt_type
        if virt_type is None:
            virt_type = "kvm" if "kvm" in native or not native else sorted(native)[0]
            if virt_type == "kvm" and "kvm" not in native:
                virt_type = "qemu"
        elif virt_type not in native:
            self.problems.append(
                f"[libvirt] virt_type = {virt_type}, but libvirt offers only "
                f"{', '.join(sorted(native)) or 'nothing'} for {listing.host_arch or 'this host'}"
            )
        accelerated = "kvm" in native
        return Host(hostname, version, uri, listing.host_arch, virt_type, accelerated)

    def _sweep(self, listing: Listing, host: Host) -> Mapping[Combination, Claims | str]:
        """Claims or an error text for every combination, native and canonical ones first."""
        rows = sorted(
            dict.fromkeys(listing.combinations),
            key=lambda row: (
                row.arch != host.arch,
                row.virt_type != host.virt_type,
                row.canonical is None,
            ),
        )
        found: dict[Combination, Claims | str] = {}
        asked = self.witness.domain_capabilities(rows)
        try:
            for done, (row, outcome) in enumerate(asked, 1):
                found[row] = self._claims_of(row, outcome)
                self.progress("asking about machine types", done, len(rows))
        except LibvirtError as error:
            self.problems.append(f"{len(rows) - len(found)} machine types not asked: {error}")
            for row in rows:
                found.setdefault(row, f"not asked: {error}")
        return found

    def _claims_of(self, row: Combination, outcome: Outcome[str]) -> Claims | str:
        label = f"{row.arch} {row.machine or 'default machine'} {row.virt_type}"
        try:
            return self.memo.reader.read(outcome.result(), label)
        except (LibvirtError, DocumentError) as error:
            if isinstance(error, DocumentError):
                self.problems.append(str(error))
            return " ".join(str(error).split())

    def _emulators(
        self, paths: Mapping[str, str], answers: Iterator[Answer]
    ) -> tuple[tuple[Emulator, ...], dict[str, Claims], dict[str, frozenset[str]]]:
        found: list[Emulator] = []
        claims: dict[str, Claims] = {}
        names: dict[str, frozenset[str]] = {}
        for done, answer in enumerate(answers, 1):
            self.progress("asking the emulators for their devices", done, len(paths))
            listed = answer.devices
            if listed is None:
                self.problems.append(answer.error or f"{answer.path} gave no device list")
            else:
                claims[answer.path] = devices.claims(listed)
                names[answer.path] = listed.names()
            found.append(
                Emulator(
                    answer.path,
                    paths[answer.path],
                    answer.version,
                    answer.fingerprint,
                    names.get(answer.path),
                    answer.error,
                )
            )
        return tuple(found), claims, names

    def _trials(
        self,
        host: Host,
        machines: tuple[Machine, ...],
        names: Mapping[str, frozenset[str]],
        marks: Mapping[str, str],
    ) -> tuple[Trial, ...]:
        if not self.settings.libvirt.trials:
            return ()
        arches = (host.arch, *self.settings.traits.emulated)
        chosen = list(representatives(machines, arches, host.virt_type))
        accepted: set[tuple[str, str, str]] = set()
        trials: list[Trial] = []
        for done, machine in enumerate(chosen, 1):
            self.progress("letting libvirt validate minimal guests", done, len(chosen))
            wanted = claimed(machine)
            if machine.family not in FAMILIES.get(machine.arch, ()):
                # only what would give the host a trait that no family gives it already
                wanted = [pair for pair in wanted if (machine.arch, *pair) not in accepted]
            key = (host.libvirt, marks.get(machine.emulator, ""), machine.arch, machine.virt_type)
            tried = self._tried((*key, machine.name), machine, wanted, names)
            if tried is None:
                break
            trials.extend(tried)
            accepted.update(
                (one.arch, one.category, one.value) for one in tried if one.refused is None
            )
        return tuple(trials)

    def _tried(
        self,
        key: tuple[str, ...],
        machine: Machine,
        wanted: list[tuple[str, str]],
        names: Mapping[str, frozenset[str]],
    ) -> Optional[tuple[Trial, ...]]:
        """The trials of one machine type, from memory if nothing changed; None if libvirt died."""
        key = (*key, *(f"{category}={value}" for category, value in wanted))
        known = self.memo.trials.get(key)
        if known is not None:
            return known
        hopeless: tuple[Trial, ...] = ()
        if machine.emulator in names:
            hopeless = trial.impossible(machine, wanted, names[machine.emulator])
        settled = {(refuted.category, refuted.value) for refuted in hopeless}
        open_claims = [pair for pair in wanted if pair not in settled]
        try:
            tried = hopeless + self.witness.try_claims(machine, open_claims)
        except CapdError as error:
            self.problems.append(f"no trials of {machine.name}: {error}")
            return None
        self.memo.trials[key] = tried
        return tried
