"""`make demo` itself: what it shows, and that nothing of it is left."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig.base import REPOSITORY
from tests.rig.program import environment


@pytest.mark.usefixtures("libvirtd")
def test_demo_shows_the_traits_arriving() -> None:
    """The fixture is there for its skip, and so that libvirt's probing is warm."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.rig.demo"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        env=environment(measured=True),
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "\033[" not in done.stdout  # plain in a pipe
    arrived = re.search(r"(\d+) traits arrived, 0 went", done.stdout)
    assert arrived and int(arrived.group(1)) > 100
    assert "CUSTOM_GOLD_RACK" in done.stdout
    passed = re.search(r"requests of that pass: \[(.*)\]", done.stdout)
    assert passed and "PUT" not in passed.group(1)
    assert "done; libvirt, Placement and their files are gone again" in done.stdout
    used = set(re.findall(r"/tmp/capd-(?:demo|libvirt)-\w+", done.stdout))
    assert len(used) == 2
    assert [place for place in used if Path(place).exists()] == []
