"""The soak in short: two simulated hours (bench/soak.py; the wide run makes it 24)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import soak
from tests.rig.base import Unavailable


@pytest.mark.timeout(600)
def test_two_simulated_hours_lose_and_leak_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Hours of 30 passes: a fault about every sixth, memory and threads as after the first."""
    monkeypatch.setattr(soak, "PASSES", 30)
    try:
        assert soak.soak(hours=2, seed=7) == 0
    except Unavailable as reason:
        pytest.skip(str(reason))
