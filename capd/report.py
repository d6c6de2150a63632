"""One pass: from verdicts to what the provider shows, and back into memory.

`Reporter` is what the daemon, `--once`, `--dump` and `--withdraw` use. A pass makes sure that the
names exist, finds the provider, reads it, has `capd.plan` say what is to change, and writes that
once, with the generation it was read at; whenever somebody else came between, it reads and plans
anew. `preview` goes the same way and stops before the first write.

A failed pass is a `Report` with an error, never an exception: the next pass tries again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Callable, Optional

from capd import ledger as ledgers
from capd import plan as plans
from capd.answers import Conflict, ProviderGone, Unanswered, Unavailable, UnknownTraits
from capd.config import Settings
from capd.errors import CapdError, PlacementError
from capd.jitter import waits
from capd.ledger import UNCONFIRMED, Ledger, Shown, is_custom
from capd.longline import LongLines
from capd.memory import Knowledge, Memory
from capd.outcome import Pass, Report, news
from capd.placement import Pause, Placement
from capd.plan import Judge, Plan
from capd.provider import Finder, Provider, ProviderMissing
from capd.store import Store
from capd.verdicts import Assessment
from capd.vocabulary import Vocabulary

_CONFLICTS, _OUTAGES = 9, 3

#: a plan from the settled ledger, what the provider shows, and the names Placement lacks
Planner = Callable[[Ledger, Shown, frozenset[str]], Plan]


class Reporter:
    """Reports for one host; keeps the connection, token and provider from pass to pass.

    `hostname` is libvirt's and may be corrected between passes. `pause` sleeps (seconds); what it
    raises ends the pass at once and comes through.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        hostname: str,
        pause: Pause = time.sleep,
        client: Optional[Placement] = None,
    ) -> None:
        self.hostname = hostname
        self._settings = settings
        self._memory = Memory(store)
        self._client = client or Placement(settings, pause)
        self._vocabulary = Vocabulary(self._client, self._memory)
        self._lines = LongLines(self._client)
        self._finder = Finder(self._client, settings.placement)
        self._told = frozenset(override.trait for override in settings.traits.overrides)
        self._last = Plan()

    def preview(self, assessment: Assessment) -> Plan:
        """What a pass would do now. Reads only, from Placement and from the store."""
        self._client.begin()
        judge = Judge(assessment, self._settings.traits.standard)
        last = None
        try:
            last = self._memory.reported_at()
            provider, shown, creates = self._foreseen()
            ledger, _ = ledgers.settle(self._memory.ledger(provider.uuid), shown, self._told)
            names = {*judge.names(), *plans.leftovers(judge, ledger, shown.traits)}
            known = plans.learned(judge, self._memory.knowledge(), names)
            plan = plans.make(judge, known, ledger, shown)
            standard = [name for name in plan.add if not is_custom(name)]
            lacking = frozenset(standard) - self._client.known(standard)
            plan = plans.make(judge, known, ledger, shown, lacking)
        except CapdError as error:
            return Plan(error=error.line(), reported_at=last)
        if not creates:
            last = self._memory.reported_at(provider.uuid)
        return replace(_of(plan, provider), reported_at=last, creates=creates)

    def report(self, assessment: Assessment) -> Report:
        """One pass. Never raises for what the network, Placement or the store can do."""
        judge = Judge(assessment, self._settings.traits.standard)

        def run(done: Pass) -> Plan:
            known = self._learn(judge, self._memory.knowledge(), judge.names())
            judged: set[str] = set()

            def planner(ledger: Ledger, shown: Shown, lacking: frozenset[str]) -> Plan:
                nonlocal known
                # a denial counts once in a pass, however often the pass has to plan
                rest = plans.leftovers(judge, ledger, shown.traits) - judged
                judged.update(rest)
                known = self._learn(judge, known, rest)
                return self._lines.bounded(plans.make(judge, known, ledger, shown, lacking))

            self._vocabulary.ensure(assessment.vocabulary)
            create = self._settings.placement.create_provider
            return self._carry_out(planner, done, assessment.vocabulary, create)

        return self._run(run)

    def withdraw(self, dry_run: bool = False) -> Report:
        """Take back what capd owns, by its memory and by its prefix; names stay defined."""

        def run(done: Pass) -> Plan:
            if dry_run:
                provider = self._finder.find(self.hostname, create=False)
                shown = self._client.provider_traits(provider.uuid)
                ledger, _ = ledgers.settle(self._memory.ledger(provider.uuid), shown)
                return _of(plans.withdrawal(ledger, shown), provider)
            plan = self._carry_out(
                lambda book, shown, _: plans.withdrawal(book, shown), done, (), create=False
            )
            if plan.provider:
                self._memory.forget(plan.provider)
            return plan

        return self._run(run)

    def _run(self, run: Callable[[Pass], Plan]) -> Report:
        self._client.begin()
        self._finder.begin()
        done = Pass()
        try:
            plan = run(done)
        except CapdError as error:
            plan = replace(self._last, add=(), remove=(), pending=(), error=error.line())
        lines = news(self._last, plan, done.added, done.removed)
        self._last = plan
        return Report(
            plan,
            tuple(sorted(done.added)),
            tuple(sorted(done.removed)),
            (*done.changes, *lines),
            self._vocabulary.problems(),
            self._client.requests,
        )

    # -- the way to the provider

    def _foreseen(self) -> tuple[Provider, Shown, bool]:
        """The provider and what it shows, or what a pass would make (then True)."""
        try:
            provider = self._finder.find(self.hostname, create=False)
        except ProviderMissing:
            identity = self._finder.identity(self.hostname)
            if not self._settings.placement.create_provider:
                raise
            made = Provider(identity.uuid or "", identity.name, identity.how)
            return made, Shown(0, frozenset()), True
        return provider, self._client.provider_traits(provider.uuid), False

    def _read(self, create: bool) -> tuple[Provider, Shown]:
        """The provider and what it shows; one that has gone is looked for anew, once."""
        provider = self._finder.find(self.hostname, create)
        try:
            return provider, self._client.provider_traits(provider.uuid)
        except ProviderGone:
            self._finder.forget()
            before = self._memory.ledger(provider.uuid)
            if before.generation != -1:
                gone = ledgers.vanished(before)
                self._memory.keep(provider.uuid, provider.name, before, gone)
        provider = self._finder.find(self.hostname, create)
        return provider, self._client.provider_traits(provider.uuid)

    # -- the pass itself

    def _learn(self, judge: Judge, before: Knowledge, names: Iterable[str]) -> Knowledge:
        after = plans.learned(judge, before, names)
        self._memory.learn(before, after)
        return after

    def _carry_out(
        self, planner: Planner, done: Pass, vocabulary: Iterable[str], create: bool
    ) -> Plan:
        """Read, plan and write until the plan is empty."""
        provider, shown = self._read(create)
        ledger = self._settle(provider, shown, done)
        done.lacking = self._lacking(planner, ledger, shown)
        conflicts = waits(_CONFLICTS, 0.05, 2.0)
        outages = waits(_OUTAGES, 0.25, 5.0)
        writes = 0
        while not (plan := planner(ledger, shown, done.lacking)).empty:
            if self._finder.sure(self.hostname, create) != provider:
                provider, shown = self._read(create)
                ledger = self._settle(provider, shown, done)
                continue
            writes += 1
            try:
                ledger, shown = self._write(provider, ledger, shown, plan, done)
            except UnknownTraits as error:
                done.lacking |= self._learn_lacking(error, plan, vocabulary)
                ledger = self._memory.ledger(provider.uuid)
            except Unanswered:
                raise
            except (Conflict, Unavailable) as error:
                delay = next(conflicts if isinstance(error, Conflict) else outages, None)
                if delay is None or not self._client.rest(delay):
                    raise
                provider, shown = self._read(create=False)
                ledger = self._settle(provider, shown, done)
            if writes > _CONFLICTS + _OUTAGES:
                raise PlacementError(
                    f"provider {provider.name} does not keep what is written to it",
                    culprit=provider.uuid,
                )
        self._finish(provider, ledger, shown, plan)
        return _of(plan, provider)

    def _settle(self, provider: Provider, shown: Shown, done: Pass) -> Ledger:
        before = self._memory.ledger(provider.uuid)
        after, contests = ledgers.settle(before, shown, self._told)
        self._memory.keep(provider.uuid, provider.name, before, after)
        if before.missing or shown.generation < before.generation:
            done.changes.append(f"provider {provider.name} was made anew; reporting afresh")
        elif before.generation == -1 and shown.customs:
            done.changes.append(
                f"{len(shown.customs)} traits of capd's are on {provider.name} from before "
                "capd.db: taken over; standard traits there count as somebody else's"
            )
        done.changes += [f"contested: {contest.line()}" for contest in contests]
        return after

    def _write(
        self, provider: Provider, ledger: Ledger, shown: Shown, plan: Plan, done: Pass
    ) -> tuple[Ledger, Shown]:
        """One PUT, noted before and after; the ledger and the set it led to."""
        intent = plans.intent(plan, shown, marking=UNCONFIRMED not in done.lacking)
        noted = ledger
        if intent.adds or intent.removes or ledger.intents:
            noted = ledgers.noted(ledger, intent)
            self._memory.keep(provider.uuid, provider.name, ledger, noted)
        traits = plans.target(plan, shown) | intent.evidence
        try:
            now = self._client.write_traits(provider.uuid, shown.generation, traits)
        except Unavailable:
            raise
        except PlacementError:
            refused = ledgers.refused(noted, intent)
            self._memory.keep(provider.uuid, provider.name, noted, refused)
            raise
        after = ledgers.written(noted, intent, now)
        self._memory.keep(provider.uuid, provider.name, noted, after)
        done.added |= set(plan.add)
        done.removed |= set(plan.remove) - {UNCONFIRMED}
        return after, now

    def _lacking(self, planner: Planner, ledger: Ledger, shown: Shown) -> frozenset[str]:
        """Names wanted that Placement did not have the last time and still has not."""
        failed = self._vocabulary.failed
        if not ledger.unknown:
            return failed
        wanted = ledger.unknown & frozenset(planner(ledger, shown, frozenset()).add)
        return failed | (wanted - self._client.known(wanted))

    def _learn_lacking(
        self, error: UnknownTraits, plan: Plan, vocabulary: Iterable[str]
    ) -> frozenset[str]:
        """What Placement lacks of a plan, after creating what can be created.

        Raises `error` again if nothing came of it.
        """
        sent = frozenset(plan.add) | {UNCONFIRMED}
        named = error.names & sent or sent - self._client.known(sent)
        customs = frozenset(filter(is_custom, named))
        if customs:
            self._vocabulary.ensure({*vocabulary, *customs}, again=True)
        lacking = (named - customs) | (customs & self._vocabulary.failed)
        if not named:
            raise error
        return lacking

    def _finish(self, provider: Provider, ledger: Ledger, shown: Shown, plan: Plan) -> None:
        unknown = frozenset(name for name in plan.unknown_to_placement if not is_custom(name))
        after = replace(ledger, unknown=unknown, customs=bool(shown.customs - {UNCONFIRMED}))
        self._memory.keep(provider.uuid, provider.name, ledger, after)
        if plan.error is None:
            self._memory.reported(provider.uuid)


def _of(plan: Plan, provider: Provider) -> Plan:
    uuid = provider.uuid or None
    return replace(plan, provider=uuid, name=provider.name, how=provider.how)
