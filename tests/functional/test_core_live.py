"""Discovery on real libvirt and real QEMU, against second opinions that share no code with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import libvirt
import pytest

from capd import config
from capd.discover import discover
from capd.hypervisor import Hypervisor
from capd.live import LiveWitness
from tests.oracle import brute
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement
from tests.rig.proxy import Proxy

ROOT = Path(__file__).parents[2]


def capd(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "capd", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=timeout,
    )


def configuration(directory: Path, *snippets: str) -> str:
    path = directory / "capd.conf"
    path.write_text("\n".join([f"[DEFAULT]\nstate_dir = {directory / 'state'}", *snippets]))
    return str(path)


@pytest.fixture(scope="module")
def dump(libvirtd: Libvirtd, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("dump")
    done = capd("--config-file", configuration(directory, libvirtd.snippet), "--dump", "--json")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_row_agrees_with_brute_force(libvirtd: Libvirtd, dump: dict[str, Any]) -> None:
    reference = brute.everything(libvirtd.uri)
    rows = {f"{row['arch']} {row['virt_type']} {row['machine']}": row for row in dump["machines"]}
    assert rows.keys() == reference.keys()
    assert len(rows) > 500
    differing = []
    for key, row in rows.items():
        wanted = reference[key]
        assert (row["error"] is None) == (wanted["error"] is None), key
        if row["error"] is not None:
            continue
        for category in ("disk_bus", "video_model", "rng_model", "filesystem_driver"):
            if row[category] != wanted[category]:
                differing.append((key, category, row[category], wanted[category]))
        emulated = "emulator" in (wanted["tpm_backends"] or [])
        expected_tpm = wanted["tpm_raw"] if emulated else []
        if wanted["tpm_raw"] is not None and row["tpm_model"] != expected_tpm:
            differing.append((key, "tpm_model", row["tpm_model"], expected_tpm))
        if ("uefi" in (row["firmware_type"] or [])) != ("efi" in (wanted["firmware_raw"] or [])):
            differing.append((key, "firmware", row["firmware_type"], wanted["firmware_raw"]))
        if ("required" in (row["secure_boot"] or [])) != ("yes" in (wanted["secure"] or [])):
            differing.append((key, "secure", row["secure_boot"], wanted["secure"]))
        for category, value, device in (
            ("vif_model", "e1000", "e1000"),
            ("vif_model", "spapr-vlan", "spapr-vlan"),
            ("sound_model", "ac97", "AC97"),
            ("input_bus", "usb", "usb-tablet"),
            ("usb_model", "qemu-xhci", "qemu-xhci"),
        ):
            if (value in row[category]) != (device in wanted["devices"]):
                differing.append((key, category, row[category], device))
    print(f"compared {len(rows)} rows, {len(differing)} differ")
    assert differing == []


DISK = """<disk type='file' device='{device}'><driver name='qemu' type='raw'/>
<source file='/nowhere'/><target dev='{target}' bus='{bus}'/>{readonly}</disk>"""
GUEST = """<domain type='{virt}'><name>probe</name><memory unit='MiB'>32</memory>
<vcpu>1</vcpu><os><type arch='{arch}' machine='{machine}'>hvm</type></os>
<features><acpi/></features><devices><emulator>{emulator}</emulator>
<controller type='usb' index='0' model='{usb}'/>{device}<memballoon model='none'/>
</devices></domain>"""
TARGETS = {"ide": "hda", "sata": "sda", "scsi": "sda", "usb": "sda", "virtio": "vda", "fdc": "fda"}


def accepts(
    connection: libvirt.virConnect, row: dict[str, Any], emulator: str, device: str, usb: str
) -> bool:
    """Whether a guest with `device` can really be defined; it is removed again."""
    xml = GUEST.format(
        virt=row["virt_type"], arch=row["arch"], machine=row["machine"], emulator=emulator,
        usb=usb, device=device,
    )  # fmt: skip
    try:
        connection.defineXML(xml).undefine()
    except libvirt.libvirtError:
        return False
    return True


def test_b33_traits_of_families_equal_what_can_be_defined(
    libvirtd: Libvirtd, dump: dict[str, Any]
) -> None:
    connection = libvirtd.connect()
    emulator = next(one["path"] for one in dump["emulators"] if one["arch"] == "x86_64")
    yes = {trait["name"] for trait in dump["traits"] if trait["support"] == "yes"}
    compared: list[tuple[str, str, bool]] = []
    for machine in ("pc", "q35", "isapc", "microvm"):
        row = next(
            entry
            for entry in dump["machines"]
            if entry["machine"] == machine
            and entry["arch"] == "x86_64"
            and entry["virt_type"] == dump["host"]["virt_type"]
        )
        for bus in ("ide", "sata", "scsi", "usb", "virtio", "fdc"):
            device = DISK.format(
                device="floppy" if bus == "fdc" else "disk", bus=bus, target=TARGETS[bus],
                readonly="",
            )  # fmt: skip
            real = accepts(
                connection, row, emulator, device, "qemu-xhci" if bus == "usb" else "none"
            )
            trait = f"CUSTOM_CAPD_{machine.upper()}_STORAGE_BUS_{bus.upper()}"
            compared.append((trait, bus, real))
            assert (trait in yes) == real, (trait, real)
        for model in ("vga", "cirrus", "qxl", "virtio", "bochs", "vmvga", "none"):
            device = f"<video><model type='{model}'/></video>"
            real = accepts(connection, row, emulator, device, "none")
            trait = f"CUSTOM_CAPD_{machine.upper()}_GRAPHICS_MODEL_{model.upper()}"
            compared.append((trait, model, real))
            assert (trait in yes) == real, (trait, real)
    print(f"{len(compared)} pairs, {sum(real for *_, real in compared)} can be defined")
    assert len(compared) == 52
    refused = {(entry["machine"], entry["category"], entry["value"]) for entry in dump["refused"]}
    for machine in ("isapc", "microvm"):
        for value in ("sata", "usb", "scsi", "virtio"):
            assert (machine, "disk_bus", value) in refused
        assert (machine, "video_model", "qxl") in refused
    assert not connection.listAllDomains()


def test_b34_a_cdrom_on_virtio_is_none_though_a_disk_is(
    libvirtd: Libvirtd, dump: dict[str, Any]
) -> None:
    connection = libvirtd.connect()
    emulator = next(one["path"] for one in dump["emulators"] if one["arch"] == "x86_64")
    for machine in ("pc", "q35"):
        row = next(
            entry
            for entry in dump["machines"]
            if (entry["machine"], entry["arch"]) == (machine, "x86_64")
        )
        for bus in ("ide", "sata", "scsi", "usb", "virtio"):
            device = DISK.format(
                device="cdrom", bus=bus, target=TARGETS[bus], readonly="<readonly/>"
            )
            real = accepts(
                connection, row, emulator, device, "qemu-xhci" if bus == "usb" else "none"
            )
            assert (bus in row["cdrom_bus"]) == real, (machine, bus)


def test_once_brings_the_traits_into_placement_and_dump_writes_nothing(
    libvirtd_x86: Libvirtd, placement: Placement, tmp_path: Path
) -> None:
    name = libvirtd_x86.connect().getHostname()
    existing = {title: uuid for uuid, title in placement.client.providers().items()}
    uuid = existing.get(name) or placement.client.create_provider(name)
    placement.client.create_trait("CUSTOM_GOLD")
    placement.client.set_traits(uuid, {"CUSTOM_GOLD", "COMPUTE_NODE"})
    conf = configuration(tmp_path, libvirtd_x86.snippet, placement.snippet)
    generation = placement.client.generation(uuid)

    done = capd("--config-file", conf, "--dump", "--json")
    planned = json.loads(done.stdout)["placement"]
    assert done.returncode == 0, done.stderr
    assert placement.client.generation(uuid) == generation
    assert not (tmp_path / "state").exists()
    assert planned["provider"] == uuid
    assert "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA" in planned["add"]
    assert planned["remove"] == []

    done = capd("--config-file", conf, "--once")
    assert done.returncode == 0
    assert done.stderr in ("", "capd: reporting to Placement ...\n")
    traits = placement.client.traits(uuid)
    assert traits == {"CUSTOM_GOLD", "COMPUTE_NODE", *planned["add"]}
    assert {
        "COMPUTE_STORAGE_BUS_IDE", "CUSTOM_CAPD_PC_STORAGE_BUS_IDE",
        "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE", "CUSTOM_CAPD_MACHINE_Q35", "HW_ARCH_X86_64",
        "COMPUTE_NET_VIF_MODEL_E1000", "CUSTOM_CAPD_INPUT_BUS_USB",
    } <= traits  # fmt: skip
    assert not {
        "CUSTOM_CAPD_Q35_STORAGE_BUS_IDE", "CUSTOM_CAPD_ISAPC_STORAGE_BUS_SATA",
        "CUSTOM_CAPD_MICROVM_GRAPHICS_MODEL_QXL", "CUSTOM_CAPD_ISAPC_NET_VIF_MODEL_E1000",
        "COMPUTE_NET_VIF_MODEL_SPAPR_VLAN",
    } & traits  # fmt: skip

    generation = placement.client.generation(uuid)
    done = capd("--config-file", conf, "--once")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "nothing to change"
    assert placement.client.generation(uuid) == generation

    shown = json.loads(capd("--config-file", conf, "--dump", "--json").stdout)
    owners = {trait["name"]: trait["owner"] for trait in shown["traits"]}
    assert owners["COMPUTE_STORAGE_BUS_IDE"] == "capd"
    assert shown["placement"]["add"] == []


def test_a_recording_says_the_same_as_the_host(libvirtd_x86: Libvirtd, tmp_path: Path) -> None:
    conf = configuration(tmp_path, libvirtd_x86.snippet)
    recording = tmp_path / "recording"
    live = capd("--config-file", conf, "--dump", "--json", "--record", str(recording))
    again = capd("--config-file", conf, "--dump", "--json", "--from", str(recording))
    assert (live.returncode, again.returncode) == (0, 0), live.stderr + again.stderr
    first, second = json.loads(live.stdout), json.loads(again.stdout)
    assert len(first["machines"]) > 100
    for key in ("machines", "traits", "refused", "problems"):
        assert first[key] == second[key], key
    assert second["host"]["hostname"] == first["host"]["hostname"]
    assert second["cost"]["libvirt_calls"] == 0
    refused = capd("--config-file", conf, "--dump", "--record", str(recording))
    assert refused.returncode == 1
    assert "is not empty (name a new directory for the recording)" in refused.stderr


def test_dump_for_a_person_is_plain_in_a_pipe_and_names_everything(
    libvirtd_x86: Libvirtd, tmp_path: Path
) -> None:
    done = capd("--config-file", configuration(tmp_path, libvirtd_x86.snippet), "--dump")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    for words in (
        "Machine families of x86_64 under",
        "pc: ", "q35: ", "isapc: ",
        "  disk bus\n", "  vif model\n",
        "yes COMPUTE_STORAGE_BUS_IDE",
        "not configured: no auth_type in [placement], so there is no plan",
    ):  # fmt: skip
        assert words in done.stdout
    ide = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["ide"])
    assert ide.split()[1:3] == ["yes", "-"]


def test_a_sweep_out_of_time_keeps_what_it_has_and_the_connection(
    libvirtd_x86: Libvirtd, tmp_path: Path
) -> None:
    """B28: no call is abandoned for it, so the connection stays good for the next look."""
    with Proxy(tmp_path / "slow", libvirtd_x86.socket, delay=0.1) as proxy:
        uri = f"qemu:///system?socket={proxy.path}"
        conf = configuration(
            tmp_path, f"[libvirt]\nconnection_uri = {uri}\nsweep_timeout = 3\ntrials = false\n"
        )
        settings = config.load([Path(conf)])
        hypervisor = Hypervisor(settings.libvirt)
        hypervisor.open()
        try:
            found = discover(settings, LiveWitness(hypervisor, settings.libvirt))
            answered = [row for row in found.machines if row.error is None]
            assert 5 < len(answered) < 60
            missing = len(found.machines) - len(answered)
            assert found.problems == (
                f"{missing} machine types not asked: {uri}: the sweep took longer than 3 s",
            )
            assert {row.error for row in found.machines if row.error is not None} == {
                f"not asked: {uri}: the sweep took longer than 3 s"
            }
            assert (hypervisor.stuck, hypervisor.alive()) == (0, True)
        finally:
            hypervisor.close()
