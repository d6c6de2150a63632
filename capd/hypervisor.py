"""The connection to libvirt: every call with a deadline, every failure with culprit and cure.

One `Hypervisor` owns one connection. `capd.discover` asks it for documents, records and events
use `connection` for domains, always through `call`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import Any, Callable, Optional, TypeVar

import libvirt

from capd.calls import Caller, CallTimeout, Outcome, TooManyStuck
from capd.capabilities import Combination
from capd.config import LibvirtSettings
from capd.errors import LibvirtError, LibvirtRefusal, LibvirtTimeout
from capd.refusals import explain
from capd.uris import without_password

T = TypeVar("T")
log = logging.getLogger(__name__)

#: the first libvirt client that several threads may use at a time (CVE-2024-4418)
_SOUND = 10_004_000

#: error codes that say that this client may not ask at all
_DENIALS = frozenset({libvirt.VIR_ERR_OPERATION_DENIED, libvirt.VIR_ERR_ACCESS_DENIED})

_SYSTEM = "qemu:///system"


class Hypervisor:
    """A libvirt connection whose calls can be abandoned; `uri` names it in every error."""

    def __init__(self, settings: LibvirtSettings) -> None:
        self.settings = settings
        self.uri = without_password(settings.connection_uri)
        self.calls = 0
        self.give_up = float("inf")
        #: told each time a call past its deadline is given more time
        self.on_wait: Callable[[str], None] = lambda text: None
        self._caller = Caller()
        self._connection: Optional[libvirt.virConnect] = None
        libvirt.registerErrorHandler(_ignore, None)

    @property
    def connection(self) -> libvirt.virConnect:
        """The raw connection. Raises LibvirtError if it is not open."""
        if self._connection is None:
            raise LibvirtError(f"{self.uri}: not connected", culprit=self.uri)
        return self._connection

    def open(self) -> None:
        """Connect, read-write. Raises LibvirtError, or LibvirtTimeout if nobody answers."""
        if self._connection is not None:
            return
        if self.uri.split("?")[0].endswith("/session"):
            raise LibvirtError(
                f"{self.uri} is one user's libvirt, not the host's",
                culprit=self.uri,
                cure="set [libvirt] connection_uri = qemu:///system",
            )
        self._connection = self._connect()
        try:
            self._check_driver(self._connection)
            self._check_writable(self._connection)
        except LibvirtError:
            self.close()
            raise
        log.debug("connected to %s", self.uri)

    def _connect(self) -> libvirt.virConnect:
        """Open the URI; where the host's own is meant, also past a stale socket of either kind.

        libvirt's client takes the socket of a modular daemon if its file is there, dead or not.
        """
        uris = [self.settings.connection_uri]
        if uris[0] == _SYSTEM:
            uris += [f"{_SYSTEM}?mode=direct", f"{_SYSTEM}?mode=legacy"]
        failures: list[LibvirtError] = []
        for uri in uris:
            try:
                limit = self.settings.connect_timeout
                return self._guarded("connecting", libvirt.open, uri, timeout=limit)
            except LibvirtTimeout:
                raise
            except LibvirtError as error:
                failures.append(error)
        first, *others = dict.fromkeys(map(str, failures))
        tried = "".join(f"; {text.partition('connecting: ')[2]}" for text in others)
        raise LibvirtError(f"{first}{tried}", culprit=self.uri, cure=failures[0].cure)

    def _check_driver(self, connection: libvirt.virConnect) -> None:
        """Refuse a driver other than QEMU's: to it no device exists, and all traits would go."""
        driver = self._guarded(
            "connecting", connection.getType, timeout=self.settings.connect_timeout
        )
        if driver != "QEMU":
            raise LibvirtError(
                f"{self.uri} is libvirt's {driver} driver; capd knows QEMU's only",
                culprit=self.uri,
                cure="set [libvirt] connection_uri = qemu:///system",
            )

    def _check_writable(self, connection: libvirt.virConnect) -> None:
        """Refuse a connection on which no capabilities are to be had, before a sweep of refusals.

        A client cannot see that its socket is the read-only one. Converting nothing needs the same
        permission as getDomainCapabilities and costs one message; any other answer is good.
        """
        ask, limit = connection.domainXMLToNative, self.settings.connect_timeout
        try:
            self._caller.call(ask, "capd", "<domain/>", 0, timeout=limit)
        except libvirt.libvirtError as error:
            if error.get_error_code() in _DENIALS:
                raise explain(self.uri, "connecting", error, limit) from None
        except (CallTimeout, TooManyStuck) as error:
            raise explain(self.uri, "connecting", error, limit) from None

    def alive(self) -> bool:
        """Whether the connection is open and its daemon answers a trivial question.

        One on which a call was abandoned is not asked: libvirt's client (before 10.4,
        CVE-2024-4418) can crash when late answers meet several waiting threads.
        """
        if self._connection is None or self.stuck:
            return False
        try:
            self.call("getLibVersion", self._connection.getLibVersion, timeout=5.0)
        except LibvirtError:
            return False
        return True

    def _still_working(self) -> bool:
        """Whether a call past its deadline is worth more patience: libvirt answers others.

        Probing an emulator for the first time takes libvirt tens of seconds; a daemon that hangs
        answers nothing. `give_up` (monotonic seconds) ends the patience. Another connection is
        asked, for the reason that `alive` gives.
        """
        if time.monotonic() < self.give_up and self._answers_others():
            self.on_wait("waiting for libvirt, which is busy")
            return True
        return False

    def _answers_others(self) -> bool:
        probe = Hypervisor(self.settings)
        try:
            probe.open()
        except LibvirtError:
            return False
        finally:
            probe.close()
        return True

    @property
    def stuck(self) -> bool:
        """Whether a call was abandoned and has not come back."""
        return self._caller.stuck > 0

    def close(self) -> None:
        """Disconnect; a daemon that does not answer is left behind.

        With a call still out the connection is only let go of: libvirt would free it under the
        call, which keeps it alive until it comes back.
        """
        connection, self._connection = self._connection, None
        if connection is not None and not self.stuck:
            try:
                self._guarded("closing", connection.close, timeout=2.0)
            except LibvirtError as error:
                log.debug("%s", error)
            else:
                log.debug("disconnected from %s", self.uri)
        self._caller.close()

    def call(
        self, what: str, function: Callable[..., T], *args: Any, timeout: Optional[float] = None
    ) -> T:
        """Run one libvirt call; `what` names it in errors.

        `timeout` is in seconds, [libvirt] call_timeout if None. Raises LibvirtError with
        libvirt's text, LibvirtTimeout when the deadline passes.
        """
        limit = self.settings.call_timeout if timeout is None else timeout
        return self._guarded(what, function, *args, timeout=limit)

    def version(self) -> str:
        """libvirt's version at the other end, as `9.0.0`."""
        number = self.call("getLibVersion", self.connection.getLibVersion)
        return f"{number // 1000000}.{number // 1000 % 1000}.{number % 1000}"

    def hostname(self) -> str:
        """The host name libvirt gives, which Nova uses for the resource provider."""
        return str(self.call("getHostname", self.connection.getHostname))

    def capabilities(self) -> str:
        """The getCapabilities document. The first call after an upgrade probes every emulator."""
        what, ask = "getCapabilities", self.connection.getCapabilities
        self.calls += 1
        try:
            timeout = self.settings.call_timeout
            return str(self._caller.call(ask, timeout=timeout, extend=self._still_working))
        except (libvirt.libvirtError, CallTimeout, TooManyStuck) as error:
            raise explain(self.uri, what, error, self.settings.call_timeout) from None

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        """The document of each combination, or the LibvirtError that came instead."""
        ask = self.connection.getDomainCapabilities
        calls = (
            (row, ask, (row.emulator, row.arch, row.machine, row.virt_type, 0)) for row in rows
        )
        return self._each("getDomainCapabilities", calls)

    def to_native(self, guests: Iterable[tuple[T, str]]) -> Iterator[tuple[T, Outcome[str]]]:
        """Have libvirt validate each guest (key, domain XML); nothing is defined or started."""
        convert = self.connection.domainXMLToNative
        calls = ((key, convert, ("qemu-argv", xml, 0)) for key, xml in guests)
        return self._each("domainXMLToNative", calls)

    @property
    def _workers(self) -> int:
        """Calls at a time on this connection; one where libvirt's client stands no more."""
        return self.settings.workers if libvirt.getVersion() >= _SOUND else 1

    def each(
        self, what: str, calls: Iterable[tuple[T, Callable[..., Any], tuple[Any, ...]]]
    ) -> Iterator[tuple[T, Outcome[Any]]]:
        """Run calls (key, function, arguments), `[libvirt] workers` at a time; outcomes as they
        come, with a LibvirtError where one failed. No limit but each call's own."""
        timeout = self.settings.call_timeout
        try:
            for key, outcome in self._caller.each(calls, timeout=timeout, workers=self._workers):
                self.calls += 1
                if outcome.error is not None:
                    outcome = Outcome(None, explain(self.uri, what, outcome.error, timeout))
                yield key, outcome
        except TooManyStuck as stuck:
            raise explain(self.uri, what, stuck, 0) from None

    def _each(
        self, what: str, calls: Iterable[tuple[T, Callable[..., Any], tuple[Any, ...]]]
    ) -> Iterator[tuple[T, Outcome[str]]]:
        left: list[Any] = []
        outcomes = self._caller.each(
            self._until_given_up(calls, left),
            timeout=self.settings.call_timeout,
            workers=self._workers,
            extend=self._still_working,
            ahead=True,
        )
        try:
            for key, outcome in outcomes:
                self.calls += 1
                if outcome.error is not None:
                    error = explain(self.uri, what, outcome.error, self.settings.call_timeout)
                    self._check_alive(error)
                    outcome = Outcome(None, error)
                yield key, outcome
        except TooManyStuck as stuck:
            raise explain(self.uri, what, stuck, 0) from None
        if left:
            raise LibvirtTimeout(
                f"{self.uri}: the sweep took longer than {self.settings.sweep_timeout:g} s",
                culprit=self.uri,
                cure="libvirt is slow; [libvirt] sweep_timeout sets the limit",
            )

    def _until_given_up(self, calls: Iterable[T], left: list[T]) -> Iterator[T]:
        """`calls` as long as there is time; `left` gets the first for which there was none. What
        is on its way then is waited for, so that no call is abandoned without need."""
        for call in calls:
            if time.monotonic() > self.give_up:
                left.append(call)
                return
            yield call

    def _check_alive(self, error: LibvirtError) -> None:
        """End a sweep with `error` if it says that libvirt no longer answers anything."""
        if isinstance(error, LibvirtRefusal):
            return
        if isinstance(error, LibvirtTimeout) or not self.alive():
            raise error

    def _guarded(self, what: str, function: Callable[..., T], *args: Any, timeout: float) -> T:
        self.calls += 1
        try:
            return self._caller.call(function, *args, timeout=timeout)
        except (libvirt.libvirtError, CallTimeout, TooManyStuck) as error:
            raise explain(self.uri, what, error, timeout) from None


def _ignore(_context: object, _error: object) -> None:
    """libvirt prints errors on standard error by itself unless told not to."""
