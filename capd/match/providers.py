"""Sets of hosts, asked of Placement: those with certain traits, those without one, all of them.

One request per question and trait, however many hosts there are. Since microversion 1.39 a
question can be "any of these" (`in:`); before, one of them is asked at a time, and before 1.22
"without" is a difference of two answers. Placement can be asked neither for numbers nor for
pages, so that an answer lists hosts; of each only uuid and name are kept while it is parsed.

https://docs.openstack.org/api-ref/placement/#list-resource-providers
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional, Protocol
from urllib.parse import quote

from capd.answers import NOT_PLACEMENT
from capd.errors import PlacementError
from capd.names import machine_trait, value_trait
from capd.table import CATEGORIES, CUSTOM, FAMILIES

#: what nova-compute gives every compute node
COMPUTE_NODE = "COMPUTE_NODE"
#: what nova-compute gives a compute node whose service is disabled; Nova's scheduler forbids it
DISABLED = "COMPUTE_STATUS_DISABLED"

_NEWEST = (1, 39)
_ANY_OF = (1, 39)
_FORBIDDEN = (1, 22)
_OLDEST = (1, 18)
#: keeps a request line below what proxies and uWSGI take by default
_QUERY_BYTES = 1800
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


class Reply(Protocol):
    """A successful answer."""

    @property
    def body(self) -> bytes: ...

    @property
    def endpoint(self) -> str: ...


class Api(Protocol):
    """The client of `capd.placement`, as far as it is needed here."""

    def get(self, path: str, microversion: str) -> Reply:
        """GET; raises PlacementError unless it succeeds."""


def markers() -> tuple[str, ...]:
    """Traits of which every host that runs capd has at least one.

    capd reports every machine type the host lists, so the names of the families' own aliases are
    enough for the architectures in the table; the custom host-wide traits cover the others.
    """
    families = {name for row in FAMILIES.values() for name in row}
    aliases = {machine_trait(name) for name in families}
    wide = {
        trait
        for category in CATEGORIES
        if category.custom and category.standard is None
        for value in category.values
        for trait in [value_trait(category, value.name)]
        if trait
    }
    return tuple(sorted(aliases | wide))


class Providers:
    """The hosts of one Placement, by their traits.

    `names` grows to every host seen, uuid to name. Raises PlacementError when Placement cannot
    be asked, or is older than traits on providers (microversion 1.18, 2018).
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self.names: dict[str, str] = {}
        self.requests = 0
        self._peer = "Placement"
        self._version = self._negotiate()
        self._anchors: tuple[str, ...] = ()
        self._everyone: Optional[frozenset[str]] = None
        self._outsiders: Optional[frozenset[str]] = None

    @property
    def version(self) -> tuple[int, int]:
        """The microversion in use."""
        return self._version

    @property
    def subtracts(self) -> bool:
        """Whether "without" has to be made from the list of all hosts."""
        return self._version < _FORBIDDEN

    def in_use(self, traits: Iterable[str]) -> frozenset[str]:
        """Those of `traits` that at least one provider has."""
        return self._known(traits, "&associated=true")

    def known(self, traits: Iterable[str]) -> frozenset[str]:
        """Those of `traits` that Placement knows."""
        return self._known(traits, "")

    def anchor(self, used: frozenset[str]) -> None:
        """Let a host be what has one of the `used` traits that only compute nodes have.

        Where Nova is, that is its own trait; where it is not, those that every capd reports.
        """
        found = tuple(name for name in (COMPUTE_NODE, *markers()) if name in used)
        self._anchors = found[:1] if COMPUTE_NODE in found else found

    def narrow(self, hosts: Iterable[str]) -> None:
        """Ask later for all providers and take those that are no hosts away here, if that pays.

        It does where hosts have no providers below them, as one of `hosts` shows: narrowing down
        to compute nodes takes Placement longer than the rest of a question for what is absent.
        """
        sample = next(iter(hosts), None)
        if sample is None or self.subtracts or self._anchors != (COMPUTE_NODE,):
            return
        if len(list(self._list([f"in_tree={sample}"]))) == 1:
            self._outsiders = self._roots([f"required=!{COMPUTE_NODE}"])

    def having(self, traits: Sequence[str], without: Sequence[str] = ()) -> frozenset[str]:
        """The hosts with all of `traits` and none of `without` (which needs 1.22)."""
        own = any(name.startswith(CUSTOM) for name in traits)
        found: Optional[frozenset[str]] = None
        for part in _parts([*traits, *(f"!{name}" for name in without)]) or [[]]:
            # nothing but a host has capd's traits, so that there is nothing to narrow down
            some = self._roots([f"required={','.join(part)}"]) if own else self._hosts(part)
            found = some if found is None else found & some
        return found or frozenset()

    def everyone(self) -> frozenset[str]:
        """All hosts, asked for at most once."""
        if self._everyone is None:
            self._everyone = self.having([])
        return self._everyone

    def lacking(self, trait: str) -> frozenset[str]:
        """The hosts without `trait`."""
        if not self.subtracts:
            return self.having([], [trait])
        return self.everyone() - self.having([trait])

    def silent(self, used: frozenset[str]) -> frozenset[str]:
        """The compute nodes that have none of the traits that every capd reports."""
        seen = [name for name in markers() if name in used]
        if COMPUTE_NODE not in used:
            return frozenset()
        if not self.subtracts:
            return self.having([], seen)
        found = self.everyone()
        for name in seen:
            found -= self.having([name])
        return found

    def roots_having(self, trait: str) -> frozenset[str]:
        """The roots of all trees with a provider that has `trait`."""
        return frozenset(root for _, root in self._list([f"required={trait}"]))

    def find(self, host: str) -> Optional[str]:
        """The uuid of the provider with this name or uuid, None if there is none."""
        for key in ("name", "uuid"):
            if key == "uuid" and not _UUID.match(host):
                continue
            for uuid, _ in self._list([f"{key}={quote(host, safe='')}"]):
                return uuid
        return None

    def traits(self, uuid: str) -> frozenset[str]:
        """The traits of one provider."""
        path = f"/resource_providers/{uuid}/traits"
        answer = self.get(path)
        return self._traits(answer)

    def get(self, path: str) -> Any:
        """One request's answer as JSON. Raises PlacementError."""
        self.requests += 1
        version = ".".join(map(str, self._version)) if self.requests > 1 else "1.0"
        answer = self._api.get(path, version)
        self._peer = f"Placement at {answer.endpoint}"
        return parse(answer.body, self._peer, path)

    def unreadable(self, what: str) -> PlacementError:
        """The error of an answer that lacks `what`."""
        return PlacementError(
            f"{self._peer} answered without {what}", culprit=self._peer, cure=NOT_PLACEMENT
        )

    def _hosts(self, terms: Sequence[str]) -> frozenset[str]:
        """The hosts that satisfy `terms` (traits, `!` before what must be absent)."""
        query = [f"required={','.join(terms)}"] if terms else []
        if not self._anchors:
            return self._roots(query)
        if self._outsiders is not None and terms and all(term[0] == "!" for term in terms):
            return self._roots(query) - self._outsiders
        if len(self._anchors) > 1 and self._version >= _ANY_OF:
            return self._roots([f"required=in:{','.join(self._anchors)}", *query])
        found: frozenset[str] = frozenset()
        for anchor in self._anchors:
            found |= self._roots([f"required={','.join([anchor, *terms])}"])
        return found

    def _roots(self, query: Sequence[str]) -> frozenset[str]:
        return frozenset(uuid for uuid, root in self._list(query) if root == uuid)

    def _list(self, query: Sequence[str]) -> Iterator[tuple[str, str]]:
        """uuid and root's uuid of the providers that a query finds."""
        path = "/resource_providers" + ("?" if query else "") + "&".join(query)
        try:
            for row in self.get(path)["resource_providers"]:
                uuid = str(row["uuid"])
                self.names.setdefault(uuid, str(row["name"]))
                yield uuid, str(row.get("root_provider_uuid") or uuid)
        except (TypeError, KeyError, AttributeError):
            raise self.unreadable("a list of resource providers") from None

    def _known(self, traits: Iterable[str], more: str) -> frozenset[str]:
        found: set[str] = set()
        for part in _parts(sorted(traits)):
            found |= self._traits(self.get(f"/traits?name=in:{','.join(part)}{more}"))
        return frozenset(found)

    def _traits(self, answer: Any) -> frozenset[str]:
        names = answer.get("traits") if isinstance(answer, dict) else None
        if not isinstance(names, list):
            raise self.unreadable("a list of traits")
        return frozenset(map(str, names))

    def _negotiate(self) -> tuple[int, int]:
        answer = self.get("/")
        try:
            text = answer["versions"][0]["max_version"]
            major, minor = (int(part) for part in text.split("."))
        except (TypeError, KeyError, IndexError, ValueError, AttributeError):
            raise self.unreadable("the microversions it knows") from None
        if (major, minor) < _OLDEST:
            raise PlacementError(
                f"{self._peer} knows microversions up to {text}; matching needs 1.18",
                culprit=self._peer,
                cure="upgrade Placement: 1.18 is of 2018",
            )
        return min((major, minor), _NEWEST)


def parse(body: bytes, peer: str, path: str) -> Any:
    """JSON without what makes an answer long: links, and the traits in allocation candidates."""
    try:
        return json.loads(body, object_hook=_without_links)
    except (ValueError, RecursionError):
        raise PlacementError(
            f"{peer} answered with something that is not JSON (GET {path.split('?')[0]})",
            culprit=peer,
            cure=NOT_PLACEMENT,
        ) from None


def _without_links(row: dict[str, Any]) -> Optional[dict[str, Any]]:
    if "href" in row:
        return None
    row.pop("links", None)
    if "resources" in row:
        row.pop("traits", None)
    return row


def _parts(terms: Sequence[str]) -> list[list[str]]:
    """`terms` in as many parts as a request line's length makes necessary."""
    parts: list[list[str]] = []
    size = _QUERY_BYTES
    for term in terms:
        if size + len(term) + 1 > _QUERY_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(term)
        size += len(term) + 1
    return parts
