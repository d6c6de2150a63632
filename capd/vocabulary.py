"""Trait names in Placement: created before any of them is needed, and then left alone.

A flavor or image that names a trait Placement does not know fails every boot, so all names capd
can use are created, supported here or not, before the first report. One request lists what is
there; what is missing is created a few at a time. That the names exist is remembered, so that an
ordinary pass asks nothing; once a day it is looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from capd.jitter import spread
from capd.ledger import UNCONFIRMED
from capd.memory import Memory, digest
from capd.placement import Placement

_AGE = 86400.0


class Vocabulary:
    """Ensures names for `capd.report`. `failed` could not be created in this pass."""

    def __init__(self, client: Placement, memory: Memory) -> None:
        self._client = client
        self._memory = memory
        self._error = ""
        self.failed: frozenset[str] = frozenset()

    def ensure(self, names: Iterable[str], again: bool = False) -> None:
        """See to it that all `names` exist; `again` even if they are remembered to.

        Raises PlacementError only if Placement could not even be asked.
        """
        wanted = {*names, UNCONFIRMED}
        known, checked_at = self._memory.vocabulary()
        current = digest(wanted)
        age = time.time() - checked_at
        # spread, so that hosts installed together do not come together every day
        due = not 0 <= age < spread(_AGE)
        self.failed = frozenset()
        self._error = ""
        if not again and known == current and not due:
            return
        errors = self._client.create_names(wanted - self._client.custom_names())
        if errors:
            first = next(iter(errors.values()))
            self.failed = frozenset(errors)
            self._error = f"{len(errors)} trait names could not be created: {first.line()}"
        else:
            self._memory.keep_vocabulary(current, time.time())

    def problems(self) -> tuple[str, ...]:
        """What went wrong in this pass without stopping it."""
        return (self._error,) if self._error else ()
