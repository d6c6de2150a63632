"""The daemon's link to libvirt: one connection at a time, with everything registered on it.

Used by `capd.cycle` at the start of each pass. A connection that broke, or that no longer answers,
is given up with its callbacks, and a new one gets them all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Optional

from capd.config import LibvirtSettings
from capd.errors import LibvirtError
from capd.events import Post, Subscription, start_loop
from capd.hypervisor import Hypervisor

LOG = logging.getLogger(__name__)


class Link:
    """At most one open connection; `post` takes its events, None asks for none."""

    def __init__(self, settings: LibvirtSettings, post: Optional[Post]) -> None:
        self.hypervisor: Optional[Hypervisor] = None
        self._settings = settings
        self._subscription = Subscription(post) if post is not None else None
        self._lost = False

    @property
    def broken(self) -> bool:
        """Whether there is no connection, or one that is known to be dead."""
        return self.hypervisor is None or self._lost

    def lost(self) -> None:
        """The connection is dead; may be called from any thread."""
        self._lost = True

    def connect(self, step: Callable[[str], None]) -> tuple[Hypervisor, bool]:
        """A connection that answers, and whether it is a new one. Raises LibvirtError."""
        step("connecting to libvirt")
        if self.hypervisor is not None and not self._lost:
            if self.hypervisor.alive():
                return self.hypervisor, False
            LOG.debug("the connection to libvirt no longer answers")
        self.close()
        if self._subscription is not None:
            start_loop()
        hypervisor = Hypervisor(self._settings)
        try:
            hypervisor.open()
        except LibvirtError:
            hypervisor.close()  # its threads must not outlive an attempt that failed
            raise
        self.hypervisor = hypervisor
        step("registering for events")
        if self._subscription is not None:
            self._subscription.attach(hypervisor, self._settings.keepalive_interval)
        return hypervisor, True

    def close(self) -> None:
        """Remove the callbacks and disconnect; what does not answer is left behind."""
        self._lost = False
        hypervisor, self.hypervisor = self.hypervisor, None
        if hypervisor is not None:
            if self._subscription is not None:
                self._subscription.detach(hypervisor)
            hypervisor.close()
