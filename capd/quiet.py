"""Whether a provider still is as the last pass left it: one request instead of a whole pass.

Between `capd.cycle` and `capd.report`. Nine passes of ten find nothing to do; then what decided
the last pass (the verdicts, who the provider is, what it shows) is compared, and its `Report`
stands. Anything else, a failure too, is left to a whole pass.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Optional

from capd.config import PlacementSettings
from capd.errors import CapdError
from capd.outcome import Report
from capd.placement import Placement
from capd.provider import Identity, identify
from capd.verdicts import Assessment

#: seconds after which a whole pass is due all the same
WHOLE_EVERY = 600.0

#: whole passes over the same verdicts before they are taken as settled: a denial counts once in
#: each, and a trait goes after the second
SETTLED = 2


@dataclass(frozen=True)
class _Basis:
    """What a pass without anything to do was based on."""

    assessment: Assessment
    identity: Identity
    report: Report
    traits: frozenset[str]
    until: float


class Quiet:
    """What the last whole pass found, if it found nothing to do."""

    def __init__(self, settings: PlacementSettings, client: Placement) -> None:
        self._settings = settings
        self._client = client
        self._basis: Optional[_Basis] = None
        self._last: Optional[Assessment] = None
        self._passes = 0

    def still(self, assessment: Assessment, hostname: str) -> Optional[Report]:
        """The last pass's report if all it was based on is as it was, else None."""
        basis, self._basis = self._basis, None
        if (
            basis is None
            or basis.assessment is not assessment
            or basis.until < time.monotonic()
            or basis.report.plan.provider is None
        ):
            return None
        self._client.begin()
        try:
            if identify(self._settings, hostname) != basis.identity:
                return None
            shown = self._client.provider_traits(basis.report.plan.provider)
        except CapdError:
            return None
        if (shown.generation, shown.traits) != (basis.report.plan.generation, basis.traits):
            return None
        self._basis = basis
        return replace(basis.report, requests=self._client.requests)

    def reported(self, assessment: Assessment, hostname: str, report: Report) -> None:
        """A whole pass gave `report`."""
        self._passes = self._passes + 1 if assessment is self._last else 1
        self._last = assessment
        plan = report.plan
        busy = report.added or report.removed or report.changes or plan.pending
        if not report.ok or busy or not plan.empty or self._passes < SETTLED:
            return
        try:
            identity = identify(self._settings, hostname)
        except CapdError:
            return
        traits = frozenset(plan.owned) | frozenset(plan.others)
        until = time.monotonic() + WHOLE_EVERY
        self._basis = _Basis(assessment, identity, report, traits, until)
