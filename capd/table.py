"""The one table: what capd knows by name.

Each `Category` is a kind of device or feature; each `Value` one model or bus of it. The same rows
say where a claim is read (libvirt's domain capabilities or the emulator's device list), which
image properties ask for it, which trait stands for it, and so which traits capd may own and must
create in Placement. To teach capd a new device model, add a row here and a golden folder in
`fixtures/`.

Sources of the names: libvirt "Domain capabilities XML format", QEMU `-device help`, Nova
`nova.objects.fields`, os-traits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional


class Origin(str, Enum):
    """Which document answers for a category."""

    DOMCAPS = "domcaps"
    DEVICES = "devices"
    DERIVED = "derived"


@dataclass(frozen=True)
class Value:
    """One model or bus. `name` is the image property's value.

    `raw` are the source's own words for it: values of libvirt's enum, or QEMU devices any of which
    is enough. No `raw` and no `families` means that no source can tell, so it stays unknown.
    `word` is its part of the trait name. `families` are machine families that have it without
    any source saying so. Values that no image property can ask for have no `trait`.
    """

    name: str
    raw: tuple[str, ...] = ()
    word: str = ""
    families: tuple[str, ...] = ()
    trait: bool = True


@dataclass(frozen=True)
class Category:
    """One kind of device or feature.

    `element` and `enum` anchor the claim in the domain capabilities; `section` is the heading in
    the device list of which unlisted devices are taken too (`open`). `standard` and `custom` are
    trait prefixes, None for no trait at all. `per_family` says whether machine families and the
    default family get traits of their own.
    """

    name: str
    title: str
    origin: Origin
    properties: tuple[str, ...] = ()
    standard: Optional[str] = None
    custom: Optional[str] = None
    element: str = ""
    enum: str = ""
    section: str = ""
    per_family: bool = False
    values: tuple[Value, ...] = ()

    def value(self, name: str) -> Optional[Value]:
        """The row called `name`, None if the table has none."""
        return next((row for row in self.values if row.name == name), None)


def _same(*names: str, trait: bool = True) -> tuple[Value, ...]:
    """Rows whose image property value is the source's own word."""
    return tuple(Value(name, (name,), trait=trait) for name in names)


_PC = ("pc", "q35", "isapc", "microvm")

#: i8255x variants, one QEMU device each, in no list of Nova's
_EEPRO100 = _same(
    "i82550",
    "i82551",
    "i82557a",
    "i82557b",
    "i82557c",
    "i82558a",
    "i82558b",
    "i82559a",
    "i82559b",
    "i82559c",
    "i82559er",
    "i82562",
    "i82801",
    trait=False,
)

CATEGORIES: tuple[Category, ...] = (
    Category(
        "disk_bus",
        "disk bus",
        Origin.DOMCAPS,
        ("hw_disk_bus", "hw_cdrom_bus", "hw_floppy_bus", "hw_rescue_bus"),
        "COMPUTE_STORAGE_BUS_",
        "STORAGE_BUS_",
        element="devices/disk",
        enum="bus",
        per_family=True,
        values=_same(
            "fdc", "ide", "sata", "scsi", "usb", "virtio", "nvme", "sd", "xen", "lxc", "uml"
        ),
    ),
    Category("cdrom_bus", "CD-ROM bus", Origin.DERIVED),
    Category("floppy_bus", "floppy bus", Origin.DERIVED),
    Category(
        "video_model",
        "video model",
        Origin.DOMCAPS,
        ("hw_video_model",),
        "COMPUTE_GRAPHICS_MODEL_",
        "GRAPHICS_MODEL_",
        element="devices/video",
        enum="modelType",
        per_family=True,
        values=_same(
            "bochs",
            "cirrus",
            "gop",
            "none",
            "qxl",
            "ramfb",
            "vga",
            "virtio",
            "vmvga",
            "xen",
            "vbox",
            "parallels",
        ),
    ),
    Category(
        "vif_model",
        "vif model",
        Origin.DEVICES,
        ("hw_vif_model",),
        "COMPUTE_NET_VIF_MODEL_",
        "NET_VIF_MODEL_",
        section="Network devices",
        per_family=True,
        values=(
            Value("virtio", ("virtio-net-pci", "virtio-net-ccw", "virtio-net-device")),
            *_same("e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "spapr-vlan"),
            *_same("vmxnet3", "tulip"),
            # listed by the emulator, but libvirt has no way to give a guest one
            *_same("usb-net", "ne2k_isa", trait=False),
            *_same("rocker", "sungem", "eTSEC", trait=False),
            *_same("e1000-82544gc", "e1000-82545em", "pvrdma", trait=False),
            Value("virtio-transitional", ("virtio-net-pci-transitional",), trait=False),
            Value("virtio-non-transitional", ("virtio-net-pci-non-transitional",), trait=False),
            *_EEPRO100,
            *_same("netfront"),
            *_same("xen-net-device", trait=False),  # not what libvirt makes of netfront
            Value("lan9118"),
            Value("sriov"),
            Value("vmxnet"),
        ),
    ),
    Category(
        "input_bus",
        "input bus",
        Origin.DEVICES,
        ("hw_input_bus",),
        None,
        "INPUT_BUS_",
        per_family=True,
        values=(
            Value("usb", ("usb-kbd", "usb-mouse", "usb-tablet")),
            Value(
                "virtio",
                (
                    "virtio-keyboard-pci",
                    "virtio-keyboard-ccw",
                    "virtio-keyboard-device",
                    "virtio-mouse-pci",
                    "virtio-mouse-ccw",
                    "virtio-tablet-pci",
                    "virtio-tablet-ccw",
                    "virtio-tablet-device",
                ),
            ),
            Value("ps2", ("i8042",), trait=False),
        ),
    ),
    Category(
        "pointer_model",
        "pointer model",
        Origin.DEVICES,
        ("hw_pointer_model",),
        None,
        "POINTER_MODEL_",
        per_family=True,
        values=(
            Value(
                "usbtablet",
                ("usb-tablet", "virtio-tablet-pci", "virtio-tablet-ccw", "virtio-tablet-device"),
            ),
        ),
    ),
    Category(
        "sound_model",
        "sound model",
        Origin.DEVICES,
        ("hw_sound_model",),
        "COMPUTE_SOUND_MODEL_",
        "SOUND_MODEL_",
        values=(
            Value("sb16", ("sb16",)),
            Value("es1370", ("ES1370",)),
            Value("ac97", ("AC97",)),
            Value("ich6", ("intel-hda",)),
            Value("ich9", ("ich9-intel-hda",)),
            Value("usb", ("usb-audio",)),
            Value("virtio", ("virtio-sound-pci", "virtio-sound-device")),
            Value("pcspk"),
        ),
    ),
    Category(
        "usb_model",
        "USB controller",
        Origin.DEVICES,
        ("hw_usb_model",),
        "COMPUTE_USB_MODEL_",
        "USB_MODEL_",
        values=(
            Value("qemu-xhci", ("qemu-xhci",)),
            Value("nec-xhci", ("nec-usb-xhci",)),
            Value("ehci", ("usb-ehci",)),
            Value("ich9-ehci1", ("ich9-usb-ehci1",)),
            Value("ich9-uhci1", ("ich9-usb-uhci1",)),
            Value("piix3-uhci", ("piix3-usb-uhci",)),
            Value("piix4-uhci", ("piix4-usb-uhci",)),
            Value("pci-ohci", ("pci-ohci",)),
        ),
    ),
    Category(
        "viommu_model",
        "vIOMMU model",
        Origin.DEVICES,
        ("hw_viommu_model",),
        "COMPUTE_VIOMMU_MODEL_",
        "VIOMMU_MODEL_",
        values=(
            Value("intel", ("intel-iommu",)),
            Value("virtio", ("virtio-iommu-pci",)),
            Value("smmuv3", ("arm-smmuv3",), families=("virt@aarch64",)),
            Value("auto"),
        ),
    ),
    Category(
        "tpm_model",
        "TPM model",
        Origin.DOMCAPS,
        ("hw_tpm_model",),
        "COMPUTE_SECURITY_TPM_",
        "SECURITY_TPM_",
        element="devices/tpm",
        enum="model",
        values=(
            Value("tpm-tis", ("tpm-tis",), "TIS"),
            Value("tpm-crb", ("tpm-crb",), "CRB"),
            Value("tpm-spapr", ("tpm-spapr",), "SPAPR"),
        ),
    ),
    Category(
        "tpm_version",
        "TPM version",
        Origin.DOMCAPS,
        ("hw_tpm_version",),
        "COMPUTE_SECURITY_TPM_",
        "SECURITY_TPM_",
        element="devices/tpm",
        enum="backendVersion",
        values=_same("1.2", "2.0"),
    ),
    Category(
        "firmware_type",
        "firmware",
        Origin.DOMCAPS,
        ("hw_firmware_type",),
        "COMPUTE_FIRMWARE_",
        "FIRMWARE_",
        element="os",
        enum="firmware",
        values=(Value("uefi", ("efi",)), Value("bios", ("bios",), families=_PC)),
    ),
    Category(
        "secure_boot",
        "secure boot",
        Origin.DOMCAPS,
        ("os_secure_boot",),
        "COMPUTE_SECURITY_UEFI_",
        "SECURITY_UEFI_",
        element="os/loader",
        enum="secure",
        values=(Value("required", ("yes",), "SECURE_BOOT"),),
    ),
    Category(
        "filesystem_driver",
        "filesystem driver",
        Origin.DOMCAPS,
        (),
        "COMPUTE_STORAGE_",
        "STORAGE_",
        element="devices/filesystem",
        enum="driverType",
        values=(
            Value("virtiofs", ("virtiofs",), "VIRTIO_FS"),
            *_same("path", "handle", "mtp", trait=False),
        ),
    ),
    Category(
        "rng_model",
        "rng model",
        Origin.DOMCAPS,
        ("hw_rng_model",),
        None,
        "RNG_MODEL_",
        element="devices/rng",
        enum="model",
        values=(
            *_same("virtio"),
            *_same("virtio-transitional", "virtio-non-transitional", trait=False),
        ),
    ),
    # shown, never reported: these traits go with inventory, which is Nova's
    Category(
        "memory_encryption",
        "memory encryption",
        Origin.DOMCAPS,
        element="features/launchSecurity",
        enum="sectype",
        values=_same("sev", "sev-snp", "tdx", "s390-pv", "sgx", trait=False),
    ),
)

BY_NAME = {category.name: category for category in CATEGORIES}

#: image property to category; CD-ROM and floppy buses share the storage bus traits
BY_PROPERTY = {name: category for category in CATEGORIES for name in category.properties}

#: machine families that get traits of their own, by native architecture (libvirt's names)
FAMILIES: dict[str, tuple[str, ...]] = {
    "x86_64": ("pc", "q35", "isapc", "microvm"),
    "i686": ("pc", "q35", "isapc", "microvm"),
    "aarch64": ("virt", "sbsa-ref"),
    "armv7l": ("virt",),
    "riscv64": ("virt",),
    "riscv32": ("virt",),
    "loongarch64": ("virt",),
    "ppc64": ("pseries", "powernv"),
    "ppc64le": ("pseries", "powernv"),
    "s390x": ("s390-ccw-virtio",),
}

#: the family an image without hw_machine_type gets, where neither [libvirt] hw_machine_type nor
#: libvirt says otherwise (Nova: nova.virt.libvirt.utils.get_default_machine_type)
DEFAULT_MACHINES: dict[str, str] = {
    "x86_64": "pc",
    "i686": "pc",
    "aarch64": "virt",
    "armv7l": "virt",
    "s390x": "s390-ccw-virtio",
}

#: libvirt's architecture names that os-traits spells in another way
ARCH_WORDS: dict[str, str] = {
    "armv6l": "ARMV6",
    "armv7l": "ARMV7",
    "armv7b": "ARMV7B",
    "hppa": "PARISC",
    "hppa64": "PARISC64",
    "or1k": "OPENRISC",
    "openrisc": "OPENRISC",
}

_ARCHITECTURES = """
aarch64 alpha armv6l armv7b armv7l cris i686 ia64 lm32 loongarch64 m68k microblaze microblazeel
mips mips64 mips64el mipsel openrisc parisc parisc64 ppc ppc64 ppc64le ppcemb ppcle riscv32 riscv64
s390 s390x sh4 sh4eb sparc sparc64 unicore32 x86_64 xtensa xtensaeb
"""
#: what libvirt calls architectures (its virArch), whether there is an emulator here or not
ARCHITECTURES = frozenset(_ARCHITECTURES.split())

HW_ARCH = "HW_ARCH_"
COMPUTE_ARCH = "COMPUTE_ARCH_"
CUSTOM = "CUSTOM_CAPD_"
