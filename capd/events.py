"""libvirt's events: its loop, keepalive, lost connections and domains that come and go.

From libvirt to `capd.daemon`, as `Event`s given to a callback that must not block. The loop has to
be registered before the first connection is opened and has to be run for as long as the process
lives, or else keepalive closes healthy connections; both are process-wide in libvirt, so both are
done here once, by `start_loop`, and never at import. libvirt's own poll-based loop is used:
`libvirtaio` would tie capd to each Python release's asyncio.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Optional

from capd.errors import LibvirtError

if TYPE_CHECKING:
    from capd.hypervisor import Hypervisor

LOG = logging.getLogger(__name__)

#: keepalive probes that may go unanswered before the connection counts as dead
KEEPALIVE_COUNT = 5

#: seconds that registering or removing a callback may take
_LIMIT = 5.0

_started = threading.Lock()
_loop: Optional[threading.Thread] = None


class EventKind(str, Enum):
    """What happened."""

    LOST = "connection lost"
    DOMAIN = "domain changed"
    FILES = "emulators changed"


@dataclass(frozen=True)
class Event:
    """One event. `detail` is the reason of a loss, or the name of the domain."""

    kind: EventKind
    detail: str = ""
    instance: Optional[str] = None


Post = Callable[[Event], None]


def start_loop() -> None:
    """Register libvirt's event loop and run it in a daemon thread; once per process.

    Must be called before the first connection is opened.
    """
    global _loop
    with _started:
        if _loop is not None:
            return
        import libvirt

        libvirt.virEventRegisterDefaultImpl()
        _loop = threading.Thread(target=_run, name="capd-events", daemon=True)
        _loop.start()


def _run() -> None:
    import libvirt

    failed = False
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
            failed = False
        except libvirt.libvirtError as error:
            if not failed:
                LOG.warning("libvirt's event loop: %s", error)
            failed = True
            time.sleep(1)


class Subscription:
    """The callbacks on one connection.

    `attach` and `detach` are called by whoever opens and closes the connection, so that no
    callback outlives its connection and every connection has its callbacks.
    """

    def __init__(self, post: Post) -> None:
        self._post = post
        self._connection: Any = None
        self._lifecycle: Optional[int] = None
        self._close = False

    def attach(self, hypervisor: Hypervisor, keepalive: int) -> None:
        """Register everything on `hypervisor`'s connection; `keepalive` in seconds, 0 for none.

        What this libvirt or this driver does not offer is warned about and done without: the
        interval finds out later what an event would have said at once.
        """
        import libvirt

        self._connection = connection = hypervisor.connection
        if keepalive:
            self._try(hypervisor, "keepalive", connection.setKeepAlive, keepalive, KEEPALIVE_COUNT)
        self._close = (
            self._try(
                hypervisor,
                "close callback",
                connection.registerCloseCallback,
                self._on_close,
                None,
            )
            is not None
        )
        self._lifecycle = self._try(
            hypervisor,
            "domain events",
            connection.domainEventRegisterAny,
            None,
            libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE,
            self._on_domain,
            None,
        )

    def detach(self, hypervisor: Hypervisor) -> None:
        """Remove the callbacks; on a dead connection that frees what they hold."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._lifecycle is not None:
            self._try(
                hypervisor, "domain events", connection.domainEventDeregisterAny, self._lifecycle
            )
        if self._close:
            self._try(hypervisor, "close callback", connection.unregisterCloseCallback)
        self._lifecycle, self._close = None, False

    def _try(
        self, hypervisor: Hypervisor, what: str, function: Callable[..., Any], *args: Any
    ) -> Optional[int]:
        try:
            answer = hypervisor.call(what, function, *args, timeout=_LIMIT)
        except LibvirtError as error:
            level = logging.WARNING if self._connection is not None else logging.DEBUG
            LOG.log(level, "no %s: %s", what, error.line())
            return None
        return answer if isinstance(answer, int) else 0

    def _on_close(self, connection: Any, reason: int, _opaque: Any) -> None:
        if connection is not None and connection == self._connection:
            self._post(Event(EventKind.LOST, _reason(reason)))

    def _on_domain(
        self, _connection: Any, domain: Any, _event: int, _detail: int, _opaque: Any
    ) -> None:
        # Name and UUID are in the object already: no call is made from the event thread.
        self._post(Event(EventKind.DOMAIN, domain.name(), domain.UUIDString()))


def _reason(reason: int) -> str:
    """virConnectCloseReason in words."""
    words = ("error", "end of file", "keepalive timed out", "closed by capd")
    return words[reason] if 0 <= reason < len(words) else f"reason {reason}"
