"""Telling the service manager: ready, status, reloading, watchdog (sd_notify(3)).

From `capd.daemon` to systemd. systemd-python is used when the package of that name is the one on
the path; three projects on PyPI install a module called `systemd`, so it is looked at first. In
its absence the protocol, one datagram to $NOTIFY_SOCKET, is spoken in plain Python. Without a
service manager every call is silently without effect.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Optional

LOG = logging.getLogger(__name__)

Send = Callable[[str], None]


def _binding() -> Optional[Send]:
    """systemd-python's notify, or None if that package is not the one that would be imported."""
    try:
        from systemd import daemon
    except Exception:  # noqa: BLE001 - a foreign package of that name may raise anything
        return None
    notify = getattr(daemon, "notify", None)
    if not callable(notify) or not callable(getattr(daemon, "booted", None)):
        return None

    def send(state: str) -> None:
        if not notify(state):
            raise OSError("the notification was not sent")

    return send


def _plain(address: str) -> Send:
    """The protocol itself: one datagram; a leading @ means an abstract socket."""
    target = "\0" + address[1:] if address.startswith("@") else address

    def send(state: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.setblocking(False)
            channel.connect(target)
            channel.sendall(state.encode())

    return send


class Notifier:
    """The one channel to the service manager.

    `watchdog` is the interval in seconds within which it expects a ping, None when it expects
    none. A channel that does not work is warned about once.
    """

    def __init__(self, environ: Optional[Mapping[str, str]] = None) -> None:
        environ = os.environ if environ is None else environ
        self._send: Optional[Send] = None
        self._failed = False
        self._status = ""
        address = environ.get("NOTIFY_SOCKET", "")
        if address.startswith(("/", "@")):
            own = environ is os.environ
            self._send = (own and _binding()) or _plain(address)
        elif address:
            LOG.warning("NOTIFY_SOCKET=%s is not a local socket; systemd is not told", address)
        self.watchdog = _watchdog(environ)

    def ready(self, status: str) -> None:
        """The loop runs; also the end of a reload."""
        self._status = status
        self._tell(f"READY=1\nSTATUS={status}")

    def status(self, status: str) -> None:
        """One line for `systemctl status`; sent only when it differs from the last one."""
        if status != self._status:
            self._status = status
            self._tell(f"STATUS={status}")

    def reloading(self) -> None:
        """A reload begins; systemd 253 and later want the monotonic clock with it."""
        usec = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={usec}")

    def stopping(self, status: str) -> None:
        """The service is going down."""
        self._status = status
        self._tell(f"STOPPING=1\nSTATUS={status}")

    def ping(self) -> None:
        """Feed the watchdog."""
        self._tell("WATCHDOG=1")

    def _tell(self, state: str) -> None:
        if self._send is None:
            return
        try:
            self._send(state)
        except OSError as error:
            if not self._failed:
                LOG.warning("systemd cannot be notified through NOTIFY_SOCKET: %s", error)
            self._failed = True
        else:
            self._failed = False


def _watchdog(environ: Mapping[str, str]) -> Optional[float]:
    """WATCHDOG_USEC in seconds, if it is meant for this process."""
    pid = environ.get("WATCHDOG_PID", "")
    if pid and pid != str(os.getpid()):
        return None
    try:
        usec = int(environ.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return usec / 1e6 if usec > 0 else None
