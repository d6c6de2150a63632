"""Who owns which trait of one provider: pure bookkeeping, no I/O.

Every `CUSTOM_CAPD_` trait is capd's by its name. A standard trait is capd's only if capd added
it, which only capd itself can remember: that is the `Ledger`, kept in the state database by
`capd.memory`. `settle` brings it up to date with what the provider shows; `capd.plan` reads it.

A write to Placement and a commit to the state database cannot be one step. So each write of
standard traits is noted first, as an `Intent`, with the generation it was written against and its
evidence: custom traits that only that write can have put there. After a crash, or an answer that
never came, the provider shows the evidence or it does not, and so whether the write took place. A
write that adds no custom trait by itself carries `UNCONFIRMED` along as evidence; it is taken away
once the ledger is on disk. When even that cannot tell (somebody removed the evidence), capd does
not claim the trait: rather leave one behind than take somebody else's away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from capd.table import CUSTOM

#: on the provider only between a write of standard traits and the note that it succeeded
UNCONFIRMED = f"{CUSTOM}UNCONFIRMED"


def is_custom(name: str) -> bool:
    """Whether a trait is capd's by its name."""
    return name.startswith(CUSTOM)


@dataclass(frozen=True)
class Intent:
    """A write that may or may not have reached the provider at `generation`.

    `adds` and `removes` are standard traits; `evidence` are custom traits that were not on the
    provider then and that this write put there.
    """

    generation: int
    adds: frozenset[str]
    removes: frozenset[str]
    evidence: frozenset[str]


@dataclass(frozen=True)
class Shown:
    """What Placement shows of a provider: its generation and its traits."""

    generation: int
    traits: frozenset[str]

    @property
    def customs(self) -> frozenset[str]:
        return frozenset(filter(is_custom, self.traits))


@dataclass(frozen=True)
class Ledger:
    """What capd remembers of one provider.

    `owned` are standard traits that capd added, `withdrawn` those it took back again, `contested`
    those that somebody else removed or added against it: the value says whether an override asked
    for the trait at that time. `unknown` are names Placement did not know. `generation` is the
    last one seen (-1: none), `customs` whether capd left any custom trait there, `missing` whether
    the provider has been gone since.
    """

    generation: int = -1
    customs: bool = False
    missing: bool = False
    owned: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    contested: Mapping[str, bool] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    intents: tuple[Intent, ...] = ()


@dataclass(frozen=True)
class Contest:
    """A standard trait on which capd has just yielded, and what the other did."""

    name: str
    removed: bool

    def line(self) -> str:
        """For the log, once."""
        if self.removed:
            return f"{self.name}: added by capd, removed by another; capd yields"
        return f"{self.name}: removed by capd, added again by another; capd yields"


def settle(
    ledger: Ledger, shown: Shown, told: frozenset[str] = frozenset()
) -> tuple[Ledger, tuple[Contest, ...]]:
    """The ledger after seeing the provider, and the contests that this revealed.

    `told` are the traits named by an override: being newly told ends an old contest.
    """
    ledger = _retell(ledger, told)
    rebuilt = ledger.missing or shown.generation < ledger.generation
    wiped = ledger.customs and not shown.customs
    if wiped:
        ledger = replace(ledger, intents=(), owned=ledger.owned - shown.traits)
    if rebuilt:
        keep = shown.traits if shown.customs else frozenset()
        ledger = replace(ledger, intents=(), owned=ledger.owned & keep, withdrawn=frozenset())
    ledger = _resolve(ledger, shown)
    removed = ledger.owned - shown.traits
    added = ledger.withdrawn & shown.traits
    contests = tuple(
        Contest(name, name in removed) for name in sorted((removed | added) - {*ledger.contested})
    )
    settled = replace(
        ledger,
        generation=shown.generation,
        missing=False,
        owned=ledger.owned - removed,
        withdrawn=ledger.withdrawn - added,
        contested={**ledger.contested, **{name: name in told for name in removed | added}},
    )
    return settled, contests


def written(ledger: Ledger, intent: Intent, shown: Shown) -> Ledger:
    """The ledger after Placement confirmed a write with the set it now `shown`."""
    return replace(
        ledger,
        generation=shown.generation,
        customs=bool(shown.customs - {UNCONFIRMED}),
        owned=(ledger.owned | intent.adds) - intent.removes,
        withdrawn=(ledger.withdrawn | intent.removes) - intent.adds,
        intents=(),
    )


def _retell(ledger: Ledger, told: frozenset[str]) -> Ledger:
    """End contests that the operator has overridden since; remember overrides that went."""
    contested = {
        name: was_told and name in told
        for name, was_told in ledger.contested.items()
        if was_told or name not in told
    }
    return replace(ledger, contested=contested)


def _resolve(ledger: Ledger, shown: Shown) -> Ledger:
    """Find out which noted writes took place."""
    if not ledger.intents:
        return ledger
    applied = any(intent.evidence & shown.traits for intent in ledger.intents)
    if not applied and shown.generation == ledger.intents[0].generation:
        return ledger  # not (yet): a request that is still under way may succeed until it moves
    adds, removes = _common(ledger.intents)
    every = frozenset().union(*(intent.removes for intent in ledger.intents))
    if applied:
        return replace(
            ledger,
            owned=(ledger.owned | adds) - every,
            withdrawn=(ledger.withdrawn | removes | (every - shown.traits)) - adds,
            intents=(),
        )
    untraceable = frozenset().union(
        *(intent.removes for intent in ledger.intents if not intent.evidence)
    )
    gone = untraceable - shown.traits
    return replace(
        ledger, owned=ledger.owned - gone, withdrawn=ledger.withdrawn | gone, intents=()
    )


def _common(intents: tuple[Intent, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """What every one of several writes meant to add and to remove."""
    adds, removes = intents[0].adds, intents[0].removes
    for intent in intents[1:]:
        adds, removes = adds & intent.adds, removes & intent.removes
    return adds, removes


def vanished(ledger: Ledger) -> Ledger:
    """The ledger after Placement said that the provider does not exist."""
    return replace(ledger, missing=True)


def noted(ledger: Ledger, intent: Intent) -> Ledger:
    """The ledger with a write that is about to be sent.

    One without evidence takes every custom trait away; their absence then tells nothing.
    """
    if intent in ledger.intents:
        return ledger
    customs = ledger.customs and bool(intent.evidence)
    return replace(ledger, customs=customs, intents=(*ledger.intents, intent))


def refused(ledger: Ledger, intent: Intent) -> Ledger:
    """The ledger after Placement refused a write for certain."""
    return replace(ledger, intents=tuple(other for other in ledger.intents if other != intent))
