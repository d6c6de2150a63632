"""One pass: connect, discover, judge, report, record. The same for `--once` and the daemon.

`Cycle` owns what lives from pass to pass: the host as last seen (`capd.lookout`), the state
database, the reporter and the records' tracker. It is used by one thread. A stage that fails is a
value in the `CycleResult`, never an exception: what can still be done is done, and what was known
stays known.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Optional, TypeVar

from capd.config import Settings
from capd.discover import Witness
from capd.errors import CapdError, PlacementError, StoreError
from capd.events import Post
from capd.hypervisor import Hypervisor
from capd.journal import fields
from capd.lookout import SLACK, Lookout, Sight
from capd.memory import Memory
from capd.outcome import Report, joined
from capd.progress import Progress
from capd.records.recordstore import RecordStore
from capd.records.tracker import Status, Tracker
from capd.stages import CycleResult, Stage, StageResult
from capd.store import DATABASE, Store

if TYPE_CHECKING:
    from capd.quiet import Quiet
    from capd.report import Reporter

T = TypeVar("T")
LOG = logging.getLogger(__name__)

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
        self._post = post
        self._witness = witness
        self._once = once
        self._lookout = Lookout(settings, post, witness, once)
        self._store: Optional[Store] = None
        self._reporter: Optional[Reporter] = None
        self._quiet: Optional[Quiet] = None
        self._tracker: Optional[Tracker] = None
        self._first_report: Optional[Report] = None
        self._stages: list[StageResult] = []
        self._progress = Progress()

    # -- from any thread

    def lost(self) -> None:
        """The connection to libvirt is dead."""
        self._lookout.link.lost()

    @property
    def broken(self) -> bool:
        """Whether there is no connection to libvirt that is known to hold."""
        return self._lookout.link.broken

    @property
    def left(self) -> int:
        """Calls to libvirt may still be out on so many connections."""
        return self._lookout.link.left

    def expire(self, reason: str) -> None:
        """Something may have changed that only a full look shows."""
        self._lookout.freshness.expire(reason)

    def touched(self) -> bool:
        """Whether a file that matters changed since the last look."""
        return self._lookout.freshness.touched()

    # -- from the thread of the passes

    def reconfigure(self, settings: Settings) -> None:
        """New settings from the next pass on; everything is looked at and connected anew."""
        self.close()
        self.settings = settings
        self._lookout = Lookout(settings, self._post, self._witness, self._once)

    def run(self, progress: Progress) -> CycleResult:
        """One pass. Raises nothing that a user, a file or the network can cause."""
        started = time.monotonic()
        self._stages, self._progress, self._first_report = [], progress, None
        sight: Optional[Sight] = None
        report: Optional[Report] = None
        records: Optional[Status] = None
        store = self._attempt(Stage.STORE, self._open_store)
        asked, before = self._calls(), self._lookout.link.hypervisor
        hypervisor = None
        if self._witness is None:
            hypervisor = self._attempt(Stage.LIBVIRT, self._connect)
        if hypervisor is not None or self._witness is not None:
            sight = self._attempt(
                Stage.DISCOVERY,
                lambda: self._lookout.look(hypervisor, progress, self._early),
            )
        if sight is not None and store is not None:
            report = self._reported(store, sight)
        if sight is not None and hypervisor is not None and self._store is not None:
            records = self._recorded(hypervisor, self._store, sight)
        calls = self._calls() - (asked if hypervisor is before else 0)
        seconds = time.monotonic() - started
        LOG.debug("the pass ended after %.3f s and %d libvirt calls", seconds, calls)
        return CycleResult(
            stages=tuple(self._stages),
            seconds=seconds,
            looked=sight.looked if sight else None,
            calls=calls,
            discovery=sight.discovery if sight else None,
            assessment=sight.assessment if sight else None,
            report=report,
            records=records,
        )

    def follow(self, progress: Progress, instances: Collection[str]) -> CycleResult:
        """Look at the domains that events spoke of, and at nothing else."""
        started = time.monotonic()
        self._stages, self._progress = [], progress
        tracker, asked = self._tracker, self._calls()
        status: Optional[Status] = None
        if tracker is not None and not self._lookout.link.broken:
            progress.expect(self.settings.libvirt.call_timeout + SLACK)

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
            calls=self._calls() - asked,
            records=status,
            full=False,
        )

    def close(self) -> None:
        """Give up the connection and the database."""
        self._lookout.link.close()
        self._drop_store()

    def _calls(self) -> int:
        hypervisor = self._lookout.link.hypervisor
        return hypervisor.calls if hypervisor is not None else 0

    def _attempt(self, stage: Stage, action: Callable[[], T]) -> Optional[T]:
        """Run one stage and keep how it went."""
        started = time.monotonic()
        error: Optional[CapdError] = None
        value: Optional[T] = None
        about = fields(stage=stage.value)
        LOG.debug("%s begins", stage.value, extra=about)
        try:
            value = action()
        except CapdError as caught:
            error = caught
        seconds = time.monotonic() - started
        self._stages.append(StageResult(stage, seconds, error))
        how = f"failed ({error.line()})" if error is not None else "ended"
        LOG.debug("%s %s after %.3f s", stage.value, how, seconds, extra=about)
        if isinstance(error, StoreError) and stage is not Stage.STORE:
            self._drop_store()
        return value

    # -- the stages

    def _open_store(self) -> Store:
        self._progress.expect(15.0 + SLACK)
        self._progress.step("opening the state database")
        if self._store is None:
            self._store = Store(self.settings.state_dir / DATABASE)
        try:
            self._store.check_place()
        except StoreError:
            self._drop_store()
            raise
        return self._store

    def _drop_store(self) -> None:
        """After a failure the database is opened, and checked, anew."""
        store, self._store = self._store, None
        self._reporter = self._quiet = self._tracker = None
        if store is not None:
            store.close()

    def _connect(self) -> Hypervisor:
        hypervisor, new = self._lookout.connect(self._progress)
        if new:
            self._tracker = None
        return hypervisor

    def _early(self, sight: Sight) -> None:
        """Native machine types are worth reporting before the rest has been asked."""
        if self._store is not None:
            self._first_report = self._report(self._store, sight)

    def _reported(self, store: Store, sight: Sight) -> Optional[Report]:
        """Placement's stage; an error is a value in the report."""
        report = self._attempt(
            Stage.PLACEMENT, lambda: joined(self._first_report, self._report(store, sight))
        )
        if report is not None and (report.error or report.problems):
            text = report.error or "; ".join(report.problems)
            error = PlacementError(text, culprit=report.plan.provider or "")
            self._stages[-1] = replace(self._stages[-1], error=error)
        return report

    def _report(self, store: Store, sight: Sight) -> Report:
        from capd.placement import Placement
        from capd.quiet import Quiet
        from capd.report import Reporter

        assessment, host = sight.assessment, sight.discovery.host.hostname
        self._progress.expect(self.settings.placement.pass_timeout + SLACK)
        self._progress.step("reporting to Placement")
        if self._reporter is None or self._quiet is None:
            client = Placement(self.settings, self._pause)
            self._reporter = Reporter(self.settings, store, host, client=client)
            self._quiet = Quiet(self.settings.placement, client)
        report = self._quiet.still(assessment, host)
        if report is None:
            self._reporter.hostname = host
            report = self._reporter.report(assessment)
            self._quiet.reported(assessment, host, report)
            if report.ok and report.plan.provider and self._witness is None:
                Memory(store).live(report.plan.provider, host)
        LOG.debug("%s; %d requests", report.plan.counts(), report.requests)
        return report

    def _pause(self, seconds: float) -> None:
        """Sleep in short steps, so that a daemon that is to stop need not wait for the rest."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._progress.step(self._progress.text)
            time.sleep(min(left, 0.5))

    def _recorded(self, hypervisor: Hypervisor, store: Store, sight: Sight) -> Optional[Status]:
        """The records of the instances, if they are wanted."""
        settings = self.settings.records
        if not settings.enabled:
            return None
        self._progress.expect(self.settings.libvirt.call_timeout + SLACK)
        self._progress.step("recording instances")

        def track() -> Status:
            if self._tracker is None:
                tracker = Tracker(RecordStore(store), settings.retention)
                tracker.start(hypervisor, sight.discovery)
                self._tracker = tracker
            else:
                self._tracker.facts(sight.discovery)
                self._tracker.reconcile()
            return self._tracker.status

        return self._attempt(Stage.RECORDS, track)
