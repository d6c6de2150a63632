"""One pass: connect, discover, judge, report, record. The same for `--once` and the daemon.

`Cycle` owns what lives from pass to pass: the libvirt connection, the state database, the last
discovery and whether it still holds (`capd.freshness`). It is used by one thread. A stage that
fails is a value in the `CycleResult`, never an exception: what can still be done is done, and what
was known stays known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Optional, TypeVar

from capd import traits
from capd.config import Settings
from capd.discover import Memo, Witness, discover, give_back
from capd.emulator import Answer
from capd.errors import CapdError, PlacementError, StoreError
from capd.events import Post
from capd.facts import Discovery
from capd.freshness import Freshness, differs
from capd.hypervisor import Hypervisor
from capd.link import Link
from capd.live import LiveWitness
from capd.outcome import joined
from capd.progress import Progress
from capd.records.recordstore import RecordStore
from capd.records.tracker import Status, Tracker
from capd.stages import CycleResult, Stage, StageResult, there
from capd.store import DATABASE, Store
from capd.verdicts import Assessment, affirmed

if TYPE_CHECKING:
    from capd.outcome import Report
    from capd.report import Reporter

T = TypeVar("T")

#: seconds of grace on top of a stage's own limits before it counts as hung
_SLACK = 5.0

#: domains that events may name in one go; with more of them all are compared
_FOLLOWED = 64


class Cycle:
    """Passes over one host.

    `post` takes libvirt's events; without it none are asked for. `witness` is asked instead of
    the host (a recording); nothing is then recorded of instances. With `once` nothing is asked
    for the sake of a later pass.
    """

    def __init__(
        self,
        settings: Settings,
        post: Optional[Post] = None,
        witness: Optional[Witness] = None,
        once: bool = False,
    ) -> None:
        self.settings = settings
        self._witness = witness
        self._once = once
        self._post = post
        self._link = Link(settings.libvirt, post)
        self._freshness = Freshness()
        self._memo = Memo()
        self._answers: dict[str, Answer] = {}
        self._store: Optional[Store] = None
        self._reporter: Optional[Reporter] = None
        self._tracker: Optional[Tracker] = None
        self._discovery: Optional[Discovery] = None
        self._first_report: Optional[Report] = None
        self._assessment: Optional[Assessment] = None
        self._stages: list[StageResult] = []
        self._progress = Progress()

    # -- from any thread

    def lost(self) -> None:
        """The connection to libvirt is dead."""
        self._link.lost()

    def expire(self, reason: str) -> None:
        """Something may have changed that only a full look shows."""
        self._freshness.expire(reason)

    def touched(self) -> bool:
        """Whether a file that matters changed since the last look."""
        return self._freshness.touched()

    # -- from the thread of the passes

    def reconfigure(self, settings: Settings) -> None:
        """New settings from the next pass on; everything is looked at and connected anew."""
        self.close()
        self.settings = settings
        self._link = Link(settings.libvirt, self._post)
        self._freshness = Freshness()

    def run(self, progress: Progress) -> CycleResult:
        """One pass. Raises nothing that a user, a file or the network can cause."""
        started = time.monotonic()
        self._stages, self._progress = [], progress
        self._first_report = None
        asked = self._link.hypervisor.calls if self._link.hypervisor else 0
        looked: Optional[str] = None
        report: Optional[Report] = None
        records: Optional[Status] = None
        store = self._attempt(Stage.STORE, self._open_store)
        witness, hypervisor = self._witness, None
        if witness is None:
            before = self._link.hypervisor
            hypervisor = self._attempt(Stage.LIBVIRT, self._connect)
            asked = asked if hypervisor is before else 0
        if hypervisor is not None or witness is not None:
            looked = self._attempt(Stage.DISCOVERY, lambda: self._look(hypervisor))
        known = self._went_well(Stage.DISCOVERY)
        if known and store is not None:
            report = self._attempt(Stage.PLACEMENT, lambda: self._final_report(store))
            self._heed(report)
        if known and hypervisor is not None and self._store is not None:
            records = self._records(hypervisor, self._store)
        return CycleResult(
            stages=tuple(self._stages),
            seconds=time.monotonic() - started,
            looked=looked or None,
            calls=max(0, (hypervisor.calls if hypervisor else 0) - asked),
            discovery=self._discovery if known else None,
            assessment=self._assessment if known else None,
            report=report,
            records=records,
        )

    def follow(self, progress: Progress, instances: Collection[str]) -> CycleResult:
        """Look at the domains that events spoke of, and at nothing else."""
        started = time.monotonic()
        self._stages, self._progress = [], progress
        hypervisor, tracker = self._link.hypervisor, self._tracker
        status: Optional[Status] = None
        if hypervisor is not None and tracker is not None and not self._link.broken:
            progress.expect(self.settings.libvirt.call_timeout + _SLACK)

            def look() -> Status:
                if len(instances) > _FOLLOWED:
                    tracker.reconcile()
                else:
                    for instance in instances:
                        progress.step("following domains")
                        tracker.on_event(instance)
                return tracker.status

            status = self._attempt(Stage.RECORDS, look)
        return CycleResult(
            stages=tuple(self._stages),
            seconds=time.monotonic() - started,
            records=status,
            full=False,
        )

    def close(self) -> None:
        """Give up the connection and the database."""
        self._link.close()
        self._drop_store()

    def _attempt(self, stage: Stage, action: Callable[[], T]) -> Optional[T]:
        """Run one stage and keep how it went."""
        started = time.monotonic()
        error: Optional[CapdError] = None
        value: Optional[T] = None
        try:
            value = action()
        except CapdError as caught:
            error = caught
        self._stages.append(StageResult(stage, time.monotonic() - started, error))
        if isinstance(error, StoreError) and stage is not Stage.STORE:
            self._drop_store()
        return value

    def _went_well(self, stage: Stage) -> bool:
        return any(done.stage is stage and done.error is None for done in self._stages)

    def _heed(self, report: Optional[Report]) -> None:
        """Placement's stage as the report has it: an error is a value there."""
        if report is None or not (report.error or report.problems):
            return
        text = report.error or "; ".join(report.problems)
        error = PlacementError(text, culprit=report.plan.provider or "")
        self._stages[-1] = replace(self._stages[-1], error=error)

    # -- the stages

    def _open_store(self) -> Store:
        self._progress.expect(15.0 + _SLACK)
        self._progress.step("opening the state database")
        if self._store is None:
            self._store = Store(self.settings.state_dir / DATABASE)
        return self._store

    def _drop_store(self) -> None:
        """After a failure the database is opened, and checked, anew."""
        store, self._store = self._store, None
        self._reporter = self._tracker = None
        if store is not None:
            store.close()

    def _connect(self) -> Hypervisor:
        """A connection that answers; on a new one nothing known still counts as known."""
        self._progress.expect(self.settings.libvirt.connect_timeout + 2 * _SLACK)
        hypervisor, new = self._link.connect(self._progress.step)
        if new:
            self._tracker = None
            self._memo.clear()
            self._freshness.expire("a new connection to libvirt")
        return hypervisor

    def _look(self, hypervisor: Optional[Hypervisor]) -> str:
        """Have a discovery and an assessment that hold now; why it was made anew, or ''."""
        libvirt = self.settings.libvirt
        limit = max(libvirt.call_timeout, 2 * libvirt.emulator_timeout)
        self._progress.expect(limit + _SLACK)
        if hypervisor is not None:
            hypervisor.on_wait = self._progress.step
            hypervisor.give_up = time.monotonic() + libvirt.sweep_timeout
        reason = None if hypervisor is None or self._once else self._stale(hypervisor)
        if reason == "":
            return ""
        witness = self._witness or LiveWitness(there(hypervisor), libvirt, self._answers)
        self._progress.step("asking libvirt")
        show = self._progress.discovering
        discovery = discover(self.settings, witness, self._memo, show, self._early)
        self._progress.expect(limit + _SLACK)
        changed = self._discovery is None or differs(self._discovery, discovery)
        if changed or self._assessment is None:
            self._discovery = discovery
            self._assessment = traits.assess(discovery, self.settings.traits, libvirt)
        if hypervisor is not None and not self._once:
            self._freshness.learnt(hypervisor, discovery, changed)
            give_back()
        return reason or "asked to"

    def _early(self, discovery: Discovery) -> None:
        """Report what a slow host has by now; nothing is denied before the whole is known."""
        if self._store is not None:
            found = traits.assess(discovery, self.settings.traits, self.settings.libvirt)
            name = discovery.host.hostname
            self._first_report = self._report(self._store, affirmed(found), name)

    def _stale(self, hypervisor: Hypervisor) -> str:
        """Why what is known must be learnt anew, '' if it still holds."""
        self._progress.step("comparing with the last pass")
        reason = self._freshness.stale(hypervisor)
        if reason is None and self._assessment is not None:
            return ""
        self._freshness.begin(hypervisor)
        return reason or "the first pass"

    def _final_report(self, store: Store) -> Report:
        """The report on everything, with what an early one in the same pass did already."""
        assessment, hostname = there(self._assessment), there(self._discovery).host.hostname
        return joined(self._first_report, self._report(store, assessment, hostname))

    def _report(self, store: Store, assessment: Assessment, hostname: str) -> Report:
        from capd.report import Reporter

        self._progress.expect(self.settings.placement.pass_timeout + _SLACK)
        self._progress.step("reporting to Placement")
        if self._reporter is None:
            self._reporter = Reporter(self.settings, store, hostname, self._pause)
        self._reporter.hostname = hostname
        return self._reporter.report(assessment)

    def _pause(self, seconds: float) -> None:
        """Sleep in short steps, so that a daemon that is to stop need not wait for the rest."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._progress.step(self._progress.text)
            time.sleep(min(left, 0.5))

    def _records(self, hypervisor: Hypervisor, store: Store) -> Optional[Status]:
        """The records of the instances, if they are wanted."""
        settings = self.settings.records
        if not settings.enabled:
            return None
        self._progress.expect(self.settings.libvirt.call_timeout + _SLACK)
        self._progress.step("recording instances")

        def track() -> Status:
            if self._tracker is None:
                tracker = Tracker(RecordStore(store), settings.retention)
                tracker.start(hypervisor, self._discovery)
                self._tracker = tracker
            else:
                self._tracker.facts(there(self._discovery))
                self._tracker.reconcile()
            return self._tracker.status

        return self._attempt(Stage.RECORDS, track)
