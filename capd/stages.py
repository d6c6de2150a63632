"""What one pass came to: how each of its stages went, and what it found.

From `capd.cycle` to `capd.daemon`, `capd.health`, `capd.metrics` and `--once`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional, TypeVar

from capd.errors import CapdError
from capd.facts import Discovery
from capd.outcome import Report
from capd.records.tracker import Status
from capd.verdicts import Assessment

T = TypeVar("T")


class Stage(str, Enum):
    """The parts of a pass, in their order; the words of the log and of the metrics."""

    STORE = "store"
    LIBVIRT = "libvirt"
    DISCOVERY = "discovery"
    PLACEMENT = "placement"
    RECORDS = "records"


@dataclass(frozen=True)
class StageResult:
    """How one stage went; `seconds` of wall time, `error` None if it went well."""

    stage: Stage
    seconds: float
    error: Optional[CapdError] = None


@dataclass(frozen=True)
class CycleResult:
    """What one pass did.

    `looked` is why everything was asked anew, None when what was known still held. `calls` are
    libvirt calls. `discovery`, `assessment`, `report` and `records` are None where this pass has
    none to speak of. `full` is False for a pass that only followed some domains.
    """

    stages: tuple[StageResult, ...]
    seconds: float
    looked: Optional[str] = None
    calls: int = 0
    discovery: Optional[Discovery] = None
    assessment: Optional[Assessment] = None
    report: Optional[Report] = None
    records: Optional[Status] = None
    full: bool = True

    @property
    def errors(self) -> tuple[StageResult, ...]:
        """The stages that failed."""
        return tuple(result for result in self.stages if result.error is not None)
