"""What the log says of a pass."""

from __future__ import annotations

import logging

import pytest

from capd.health import Health
from capd.stages import CycleResult
from capd.verdicts import Assessment


def test_a_wrong_setting_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "capd")
    health = Health()
    for _ in range(2):
        # a new assessment each time, as after each sweep
        assessment = Assessment({}, (), problems=("[traits] override: X is no trait",))
        health.finished(CycleResult((), 1.0, assessment=assessment))
    assert caplog.messages == ["[traits] override: X is no trait", "0 traits supported here"]
    health.finished(CycleResult((), 1.0, assessment=Assessment({}, (), problems=("another",))))
    assert caplog.messages[2:] == ["another"]
