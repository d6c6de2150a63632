"""Random lives of a host: whatever the order of events, the invariants hold.

A life is a sequence of: facts change, another agent adds or removes traits (between passes or
between two requests of a pass), a request fails or its answer is lost, capd is killed before or
after any request, it restarts with or without capd.db, the provider is made anew, names vanish
from Placement. A model keeps the books on who put each trait there, and after each write of capd's
says whether it was allowed to.

What the model grants capd are only the cases that no client could tell apart:
- a trait of capd's that another agent removes and adds again while capd does not look stays
  capd's in its own eyes;
- if, while capd is dead or without an answer, somebody removes the very custom traits by which it
  would know its own write again, it may leave that write's standard traits behind, or write them a
  second time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capd.memory import Memory
from tests.fake_placement import CONCURRENT, Reply, error
from tests.reporting import BOCHS, GOLD, IDE, IGB, MARK, VGA, A, B, C, FakeHost

LIVES = int(os.environ.get("CAPD_LIVES", "2000"))
STANDARD = (BOCHS, VGA, IDE, IGB)
CUSTOM = (A, B, C)
FOREIGN = (GOLD, "CUSTOM_SILVER")

verdicts = st.sampled_from(["yes", "yes", "no", "no", "unknown"])
facts = st.fixed_dictionaries(dict.fromkeys((*STANDARD, B, C), verdicts))
adds = st.sets(st.sampled_from((*STANDARD, *FOREIGN)), min_size=1, max_size=3)
removes = st.sets(st.sampled_from((*STANDARD, *FOREIGN, *CUSTOM)), min_size=1, max_size=3)
foreign = st.one_of(
    st.tuples(st.just("add"), adds),
    st.tuples(st.just("remove"), removes),
    st.tuples(st.just("bump"), st.just(None)),
)
single = st.tuples(st.sampled_from((*STANDARD, B, C)), st.sampled_from(["yes", "no"]))
moments = st.sampled_from([0, 1, 1, 2, 3, 4, "write", "write", "write", "write"])
faults = st.sampled_from(["die", "die after", "503", "lost", "409", "500", "502 after"])
steps = st.one_of(
    st.tuples(st.just("pass"), st.just(0), st.none()),
    st.tuples(st.just("pass"), st.just(0), st.none()),
    st.tuples(st.just("facts"), facts),
    st.tuples(st.just("fact"), single),
    st.tuples(st.just("fact"), single),
    st.tuples(st.just("foreign"), foreign),
    st.tuples(st.just("pass"), moments, faults),
    st.tuples(st.just("pass"), moments, faults),
    st.tuples(st.just("pass"), moments, foreign),
    st.tuples(st.just("restart"), st.just(None)),
    st.tuples(st.just("forget"), st.just(None)),
    st.tuples(st.just("anew"), adds),
    st.tuples(st.just("lose name"), st.sampled_from((*CUSTOM, MARK))),
)
lives = st.lists(steps, min_size=4, max_size=24)


class Killed(BaseException):
    """The process dies here."""


class Life:
    """One host, the model of who owns what, and the checks."""

    def __init__(self, directory: Path) -> None:
        self.host = FakeHost(directory)
        self.now = dict.fromkeys((*STANDARD, B, C), "unknown")
        self.history: list[dict[str, str]] = []
        self.owner: dict[str, str] = {GOLD: "foreign"}
        self.hidden: set[str] = set()
        self.writes: dict[str, int] = {}
        self.undone: set[str] = set()
        self.unsure: Optional[frozenset[str]] = None
        self.tampered: set[str] = set()
        self.seen: frozenset[str] = frozenset()
        self.countdown: Any = None
        self.anew_unseen = False
        self.generation_seen = -1
        self.fault: Any = None
        self.dead = False
        self.arm()

    # -- the world

    @property
    def traits(self) -> set[str]:
        return self.host.traits

    def arm(self) -> None:
        self.host.client.hook = self.before_request
        self.host.client.after = self.after_request
        self.dead = False

    def foreign(self, kind: str, names: Optional[set[str]]) -> None:
        """Another agent writes; the model follows."""
        if kind == "bump":
            self.host.fake.bump(self.host.uuid)
        elif kind == "add":
            for name in set(names or ()) - self.traits:
                self.owner[name] = "unseen" if name in self.hidden else "foreign"
                self.undone.add(name)
            self.host.fake.change(self.host.uuid, add=names or ())
        else:
            for name in set(names or ()) & self.traits:
                if name in STANDARD:
                    if self.owner.pop(name) in ("capd", "unseen"):
                        self.hidden.add(name)
                    self.undone.add(name)
                elif name in CUSTOM:
                    if self.unsure is not None and name in self.unsure:
                        self.tampered |= set(STANDARD)
                else:
                    self.owner.pop(name)
            self.host.fake.change(self.host.uuid, remove=names or ())
            if not self.traits & {*CUSTOM, MARK}:
                self.tampered |= {name for name in STANDARD if self.owner.get(name) == "capd"}

    def anew(self, names: set[str]) -> None:
        """The provider is deleted and created again, and its other agents write to it."""
        del self.host.fake.providers[self.host.uuid]
        self.host.fake.create("host1", self.host.uuid, traits=sorted(names))
        self.owner = dict.fromkeys(names, "foreign")
        self.hidden.clear()
        self.writes.clear()
        self.anew_unseen = True
        self.unsure = None

    def forget(self) -> None:
        """capd.db is lost: what capd added under standard names is nobody's now."""
        self.host.forget()
        self.arm()
        for name in STANDARD:
            if self.owner.get(name) in ("capd", "unseen"):
                self.owner[name] = "left"
        self.hidden.clear()
        self.writes.clear()
        self.undone.clear()
        self.history.clear()
        self.unsure = None
        self.tampered.clear()

    # -- what happens around each request of capd's

    def before_request(self, method: str, path: str) -> Optional[Reply]:
        if self.dead and path.startswith("/traits/"):
            self.die()  # names are created by several threads, and all of them die
        assert not self.dead, "a dead process sends no requests"
        assert method != "DELETE"
        write = method == "PUT" and path.startswith("/resource")
        self.due = self.countdown == 0 or (self.countdown == "write" and write)
        if self.due:
            self.countdown = None
        elif isinstance(self.countdown, int):
            self.countdown -= 1
        self.shown = set(self.traits)
        if not self.due:
            return None
        if isinstance(self.fault, tuple):
            self.foreign(*self.fault)
            self.shown = set(self.traits)
            return None
        if self.fault == "die":
            self.die()
        if self.fault == "503":
            return error(503, "out of order")
        if self.fault == "409" and write:
            return error(409, "Resource provider's generation already changed.")
        if self.fault == "500" and write:
            return CONCURRENT
        if self.fault == "lost":
            return error(504, "no answer from behind")
        return None

    def after_request(self, method: str, path: str) -> Optional[Reply]:
        if self.traits != self.shown:
            self.judge(self.shown, set(self.traits))
        if self.due and self.fault == "die after":
            self.die()
        if self.due and self.fault == "502 after":
            return error(502, "the answer was lost")
        about_provider = path.startswith(f"/resource_providers/{self.host.uuid}")
        if about_provider and not (self.due and self.fault in ("503", "lost", "409", "500")):
            self.look()
        return None

    def die(self) -> None:
        assert self.host.store is not None
        self.host.store.close()
        self.dead = True
        raise Killed

    def look(self) -> None:
        """capd gets an answer that shows the provider: from here on it knows."""
        self.hidden &= set(self.traits)
        self.unsure = None
        generation = self.host.fake.providers[self.host.uuid].generation
        if self.anew_unseen and generation >= self.generation_seen:
            self.undone |= set(STANDARD)  # nothing tells it from the provider of before
        self.anew_unseen = False
        self.generation_seen = generation

    def judge(self, before: set[str], after: set[str]) -> None:
        """capd has written: was it allowed to?"""
        for name in before - after - {MARK}:
            assert name in CUSTOM or self.owner.get(name) in ("capd", "unseen"), (
                f"{name} removed, owner {self.owner.get(name)}"
            )
            denied = [told.get(name, "no") for told in self.history[-2:]]
            assert denied == ["no", "no"], f"{name} removed after {denied}"
            self.owner.pop(name, None)
            self.writes.pop(name, None)
        for name in after - before:
            assert name in (*STANDARD, *CUSTOM, MARK)
            if name not in STANDARD:
                continue
            self.owner[name] = "capd"
            self.writes[name] = self.writes.get(name, 0) + 1
            assert self.writes[name] == 1 or name in self.tampered, f"{name} written again"
        if set(STANDARD) & (before ^ after):
            self.unsure = frozenset((after - before) & {*CUSTOM, MARK})

    # -- steps

    def step(self, kind: str, *more: Any) -> None:
        if kind == "facts":
            self.now = more[0]
        elif kind == "fact":
            self.now = {**self.now, more[0][0]: more[0][1]}
        elif kind == "foreign":
            self.foreign(*more[0])
        elif kind == "restart":
            self.host.restart()
            self.arm()
        elif kind == "forget":
            self.forget()
        elif kind == "anew":
            self.anew(more[0])
        elif kind == "lose name":
            if more[0] not in self.traits:
                self.host.fake.names.discard(more[0])
        else:
            self.countdown, self.fault = more if more[1] is not None else (None, None)
            self.run()
            self.countdown = self.fault = None

    def run(self) -> Any:
        """One pass of capd."""
        self.history.append({**self.now, A: "yes"})
        try:
            return self.host.report(**self.history[-1])
        except Killed:
            pass
        finally:
            if self.dead:
                self.host.restart()
                self.arm()
        return None

    def settle(self) -> None:
        """After quiet: steady within two passes, and as it should be."""
        self.run()
        self.run()
        self.host.fake.log.clear()
        report = self.run()
        assert report.error is None
        assert not [line for line in self.host.fake.log if line[0] == "PUT"], "no steady state"
        assert report.changes == ()
        assert self.host.store is not None
        ledger = Memory(self.host.store).ledger(self.host.uuid)
        assert set(ledger.contested) <= self.undone | self.tampered
        assert ledger.intents == ()
        for name in CUSTOM:
            told = self.history[-1].get(name, "yes")
            if told != "unknown":
                assert (name in self.traits) is (told == "yes"), name
        for name in STANDARD:
            if name in ledger.contested:
                continue
            if self.now[name] == "yes":
                assert name in self.traits, name
            if self.now[name] == "no" and name not in self.tampered:
                assert self.owner.get(name) != "capd", name
        assert MARK not in self.traits

    def end(self) -> None:
        """Withdraw: what others put there is there, and nothing else."""
        self.host.client.hook = lambda method, path: None
        self.host.client.after = lambda method, path: None
        report = self.host.reporter.withdraw()
        assert report.error is None
        kept = {name for name, owner in self.owner.items() if owner in ("foreign", "left")}
        unclear = {name for name, owner in self.owner.items() if owner == "unseen"}
        assert kept <= self.traits, "foreign trait lost"
        assert self.traits - kept - unclear - self.tampered == set(), "leaked"


@pytest.fixture(scope="module")
def memory_disk() -> Iterator[Path]:
    """Where an fsync costs nothing; 2,000 lives make many."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    path = Path(tempfile.mkdtemp(prefix="capd-lives-", dir=base))
    yield path
    shutil.rmtree(path)


@settings(
    max_examples=LIVES,
    deadline=None,
    derandomize="CAPD_LIVES_RANDOM" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(life=lives)
def test_invariants_hold_in_every_life(memory_disk: Path, life: list[tuple[Any, ...]]) -> None:
    directory = Path(tempfile.mkdtemp(dir=memory_disk))
    host = Life(directory)
    try:
        for step in life:
            host.step(*step)
        host.settle()
        host.end()
    finally:
        assert host.host.store is not None
        host.host.store.close()
        shutil.rmtree(directory)
