"""Documents, listings, domain capabilities, device lists and names, one at a time."""

from __future__ import annotations

import pytest

from capd import capabilities, devices, documents, domcaps, names
from capd.errors import DocumentError, EmulatorError
from capd.facts import Support
from capd.table import BY_NAME, CATEGORIES

DOMCAPS = """<domainCapabilities>
  <path>/usr/bin/qemu-system-x86_64</path>
  <domain>kvm</domain>
  <machine>{machine}</machine>
  <arch>x86_64</arch>
  <cpu>
    <mode name='custom'/>
  </cpu>
  <devices>
    {devices}
  </devices>
</domainCapabilities>"""


def claims(devices_xml: str) -> domcaps.Claims:
    return domcaps.Reader().read(DOMCAPS.format(machine="pc", devices=devices_xml), "test")


def test_yes_no_and_unknown_are_three_things() -> None:
    found = claims(
        "<disk supported='yes'><enum name='bus'><value>ide</value></enum></disk>"
        "<video supported='no'/><tpm supported='yes'/>"
    )
    assert found["disk_bus"].support("ide") is Support.YES
    assert found["disk_bus"].support("sata") is Support.NO
    assert found["video_model"].support("vga") is Support.NO
    assert found["rng_model"].support("virtio") is Support.UNKNOWN
    assert found["tpm_model"].support("tpm-tis") is Support.UNKNOWN


def test_a_tpm_without_an_emulator_backend_is_not_one() -> None:
    tpm = (
        "<tpm supported='yes'><enum name='model'><value>tpm-crb</value></enum>"
        "<enum name='backendModel'>{}</enum>"
        "<enum name='backendVersion'><value>2.0</value></enum></tpm>"
    )
    found = claims(tpm.format("<value>passthrough</value>"))
    assert (found["tpm_model"].values, found["tpm_version"].values) == (frozenset(), frozenset())
    found = claims(tpm.format("<value>passthrough</value><value>emulator</value>"))
    assert found["tpm_model"].values == {"tpm-crb"}
    assert found["tpm_version"].values == {"2.0"}


@pytest.mark.parametrize(
    ("features", "found"),
    [
        ("", None),
        ("<sev supported='no'/>", frozenset()),
        ("<sev supported='yes'><cbitpos>47</cbitpos></sev><sgx supported='no'/>", {"sev"}),
        (
            "<sgx supported='yes'/><launchSecurity supported='yes'><enum name='sectype'>"
            "<value>sev</value><value>tdx</value></enum></launchSecurity>",
            {"sev", "sgx", "tdx"},
        ),
    ],
)
def test_memory_encryption_is_read_and_has_no_trait(features: str, found: object) -> None:
    text = DOMCAPS.format(machine="q35", devices="")
    text = text.replace("</devices>", f"</devices><features>{features}</features>")
    read = domcaps.Reader().read(text, "test")["memory_encryption"]
    assert read.values == found
    assert names.value_trait(BY_NAME["memory_encryption"], "sev") is None


def test_cdrom_and_floppy_buses_follow_the_media_that_are_listed() -> None:
    disk = (
        "<disk supported='yes'><enum name='diskDevice'>{}</enum><enum name='bus'>"
        "<value>ide</value><value>virtio</value><value>fdc</value></enum></disk>"
    )
    found = claims(disk.format("<value>disk</value><value>cdrom</value><value>floppy</value>"))
    assert found["cdrom_bus"].values == {"ide"}
    assert found["floppy_bus"].values == {"fdc"}
    found = claims(disk.format("<value>disk</value>"))
    assert found["cdrom_bus"].values == frozenset()
    found = claims("<disk supported='yes'><enum name='bus'><value>ide</value></enum></disk>")
    assert found["cdrom_bus"].values is None


def test_only_anchored_elements_count() -> None:
    found = claims(
        "<redirdev supported='yes'><enum name='bus'><value>usb</value></enum></redirdev>"
    )
    assert found["disk_bus"].values is None


def test_equal_remainders_are_parsed_once_and_forgotten_when_unused() -> None:
    reader = domcaps.Reader()
    video = "<video supported='yes'><enum name='modelType'><value>vga</value></enum></video>"
    first = reader.read(DOMCAPS.format(machine="pc-i440fx-7.2", devices=video), "a")
    second = reader.read(DOMCAPS.format(machine="pc-q35-7.2", devices=video), "b")
    assert first is second
    reader.forget_unused()
    reader.forget_unused()
    assert reader.read(DOMCAPS.format(machine="pc", devices=video), "c") is not first


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<domainCapabilities><devices>", "not well-formed"),
        ("", "not well-formed"),
        ("\x00\x01", "not well-formed"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", "document type declarations are refused"),
        ("<capabilities/>", "expected <domainCapabilities>, found <capabilities>"),
        ("<a>" * 3000 + "</a>" * 3000, "not well-formed"),
    ],
)
def test_hostile_documents_are_named_errors(text: str, words: str) -> None:
    with pytest.raises(DocumentError, match=words) as caught:
        domcaps.Reader().read(text, "x86_64 pc kvm")
    assert caught.value.culprit == "x86_64 pc kvm"


def test_a_huge_document_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_SIZE", 100)
    with pytest.raises(DocumentError, match="larger than any libvirt sends"):
        documents.parse("<a>" + "x" * 200 + "</a>", "big")


def test_listing_honours_overrides_inside_domain_and_marks_the_default() -> None:
    listing = capabilities.read(
        """<capabilities><host><cpu><arch>x86_64</arch></cpu></host><guest>
        <os_type>hvm</os_type><arch name='x86_64'><emulator>/bin/a</emulator>
        <machine canonical='pc-1'>pc</machine><machine deprecated='yes'>pc-1</machine>
        <domain type='qemu'/><domain type='kvm'><emulator>/bin/b</emulator>
        <machine>q35-1</machine></domain></arch></guest></capabilities>"""
    )
    rows = [
        (row.virt_type, row.machine, row.canonical, row.emulator, row.default, row.deprecated)
        for row in listing.combinations
    ]
    assert rows == [
        ("qemu", "pc", "pc-1", "/bin/a", True, False),
        ("qemu", "pc-1", None, "/bin/a", False, True),
        ("kvm", "q35-1", None, "/bin/b", True, False),
    ]
    assert listing.emulators() == {"/bin/a": "x86_64", "/bin/b": "x86_64"}


def test_listing_without_guests_machines_or_emulator() -> None:
    empty = capabilities.read("<capabilities><host/></capabilities>")
    assert (empty.host_arch, empty.combinations) == ("", ())
    lxc = capabilities.read(
        "<capabilities><guest><os_type>exe</os_type><arch name='x86_64'>"
        "<domain type='lxc'/></arch></guest></capabilities>"
    )
    (row,) = lxc.combinations
    # B24: None goes to libvirt where nothing is named, never an empty string
    assert (row.machine, row.emulator) == (None, None)


def test_device_list() -> None:
    listed = devices.read(
        'Network devices:\nname "e1000", bus PCI, alias "x"\nname "shiny-net", bus PCI\n\n'
        'Sound devices:\nname "ES1370", bus PCI\n',
        "/bin/qemu",
    )
    found = devices.claims(listed)
    assert found["vif_model"].values == {"e1000", "shiny-net"}
    assert found["sound_model"].values == {"es1370"}
    assert found["input_bus"].values == frozenset()


def test_junk_instead_of_a_device_list() -> None:
    with pytest.raises(EmulatorError, match="/bin/qemu did not answer with a device list"):
        devices.read("Illegal instruction\n\x00\xff", "/bin/qemu")


@pytest.mark.parametrize(
    ("category", "value", "trait"),
    [
        ("disk_bus", "virtio", "COMPUTE_STORAGE_BUS_VIRTIO"),
        ("disk_bus", "nvme", "CUSTOM_CAPD_STORAGE_BUS_NVME"),
        ("disk_bus", "sd", "CUSTOM_CAPD_STORAGE_BUS_SD"),
        ("video_model", "qxl", "COMPUTE_GRAPHICS_MODEL_QXL"),
        ("video_model", "ramfb", "CUSTOM_CAPD_GRAPHICS_MODEL_RAMFB"),
        ("video_model", "vbox", "CUSTOM_CAPD_GRAPHICS_MODEL_VBOX"),
        ("vif_model", "spapr-vlan", "COMPUTE_NET_VIF_MODEL_SPAPR_VLAN"),
        ("vif_model", "tulip", "CUSTOM_CAPD_NET_VIF_MODEL_TULIP"),
        ("vif_model", "i82551", None),
        ("input_bus", "virtio", "CUSTOM_CAPD_INPUT_BUS_VIRTIO"),
        ("input_bus", "ps2", None),
        ("pointer_model", "usbtablet", "CUSTOM_CAPD_POINTER_MODEL_USBTABLET"),
        ("sound_model", "ich9", "COMPUTE_SOUND_MODEL_ICH9"),
        ("usb_model", "qemu-xhci", "COMPUTE_USB_MODEL_QEMU_XHCI"),
        ("viommu_model", "smmuv3", "COMPUTE_VIOMMU_MODEL_SMMUV3"),
        ("tpm_model", "tpm-tis", "COMPUTE_SECURITY_TPM_TIS"),
        ("tpm_version", "2.0", "COMPUTE_SECURITY_TPM_2_0"),
        ("tpm_model", "tpm-spapr", "CUSTOM_CAPD_SECURITY_TPM_SPAPR"),
        ("firmware_type", "uefi", "COMPUTE_FIRMWARE_UEFI"),
        ("secure_boot", "required", "COMPUTE_SECURITY_UEFI_SECURE_BOOT"),
        ("filesystem_driver", "virtiofs", "COMPUTE_STORAGE_VIRTIO_FS"),
        ("filesystem_driver", "path", None),
        ("rng_model", "virtio", "CUSTOM_CAPD_RNG_MODEL_VIRTIO"),
        ("cdrom_bus", "ide", None),
    ],
)
def test_value_traits(category: str, value: str, trait: str) -> None:
    assert names.value_trait(BY_NAME[category], value) == trait


def test_family_default_machine_and_architecture_traits() -> None:
    disk = BY_NAME["disk_bus"]
    assert names.family_trait(disk, "sata", "q35") == "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA"
    assert names.default_trait(disk, "ide") == "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE"
    assert (
        names.family_trait(disk, "scsi", "virt", "aarch64")
        == "CUSTOM_CAPD_AARCH64_VIRT_STORAGE_BUS_SCSI"
    )
    assert names.family_trait(BY_NAME["sound_model"], "ac97", "q35") is None
    assert names.machine_trait("pc-q35-7.2") == "CUSTOM_CAPD_MACHINE_PC_Q35_7_2"
    assert names.host_arch_trait("x86_64") == "HW_ARCH_X86_64"
    assert names.host_arch_trait("armv7l") == "HW_ARCH_ARMV7"
    assert names.host_arch_trait("riscv64") == "CUSTOM_CAPD_HW_ARCH_RISCV64"
    assert names.host_arch_trait("ppc64") == "HW_ARCH_PPC64"
    assert names.host_arch_trait("ppc64le") == "HW_ARCH_PPC64LE"
    assert names.emulated_arch_trait("aarch64") == "COMPUTE_ARCH_AARCH64"
    assert names.emulated_arch_trait("i686") == "CUSTOM_CAPD_ARCH_I686"


@pytest.mark.parametrize(
    ("machine", "family"),
    [
        ("pc", "pc"),
        ("pc-i440fx-7.2", "pc"),
        ("pc-0.12", "pc"),
        ("pc-i440fx-noble", "pc"),
        ("pc-i440fx-jammy-hpb", "pc"),
        ("q35", "q35"),
        ("pc-q35-rhel9.4.0", "q35"),
        ("pc-q35-4.0.1", "q35"),
        ("virt-7.2", "virt"),
        ("virt-rhel9.4.0", "virt"),
        ("pseries-2.12-sxxm", "pseries"),
        ("s390-ccw-virtio-10.0", "s390-ccw-virtio"),
        ("isapc", "isapc"),
        ("powernv9", "powernv9"),
        ("g3beige", "g3beige"),
    ],
)
def test_families(machine: str, family: str) -> None:
    assert names.family(machine) == family


def test_b13_machine_traits_are_valid_and_never_merge() -> None:
    machines = ["pc-q35-10.0", "pc-q35-100", "pc_q35_10.0", "pc-q35.10.0", "PC-Q35-10.0",
                "pc-q35-10+0", "x" * 300, "x" * 301, "foo-1-2", "foo-1.2", "foo1.2"]  # fmt: skip
    traits = {names.machine_trait(machine) for machine in machines}
    assert len(traits) == len(machines)
    for trait in traits:
        assert len(trait) <= 255
        assert set(trait) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def test_b64_every_name_in_the_table_has_a_trait_or_explicitly_none() -> None:
    for category in CATEGORIES:
        for value in category.values:
            trait = names.value_trait(category, value.name)
            if category.custom is None or not value.trait:
                assert trait is None
            else:
                assert trait is not None
                assert trait.startswith(("COMPUTE_", "CUSTOM_CAPD_"))


def test_no_two_values_share_a_trait() -> None:
    seen: dict[str, str] = {}
    for category in CATEGORIES:
        for value in category.values:
            trait = names.value_trait(category, value.name)
            if trait is not None:
                assert seen.setdefault(trait, f"{category.name}={value.name}") == (
                    f"{category.name}={value.name}"
                )
    assert len(seen) > 60


def test_an_emulator_of_several_architectures_is_the_native_ones() -> None:
    """As where qemu-system-i386 is not installed; the i686 guest comes first in the document."""
    guest = (
        "<guest><os_type>hvm</os_type><arch name='{}'><emulator>/usr/bin/{}</emulator>"
        "<domain type='qemu'/></arch></guest>"
    )
    listing = capabilities.read(
        "<capabilities><host><cpu><arch>x86_64</arch></cpu></host>"
        + guest.format("i686", "qemu-system-x86_64")
        + guest.format("armv6l", "qemu-system-arm")
        + guest.format("armv7l", "qemu-system-arm")
        + guest.format("x86_64", "qemu-system-x86_64")
        + "</capabilities>"
    )
    assert listing.emulators() == {
        "/usr/bin/qemu-system-x86_64": "x86_64",
        "/usr/bin/qemu-system-arm": "armv6l",
    }
