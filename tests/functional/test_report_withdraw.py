"""`capd --withdraw` as an operator runs it, against the real Placement."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from capd.config import load
from capd.report import Reporter
from capd.store import InstanceLock, Store
from tests.reporting import BOCHS, GOLD, VGA, YES, A, B, assess
from tests.rig.placement import Placement

ROOT = Path(__file__).parents[2]


class Host:
    """A host with a provider, where capd has reported."""

    def __init__(self, placement: Placement, directory: Path) -> None:
        self.client = placement.client
        self.name = directory.name
        self.uuid = self.client.create_provider(self.name, traits=[GOLD, VGA])
        self.state = directory / "state"
        self.conf = directory / "capd.conf"
        self.conf.write_text(
            f"[DEFAULT]\nstate_dir = {self.state}\n[libvirt]\n"
            f"connection_uri = qemu:///system?socket=/nonexistent\n{placement.snippet}"
            "compute_id_files =\n"
        )
        settings = load([self.conf])
        with Store(self.state / "capd.db") as store:
            reporter = Reporter(settings, store, self.name)
            assert reporter.report(assess(**{A: YES, B: YES, BOCHS: YES, VGA: YES})).ok
        assert self.client.traits(self.uuid) == {A, B, BOCHS, GOLD, VGA}

    def capd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "capd", "--config-file", self.conf, "--withdraw", *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )


@pytest.fixture
def host(placement: Placement, tmp_path: Path) -> Host:
    return Host(placement, tmp_path)


def test_dry_run_shows_and_the_real_run_does(host: Host) -> None:
    shown = host.capd("--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[1:] == [
        f"  - {BOCHS}",
        f"  - {A}",
        f"  - {B}",
        "3 traits would be taken back; 2 of others stay",
    ]
    assert host.client.traits(host.uuid) == {A, B, BOCHS, GOLD, VGA}
    done = host.capd()
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith(f"provider {host.name} ({host.uuid})")
    assert done.stdout.splitlines()[-1] == "3 traits taken back; 2 of others stay"
    assert host.client.traits(host.uuid) == {GOLD, VGA}
    assert {A, B} <= host.client.known_traits("CUSTOM_CAPD_")


def test_without_capd_db_only_the_prefix(host: Host) -> None:
    for path in host.state.glob("capd.db*"):
        path.unlink()
    with host.conf.open("a") as stream:
        stream.write(f"provider_name = {host.name}\n")
    done = host.capd("--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "provider": host.uuid,
        "name": host.name,
        "dry_run": False,
        "removed": [A, B],
        "left": [BOCHS, VGA, GOLD],
        "error": None,
    }
    assert host.client.traits(host.uuid) == {BOCHS, GOLD, VGA}


def test_refuses_while_capd_runs_and_names_it(host: Host) -> None:
    with InstanceLock(host.state):
        done = host.capd()
        assert (done.returncode, done.stdout) == (1, "")
        assert f"another capd is running for this host: process {os.getpid()}" in done.stderr
        assert host.capd("--dry-run").returncode == 0
    assert host.client.traits(host.uuid) == {A, B, BOCHS, GOLD, VGA}


def test_one_clear_line_when_nothing_says_which_provider(host: Host) -> None:
    for path in host.state.glob("capd.db*"):
        path.unlink()
    done = host.capd()
    assert done.returncode == 1
    assert "/nonexistent" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_one_clear_line_when_placement_is_away(host: Host) -> None:
    host.conf.write_text(
        host.conf.read_text().replace("endpoint = ", "endpoint = http://127.0.0.1:9/#")
    )
    done = host.capd()
    assert done.returncode == 1
    assert done.stderr.startswith("capd: Placement at http://127.0.0.1:9 cannot be reached")
    assert len(done.stderr.splitlines()) == 1
