"""Turn by turn with Nova's own report client on one provider of the real Placement."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

from capd import traits
from capd.config import load
from capd.live import discover_here
from capd.report import Reporter
from capd.store import Store
from capd.verdicts import Assessment
from tests.reporting import GOLD
from tests.rig import nova
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement

_PEER = Path(__file__).with_name("nova_reporter.py")
ROUNDS = 50


@contextmanager
def nova_on(
    placement: Placement, uri: str, name: str, uuid: str
) -> Iterator[Callable[[str], Any]]:
    """Nova's reporting in its own process; call it for one pass, with how."""
    process = subprocess.Popen(
        [str(nova.python()), str(_PEER), placement.url, uri, name, uuid],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None

    def one_pass(how: str) -> Any:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{how}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, process.communicate()[1][-3000:]
        return json.loads(line)

    try:
        yield one_pass
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def facts(libvirtd_x86: Libvirtd, tmp_path_factory: pytest.TempPathFactory) -> Assessment:
    """What capd finds on the very libvirt that Nova asks."""
    path = tmp_path_factory.mktemp("facts") / "capd.conf"
    path.write_text(libvirtd_x86.snippet.replace("[libvirt]", "[libvirt]\nvirt_type = qemu"))
    settings = load([path])
    found = discover_here(settings)
    return traits.assess(found, settings.traits, settings.libvirt)


@pytest.mark.parametrize("first", ["nova", "capd"])
def test_after_the_second_round_nobody_changes_anything(
    placement: Placement,
    libvirtd_x86: Libvirtd,
    nova_python: Path,
    facts: Assessment,
    tmp_path: Path,
    first: str,
) -> None:
    name = f"turns-{first}"
    uuid = placement.client.create_provider(name, traits=[GOLD])
    path = tmp_path / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {tmp_path}/state\n{placement.snippet}compute_id_files =\n"
    )
    settings = load([path])
    reporter = Reporter(settings, Store(settings.state_dir / "capd.db"), name)
    lines: list[str] = []
    generations: list[int] = []
    with nova_on(placement, libvirtd_x86.uri, name, uuid) as nova_pass:
        if first == "capd":
            assert reporter.report(facts).ok
        for number in range(ROUNDS):
            claims = nova_pass("fresh")
            if number == 2:
                placement.forget_requests()
            report = reporter.report(facts)
            assert report.error is None
            lines += report.changes
            generations.append(placement.client.generation(uuid))
        log = placement.requests()
        final = nova_pass("fresh")
    assert len(generations) == ROUNDS
    assert set(generations[1:]) == {generations[1]}, generations
    assert "PUT" not in {one.method for one in log}
    assert final["again"] == 0
    line = f"GET /traits?name=in:{','.join(sorted(placement.client.traits(uuid)))} HTTP/1.1"
    shown = placement.client.traits(uuid)
    assert shown >= {GOLD, *claims["claimed"]}
    assert not shown & set(claims["denied"])
    yes = {verdict.name for verdict in facts.verdicts.values() if verdict.support.value == "yes"}
    customs = {trait for trait in yes if trait.startswith("CUSTOM_CAPD_")}
    assert {trait for trait in shown if trait.startswith("CUSTOM_CAPD_")} == customs
    assert len(customs) > 50
    # where Nova denies what the host can do, capd yielded; where it claims too much, capd said so
    assert set(report.plan.contested) == yes & set(claims["denied"])
    no = {verdict.name for verdict in facts.verdicts.values() if verdict.support.value == "no"}
    assert set(report.plan.disagree) == no & set(claims["claimed"])
    assert len([line for line in lines if "contested" in line]) == len(report.plan.contested)
    print(
        f"\n{first} first: {ROUNDS} rounds, generation {generations[0]} then {generations[-1]};"
        f" {len(customs)} custom traits; all traits in one line, as Nova asks: {len(line)} bytes;"
        f" contested {list(report.plan.contested)};"
        f" disagreements {list(report.plan.disagree)}"
    )
