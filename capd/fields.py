"""What each image property is in Nova: an enumeration with its spellings, text, a number, ...

Facts of Nova 34 (`nova.objects.image_meta.ImageMetaProps` 1.44 and `nova.objects.fields`), held
here so that neither a compute node's agent nor a controller's command needs Nova's code. A test
puts every name and many values before Nova itself and compares. `capd.properties` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Kind(str, Enum):
    """How Nova reads a property's text."""

    ENUM = "enum"
    TEXT = "text"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    PREDICATE = "version predicate"
    LIST = "list"  # cannot be given as text
    UNREAD = "unread"  # known as a name, but the value is not looked at


@dataclass(frozen=True)
class Field:
    """One image property.

    `values` are the canonical values of an enumeration; `fold` says that the case of letters does
    not matter; `spellings` maps other accepted words (lower case) to canonical ones; `complaint`
    is Nova's text for a wrong value, with `{given}` as given and `{word}` as folded.
    """

    kind: Kind
    values: tuple[str, ...] = ()
    fold: bool = False
    spellings: Mapping[str, str] = field(default_factory=dict)
    complaint: str = "Field value {word} is invalid"


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _words(text: str) -> Field:
    return Field(Kind.ENUM, _split(text))


_TEXT, _INTEGER, _BOOLEAN, _LIST, _UNREAD = (
    Field(kind) for kind in (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.LIST, Kind.UNREAD)
)

DISK_BUS = _words("fdc ide sata scsi usb virtio xen lxc uml")

_ARCHITECTURE = Field(
    Kind.ENUM,
    _split(
        "alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips "
        "mipsel mips64 mips64el openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 "
        "s390x sh4 sh4eb sparc sparc64 unicore32 x86_64 xtensa xtensaeb"
    ),
    fold=True,
    spellings={
        "i386": "i686",
        "i486": "i686",
        "i586": "i686",
        "x86_32": "i686",
        "x86_32p": "i686",
        "amd64": "x86_64",
    },
    complaint="Architecture name '{given}' is not valid",
)
_HYPERVISOR = Field(
    Kind.ENUM,
    _split(
        "baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz parallels phyp qemu "
        "test uml vbox vz vmware xen zvm prsm"
    ),
    fold=True,
    spellings={"xapi": "xen"},
    complaint="Hypervisor virt type '{given}' is not valid",
)
_VM_MODE = Field(
    Kind.ENUM,
    ("hvm", "xen", "uml", "exe"),
    fold=True,
    spellings={"pv": "xen", "hv": "hvm", "baremetal": "hvm"},
    complaint="Virtual machine mode '{given}' is not valid",
)
_VIF_MODEL = Field(
    Kind.ENUM,
    _split(
        "virtio ne2k_pci pcnet rtl8139 e1000 e1000e netfront spapr-vlan lan9118 sriov vmxnet "
        "vmxnet3 igb"
    ),
    fold=True,
    spellings={
        "virtuale1000": "e1000",
        "virtuale1000e": "e1000e",
        "virtualpcnet32": "pcnet",
        "virtualsriovethernetcard": "sriov",
        "virtualvmxnet": "vmxnet",
        "virtualvmxnet3": "vmxnet3",
    },
)
_SCSI_MODEL = Field(
    Kind.ENUM,
    _split("buslogic ibmvscsi lsilogic lsisas1068 lsisas1078 virtio-scsi vmpvscsi"),
    fold=True,
    spellings={"lsilogicsas": "lsisas1068", "paravirtual": "vmpvscsi"},
)

#: every image property Nova knows, in Nova's order
FIELDS: dict[str, Field] = {
    "hw_architecture": _ARCHITECTURE,
    "hw_emulation_architecture": _ARCHITECTURE,
    "hw_auto_disk_config": _TEXT,
    "hw_boot_menu": _BOOLEAN,
    "hw_cdrom_bus": DISK_BUS,
    "hw_cpu_cores": _INTEGER,
    "hw_cpu_sockets": _INTEGER,
    "hw_cpu_max_cores": _INTEGER,
    "hw_cpu_max_sockets": _INTEGER,
    "hw_cpu_max_threads": _INTEGER,
    "hw_cpu_policy": _words("dedicated shared mixed"),
    "hw_cpu_thread_policy": _words("prefer isolate require"),
    "hw_cpu_realtime_mask": _TEXT,
    "hw_cpu_threads": _INTEGER,
    "hw_device_id": _INTEGER,
    "hw_disk_bus": DISK_BUS,
    "hw_disk_type": _TEXT,
    "hw_floppy_bus": DISK_BUS,
    "hw_firmware_type": _words("uefi bios"),
    "hw_firmware_stateless": _BOOLEAN,
    "hw_input_bus": _words("usb virtio"),
    "hw_ipxe_boot": _BOOLEAN,
    "hw_locked_memory": _BOOLEAN,
    "hw_machine_type": _TEXT,
    "hw_mem_encryption": _BOOLEAN,
    "hw_mem_encryption_model": _words("amd-sev amd-sev-es amd-sev-snp intel-tdx"),
    "hw_mem_page_size": _TEXT,
    "hw_numa_nodes": _INTEGER,
    "hw_numa_cpus": _UNREAD,
    "hw_numa_mem": _UNREAD,
    "hw_pci_numa_affinity_policy": _words("required legacy preferred socket"),
    "hw_pointer_model": _words("usbtablet"),
    "hw_pmu": _BOOLEAN,
    "hw_qemu_guest_agent": _BOOLEAN,
    "hw_rescue_bus": DISK_BUS,
    "hw_rescue_device": _words("cdrom disk floppy fs lun"),
    "hw_rng_model": _words("virtio"),
    "hw_time_hpet": _BOOLEAN,
    "hw_serial_port_count": _INTEGER,
    "hw_scsi_model": _SCSI_MODEL,
    "hw_video_model": _words("cirrus qxl vga vmvga xen virtio gop none bochs"),
    "hw_video_ram": _INTEGER,
    "hw_vif_model": _VIF_MODEL,
    "hw_viommu_model": _words("intel smmuv3 virtio auto"),
    "hw_vm_mode": _VM_MODE,
    "hw_watchdog_action": _words("none pause poweroff reset disabled"),
    "hw_vif_multiqueue_enabled": _BOOLEAN,
    "hw_tpm_model": _words("tpm-tis tpm-crb"),
    "hw_tpm_version": _words("1.2 2.0"),
    "hw_ephemeral_encryption": _BOOLEAN,
    "hw_ephemeral_encryption_format": _words("plain luks luksv2"),
    "hw_ephemeral_encryption_secret_uuid": _TEXT,
    "hw_virtio_packed_ring": _BOOLEAN,
    "hw_maxphysaddr_mode": _words("passthrough emulate"),
    "hw_maxphysaddr_bits": _INTEGER,
    "hw_sound_model": _words("sb16 es1370 pcspk ac97 ich6 ich9 usb virtio"),
    "hw_usb_model": _words("none nec-xhci qemu-xhci"),
    "hw_redirected_usb_ports": _INTEGER,
    "img_bittorrent": _BOOLEAN,
    "img_bdm_v2": _BOOLEAN,
    "img_block_device_mapping": _LIST,
    "img_cache_in_nova": _BOOLEAN,
    "img_compression_level": _INTEGER,
    "img_hv_requested_version": Field(Kind.PREDICATE),
    "img_hv_type": _HYPERVISOR,
    "img_config_drive": _words("optional mandatory"),
    "img_linked_clone": _BOOLEAN,
    "img_mappings": _LIST,
    "img_owner_id": _TEXT,
    "img_root_device_name": _TEXT,
    "img_use_agent": _BOOLEAN,
    "img_version": _INTEGER,
    "img_signature": _TEXT,
    "img_signature_hash_method": _words("SHA-224 SHA-256 SHA-384 SHA-512"),
    "img_signature_certificate_uuid": _TEXT,
    "img_signature_key_type": _words(
        "DSA ECC_SECP384R1 ECC_SECP521R1 ECC_SECT409K1 ECC_SECT409R1 ECC_SECT571K1 ECC_SECT571R1 "
        "RSA-PSS"
    ),
    "img_hide_hypervisor_id": _BOOLEAN,
    "os_admin_user": _TEXT,
    "os_command_line": _TEXT,
    "os_distro": _TEXT,
    "os_require_quiesce": _BOOLEAN,
    "os_secure_boot": _words("required disabled optional"),
    "os_skip_agent_inject_files_at_boot": _BOOLEAN,
    "os_skip_agent_inject_ssh": _BOOLEAN,
    "os_type": Field(Kind.ENUM, ("linux", "windows"), fold=True),
    "traits_required": _UNREAD,
}

#: names that images may still carry; `set` does not take them
LEGACY_NAMES: dict[str, str] = {
    "architecture": "hw_architecture",
    "owner_id": "img_owner_id",
    "vmware_disktype": "hw_disk_type",
    "vmware_image_version": "img_version",
    "vmware_ostype": "os_distro",
    "auto_disk_config": "hw_auto_disk_config",
    "ipxe_boot": "hw_ipxe_boot",
    "xenapi_device_id": "hw_device_id",
    "xenapi_image_compression_level": "img_compression_level",
    "vmware_linked_clone": "img_linked_clone",
    "xenapi_use_agent": "img_use_agent",
    "xenapi_skip_agent_inject_ssh": "os_skip_agent_inject_ssh",
    "xenapi_skip_agent_inject_files_at_boot": "os_skip_agent_inject_files_at_boot",
    "cache_in_nova": "img_cache_in_nova",
    "vm_mode": "hw_vm_mode",
    "bittorrent": "img_bittorrent",
    "mappings": "img_mappings",
    "block_device_mapping": "img_block_device_mapping",
    "bdm_v2": "img_bdm_v2",
    "root_device_name": "img_root_device_name",
    "hypervisor_version_requires": "img_hv_requested_version",
    "hypervisor_type": "img_hv_type",
}
