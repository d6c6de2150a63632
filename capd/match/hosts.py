"""Which hosts can take an image, and why the others cannot.

Takes a translation (and the resources of a flavor), asks `capd.match.providers`, and gives an
`Answer` to the command. What is asked: the hosts that have everything, and for each trait the
hosts that lack it. The number of requests grows with the traits and not with the hosts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from capd.match.candidates import Request, candidates
from capd.match.outcomes import Scope, Translation
from capd.match.providers import COMPUTE_NODE, DISABLED, Api, Providers, markers
from capd.table import BY_NAME


@dataclass(frozen=True, order=True)
class Host:
    """One compute node, as its resource provider is called."""

    name: str
    uuid: str


@dataclass(frozen=True, order=True)
class Reject:
    """A host that does not fit: the traits it lacks, and forbidden ones that it has.

    `silent` means that it has no trait of capd's, so that what it lacks may be there unsaid;
    `full` that its traits fit and its resources do not suffice.
    """

    host: Host
    missing: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    silent: bool = False
    full: bool = False


@dataclass(frozen=True)
class Count:
    """How many hosts have a trait; `known` False means that Placement has no such trait.

    `elsewhere` is the trait of the same value for the whole host, where hosts have that one: then
    they offer it with other machine types only.
    """

    trait: str
    hosts: int
    known: bool
    forbidden: bool = False
    elsewhere: Optional[str] = None


@dataclass(frozen=True)
class Answer:
    """Everything that Placement says about an image.

    `limited` is the number of candidates after which Placement stopped, None if it did not.
    """

    fits: tuple[Host, ...]
    rejects: tuple[Reject, ...]
    counts: tuple[Count, ...]
    requests: int
    limited: Optional[int] = None

    @property
    def hosts(self) -> int:
        """How many hosts there are in all."""
        return len(self.fits) + len(self.rejects)


def find(api: Api, translation: Translation, request: Optional[Request] = None) -> Answer:
    """Ask Placement which hosts satisfy `translation`, and `request` if there is one.

    Raises PlacementError if Placement cannot be asked.
    """
    providers = Providers(api)
    required, forbidden = translation.required, translation.forbidden
    wanted = {*required, *forbidden}
    wide = _host_wide(translation)
    used = providers.in_use({*wanted, *wide.values(), COMPUTE_NODE, DISABLED, *markers()})
    providers.anchor(used)
    passed = translation.passed if request else frozenset()
    lists = _Lists(providers, used, passed)
    missing = lists.without(required)
    present = {trait: lists.having(trait) for trait in {*forbidden, DISABLED}}
    everyone = lists.everyone()
    barred: frozenset[str] = frozenset().union(*missing.values(), *present.values())
    fits, full, limited = everyone - barred, frozenset[str](), None
    if request is not None:
        chosen, limited = candidates(providers, request, translation, used)
        full = frozenset() if limited else fits - chosen
        fits &= chosen
    silent = providers.silent(used)
    known = used | providers.known(wanted - used)
    names = providers.names
    return Answer(
        fits=tuple(sorted(Host(names[uuid], uuid) for uuid in fits)),
        rejects=_rejects(names, (barred | full) - fits, missing, present, silent, full),
        counts=tuple(
            Count(
                trait,
                len(everyone & present[trait] if sign else everyone - missing[trait]),
                trait in known,
                sign,
                wide[trait] if wide.get(trait) in used else None,
            )
            for sign, traits in ((False, required), (True, forbidden))
            for trait in traits
        ),
        requests=providers.requests,
        limited=limited,
    )


def _host_wide(translation: Translation) -> dict[str, str]:
    """For each trait of one machine family, the trait of the same value for the whole host."""
    return {
        ask.trait: wide
        for outcome in translation.outcomes
        for ask in outcome.asks
        if ask.scope is not None and ask.scope.family is not None and ask.scope.arch is None
        for wide in [Scope().trait(BY_NAME[ask.category or ""], ask.value or "")]
        if wide is not None
    }


class _Lists:
    """Hosts with and without one trait, each list asked for at most once."""

    def __init__(self, providers: Providers, used: frozenset[str], passed: frozenset[str]) -> None:
        self._providers = providers
        self._used = used
        self._passed = passed
        self._lacking: dict[str, frozenset[str]] = {}
        self._all: Optional[frozenset[str]] = None

    def without(self, traits: Sequence[str]) -> dict[str, frozenset[str]]:
        """For each of `traits` the hosts without it.

        With resources, a trait that the operator named may be on any provider of a host's tree.
        """
        for trait in traits:
            if trait in self._used and trait not in self._passed:
                self._lacking[trait] = self._providers.lacking(trait)
        return {trait: self._lacking.get(trait) or self._elsewhere(trait) for trait in traits}

    def _elsewhere(self, trait: str) -> frozenset[str]:
        if trait in self._lacking:
            return frozenset()
        if trait in self._used:
            return self.everyone() - self._providers.roots_having(trait)
        return self.everyone()

    def having(self, trait: str) -> frozenset[str]:
        """The hosts with `trait`."""
        if trait not in self._used:
            return frozenset()
        if trait in self._passed:
            return self.everyone() & self._providers.roots_having(trait)
        return self._providers.having([trait])

    def everyone(self) -> frozenset[str]:
        """All hosts: those with every trait asked for so far, and those that lack one."""
        if self._all is None:
            have = self._providers.having(list(self._lacking))
            self._all = have.union(*self._lacking.values())
        return self._all


def _rejects(
    names: Mapping[str, str],
    hosts: frozenset[str],
    missing: Mapping[str, frozenset[str]],
    present: Mapping[str, frozenset[str]],
    silent: frozenset[str],
    full: frozenset[str],
) -> tuple[Reject, ...]:
    lacks: dict[str, list[str]] = {uuid: [] for uuid in hosts}
    has: dict[str, list[str]] = {uuid: [] for uuid in hosts}
    for table, traits in ((lacks, missing), (has, present)):
        for trait, some in traits.items():
            for uuid in some & hosts:
                table[uuid].append(trait)
    return tuple(
        sorted(
            Reject(
                Host(names[uuid], uuid),
                tuple(lacks[uuid]),
                tuple(has[uuid]),
                silent=uuid in silent,
                full=uuid in full,
            )
            for uuid in hosts
        )
    )
