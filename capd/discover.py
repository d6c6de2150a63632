"""Discovery: everything one host says about itself, in one pass.

libvirt and the emulators (or recorded documents, through the same `Source`) are asked for every
combination; each answer is an outcome or an error of its own. What does not change between
passes is kept in a `Memo` by the caller: parsed documents, device lists, trials.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Callable, Optional, Protocol

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

LOG = logging.getLogger(__name__)

#: how a problem begins that left claims of machine types untried
UNTRIED = "no trials of"

#: seconds after which what is known of native machine types is worth passing on by itself
EARLY_AFTER = 2.0

#: told what is known so far, in a discovery that is not complete
Early = Callable[[Discovery], None]


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
    settings: Settings,
    witness: Witness,
    memo: Optional[Memo] = None,
    progress: Progress = quiet,
    early: Optional[Early] = None,
) -> Discovery:
    """Ask `witness` for everything. Raises CapdError only if nothing at all can be learnt.

    On a host that answers slowly `early` is given what is known once the native machine types
    have been asked; all others are errors there, so unknown, until the whole is returned.
    """
    return _Pass(settings, witness, memo or Memo(), progress).run(early)


class _Pass:
    """One discovery under way; collects rows, device lists and problems as it goes."""

    def __init__(
        self, settings: Settings, witness: Witness, memo: Memo, progress: Progress
    ) -> None:
        self.settings = settings
        self.witness = witness
        self.memo = memo
        self.progress = progress
        self.begun = time.monotonic()
        self.problems: list[str] = []
        self.libvirt_gone: Optional[LibvirtError] = None
        self.found: dict[Combination, Claims | str] = {}
        self.emulators: list[Emulator] = []
        self.device_claims: dict[str, Claims] = {}

    def run(self, early: Optional[Early]) -> Discovery:
        hostname, version, uri = self.witness.host()
        self.progress("asking libvirt what it can run", 0, 0)
        listing = capabilities.read(self.witness.capabilities(), f"{uri} capabilities")
        host = self._host(listing, hostname, version, uri)
        paths = listing.emulators()
        ordered = sorted(paths, key=lambda path: paths[path] != host.arch)
        answers = self.witness.emulators(ordered)  # they list their devices during the sweep
        rows = _in_order(listing, host)
        native = [row for row in rows if (row.arch, row.virt_type) == (host.arch, host.virt_type)]
        self._sweep(native, len(rows))
        own = {row.emulator for row in native if row.emulator}
        self._ask_emulators(paths, islice(answers, len(own)))
        if early is not None and time.monotonic() - self.begun > EARLY_AFTER:
            early(self._so_far(host, listing, complete=False))
        self._sweep(rows[len(native) :], len(rows))
        self._ask_emulators(paths, answers)
        whole = self._so_far(host, listing, complete=True)
        LOG.debug(
            "discovery: %d combinations, %d native, %d emulators, %d problems, %d libvirt calls "
            "in %.3f s",
            len(rows),
            len(native),
            len(self.emulators),
            len(whole.problems),
            whole.cost.libvirt_calls,
            whole.cost.seconds,
        )
        self.memo.reader.forget_unused()
        return whole

    def _so_far(self, host: Host, listing: Listing, complete: bool) -> Discovery:
        machines = tuple(assemble(listing, self.found, self.device_claims))
        trials = self._trials(host, machines)
        cost = Cost(self.witness.calls(), round(time.monotonic() - self.begun, 4))
        problems = tuple(dict.fromkeys(self.problems)) if complete else ()
        emulators = tuple(self.emulators)
        return Discovery(host, emulators, machines, trials, cost, complete, problems)

    def _host(self, listing: Listing, hostname: str, version: str, uri: str) -> Host:
        native = listing.virt_types(listing.host_arch)
        virt_type = self.settings.libvirt.virt_type
        if virt_type is None:
            # kvm before qemu before whatever another driver calls its own
            choices = [kind for kind in ("kvm", "qemu", *sorted(native)) if kind in native]
            virt_type = choices[0] if choices else "qemu"
        elif virt_type not in native:
            self.problems.append(
                f"[libvirt] virt_type = {virt_type}, but libvirt offers only "
                f"{', '.join(sorted(native)) or 'nothing'} for {listing.host_arch or 'this host'}"
            )
        accelerated = "kvm" in native
        return Host(hostname, version, uri, listing.host_arch, virt_type, accelerated)

    def _sweep(self, rows: Sequence[Combination], total: int) -> None:
        """Have claims or an error text for each of `rows`."""
        if self.libvirt_gone is not None:
            self.found.update(dict.fromkeys(rows, f"not asked: {self.libvirt_gone}"))
            return
        try:
            for row, outcome in self.witness.domain_capabilities(rows):
                self.found[row] = self._claims_of(row, outcome)
                self.progress("asking about machine types", len(self.found), total)
        except LibvirtError as error:
            self.libvirt_gone = error
            missing = [row for row in rows if row not in self.found]
            self.problems.append(f"{total - len(self.found)} machine types not asked: {error}")
            self.found.update(dict.fromkeys(missing, f"not asked: {error}"))

    def _claims_of(self, row: Combination, outcome: Outcome[str]) -> Claims | str:
        label = f"{row.arch} {row.machine or 'default machine'} {row.virt_type}"
        try:
            return self.memo.reader.read(outcome.result(), label)
        except (LibvirtError, DocumentError) as error:
            if isinstance(error, DocumentError):
                self.problems.append(str(error))
            return " ".join(str(error).split())

    def _ask_emulators(self, paths: Mapping[str, str], answers: Iterable[Answer]) -> None:
        for answer in answers:
            listed = answer.devices
            if listed is None:
                self.problems.append(answer.error or f"{answer.path} gave no device list")
            else:
                self.device_claims[answer.path] = devices.claims(listed)
            self.emulators.append(
                Emulator(
                    answer.path,
                    paths[answer.path],
                    answer.version,
                    answer.fingerprint,
                    None if listed is None else listed.names(),
                    answer.error,
                )
            )
            done = len(self.emulators)
            self.progress("asking the emulators for their devices", done, len(paths))

    def _trials(
        self,
        host: Host,
        machines: tuple[Machine, ...],
    ) -> tuple[Trial, ...]:
        if not self.settings.libvirt.trials:
            return ()
        emulators = {emulator.path: emulator for emulator in self.emulators}
        arches = (host.arch, *self.settings.traits.emulated)
        chosen = list(representatives(machines, arches, host))
        accepted: set[tuple[str, str, str]] = set()
        trials: list[Trial] = []
        for done, machine in enumerate(chosen, 1):
            self.progress("letting libvirt validate minimal guests", done, len(chosen))
            wanted = claimed(machine)
            if machine.family not in FAMILIES.get(machine.arch, ()):
                # only what would give the host a trait that no family gives it already
                wanted = [pair for pair in wanted if (machine.arch, *pair) not in accepted]
            emulator = emulators.get(machine.emulator)
            mark = emulator.fingerprint if emulator else ""
            key = (host.libvirt, mark, machine.arch, machine.virt_type, machine.name)
            names = emulator.devices if emulator else None
            tried = self._tried(key, machine, wanted, names)
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
        names: Optional[frozenset[str]],
    ) -> Optional[tuple[Trial, ...]]:
        """The trials of one machine type, from memory if nothing changed; None if libvirt died."""
        key = (*key, *(f"{category}={value}" for category, value in wanted))
        known = self.memo.trials.get(key)
        if known is not None:
            return known
        hopeless: tuple[Trial, ...] = ()
        if names is not None:
            hopeless = trial.impossible(machine, wanted, names)
        settled = {(refuted.category, refuted.value) for refuted in hopeless}
        open_claims = [pair for pair in wanted if pair not in settled]
        try:
            tried = hopeless + self.witness.try_claims(machine, open_claims)
        except CapdError as error:
            self.problems.append(f"{UNTRIED} {machine.name}: {error}")
            return None
        self.memo.trials[key] = tried
        return tried


def _in_order(listing: Listing, host: Host) -> list[Combination]:
    """Every combination once: those instances get first, aliases before versions."""
    return sorted(
        dict.fromkeys(listing.combinations),
        key=lambda row: (
            (row.arch, row.virt_type) != (host.arch, host.virt_type),
            row.arch != host.arch,
            row.canonical is None,
        ),
    )


def give_back() -> None:
    """Return the memory that parsing needed to the system (malloc_trim(3), where there is one)."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
