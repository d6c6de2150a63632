"""Answers from a provider's traits: yes, no beside siblings, unknown otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import pytest

from capd.errors import HostCannot
from capd.novadb.hosts import Host, judge, questions, refuse

TRAITS = frozenset(
    {
        "HW_ARCH_X86_64",
        "COMPUTE_NET_VIF_MODEL_E1000",
        "COMPUTE_SECURITY_TPM_TIS",
        "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",
        "CUSTOM_CAPD_PC_STORAGE_BUS_IDE",
        "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE",
        "CUSTOM_CAPD_AARCH64_VIRT_STORAGE_BUS_SCSI",
        "CUSTOM_CAPD_MACHINE_PC_Q35_7_2",
        "CUSTOM_CAPD_MACHINE_Q35",
    }
)


def one(
    name: str,
    value: str,
    traits: Optional[frozenset[str]] = TRAITS,
    after: Optional[Mapping[str, str]] = None,
) -> tuple[str, str]:
    host = Host("h1", "u", traits, "Placement is gone")
    answers = list(judge(host, after or {}, {name: value}))
    assert len(answers) == 1
    return answers[0].support.value, answers[0].because


Q35, PC = {"hw_machine_type": "pc-q35-7.2"}, {"hw_machine_type": "pc"}


def test_family_decides() -> None:
    assert one("hw_disk_bus", "sata", after=Q35) == (
        "yes",
        "h1 can do hw_disk_bus=sata for machine type pc-q35-7.2",
    )
    assert one("hw_disk_bus", "ide", after=Q35) == (
        "no",
        "h1 cannot do hw_disk_bus=ide for machine type pc-q35-7.2: it can do sata",
    )
    assert one("hw_disk_bus", "ide", after=PC)[0] == "yes"


def test_without_a_machine_type_the_default_family_answers() -> None:
    assert one("hw_disk_bus", "ide")[0] == "yes"
    assert one("hw_disk_bus", "sata") == (
        "no",
        "h1 cannot do hw_disk_bus=sata for the machine type it gives by default: it can do ide",
    )


def test_absence_without_siblings_is_unknown() -> None:
    assert one("hw_video_model", "qxl", after=Q35) == (
        "unknown",
        "whether h1 can do hw_video_model=qxl for machine type pc-q35-7.2 is not known: "
        "it has no trait CUSTOM_CAPD_Q35_GRAPHICS_MODEL_*",
    )
    assert one("hw_disk_bus", "sata", after={"hw_machine_type": "isapc"})[0] == "unknown"


def test_a_host_without_capd_or_placement_is_unknown() -> None:
    nova_only = frozenset({"COMPUTE_STORAGE_BUS_IDE", "COMPUTE_SECURITY_TPM_TIS"})
    assert one("hw_disk_bus", "sata", nova_only)[0] == "unknown"
    assert one("hw_tpm_model", "tpm-crb", nova_only)[0] == "unknown"
    support, because = one("hw_disk_bus", "sata", None)
    assert (support, because[-17:]) == ("unknown", "Placement is gone")


def test_machine_types() -> None:
    assert one("hw_machine_type", "pc-q35-7.2")[0] == "yes"
    assert one("hw_machine_type", "pc-q35-9.9") == (
        "no",
        "h1 cannot do hw_machine_type=pc-q35-9.9: it can do pc_q35_7_2, q35",
    )


def test_an_emulated_architecture_has_names_of_its_own() -> None:
    after = {"hw_architecture": "aarch64", "hw_machine_type": "virt"}
    assert one("hw_disk_bus", "scsi", after=after)[0] == "yes"
    assert one("hw_disk_bus", "usb", after=after)[0] == "no"
    assert one("hw_machine_type", "virt", after=after)[0] == "unknown"


def test_values_that_no_device_of_the_kind_can_have() -> None:
    """B34: bus virtio is there, and yet a CD-ROM cannot be on it."""
    assert one("hw_cdrom_bus", "virtio", None)[0] == "no"
    assert one("hw_disk_bus", "fdc", None)[0] == "no"


def test_other_categories() -> None:
    assert one("hw_tpm_model", "tpm-tis")[0] == "yes"
    assert one("hw_tpm_model", "tpm-crb")[0] == "no"
    assert one("hw_vif_model", "lan9118")[0] == "unknown"
    assert list(judge(Host("h", "u", TRAITS), {}, {"os_distro": "x", "hw_video_ram": "1"})) == []


def test_a_new_machine_type_asks_for_everything() -> None:
    before = {"hw_disk_bus": "ide", "os_distro": "x"}
    assert questions(before, {"hw_vif_model": "e1000"}) == {"hw_vif_model": "e1000"}
    assert questions(before, {"hw_machine_type": "q35"}) == {
        "hw_disk_bus": "ide",
        "hw_machine_type": "q35",
    }


def test_only_a_no_refuses() -> None:
    host = Host("h1", "u", TRAITS)
    warnings = refuse(judge(host, Q35, {"hw_disk_bus": "sata", "hw_vif_model": "e1000"}))
    assert len(warnings) == 1 and "hw_vif_model=e1000" in warnings[0]
    with pytest.raises(HostCannot) as caught:
        refuse(judge(host, Q35, {"hw_vif_model": "e1000", "hw_disk_bus": "ide"}))
    assert caught.value.exit_code == 7
