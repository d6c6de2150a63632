"""A slow host: native traits arrive in Placement before the whole host has been asked."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from capd import config
from capd.cycle import Cycle
from capd.progress import Progress
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement


def test_b28_native_traits_come_first(
    libvirtd: Libvirtd,
    make_placement: Callable[..., Placement],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    placement = make_placement()
    uuid = placement.client.create_provider(libvirtd.connect().getHostname())
    path = tmp_path / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {tmp_path / 'state'}\n{libvirtd.snippet}\n{placement.snippet}"
    )
    settings = config.load([path])
    settings = replace(settings, records=replace(settings.records, enabled=False))
    monkeypatch.setattr("capd.discover.EARLY_AFTER", 0.0)
    cycle = Cycle(settings, once=True)
    seen: list[set[str]] = []
    original: Any = cycle._early

    def early(discovery: Any) -> None:
        original(discovery)
        seen.append(placement.client.traits(uuid))

    monkeypatch.setattr(cycle, "_early", early)
    begun = time.monotonic()
    result = cycle.run(Progress())
    cycle.close()
    after = placement.client.traits(uuid)
    assert result.report is not None and result.report.error is None
    (first,) = seen
    assert {"CUSTOM_CAPD_Q35_STORAGE_BUS_SATA", "COMPUTE_STORAGE_BUS_IDE"} <= first
    assert "COMPUTE_ARCH_AARCH64" not in first
    assert first < after
    assert "COMPUTE_ARCH_AARCH64" in after
    assert set(result.report.added) == after
    assert time.monotonic() - begun < 60
