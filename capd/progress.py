"""How far a pass has come: written by the thread that does it, read by the daemon's loop.

`step` counts; the loop feeds systemd's watchdog only while the count goes on, or while the step
that was announced is still within its own limit. A pass that has been told to stop ends at its
next step.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: seconds a step may take that does not say how long
DEFAULT_LIMIT = 30.0


class Stopped(Exception):
    """The daemon is going down; the pass ends here, with nothing half done."""


class Progress:
    """One pass's progress; safe to read from another thread.

    `count` grows with every step, `text` says what is being done.
    """

    def __init__(
        self,
        wake: Callable[[], None] = lambda: None,
        show: Callable[[str, int, int], None] = lambda stage, done, total: None,
    ) -> None:
        self.count = 0
        self.text = ""
        self._wake = wake
        self._show = show
        self._limit = DEFAULT_LIMIT
        self._deadline = time.monotonic() + DEFAULT_LIMIT
        self._stop = False

    def expect(self, limit: float) -> None:
        """From now on each single step may take `limit` seconds."""
        self._limit = limit
        self._deadline = time.monotonic() + limit

    def step(self, text: str) -> None:
        """One more step begins. Raises Stopped if the pass is to end."""
        if self._stop:
            raise Stopped
        self.count += 1
        self._deadline = time.monotonic() + self._limit
        if text != self.text:
            self.text = text
            self._show(text, 0, 0)
            self._wake()

    def discovering(self, stage: str, done: int, total: int) -> None:
        """The same for `capd.discover`, which counts; the text changes ten times a stage."""
        self._show(stage, done, total)
        if total and done % max(1, total // 10) == 0:
            stage = f"{stage}: {done} of {total}"
        elif total:
            stage = self.text if self.text.startswith(stage) else stage
        self.step(stage)

    def stop(self) -> None:
        """Let the pass end at its next step."""
        self._stop = True

    @property
    def overdue(self) -> float:
        """Seconds by which the step in hand is over its limit; negative within it."""
        return time.monotonic() - self._deadline
