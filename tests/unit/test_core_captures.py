"""Exactness over two captured hosts: every machine type against what was measured by brute force.

The reference is `matrix.json`, made without capd, and the device lists read here with a regular
expression of this file's own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Optional

import pytest

from capd import config, recording
from capd.facts import Discovery

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"

#: rows of each capture, so that a loop over nothing cannot pass
ROWS = {"bookworm": 729, "trixie": 763}

VIFS = {
    "virtio": r"virtio-net-(pci|ccw|device)",
    "e1000": r"e1000",
    "e1000e": r"e1000e",
    "igb": r"igb",
    "ne2k_pci": r"ne2k_pci",
    "pcnet": r"pcnet",
    "rtl8139": r"rtl8139",
    "spapr-vlan": r"spapr-vlan",
    "vmxnet3": r"vmxnet3",
    "tulip": r"tulip",
    "lan9118": r"lan9118",
}
SOUNDS = {
    "sb16": r"sb16",
    "es1370": r"ES1370",
    "ac97": r"AC97",
    "ich6": r"intel-hda",
    "ich9": r"ich9-intel-hda",
    "usb": r"usb-audio",
    "virtio": r"virtio-sound-(pci|device)",
}
INPUTS = {
    "usb": r"usb-(kbd|mouse|tablet)",
    "virtio": r"virtio-(keyboard|mouse|tablet)-(pci|ccw|device)",
    "ps2": r"i8042",
}
POINTERS = {"usbtablet": r"usb-tablet|virtio-tablet-(pci|ccw|device)"}


@pytest.fixture(scope="module", params=sorted(ROWS))
def capture(request: pytest.FixtureRequest) -> tuple[str, Discovery]:
    return request.param, recording.load(CAPTURES / request.param, config.load())


def matrix(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((CAPTURES / name / "matrix.json").read_text())["rows"]
    return rows


def listed(value: Optional[frozenset[str]]) -> Optional[list[str]]:
    return None if value is None else sorted(value)


def test_a_row_for_every_combination(capture: tuple[str, Discovery]) -> None:
    name, discovery = capture
    assert len(discovery.machines) == ROWS[name]
    assert sorted((row.arch, row.virt_type, row.name) for row in discovery.machines) == sorted(
        (row["arch"], row["virt"], row["machine"]) for row in matrix(name)
    )
    assert [row.error for row in discovery.machines if row.error] == []


def test_disk_buses_and_video_models_equal_the_matrix(capture: tuple[str, Discovery]) -> None:
    name, discovery = capture
    wanted = {(row["arch"], row["virt"], row["machine"]): row for row in matrix(name)}
    compared = 0
    for row in discovery.machines:
        reference = wanted[row.arch, row.virt_type, row.name]
        assert listed(row.values("disk_bus")) == reference["disk_bus"], row.name
        assert listed(row.values("video_model")) == reference["video"], row.name
        assert listed(row.values("rng_model")) == reference["rng"], row.name
        compared += 1
    assert compared == ROWS[name]


def test_vif_input_pointer_and_sound_equal_the_device_list(
    capture: tuple[str, Discovery],
) -> None:
    name, discovery = capture
    texts = {
        path.stem: set(re.findall(r'^name "([^"]+)"', path.read_text(), re.M))
        for path in (CAPTURES / name / "devices").glob("*.txt")
    }
    assert len(texts) >= 20
    for row in discovery.machines:
        devices = texts[Path(row.emulator).name]
        for category, patterns in (
            ("vif_model", VIFS),
            ("sound_model", SOUNDS),
            ("input_bus", INPUTS),
            ("pointer_model", POINTERS),
        ):
            expected = {
                value
                for value, pattern in patterns.items()
                if any(re.fullmatch(pattern, device) for device in devices)
            }
            found = row.values(category) or frozenset()
            assert found & patterns.keys() == expected, (row.arch, row.name, category)


def test_bookworm_known_rows(capture: tuple[str, Discovery]) -> None:
    name, discovery = capture
    pc = discovery.machine("x86_64", "pc")
    q35 = discovery.machine("x86_64", "q35")
    s390x = discovery.machine("s390x", "s390-ccw-virtio", "qemu")
    assert pc is not None and q35 is not None and s390x is not None
    assert listed(pc.values("disk_bus")) == ["fdc", "ide", "sata", "scsi", "usb", "virtio"]
    assert listed(q35.values("disk_bus")) == ["fdc", "sata", "scsi", "usb", "virtio"]
    assert listed(q35.values("cdrom_bus")) == ["sata", "scsi", "usb"]
    assert listed(pc.values("cdrom_bus")) == ["ide", "sata", "scsi", "usb"]
    assert listed(s390x.values("video_model")) == ["none", "virtio"]
    if name == "bookworm":
        assert (q35.canonical, q35.family, pc.canonical) == ("pc-q35-7.2", "q35", "pc-i440fx-7.2")
        assert listed(s390x.values("vif_model")) == [
            "virtio", "virtio-non-transitional", "virtio-transitional"
        ]  # fmt: skip
    else:
        assert (q35.canonical, q35.family, pc.canonical) == (
            "pc-q35-10.0", "q35", "pc-i440fx-10.0",
        )  # fmt: skip
        assert "qxl" not in (pc.values("video_model") or ())


def test_b31_redirdev_is_no_disk_bus(capture: tuple[str, Discovery]) -> None:
    name, discovery = capture
    s390x = discovery.machine("s390x", "s390-ccw-virtio", "qemu")
    assert s390x is not None
    expected = (
        ["fdc", "scsi", "virtio"] if name == "bookworm" else ["fdc", "scsi", "usb", "virtio"]
    )
    assert listed(s390x.values("disk_bus")) == expected
