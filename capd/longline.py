"""The long request line that capd's traits cost nova-compute, tried before they are added.

When the traits of a provider have changed, nova-compute asks Placement for all of them by name in
one request line (`GET /traits?name=in:A,B,...`; `SchedulerReportClient._ensure_traits` of Nova).
Where the web server before Placement takes less, nova-compute can update its provider no more.
Between `capd.plan` and `capd.report`: what would have that effect is not added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from capd.answers import Unanswered
from capd.errors import PlacementError
from capd.plan import Plan

#: bytes of a request line that web servers take without being told to (uWSGI and gunicorn: 4,094)
USUAL = 4000

#: what nova-compute gives a provider it updates: one of the two, by its release
_NOVAS = frozenset({"COMPUTE_NODE", "OWNER_NOVA"})


class Client(Protocol):
    """What is needed of `capd.placement.Placement`."""

    def get(self, path: str, microversion: str) -> object:
        """GET; raises PlacementError unless it succeeds."""


class LongLines:
    """Tries lines on one Placement, each length at most once if it is taken."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._taken = USUAL

    def bounded(self, plan: Plan) -> Plan:
        """`plan`, or with an error and without its additions if nova-compute could not ask for
        the result. Raises PlacementError if Placement cannot be asked at all.
        """
        if not plan.add or plan.query_bytes <= self._taken or not _NOVAS & {*plan.others}:
            return plan
        if takes(self._client, plan):
            self._taken = plan.query_bytes
            return plan
        return replace(
            plan,
            add=(),
            error=f"{len(plan.add)} traits are not added: Placement's web server refuses the "
            f"request line of {plan.query_bytes} bytes in which nova-compute would ask for all "
            "traits of this provider, and could then update it no more (raise the server's limit: "
            "docs/reporting.md, Many traits)",
        )


def takes(client: Client, plan: Plan) -> bool:
    """Whether Placement answers nova-compute's question after `plan`. Raises PlacementError."""
    names = ",".join(plan.after)
    try:
        client.get(f"/traits?name=in:{names}", "1.6")
    except Unanswered:
        raise
    except PlacementError:
        client.get("/traits?name=in:COMPUTE_NODE", "1.6")  # or it is out of order altogether
        return False
    return True
