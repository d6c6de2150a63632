"""Three hosts report to a real Placement; `capd match` says of 300 images what is true of them.

Two hosts are recorded (Debian 12 and 13): their own documents are the truth. One is live: there
libvirt defines a whole guest for each image and, for the models that it passes on to QEMU without
a look, QEMU starts with them. Both ways: a host is found if and only if it can take the image.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import pytest

from capd.config import load
from capd.match import translate
from capd.match.hosts import find
from capd.placement import Placement as Client
from tests.functional.match_documents import Documents
from tests.functional.match_guest import accepted, domain_xml, starts
from tests.rig.base import Unavailable
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement

REPOSITORY = Path(__file__).resolve().parents[2]
CAPTURES = REPOSITORY / "fixtures" / "captures"
IMAGES = 300
SEED = 20260730

Properties = dict[str, str]

#: (usual values, all values) of what an image may ask for
CHOICES: dict[str, tuple[str, str]] = {
    "hw_disk_bus": ("virtio scsi sata usb", "ide fdc sd nvme xen lxc"),
    "hw_cdrom_bus": ("sata scsi usb", "ide virtio fdc"),
    "hw_floppy_bus": ("fdc", "ide usb"),
    "hw_video_model": ("virtio vga qxl cirrus bochs", "none vmvga xen gop ramfb vbox"),
    "hw_vif_model": (
        "virtio e1000 e1000e rtl8139 vmxnet3",
        "ne2k_pci pcnet igb tulip spapr-vlan netfront lan9118 sriov vmxnet",
    ),
    "hw_input_bus": ("usb virtio", "usb virtio"),
    "hw_pointer_model": ("usbtablet", "usbtablet"),
}


def images(machines: Sequence[str]) -> list[Properties]:
    """The images: a machine type, or none, and some devices; always the same ones."""
    chance = random.Random(SEED)
    result = []
    for _ in range(IMAGES):
        image: Properties = {}
        kind = chance.random()
        if kind < 0.55:
            image["hw_machine_type"] = chance.choice(("pc", "q35"))
        elif kind < 0.75:
            image["hw_machine_type"] = chance.choice(machines)
        elif kind < 0.82:
            image["hw_machine_type"] = chance.choice(("isapc", "microvm", "pc-q35-99.0", "virt"))
        for name, (usual, rare) in CHOICES.items():
            if chance.random() < 0.35:
                words = rare if chance.random() < 0.2 else usual
                image[name] = chance.choice(words.split())
        result.append(image)
    return result


@dataclass
class Live:
    """The live host: what its libvirt and QEMU really take."""

    daemon: Libvirtd
    connection: Any
    virt_type: str
    _tried: dict[tuple[str, str, str], Optional[str]] = field(default_factory=dict)

    @property
    def emulator(self) -> str:
        return str(self.daemon.bin / "qemu-system-x86_64")

    def xml(self, image: Properties, machine: str = "pc") -> str:
        return domain_xml(image, "x86_64", machine, self.virt_type, self.emulator)

    def refusal(self, image: Properties) -> Optional[str]:
        """What is said against an image, None if a guest of it can be had."""
        against = accepted(self.connection, self.xml(image))
        if against is not None:
            return against
        family = "q35" if "q35" in image.get("hw_machine_type", "pc") else "pc"
        for name in ("hw_vif_model", "hw_disk_bus"):
            against = self._started(family, name, image[name]) if name in image else None
            if against is not None:
                return against
        return None

    def _started(self, machine: str, name: str, value: str) -> Optional[str]:
        """libvirt takes any word for a network model, and leaves sd and xen disks to QEMU."""
        key = (machine, name, value)
        if key not in self._tried:
            disk = self.daemon.root / "disk.img"
            disk.write_bytes(b"\0" * 1048576)
            xml = self.xml({name: value}, machine).replace("/var/lib/none.img", str(disk))
            self._tried[key] = starts(self.connection, xml)
        return self._tried[key]


@dataclass
class Hosts:
    """The hosts' truths, and the client of the Placement that they report to."""

    client: Client
    live: Live
    documents: dict[str, Documents]

    def truth(self, image: Properties) -> set[str]:
        """The hosts that can take an image, by documents and by trying."""
        found = {name for name, said in self.documents.items() if said.refusal(image) is None}
        return found | ({"live"} if self.live.refusal(image) is None else set())

    def answer(self, image: Properties, exact: bool = True) -> set[str]:
        """The hosts that are found for an image; none for one with an error in it."""
        translation = translate(image, exact=exact)
        if translation.errors:
            return set()
        self.client.begin()
        return {host.name for host in find(self.client, translation).fits} - {"arm"}

    def emulating(self, image: Properties) -> set[str]:
        """The hosts that are found for an image of an emulated guest."""
        self.client.begin()
        return {host.name for host in find(self.client, translate(image)).fits}


def report(
    directory: Path, name: str, service: Placement, *arguments: str, more: str = ""
) -> None:
    """A compute node as Nova makes it, and one pass of capd on it."""
    service.client.create_provider(name, traits=["COMPUTE_NODE"])
    state = directory / name
    state.mkdir()
    settings = directory / f"{name}.conf"
    section = service.snippet + f"provider_name = {name}\ncompute_id_files =\n"
    settings.write_text(f"[DEFAULT]\nstate_dir = {state}\n{section}{more}")
    done = subprocess.run(
        [sys.executable, "-m", "capd", "--config-file", str(settings), "--once", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert len(service.client.traits(service.client.providers()[name])) > 100, done.stderr


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Three compute nodes that have reported."""
    import libvirt

    libvirt.registerErrorHandler(lambda *_: None, None)
    directory = tmp_path_factory.mktemp("truth")
    service, daemon = Placement(), Libvirtd(emulators=["x86_64"])
    try:
        service.start()
        daemon.start()
    except Unavailable as reason:
        service.stop()
        daemon.stop()
        pytest.skip(str(reason))
    try:
        daemon.warm_up()
        for name in ("bookworm", "trixie"):
            report(directory, name, service, "--from", str(CAPTURES / name))
        emulated = "[traits]\nemulated = aarch64\n"
        report(directory, "arm", service, "--from", str(CAPTURES / "bookworm"), more=emulated)
        report(directory, "live", service, more=daemon.snippet)
        connection = daemon.connect()
        virt_type = "kvm" if "<domain type='kvm'/>" in connection.getCapabilities() else "qemu"
        yield Hosts(
            Client(load([directory / "live.conf"])),
            Live(daemon, connection, virt_type),
            {name: Documents(CAPTURES / name) for name in ("bookworm", "trixie")},
        )
        connection.close()
    finally:
        service.stop()
        daemon.stop()


def test_300_images_find_the_hosts_that_can_take_them(hosts: Hosts) -> None:
    machines = sorted(
        {
            name
            for said in hosts.documents.values()
            for name in said.machines
            if name.startswith("pc-")
        }
    )
    wrong, sizes = [], [0, 0, 0, 0]
    for image in images(machines):
        truth, answer = hosts.truth(image), hosts.answer(image)
        sizes[len(truth)] += 1
        if truth != answer:
            wrong.append((image, sorted(truth), sorted(answer), hosts.live.refusal(image)))
    for row in wrong:
        print("WRONG", row)
    assert wrong == []
    print(f"images with 0, 1, 2, 3 hosts: {sizes}")
    assert sum(sizes) == IMAGES
    assert min(sizes[0], sizes[1] + sizes[2], sizes[3]) >= 20


def test_b35_ide_on_q35_is_found_nowhere_though_nova_would_send_it(hosts: Hosts) -> None:
    image = {"hw_machine_type": "q35", "hw_disk_bus": "ide"}
    assert hosts.truth(image) == set()
    assert hosts.answer(image) == set()
    assert hosts.answer(image, exact=False) == {"bookworm", "trixie", "live"}
    refusal = hosts.live.refusal(image)
    assert refusal is not None and "IDE controllers are unsupported" in refusal


@pytest.mark.parametrize(
    ("machine", "bus", "video"),
    [
        (machine, bus, video)
        for machine in ("virt", "virt-7.2", "sbsa-ref")
        for bus, video in (("scsi", "virtio"), ("ide", "ramfb"), ("virtio", "qxl"))
    ],
)
def test_emulated_guests_go_where_their_architecture_is_published(
    hosts: Hosts, machine: str, bus: str, video: str
) -> None:
    """Both recorded hosts emulate aarch64; only one lists it in `[traits] emulated`."""
    image = {"hw_machine_type": machine, "hw_disk_bus": bus, "hw_video_model": video}
    said = Documents(CAPTURES / "bookworm", "aarch64", "qemu")
    truth = {"arm"} if said.refusal(image) is None else set()
    assert hosts.emulating({"hw_emulation_architecture": "aarch64", **image}) == truth


def test_b34_buses_that_carry_no_removable_media_are_refused_by_libvirt(hosts: Hosts) -> None:
    for name, bus in (
        ("hw_cdrom_bus", "virtio"),
        ("hw_cdrom_bus", "sd"),
        ("hw_cdrom_bus", "fdc"),
        ("hw_disk_bus", "fdc"),
        ("hw_floppy_bus", "ide"),
        ("hw_floppy_bus", "usb"),
    ):
        assert hosts.live.refusal({name: bus}) is not None, (name, bus)
        assert translate({name: bus}).errors
