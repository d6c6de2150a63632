"""Which hosts can take an image, and why the others cannot.

Takes a translation (and the resources of a flavor), asks `capd.match.providers`, and gives an
`Answer` to the command. What is asked: the hosts that have everything, and for each trait the
hosts that lack it. The number of requests grows with the traits and not with the hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Optional

from capd.match.candidates import Request, candidates
from capd.match.outcomes import Scope, Translation
from capd.match.providers import COMPUTE_NODE, DISABLED, Api, Providers, markers
from capd.table import BY_NAME

#: requests to Placement at a time
_AT_ONCE = 4


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
    lists = _ask(providers, translation, used, translation.passed if request else frozenset())
    missing, present, everyone = lists.missing, lists.present, lists.everyone
    barred: frozenset[str] = frozenset().union(*missing.values(), *present.values())
    fits, full, limited = everyone - barred, frozenset[str](), None
    if request is not None:
        chosen, limited = candidates(providers, request, translation, used)
        full = frozenset() if limited else fits - chosen
        fits &= chosen
    known = used | providers.known(wanted - used)
    names = providers.names
    return Answer(
        fits=tuple(sorted(Host(names[uuid], uuid) for uuid in fits)),
        rejects=_rejects(names, (barred | full) & everyone, lists, full),
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


@dataclass(frozen=True)
class _Lists:
    """Hosts by uuid: all, those without each required trait, those with each forbidden one."""

    everyone: frozenset[str]
    missing: Mapping[str, frozenset[str]]
    present: Mapping[str, frozenset[str]]
    silent: frozenset[str]


def _ask(
    providers: Providers, translation: Translation, used: frozenset[str], anywhere: frozenset[str]
) -> _Lists:
    """All lists, a few requests at a time.

    A trait of `anywhere` may be on any provider of a host's tree. One that is not `used` need not
    be asked about.
    """
    required, unwanted = translation.required, {*translation.forbidden, DISABLED}
    direct = [trait for trait in required if trait in used and trait not in anywhere]
    others = {*required, *unwanted} & used - set(direct)
    if not direct or providers.subtracts:
        providers.everyone()
    all_of = providers.having(direct) if direct else None
    providers.narrow(all_of or ())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        without = {trait: pool.submit(providers.lacking, trait) for trait in direct}
        having = {
            trait: pool.submit(providers.roots_having, trait)
            if trait in anywhere
            else pool.submit(providers.having, [trait])
            for trait in others
        }
        silent = pool.submit(providers.silent, used)
    missing = {trait: answer.result() for trait, answer in without.items()}
    have = {trait: answer.result() for trait, answer in having.items()}
    everyone = providers.everyone() if all_of is None else all_of.union(*missing.values())
    none: frozenset[str] = frozenset()
    for trait in required:
        missing.setdefault(trait, everyone - have.get(trait, none))
    present = {trait: have.get(trait, none) for trait in unwanted}
    return _Lists(everyone, missing, present, silent.result())


def _rejects(
    names: Mapping[str, str], hosts: frozenset[str], lists: _Lists, full: frozenset[str]
) -> tuple[Reject, ...]:
    lacks: dict[str, list[str]] = {uuid: [] for uuid in hosts}
    has: dict[str, list[str]] = {uuid: [] for uuid in hosts}
    for table, traits in ((lacks, lists.missing), (has, lists.present)):
        for trait in sorted(traits):
            for uuid in traits[trait] & hosts:
                table[uuid].append(trait)
    return tuple(
        sorted(
            Reject(
                Host(names[uuid], uuid),
                tuple(lacks[uuid]),
                tuple(has[uuid]),
                silent=uuid in lists.silent,
                full=uuid in full,
            )
            for uuid in hosts
        )
    )
