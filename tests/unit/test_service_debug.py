"""What `--debug` adds: each stage with its duration, why, and what was decided, in few lines."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from capd.plan import Plan

ROOT = Path(__file__).parents[2]


def test_a_plan_in_numbers() -> None:
    plan = Plan(
        provider="u",
        name="host",
        generation=7,
        add=("A", "B"),
        remove=("C",),
        contested=("D",),
        owned=("C", "E", "F"),
        others=("X",),
    )
    assert plan.counts() == (
        "plan for host, generation 7: 2 add, 1 remove, 0 pending, 1 contested, 0 disagree, "
        "0 unknown to placement, 3 owned, 1 of others"
    )
    assert replace(plan, error="refused").counts() == "no plan: refused"


def test_steps_of_a_pass(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {tmp_path / 'state'}\n"
        "[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:1\ntoken = hunter2\n"
    )
    path.chmod(0o600)
    recorded = ("--from", str(ROOT / "fixtures" / "captures" / "bookworm"))
    done = subprocess.run(
        [sys.executable, "-m", "capd", "--config-file", str(path), "--once", "--debug", *recorded],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 1
    assert "hunter2" not in done.stderr
    unreached = "Placement at http://127.0.0.1:1 cannot be reached: Connection refused"
    lines = [
        re.sub(r"\d+\.\d{3} s", "T", line).partition(" (check")[0]
        for line in done.stderr.splitlines()
        if not re.match(r"capd: .* \.\.\.( |$)", line)  # progress, on a slow machine
    ]
    assert lines == [
        "DEBUG capd.cycle: store begins",
        "DEBUG capd.cycle: store ended after T",
        "DEBUG capd.cycle: discovery begins",
        "DEBUG capd.lookout: everything is asked anew: a recording",
        "DEBUG capd.discover: discovery: 729 combinations, 60 native, 19 emulators, 0 problems, "
        "0 libvirt calls in T",
        "DEBUG capd.cycle: discovery ended after T",
        "DEBUG capd.cycle: placement begins",
        f"DEBUG capd.cycle: no plan: {unreached}",
        "DEBUG capd.cycle: placement ended after T",
        "DEBUG capd.cycle: the pass ended after T and 0 libvirt calls",
        f"capd: {unreached}",
    ]
