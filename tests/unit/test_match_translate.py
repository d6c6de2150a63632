"""Properties to traits, as literals: every category, every spelling, every rule between two."""

from __future__ import annotations

from typing import Optional

import pytest

from capd.match import Origin, Outcome, Status, translate
from capd.match.flavors import Flavor


def one(name: str, value: str, exact: bool = True, **others: str) -> Outcome:
    """The outcome of one property among others."""
    outcomes = translate({name: value, **others}, exact=exact).outcomes
    return outcomes[0]


def asked(outcome: Outcome) -> list[str]:
    assert outcome.status is Status.ASKED, outcome
    return [ask.trait for ask in outcome.asks]


@pytest.mark.parametrize(
    ("name", "value", "exact", "standard"),
    [
        ("hw_disk_bus", "virtio", "DEFAULT_STORAGE_BUS_VIRTIO", "COMPUTE_STORAGE_BUS_VIRTIO"),
        ("hw_cdrom_bus", "sata", "DEFAULT_STORAGE_BUS_SATA", "COMPUTE_STORAGE_BUS_SATA"),
        ("hw_floppy_bus", "fdc", "DEFAULT_STORAGE_BUS_FDC", None),
        ("hw_rescue_bus", "usb", "DEFAULT_STORAGE_BUS_USB", None),
        ("hw_disk_bus", "nvme", "DEFAULT_STORAGE_BUS_NVME", None),
        (
            "hw_video_model",
            "bochs",
            "DEFAULT_GRAPHICS_MODEL_BOCHS",
            "COMPUTE_GRAPHICS_MODEL_BOCHS",
        ),
        ("hw_video_model", "ramfb", "DEFAULT_GRAPHICS_MODEL_RAMFB", None),
        (
            "hw_vif_model",
            "spapr-vlan",
            "DEFAULT_NET_VIF_MODEL_SPAPR_VLAN",
            "COMPUTE_NET_VIF_MODEL_SPAPR_VLAN",
        ),
        ("hw_vif_model", "tulip", "DEFAULT_NET_VIF_MODEL_TULIP", None),
        ("hw_input_bus", "virtio", "DEFAULT_INPUT_BUS_VIRTIO", None),
        ("hw_sound_model", "ich9", "COMPUTE_SOUND_MODEL_ICH9", None),
        ("hw_sound_model", "virtio", "COMPUTE_SOUND_MODEL_VIRTIO", "COMPUTE_SOUND_MODEL_VIRTIO"),
        ("hw_usb_model", "qemu-xhci", "COMPUTE_USB_MODEL_QEMU_XHCI", None),
        ("hw_usb_model", "ich9-ehci1", "USB_MODEL_ICH9_EHCI1", None),
        (
            "hw_viommu_model",
            "intel",
            "COMPUTE_VIOMMU_MODEL_INTEL",
            "COMPUTE_VIOMMU_MODEL_INTEL",
        ),
        ("hw_firmware_type", "uefi", "COMPUTE_FIRMWARE_UEFI", None),
        (
            "os_secure_boot",
            "required",
            "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
            "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
        ),
        ("hw_rng_model", "virtio", "RNG_MODEL_VIRTIO", None),
        ("hw_architecture", "x86_64", "HW_ARCH_X86_64", "HW_ARCH_X86_64"),
        ("hw_machine_type", "pc", "MACHINE_PC", None),
        ("hw_machine_type", "pc-q35-7.2", "MACHINE_PC_Q35_7_2", None),
        ("hw_machine_type", "pseries-rhel9.4.0", "MACHINE_PSERIES_RHEL9_4_0", None),
    ],
)
def test_each_category_exact_and_standard(
    name: str, value: str, exact: str, standard: Optional[str]
) -> None:
    wanted = exact if exact.startswith(("COMPUTE_", "HW_")) else f"CUSTOM_CAPD_{exact}"
    assert asked(one(name, value)) == [wanted]
    outcome = one(name, value, exact=False)
    if standard is None:
        assert (outcome.status, outcome.asks) == (Status.NOTHING, ())
        assert outcome.note
    else:
        assert asked(outcome) == [standard]


def test_with_a_machine_type_the_traits_are_those_of_its_family() -> None:
    translation = translate(
        {
            "hw_machine_type": "pc-q35-7.2",
            "hw_disk_bus": "sata",
            "hw_video_model": "qxl",
            "hw_vif_model": "e1000e",
            "hw_input_bus": "usb",
        }
    )
    assert translation.required == (
        "CUSTOM_CAPD_MACHINE_PC_Q35_7_2",
        "CUSTOM_CAPD_Q35_GRAPHICS_MODEL_QXL",
        "CUSTOM_CAPD_Q35_INPUT_BUS_USB",
        "CUSTOM_CAPD_Q35_NET_VIF_MODEL_E1000E",
        "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",
    )
    assert translation.errors == ()


@pytest.mark.parametrize(
    ("machine", "own", "family"),
    [
        ("q35", "MACHINE_Q35", "Q35"),
        ("pc", "MACHINE_PC", "PC"),
        ("pc-i440fx-noble", "MACHINE_PC_I440FX_NOBLE", "PC"),
        ("pc-q35-rhel9.4.0", "MACHINE_PC_Q35_RHEL9_4_0", "Q35"),
        ("virt-9.1", "MACHINE_VIRT_9_1", "VIRT"),
        ("s390-ccw-virtio", "MACHINE_S390_CCW_VIRTIO", "S390_CCW_VIRTIO"),
        ("isapc", "MACHINE_ISAPC", "ISAPC"),
    ],
)
def test_machine_type_by_alias_and_by_version(machine: str, own: str, family: str) -> None:
    translation = translate({"hw_machine_type": machine, "hw_disk_bus": "scsi"})
    assert translation.required == tuple(
        sorted((f"CUSTOM_CAPD_{own}", f"CUSTOM_CAPD_{family}_STORAGE_BUS_SCSI"))
    )


def test_a_machine_without_family_traits_is_asked_host_wide_and_says_so() -> None:
    machine, bus = translate({"hw_machine_type": "raspi3b", "hw_disk_bus": "scsi"}).outcomes
    assert asked(machine) == ["CUSTOM_CAPD_MACHINE_RASPI3B"]
    assert machine.note == ("no machine family with traits of its own: only this trait is exact")
    assert asked(bus) == ["COMPUTE_STORAGE_BUS_SCSI"]
    assert bus.note == "raspi3b has no family traits: asked of the whole host"


def test_a_family_of_another_architecture_has_no_family_traits_here() -> None:
    _, machine, bus = translate(
        {"hw_architecture": "x86_64", "hw_machine_type": "virt", "hw_disk_bus": "scsi"}
    ).outcomes
    assert machine.note == (
        "no machine family of x86_64 with traits of its own: only this trait is exact"
    )
    assert asked(bus) == ["COMPUTE_STORAGE_BUS_SCSI"]


def test_an_emulated_guest_is_asked_of_hosts_that_publish_its_architecture() -> None:
    translation = translate(
        {
            "hw_architecture": "amd64",
            "hw_emulation_architecture": "aarch64",
            "hw_machine_type": "virt-7.2",
            "hw_disk_bus": "scsi",
            "hw_sound_model": "usb",
        }
    )
    assert translation.required == (
        "COMPUTE_ARCH_AARCH64",
        "COMPUTE_SOUND_MODEL_USB",
        "CUSTOM_CAPD_AARCH64_MACHINE_VIRT_7_2",
        "CUSTOM_CAPD_AARCH64_VIRT_STORAGE_BUS_SCSI",
        "HW_ARCH_X86_64",
    )
    assert translation.outcomes[1].note == (
        "exact traits need hosts with aarch64 in [traits] emulated"
    )
    assert translation.outcomes[4].note == "the trait speaks of the host's own architecture"


def test_an_emulated_guest_without_machine_type() -> None:
    emulation, bus = translate(
        {"hw_emulation_architecture": "aarch64", "hw_disk_bus": "scsi"}
    ).outcomes
    assert "Nova gives such a guest pc unless hw_machine_type" in emulation.note
    assert asked(bus) == ["CUSTOM_CAPD_AARCH64_DEFAULT_STORAGE_BUS_SCSI"]


def test_emulating_the_own_architecture_is_native() -> None:
    translation = translate(
        {
            "hw_architecture": "aarch64",
            "hw_emulation_architecture": "aarch64",
            "hw_machine_type": "virt",
            "hw_disk_bus": "scsi",
        }
    )
    assert "CUSTOM_CAPD_VIRT_STORAGE_BUS_SCSI" in translation.required
    assert "CUSTOM_CAPD_MACHINE_VIRT" in translation.required


def test_an_emulated_machine_without_family_has_no_trait_for_a_bus() -> None:
    outcome = translate(
        {
            "hw_emulation_architecture": "aarch64",
            "hw_machine_type": "raspi3b",
            "hw_disk_bus": "scsi",
        }
    ).outcomes[2]
    assert (outcome.status, outcome.asks) == (Status.NOTHING, ())
    assert outcome.note == "raspi3b has no family traits, and the host's speak of its own guests"


@pytest.mark.parametrize(
    ("name", "given", "canonical", "trait"),
    [
        ("hw_architecture", "amd64", "x86_64", "HW_ARCH_X86_64"),
        ("hw_architecture", "AMD64", "x86_64", "HW_ARCH_X86_64"),
        ("hw_architecture", "i386", "i686", "HW_ARCH_I686"),
        ("hw_architecture", "i586", "i686", "HW_ARCH_I686"),
        ("hw_architecture", "x86_32", "i686", "HW_ARCH_I686"),
        ("architecture", "amd64", "x86_64", "HW_ARCH_X86_64"),
        ("hw_vif_model", "VirtualE1000", "e1000", "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_E1000"),
        ("hw_vif_model", "VirtualE1000e", "e1000e", "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_E1000E"),
        ("hw_vif_model", "VirtualPCNet32", "pcnet", "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_PCNET"),
        (
            "hw_vif_model",
            "VirtualSriovEthernetCard",
            "sriov",
            "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_SRIOV",
        ),
        ("hw_vif_model", "VirtualVmxnet", "vmxnet", "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_VMXNET"),
        ("hw_vif_model", "VirtualVmxnet3", "vmxnet3", "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_VMXNET3"),
        ("hw_vif_model", "E1000", "e1000", "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_E1000"),
        ("vmware_adaptertype", "ide", "ide", "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE"),
        ("vmware_adaptertype", "lsiLogic", "scsi", "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_SCSI"),
    ],
)
def test_spellings_as_operators_write_them(
    name: str, given: str, canonical: str, trait: str
) -> None:
    outcome = one(name, given)
    assert (outcome.value, outcome.canonical, asked(outcome)) == (
        given,
        canonical,
        [trait],
    )


def test_a_legacy_name_gives_way_to_the_current_one() -> None:
    legacy, current = translate({"architecture": "i386", "hw_architecture": "amd64"}).outcomes
    assert (legacy.status, legacy.note) == (
        Status.IGNORED,
        "hw_architecture is given too and counts",
    )
    assert asked(current) == ["HW_ARCH_X86_64"]


def test_b62_one_unknown_value_drops_no_other() -> None:
    good = translate(
        {"hw_disk_bus": "scsi", "hw_video_model": "virtio", "hw_viommu_model": "intel"},
        exact=False,
    )
    assert good.required == (
        "COMPUTE_GRAPHICS_MODEL_VIRTIO",
        "COMPUTE_STORAGE_BUS_SCSI",
        "COMPUTE_VIOMMU_MODEL_INTEL",
    )
    assert good.errors == ()
    bad = translate(
        {"hw_disk_bus": "scsi", "hw_video_model": "virtio", "hw_viommu_model": "foo"},
        exact=False,
    )
    assert bad.required == ("COMPUTE_GRAPHICS_MODEL_VIRTIO", "COMPUTE_STORAGE_BUS_SCSI")
    (error,) = bad.errors
    assert (error.name, error.value, error.note) == (
        "hw_viommu_model",
        "foo",
        "'foo' is no vIOMMU model",
    )
    assert error.choices == ("intel", "smmuv3", "virtio", "auto")


def test_b34_the_kind_of_device_counts() -> None:
    assert asked(one("hw_disk_bus", "virtio")) == ["CUSTOM_CAPD_DEFAULT_STORAGE_BUS_VIRTIO"]
    for exact in (True, False):
        outcome = one("hw_cdrom_bus", "virtio", exact=exact)
        assert (outcome.status, outcome.asks, outcome.note, outcome.choices) == (
            Status.ERROR,
            (),
            "a CD-ROM cannot be on bus virtio, which has no removable media",
            ("ide", "sata", "scsi", "usb", "xen", "lxc", "uml"),
        )


@pytest.mark.parametrize(
    ("name", "bus", "note"),
    [
        ("hw_cdrom_bus", "nvme", "a CD-ROM cannot be on bus nvme, which has no removable media"),
        ("hw_cdrom_bus", "sd", "a CD-ROM cannot be on bus sd, which has no removable media"),
        ("hw_cdrom_bus", "fdc", "a CD-ROM cannot be on bus fdc, which is for floppy disks"),
        (
            "hw_disk_bus",
            "fdc",
            "a hard disk cannot be on bus fdc, which is for floppy disks",
        ),
        ("hw_floppy_bus", "ide", "a floppy disk cannot be on bus ide, only on fdc"),
        ("hw_floppy_bus", "virtio", "a floppy disk cannot be on bus virtio, only on fdc"),
    ],
)
def test_buses_that_cannot_carry_the_device(name: str, bus: str, note: str) -> None:
    outcome = one(name, bus)
    assert (outcome.status, outcome.asks, outcome.note) == (Status.ERROR, (), note)


def test_a_rescue_bus_carries_what_the_rescue_device_is() -> None:
    assert one("hw_rescue_bus", "virtio").status is Status.ASKED
    outcome = one("hw_rescue_bus", "virtio", hw_rescue_device="cdrom")
    assert outcome.note == "a CD-ROM cannot be on bus virtio, which has no removable media"


def test_a_tablet_without_a_bus_is_on_usb() -> None:
    assert asked(one("hw_pointer_model", "usbtablet", hw_machine_type="q35")) == [
        "CUSTOM_CAPD_Q35_POINTER_MODEL_USBTABLET",
        "CUSTOM_CAPD_Q35_INPUT_BUS_USB",
    ]
    assert asked(one("hw_pointer_model", "usbtablet", hw_input_bus="virtio")) == [
        "CUSTOM_CAPD_DEFAULT_POINTER_MODEL_USBTABLET"
    ]
    assert one("hw_pointer_model", "ps2mouse").choices == ("usbtablet",)


def test_a_tpm_is_tis_unless_a_model_is_named() -> None:
    for exact in (True, False):
        assert asked(one("hw_tpm_version", "2.0", exact)) == [
            "COMPUTE_SECURITY_TPM_2_0",
            "COMPUTE_SECURITY_TPM_TIS",
        ]
        assert asked(one("hw_tpm_version", "2.0", exact, hw_tpm_model="tpm-crb")) == [
            "COMPUTE_SECURITY_TPM_2_0"
        ]
    assert one("hw_tpm_model", "tpm-crb", hw_tpm_version="1.2").note == (
        "tpm-crb needs hw_tpm_version=2.0"
    )
    assert one("hw_tpm_model", "tpm-tis").note == "without hw_tpm_version Nova adds no TPM"
    assert one("hw_tpm_model", "tpm-tis", exact=False).status is Status.NOTHING


@pytest.mark.parametrize(
    ("name", "value"),
    [("os_secure_boot", "disabled"), ("os_secure_boot", "optional"), ("hw_usb_model", "none")],
)
def test_values_that_ask_for_nothing(name: str, value: str) -> None:
    outcome = one(name, value)
    assert (outcome.status, outcome.asks) == (Status.NOTHING, ())


@pytest.mark.parametrize(
    ("arch", "exact", "standard"),
    [
        ("riscv64", "CUSTOM_CAPD_HW_ARCH_RISCV64", None),
        ("loongarch64", "CUSTOM_CAPD_HW_ARCH_LOONGARCH64", None),
        ("armv6l", "HW_ARCH_ARMV6", "HW_ARCH_ARMV6"),
        ("armv6", "HW_ARCH_ARMV6", "HW_ARCH_ARMV6"),
        ("armv7l", "HW_ARCH_ARMV7", "HW_ARCH_ARMV7"),
        ("ppc64", "HW_ARCH_PPC64", "HW_ARCH_PPC64"),
        ("ppc64le", "HW_ARCH_PPC64LE", "HW_ARCH_PPC64LE"),
    ],
)
def test_b64_architectures_that_os_traits_lacks_or_calls_otherwise(
    arch: str, exact: str, standard: Optional[str]
) -> None:
    assert asked(one("hw_architecture", arch)) == [exact]
    outcome = one("hw_architecture", arch, exact=False)
    if standard is None:
        assert outcome.note == f"there is no standard trait for {arch}"
    else:
        assert asked(outcome) == [standard]


@pytest.mark.parametrize(
    ("arch", "exact"),
    [
        ("i686", "CUSTOM_CAPD_ARCH_I686"),
        ("ppc64", "CUSTOM_CAPD_ARCH_PPC64"),
        ("ppc64le", "COMPUTE_ARCH_PPC64LE"),
        ("riscv64", "COMPUTE_ARCH_RISCV64"),
        ("mipsel", "COMPUTE_ARCH_MIPSEL"),
    ],
)
def test_b64_emulated_architectures(arch: str, exact: str) -> None:
    assert asked(one("hw_emulation_architecture", arch)) == [exact]


@pytest.mark.parametrize(
    ("name", "value"), [("hw_disk_bus", "sd"), ("hw_video_model", "vbox"), ("hw_disk_bus", "nvme")]
)
def test_b64_values_without_a_standard_trait(name: str, value: str) -> None:
    outcome = one(name, value, exact=False)
    assert (outcome.status, outcome.note) == (
        Status.NOTHING,
        f"there is no standard trait for {value}",
    )
    assert one(name, value).note == "Nova itself does not take this value"


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [
        ("hw_disk_bus", "floppy", "'floppy' is no disk bus"),
        ("hw_disk_bus", "SCSI", "'SCSI' is no disk bus; did you mean scsi?"),
        ("hw_disk_bus", "", "'' is no disk bus"),
        ("hw_video_model", "qxll", "'qxll' is no video model; did you mean qxl?"),
        ("hw_vif_model", "e1001", "'e1001' is no vif model; did you mean e1000?"),
        ("hw_architecture", "arm64", "'arm64' is no architecture; did you mean aarch64?"),
        ("hw_architecture", "vax", "'vax' is no architecture"),
        ("hw_machine_type", "", "'' cannot be the name of a machine type"),
        ("hw_machine_type", "q 35", "'q 35' cannot be the name of a machine type"),
        ("hw_machine_type", "x" * 300, f"{'x' * 300!r} cannot be the name of a machine type"),
        ("trait:custom_x", "required", "'custom_x' cannot be the name of a trait"),
        ("trait:CUSTOM_X", "preferred", "'preferred' asks for nothing"),
    ],
)
def test_wrong_values_are_named(name: str, value: str, note: str) -> None:
    outcome = one(name, value)
    assert (outcome.status, outcome.asks, outcome.note) == (Status.ERROR, (), note)


def test_a_machine_type_in_capitals_is_asked_and_doubted() -> None:
    assert one("hw_machine_type", "Q35").note == (
        "machine types are case-sensitive: did you mean q35?"
    )


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("hw_qemu_guest_agent", "asks for no device that capd reports"),
        ("os_distro", "asks for no device that capd reports"),
        ("hw_mem_encryption", "memory encryption carries inventory and is Nova's to schedule"),
        ("my_own_key", "capd and Nova do not know this property"),
    ],
)
def test_properties_that_say_nothing_of_devices(name: str, note: str) -> None:
    outcome = one(name, "yes")
    assert (outcome.status, outcome.note) == (Status.IGNORED, note)


def test_no_properties_ask_for_nothing() -> None:
    translation = translate({})
    assert (translation.outcomes, translation.required, translation.forbidden) == ((), (), ())


def test_named_traits_pass_through() -> None:
    translation = translate(
        {"trait:CUSTOM_GOLD": "required", "trait:HW_CPU_X86_SGX": "forbidden"},
        Flavor(extra_specs={"trait:CUSTOM_RACK_7": "forbidden", "trait:OWNER_NOVA": "required"}),
    )
    assert translation.required == ("CUSTOM_GOLD", "OWNER_NOVA")
    assert translation.forbidden == ("CUSTOM_RACK_7", "HW_CPU_X86_SGX")
    assert translation.passed == {
        "CUSTOM_GOLD",
        "OWNER_NOVA",
        "CUSTOM_RACK_7",
        "HW_CPU_X86_SGX",
    }
    assert translation.derived() == ()
    assert translation.outcomes[1].note == "Nova itself reads only required from an image"


def test_a_trait_required_and_forbidden_is_an_error() -> None:
    translation = translate(
        {"trait:CUSTOM_GOLD": "required", "hw_disk_bus": "ide"},
        Flavor(extra_specs={"trait:CUSTOM_GOLD": "forbidden"}),
    )
    assert [error.name for error in translation.errors] == ["trait:CUSTOM_GOLD"] * 2
    assert translation.required == ("CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE",)
    assert translation.forbidden == ()


def test_a_flavor_speaks_of_devices_too() -> None:
    translation = translate(
        {"hw_disk_bus": "virtio"},
        Flavor(
            extra_specs={
                "hw:tpm_version": "2.0",
                "hw:tpm_model": "tpm-crb",
                "os:secure_boot": "required",
                "hw:disk_bus": "ide",
                "resources:VGPU": "1",
                "trait1:CUSTOM_GPU": "required",
            }
        ),
    )
    assert translation.derived(Origin.FLAVOR) == (
        "COMPUTE_SECURITY_TPM_2_0",
        "COMPUTE_SECURITY_TPM_CRB",
        "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
    )
    assert translation.derived(Origin.IMAGE) == ("CUSTOM_CAPD_DEFAULT_STORAGE_BUS_VIRTIO",)
    assert [outcome.status for outcome in translation.outcomes[-3:]] == [
        Status.IGNORED,
        Status.NOTHING,
        Status.NOTHING,
    ]


def test_a_flavor_that_differs_from_the_image_is_an_error() -> None:
    translation = translate(
        {"hw_tpm_version": "1.2", "hw_video_model": "vga"},
        Flavor(extra_specs={"hw:tpm_version": "2.0"}),
    )
    assert [(error.name, error.note) for error in translation.errors] == [
        ("hw_tpm_version", "conflicts with hw:tpm_version=2.0 of the flavor"),
        ("hw:tpm_version", "conflicts with hw_tpm_version=1.2 of the image"),
    ]
    assert translation.required == ("CUSTOM_CAPD_DEFAULT_GRAPHICS_MODEL_VGA",)
    same = translate({"hw_tpm_version": "2.0"}, Flavor(extra_specs={"hw:tpm_version": "2.0"}))
    assert same.errors == ()


def test_of_two_viommu_models_the_flavors_counts() -> None:
    image, flavor = translate(
        {"hw_viommu_model": "virtio"}, Flavor(extra_specs={"hw:viommu_model": "intel"})
    ).outcomes
    assert (image.status, image.note) == (
        Status.IGNORED,
        "hw:viommu_model is given too and counts",
    )
    assert asked(flavor) == ["COMPUTE_VIOMMU_MODEL_INTEL"]


def test_a_volume_backed_image_asks_for_the_buses_of_its_mapping() -> None:
    mapping = (
        '[{"boot_index": 0, "device_type": "disk", "disk_bus": "scsi"},'
        ' {"boot_index": null, "device_type": "cdrom", "disk_bus": "sata"}, {"boot_index": -1}]'
    )
    outcome = one("block_device_mapping", mapping, hw_machine_type="q35")
    assert asked(outcome) == [
        "CUSTOM_CAPD_Q35_STORAGE_BUS_SCSI",
        "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",
    ]
    for text in ("[]", "not json", "{}", '["x"]', '[{"boot_index": 0}]'):
        assert one("block_device_mapping", text).status is Status.NOTHING
    bad = '[{"device_type": "cdrom", "disk_bus": "virtio"}]'
    assert one("block_device_mapping", bad).status is Status.ERROR
    assert one("block_device_mapping", mapping, exact=False).status is Status.NOTHING


def test_values_that_no_source_can_tell_are_asked_with_a_warning() -> None:
    outcome = one("hw_vif_model", "lan9118", hw_machine_type="q35")
    assert asked(outcome) == ["CUSTOM_CAPD_Q35_NET_VIF_MODEL_LAN9118"]
    assert outcome.note == "no source names it: capd never reports it"


def test_a_value_that_no_image_can_have_is_said_to_have_no_trait() -> None:
    outcome = one("hw_vif_model", "rocker")
    assert (outcome.status, outcome.asks) == (Status.NOTHING, ())
    assert outcome.note == "Nova itself does not take this value; capd reports no trait for it"


def test_translation_is_pure_and_needs_no_network_code() -> None:
    import subprocess
    import sys

    from tests.rig.program import environment

    code = (
        "import sys, capd.match\n"
        "bad = {'requests', 'keystoneauth1', 'libvirt', 'oslo_config', 'sqlite3', 'lxml'}\n"
        "print(sorted(bad & set(sys.modules)))\n"
    )
    # without coverage, which imports sqlite3 itself
    env = environment(measured=True)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout == "[]\n"
