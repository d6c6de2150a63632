"""What the host lists: libvirt's getCapabilities to combinations.

A combination is (architecture, virt type, machine type). A `<domain>` may override the emulator
and the machine types of its `<arch>` (libvirt, "Capabilities XML format").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lxml import etree

from capd.documents import parse
from capd.errors import DocumentError


@dataclass(frozen=True)
class Combination:
    """One row of the matrix to ask for.

    `machine` and `emulator` are None where the document names none (containers); they are passed
    to libvirt as they stand. `canonical` is what an alias resolves to.
    """

    arch: str
    virt_type: str
    os_type: str
    machine: Optional[str]
    canonical: Optional[str]
    emulator: Optional[str]
    default: bool
    deprecated: bool


@dataclass(frozen=True)
class Listing:
    """A parsed capabilities document: the host's own architecture and all combinations."""

    host_arch: str
    combinations: tuple[Combination, ...]

    def virt_types(self, arch: str) -> frozenset[str]:
        """The virt types listed for `arch`."""
        return frozenset(row.virt_type for row in self.combinations if row.arch == arch)

    def emulators(self) -> dict[str, str]:
        """Emulator path to the architecture it is listed for, in document order.

        One that is listed for several is the native one's (qemu-system-x86_64 runs i686, too,
        which comes first), else the first one's.
        """
        found: dict[str, str] = {}
        for row in self.combinations:
            if row.emulator and row.arch == self.host_arch:
                found[row.emulator] = row.arch
            elif row.emulator:
                found.setdefault(row.emulator, row.arch)
        return found


def read(text: str, origin: str = "capabilities") -> Listing:
    """Parse a getCapabilities document. Raises DocumentError if it is not one."""
    root = parse(text, origin)
    if root.tag != "capabilities":
        raise DocumentError(
            f"{origin}: expected <capabilities>, found <{root.tag}>", culprit=origin
        )
    host_arch = root.findtext("host/cpu/arch") or ""
    rows: list[Combination] = []
    for guest in root.findall("guest"):
        os_type = guest.findtext("os_type") or "hvm"
        for arch in guest.findall("arch"):
            rows.extend(_arch_rows(arch, os_type))
    return Listing(host_arch, tuple(rows))


def _arch_rows(arch: etree._Element, os_type: str) -> Iterator[Combination]:
    name = arch.get("name")
    if not name:
        return
    emulator = arch.findtext("emulator")
    machines = arch.findall("machine")
    for domain in arch.findall("domain"):
        virt_type = domain.get("type")
        if not virt_type:
            continue
        own_machines = domain.findall("machine") or machines
        own_emulator = domain.findtext("emulator") or emulator
        if not own_machines:
            yield Combination(name, virt_type, os_type, None, None, own_emulator, True, False)
        # libvirt lists the machine type it would choose first
        for index, machine in enumerate(own_machines):
            text = (machine.text or "").strip()
            if text:
                yield Combination(
                    name,
                    virt_type,
                    os_type,
                    text,
                    machine.get("canonical"),
                    own_emulator,
                    index == 0,
                    machine.get("deprecated") == "yes",
                )
