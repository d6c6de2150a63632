"""The thread that does the passes, and the mailbox through which the daemon's loop hears of it.

Between `capd.daemon` (main thread) and `capd.cycle` (this one thread). Nothing that the worker
does can hold up the loop, and whatever a pass raises reaches the loop as a message.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Collection
from typing import Optional, Union

from capd.config import Settings
from capd.cycle import Cycle
from capd.events import Event
from capd.progress import Progress, Stopped
from capd.stages import CycleResult


class Crash:
    """A pass ended in an exception that nobody foresaw."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


Message = Union[Event, CycleResult, Crash, int, None]


class Mailbox:
    """What other threads and signal handlers tell the loop; readable as a descriptor."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.descriptor, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def post(self, message: Message) -> None:
        """From any thread or signal handler; never blocks."""
        self._messages.put(message)
        # If the pipe is full the loop wakes up anyway; at the very end it may be closed.
        with contextlib.suppress(OSError):
            os.write(self._write, b"\0")

    def wake(self) -> None:
        """Have the loop look around, without a message."""
        self.post(None)

    def drain(self) -> list[Message]:
        """All messages that are there."""
        try:
            while os.read(self.descriptor, 4096):
                pass
        except OSError:
            pass
        found: list[Message] = []
        while True:
            try:
                found.append(self._messages.get_nowait())
            except queue.Empty:
                return found

    def close(self) -> None:
        """No more messages."""
        os.close(self.descriptor)
        os.close(self._write)


class Worker:
    """The thread that does the passes, one at a time."""

    def __init__(self, cycle: Cycle, mailbox: Mailbox) -> None:
        self._cycle = cycle
        self._mailbox = mailbox
        self._jobs: queue.SimpleQueue[Optional[Callable[[], None]]] = queue.SimpleQueue()
        self.progress = Progress(mailbox.wake)
        self.busy = False
        self._thread = threading.Thread(target=self._serve, name="capd-pass", daemon=True)
        self._thread.start()

    def begin(self, reconfigure: Optional[Settings], instances: Collection[str] = ()) -> None:
        """Start a pass, with new settings if given; with `instances`, over these domains only."""
        self.progress = progress = Progress(self._mailbox.wake)
        self.busy = True

        def work() -> CycleResult:
            if reconfigure is not None:
                self._cycle.reconfigure(reconfigure)
            if instances:
                return self._cycle.follow(progress, instances)
            return self._cycle.run(progress)

        self._jobs.put(lambda: self._pass(work))

    def finish(self, timeout: float) -> bool:
        """End the pass and the thread; False if it is still stuck after `timeout` seconds."""
        self.progress.stop()
        self._jobs.put(self._cycle.close)
        self._jobs.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            job()

    def _pass(self, work: Callable[[], CycleResult]) -> None:
        message: Message
        try:
            message = work()
        except Stopped:
            return
        except Exception as error:  # noqa: BLE001 - the daemon outlives what nobody foresaw
            message = Crash(error)
        self._mailbox.post(message)
