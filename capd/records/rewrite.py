"""Domain XML with other device models: pure, from one definition to another.

`capd.records.redefine` has libvirt validate the result before it replaces anything. Only what the
property speaks of is changed, and what cannot stay with it: target names that would clash,
addresses of the old bus, options of the old model. Devices are never added or taken away, but for
a tablet and the controllers a bus needs. (libvirt, "Domain XML format".)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, Optional

from lxml import etree

from capd import documents
from capd.names import family
from capd.records import rewritedisks
from capd.records.reading import Disk, find_domain, in_boot_order

#: properties that no definition shows: they count when a device is added or a rescue begins
ONLY_RECORDED = frozenset({"hw_rescue_bus"})

_IMPLICIT_INPUT = frozenset({"ps2", "xen", "parallels", "none"})
_QXL_MEMORY = ("ram", "vram", "vram64", "vgamem")


def rewrite(xml: str, values: Mapping[str, str], origin: str) -> tuple[str, tuple[str, ...]]:
    """`xml` with `values`, and the properties of which it has no device and shows nothing.

    Raises DocumentError if `xml` is no domain.
    """
    domain = find_domain(documents.parse(xml, origin), origin)
    devices = domain.find("devices")
    if devices is None:
        return xml, tuple(values)
    before = etree.tostring(domain)
    unseen: list[str] = []
    for name in sorted(values, key=_order):
        change = _CHANGES.get(name)
        if change is None or not change(domain, devices, values[name]):
            unseen.append(name)
    if etree.tostring(domain) == before:
        return xml, tuple(unseen)
    return str(etree.tostring(domain, encoding="unicode")), tuple(unseen)


def _order(name: str) -> tuple[int, str]:
    """The machine type first, so that devices find its buses; then the root disk."""
    first = ("hw_machine_type", "hw_disk_bus")
    return first.index(name) if name in first else len(first), name


def _machine(domain: etree._Element, devices: etree._Element, value: str) -> bool:
    """Another machine type. In another family, PCI is laid out anew by libvirt."""
    os_type = domain.find("os/type")
    if os_type is None:
        return False
    old = os_type.get("machine") or ""
    os_type.set("machine", value)
    if family(old) == family(value):
        return True
    for controller in devices.findall("controller"):
        kind, model = controller.get("type"), controller.get("model") or ""
        if kind == "pci" or (kind in ("ide", "sata") and not _used(devices, str(kind))):
            devices.remove(controller)
        elif kind == "usb" and model.startswith("piix"):
            del controller.attrib["model"]
    for address in devices.findall("*/address"):
        if address.get("type") in ("pci", "ccw", "spapr-vio", "virtio-mmio"):
            address.getparent().remove(address)
    return True


def _disk_bus(kind: str) -> Callable[[etree._Element, etree._Element, str], bool]:
    def change(domain: etree._Element, devices: etree._Element, value: str) -> bool:
        every = [Disk(element) for element in devices.findall("disk")]
        disks = in_boot_order([disk for disk in every if disk.kind == kind], nova=False)
        if not disks:
            return False
        old = disks[0].bus
        moved = [disk.element for disk in disks if disk.bus == old]
        if old != value:
            rewritedisks.move(domain, devices, moved, value)
            _provide(devices, value)
            if old in ("scsi", "sata", "ide") and not _used(devices, old):
                for controller in devices.findall(f"controller[@type='{old}']"):
                    devices.remove(controller)
        return True

    return change


def _scsi_model(_domain: etree._Element, devices: etree._Element, value: str) -> bool:
    controllers = devices.findall("controller[@type='scsi']")
    for controller in controllers:
        if controller.get("model") != value:
            controller.set("model", value)
            _drop(controller, "address", "driver")
    return bool(controllers)


def _video(_domain: etree._Element, devices: etree._Element, value: str) -> bool:
    videos = [video for video in devices.findall("video") if video.find("model") is not None]
    videos.sort(key=lambda video: video.find("model").get("primary") != "yes")
    if not videos:
        return False
    model = videos[0].find("model")
    if model.get("type") == value:
        return True
    model.set("type", value)
    for attribute in (*_QXL_MEMORY, "blob", "edid"):
        model.attrib.pop(attribute, None)
    for child in list(model):
        model.remove(child)
    _drop(videos[0], "address", "driver")
    if value == "none":
        for attribute in ("heads", "primary"):
            model.attrib.pop(attribute, None)
        for other in videos[1:]:
            devices.remove(other)
    return True


def _vif(_domain: etree._Element, devices: etree._Element, value: str) -> bool:
    """The interfaces of the first one's model; others were chosen on purpose."""
    interfaces = [
        interface
        for interface in devices.findall("interface")
        if interface.get("type") not in ("hostdev", "vdpa")
    ]
    if not interfaces:
        return False
    old = _model_of(interfaces[0])
    for interface in interfaces:
        if _model_of(interface) != old or old == value:
            continue
        model = interface.find("model")
        if model is None:
            model = etree.SubElement(interface, "model")
        model.set("type", value)
        _drop(interface, "address")
        if not value.startswith("virtio"):
            _drop(interface, "driver")
    return True


def _input_bus(_domain: etree._Element, devices: etree._Element, value: str) -> bool:
    inputs = [
        element
        for element in devices.findall("input")
        if element.get("type") in ("tablet", "keyboard", "mouse")
        and element.get("bus") not in _IMPLICIT_INPUT
    ]
    for element in inputs:
        if element.get("bus") != value:
            element.set("bus", value)
            element.attrib.pop("model", None)
            _drop(element, "address", "driver")
    _provide(devices, value)
    return bool(inputs)


def _pointer(_domain: etree._Element, devices: etree._Element, _value: str) -> bool:
    """A tablet, if there is none yet, on the bus of the other input devices."""
    if devices.find("input[@type='tablet']") is None:
        buses = [element.get("bus") for element in devices.findall("input")]
        bus = next((bus for bus in buses if bus in ("usb", "virtio")), "usb")
        devices.append(etree.Element("input", type="tablet", bus=bus))
        _provide(devices, str(bus))
    return True


def _rng(_domain: etree._Element, devices: etree._Element, value: str) -> bool:
    rngs = devices.findall("rng")
    for rng in rngs:
        if rng.get("model") != value:
            rng.set("model", value)
            _drop(rng, "address")
    return bool(rngs)


def _provide(devices: etree._Element, bus: str) -> None:
    """The controllers that devices on `bus` need and libvirt might not add by itself."""
    if bus == "usb":
        found = devices.findall("controller[@type='usb']")
        if not found:
            devices.append(etree.Element("controller", type="usb", index="0", model="qemu-xhci"))
        for controller in found:
            if controller.get("model") == "none":
                controller.set("model", "qemu-xhci")
    elif bus == "scsi" and devices.find("controller[@type='scsi']") is None:
        devices.append(etree.Element("controller", type="scsi", index="0", model="virtio-scsi"))


def _used(devices: etree._Element, bus: str) -> bool:
    """Whether a disk or a passed-through device is on `bus`."""
    if any(Disk(element).bus == bus for element in devices.findall("disk")):
        return True
    return bus == "scsi" and devices.find("hostdev[@type='scsi']") is not None


def _model_of(interface: etree._Element) -> Optional[str]:
    model = interface.find("model")
    return model.get("type") if model is not None else None


def _drop(element: etree._Element, *names: str) -> None:
    for name in names:
        for child in element.findall(name):
            element.remove(child)


_CHANGES: dict[str, Callable[[etree._Element, etree._Element, str], bool]] = {
    "hw_machine_type": _machine,
    "hw_disk_bus": _disk_bus("disk"),
    "hw_cdrom_bus": _disk_bus("cdrom"),
    "hw_floppy_bus": _disk_bus("floppy"),
    "hw_scsi_model": _scsi_model,
    "hw_video_model": _video,
    "hw_vif_model": _vif,
    "hw_input_bus": _input_bus,
    "hw_pointer_model": _pointer,
    "hw_rng_model": _rng,
}
