"""Minimal guests to try: one for each value whose claim libvirt's validation can judge.

A guest must be complete for its refusal to speak of the host: each carries the controllers,
features and backends its device wants, and nothing else. `capd.trial` has libvirt validate them.
"""

from __future__ import annotations

from dataclasses import dataclass

from capd.facts import Machine

#: the guest without any device; if libvirt refuses this one, its refusals say nothing
BASELINE = ("machine", "")

#: what stands in for the bus that network devices need
PCI_WITNESS = ("bus", "pci")
VIRTIO_WITNESS = ("bus", "virtio")

_USB = "<controller type='usb' index='0' model='qemu-xhci'/>"
_NO_USB = "<controller type='usb' index='0' model='none'/>"
_RNG = "<rng model='virtio'><backend model='random'>/dev/urandom</backend>{}</rng>"
_DISK = (
    "<disk type='file' device='{device}'><driver name='qemu' type='raw'/>"
    "<source file='/var/lib/capd/trial.img'/><target dev='{target}' bus='{bus}'/>{more}</disk>"
)
_TARGETS = {"ide": "hda", "fdc": "fda", "virtio": "vda", "nvme": "nvme0n1", "sd": "sda"}


@dataclass(frozen=True)
class Guest:
    """The parts of a minimal guest that depend on what is tried."""

    devices: str = ""
    usb: str = _NO_USB
    os_attributes: str = ""
    os_children: str = ""
    features: str = ""
    memory: str = ""


def guest_xml(machine: Machine, guest: Guest) -> str:
    """The domain XML of a minimal guest of this machine type."""
    features, os_attributes = guest.features, guest.os_attributes
    if machine.arch in ("x86_64", "i686"):
        features += "<acpi/>"
    elif machine.arch == "aarch64" and "<iommu" in guest.devices:
        # there libvirt wants ACPI for a vIOMMU, and UEFI for ACPI
        features, os_attributes = features + "<acpi/>", " firmware='efi'"
    arch, name = _quoted(machine.arch), _quoted(machine.name)
    return (
        f"<domain type={_quoted(machine.virt_type)}><name>capd-trial</name>"
        "<memory unit='MiB'>64</memory><vcpu>1</vcpu>"
        f"{guest.memory}<os{os_attributes}>"
        f"<type arch={arch} machine={name}>hvm</type>{guest.os_children}</os>"
        f"<features>{features}</features>"
        f"<devices><emulator>{_escaped(machine.emulator)}</emulator>{guest.usb}{guest.devices}"
        "<memballoon model='none'/></devices></domain>"
    )


def guests_for(category: str, value: str) -> tuple[Guest, ...]:
    """The guests any of which is enough for one value; empty if the value cannot be tried."""
    if (category, value) == BASELINE:
        return (Guest(),)
    if (category, value) == PCI_WITNESS:
        return (Guest(_RNG.format("<address type='pci'/>")),)
    if (category, value) == VIRTIO_WITNESS:
        return (Guest(_RNG.format("")),)
    maker = _MAKERS.get(category)
    return maker(value) if maker is not None else ()


def _escaped(text: str) -> str:
    """`text` in XML. (The modules that do this cost half a megabyte or import urllib.)"""
    for plain, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&apos;")):
        text = text.replace(plain, entity)
    return text


def _quoted(text: str) -> str:
    """`text` as an XML attribute's value."""
    return f"'{_escaped(text)}'"


def _disk(value: str) -> tuple[Guest, ...]:
    if value == "fdc":
        return _floppy(value)
    return (_storage("disk", value),)


def _storage(device: str, bus: str) -> Guest:
    more = {"nvme": "<serial>capd</serial>"}.get(bus, "")
    if device == "cdrom":
        more = "<readonly/>"
    target = _TARGETS.get(bus, "sda")
    disk = _DISK.format(device=device, target=target, bus=bus, more=more)
    return Guest(disk, _USB if bus == "usb" else _NO_USB)


def _cdrom(value: str) -> tuple[Guest, ...]:
    return (_storage("cdrom", value),)


def _floppy(value: str) -> tuple[Guest, ...]:
    return (_storage("floppy", value),)


def _video(value: str) -> tuple[Guest, ...]:
    return (Guest(f"<video><model type={_quoted(value)}/></video>"),)


def _input(value: str) -> tuple[Guest, ...]:
    if value == "ps2":
        return (Guest(),)
    usb = _USB if value == "usb" else _NO_USB
    return (Guest(f"<input type='keyboard' bus={_quoted(value)}/>", usb),)


def _pointer(value: str) -> tuple[Guest, ...]:
    if value != "usbtablet":
        return ()
    # Nova's one pointer model is a tablet on whichever bus hw_input_bus names
    return (
        Guest("<input type='tablet' bus='usb'/>", _USB),
        Guest("<input type='tablet' bus='virtio'/>"),
    )


def _sound(value: str) -> tuple[Guest, ...]:
    usb = _USB if value == "usb" else _NO_USB
    return (Guest(f"<sound model={_quoted(value)}/>", usb),)


def _usb(value: str) -> tuple[Guest, ...]:
    if not value.startswith("ich9-"):
        return (Guest("", f"<controller type='usb' index='0' model={_quoted(value)}/>"),)
    companions = "".join(
        f"<controller type='usb' index='0' model='ich9-uhci{number}'>"
        f"<master startport='{2 * number - 2}'/></controller>"
        for number in (1, 2, 3)
    )
    return (Guest("", f"<controller type='usb' index='0' model='ich9-ehci1'/>{companions}"),)


def _viommu(value: str) -> tuple[Guest, ...]:
    if value == "auto":
        return ()
    features = "<ioapic driver='qemu'/>" if value == "intel" else ""
    driver = "<driver intremap='on'/>" if value == "intel" else ""
    return (Guest(f"<iommu model={_quoted(value)}>{driver}</iommu>", features=features),)


def _tpm(value: str) -> tuple[Guest, ...]:
    backend = "<backend type='emulator' version='2.0'/>"
    return (Guest(f"<tpm model={_quoted(value)}>{backend}</tpm>"),)


def _firmware(value: str) -> tuple[Guest, ...]:
    if value == "uefi":
        return (Guest(os_attributes=" firmware='efi'"),)
    return (Guest(),) if value == "bios" else ()


def _secure_boot(value: str) -> tuple[Guest, ...]:
    guest = Guest(
        os_attributes=" firmware='efi'",
        os_children="<loader secure='yes'/>",
        features="<smm state='on'/>",
    )
    return (guest,) if value == "required" else ()


def _filesystem(value: str) -> tuple[Guest, ...]:
    guest = Guest(
        "<filesystem type='mount'><driver type='virtiofs'/>"
        "<source dir='/var/lib/capd'/><target dir='capd'/></filesystem>",
        memory="<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>",
    )
    return (guest,) if value == "virtiofs" else ()


def _rng(value: str) -> tuple[Guest, ...]:
    return (Guest(_RNG.format("")),) if value == "virtio" else ()


_MAKERS = {
    "disk_bus": _disk,
    "cdrom_bus": _cdrom,
    "floppy_bus": _floppy,
    "video_model": _video,
    "input_bus": _input,
    "pointer_model": _pointer,
    "sound_model": _sound,
    "usb_model": _usb,
    "viommu_model": _viommu,
    "tpm_model": _tpm,
    "firmware_type": _firmware,
    "secure_boot": _secure_boot,
    "filesystem_driver": _filesystem,
    "rng_model": _rng,
}
