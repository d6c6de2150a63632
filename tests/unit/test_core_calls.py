"""Calls that can be abandoned."""

from __future__ import annotations

import threading
import time

import pytest

from capd import calls
from capd.calls import Caller, CallTimeout, TooManyStuck


def test_a_value_and_an_exception_come_back() -> None:
    caller = Caller()
    assert caller.call(divmod, 7, 3, timeout=5) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        caller.call(divmod, 7, 0, timeout=5)
    caller.close()


def test_a_call_that_never_answers_is_left_behind() -> None:
    caller = Caller()
    release = threading.Event()
    begun = time.monotonic()
    with pytest.raises(CallTimeout):
        caller.call(release.wait, timeout=0.1)
    assert time.monotonic() - begun < 2
    assert caller.stuck == 1
    assert caller.call(len, "abc", timeout=5) == 3
    release.set()
    deadline = time.monotonic() + 5
    while caller.stuck and time.monotonic() < deadline:
        time.sleep(0.01)
    assert caller.stuck == 0


def test_patience_is_extended_as_long_as_asked() -> None:
    caller = Caller()
    asked: list[int] = []

    def extend() -> bool:
        asked.append(1)
        return True

    def slow() -> str:
        time.sleep(0.35)
        return "late"

    assert caller.call(slow, timeout=0.1, extend=extend) == "late"
    assert len(asked) >= 2


def test_each_yields_every_outcome_and_one_failure_costs_no_other() -> None:
    caller = Caller()

    def work(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number * 10

    found = dict(caller.each(((n, work, (n,)) for n in range(6)), timeout=5, workers=2))
    assert {key: out.value for key, out in found.items() if out.error is None} == {
        0: 0, 1: 10, 2: 20, 4: 40, 5: 50,
    }  # fmt: skip
    assert str(found[3].error) == "three"


def test_each_gives_up_on_one_and_goes_on() -> None:
    caller = Caller()
    release = threading.Event()

    def work(number: int) -> int:
        if number == 1:
            release.wait()
        return number

    found = dict(caller.each(((n, work, (n,)) for n in range(5)), timeout=0.2, workers=2))
    assert sorted(key for key, out in found.items() if out.error is None) == [0, 2, 3, 4]
    assert isinstance(found[1].error, CallTimeout)
    release.set()


def test_the_number_left_behind_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_STUCK", 2)
    caller = Caller()
    release = threading.Event()
    for _ in range(2):
        with pytest.raises(CallTimeout):
            caller.call(release.wait, timeout=0.02)
    with pytest.raises(TooManyStuck):
        caller.call(len, "abc", timeout=1)
    release.set()


def test_threads_are_reused() -> None:
    caller = Caller()
    before = threading.active_count()
    for _ in range(50):
        caller.call(len, "abc", timeout=5)
    assert threading.active_count() <= before + 1
    caller.close()


@pytest.mark.parametrize(("ahead", "begun"), [(False, [0]), (True, [0, 1])])
def test_the_next_call_goes_on_while_an_answer_is_digested(ahead: bool, begun: list[int]) -> None:
    """One at a time all the same; and not after an error, where the caller may want to end."""
    caller = Caller()
    started: list[int] = []
    second = threading.Event()

    def work(number: int) -> int:
        started.append(number)
        if number == 1:
            second.set()
        if number == 2:
            raise ValueError("two")
        return number

    outcomes = caller.each(((n, work, (n,)) for n in range(4)), timeout=5, ahead=ahead)
    assert next(outcomes)[0] == 0
    assert second.wait(5 if ahead else 0.2) is ahead
    assert started == begun
    assert next(outcomes)[0] == 1
    key, outcome = next(outcomes)
    assert (key, str(outcome.error)) == (2, "two")
    time.sleep(0.2)
    assert started == [0, 1, 2]
    assert [key for key, _ in outcomes] == [3]
    assert started == [0, 1, 2, 3]
