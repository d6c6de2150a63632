"""A whole guest from image properties, written independently of capd, for libvirt to judge.

`domain_xml` writes what a scheduler would have to hand to libvirt; `accepted` has a libvirt
define it (and forget it); `starts` starts a guest with one device, paused, since libvirt itself
checks neither network, sound nor input models against the emulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import libvirt

Properties = Mapping[str, str]

_TARGETS = {"ide": "hd", "fdc": "fd", "virtio": "vd", "nvme": "nvme", "xen": "xvd"}


def _disk(device: str, bus: str, index: int) -> str:
    letter = f"{index}n1" if bus == "nvme" else "abcd"[index]
    serial = "<serial>one</serial>" if bus == "nvme" else ""
    source = "" if device != "disk" else "<source file='/var/lib/none.img'/>"
    readonly = "<readonly/>" if device == "cdrom" else ""
    return (
        f"<disk type='file' device='{device}'><driver name='qemu' type='raw'/>{source}"
        f"<target dev='{_TARGETS.get(bus, 'sd')}{letter}' bus='{bus}'/>{readonly}{serial}</disk>"
    )


def _devices(wanted: Properties) -> str:
    parts = []
    for index, (name, device) in enumerate(
        (("hw_disk_bus", "disk"), ("hw_cdrom_bus", "cdrom"), ("hw_floppy_bus", "floppy"))
    ):
        if name in wanted:
            parts.append(_disk(device, wanted[name], 0 if device == "floppy" else index))
    if "hw_video_model" in wanted:
        parts.append(f"<video><model type='{wanted['hw_video_model']}'/></video>")
    if "hw_vif_model" in wanted:
        model = wanted["hw_vif_model"]
        parts.append(f"<interface type='user'><model type='{model}'/></interface>")
    bus = wanted.get("hw_input_bus")
    if bus is None and "hw_pointer_model" in wanted:
        bus = "usb"
    if bus is not None:
        parts += [f"<input type='{kind}' bus='{bus}'/>" for kind in ("tablet", "keyboard")]
    if "hw_sound_model" in wanted:
        parts.append(f"<sound model='{wanted['hw_sound_model']}'/>")
    if "hw_rng_model" in wanted:
        parts.append("<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>")
    if "hw_tpm_version" in wanted:
        model, version = wanted.get("hw_tpm_model", "tpm-tis"), wanted["hw_tpm_version"]
        backend = f"<backend type='emulator' version='{version}'/>"
        parts.append(f"<tpm model='{model}'>{backend}</tpm>")
    if "hw_viommu_model" in wanted:
        parts.append(f"<iommu model='{wanted['hw_viommu_model']}'/>")
    return "".join(parts)


def domain_xml(
    properties: Properties, arch: str, machine: str, virt_type: str, emulator: str
) -> str:
    """The guest; `machine` is used where the properties name none."""
    wanted = dict(properties)
    machine = wanted.get("hw_machine_type", machine)
    devices = _devices(wanted)
    usb = "bus='usb'" in devices or wanted.get("hw_sound_model") == "usb"
    model = wanted.get("hw_usb_model") or ("qemu-xhci" if usb else "none")
    firmware = {"uefi": " firmware='efi'", "bios": " firmware='bios'"}
    features = "<ioapic driver='qemu'/>" if wanted.get("hw_viommu_model") == "intel" else ""
    loader = ""
    if wanted.get("os_secure_boot") == "required":
        loader, features = "<loader secure='yes'/>", features + "<smm state='on'/>"
    return (
        f"<domain type='{virt_type}'><name>match-guest</name>"
        "<memory unit='MiB'>64</memory><vcpu>1</vcpu>"
        f"<os{firmware.get(wanted.get('hw_firmware_type', ''), '')}>"
        f"<type arch='{arch}' machine='{machine}'>hvm</type>{loader}</os>"
        f"<features>{'<acpi/>' if arch in ('x86_64', 'aarch64') else ''}{features}</features>"
        f"<devices><emulator>{emulator}</emulator>"
        f"<controller type='usb' index='0' model='{model}'/>{devices}"
        "<memballoon model='none'/></devices></domain>"
    )


def accepted(connection: Any, xml: str) -> Optional[str]:
    """None if libvirt defines the guest, else what it says against it."""
    try:
        domain = connection.defineXML(xml)
    except libvirt.libvirtError as error:
        return str(error)
    domain.undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)
    return None


def starts(connection: Any, xml: str) -> Optional[str]:
    """None if the guest starts (paused, and is ended at once), else what is said against it."""
    try:
        domain = connection.createXML(xml, libvirt.VIR_DOMAIN_START_PAUSED)
    except libvirt.libvirtError as error:
        return str(error)
    domain.destroy()
    return None
