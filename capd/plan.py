"""The plan: from verdicts and memory to what is to be added and removed. Pure.

`capd.report` carries a plan out; the dump shows it. What the host can do (`Assessment`), what was
last known of it (`Knowledge`), what capd did to the provider (`Ledger`) and what the provider
shows (`Shown`) go in; nothing else matters.

The rules: a yes is added. Only an explicit no removes, seen in two passes in a row, and only what
capd owns; unknown keeps what was last known. Where somebody else undid capd's work capd has
yielded (contested). Where somebody else claims what the host cannot do, that is a disagreement:
shown and counted, never fought.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

from capd.facts import Source, Support
from capd.ledger import UNCONFIRMED, Intent, Ledger, Shown, is_custom
from capd.memory import DENIALS, Knowledge, Known, observe
from capd.verdicts import Assessment, Verdict


@dataclass(frozen=True)
class Plan:
    """What one pass wants of a provider. All names sorted.

    `how` says by what the provider was identified. `contested` are standard traits on which capd
    has yielded to another agent, `disagree` those another agent claims and the host cannot do,
    `unknown_to_placement` those that this Placement has no name for, `pending` those that are to
    go if the next pass denies them too. `owned` and `others` are what is on the provider now,
    capd's own and everybody else's. `reported_at` is when capd last reported there, in seconds
    since the epoch. `creates`: the provider does not exist yet and a pass makes it, with a uuid of
    Placement's if `provider` is None. `error` is set, and the rest empty, if there is no plan.
    """

    provider: Optional[str] = None
    name: Optional[str] = None
    how: Optional[str] = None
    generation: Optional[int] = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    contested: tuple[str, ...] = ()
    disagree: tuple[str, ...] = ()
    unknown_to_placement: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    reported_at: Optional[float] = None
    creates: bool = False
    error: Optional[str] = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not self.add and not self.remove

    def counts(self) -> str:
        """What is planned, in numbers."""
        if self.error is not None:
            return f"no plan: {self.error}"
        named = ("add", "remove", "pending", "contested", "disagree", "unknown_to_placement")
        parts = [f"{len(getattr(self, name))} {name.replace('_', ' ')}" for name in named]
        parts += [f"{len(self.owned)} owned", f"{len(self.others)} of others"]
        return f"plan for {self.name}, generation {self.generation}: {', '.join(parts)}"

    @property
    def after(self) -> tuple[str, ...]:
        """What the provider shows once this is written."""
        return tuple(sorted({*self.owned, *self.others, *self.add} - {*self.remove}))

    @property
    def query_bytes(self) -> int:
        """Length of the request line in which nova-compute asks for all traits of a provider."""
        return len(f"GET /traits?name=in:{','.join(self.after)} HTTP/1.1")


class Judge:
    """Verdicts as policy has them: with `standard` false, every standard trait is denied."""

    def __init__(self, assessment: Assessment, standard: bool) -> None:
        self._assessment = assessment
        self._standard = standard

    def __call__(self, name: str) -> Verdict:
        """The verdict that decides what is written."""
        found = self._assessment.judge(name)
        if self._standard or is_custom(name) or found.source is Source.OVERRIDE:
            return found
        return Verdict(name, Support.NO, Source.OVERRIDE, "[traits] standard = never")

    def fact(self, name: str) -> Support:
        """What is known of the host whatever the policy is."""
        verdict = self._assessment.verdicts.get(name)
        return verdict.support if verdict else Support.UNKNOWN

    def names(self) -> Iterable[str]:
        """Every trait there is a verdict on."""
        return self._assessment.verdicts


def learned(judge: Judge, knowledge: Knowledge, names: Iterable[str]) -> dict[str, Known]:
    """Knowledge after this pass has judged `names`; each is to be judged once in a pass."""
    after = {name: observe(knowledge.get(name, Known()), judge(name)) for name in names}
    return {**knowledge, **after}


def leftovers(judge: Judge, ledger: Ledger, traits: frozenset[str]) -> frozenset[str]:
    """Traits to be judged though no verdict speaks of them: owned, or under capd's prefix."""
    found = ledger.owned | frozenset(filter(is_custom, traits))
    return found - frozenset(judge.names()) - {UNCONFIRMED}


def make(
    judge: Judge,
    knowledge: Knowledge,
    ledger: Ledger,
    shown: Shown,
    unknown: frozenset[str] = frozenset(),
) -> Plan:
    """The plan for a provider.

    `knowledge` is that after this pass (`learned`), `ledger` the settled one, `unknown` are names
    that Placement does not have now. The caller fills in who the provider is.
    """
    wanted = {name for name in knowledge if _wanted(judge(name), knowledge[name])}
    absent = wanted - shown.traits - {*ledger.contested} - {UNCONFIRMED}
    own = (shown.customs | (ledger.owned & shown.traits)) - {*ledger.contested}
    denied = {name for name in own if judge(name).support is Support.NO}
    remove = {name for name in denied if knowledge.get(name, Known()).denials >= DENIALS}
    remove.discard(UNCONFIRMED)
    pending = denied - remove - {UNCONFIRMED}
    if UNCONFIRMED in shown.traits and not ledger.intents:
        remove.add(UNCONFIRMED)
    others = shown.traits - shown.customs - ledger.owned
    return Plan(
        generation=shown.generation,
        add=tuple(sorted(absent - unknown)),
        remove=tuple(sorted(remove)),
        contested=tuple(sorted(ledger.contested)),
        disagree=tuple(sorted(name for name in others if judge.fact(name) is Support.NO)),
        unknown_to_placement=tuple(sorted(absent & unknown)),
        pending=tuple(sorted(pending)),
        owned=tuple(sorted(own - {UNCONFIRMED})),
        others=tuple(sorted(others)),
    )


def withdrawal(ledger: Ledger, shown: Shown) -> Plan:
    """The plan that takes everything back that capd owns."""
    own = shown.customs | (ledger.owned & shown.traits)
    return Plan(
        generation=shown.generation,
        remove=tuple(sorted(own)),
        contested=tuple(sorted(ledger.contested)),
        owned=tuple(sorted(own)),
        others=tuple(sorted(shown.traits - own)),
    )


def target(plan: Plan, shown: Shown) -> frozenset[str]:
    """The whole set to be written: everything of others, and capd's own as planned."""
    return (shown.traits - set(plan.remove)) | set(plan.add)


def intent(plan: Plan, shown: Shown, marking: bool) -> Intent:
    """What to note before a write: its standard traits, and by what to know it again."""
    adds = frozenset(name for name in plan.add if not is_custom(name))
    removes = frozenset(name for name in plan.remove if not is_custom(name))
    evidence = frozenset(plan.add) - adds
    leaves = bool(shown.customs - set(plan.remove))
    if not evidence and marking and (adds or (removes and leaves)):
        evidence = frozenset({UNCONFIRMED}) - shown.traits
    return Intent(shown.generation, adds, removes, evidence)


def _wanted(verdict: Verdict, known: Known) -> bool:
    """Whether a trait is to be on the provider; what is unknown now counts as last known."""
    if verdict.support is Support.UNKNOWN:
        return known.support is Support.YES
    return verdict.support is Support.YES
