"""Eight writers without pause on capd's provider: nobody's trait is lost or comes back.

Each writer adds and removes a trait of its own, with the generation it read, and looks at every
answer: its trait must be as it last left it. The writers can only lose to each other by conflict,
so whatever is otherwise is capd's doing. capd reports all the while, with facts that change.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Callable

import pytest
import requests

from capd.report import Reporter
from capd.store import Store
from tests.reporting import BOCHS, IDE, NO, VGA, YES, A, B, C, assess, configure
from tests.rig.databases import MariaDB
from tests.rig.placement import Placement

SECONDS = float(os.environ.get("CAPD_STORM", "60"))
WRITERS = 8


class Writer(threading.Thread):
    """Another agent with one trait."""

    def __init__(self, url: str, uuid: str, name: str, end: float) -> None:
        super().__init__()
        self.path = f"{url}/resource_providers/{uuid}/traits"
        self.trait = name
        self.end = end
        self.answers: Counter[int] = Counter()
        self.violations: list[str] = []
        self.strange: list[str] = []
        self.deadlocks = 0
        self.present = False
        self.session = requests.Session()
        self.session.headers.update(
            {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.6"}
        )

    def run(self) -> None:
        while time.monotonic() < self.end:
            body = self.session.get(self.path).json()
            self.look(body["traits"])
            traits = set(body["traits"]) ^ {self.trait}
            body["traits"] = sorted(traits)
            answer = self.session.put(self.path, json=body)
            self.answers[answer.status_code] += 1
            if answer.status_code == 200:
                self.present = self.trait in traits
            elif answer.status_code == 500:
                self.deadlocks += "Deadlock found" in answer.text
                known = "concurrently updated" in answer.text or "Deadlock found" in answer.text
                self.strange += [] if known else [answer.text[:300]]

    def look(self, traits: list[str]) -> None:
        if (self.trait in traits) is not self.present:
            what = "lost" if self.present else "came back"
            self.violations.append(f"{self.trait} {what}")
            self.present = not self.present


def storm(placement: Placement, directory: Path, label: str) -> None:
    uuid = placement.client.create_provider("stormy", traits=["CUSTOM_GOLD", VGA])
    for number in range(WRITERS):
        placement.client.create_trait(f"CUSTOM_WRITER_{number}")
    # one writer has a standard name that capd has an opinion of, too
    own = [IDE, *(f"CUSTOM_WRITER_{number}" for number in range(1, WRITERS))]
    settings = configure(directory, placement=f"endpoint = {placement.url}\ntoken = admin\n")
    reporter = Reporter(settings, Store(settings.state_dir / "capd.db"), "stormy")
    assert reporter.report(assess(**{A: YES, IDE: NO})).ok
    placement.forget_requests()
    end = time.monotonic() + SECONDS
    writers = [Writer(placement.url, uuid, name, end) for name in own]
    for writer in writers:
        writer.start()
    passes: Counter[bool] = Counter()
    choose = random.Random(3)
    while time.monotonic() < end:
        now = {name: choose.choice([YES, YES, NO]) for name in (B, C, BOCHS)}
        passes[reporter.report(assess(**now, **{A: YES, VGA: NO, IDE: NO})).error is None] += 1
    for writer in writers:
        writer.join()
    facts = assess(**{A: YES, B: YES, C: NO, BOCHS: YES, VGA: NO, IDE: NO})
    settling = [reporter.report(facts) for _ in range(3)]
    capd_answers = Counter(
        one.status
        for one in placement.requests()
        if one.user_agent.startswith("capd/") and one.method == "PUT"
    )
    theirs = sum((writer.answers for writer in writers), Counter[int]())
    deadlocks = sum(writer.deadlocks for writer in writers)
    print(
        f"\n{label}, {SECONDS:g} s, {WRITERS} writers: PUT of writers"
        f" {dict(sorted(theirs.items()))} (deadlocks: {deadlocks}), PUT of capd"
        f" {dict(sorted(capd_answers.items()))}; passes of capd: {passes[True]} done,"
        f" {passes[False]} left to the next"
    )
    assert [writer.strange for writer in writers] == [[]] * WRITERS
    assert [writer.violations for writer in writers] == [[]] * WRITERS
    assert all(report.error is None for report in settling)
    assert settling[-1].requests == 1
    kept = {writer.trait for writer in writers if writer.present}
    assert placement.client.traits(uuid) == {"CUSTOM_GOLD", VGA, A, B, *kept} | (
        {BOCHS} - {*settling[-1].plan.contested}
    )
    assert settling[-1].plan.contested == ()
    assert theirs[200] > 20 and theirs[409] > 20  # it was a storm
    assert capd_answers[200] > 1


@pytest.mark.timeout(SECONDS + 120)
def test_storm_on_sqlite(make_placement: Callable[..., Placement], tmp_path: Path) -> None:
    storm(make_placement(threads=12), tmp_path, "SQLite")


@pytest.mark.timeout(SECONDS + 120)
def test_storm_on_mariadb(
    make_placement: Callable[..., Placement], mariadb: MariaDB, tmp_path: Path
) -> None:
    database = mariadb.create("placement_storm")
    storm(make_placement(threads=12, database=database), tmp_path, "MariaDB")


def test_the_writers_notice_what_capd_must_not_do() -> None:
    """The check itself: a trait taken away, or put back, behind a writer's back is a violation."""
    writer = Writer("http://127.0.0.1", "x", "CUSTOM_WATCHED", time.monotonic())
    writer.look([])
    writer.present = True
    writer.look([])
    writer.look(["CUSTOM_WATCHED"])
    assert writer.violations == ["CUSTOM_WATCHED lost", "CUSTOM_WATCHED came back"]
