"""The plan and the ledger as tables of literals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from capd.facts import Source, Support
from capd.ledger import Contest, Intent, Ledger, Shown, noted, refused, settle, vanished, written
from capd.memory import Known, observe
from capd.plan import Judge, Plan, leftovers, make, target, withdrawal
from capd.verdicts import Verdict
from tests.reporting import BOCHS, GOLD, IDE, MARK, NO, UNKNOWN, VGA, YES, A, B, assess

NOTHING = frozenset[str]()
EMPTY = Ledger()


def names(*given: str) -> frozenset[str]:
    return frozenset(given)


def planned(
    verdicts: Mapping[str, Support],
    known: Mapping[str, Known],
    shown: frozenset[str],
    ledger: Ledger = EMPTY,
    unknown: frozenset[str] = NOTHING,
    standard: bool = True,
    **more: Any,
) -> Plan:
    judge = Judge(assess(**more, **verdicts), standard)
    return make(judge, known, ledger, Shown(7, shown), unknown)


ONCE, TWICE = Known(YES, 1), Known(NO, 2)
SURE = Known(YES, 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            planned({A: YES, BOCHS: YES}, {A: SURE, BOCHS: SURE}, names(GOLD)),
            Plan(generation=7, add=(BOCHS, A), others=(GOLD,)),
            id="a yes is added",
        ),
        pytest.param(
            planned({A: NO}, {A: ONCE}, names(A, GOLD)),
            Plan(generation=7, pending=(A,), owned=(A,), others=(GOLD,)),
            id="one no is not enough",
        ),
        pytest.param(
            planned({A: NO}, {A: TWICE}, names(A, GOLD)),
            Plan(generation=7, remove=(A,), owned=(A,), others=(GOLD,)),
            id="two are",
        ),
        pytest.param(
            planned({A: UNKNOWN}, {A: Known(YES, 0)}, names(A)),
            Plan(generation=7, owned=(A,)),
            id="unknown keeps",
        ),
        pytest.param(
            planned({A: UNKNOWN, B: UNKNOWN}, {A: SURE, B: Known()}, names()),
            Plan(generation=7, add=(A,)),
            id="unknown counts as last known",
        ),
        pytest.param(
            planned({BOCHS: NO}, {BOCHS: TWICE}, names(BOCHS)),
            Plan(generation=7, disagree=(BOCHS,), others=(BOCHS,)),
            id="what another claims is left alone",
        ),
        pytest.param(
            planned({BOCHS: NO}, {BOCHS: TWICE}, names(BOCHS), Ledger(owned=names(BOCHS))),
            Plan(generation=7, remove=(BOCHS,), owned=(BOCHS,)),
            id="what capd added goes",
        ),
        pytest.param(
            planned({BOCHS: YES}, {BOCHS: SURE}, names(), Ledger(contested={BOCHS: False})),
            Plan(generation=7, contested=(BOCHS,)),
            id="contested is not written",
        ),
        pytest.param(
            planned({BOCHS: NO}, {BOCHS: TWICE}, names(BOCHS), Ledger(contested={BOCHS: True})),
            Plan(generation=7, contested=(BOCHS,), disagree=(BOCHS,), others=(BOCHS,)),
            id="contested is not removed",
        ),
        pytest.param(
            planned({A: YES, BOCHS: YES}, {A: SURE, BOCHS: SURE}, names(), unknown=names(BOCHS)),
            Plan(generation=7, add=(A,), unknown_to_placement=(BOCHS,)),
            id="what Placement lacks is left out",
        ),
        pytest.param(
            planned(
                {BOCHS: YES, VGA: YES},
                {BOCHS: Known(YES, 2), VGA: SURE},
                names(BOCHS, GOLD),
                Ledger(owned=names(BOCHS)),
                standard=False,
            ),
            Plan(generation=7, remove=(BOCHS,), owned=(BOCHS,), others=(GOLD,)),
            id="standard = never",
        ),
        pytest.param(
            planned({BOCHS: YES}, {BOCHS: SURE}, names(), standard=False, overrides=(BOCHS,)),
            Plan(generation=7, add=(BOCHS,)),
            id="an override is more special than standard = never",
        ),
        pytest.param(
            planned({}, {A: Known(YES, 2)}, names(A)),
            Plan(generation=7, remove=(A,), owned=(A,)),
            id="retired",
        ),
        pytest.param(
            planned({}, {A: Known(YES, 2)}, names(A), complete=False),
            Plan(generation=7, owned=(A,)),
            id="not retired while the host cannot be asked in full",
        ),
        pytest.param(
            planned({A: YES}, {A: SURE}, names(A, MARK)),
            Plan(generation=7, remove=(MARK,), owned=(A,)),
            id="the mark goes",
        ),
        pytest.param(
            planned(
                {A: YES},
                {A: SURE},
                names(A, MARK),
                Ledger(intents=(Intent(7, names(BOCHS), NOTHING, names(MARK)),)),
            ),
            Plan(generation=7, owned=(A,)),
            id="but not before its write is accounted for",
        ),
    ],
)
def test_plans(given: Plan, expected: Plan) -> None:
    assert given == expected


def test_target_is_everything_of_others_and_capds_own_as_planned() -> None:
    plan = Plan(add=(A,), remove=(B, IDE))
    assert target(plan, Shown(1, names(B, IDE, GOLD, VGA))) == {A, GOLD, VGA}


def test_withdrawal_takes_the_prefix_and_what_is_owned() -> None:
    plan = withdrawal(Ledger(owned=names(BOCHS, IDE)), Shown(3, names(A, BOCHS, VGA, GOLD)))
    assert (plan.remove, plan.others) == ((BOCHS, A), (VGA, GOLD))


def test_leftovers_are_what_no_verdict_speaks_of() -> None:
    judge = Judge(assess(**{A: YES}), True)
    found = leftovers(judge, Ledger(owned=names(IDE)), names(A, B, GOLD, VGA, MARK))
    assert found == {B, IDE}


@pytest.mark.parametrize(
    ("before", "support", "source", "after"),
    [
        (Known(), YES, Source.DOMCAPS, Known(YES, 0)),
        (Known(), NO, Source.DOMCAPS, Known(None, 1)),
        (Known(YES, 0), NO, Source.TRIAL, Known(YES, 1)),
        (Known(YES, 1), NO, Source.TRIAL, Known(NO, 2)),
        (Known(NO, 2), NO, Source.TRIAL, Known(NO, 2)),
        (Known(YES, 1), UNKNOWN, Source.DOMCAPS, Known(YES, 0)),
        (Known(NO, 2), UNKNOWN, Source.DOMCAPS, Known(NO, 0)),
        (Known(NO, 2), YES, Source.EMULATOR, Known(YES, 0)),
        (Known(NO, 2), YES, Source.OVERRIDE, Known(NO, 0)),
        (Known(YES, 1), NO, Source.OVERRIDE, Known(YES, 2)),
    ],
)
def test_what_is_known_after_one_more_pass(
    before: Known, support: Support, source: Source, after: Known
) -> None:
    assert observe(before, Verdict(A, support, source, "")) == after


OURS = Ledger(generation=5, customs=True, owned=names(BOCHS))
ADDING = Intent(5, names(IDE), NOTHING, names(B))
REMOVING = Intent(5, NOTHING, names(BOCHS), names(MARK))


@pytest.mark.parametrize(
    ("ledger", "shown", "expected"),
    [
        pytest.param(
            OURS, Shown(6, names(A, BOCHS)), replace(OURS, generation=6), id="nothing happened"
        ),
        pytest.param(
            OURS,
            Shown(6, names(A)),
            replace(OURS, generation=6, owned=NOTHING, contested={BOCHS: False}),
            id="removed by another",
        ),
        pytest.param(
            replace(OURS, owned=NOTHING, withdrawn=names(BOCHS)),
            Shown(6, names(A, BOCHS)),
            replace(OURS, generation=6, owned=NOTHING, contested={BOCHS: False}),
            id="added again by another",
        ),
        pytest.param(
            replace(OURS, intents=(ADDING,)),
            Shown(6, names(A, BOCHS, B, IDE)),
            replace(OURS, generation=6, owned=names(BOCHS, IDE)),
            id="the write took place",
        ),
        pytest.param(
            replace(OURS, intents=(ADDING,)),
            Shown(6, names(A, BOCHS, IDE)),
            replace(OURS, generation=6),
            id="it did not, another added the same trait",
        ),
        pytest.param(
            replace(OURS, intents=(ADDING,)),
            Shown(5, names(A, BOCHS)),
            replace(OURS, intents=(ADDING,)),
            id="it may still",
        ),
        pytest.param(
            replace(OURS, intents=(ADDING,)),
            Shown(7, names(A, BOCHS, B)),
            replace(OURS, generation=7, contested={IDE: False}),
            id="it did, and another removed the trait",
        ),
        pytest.param(
            replace(OURS, intents=(REMOVING,)),
            Shown(6, names(A, MARK)),
            replace(OURS, generation=6, owned=NOTHING, withdrawn=names(BOCHS)),
            id="the removal took place",
        ),
        pytest.param(
            replace(OURS, intents=(REMOVING,)),
            Shown(7, names(A, MARK, BOCHS)),
            replace(OURS, generation=7, owned=NOTHING, contested={BOCHS: False}),
            id="it did, and another added the trait again",
        ),
        pytest.param(
            replace(OURS, intents=(REMOVING,)),
            Shown(6, names(A, BOCHS)),
            replace(OURS, generation=6),
            id="the removal did not take place",
        ),
        pytest.param(
            replace(OURS, intents=(ADDING, replace(ADDING, adds=names(IDE, VGA)))),
            Shown(6, names(A, BOCHS, B, IDE, VGA)),
            replace(OURS, generation=6, owned=names(BOCHS, IDE)),
            id="one of two writes did: only what both meant is capd's for certain",
        ),
        pytest.param(
            OURS,
            Shown(2, names(BOCHS, GOLD)),
            replace(OURS, generation=2, owned=NOTHING),
            id="made anew: an older generation",
        ),
        pytest.param(
            vanished(OURS),
            Shown(9, names(BOCHS, GOLD)),
            replace(OURS, generation=9, owned=NOTHING),
            id="made anew: it was gone in between",
        ),
        pytest.param(
            OURS,
            Shown(9, names(BOCHS, GOLD)),
            replace(OURS, generation=9, owned=NOTHING),
            id="none of capd's custom traits left: what is there may be another's",
        ),
        pytest.param(
            OURS,
            Shown(3, names(A, BOCHS)),
            replace(OURS, generation=3),
            id="Placement was restored from a backup",
        ),
    ],
)
def test_settle(ledger: Ledger, shown: Shown, expected: Ledger) -> None:
    settled, contests = settle(ledger, shown)
    assert settled == expected
    assert {contest.name for contest in contests} == set(expected.contested)
    assert settle(settled, shown) == (settled, ())


def test_contests_say_what_happened() -> None:
    assert Contest(BOCHS, True).line() == (
        f"{BOCHS}: added by capd, removed by another; capd yields"
    )
    assert Contest(BOCHS, False).line() == (
        f"{BOCHS}: removed by capd, added again by another; capd yields"
    )


def test_being_told_ends_a_contest_until_it_is_contested_again() -> None:
    ledger = replace(OURS, owned=NOTHING, contested={BOCHS: False})
    told = names(BOCHS)
    free, _ = settle(ledger, Shown(6, names(A)), told)
    assert free.contested == {}
    again = written(free, Intent(6, told, NOTHING, names(MARK)), Shown(7, names(A, BOCHS)))
    lost, contests = settle(again, Shown(8, names(A)), told)
    assert (lost.contested, len(contests)) == ({BOCHS: True}, 1)
    assert settle(lost, Shown(9, names(A)), told)[0].contested == {BOCHS: True}
    assert settle(lost, Shown(9, names(A)))[0].contested == {BOCHS: False}


def test_notes_are_kept_until_they_are_answered() -> None:
    ledger = noted(noted(OURS, ADDING), ADDING)
    assert ledger.intents == (ADDING,)
    assert refused(ledger, ADDING) == OURS
    done = written(ledger, ADDING, Shown(6, names(A, BOCHS, B, IDE)))
    assert done == Ledger(generation=6, customs=True, owned=names(BOCHS, IDE))
