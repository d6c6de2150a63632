"""`image-property set` and `restore` on real stopped guests of every machine type."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import libvirt
import pytest

from capd import cli

ROOT = Path(__file__).parents[2]
MACHINES = (
    ("x86_64", "pc"),
    ("x86_64", "q35"),
    ("aarch64", "virt"),
    ("s390x", "s390-ccw-virtio"),
    ("ppc64", "pseries"),
    ("riscv64", "virt"),
)
BUSES = ("virtio", "scsi", "sata", "usb", "ide")
POSSIBLE = {
    ("x86_64", "pc"): {"virtio", "scsi", "sata", "usb", "ide"},
    ("x86_64", "q35"): {"virtio", "scsi", "sata", "usb"},
    ("aarch64", "virt"): {"virtio", "scsi", "sata", "usb"},
    ("s390x", "s390-ccw-virtio"): {"virtio", "scsi"},
    ("ppc64", "pseries"): {"virtio", "scsi", "sata", "usb"},
    ("riscv64", "virt"): {"virtio", "scsi", "sata", "usb"},
}
NOVA = (
    "<metadata><n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'>"
    "<n:image uuid='i'><n:properties><n:property name='hw_disk_bus'>sata</n:property>"
    "</n:properties></n:image></n:instance></metadata>"
)
#: kills itself before the nth step that changes anything outside the process, or reads it after
DYING = """
import os, sys
from capd import cli
from capd.hypervisor import Hypervisor
from capd.records.definitions import Definitions
from capd.records.recordstore import RecordStore
left = [int(sys.argv[1])]
def dying(function):
    def call(self, first, *arguments, **options):
        if function.__name__ != "call" or first.endswith(" definition") or "defining" in first:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), 9)
        return function(self, first, *arguments, **options)
    return call
for kind, names in (
    (Hypervisor, ("call",)),
    (Definitions, ("keep", "left", "drop")),
    (RecordStore, ("update",)),
):
    for name in names:
        setattr(kind, name, dying(getattr(kind, name)))
sys.exit(cli.main(sys.argv[2:]))
"""
#: with passwords: nothing may be lost on the way
WHOLE = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(libvirtd: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    path = tmp_path / "capd.conf"
    path.write_text(f"[DEFAULT]\nstate_dir = {tmp_path}/state\n{libvirtd.snippet}")

    def go(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(["--config-file", str(path), "image-property", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return go


@pytest.fixture
def connection(libvirtd: Any) -> Iterator[Any]:
    opened = libvirtd.connect()
    yield opened
    for domain in opened.listAllDomains(0):
        if domain.isActive():
            domain.destroy()
        domain.undefineFlags(
            libvirt.VIR_DOMAIN_UNDEFINE_NVRAM | libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
        )
    opened.close()


@pytest.fixture
def image(libvirtd: Any) -> Iterator[Path]:
    path = libvirtd.root / "set.raw"
    path.write_bytes(bytes(1 << 20))
    yield path
    path.unlink()


def guest(
    image: Path, arch: str = "x86_64", machine: str = "pc", devices: str = "", more: str = ""
) -> str:
    acpi = "<acpi/>" if arch == "x86_64" else ""
    return (
        f"<domain type='qemu'><name>changed</name>{more}<memory unit='MiB'>64</memory>"
        f"<vcpu>1</vcpu><os><type arch='{arch}' machine='{machine}'>hvm</type></os>"
        f"<features>{acpi}</features><devices><disk type='file' device='disk'>"
        f"<driver name='qemu' type='raw' queues='2'/><source file='{image}'/>"
        f"<target dev='vda' bus='virtio'/><serial>root</serial></disk>{devices}"
        "<memballoon model='none'/></devices></domain>"
    )


def started(domain: Any) -> str:
    """The live XML of the guest once it was started, paused, so that it runs on nobody's time."""
    domain.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
    xml = str(domain.XMLDesc(0))
    domain.destroy()
    return xml


def root_bus(xml: str) -> str:
    disk = next(text for text in re.findall(r"<disk .*?</disk>", xml, re.DOTALL) if "root" in text)
    found = re.search(r"<target dev='\w+' bus='(\w+)'", disk)
    assert found
    return found.group(1)


@pytest.mark.parametrize(("arch", "machine"), MACHINES)
def test_the_disk_bus_goes_round_and_comes_back(
    run: Run, connection: Any, image: Path, arch: str, machine: str
) -> None:
    domain = connection.defineXML(guest(image, arch, machine))
    for bus in BUSES:
        before = domain.XMLDesc(WHOLE)
        code, out, err = run("set", "--property", f"hw_disk_bus={bus}", "changed")
        if bus not in POSSIBLE[arch, machine]:
            assert code == 7
            assert f"hw_disk_bus={bus}" in err
            assert f"possible: {', '.join(sorted(POSSIBLE[arch, machine]))}" in err
            assert domain.XMLDesc(WHOLE) == before
            continue
        assert (code, out) == (0, f"changed: hw_disk_bus={bus}\n"), err
        assert root_bus(started(domain)) == bus
        code, out, _ = run("show", "changed", "hw_disk_bus")
        assert (code, out) == (0, f"{bus}\n")
        if bus != "virtio":
            code, out, _ = run("restore", "changed")
            assert code == 0
            assert out == "changed: the earlier definition is in force again\n"
            assert run("show", "changed", "hw_disk_bus")[1] == "virtio\n"
        assert domain.XMLDesc(WHOLE) == before
    # one after the other, and back the whole way
    steps = [bus for bus in BUSES if bus in POSSIBLE[arch, machine] and bus != "virtio"]
    definitions = []
    for bus in steps:
        definitions.append(domain.XMLDesc(WHOLE))
        assert run("set", "--property", f"hw_disk_bus={bus}", "changed")[0] == 0
        assert root_bus(started(domain)) == bus
    for definition in reversed(definitions):
        assert run("restore", "changed")[0] == 0
        assert domain.XMLDesc(WHOLE) == definition
    code, _, err = run("restore", "changed")
    assert code == 3
    assert "No earlier definition" in err


FULL = (
    "<disk type='file' device='cdrom'><target dev='hda' bus='ide'/><readonly/></disk>"
    "<interface type='user'><mac address='52:54:00:11:22:33'/><model type='virtio'/>"
    "<driver name='qemu' queues='1'/></interface>"
    "<video><model type='qxl' ram='65536' vram='32768' vgamem='16384' heads='1'/></video>"
    "<graphics type='vnc' passwd='secret'/><input type='tablet' bus='usb'/>"
    "<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>"
)


def test_all_properties_of_one_command(run: Run, connection: Any, image: Path) -> None:
    domain = connection.defineXML(guest(image, devices=FULL))
    before = domain.XMLDesc(WHOLE)
    code, _, err = run(
        "set",
        *("--property", "hw_disk_bus=scsi", "--property", "hw_scsi_model=lsiLogic"),
        *("--property", "hw_cdrom_bus=sata", "--property", "hw_vif_model=VirtualE1000"),
        *("--property", "hw_video_model=virtio", "--property", "hw_input_bus=virtio"),
        *("--property", "hw_pointer_model=usbtablet", "--property", "hw_rng_model=virtio"),
        *("--property", "hw_rescue_bus=usb", "--property", "trait:CUSTOM_X=a=b"),
        *("--property", "os_distro=debian"),
        "changed",
    )
    assert code == 0, err
    live = started(domain)
    assert root_bus(live) == "scsi"
    for part in (
        r"<controller type='scsi' index='0' model='lsilogic'>",
        r"<target dev='sda' bus='scsi'/>",
        r"<target dev='sdb' bus='sata'/>",
        r"<mac address='52:54:00:11:22:33'/>\s*<source[^/]*/>\s*<target[^/]*/>\s*"
        r"<model type='e1000'/>|<mac address='52:54:00:11:22:33'/>.*?<model type='e1000'/>",
        r"<model type='virtio' heads='1' primary='yes'/>",
        r"<input type='tablet' bus='virtio'>",
        r"<rng model='virtio'>",
    ):
        assert re.search(part, live, re.DOTALL), part
    assert "passwd='secret'" in domain.XMLDesc(WHOLE)
    code, out, _ = run("list", "--json", "changed")
    (document,) = json.loads(out)
    assert {name: found["value"] for name, found in document["properties"].items()} == {
        "hw_cdrom_bus": "sata",
        "hw_disk_bus": "scsi",
        "hw_input_bus": "virtio",
        "hw_pointer_model": "usbtablet",
        "hw_rescue_bus": "usb",
        "hw_rng_model": "virtio",
        "hw_scsi_model": "lsilogic",
        "hw_video_model": "virtio",
        "hw_vif_model": "e1000",
        "os_distro": "debian",
        "trait:CUSTOM_X": "a=b",
    }
    assert document["drift"] == []
    assert document["unsupported"] == []
    assert "secret" not in out + err
    assert run("restore", "changed")[0] == 0
    assert domain.XMLDesc(WHOLE) == before


def test_another_machine_type(run: Run, connection: Any, image: Path) -> None:
    domain = connection.defineXML(guest(image, devices=FULL))
    before = domain.XMLDesc(WHOLE)
    code, _, err = run("set", "--property", "hw_machine_type=q35", "changed")
    assert code == 7
    assert "hw_cdrom_bus=ide: q35 has no ide here; possible: sata, scsi, usb" in err
    assert domain.XMLDesc(WHOLE) == before
    both = ("--property", "hw_machine_type=q35", "--property", "hw_cdrom_bus=sata")
    code, _, err = run("set", *both, "changed")
    assert code == 0, err
    assert "machine='pc-q35-" in started(domain)
    assert run("show", "changed", "hw_machine_type")[1] == "q35\n"
    assert json.loads(run("list", "--json", "changed")[1])[0]["drift"] == []
    assert run("restore", "changed")[0] == 0
    assert domain.XMLDesc(WHOLE) == before
    code, _, err = run("set", "--property", "hw_machine_type=pc-q35-99.9", "changed")
    assert code == 7
    assert "no such machine type" in err


def test_the_root_disk_stays_the_one_to_start_from(run: Run, connection: Any, image: Path) -> None:
    other = image.with_suffix(".data")
    other.write_bytes(bytes(1 << 20))
    data = (
        "<disk type='file' device='disk'><driver name='qemu' type='raw'/>"
        f"<source file='{other}'/><target dev='{{}}' bus='{{}}'/><serial>data</serial></disk>"
    )
    devices = data.format("sda", "scsi") + data.format("vdb", "virtio")
    domain = connection.defineXML(guest(image, devices=devices))
    assert run("set", "--property", "hw_disk_bus=scsi", "changed")[0] == 0
    xml = domain.XMLDesc(WHOLE)
    targets = dict(re.findall(r"<target dev='(\w+)' bus='scsi'/>\s*<serial>(\w+)</serial>", xml))
    assert targets == {"sda": "data", "sdb": "root", "sdc": "data"}
    assert "<boot dev=" not in xml
    assert re.search(r"<serial>root</serial>\s*<boot order='1'/>", xml)
    document = json.loads(run("list", "--json", "changed")[1])[0]
    assert document["properties"]["hw_disk_bus"]["value"] == "scsi"
    other.unlink()


def test_a_refusal_by_libvirt_changes_nothing(run: Run, connection: Any, image: Path) -> None:
    domain = connection.defineXML(guest(image, machine="q35"))
    before = domain.XMLDesc(WHOLE)
    two = ("--property", "hw_disk_bus=ide", "--property", "hw_video_model=vga")
    code, out, err = run("set", "--force", *two, "changed")
    assert (code, out) == (7, "")
    assert "IDE controllers are unsupported" in err
    assert domain.XMLDesc(WHOLE) == before
    assert run("restore", "changed")[0] == 3
    code, _, err = run("show", "changed", "hw_rescue_bus")
    assert code == 3
    assert "Image property hw_rescue_bus not found for instance" in err


def test_only_a_stopped_instance_is_changed(run: Run, connection: Any, image: Path) -> None:
    domain = connection.defineXML(guest(image))
    domain.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
    # the state comes before format, name and value
    code, _, err = run("set", "--property", "nonsense", "changed")
    assert code == 3
    assert "changed is running" in err
    assert run("restore", "changed")[0] == 3
    domain.managedSave()
    code, _, err = run("set", "--property", "hw_disk_bus=scsi", "changed")
    assert code == 3
    assert "saved memory" in err
    domain.managedSaveRemove()
    assert run("set", "--property", "hw_disk_bus=scsi", "changed")[0] == 0
    assert run("set", "--property", "hw_disk_bus=scsi", "absent")[0] == 2


def test_b57_an_impossible_bus_is_refused_with_those_that_are_possible(
    run: Run, connection: Any, image: Path
) -> None:
    domain = connection.defineXML(guest(image, machine="q35", more=NOVA))
    code, _, err = run("set", "--property", "hw_cdrom_bus=ide", domain.UUIDString())
    assert code == 7
    assert "possible: sata, scsi, usb" in err
    code, _, err = run("set", "--property", "hw_cdrom_bus=virtio", "changed")
    assert code == 7
    code, out, err = run("set", "--force", "--property", "hw_cdrom_bus=ide", "changed")
    assert (code, out) == (0, "changed: hw_cdrom_bus=ide\n")
    assert "forced: hw_cdrom_bus=ide" in err
    code, out, err = run("list", "--unsupported")
    assert code == 7
    assert "hw_cdrom_bus=ide: pc-q35-" in out


def test_b50_for_novas_instances_only_the_record_changes_and_is_said_to(
    run: Run, connection: Any, image: Path
) -> None:
    domain = connection.defineXML(guest(image, more=NOVA))
    before = domain.XMLDesc(WHOLE)
    code, out, err = run("set", "--property", "hw_disk_bus=scsi", "changed")
    assert (code, out) == (0, "changed: hw_disk_bus=scsi\n")
    assert "only the record has been changed" in err
    assert (
        "capd --config-file /etc/nova/nova.conf image-property set --property hw_disk_bus=scsi "
        f"{domain.UUIDString()}" in err
    )
    assert domain.XMLDesc(WHOLE) == before
    code, out, err = run("show", "changed", "hw_disk_bus")
    assert (code, out) == (0, "scsi\n")
    assert "conflict: hw_disk_bus: record scsi, domain virtio, image sata" in err
    code, out, err = run("show", "--json", "changed", "hw_disk_bus")
    assert json.loads(out) == {
        "uuid": domain.UUIDString(),
        "property": "hw_disk_bus",
        "value": "scsi",
        "source": "set",
        "domain": "virtio",
        "image": "sata",
        "conflict": True,
    }
    code, out, _ = run("list", "--drift")
    assert code == 3
    assert "hw_disk_bus: recorded scsi, now virtio" in out
    assert run("restore", "changed")[0] == 3


@pytest.mark.parametrize(
    ("assignment", "code", "words"),
    [
        ("hw_disk_bus", 4, "--property should use the format key=value"),
        ("min_ram=64", 5, "Invalid image property name min_ram."),
        ("hw_disk_bus=floppy", 6, "Field value floppy is invalid"),
        ("hw_disk_bus=", 6, "Field value is invalid"),
        ("hw_disk_bus=a=b", 6, "Field value a=b is invalid"),
        ("trait:CUSTOM_X=required", 0, ""),
        ("os_command_line=root=/dev/vda", 0, ""),
    ],
)
def test_b56_details_of_the_command_line(
    run: Run, connection: Any, image: Path, assignment: str, code: int, words: str
) -> None:
    connection.defineXML(guest(image))
    found, _, err = run("set", "--property", assignment, "changed")
    assert found == code
    assert words in err
    assert "Traceback" not in err


def test_what_the_domain_has_no_device_for_is_said(run: Run, connection: Any, image: Path) -> None:
    domain = connection.defineXML(guest(image))
    before = domain.XMLDesc(WHOLE)
    code, out, _ = run("set", "--property", "hw_cdrom_bus=sata", "changed")
    assert code == 0
    assert "hw_cdrom_bus is recorded only" in out
    assert domain.XMLDesc(WHOLE) == before
    code, _, err = run("set", "changed")
    assert code == 2
    assert "no property to set" in err


def test_restore_spares_what_was_changed_by_hand(run: Run, connection: Any, image: Path) -> None:
    domain = connection.defineXML(guest(image))
    before = domain.XMLDesc(WHOLE)
    assert run("set", "--property", "hw_disk_bus=scsi", "changed")[0] == 0
    by_hand = domain.XMLDesc(WHOLE).replace("<vcpu placement='static'>1<", "<vcpu>3<")
    assert "<vcpu>3<" in by_hand
    by_hand = connection.defineXML(by_hand).XMLDesc(WHOLE)
    code, out, err = run("restore", "changed")
    assert (code, out) == (3, "")
    assert err == (
        "capd: The definition of changed was changed after the set that would be taken back. "
        "(--force takes it back with that change, which is kept for another restore)\n"
    )
    assert domain.XMLDesc(WHOLE) == by_hand
    assert run("restore", "--force", "changed")[0] == 0
    assert domain.XMLDesc(WHOLE) == before
    assert run("restore", "changed")[0] == 0
    assert domain.XMLDesc(WHOLE) == by_hand
    assert run("restore", "changed")[0] == 3


def test_restore_takes_back_everything_that_one_set_gave(
    run: Run, connection: Any, image: Path
) -> None:
    connection.defineXML(guest(image))
    both = ("--property", "hw_disk_bus=scsi", "--property", "hw_scsi_model=virtio-scsi")
    assert run("set", *both, "changed")[0] == 0
    assert run("show", "changed", "hw_scsi_model")[1] == "virtio-scsi\n"
    assert run("restore", "changed")[0] == 0
    assert run("show", "changed", "hw_disk_bus")[1] == "virtio\n"
    assert run("show", "changed", "hw_scsi_model")[0] == 3


def test_an_instance_that_left_may_be_set(run: Run, connection: Any, image: Path) -> None:
    domain = connection.defineXML(guest(image, more=NOVA))
    uuid = domain.UUIDString()
    assert run("set", "--property", "hw_disk_bus=scsi", uuid)[0] == 0
    domain.undefine()
    code, _, err = run("set", "--property", "hw_disk_bus=usb", uuid)
    assert code == 0
    assert "is not on this host: only its record has been changed" in err
    assert run("show", uuid, "hw_disk_bus")[1] == "usb\n"
    lines = run("export")[1].splitlines()
    assert len(lines) == 1
    exported = json.loads(lines[0])
    assert exported["schema"] == 1
    assert exported["uuid"] == uuid
    assert exported["properties"]["hw_disk_bus"] == {"value": "usb", "source": "set"}
    assert exported["host"] == connection.getHostname()


def test_killed_at_each_step_of_a_set_nothing_is_lost(
    run: Run, connection: Any, image: Path, tmp_path: Path
) -> None:
    domain = connection.defineXML(guest(image))
    old = domain.XMLDesc(WHOLE)
    config = ["--config-file", str(tmp_path / "capd.conf"), "image-property"]
    setting = [*config, "set", "--property", "hw_disk_bus=scsi", "changed"]
    replaced = 0
    for step in range(1, 60):
        command = [sys.executable, "-c", DYING, str(step), *setting]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        code = done.returncode
        assert code in (0, -9), done.stderr
        now = domain.XMLDesc(WHOLE)
        if now != old:
            # the old definition was kept before it was replaced
            replaced += 1
            assert root_bus(now) == "scsi"
            assert run("restore", "changed")[0] == 0
            assert domain.XMLDesc(WHOLE) == old
        shown = run("show", "changed", "hw_disk_bus")
        assert shown[0] == 0
        if code == 0:
            assert replaced >= 3
            assert step > 6
            return
        # what was kept and never replaced is the definition that is in force
        while run("restore", "changed")[0] == 0:
            assert domain.XMLDesc(WHOLE) == old
    raise AssertionError("never came to the end")
