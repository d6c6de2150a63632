"""The client: what capd asks of Placement, over HTTP through keystoneauth.

`capd.report` and matching call it. Every request names its microversion, has a time limit and a
request line below 2,000 bytes; what can be repeated without harm is repeated a few times, with
growing and jittered waits, when the connection fails or the server is out of order. A write to a
provider is never repeated here: whether it took place has to be looked up first. Nothing here
deletes anything.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Optional
from urllib.parse import quote

from capd import __version__, keystone
from capd.answers import (
    MICROVERSION,
    Answer,
    Conflict,
    Unanswered,
    Unavailable,
)
from capd.config import Settings
from capd.errors import PlacementError
from capd.failures import explain
from capd.jitter import waits
from capd.ledger import Shown
from capd.limits import PASS, Limits
from capd.table import CUSTOM
from capd.uris import without_secrets

if TYPE_CHECKING:
    from keystoneauth1.session import Session

log = logging.getLogger(__name__)
Pause = Callable[[float], None]

_REPEATS = 3
_FIRST_WAIT = 0.25
_LONGEST_WAIT = 5.0
_QUERY_BYTES = 1500
_AT_ONCE = 4
_PAUSE_GRACE = 0.05


@dataclass(frozen=True)
class ProviderEntry:
    """A resource provider as Placement lists it."""

    uuid: str
    name: str


class Placement:
    """A client for one Placement; keeps the token and the connection from pass to pass.

    `pause` sleeps (seconds) and may be replaced, also by something that raises to stop. No answer
    may be longer than `largest` bytes. Methods raise PlacementError or one of its kinds in
    `capd.answers`, ConfigError if `[placement]` does not make a session.
    """

    def __init__(self, settings: Settings, pause: Pause = time.sleep, largest: int = PASS) -> None:
        self._settings = settings
        self._pause = pause
        self._session: Optional[Session] = None
        self._service: Optional[keystone.Service] = None
        self._limits = Limits(largest)
        self._endpoint_shown = ""
        self.requests = 0

    def begin(self) -> None:
        """Start a pass: its time limit counts from now, `requests` from zero."""
        self._limits.until = time.monotonic() + self._settings.placement.pass_timeout
        self.requests = 0

    # -- resource providers

    def provider_by_uuid(self, uuid: str) -> Optional[ProviderEntry]:
        """The provider with this uuid, None if there is none."""
        return self._provider(f"/resource_providers?uuid={quote(uuid, safe='')}")

    def provider_by_name(self, name: str) -> Optional[ProviderEntry]:
        """The provider with exactly this name, None if there is none."""
        return self._provider(f"/resource_providers?name={quote(name, safe='')}")

    def create_provider(self, name: str, uuid: Optional[str]) -> None:
        """Create a provider. Raises Conflict if the name or uuid is taken."""
        body = {"name": name} if uuid is None else {"name": name, "uuid": uuid}
        answer = self._send("POST", "/resource_providers", body)
        if answer.status == 409:
            raise Conflict(
                f"resource provider {name} cannot be created: {answer.detail()}",
                culprit=name,
                cure="see which provider has this name or uuid: openstack resource provider list",
            )
        answer.check()

    def provider_traits(self, uuid: str) -> Shown:
        """Traits and generation of a provider. Raises ProviderGone if there is none."""
        return _shown(self._ask("GET", f"/resource_providers/{uuid}/traits"))

    def write_traits(self, uuid: str, generation: int, traits: Iterable[str]) -> Shown:
        """Replace the whole set, if the provider is still at `generation`.

        Raises Conflict if it is not, UnknownTraits if Placement lacks some of the names, and
        Unavailable if it cannot be told whether the write took place.
        """
        body = {"resource_provider_generation": generation, "traits": sorted(traits)}
        answer = self._send("PUT", f"/resource_providers/{uuid}/traits", body).check()
        try:
            return _shown(answer)
        except PlacementError as error:
            raise Unavailable(str(error), culprit=error.culprit, cure=error.cure) from None

    # -- trait names

    def custom_names(self) -> frozenset[str]:
        """Every name under capd's prefix that Placement has, in one request."""
        return self._ask("GET", f"/traits?name=startswith:{CUSTOM}").trait_names()

    def known(self, names: Iterable[str]) -> frozenset[str]:
        """Those of `names` that Placement has."""
        found: set[str] = set()
        for query in _queries(sorted(names)):
            found |= self._ask("GET", f"/traits?name=in:{query}").trait_names()
        return frozenset(found)

    def create_names(self, names: Iterable[str]) -> dict[str, PlacementError]:
        """Create custom names, a few at a time; those that failed with their errors."""
        failed: dict[str, PlacementError] = {}

        def create(name: str) -> None:
            if len(failed) >= _AT_ONCE:
                return  # no name will do better than these; the next pass tries again
            try:
                self._ask("PUT", f"/traits/{name}")
            except PlacementError as error:
                failed[name] = error

        wanted = sorted(names)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(create, wanted))
        if len(failed) >= _AT_ONCE:
            last = next(iter(failed.values()))
            known = self.custom_names()
            failed = {name: failed.get(name, last) for name in wanted if name not in known}
        return failed

    # -- requests

    def _provider(self, path: str) -> Optional[ProviderEntry]:
        answer = self._ask("GET", path)
        rows = answer.document().get("resource_providers")
        if not isinstance(rows, list):
            raise answer.unreadable("answered without a list of providers")
        if len(rows) > 1:
            raise answer.unreadable(f"answered with {len(rows)} providers where one can be")
        try:
            return ProviderEntry(str(rows[0]["uuid"]), str(rows[0]["name"])) if rows else None
        except (TypeError, KeyError):
            raise answer.unreadable("answered with a provider without uuid or name") from None

    def get(self, path: str, microversion: str) -> Answer:
        """A GET of the caller's own, at another microversion: what matching asks."""
        return self._ask("GET", path, microversion)

    def _ask(self, method: str, path: str, microversion: str = MICROVERSION) -> Answer:
        """A request that may be repeated, and its successful answer."""
        for wait in waits(_REPEATS, _FIRST_WAIT, _LONGEST_WAIT):
            try:
                return self._send(method, path, microversion=microversion).check()
            except Unanswered:
                raise
            except Unavailable as error:
                if not self.rest(max(wait, error.after)):
                    raise
        return self._send(method, path, microversion=microversion).check()

    def rest(self, seconds: float) -> bool:
        """Wait, unless the pass would be over by then or the wait is unreasonable."""
        if seconds > _LONGEST_WAIT or seconds > self._limits.left:
            return False
        self._pause(seconds)
        return True

    def _send(
        self, method: str, path: str, body: Any = None, microversion: str = MICROVERSION
    ) -> Answer:
        """One request and its answer, whatever it is."""
        session, service = self._connect()
        self._check_time()
        endpoint = self._endpoint(session, service)
        self.requests += 1
        headers = {
            "OpenStack-API-Version": f"placement {microversion}",
            "Accept": "application/json",
        }
        more: dict[str, Any] = {"json": body} if body is not None else {}
        self._endpoint_shown = shown = without_secrets(endpoint)
        begin = time.monotonic()
        try:
            response = session.request(
                path,
                method,
                endpoint_override=endpoint,
                headers=headers,
                raise_exc=False,
                redirect=False,
                user_agent=f"capd/{__version__}",
                log=False,
                **more,
            )
        except keystone.failures() as error:
            raise self._failure(error, f"Placement at {shown}") from None
        took = 1000 * (time.monotonic() - begin)
        log.debug("%s %s: %d, %.0f ms", method, path, response.status_code, took)
        return Answer(
            f"{method} {path.split('?')[0]}",
            shown,
            response.status_code,
            {key.lower(): value for key, value in response.headers.items()},
            response.content,
        )

    def _connect(self) -> tuple[Session, keystone.Service]:
        if self._session is None or self._service is None:
            timeout = self._settings.placement.request_timeout
            self._session, self._service = keystone.open_session(
                self._settings.conf, timeout, self._limits
            )
        return self._session, self._service

    def _endpoint(self, session: Session, service: keystone.Service) -> str:
        """Where Placement is, by configuration or by the catalog."""
        peer = keystone.identity_url(self._settings.conf)
        try:
            return keystone.find_endpoint(session, service, peer)
        except PlacementError:
            session.invalidate()  # the catalog came with the token, and may be corrected
            raise
        except keystone.failures() as error:
            session.invalidate()
            raise explain(error, peer) from None

    def _failure(self, error: Exception, peer: str) -> PlacementError:
        """A failed request. Only a token that could not be renewed is raised with a status."""
        from keystoneauth1.exceptions import HttpError

        if isinstance(error, HttpError):
            peer = keystone.identity_url(self._settings.conf)
        return explain(error, peer)

    def _check_time(self) -> None:
        """Raises Unanswered if the pass is out of time."""
        if self._limits.left <= _PAUSE_GRACE:
            raise Unanswered(
                f"{self._where()}: the pass is out of time",
                culprit=self._where(),
                cure="[placement] pass_timeout is the limit",
            )

    def _where(self) -> str:
        return f"Placement at {self._endpoint_shown}" if self._endpoint_shown else "Placement"


def _queries(names: list[str]) -> Iterator[str]:
    """Comma-separated names, each query short enough for a request line of 2,000 bytes."""
    batch: list[str] = []
    size = 0
    for name in names:
        if batch and size + len(name) + 1 > _QUERY_BYTES:
            yield ",".join(batch)
            batch, size = [], 0
        batch.append(name)
        size += len(name) + 1
    if batch:
        yield ",".join(batch)


def _shown(answer: Answer) -> Shown:
    return Shown(answer.generation(), answer.trait_names())
