"""200 generated guests, really defined and started on libvirt: each is read as it was made.

The choices come from what this host's facts say is possible, so a guest that does not start is a
claim too many. Guests are started paused: every device exists, nothing runs.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import libvirt
import pytest

from capd.config import Settings, load
from capd.facts import Machine
from capd.hypervisor import Hypervisor
from capd.properties import values_of
from capd.records import hostfacts, reading, records
from capd.records.ability import Ability

MACHINES = (
    ("x86_64", "pc"),
    ("x86_64", "q35"),
    ("aarch64", "virt"),
    ("s390x", "s390-ccw-virtio"),
    ("ppc64", "pseries"),
    ("riscv64", "virt"),
)
GUESTS = 200
TARGETS = {"ide": "hd", "virtio": "vd", "fdc": "fd"}

#: Nova's values that need a display, a backend or an emulator which a small guest has not
UNFIT = {"gop", "xen", "sriov", "netfront", "ps2"}


@dataclass(frozen=True)
class Choice:
    """One guest: property values, None for no such device."""

    number: int
    arch: str
    machine: str
    values: tuple[tuple[str, Optional[str]], ...]

    def xml(self, emulator: str, image: Path) -> str:
        wanted = dict(self.values)
        names: Counter[str] = Counter()
        devices = ""
        for kind in ("disk", "cdrom", "floppy"):
            bus = wanted[f"hw_{kind}_bus"]
            if bus is None:
                continue
            prefix = TARGETS.get(bus, "sd")
            target = f"{prefix}{'abcd'[names[prefix]]}"
            names[prefix] += 1
            source = image.with_suffix(f".{kind}")
            source.write_bytes(bytes(1474560))
            devices += (
                f"<disk type='file' device='{kind}'><driver name='qemu' type='raw'/>"
                f"<source file='{source}'/><target dev='{target}' bus='{bus}'/>"
                f"{'' if kind == 'disk' else '<readonly/>'}</disk>"
            )
        if wanted["hw_vif_model"]:
            model = wanted["hw_vif_model"]
            devices += f"<interface type='user'><model type='{model}'/></interface>"
        if wanted["hw_video_model"]:
            model = wanted["hw_video_model"]
            devices += f"<video><model type='{model}'/></video>"
        if wanted["hw_input_bus"]:
            kind = "tablet" if wanted["hw_pointer_model"] else "keyboard"
            devices += f"<input type='{kind}' bus='{wanted['hw_input_bus']}'/>"
        acpi = "<features><acpi/></features>" if self.arch == "x86_64" else ""
        usb = "" if self.arch == "s390x" else "<controller type='usb' model='qemu-xhci'/>"
        return (
            f"<domain type='qemu'><name>matrix-{self.number}</name>"
            f"<memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type arch='{self.arch}' "
            f"machine='{self.machine}'>hvm</type></os>{acpi}<devices>"
            f"<emulator>{emulator}</emulator>{usb}{devices}<memballoon model='none'/></devices>"
            "</domain>"
        )


@pytest.fixture(scope="module")
def settings(libvirtd: Any, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    path = tmp_path_factory.mktemp("matrix") / "capd.conf"
    path.write_text(f"[DEFAULT]\nstate_dir = {path.parent}\n{libvirtd.snippet}")
    return load([path])


@pytest.fixture(scope="module")
def ability(settings: Settings) -> Iterator[Ability]:
    hypervisor = Hypervisor(settings.libvirt)
    hypervisor.open()
    yield Ability(hostfacts.ask(hypervisor, settings, MACHINES))
    hypervisor.close()


def _row(ability: Ability, arch: str, name: str) -> Machine:
    row = ability.machine(arch, name, "qemu")
    assert row is not None
    assert row.error is None
    return row


def _choices(ability: Ability) -> Iterator[Choice]:
    random_ = random.Random(20)
    for number in range(GUESTS):
        arch, name = MACHINES[number % len(MACHINES)]
        row = _row(ability, arch, name)
        values: dict[str, Optional[str]] = {}
        for prop in ("hw_disk_bus", "hw_cdrom_bus", "hw_video_model", "hw_vif_model"):
            known = set(values_of(prop) or ()) - UNFIT
            possible = [value for value in ability.possible(row, prop) or () if value in known]
            values[prop] = random_.choice([*possible, None])
        floppy = ability.possible(row, "hw_floppy_bus") or ()
        values["hw_floppy_bus"] = "fdc" if "fdc" in floppy and random_.random() < 0.3 else None
        inputs = set(ability.possible(row, "hw_input_bus") or ()) - UNFIT
        values["hw_input_bus"] = random_.choice([*sorted(inputs), None])
        pointer = values["hw_input_bus"] is not None and random_.random() < 0.7
        values["hw_pointer_model"] = "usbtablet" if pointer else None
        yield Choice(number, arch, name, tuple(sorted(values.items())))


def _made(connection: Any, choice: Choice, row: Machine, image: Path) -> tuple[Choice, str, str]:
    """The definition and, after it was started, the live XML, or the error."""
    try:
        domain = connection.defineXML(choice.xml(row.emulator, image))
    except libvirt.libvirtError as error:
        return choice, f"not defined: {error}", ""
    try:
        defined = domain.XMLDesc(0)
        domain.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
        live = domain.XMLDesc(0)
        domain.destroy()
        return choice, defined, live
    except libvirt.libvirtError as error:
        return choice, f"not started: {error}", ""
    finally:
        domain.undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)
        for kind in ("disk", "cdrom", "floppy"):
            image.with_suffix(f".{kind}").unlink(missing_ok=True)


def test_200_guests_are_read_as_they_were_made(
    libvirtd: Any, ability: Ability, tmp_path_factory: pytest.TempPathFactory
) -> None:
    images = libvirtd.root / "matrix"
    images.mkdir()
    connection = libvirtd.connect()
    choices = list(_choices(ability))
    assert len(choices) == GUESTS
    used = {(choice.machine, name, value) for choice in choices for name, value in choice.values}
    assert len(used) > 100
    rows = {pair: _row(ability, *pair) for pair in MACHINES}
    wrong: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(
                _made,
                connection,
                choice,
                rows[choice.arch, choice.machine],
                images / str(choice.number),
            )
            for choice in choices
        ]
        for future in futures:
            choice, defined, live = future.result()
            wrong += _compare(choice, defined, live, ability)
    connection.close()
    images.rmdir()
    assert wrong == []


def _compare(choice: Choice, defined: str, live: str, ability: Ability) -> Iterator[str]:
    if not live:
        yield f"{choice}: {defined}"
        return
    for text in (defined, live):
        domain = reading.read(text, "guest")
        for name, value in choice.values:
            seen = domain.properties.get(name)
            if name == "hw_input_bus" and value is None and choice.arch == "ppc64":
                continue  # with graphics or video libvirt adds a USB keyboard and mouse
            if (seen.value if seen else None) != value:
                yield f"{choice}: {name} is {seen}"
        record = records.begin(domain, ability, 0.0)
        if record.properties["hw_machine_type"].value != choice.machine:
            yield f"{choice}: machine {record.properties['hw_machine_type']}"
        if record.machine != ability.resolve(choice.arch, choice.machine):
            yield f"{choice}: {record.machine}"
