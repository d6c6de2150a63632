"""Domain XML to properties: Nova's guests, every kind of device, and hostile documents."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any, Optional

import pytest

from capd.errors import DocumentError
from capd.properties import CAPTURED
from capd.records import reading
from capd.records.reading import Domain, Observed

GUESTS = Path(__file__).parents[2] / "fixtures" / "guests"
NAMES = sorted(path.stem for path in GUESTS.glob("*.json"))


def _guest(name: str) -> Any:
    return json.loads((GUESTS / f"{name}.json").read_text())


def _documents() -> list[tuple[str, str]]:
    return [
        (name, suffix)
        for name in NAMES
        for suffix in ("xml", "libvirt.xml")
        if (GUESTS / f"{name}.{suffix}").exists()
    ]


def domain(devices: str = "", machine: str = "pc-q35-7.2", more: str = "") -> Domain:
    return reading.read(
        f"<domain type='kvm'><name>g</name><uuid>U</uuid>{more}<os><type arch='x86_64' "
        f"machine='{machine}'>hvm</type></os><devices>{devices}</devices></domain>",
        "test",
    )


def values(found: Domain) -> dict[str, str]:
    return {name: seen.value for name, seen in found.properties.items()}


def disk(bus: str, target: str = "sda", device: str = "disk", order: Optional[int] = None) -> str:
    boot = f"<boot order='{order}'/>" if order else ""
    return f"<disk device='{device}'><target dev='{target}' bus='{bus}'/>{boot}</disk>"


def test_there_are_78_guests() -> None:
    assert len(NAMES) == 78
    assert len(_documents()) == 145


@pytest.mark.parametrize(("name", "suffix"), _documents())
def test_guests_are_read_as_their_devices_stand(name: str, suffix: str) -> None:
    expected = _guest(name)
    devices = expected["devices"] if suffix == "xml" else expected["libvirt"]["devices"]
    found = reading.read((GUESTS / f"{name}.{suffix}").read_text(), name)
    for prop in CAPTURED:
        # implicit PS/2 devices do not count
        wanted = list(dict.fromkeys(value for value in devices[prop] if value != "ps2"))
        seen = found.properties.get(prop)
        assert ([seen.value, *seen.others] if seen else []) == wanted, prop
    assert found.uuid == expected["uuid"]
    assert found.arch == devices["arch"]
    assert found.virt_type == devices["domain_type"]
    assert found.headless == (devices["graphics"] == [])
    assert found.managed_by == "nova"
    assert (found.image is None) == expected["volume_backed"]


@pytest.mark.parametrize("name", NAMES)
def test_guests_agree_with_nova_where_its_json_says_so(name: str) -> None:
    expected = _guest(name)
    found = reading.read((GUESTS / f"{name}.xml").read_text(), name)
    for prop in expected["agree"]:
        assert found.properties[prop].value == expected["system_metadata"][prop], prop
    for prop in expected["both_absent"]:
        assert prop not in found.properties


def test_metadata_tells_what_the_image_set() -> None:
    for name in NAMES:
        expected = _guest(name)
        found = reading.read((GUESTS / f"{name}.xml").read_text(), name)
        assert found.nova is not None
        assert found.nova.image_properties is not None
        assert found.nova.version == "34.0.0"
        given = dict(found.nova.image_properties)
        if not expected["rescued"]:
            assert given == expected["image_properties"], name
            continue
        # after a reboot Nova writes what it registered, too
        assert expected["system_metadata"].items() <= given.items(), name


def test_a_rescue_is_recognised_and_its_disk_comes_last() -> None:
    stable = reading.read((GUESTS / "rescue-stable-disk-usb.xml").read_text(), "stable")
    assert stable.rescued
    assert stable.properties["hw_disk_bus"] == Observed("sata", ("usb",))
    plain = (GUESTS / "disk-scsi.xml").read_text()
    assert not reading.read(plain, "plain").rescued
    by_name = plain.replace('file="/nonexistent"', 'file="/v/instances/u/disk.rescue"', 1)
    assert reading.read(by_name, "rescued").rescued
    on_rbd = plain.replace('file="/nonexistent"', 'name="vms/u_disk.rescue"', 1)
    assert reading.read(on_rbd, "rescued").rescued
    kernel = plain.replace("<smbios", "<kernel>/v/u/kernel.rescue</kernel><smbios", 1)
    assert reading.read(kernel, "rescued").rescued


def test_the_root_disk_decides_and_other_buses_stand_beside_it() -> None:
    first = domain(disk("scsi", "sda") + disk("virtio", "vda"))
    assert first.properties["hw_disk_bus"] == Observed("scsi", ("virtio",))
    ordered = domain(disk("scsi", "sda", order=3) + disk("virtio", "vda", order=2))
    assert ordered.properties["hw_disk_bus"] == Observed("virtio", ("scsi",))
    lun = domain(disk("scsi", "sdb", "lun") + disk("ide", "hda", "cdrom"))
    assert values(lun) == {
        "hw_machine_type": "pc-q35-7.2",
        "hw_disk_bus": "scsi",
        "hw_cdrom_bus": "ide",
    }


def test_device_names_decide_nothing() -> None:
    found = domain(
        disk("sata", "vda") + disk("usb", "fda", "cdrom") + disk("fdc", "sdx", "floppy")
    )
    assert values(found) == {
        "hw_machine_type": "pc-q35-7.2",
        "hw_disk_bus": "sata",
        "hw_cdrom_bus": "usb",
        "hw_floppy_bus": "fdc",
    }
    assert "hw_disk_bus" not in domain("<disk><target dev='vda'/></disk>").properties


@pytest.mark.parametrize(
    ("inputs", "bus", "pointer"),
    [
        # x86: a tablet and what the board has
        (["tablet/usb", "mouse/ps2", "keyboard/ps2"], "usb", "usbtablet"),
        # aarch64
        (["tablet/usb", "keyboard/usb"], "usb", "usbtablet"),
        # s390x
        ([], None, None),
        (["tablet/virtio", "keyboard/virtio"], "virtio", "usbtablet"),
        (["mouse/ps2", "keyboard/ps2"], None, None),
        (["mouse/xen", "keyboard/xen"], None, None),
        (["keyboard/usb", "mouse/usb"], "usb", None),
        (["keyboard/usb", "tablet/virtio"], "virtio", "usbtablet"),
        (["passthrough/virtio"], None, None),
    ],
)
def test_b58_pointers_are_what_the_guest_has(
    inputs: list[str], bus: Optional[str], pointer: Optional[str]
) -> None:
    pairs = (entry.split("/") for entry in inputs)
    found = values(domain("".join(f"<input type='{kind}' bus='{on}'/>" for kind, on in pairs)))
    assert found.get("hw_input_bus") == bus
    assert found.get("hw_pointer_model") == pointer


def test_none_is_a_value_and_absence_is_not() -> None:
    assert values(domain("<video><model type='none'/></video>"))["hw_video_model"] == "none"
    assert "hw_video_model" not in values(domain("<video/>"))
    assert "hw_video_model" not in values(domain())


def test_the_primary_video_decides() -> None:
    two = "<video><model type='qxl'/></video><video><model type='vga' primary='yes'/></video>"
    assert domain(two).properties["hw_video_model"] == Observed("vga", ("qxl",))


def test_a_passed_through_nic_has_no_model() -> None:
    hostdev = "<interface type='hostdev'><model type='e1000'/></interface>"
    assert "hw_vif_model" not in values(domain(hostdev))
    both = hostdev + "<interface type='bridge'><model type='igb'/></interface>"
    assert values(domain(both))["hw_vif_model"] == "igb"
    none = "<interface type='bridge'><source bridge='b'/></interface>"
    assert "hw_vif_model" not in values(domain(none))


def test_what_nova_has_no_value_for_is_kept_and_said_so() -> None:
    found = domain(
        disk("nvme", "nvme0n1")
        + "<video><model type='ramfb'/></video>"
        + "<interface><model type='virtio-transitional'/></interface>"
    )
    assert found.properties["hw_disk_bus"] == Observed("nvme", (), known=False)
    assert found.properties["hw_video_model"] == Observed("ramfb", (), known=False)
    assert found.properties["hw_vif_model"] == Observed("virtio-transitional", (), known=False)
    assert found.properties["hw_machine_type"].known


def test_b31_a_redirected_device_is_no_disk() -> None:
    assert values(domain("<redirdev bus='usb' type='spicevmc'/>")) == {
        "hw_machine_type": "pc-q35-7.2"
    }


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_metadata_of_every_version(version: str) -> None:
    def nova(body: str) -> Domain:
        space = f"http://openstack.org/xmlns/libvirt/nova/{version}"
        return domain(
            more=f"<metadata><o:x xmlns:o='urn:o'/><n:instance xmlns:n='{space}'>{body}"
            "</n:instance></metadata>"
        )

    old = nova("<n:package version='2014.2'/><n:root type='image' uuid='I'/><n:flavor name='F'/>")
    assert old.managed_by == "nova"
    assert old.nova is not None
    assert (old.nova.version, old.nova.image) == ("2014.2", "I")
    assert old.nova.image_properties is None
    empty = nova("<n:image uuid=''><n:properties/></n:image><n:root type='volume' uuid='V'/>")
    assert empty.nova is not None
    assert (empty.image, empty.nova.image_properties) == (None, {})
    full = nova(
        "<n:image uuid='I2'><n:properties><n:property name='hw_disk_bus'>scsi</n:property>"
        "<n:property name='min_ram'>64</n:property><n:property>x</n:property></n:properties>"
        "</n:image>"
    )
    assert full.nova is not None
    assert full.nova.image_properties == {"hw_disk_bus": "scsi", "min_ram": "64"}
    assert nova("").managed_by == "nova"


def test_b54_a_guest_without_any_metadata_is_libvirts_own() -> None:
    assert domain().managed_by == "libvirt"
    assert domain().image is None
    foreign = "<metadata><instance xmlns='urn:other'/></metadata>"
    assert domain(more=foreign).managed_by == "libvirt"


def test_a_guest_of_nova_that_lost_its_metadata_is_still_novas() -> None:
    sysinfo = (
        "<sysinfo type='smbios'><system><entry name='product'>OpenStack Nova</entry></system>"
        "</sysinfo>"
    )
    assert domain(more=sysinfo).managed_by == "nova"


@pytest.mark.parametrize(
    "around",
    [
        "<domstatus state='running' reason='booted' pid='1'><monitor path='x'/>{}</domstatus>",
        "<domainsnapshot><name>s</name>{}</domainsnapshot>",
        "<!-- WARNING: THIS IS AN AUTO-GENERATED FILE. --><!-- b -->{}",
        "<?xml version='1.0' encoding='UTF-8'?>{}",
    ],
)
def test_a_domain_inside_another_document(around: str) -> None:
    body = "<domain type='qemu'><name>n</name><!-- c --><devices><!-- d -->{}</devices></domain>"
    found = reading.read(around.format(body.format(disk("ide"))), "file")
    assert (found.name, found.uuid, found.arch, found.machine) == ("n", "", "", None)
    assert values(found) == {"hw_disk_bus": "ide"}


BOMB = (
    "<!DOCTYPE d [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>"
    "<domain><name>&b;</name></domain>"
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not xml",
        "<domain>",
        "<domain/><domain/>",
        "<network/>",
        "\0<domain/>",
        BOMB,
        "<!DOCTYPE d SYSTEM 'file:///etc/passwd'><domain/>",
        "<a>" * 100000,
        "<domain>\ud800</domain>",
    ],
)
def test_hostile_documents_are_refused_by_name(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        reading.read(text, "evil.xml")
    assert caught.value.culprit == "evil.xml"
    assert "evil.xml" in caught.value.line()


@pytest.mark.parametrize(
    "body",
    [
        "<devices/>",
        "<os/><devices><disk/><interface/><input/><video/><controller/><rng/></devices>",
        "<os><type/></os><devices><disk><target/><boot/></disk></devices>",
        "<devices><disk><target bus=''/><boot order='-1'/></disk></devices>",
        f"<devices><disk><boot order='{'9' * 5000}'/></disk></devices>",
        "<devices><disk><boot order='\u0663'/></disk></devices>",
        "<name/><uuid/><metadata/><sysinfo/>",
        "<metadata><instance xmlns='http://openstack.org/xmlns/libvirt/nova/1.1'><image/>"
        "<flavor/><root/><package/></instance></metadata>",
    ],
)
def test_missing_parts_are_no_error(body: str) -> None:
    assert values(reading.read(f"<domain>{body}</domain>", "bare")) == {}


def test_mangled_documents_are_read_or_refused() -> None:
    random_ = random.Random(3)
    texts = [(GUESTS / f"{name}.xml").read_text() for name in NAMES]
    outcomes: Counter[str] = Counter()
    for _ in range(1500):
        text = random_.choice(texts)
        begin = random_.randrange(len(text))
        end = min(len(text), begin + random_.randrange(1, 200))
        if random_.random() < 0.5:
            mangled = text[:begin] + text[end:]
        else:
            # a whole line doubled keeps most documents well-formed
            line = random_.choice(text.splitlines())
            mangled = text.replace(line, line + line, 1)
        try:
            reading.read(mangled, "mangled")
            outcomes["read"] += 1
        except DocumentError:
            outcomes["refused"] += 1
    assert outcomes["read"] > 200
    assert outcomes["refused"] > 200
