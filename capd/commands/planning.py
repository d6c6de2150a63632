"""What a pass would write, without writing: the plan against Placement for the dump."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Optional

from capd.config import Settings
from capd.errors import StoreError
from capd.plan import Plan
from capd.verdicts import Assessment

LOG = logging.getLogger(__name__)


def preview(
    settings: Settings, hostname: str, assessment: Assessment
) -> tuple[Optional[Plan], str]:
    """The plan, or None and why there is none. Nothing is written, here or there.

    Raises ConfigError for a value in `[placement]` that cannot be used.
    """
    from capd import authoptions, keystone
    from capd.report import Reporter
    from capd.store import DATABASE, Store

    if not keystone.configured(settings.conf):
        return None, "not configured: no auth_type in [placement], so there is no plan"
    authoptions.check(settings.conf)
    path = settings.state_dir / DATABASE
    with ExitStack() as stack:
        try:
            store = stack.enter_context(Store(path, read_only=True))
        except StoreError as error:
            return Plan(error=error.line()), ""
        plan = Reporter(settings, store, hostname).preview(assessment)
        LOG.debug("%s", plan.counts())
        return plan, ""
