"""The tracker on a real libvirtd: every way a domain comes, changes and goes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capd.config import Settings, load
from capd.discover import discover
from capd.facts import Discovery
from capd.hypervisor import Hypervisor
from capd.live import LiveWitness
from capd.records.records import Property, Source, assign
from capd.records.recordstore import Event, RecordStore
from capd.records.tracker import SLICE, Tracker
from capd.store import Store

UUID = "11111111-2222-3333-4444-5555555555{:02x}"
NOVA = (
    "<metadata><n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'>"
    "<n:image uuid='{}'><n:properties>{}</n:properties></n:image></n:instance></metadata>"
)


def guest(
    number: int = 0,
    devices: str = "",
    machine: str = "pc",
    more: str = "",
    name: str = "",
) -> str:
    return (
        f"<domain type='qemu'><name>{name or f'tracked-{number}'}</name>"
        f"<uuid>{UUID.format(number)}</uuid>{more}<memory unit='MiB'>32</memory><vcpu>1</vcpu>"
        f"<os><type arch='x86_64' machine='{machine}'>hvm</type></os><features><acpi/></features>"
        f"<devices>{devices}<memballoon model='none'/></devices></domain>"
    )


def disk(bus: str, target: str, device: str = "disk") -> str:
    return (
        f"<disk type='file' device='{device}'><source file='/tmp/none.img'/>"
        f"<target dev='{target}' bus='{bus}'/></disk>"
    )


OLD_FASHIONED = (
    disk("ide", "hda")
    + disk("ide", "hdb", "cdrom")
    + "<interface type='user'><model type='e1000'/></interface>"
    + "<video><model type='cirrus'/></video><graphics type='vnc'/>"
    + "<input type='tablet' bus='usb'/>"
)


@pytest.fixture(scope="module")
def settings(libvirtd_x86: Any, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    path = tmp_path_factory.mktemp("tracker") / "capd.conf"
    path.write_text(f"[DEFAULT]\nstate_dir = {path.parent}\n{libvirtd_x86.snippet}")
    return load([path])


@pytest.fixture(scope="module")
def hypervisor(settings: Settings) -> Iterator[Hypervisor]:
    opened = Hypervisor(settings.libvirt)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def facts(settings: Settings, hypervisor: Hypervisor) -> Discovery:
    return discover(settings, LiveWitness(hypervisor, settings.libvirt))


@pytest.fixture
def connection(libvirtd_x86: Any) -> Iterator[Any]:
    opened = libvirtd_x86.connect()
    yield opened
    for domain in opened.listAllDomains(0):
        if domain.isActive():
            domain.destroy()
        if domain.isPersistent():
            domain.undefine()
    opened.close()


@pytest.fixture
def records(tmp_path: Path) -> Iterator[RecordStore]:
    with Store(tmp_path / "capd.db") as store:
        yield RecordStore(store)


@pytest.fixture
def tracker(records: RecordStore) -> Tracker:
    return Tracker(records, retention=1000.0, clock=lambda: 5000.0)


def values(store: RecordStore, number: int = 0) -> dict[str, tuple[str, str]]:
    record = store.get(UUID.format(number))
    assert record is not None
    return {name: (found.value, found.source.value) for name, found in record.properties.items()}


def test_b49_what_a_guest_has_is_written_down_and_stays(
    connection: Any,
    hypervisor: Hypervisor,
    facts: Discovery,
    tracker: Tracker,
    records: RecordStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    connection.defineXML(guest(0, OLD_FASHIONED))
    tracker.start(hypervisor, facts)
    recorded = {
        "hw_machine_type": ("pc", "observed"),
        "hw_disk_bus": ("ide", "observed"),
        "hw_cdrom_bus": ("ide", "observed"),
        "hw_floppy_bus": ("fdc", "default"),
        "hw_input_bus": ("usb", "observed"),
        "hw_pointer_model": ("usbtablet", "observed"),
        "hw_video_model": ("cirrus", "observed"),
        "hw_vif_model": ("e1000", "observed"),
    }
    assert values(records) == recorded
    record = records.get(UUID.format(0))
    assert record is not None
    assert (record.name, record.managed_by, record.image) == ("tracked-0", "libvirt", None)
    assert record.machine is not None
    assert record.machine.startswith("pc-i440fx-")
    assert tracker.status.drifting == 0
    # rebuilt with other defaults: the record stays, the difference is seen and said once
    modern = OLD_FASHIONED.replace("e1000", "virtio").replace("cirrus", "vga")
    connection.defineXML(guest(0, modern)).rename("renamed")
    for _ in range(3):
        tracker.reconcile()
    assert values(records) == recorded
    drifts = [finding.text() for finding in tracker.status.here[UUID.format(0)].drift]
    assert drifts == [
        "hw_video_model: recorded cirrus, now vga",
        "hw_vif_model: recorded e1000, now virtio",
    ]
    said = [line.message for line in caplog.records if "drift" in line.message]
    assert len(said) == 2
    assert records.history(UUID.format(0)) == (
        Event(5000.0, "renamed", None, "tracked-0", None, "renamed"),
    )
    connection.defineXML(guest(0, OLD_FASHIONED, name="renamed"))
    tracker.reconcile()
    assert tracker.status.drifting == 0
    assert sum("no longer" in line.message for line in caplog.records) == 2


def test_an_event_is_enough_and_so_is_the_interval(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, tracker: Tracker, records: Any
) -> None:
    tracker.start(hypervisor, facts)
    connection.defineXML(guest(1, disk("sata", "sda")))
    tracker.on_event(UUID.format(1))
    assert values(records, 1)["hw_disk_bus"] == ("sata", "observed")
    domain = connection.defineXML(guest(2, disk("scsi", "sda")))
    tracker.reconcile()
    assert values(records, 2)["hw_disk_bus"] == ("scsi", "observed")
    assert values(records, 2)["hw_cdrom_bus"] == ("ide", "default")
    domain.undefine()
    tracker.on_event(UUID.format(2))
    assert records.get(UUID.format(2)).gone == 5000.0
    assert UUID.format(2) not in tracker.status.here
    connection.lookupByUUIDString(UUID.format(1)).undefine()
    tracker.reconcile()
    assert records.get(UUID.format(1)).gone == 5000.0
    tracker.on_event(UUID.format(9))
    assert records.get(UUID.format(9)) is None


def test_b61_what_left_is_kept_until_the_retention_time(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, records: RecordStore
) -> None:
    now = [5000.0]
    tracker = Tracker(records, retention=100.0, clock=lambda: now[0])
    domain = connection.defineXML(guest(3, disk("sata", "sda")))
    tracker.start(hypervisor, facts)
    domain.undefine()
    tracker.reconcile()
    now[0] = 5050.0
    tracker.reconcile()
    assert values(records, 3)["hw_disk_bus"] == ("sata", "observed")
    connection.defineXML(guest(3, disk("ide", "hda")))
    tracker.reconcile()
    assert [event.event for event in records.history(UUID.format(3))] == ["gone", "returned"]
    assert values(records, 3)["hw_disk_bus"] == ("sata", "observed")
    assert tracker.status.drifting == 1
    connection.lookupByUUIDString(UUID.format(3)).undefine()
    tracker.reconcile()
    now[0] = 5151.0
    tracker.reconcile()
    assert records.get(UUID.format(3)) is None
    assert records.history(UUID.format(3)) == ()


def test_b54_images_tell_what_they_set_and_a_rebuild_begins_anew(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, tracker: Tracker, records: Any
) -> None:
    image = NOVA.format(
        "image-1",
        "<n:property name='hw_disk_bus'>scsi</n:property>"
        "<n:property name='hw_vif_model'>VirtualE1000</n:property>"
        "<n:property name='min_ram'>64</n:property>"
        "<n:property name='hw_video_model'>nonsense</n:property>"
        "<n:property name='hw_machine_type'>pc</n:property>",
    )
    devices = disk("scsi", "sda") + "<interface type='user'><model type='e1000'/></interface>"
    connection.defineXML(guest(4, devices, more=image))
    tracker.start(hypervisor, facts)
    first = values(records, 4)
    assert first["hw_disk_bus"] == ("scsi", "image")
    assert first["hw_vif_model"] == ("e1000", "image")
    assert first["hw_machine_type"] == ("pc", "image")
    assert first["hw_video_model"] == ("virtio", "default")
    assert records.get(UUID.format(4)).managed_by == "nova"
    assert records.get(UUID.format(4)).image == "image-1"
    other = NOVA.format("image-2", "")
    connection.defineXML(guest(4, disk("virtio", "vda"), more=other))
    tracker.reconcile()
    assert values(records, 4)["hw_disk_bus"] == ("virtio", "observed")
    assert records.get(UUID.format(4)).image == "image-2"
    lines = {event.property: event for event in records.history(UUID.format(4))}
    assert lines["image"] == Event(5000.0, "rebuilt", "image", "image-1", None, "image-2")
    assert lines["hw_disk_bus"] == Event(
        5000.0, "rebuilt", "hw_disk_bus", "scsi", "image", "virtio", "observed"
    )
    assert tracker.status.drifting == 0


def test_without_facts_machine_type_and_defaults_wait(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, tracker: Tracker, records: Any
) -> None:
    connection.defineXML(guest(5, disk("sata", "sda"), machine="q35"))
    tracker.start(hypervisor)
    assert values(records, 5) == {"hw_disk_bus": ("sata", "observed")}
    assert records.get(UUID.format(5)).machine.startswith("pc-q35-")
    tracker.facts(facts)
    tracker.reconcile()
    assert values(records, 5) == {
        "hw_machine_type": ("q35", "observed"),
        "hw_cdrom_bus": ("sata", "default"),
        "hw_disk_bus": ("sata", "observed"),
        "hw_floppy_bus": ("fdc", "default"),
        "hw_input_bus": ("usb", "default"),
        "hw_pointer_model": ("usbtablet", "default"),
        "hw_video_model": ("virtio", "default"),
        "hw_vif_model": ("virtio", "default"),
    }


def test_b50_another_process_may_set_and_the_tracker_notices(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, tracker: Tracker, records: Any
) -> None:
    connection.defineXML(guest(6, disk("sata", "sda"), more=NOVA.format("i", "")))
    tracker.start(hypervisor, facts)
    with Store(records.store.path) as other:
        RecordStore(other).update(
            UUID.format(6),
            lambda was: was and (assign(was, {"hw_disk_bus": "scsi"}, None), "set"),
            6000.0,
        )
    tracker.reconcile()
    assert values(records, 6)["hw_disk_bus"] == ("scsi", "set")
    assert [finding.text() for finding in tracker.status.here[UUID.format(6)].drift] == [
        "hw_disk_bus: recorded scsi, now sata"
    ]


def test_a_rescued_guest_is_no_witness(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, tracker: Tracker, records: Any
) -> None:
    more = NOVA.format("i", "")
    normal = guest(7, disk("virtio", "vda"), more=more)
    rescued = guest(7, disk("ide", "hda").replace("none.img", "disk.rescue"), "q35", more)
    rescued = rescued.replace("'ide'", "'sata'")
    connection.defineXML(rescued)
    tracker.start(hypervisor, facts)
    assert values(records, 7) == {}
    connection.defineXML(normal)
    tracker.reconcile()
    assert values(records, 7)["hw_disk_bus"] == ("virtio", "observed")
    assert values(records, 7)["hw_machine_type"] == ("pc", "observed")
    connection.defineXML(rescued)
    tracker.reconcile()
    assert tracker.status.drifting == 0
    assert values(records, 7)["hw_disk_bus"] == ("virtio", "observed")


def test_mixed_buses_stand_beside_the_root_disks(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, tracker: Tracker, records: Any
) -> None:
    connection.defineXML(guest(8, disk("virtio", "vda")))
    tracker.start(hypervisor, facts)
    connection.defineXML(guest(8, disk("virtio", "vda") + disk("scsi", "sda")))
    tracker.reconcile()
    assert records.get(UUID.format(8)).properties["hw_disk_bus"] == Property(
        "virtio", Source.OBSERVED, ("virtio", "scsi")
    )
    assert tracker.status.drifting == 0


def test_a_started_guest_is_seen_without_any_event(
    connection: Any, hypervisor: Hypervisor, facts: Discovery, tracker: Tracker, records: Any
) -> None:
    transient = guest(10, "<video><model type='vga'/></video><graphics type='vnc'/>")
    tracker.start(hypervisor, facts)
    connection.createXML(transient, 0)
    tracker.reconcile()
    assert values(records, 10)["hw_video_model"] == ("vga", "observed")
    connection.lookupByUUIDString(UUID.format(10)).destroy()
    tracker.reconcile()
    assert records.get(UUID.format(10)).gone == 5000.0


def test_every_unchanged_domain_has_its_turn(tracker: Tracker) -> None:
    listed = {str(number): (None, -1) for number in range(1000)}

    class Listed:
        def __init__(self, number: int) -> None:
            self.number = number

    handles = {uuid: Listed(-1) for uuid in listed}
    tracker._seen = dict.fromkeys(handles, 1)
    tracker._numbers = dict.fromkeys(handles, -1)
    read: list[Any] = []
    for _ in range(4):
        due = tracker._due(handles)  # type: ignore[arg-type]
        assert len(due) == SLICE == 250
        read += due
    assert set(read) == set(handles.values())
    handles["7"].number = 3
    assert tracker._due(handles)[0] is handles["7"]  # type: ignore[arg-type]
