"""The daemon: one loop in the main thread, one worker that does the passes.

The loop never does anything that can block. Signals, libvirt's events, changed files, progress and
results all reach it through one pipe; it decides when a pass is due, tells systemd how things are,
and feeds the watchdog only while the worker makes progress. A worker that hangs therefore ends
the pings, and systemd restarts the service; nothing hides it.
"""

from __future__ import annotations

import logging
import select
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Optional

from capd import config, journal, stamps
from capd.config import Settings
from capd.cycle import Cycle
from capd.errors import CapdError
from capd.events import Event, EventKind
from capd.health import Health
from capd.metrics import Exporter
from capd.notify import Notifier
from capd.schedule import Schedule
from capd.stages import CycleResult, Stage
from capd.worker import Crash, Mailbox, Message, Worker

LOG = logging.getLogger(__name__)

#: seconds that a pass gets to end by itself once the daemon is told to stop
GRACE = 2.0

#: seconds after a domain's event before it is looked at: events come in flocks
FOLLOW = 0.2

#: longest sleep of the loop, seconds
_SLEEP = 60.0

Load = Callable[[Sequence[Path]], Settings]


class Daemon:
    """The service. `run` returns the exit code; `stuck` then says whether a thread hangs."""

    def __init__(
        self,
        settings: Settings,
        files: Sequence[Path],
        notifier: Notifier,
        load: Load = config.load,
        debug: bool = False,
    ) -> None:
        self._settings = settings
        self._files = files
        self._notifier = notifier
        self._load = load
        self._debug = debug  # on the command line, which outlasts a reload
        self._mailbox = Mailbox()
        self._watcher = stamps.Watcher()
        self._health = Health()
        self._exporter = Exporter(settings.metrics)
        self._cycle = Cycle(settings, self._mailbox.post)
        self._worker = Worker(self._cycle, self._mailbox)
        self._schedule = Schedule(settings.interval, time.monotonic())
        self._pending: Optional[Settings] = None
        self._instances: dict[str, float] = {}
        self._stopping = False
        self._pinged = self._looked = 0.0
        self._counted = -1
        self.stuck = False

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        self._exporter.start()
        self._watch()
        self._notifier.ready(self._health.line())
        LOG.info("capd runs; a pass every %g s", self._settings.interval)
        while not self._stopping:
            self._turn()
        return self._stop()

    def _turn(self) -> None:
        """One round of the loop."""
        self._wait()
        for message in self._mailbox.drain():
            self._take(message)
        if self._watcher.descriptor >= 0 and self._watcher.drain():
            self._files_changed()
        now = time.monotonic()
        if not self._worker.busy and not self._stopping:
            self._begin(now)
        self._health.doing(self._worker.progress.text if self._worker.busy else "")
        self._notifier.status(self._health.line())
        self._ping(now)

    def _begin(self, now: float) -> None:
        """Start whatever is due: a whole pass, which takes in all domains, or some domains."""
        if now >= self._schedule.due:
            self._instances.clear()
            self._worker.begin(self._pending)
            self._pending = None
        elif self._instances and now >= min(self._instances.values()):
            instances = tuple(self._instances)
            self._instances.clear()
            self._worker.begin(None, instances)

    def _wait(self) -> None:
        """Sleep until something happens or is due."""
        now = time.monotonic()
        until = now + _SLEEP
        if not self._worker.busy:
            until = min(until, self._schedule.due, *self._instances.values())
        if self._notifier.watchdog:
            until = min(until, max(self._pinged, self._looked) + self._notifier.watchdog / 3)
        descriptors = [self._mailbox.descriptor]
        if self._watcher.descriptor >= 0:
            descriptors.append(self._watcher.descriptor)
        select.select(descriptors, [], [], max(0.0, until - now))

    def _ping(self, now: float) -> None:
        """Feed the watchdog if there is progress, or nothing to do.

        A step that has announced how long it may take counts as progress until then: one libvirt
        call may take longer than the watchdog's whole interval.
        """
        watchdog = self._notifier.watchdog
        self._looked = now
        if not watchdog or now - self._pinged < watchdog / 4:
            return
        progress = self._worker.progress
        moved = progress.count != self._counted
        if self._worker.busy and not moved and progress.overdue > 0:
            return
        self._counted = progress.count
        self._pinged = now
        self._notifier.ping()

    def _on_signal(self, number: int, _frame: Optional[FrameType]) -> None:
        self._mailbox.post(number)

    def _take(self, message: Message) -> None:
        now = time.monotonic()
        if isinstance(message, int):
            if message == signal.SIGHUP:
                self._reload()
            else:
                self._stopping = True
        elif isinstance(message, Event):
            self._event(message, now)
        elif isinstance(message, CycleResult):
            self._finished(message, now)
        elif isinstance(message, Crash):
            self._worker.busy = False
            self._health.crashed(message.error)
            self._schedule.finished(now, connected=True)

    def _event(self, event: Event, now: float) -> None:
        if event.kind is EventKind.LOST:
            LOG.debug("the connection to libvirt is lost: %s", event.detail)
            self._cycle.lost()
            self._schedule.lost(now)
        elif event.kind is EventKind.DOMAIN and event.instance:
            self._instances.setdefault(event.instance, now + FOLLOW)

    def _files_changed(self) -> None:
        """Something in a watched directory: a pass, if it is anything that matters here."""
        if self._cycle.touched():
            self._cycle.expire("an emulator, a device module or the KVM device changed")
            self._schedule.event(time.monotonic())

    def _watch(self) -> None:
        self._watcher.watch(
            [
                *stamps.EMULATOR_DIRECTORIES,
                *stamps.module_directories(),
                str(Path(stamps.KVM).parent),
            ]
        )

    def _finished(self, result: CycleResult, now: float) -> None:
        self._worker.busy = False
        failed = {problem.stage for problem in result.errors}
        if result.full:
            connected = Stage.LIBVIRT not in failed and not self._cycle.broken
            self._schedule.finished(now, connected)
        self._health.finished(result)
        self._exporter.update(result, self._health)
        self._watch()

    def _reload(self) -> None:
        """SIGHUP: take the new configuration, or keep the old one and say why."""
        self._notifier.reloading()
        try:
            settings = self._load(self._files)
        except CapdError as error:
            self._health.reloaded(error)
        else:
            self._health.reloaded(None, config.needs_restart(self._settings, settings))
            self._settings = self._pending = settings
            journal.verbose(self._debug or settings.debug)
            self._schedule.interval = settings.interval
            self._schedule.now(time.monotonic())
            self._exporter.reconfigure(settings.metrics)
        self._notifier.ready(self._health.line())

    def _stop(self) -> int:
        self._notifier.stopping("stopping")
        self.stuck = not self._worker.finish(GRACE) or self._cycle.left > 0
        if self.stuck:
            LOG.warning("%s did not end in time; left behind", self._worker.progress.text)
        else:
            self._mailbox.close()
        self._watcher.close()
        LOG.info("capd ends")
        return 0
