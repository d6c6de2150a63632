"""When the next pass is due: jitter, backoff and what events bring forward.

Pure arithmetic on monotonic seconds for `capd.daemon`, so that no jump of the clock matters.
"""

from __future__ import annotations

import random
from collections.abc import Callable

#: share of the interval by which each wait is spread either way
JITTER = 0.1

#: seconds before the first pass, at most, whatever the interval
FIRST = 10.0

#: seconds after an event: a package or a daemon that changes does so in several steps
SETTLE = 2.0

#: seconds between passes that events ask for
APART = 5.0

#: seconds before the first attempt to reconnect; doubled up to the interval
RECONNECT = 0.5

Random = Callable[[float, float], float]


class Schedule:
    """The time of the next pass. `now` is in monotonic seconds throughout."""

    def __init__(self, interval: float, now: float, uniform: Random = random.uniform) -> None:
        self.interval = interval
        self._uniform = uniform
        self._attempts = 0
        self._ended = now - APART
        self.due = now + uniform(0, min(FIRST, interval * JITTER))

    def finished(self, now: float, connected: bool) -> None:
        """A pass ended; without a connection to libvirt the next attempt comes sooner."""
        self._ended = now
        spread = self._uniform(1 - JITTER, 1 + JITTER)
        if connected:
            self._attempts = 0
            self.due = now + self.interval * spread
            return
        wait = RECONNECT * 2.0 ** min(self._attempts, 20)
        self._attempts += 1
        self.due = now + min(wait, self.interval) * spread

    def lost(self, now: float) -> None:
        """The connection broke: reconnect at once, spread a little."""
        self.due = min(self.due, now + RECONNECT * self._uniform(0.5, 1.5))

    def event(self, now: float) -> None:
        """Something changed: a pass once it has settled, but not one upon the other."""
        self.due = min(self.due, max(now + min(SETTLE, self.interval), self._ended + APART))

    def now(self, now: float) -> None:
        """A pass at once."""
        self.due = now
