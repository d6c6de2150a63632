"""Definitions with other devices: only what the property speaks of changes."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from capd.records.rewrite import rewrite
from capd.records.rewritedisks import derived_place, letters, number


def guest(devices: str, machine: str = "pc-i440fx-7.2", boot: str = "<boot dev='hd'/>") -> str:
    return (
        f"<domain><os><type arch='x86_64' machine='{machine}'>hvm</type>{boot}</os>"
        f"<devices>{devices}</devices></domain>"
    )


def disk(bus: str, target: str, more: str = "", device: str = "disk", driver: str = "") -> str:
    return (
        f"<disk device='{device}'><driver name='qemu'{driver}/>"
        f"<target dev='{target}' bus='{bus}'/>{more}</disk>"
    )


def changed(xml: str, **values: str) -> str:
    text, unseen = rewrite(xml, values, "guest")
    assert unseen == ()
    return text.replace('"', "'")


def targets(xml: str) -> list[tuple[str, str]]:
    return re.findall(r"<target dev='(\w+)' bus='(\w+)'", xml)


PCI = "<address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/>"


def test_target_names_count_as_libvirts_do() -> None:
    assert [letters(index) for index in (0, 25, 26, 51, 52, 701, 702)] == [
        *("a", "z", "aa", "az", "ba", "zz", "aaa"),
    ]
    assert [number(name, "scsi") for name in ("sda", "sdz", "sdaa", "vda", "sd", "sdA")] == [
        *(0, 25, 26, -1, -1, -1),
    ]
    assert derived_place("ide", 3) == (0, 1, 1)
    assert derived_place("sata", 7) == (1, 0, 1)
    assert derived_place("scsi", 7) == (0, 0, 8)
    assert derived_place("scsi", 15) == (1, 0, 0)
    assert derived_place("fdc", 1) == (0, 0, 1)
    assert derived_place("virtio", 1) is None


def test_names_and_places_do_not_clash() -> None:
    taken = "<address type='drive' controller='0' bus='0' target='0' unit='{}'/>"
    xml = guest(
        disk("virtio", "vda", PCI)
        + disk("virtio", "vdb", PCI)
        + disk("usb", "sda")
        + disk("scsi", "sdc", taken.format(1), "cdrom")
        + disk("scsi", "sdx", taken.format(3), "cdrom")
    )
    result = changed(xml, hw_disk_bus="scsi")
    # sda is taken as a name, unit 1 and unit 3 as places, sdc as a name
    assert targets(result) == [
        ("sde", "scsi"),
        ("sdf", "scsi"),
        ("sda", "usb"),
        ("sdc", "scsi"),
        ("sdx", "scsi"),
    ]
    assert "type='pci'" not in result


def test_disks_on_another_bus_than_the_root_disk_stay() -> None:
    xml = guest(disk("virtio", "vda") + disk("sata", "sda") + disk("sata", "sdb", device="cdrom"))
    assert targets(changed(xml, hw_disk_bus="usb")) == [
        ("sdc", "usb"),
        ("sda", "sata"),
        ("sdb", "sata"),
    ]


def test_options_of_virtio_go_with_it() -> None:
    driver = " queues='4' iothread='1' packed='on' discard='unmap' cache='none'"
    xml = guest(
        disk("virtio", "vda", "<serial>s</serial>" + PCI, driver=driver).replace(
            "<disk ", "<disk model='virtio-transitional' "
        )
    )
    result = changed(xml, hw_disk_bus="sata")
    assert "<driver name='qemu' discard='unmap' cache='none'/>" in result
    assert "model=" not in result.partition("</disk>")[0].partition("<disk")[2]
    assert "<serial>s</serial>" in result


def test_options_of_other_buses_go_with_them() -> None:
    scsi = disk("scsi", "sda", "<wwn>5000c50015ea71ad</wwn><vendor>V</vendor><product>P</product>")
    assert "wwn" not in changed(guest(scsi), hw_disk_bus="virtio")
    sata = changed(guest(scsi), hw_disk_bus="sata")
    assert "<wwn>" in sata
    assert "vendor" not in sata
    rotating = guest(disk("sata", "sda").replace("bus='sata'", "bus='sata' rotation_rate='1'"))
    assert "rotation_rate" not in changed(rotating, hw_disk_bus="virtio")
    assert "rotation_rate" in changed(rotating, hw_disk_bus="scsi")


def test_controllers_come_and_go_with_their_bus() -> None:
    plain = guest(disk("virtio", "vda"))
    assert "<controller type='scsi' index='0' model='virtio-scsi'/>" in changed(
        plain, hw_disk_bus="scsi"
    )
    assert "<controller type='usb' index='0' model='qemu-xhci'/>" in changed(
        plain, hw_disk_bus="usb"
    )
    without = guest(disk("virtio", "vda") + "<controller type='usb' model='none'/>")
    assert "<controller type='usb' model='qemu-xhci'/>" in changed(without, hw_disk_bus="usb")
    left = guest(disk("scsi", "sda") + "<controller type='scsi' index='0' model='lsilogic'/>")
    assert "controller" not in changed(left, hw_disk_bus="virtio")
    shared = left.replace("</devices>", disk("scsi", "sdb", device="cdrom") + "</devices>")
    assert "model='lsilogic'" in changed(shared, hw_disk_bus="virtio")
    passed = left.replace("</devices>", "<hostdev type='scsi'/></devices>")
    assert "model='lsilogic'" in changed(passed, hw_disk_bus="virtio")


def test_the_boot_order_is_said_per_device_where_sorting_would_change_it() -> None:
    xml = guest(
        disk("virtio", "vda", "<serial>root</serial>") + disk("scsi", "sda"),
        boot="<boot dev='cdrom'/><boot dev='hd'/><boot dev='network'/>",
    ).replace(
        "</devices>",
        disk("ide", "hda", device="cdrom") + "<interface/><interface/></devices>",
    )
    result = changed(xml, hw_disk_bus="scsi")
    assert "<boot dev=" not in result
    assert re.findall(r"(\w+)'?/?>(?:</serial>)?<boot order='(\d)'", result) == [
        ("serial", "2"),
        ("ide", "1"),
        ("interface", "3"),
    ]
    assert "<boot dev='hd'/>" in changed(guest(disk("virtio", "vda")), hw_disk_bus="scsi")
    kept = guest(disk("virtio", "vda", "<boot order='1'/>") + disk("scsi", "sda"), boot="")
    assert changed(kept, hw_disk_bus="scsi").count("<boot") == 1


@pytest.mark.parametrize(
    ("devices", "values", "expected"),
    [
        (
            "<video><model type='qxl' ram='1' vram='2' vgamem='3' heads='1' primary='yes'/>"
            + PCI
            + "</video>",
            {"hw_video_model": "virtio"},
            "<video><model type='virtio' heads='1' primary='yes'/></video>",
        ),
        (
            "<video><model type='vga' primary='yes'/></video><video><model type='qxl'/></video>",
            {"hw_video_model": "none"},
            "<video><model type='none'/></video>",
        ),
        (
            "<interface type='bridge'><mac address='m'/><model type='virtio'/>"
            f"<driver name='vhost' queues='2'/>{PCI}</interface>"
            "<interface type='hostdev'/><interface><model type='igb'/></interface>",
            {"hw_vif_model": "e1000"},
            "<interface type='bridge'><mac address='m'/><model type='e1000'/></interface>"
            "<interface type='hostdev'/><interface><model type='igb'/></interface>",
        ),
        (
            "<input type='tablet' bus='usb'><address type='usb' bus='0' port='1'/></input>"
            "<input type='mouse' bus='ps2'/>",
            {"hw_input_bus": "virtio"},
            "<input type='tablet' bus='virtio'/><input type='mouse' bus='ps2'/>",
        ),
        (
            "<controller type='usb'/><input type='keyboard' bus='usb'/>",
            {"hw_pointer_model": "usbtablet"},
            "<controller type='usb'/><input type='keyboard' bus='usb'/>"
            "<input type='tablet' bus='usb'/>",
        ),
        (
            f"<controller type='scsi' model='lsilogic'>{PCI}</controller>",
            {"hw_scsi_model": "virtio-scsi"},
            "<controller type='scsi' model='virtio-scsi'/>",
        ),
        (
            "<rng model='virtio-transitional'><backend/></rng>",
            {"hw_rng_model": "virtio"},
            "<rng model='virtio'><backend/></rng>",
        ),
    ],
)
def test_models(devices: str, values: Mapping[str, str], expected: str) -> None:
    result = changed(guest(devices), **values)
    assert result == guest(expected)


def test_another_family_is_laid_out_anew() -> None:
    xml = guest(
        disk("virtio", "vda", PCI)
        + "<controller type='pci' model='pci-root'/><controller type='ide' index='0'/>"
        f"<controller type='usb' model='piix3-uhci'>{PCI}</controller>"
    )
    result = changed(xml, hw_machine_type="q35")
    assert result == guest(disk("virtio", "vda") + "<controller type='usb'/>", "q35")
    same = changed(xml, hw_machine_type="pc-i440fx-6.2")
    assert same == xml.replace("7.2", "6.2")


def test_nothing_to_do_leaves_the_text_alone() -> None:
    xml = guest(disk("virtio", "vda")) + "\n<!-- as it was -->"
    assert rewrite(xml, {"hw_disk_bus": "virtio"}, "guest") == (xml, ())
    values = {"hw_cdrom_bus": "sata", "hw_video_model": "vga", "hw_rescue_bus": "usb"}
    assert rewrite(xml, values, "guest") == (xml, tuple(sorted(values)))
