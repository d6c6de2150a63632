"""Waits drawn at random, so that thousands of hosts never come together.

For the retries of `capd.placement` and `capd.report`, and for the daemon's interval.
"""

from __future__ import annotations

import random
from collections.abc import Iterator


def waits(count: int, first: float, longest: float) -> Iterator[float]:
    """`count` waits in seconds, doubling from `first` to `longest`, each drawn at random.

    Drawn from most of the span, but never near zero: hosts that failed together come back apart,
    and none hammers.
    """
    span = first
    for _ in range(count):
        yield spread(span * 0.625, 0.6)
        span = min(span * 2, longest)


def spread(seconds: float, part: float = 0.1) -> float:
    """`seconds`, more or less by up to `part` of it."""
    return seconds * random.uniform(1 - part, 1 + part)  # noqa: S311 - no secret depends on it
