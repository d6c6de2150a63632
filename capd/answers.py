"""Every answer Placement can give, as a value or as an error that says what it means.

Pure: status, headers and body in, parsed JSON or an exception out. `capd.placement` sends the
requests. What each answer leads to is in docs/reporting.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from capd.errors import PlacementError

#: the oldest version with traits (2017): every request names it, so no newer one changes a meaning
MICROVERSION = "1.6"

#: Placement's error code for a write against an old generation (named since microversion 1.23)
CONCURRENT_UPDATE = "placement.concurrent_update"

_TRAIT = re.compile(r"[A-Z][A-Z0-9_]+")
_TRANSIENT = frozenset({408, 429, 502, 503, 504})
_DETAIL = 300

NOT_PLACEMENT = "check that the endpoint is Placement's and no web page or proxy answers for it"
_CONTENDED = (
    "the daemon tries again by itself; if it lasts, look for what else keeps writing to this "
    "provider"
)
_LATER = (
    "the daemon tries again by itself; if it lasts, see the log of Placement, its database, and "
    "the web server or load balancer before it"
)
_LIMITED = (
    "the daemon tries again by itself; if it lasts, raise the rate that Placement's web server or "
    "proxy allows, or [DEFAULT] interval"
)


class Conflict(PlacementError):
    """Somebody else changed the provider since it was read: read again and recompute."""


class UnknownTraits(PlacementError):
    """Placement does not know some of the traits; `names` are those it named, maybe none."""

    def __init__(self, message: str, names: frozenset[str], **more: Optional[str]) -> None:
        super().__init__(message, culprit=", ".join(sorted(names)), cure=more.get("cure"))
        self.names = names


class ProviderGone(PlacementError):
    """Placement has no such resource provider."""


class Unavailable(PlacementError):
    """Placement or what stands before it is out of order; later it may not be.

    A write that ends so may or may not have taken place. `after` is how long the server asked to
    be left alone, in seconds.
    """

    after: float = 0.0


class Unanswered(Unavailable):
    """No answer within the limits of time and size: trying again at once would only add to it."""


@dataclass(frozen=True)
class Answer:
    """One HTTP response. `request` is method and path, for messages; header names lower case."""

    request: str
    endpoint: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def document(self) -> Mapping[str, Any]:
        """The body as a JSON object. Raises PlacementError if it is anything else."""
        try:
            parsed = json.loads(self.body)
        except (ValueError, RecursionError):
            what = "answered with something that is not JSON"
            raise self._error(PlacementError, what, NOT_PLACEMENT) from None
        if not isinstance(parsed, dict):
            what = "answered with JSON that is no object"
            raise self._error(PlacementError, what, NOT_PLACEMENT)
        return parsed

    def unreadable(self, what: str) -> PlacementError:
        """An error for a success whose body is not what was asked for."""
        return self._error(PlacementError, what, NOT_PLACEMENT)

    def trait_names(self) -> frozenset[str]:
        """The traits listed in the body. Raises PlacementError if it lists none."""
        names = self.document().get("traits")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.unreadable("answered without a list of traits")
        return frozenset(names)

    def generation(self) -> int:
        """The provider generation in the body. Raises PlacementError if there is none."""
        generation = self.document().get("resource_provider_generation")
        if not isinstance(generation, int):
            raise self.unreadable("answered without a generation")
        return generation

    def check(self) -> Answer:
        """The answer itself if it is a success. Raises the PlacementError that fits if not."""
        if self.status in (200, 201, 204):
            return self
        raise self._refusal()

    def detail(self) -> str:
        """What the server said in words, shortened; empty if nothing legible."""
        return " ".join(str(self._field("detail") or "").split())[:_DETAIL]

    def _field(self, name: str) -> Any:
        try:
            return json.loads(self.body)["errors"][0].get(name)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def _error(
        self, kind: type[PlacementError], what: str, cure: Optional[str] = None
    ) -> PlacementError:
        message = f"Placement at {self.endpoint} {what} ({self.request}: {self.status})"
        return kind(message, culprit=self.endpoint, cure=cure)

    def _refusal(self) -> PlacementError:
        detail = self.detail()
        said = f": {detail}" if detail else ""
        if self.status == 400:
            return self._bad_request(said)
        if self.status == 401:
            return self._error(
                PlacementError,
                f"does not accept the token or password{said}",
                "check the credentials in [placement]",
            )
        if self.status == 403:
            return self._error(
                PlacementError,
                f"forbids this to capd's user{said}",
                "give it the role that nova-compute's user has (service, or admin)",
            )
        if self.status == 404:
            return self._not_found(said)
        if self.status == 406:
            return self._too_old()
        if self.status == 409:
            return self._conflict(said)
        return self._server_error(said)

    def _bad_request(self, said: str) -> PlacementError:
        whole = str(self._field("detail") or "")
        if "o such trait" in whole:
            names = frozenset(_TRAIT.findall(whole.split("o such trait", 1)[1]))
            return UnknownTraits(
                f"Placement at {self.endpoint} does not know {', '.join(sorted(names))}",
                names,
                cure="they are in a later os-traits than Placement's; upgrade it there",
            )
        return self._error(
            PlacementError,
            f"calls the request wrong{said}",
            "see Placement's own log, and whether a web server or proxy before it refuses or "
            "changes requests",
        )

    def _not_found(self, said: str) -> PlacementError:
        if "resource provider" in said.lower():
            return self._error(ProviderGone, f"has no such resource provider{said}")
        return self._error(
            PlacementError,
            f"has no such resource{said}",
            "check that the endpoint is Placement's, with its path",
        )

    def _too_old(self) -> PlacementError:
        newest = self._field("max_version")
        known = f"; it knows up to {newest}" if newest else ""
        return self._error(
            PlacementError,
            f"is older than microversion {MICROVERSION}, the first with traits{known}",
            "capd needs Placement of OpenStack Pike (2017) or later",
        )

    def _conflict(self, said: str) -> PlacementError:
        code = self._field("code")
        if code in (None, "", "placement.undefined_code", CONCURRENT_UPDATE):
            what = "says that the provider has changed meanwhile"
            return self._error(Conflict, what, _CONTENDED)
        return self._error(
            PlacementError,
            f"sees a conflict, {code}{said}",
            "see Placement's own log; its API reference explains the codes",
        )

    def _server_error(self, said: str) -> PlacementError:
        if self.status == 500 and "concurrently updated" in said:
            what = "says that another thread updated the provider"
            return self._error(Conflict, what, _CONTENDED)
        if self.status == 500 and "eadlock found" in said:
            # the database rolled the whole transaction back, so nothing was written
            return self._error(Conflict, "lost to another write in its database", _CONTENDED)
        if self.status in _TRANSIENT:
            what, cure = f"is unavailable{said}", _LATER
            if self.status == 429:
                what, cure = f"is asked too often{said}", _LIMITED
            error = self._error(Unavailable, what, cure)
            assert isinstance(error, Unavailable)
            error.after = _seconds(self.headers.get("retry-after"))
            return error
        if self.status >= 500:
            return self._error(Unavailable, f"failed inside{said}", "see Placement's own log")
        return self._error(
            PlacementError,
            f"gave an unexpected answer{said}",
            NOT_PLACEMENT,
        )


def _seconds(value: Optional[str]) -> float:
    """A Retry-After header; its form with a date counts as none."""
    return float(value) if value and value.isdigit() else 0.0
