"""What is recorded of Nova's guests, defaults included, against what Nova registered for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

import pytest

from capd import config, recording
from capd.facts import Support
from capd.properties import CAPTURED
from capd.records import drift, reading, records
from capd.records.ability import Ability
from capd.records.drift import Drift
from capd.records.reading import Domain
from capd.records.records import Property, Record, Source

FIXTURES = Path(__file__).parents[2] / "fixtures"
GUESTS = FIXTURES / "guests"
DEFINED = sorted(path.name[: -len(".libvirt.xml")] for path in GUESTS.glob("*.libvirt.xml"))

#: where Nova registered something else than stands in the domain, and why the domain is right
EXPLAINED: dict[tuple[str, str], tuple[Optional[str], Optional[str]]] = {
    # a bus of the block device mapping's own, which Nova does not look at
    ("bdm-root-scsi", "hw_disk_bus"): ("scsi", "virtio"),
    # aarch64 emulated on x86: Nova asks for the host's architecture
    ("emul-aarch64", "hw_cdrom_bus"): ("scsi", "ide"),
    # libvirt gives every pseries guest with graphics a USB keyboard
    ("ppc64le-ps2mouse", "hw_input_bus"): ("usb", None),
    # no USB on s390x
    ("s390x-headless", "hw_input_bus"): (None, "usb"),
    ("s390x-headless", "hw_pointer_model"): (None, "usbtablet"),
    # Nova registers nothing where it leaves the choice to its own default
    ("s390x-headless", "hw_video_model"): ("virtio", None),
    ("s390x-ps2mouse", "hw_video_model"): ("virtio", None),
    ("spice-pointer", "hw_video_model"): ("virtio", None),
    # use_virtio_for_bridges=false: libvirt itself chooses
    ("vif-no-virtio-conf", "hw_vif_model"): ("rtl8139", None),
    # the legacy rescue, whose file names these documents do not carry
    ("rescue-configdrive-scsi", "hw_disk_bus"): ("virtio", "scsi"),
}


@pytest.fixture(scope="module")
def ability() -> Ability:
    return Ability(recording.load(FIXTURES / "captures" / "bookworm", config.load([])))


def _values(record: Record) -> dict[str, str]:
    return {name: found.value for name, found in record.properties.items()}


def _differences(ability: Ability) -> Iterator[tuple[tuple[str, str], tuple[Any, Any]]]:
    for name in DEFINED:
        domain = reading.read((GUESTS / f"{name}.libvirt.xml").read_text(), name)
        if domain.rescued:
            continue
        values = _values(records.begin(domain, ability, 1.0))
        nova = json.loads((GUESTS / f"{name}.json").read_text())["system_metadata"]
        for prop in CAPTURED:
            if prop != "hw_floppy_bus" and values.get(prop) != nova.get(prop):
                yield (name, prop), (values.get(prop), nova.get(prop))


def test_guests_are_recorded_as_nova_registered_them_or_better(ability: Ability) -> None:
    assert len(DEFINED) == 67
    assert dict(_differences(ability)) == EXPLAINED


def test_b55_a_floppy_is_observed_or_a_default_where_there_can_be_one(ability: Ability) -> None:
    seen = set()
    for name in DEFINED:
        domain = reading.read((GUESTS / f"{name}.libvirt.xml").read_text(), name)
        found = records.begin(domain, ability, 1.0).properties.get("hw_floppy_bus")
        if found is not None:
            assert found.value == "fdc"
            assert domain.arch in ("x86_64", "i686")
            seen.add((name == "floppy-image-fdc", found.source))
        else:
            assert domain.arch not in ("x86_64", "i686") or domain.rescued
    assert seen == {(True, Source.IMAGE), (False, Source.DEFAULT)}


def guest(arch: str, machine: str, devices: str = "") -> Domain:
    return reading.read(
        f"<domain type='qemu'><uuid>u</uuid><name>g</name><os><type arch='{arch}' "
        f"machine='{machine}'>hvm</type></os><devices>{devices}</devices></domain>",
        "guest",
    )


BASE = {
    "hw_disk_bus": "virtio",
    "hw_input_bus": "usb",
    "hw_pointer_model": "usbtablet",
    "hw_video_model": "virtio",
    "hw_vif_model": "virtio",
}


@pytest.mark.parametrize(
    ("arch", "machine", "expected"),
    [
        (
            "x86_64",
            "pc-i440fx-7.2",
            {**BASE, "hw_machine_type": "pc", "hw_cdrom_bus": "ide", "hw_floppy_bus": "fdc"},
        ),
        (
            "x86_64",
            "pc-q35-6.2",
            {
                **BASE,
                "hw_machine_type": "pc-q35-6.2",
                "hw_cdrom_bus": "sata",
                "hw_floppy_bus": "fdc",
            },
        ),
        ("aarch64", "virt-7.2", {**BASE, "hw_machine_type": "virt", "hw_cdrom_bus": "scsi"}),
        ("riscv64", "virt", {**BASE, "hw_machine_type": "virt", "hw_cdrom_bus": "scsi"}),
        (
            "ppc64",
            "pseries-7.2",
            {
                **BASE,
                "hw_machine_type": "pseries",
                "hw_cdrom_bus": "scsi",
                "hw_video_model": "vga",
            },
        ),
        (
            "s390x",
            "s390-ccw-virtio-7.2",
            {
                "hw_machine_type": "s390-ccw-virtio",
                "hw_cdrom_bus": "scsi",
                "hw_disk_bus": "virtio",
                "hw_video_model": "virtio",
                "hw_vif_model": "virtio",
            },
        ),
    ],
)
def test_what_a_bare_guest_would_get(
    ability: Ability, arch: str, machine: str, expected: Mapping[str, str]
) -> None:
    for facts in (ability, Ability(None)):
        record = records.begin(guest(arch, machine), facts, 1.0)
        values = _values(record)
        if facts.discovery is None:
            assert values.pop("hw_machine_type") == machine
        else:
            assert values.pop("hw_machine_type") == expected["hw_machine_type"]
        assert values == {k: v for k, v in expected.items() if k != "hw_machine_type"}
        assert {found.source for name, found in record.properties.items() if name in BASE} == {
            Source.DEFAULT
        }


def test_no_default_where_nothing_is_possible(ability: Ability) -> None:
    values = _values(records.begin(guest("x86_64", "isapc"), Ability(None), 1.0))
    assert "hw_input_bus" not in values
    assert values["hw_cdrom_bus"] == "ide"
    container = reading.read("<domain type='lxc'><os><type>exe</type></os></domain>", "lxc")
    assert records.begin(container, ability, 1.0).properties == {}


def test_graphics_without_a_pointer_were_meant_so(ability: Ability) -> None:
    values = _values(records.begin(guest("x86_64", "pc", "<graphics type='vnc'/>"), ability, 1.0))
    assert "hw_pointer_model" not in values
    assert "hw_input_bus" not in values


def test_facts_that_are_still_to_come_are_waited_for(ability: Ability) -> None:
    domain = guest("x86_64", "pc-i440fx-7.2", "<video><model type='vga'/></video>")
    early = records.begin(domain, Ability(None, waiting=True), 1.0)
    assert _values(early) == {"hw_video_model": "vga"}
    assert early.machine == "pc-i440fx-7.2"
    late = records.observe(early, domain, ability)
    assert late.properties["hw_machine_type"] == Property("pc", Source.OBSERVED)
    assert late.properties["hw_cdrom_bus"] == Property("ide", Source.DEFAULT)


def test_what_is_defined_is_never_overwritten(ability: Ability) -> None:
    before = records.begin(
        guest("x86_64", "pc-i440fx-7.2", "<video><model type='vga'/></video>"), ability, 1.0
    )
    changed = guest(
        "x86_64",
        "pc-i440fx-6.2",
        "<video><model type='qxl'/></video><interface><model type='e1000'/></interface>",
    )
    after = records.observe(before, changed, ability)
    assert after == before
    assert drift.compare(after, changed, ability) == (
        Drift("hw_machine_type", "pc (pc-i440fx-7.2)", "pc-i440fx-6.2"),
        Drift("hw_video_model", "vga", "qxl"),
        Drift("hw_vif_model", "virtio", "e1000"),
    )
    set_ = records.assign(after, {"hw_video_model": "qxl"}, None)
    assert set_.properties["hw_video_model"] == Property("qxl", Source.SET)


def test_an_alias_stands_for_the_version_recorded_with_it(ability: Ability) -> None:
    domain = guest("x86_64", "pc-i440fx-7.2")
    record = records.begin(domain, ability, 1.0)
    assert drift.compare(record, domain, ability) == ()
    assert drift.compare(record, guest("x86_64", "pc"), ability) == ()
    assert drift.compare(record, guest("x86_64", "pc-i440fx-5.2"), Ability(None)) == (
        Drift("hw_machine_type", "pc (pc-i440fx-7.2)", "pc-i440fx-5.2"),
    )
    set_ = records.assign(record, {"hw_machine_type": "q35"}, "q35")
    assert drift.compare(set_, guest("x86_64", "pc-q35-7.2"), ability) == ()
    assert drift.compare(set_, domain, ability) == (
        Drift("hw_machine_type", "q35", "pc-i440fx-7.2"),
    )


def test_devices_that_go_away_are_drift_only_if_they_last(ability: Ability) -> None:
    full = guest(
        "x86_64",
        "pc-i440fx-7.2",
        "<graphics/><video><model type='vga'/></video><input type='tablet' bus='usb'/>"
        "<disk device='cdrom'><target bus='ide'/></disk>"
        "<interface><model type='e1000'/></interface>",
    )
    record = records.begin(full, ability, 1.0)
    assert drift.compare(record, guest("x86_64", "pc-i440fx-7.2"), ability) == (
        Drift("hw_input_bus", "usb", None),
        Drift("hw_pointer_model", "usbtablet", None),
        Drift("hw_video_model", "vga", None),
    )


def test_b39_what_this_host_cannot_do_is_named(ability: Ability) -> None:
    def record(machine: str, **values: str) -> Record:
        properties = {name: Property(value, Source.OBSERVED) for name, value in values.items()}
        return Record("u", "n", "nova", None, "x86_64", "kvm", machine, properties)

    def unsupported(machine: str, **values: str) -> list[tuple[str, str]]:
        found = drift.unsupported(record(machine, **values), ability)
        return [(one.property, one.value) for one in found]

    assert unsupported("pc-q35-7.2", hw_cdrom_bus="ide", hw_disk_bus="virtio") == [
        ("hw_cdrom_bus", "ide")
    ]
    assert unsupported("pc-q35-7.2", hw_cdrom_bus="virtio") == [("hw_cdrom_bus", "virtio")]
    assert unsupported("pc-q35-7.2", hw_disk_bus="fdc") == [("hw_disk_bus", "fdc")]
    assert unsupported("pc-i440fx-7.2", hw_cdrom_bus="ide") == []
    assert unsupported("pc-q35-99.9", hw_disk_bus="ide") == [("hw_machine_type", "pc-q35-99.9")]
    # unknown is not no
    assert unsupported("pc-i440fx-7.2", hw_scsi_model="vmpvscsi", hw_vif_model="sriov") == []
    assert drift.unsupported(record("pc-q35-7.2", hw_cdrom_bus="ide"), Ability(None)) == ()


def test_ability_speaks_of_unknown_machines_as_unknown(ability: Ability) -> None:
    answer = ability.of(None, "hw_disk_bus", "ide")
    assert answer.support is Support.UNKNOWN
    assert ability.has_machine("x86_64", ("pc",)) is Support.YES
    assert ability.has_machine("x86_64", (None, "nothing")) is Support.NO
    assert Ability(None).has_machine("x86_64", ("nothing",)) is Support.UNKNOWN
    assert ability.resolve("x86_64", "q35") == "pc-q35-7.2"
    assert ability.alias("x86_64", "pc-q35-7.2") == "q35"
    assert ability.alias("x86_64", "pc-q35-6.2") is None
