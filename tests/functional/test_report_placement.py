"""Reporting to the real Placement: the fake's conformance, scale of requests, killed processes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid as uuids
from pathlib import Path
from typing import Any, Callable

import requests

from capd.report import Reporter
from capd.store import Store
from tests.fake_placement import FakePlacement
from tests.reporting import BOCHS, GOLD, IDE, NO, VGA, YES, A, B, assess, configure
from tests.rig.placement import Placement

HEADERS = {
    "X-Auth-Token": "admin",
    "OpenStack-API-Version": "placement 1.6",
    "Accept": "application/json",
}


def reporter_for(placement: Placement, directory: Path, name: str, more: str = "") -> Reporter:
    directory.mkdir(exist_ok=True)
    lines = f"endpoint = {placement.url}\ntoken = admin\n{more}"
    settings = configure(directory, placement=lines)
    return Reporter(settings, Store(settings.state_dir / "capd.db"), name)


# -- the fake is no easier than the real one


def script(seed: int) -> list[tuple[str, str, Any]]:
    """Random requests as capd makes them; `$G` stands for the generation last shown, `$U` for a
    provider, `$N` for its name."""
    choose = random.Random(seed)
    names = [BOCHS, VGA, IDE, "COMPUTE_NO_SUCH_THING"] + [f"CUSTOM_T{seed}_{n}" for n in range(4)]
    steps: list[tuple[str, str, Any]] = [("POST", "/resource_providers", "$U")]
    for _ in range(25):
        some = sorted(choose.sample(names, choose.randint(0, 4)))
        number = choose.choice(["$G", "$G", "$G", "$G-1", "$G+1"])
        steps.append(
            choose.choice(
                [
                    ("PUT", "/resource_providers/$U/traits", (number, some)),
                    ("PUT", "/resource_providers/$U/traits", (number, some)),
                    ("GET", "/resource_providers/$U/traits", None),
                    ("GET", "/resource_providers?uuid=$U", None),
                    ("GET", "/resource_providers?name=$N", None),
                    ("GET", f"/resource_providers/{uuids.UUID(int=seed)}/traits", None),
                    ("GET", f"/traits?name=in:{','.join(some or names)}", None),
                    ("GET", f"/traits?name=startswith:CUSTOM_T{seed}_", None),
                    ("PUT", f"/traits/{choose.choice(names)}", None),
                    ("PUT", "/traits/CUSTOM_lower", None),
                    ("POST", "/resource_providers", "$U"),
                ]
            )
        )
    return steps


def play(ask: Callable[[str, str, Any], tuple[int, Any]], seed: int) -> list[Any]:
    """The answers to a script, with what may differ taken out."""
    uuid, name = str(uuids.UUID(int=seed + 1000)), f"conformance-{seed}"
    generation = 0
    answers: list[Any] = []
    for method, path, body in script(seed):
        target = path.replace("$U", uuid).replace("$N", name)
        sent: Any = None
        if method == "POST":
            sent = {"uuid": uuid, "name": name}
        elif isinstance(body, tuple):
            wanted = generation + {"$G": 0, "$G-1": -1, "$G+1": 1}[body[0]]
            sent = {"resource_provider_generation": wanted, "traits": body[1]}
        status, document = ask(method, target, sent)
        if isinstance(document, dict):
            generation = document.get("resource_provider_generation", generation)
        answers.append((method, target, status, normal(document)))
    return answers


def normal(document: Any) -> Any:
    """What of an answer capd looks at."""
    if not document:
        return None
    if "errors" in document:
        detail = document["errors"][0]["detail"]
        if "No such trait" in detail:
            return sorted(detail.split("No such trait")[1].replace(",", " ").split())
        return "generation" in detail, "resource provider" in detail.lower()
    if "resource_providers" in document:
        return [
            (row["uuid"], row["name"], row["generation"]) for row in document["resource_providers"]
        ]
    return sorted(document["traits"]), document.get("resource_provider_generation")


def test_the_fake_answers_as_the_real_placement_does(placement: Placement) -> None:
    session = requests.Session()

    def real(method: str, path: str, body: Any) -> tuple[int, Any]:
        answer = session.request(method, placement.url + path, json=body, headers=HEADERS)
        return answer.status_code, answer.json() if answer.content else None

    seen: set[tuple[str, int]] = set()
    for seed in range(20):
        fake = FakePlacement([BOCHS, VGA, IDE])
        theirs = play(real, seed)
        assert play(fake.handle, seed) == theirs
        seen |= {(method, status) for method, _, status, _ in theirs}
    assert seen == {
        *(("GET", status) for status in (200, 404)),
        *(("PUT", status) for status in (200, 201, 204, 400, 409)),
        *(("POST", status) for status in (201, 409)),
    }


# -- how much is asked


def test_first_report_in_four_requests_then_one_each(placement: Placement, tmp_path: Path) -> None:
    names = {f"CUSTOM_CAPD_QUIET_{number:03}": YES for number in range(60)}
    facts = assess(**names, **{BOCHS: YES, VGA: NO})
    other = placement.client.create_provider("first-of-all")
    assert reporter_for(placement, tmp_path / "0", "first-of-all").report(facts).ok
    assert BOCHS in placement.client.traits(other)
    uuid = placement.client.create_provider("quiet-1", traits=[GOLD])
    placement.forget_requests()
    reporter = reporter_for(placement, tmp_path / "1", "quiet-1")
    first = reporter.report(facts)
    assert [(one.method, one.status) for one in placement.requests()] == [
        ("GET", 200),
        ("GET", 200),
        ("GET", 200),
        ("PUT", 200),
    ]
    assert first.requests == 4
    assert placement.client.traits(uuid) == {*names, BOCHS, GOLD}
    generation = placement.client.generation(uuid)
    placement.forget_requests()
    for _ in range(10):
        report = reporter.report(facts)
        assert (report.changes, report.requests) == ((), 1)
    assert [one.method for one in placement.requests()] == ["GET"] * 10
    assert placement.client.generation(uuid) == generation


def test_b11_names_stay_defined_after_withdrawal(placement: Placement, tmp_path: Path) -> None:
    uuid = placement.client.create_provider("leaving", traits=[GOLD, VGA])
    reporter = reporter_for(placement, tmp_path, "leaving")
    reporter.report(assess(**{A: YES, B: NO, BOCHS: YES, VGA: YES}))
    assert placement.client.traits(uuid) == {A, BOCHS, VGA, GOLD}
    placement.forget_requests()
    assert reporter.withdraw().removed == (BOCHS, A)
    assert "DELETE" not in {one.method for one in placement.requests()}
    assert placement.client.traits(uuid) == {VGA, GOLD}
    assert {A, B} <= placement.client.known_traits("CUSTOM_CAPD_")


def test_create_provider_for_a_cloud_without_nova(placement: Placement, tmp_path: Path) -> None:
    reporter = reporter_for(placement, tmp_path, "lonely", "create_provider = true\n")
    report = reporter.report(assess(**{A: YES, BOCHS: YES}))
    assert report.ok
    uuid = placement.client.providers()["lonely"]
    assert placement.client.traits(uuid) == {A, BOCHS}


def test_b15_a_renamed_provider_is_followed_by_its_compute_id(
    placement: Placement, tmp_path: Path
) -> None:
    uuid = placement.client.create_provider("name-before")
    (tmp_path / "compute_id").write_text(uuid)
    reporter = reporter_for(
        placement, tmp_path / "x", "name-now", f"compute_id_files = {tmp_path}/compute_id\n"
    )
    assert reporter.report(assess(**{A: YES})).plan.name == "name-before"
    other = placement.client.create_provider("name-now")
    fresh = reporter_for(
        placement, tmp_path / "y", "name-now", f"compute_id_files = {tmp_path}/compute_id\n"
    )
    error = fresh.report(assess(**{A: YES, B: YES})).error or ""
    assert uuid in error and other in error
    assert placement.client.traits(uuid) == {A}
    assert placement.client.traits(other) == set()


def test_a_provider_made_anew_in_the_real_placement(placement: Placement, tmp_path: Path) -> None:
    client = placement.client
    uuid = client.create_provider("phoenix", traits=[GOLD])
    reporter = reporter_for(placement, tmp_path, "phoenix")
    facts = assess(**{A: YES, BOCHS: YES})
    assert reporter.report(facts).ok
    client.delete_provider(uuid)
    assert "no resource provider phoenix" in (reporter.report(facts).error or "")
    for made in (uuid, None):
        again = client.create_provider("phoenix", made, traits=[GOLD, BOCHS, VGA])
        assert reporter.report(facts).ok
        for _ in range(2):
            reporter.report(assess(**{A: YES, BOCHS: NO}))
        assert client.traits(again) == {A, GOLD, BOCHS, VGA}
        client.delete_provider(again)


def test_an_old_placements_missing_names_are_written_once_it_learns_them(
    placement: Placement, tmp_path: Path
) -> None:
    """B10 on the real one: a name that no os-traits has stands for a new one."""
    uuid = placement.client.create_provider("ahead")
    reporter = reporter_for(placement, tmp_path, "ahead")
    facts = assess(**{A: YES, BOCHS: YES, "CUSTOM_NEW_STANDARD": YES, "COMPUTE_BRAND_NEW": YES})
    report = reporter.report(facts)
    assert placement.client.traits(uuid) == {A, BOCHS}
    assert report.plan.unknown_to_placement == ("COMPUTE_BRAND_NEW", "CUSTOM_NEW_STANDARD")
    placement.client.create_trait("CUSTOM_NEW_STANDARD")
    reporter.report(facts)
    assert placement.client.traits(uuid) == {A, BOCHS, "CUSTOM_NEW_STANDARD"}


# -- B70: killed at any moment, the provider's set never shrinks and nothing is lost

_LOOP = """
import json, sys, time
from pathlib import Path
from capd.report import Reporter
from capd.store import Store
from capd.config import load
from tests.reporting import assess
settings = load([Path(sys.argv[1])])
store = Store(settings.state_dir / "capd.db")
reporter = Reporter(settings, store, sys.argv[2])
print("up", flush=True)
for number in range(100000):
    facts = dict(json.loads(sys.argv[3]))
    for index, name in enumerate(json.loads(sys.argv[4])):
        facts[name] = "yes" if (number // 3 + index) % 2 else "no"
    report = reporter.report(assess(**facts))
    assert report.error is None, report.error
"""


def test_novas_line_that_the_server_refuses_is_not_made_longer(tmp_path: Path) -> None:
    """A real gunicorn with its default limit, which answers 400 and closes the connection."""
    many = {f"CUSTOM_CAPD_{number:03}_{'X' * 30}": YES for number in range(100)}
    cloud = Placement()
    cloud.line_limit = 4094
    with cloud as placement:
        uuid = placement.client.create_provider("long-host", traits=["COMPUTE_NODE", GOLD])
        reporter = reporter_for(placement, tmp_path / "long", "long-host")
        report = reporter.report(assess(**many))
        assert report.error is not None
        assert report.error.startswith(
            "100 traits are not added: Placement's web server refuses the request line of "
        )
        assert report.added == ()
        assert set(placement.client.traits(uuid)) == {"COMPUTE_NODE", GOLD}
        placement.down()
        placement.line_limit = 0
        placement.launch()
        assert reporter.report(assess(**many)).ok
        assert set(placement.client.traits(uuid)) == {"COMPUTE_NODE", GOLD, *many}


def test_b70_killed_again_and_again(placement: Placement, tmp_path: Path) -> None:
    client = placement.client
    uuid = client.create_provider("mortal", traits=[GOLD, VGA])
    always = {A: "yes", BOCHS: "yes"}
    changing = [B, IDE, "CUSTOM_CAPD_C", "COMPUTE_NET_VIF_MODEL_E1000"]
    reporter = reporter_for(placement, tmp_path, "mortal")
    assert reporter.report(assess(**always)).ok
    reporter._memory._store.close()
    choose = random.Random(7)
    for _ in range(12):
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", _LOOP, tmp_path / "capd.conf", "mortal"),
                *(json.dumps(always), json.dumps(changing)),
            ],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        time.sleep(choose.uniform(0.02, 0.4))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert client.traits(uuid) >= {A, BOCHS, GOLD, VGA}
        client.bump(uuid)
    again = reporter_for(placement, tmp_path, "mortal")
    facts = assess(**always, **dict.fromkeys(changing, NO))
    for _ in range(3):
        report = again.report(facts)
    assert report.ok
    assert client.traits(uuid) == {A, BOCHS, GOLD, VGA}
    assert again.withdraw().error is None
    assert client.traits(uuid) == {GOLD, VGA}


_ONCE = """
import json, sys
from pathlib import Path
from capd.report import Reporter
from capd.store import Store
from capd.config import load
from tests.reporting import assess
settings = load([Path(sys.argv[1])])
store = Store(settings.state_dir / "capd.db")
report = Reporter(settings, store, sys.argv[2]).report(assess(**json.loads(sys.argv[3])))
print(report.error, report.problems)
"""


def test_vocabulary_is_created_once_by_many_hosts_at_a_time(
    make_placement: Callable[..., Placement], tmp_path: Path
) -> None:
    placement = make_placement()
    names = {f"CUSTOM_CAPD_WORD_{number:03}": YES for number in range(60)}
    processes = []
    for number in range(3):
        placement.client.create_provider(f"crowd-{number}")
        directory = tmp_path / str(number)
        directory.mkdir()
        configure(directory, placement=f"endpoint = {placement.url}\ntoken = admin\n")
        processes.append(
            subprocess.Popen(
                [
                    *(sys.executable, "-c", _ONCE, directory / "capd.conf", f"crowd-{number}"),
                    json.dumps(names),
                ],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        )
    assert [process.communicate()[0] for process in processes] == ["None ()\n"] * 3
    for number in range(3):
        uuid = placement.client.providers()[f"crowd-{number}"]
        assert placement.client.traits(uuid) == set(names)
