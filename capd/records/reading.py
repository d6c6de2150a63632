"""From domain XML to what the domain has: pure, and safe against whatever the XML holds.

From libvirt or a file to `capd.records.records`. Everything is read from attributes in anchored
places, never from device names, because `sda` may stand on four buses. Values are Nova's words
where Nova has one, else libvirt's own, marked so (libvirt "Domain XML format"; Nova
`nova.objects.fields`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Callable, Optional

from lxml import etree

from capd import documents, regular
from capd.errors import DocumentError
from capd.properties import values_of
from capd.records import metadata

#: buses of input devices that come with the machine; nobody chose them
_IMPLICIT_INPUT = frozenset({"ps2", "xen", "parallels", "none"})
_INPUTS = ("tablet", "keyboard", "mouse")
_SOURCES = ("file", "dev", "name", "volume")
#: the boot order of a disk that has none
LAST = 1 << 30


@dataclass(frozen=True)
class Observed:
    """The value of one property in a domain, and other values that stand beside it.

    `others` are the distinct further ones in document order: a data disk on another bus than the
    root disk, a second NIC of another model. `known` is False if Nova has no such value.
    """

    value: str
    others: tuple[str, ...] = ()
    known: bool = True


@dataclass(frozen=True)
class Domain:
    """One domain as its XML describes it.

    `machine` is exactly what the XML says, None if it says nothing; libvirt always gives a
    versioned name. `properties` lacks what the domain does not have. `headless` is a guest
    without graphics; `rescued` one that runs from a rescue image, so its devices are no witness.
    `hvm` is False for containers and paravirtualised guests.
    """

    uuid: str
    name: str
    arch: str
    virt_type: str
    machine: Optional[str]
    properties: Mapping[str, Observed]
    nova: Optional[metadata.NovaMetadata]
    headless: bool
    rescued: bool
    hvm: bool

    @property
    def managed_by(self) -> str:
        """`nova` or `libvirt`."""
        return "libvirt" if self.nova is None else "nova"

    @property
    def image(self) -> Optional[str]:
        """The id of the image the instance was made from, None if it is not known."""
        return self.nova.image if self.nova is not None else None


def read(xml: str, origin: str) -> Domain:
    """Read one domain; `origin` names the document in errors.

    The domain may be the root or stand inside a status or snapshot document. Raises DocumentError
    if it is not well-formed or holds no domain; unknown models and missing devices are no error.
    """
    return from_element(find_domain(documents.parse(xml, origin), origin))


def read_file(path: Path) -> Domain:
    """Read the domain in a file, `-` for standard input. Raises DocumentError naming the file."""
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(documents.MAX_SIZE + 1)
        else:
            data = regular.read(path, documents.MAX_SIZE)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise DocumentError(f"cannot read {path}: {error.strerror}", culprit=str(path)) from None
    except UnicodeDecodeError:
        raise DocumentError(f"{path}: not UTF-8 text", culprit=str(path)) from None
    return read(text, str(path))


def find_domain(root: etree._Element, origin: str) -> etree._Element:
    """The `domain` element of a document. Raises DocumentError if there is none."""
    domain = root if root.tag == "domain" else root.find("domain")
    if domain is None:
        raise DocumentError(f"{origin}: no domain in this document", culprit=origin)
    return domain


def from_element(domain: etree._Element) -> Domain:
    """What a parsed `domain` element says."""
    parts: dict[str, etree._Element] = {}
    for part in domain:
        parts.setdefault(part.tag, part)
    os_part = parts.get("os")
    os_type = os_part.find("type") if os_part is not None else None
    machine = os_type.get("machine") if os_type is not None else None
    nova = metadata.read(parts.get("metadata"), parts.get("sysinfo"))
    devices = _Devices(parts.get("devices"))
    properties = devices.properties(nova is not None)
    if machine:
        properties["hw_machine_type"] = Observed(machine)
    return Domain(
        uuid=_text(parts.get("uuid")).lower(),
        name=_text(parts.get("name")),
        arch=(os_type.get("arch") if os_type is not None else None) or "",
        virt_type=domain.get("type") or "",
        machine=machine or None,
        properties=properties,
        nova=nova,
        headless=not devices.graphics,
        rescued=nova is not None and (devices.rescue or _rescue_kernel(os_part)),
        hvm=(_text(os_type) or "hvm") == "hvm",
    )


class Disk:
    """One disk element: `kind` (`disk`, `cdrom`, `floppy`), `bus`, and how it is started from.

    A passed-through LUN is a disk. `order` is the boot order, LAST if it has none. `rescue` says
    whether it belongs to a rescue, should the guest be Nova's: Nova calls its files `disk.rescue`
    (on rbd `UUID_disk.rescue`), and gives no other disk a boot order (Nova:
    `nova.virt.libvirt.driver`).
    """

    __slots__ = ("bus", "element", "kind", "order", "rescue")

    def __init__(self, element: etree._Element) -> None:
        device = element.get("device") or "disk"
        self.element = element
        self.kind = "disk" if device == "lun" else device
        self.bus: Optional[str] = None
        self.order = LAST
        self.rescue = False
        for child in element:
            tag = child.tag
            if tag == "target":
                self.bus = child.get("bus") or None
            elif tag == "boot":
                self.order = _number(child.get("order"))
            elif tag == "source":
                names = (child.get(key) for key in _SOURCES)
                self.rescue = any((name or "").endswith(".rescue") for name in names)
        self.rescue = self.rescue or self.order != LAST


def in_boot_order(disks: Iterable[Disk], nova: bool) -> list[Disk]:
    """The disk the guest starts from first: by boot order, else as the document has them.

    libvirt takes the first hard disk of the document for `<boot dev='hd'/>`. In a guest of Nova's
    the disk of a rescue comes last.
    """
    if nova:
        return sorted(disks, key=lambda disk: disk.rescue)
    return sorted(disks, key=lambda disk: disk.order)


class _Devices:
    """The devices that matter, collected in one walk (a thousand domains are read at start)."""

    def __init__(self, devices: Optional[etree._Element]) -> None:
        self.disks: list[Disk] = []
        self.inputs: list[tuple[str, Optional[str]]] = []
        self.videos: list[Optional[str]] = []
        self.vifs: list[Optional[str]] = []
        self.scsi: list[Optional[str]] = []
        self.rng: list[Optional[str]] = []
        self.graphics = False
        for element in devices.iterchildren(*_COLLECT) if devices is not None else ():
            _COLLECT[element.tag](self, element)

    @property
    def rescue(self) -> bool:
        return any(disk.rescue for disk in self.disks)

    def properties(self, nova: bool) -> dict[str, Observed]:
        """What is there, by property."""
        disks = in_boot_order(self.disks, nova)
        inputs = sorted(self.inputs, key=lambda entry: _INPUTS.index(entry[0]))
        found: dict[str, list[Optional[str]]] = {
            "hw_disk_bus": [disk.bus for disk in disks if disk.kind == "disk"],
            "hw_cdrom_bus": [disk.bus for disk in disks if disk.kind == "cdrom"],
            "hw_floppy_bus": [disk.bus for disk in disks if disk.kind == "floppy"],
            "hw_input_bus": [bus for _, bus in inputs],
            "hw_pointer_model": ["usbtablet" for kind, _ in inputs if kind == "tablet"],
            "hw_video_model": self.videos,
            "hw_vif_model": self.vifs,
            "hw_scsi_model": self.scsi,
            "hw_rng_model": self.rng,
        }
        seen = ((name, _observed(name, tuple(found[name]))) for name in found if found[name])
        return {name: observed for name, observed in seen if observed is not None}

    def disk(self, element: etree._Element) -> None:
        self.disks.append(Disk(element))

    def input(self, element: etree._Element) -> None:
        kind, bus = element.get("type"), element.get("bus")
        if kind in _INPUTS and bus not in _IMPLICIT_INPUT:
            self.inputs.append((str(kind), bus))

    def video(self, element: etree._Element) -> None:
        model = element.find("model")
        if model is not None:
            place = 0 if model.get("primary") == "yes" else len(self.videos)
            self.videos.insert(place, model.get("type"))

    def interface(self, element: etree._Element) -> None:
        model = element.find("model")
        if model is not None and element.get("type") != "hostdev":
            self.vifs.append(model.get("type"))

    def controller(self, element: etree._Element) -> None:
        if element.get("type") == "scsi":
            self.scsi.append(element.get("model"))

    def random(self, element: etree._Element) -> None:
        self.rng.append(element.get("model"))

    def display(self, _element: etree._Element) -> None:
        self.graphics = True


_COLLECT: dict[str, Callable[[_Devices, etree._Element], None]] = {
    "disk": _Devices.disk,
    "input": _Devices.input,
    "video": _Devices.video,
    "interface": _Devices.interface,
    "controller": _Devices.controller,
    "rng": _Devices.random,
    "graphics": _Devices.display,
}


@lru_cache(maxsize=1024)
def _observed(name: str, values: tuple[Optional[str], ...]) -> Optional[Observed]:
    distinct = tuple(dict.fromkeys(value for value in values if value))
    if not distinct:
        return None
    return Observed(distinct[0], distinct[1:], distinct[0] in (values_of(name) or ()))


def _text(element: Optional[etree._Element]) -> str:
    return (element.text or "").strip() if element is not None else ""


def _number(text: Optional[str]) -> int:
    """A boot order, LAST if it is none."""
    return int(text) if text and len(text) < 9 and text.isascii() and text.isdigit() else LAST


def _rescue_kernel(os_part: Optional[etree._Element]) -> bool:
    """Whether a rescue image brought its own kernel (`kernel.rescue`, `ramdisk.rescue`)."""
    if os_part is None:
        return False
    return any(_text(os_part.find(name)).endswith(".rescue") for name in ("kernel", "initrd"))
