"""Disks moved to another bus: new target names, no stale addresses, the same boot order.

Pure; a part of `capd.records.rewrite`. libvirt derives a disk's place on its bus from the target
name and sorts the disks of a bus by it, so names are chosen such that neither a name nor a place
is taken, and the disk the guest starts from stays the one it starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from lxml import etree

from capd.records.reading import Disk, in_boot_order

_PREFIX = {"ide": "hd", "virtio": "vd", "fdc": "fd", "xen": "xvd"}

#: options of `<driver>` that only virtio disks take
_VIRTIO_OPTIONS = (
    "iothread",
    "queues",
    "queue_size",
    "event_idx",
    "ioeventfd",
    "iommu",
    "ats",
    "packed",
    "page_per_vq",
)
#: buses on which a rotation rate may be given
_ROTATING = frozenset({"scsi", "ide", "sata"})

Place = tuple[int, int, int]


def move(
    domain: etree._Element, devices: etree._Element, moved: Sequence[etree._Element], bus: str
) -> None:
    """Put the disks `moved` on `bus`, in their order."""
    everything = devices.findall("disk")
    old_root = _root(devices)
    stay = [disk for disk in everything if all(disk is not other for other in moved)]
    names = {_target(disk).get("dev") for disk in stay}
    places = {place for disk in stay if (place := _place(disk, bus)) is not None}
    for disk in moved:
        name, place = _free(bus, names, places)
        names.add(name)
        if place is not None:
            places.add(place)
        _change(disk, bus, name)
    if old_root is not None and _first_after_sorting(devices) is not old_root:
        _pin_boot_order(domain, devices, old_root)


def _change(disk: etree._Element, bus: str, name: str) -> None:
    target = _target(disk)
    target.set("dev", name)
    target.set("bus", bus)
    if bus != "usb":
        target.attrib.pop("removable", None)
    if bus not in _ROTATING:
        target.attrib.pop("rotation_rate", None)
    dropped = ["address"]
    if bus not in ("scsi", "sata", "ide"):
        dropped.append("wwn")
    if bus != "scsi":
        dropped += ["vendor", "product"]
    for tag in dropped:
        for child in disk.findall(tag):
            disk.remove(child)
    if bus != "virtio":
        disk.attrib.pop("model", None)
        for driver in disk.findall("driver"):
            for option in _VIRTIO_OPTIONS:
                driver.attrib.pop(option, None)
            for child in driver.findall("iothreads"):
                driver.remove(child)


def _target(disk: etree._Element) -> etree._Element:
    target = disk.find("target")
    return target if target is not None else etree.SubElement(disk, "target")


def _free(bus: str, names: set[Optional[str]], places: set[Place]) -> tuple[str, Optional[Place]]:
    """The first target name on `bus` that is free, as is the place libvirt derives from it."""
    index = 0
    while True:
        name = _PREFIX.get(bus, "sd") + letters(index)
        place = derived_place(bus, index)
        if name not in names and (place is None or place not in places):
            return name, place
        index += 1


def letters(index: int) -> str:
    """`a` for 0, `z` for 25, `aa` for 26: how target names count."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def number(name: str, bus: str) -> int:
    """The index that a target name stands for; names of another kind come first."""
    prefix = _PREFIX.get(bus, "sd")
    rest = name[len(prefix) :] if name.startswith(prefix) else ""
    index = 0
    for letter in rest:
        if not "a" <= letter <= "z":
            break
        index = index * 26 + ord(letter) - ord("a") + 1
    return index - 1


def derived_place(bus: str, index: int) -> Optional[Place]:
    """Controller, bus and unit that libvirt gives the disk with this index, None if it looks
    for a free one itself."""
    if bus == "ide":
        return index // 4, index % 4 // 2, index % 2
    if bus == "sata":
        return index // 6, 0, index % 6
    if bus == "fdc":
        return index // 2, 0, index % 2
    if bus == "scsi":
        unit = index % 15
        return index // 15, 0, unit + 1 if unit >= 7 else unit
    return None


def _place(disk: etree._Element, bus: str) -> Optional[Place]:
    """Where a disk that stays on `bus` is, None for a disk on another."""
    if Disk(disk).bus != bus:
        return None
    address = disk.find("address[@type='drive']")
    if address is None:
        return derived_place(bus, number(_target(disk).get("dev") or "", bus))
    controller, channel, unit = (
        int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
        for text in (address.get(key) or "0" for key in ("controller", "bus", "unit"))
    )
    return controller, channel, unit


def _root(devices: etree._Element) -> Optional[etree._Element]:
    disks = [Disk(element) for element in devices.findall("disk")]
    ordered = in_boot_order([disk for disk in disks if disk.kind == "disk"], nova=False)
    return ordered[0].element if ordered else None


def _first_after_sorting(devices: etree._Element) -> Optional[etree._Element]:
    """The disk that will be first once libvirt has sorted each bus by target name."""
    if devices.find("disk/boot") is not None:
        return _root(devices)
    disks = [Disk(element) for element in devices.findall("disk")]
    hard = [disk for disk in disks if disk.kind == "disk"]
    if not hard:
        return None
    group = [disk for disk in hard if disk.bus == hard[0].bus]
    first = min(
        group, key=lambda disk: number(_target(disk.element).get("dev") or "", disk.bus or "")
    )
    return first.element


def _pin_boot_order(domain: etree._Element, devices: etree._Element, root: etree._Element) -> None:
    """Say per device what `<os><boot dev=.../></os>` said by kind, whatever the sorting."""
    os_part = domain.find("os")
    kinds = [boot.get("dev") for boot in os_part.findall("boot")] if os_part is not None else []
    targets: list[etree._Element] = []
    for kind in kinds or ["hd"]:
        if kind == "hd":
            targets.append(root)
        elif kind in ("cdrom", "fd"):
            device = "cdrom" if kind == "cdrom" else "floppy"
            targets += devices.findall(f"disk[@device='{device}']")[:1]
        elif kind == "network":
            targets += devices.findall("interface")[:1]
    for boot in os_part.findall("boot") if os_part is not None else ():
        os_part.remove(boot)
    for order, element in enumerate(targets, 1):
        etree.SubElement(element, "boot", order=str(order))
