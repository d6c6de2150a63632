"""The daemon's link to libvirt: one connection at a time, with everything registered on it.

Used by `capd.cycle` at the start of each pass. A connection that broke, or that no longer answers,
is given up with its callbacks, and a new one gets them all. libvirt frees a connection that is
closed while another thread is still in a call on it, and that thread then crashes the process; a
connection with a call that was abandoned is therefore left alone until the call has come back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from capd.config import LibvirtSettings
from capd.errors import LibvirtError, LibvirtTimeout
from capd.events import Post, Subscription, start_loop
from capd.hypervisor import Hypervisor
from capd.uris import without_password

LOG = logging.getLogger(__name__)

#: connections left alone at a time before no further one is tried
MAX_LEFT = 12


@dataclass(frozen=True)
class _Connected:
    """A connection and the callbacks on it, None where none are wanted."""

    hypervisor: Hypervisor
    subscription: Optional[Subscription]

    def close(self) -> None:
        """Remove the callbacks and disconnect, unless a call is still out."""
        if self.subscription is not None and not self.hypervisor.stuck:
            self.subscription.detach(self.hypervisor)
        if not self.hypervisor.stuck:
            self.hypervisor.close()


class Link:
    """At most one open connection; `post` takes its events, None asks for none."""

    def __init__(self, settings: LibvirtSettings, post: Optional[Post]) -> None:
        self._settings = settings
        self._post = post
        self._now: Optional[_Connected] = None
        self._left: list[_Connected] = []
        self._lost = False

    @property
    def hypervisor(self) -> Optional[Hypervisor]:
        """The open connection, None if there is none."""
        return self._now.hypervisor if self._now is not None else None

    @property
    def broken(self) -> bool:
        """Whether there is no connection, or one that is known to be dead."""
        return self._now is None or self._lost

    @property
    def left(self) -> int:
        """Connections on which a call was abandoned and has not come back yet."""
        self._tidy()
        return len(self._left)

    def lost(self) -> None:
        """The connection is dead; may be called from any thread."""
        self._lost = True

    def connect(self, step: Callable[[str], None]) -> tuple[Hypervisor, bool]:
        """A connection that answers, and whether it is a new one. Raises LibvirtError."""
        step("connecting to libvirt")
        if self._now is not None and not self._lost:
            if self._now.hypervisor.alive():
                return self._now.hypervisor, False
            LOG.debug("the connection to libvirt no longer answers")
        self.close()
        if self.left >= MAX_LEFT:
            uri = without_password(self._settings.connection_uri)
            raise LibvirtTimeout(
                f"{uri}: {MAX_LEFT} earlier connections were never "
                "answered, so no further one is tried",
                culprit=uri,
                cure="restart the libvirt daemon; capd goes on by itself once it answers",
            )
        self._now = self._open()
        step("registering for events")
        if self._now.subscription is not None:
            keepalive = self._settings.keepalive_interval
            self._now.subscription.attach(self._now.hypervisor, keepalive)
        return self._now.hypervisor, True

    def close(self) -> None:
        """Give the connection up."""
        self._lost = False
        if self._now is not None:
            self._leave(self._now)
            self._now = None

    def _open(self) -> _Connected:
        subscription = None
        if self._post is not None:
            start_loop()
            subscription = Subscription(self._post)
        made = _Connected(Hypervisor(self._settings), subscription)
        try:
            made.hypervisor.open()
        except LibvirtError:
            self._leave(made)  # its threads must not outlive an attempt that failed
            raise
        return made

    def _leave(self, connected: _Connected) -> None:
        connected.close()
        if connected.hypervisor.stuck:
            self._left.append(connected)

    def _tidy(self) -> None:
        """Close what was left once its calls have come back."""
        left, self._left = self._left, []
        for connected in left:
            self._leave(connected)
