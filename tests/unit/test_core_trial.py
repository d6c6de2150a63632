"""What is made of libvirt's answers to trials, from scripted answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Optional, cast

from capd import trial
from capd.calls import Outcome
from capd.errors import LibvirtRefusal
from capd.facts import Machine
from capd.hypervisor import Hypervisor

NO_FIRMWARE = "operation failed: Unable to find any firmware to satisfy 'efi'"


class Answers:
    """Refuses the guests that contain one of the given texts."""

    def __init__(self, refusals: dict[str, str]) -> None:
        self.refusals = refusals

    def to_native(
        self, guests: Iterable[tuple[tuple[str, str], str]]
    ) -> Iterator[tuple[tuple[str, str], Outcome[str]]]:
        for key, xml in guests:
            reason = next((why for text, why in self.refusals.items() if text in xml), None)
            error = LibvirtRefusal(reason, reason=reason) if reason is not None else None
            yield key, Outcome(None if error else "argv", error)


def verdicts(
    refusals: dict[str, str], *claims: tuple[str, str], arch: str = "x86_64"
) -> dict[tuple[str, str], Optional[str]]:
    machine = Machine(arch, "qemu", "m", "m", None, "virt", False, False, "/bin/qemu")
    tried = trial.run(cast(Hypervisor, Answers(refusals)), machine, claims)
    return {(one.category, one.value): one.refused for one in tried}


def test_accepted_and_refused() -> None:
    found = verdicts(
        {"bus='ide'": "IDE controllers are unsupported"}, ("disk_bus", "ide"), ("disk_bus", "sata")
    )
    assert found == {
        ("disk_bus", "ide"): "IDE controllers are unsupported",
        ("disk_bus", "sata"): None,
    }


def test_nothing_is_concluded_where_even_the_bare_guest_is_refused() -> None:
    assert verdicts({"<domain": "ACPI requires UEFI"}, ("disk_bus", "sata")) == {}


def test_network_devices_are_judged_by_their_bus() -> None:
    claims = [("vif_model", "e1000"), ("vif_model", "virtio"), ("vif_model", "lan9118")]
    found = verdicts({"<address type='pci'/>": "No PCI buses available"}, *claims)
    assert found == {
        ("vif_model", "e1000"): "no bus for network devices: No PCI buses available",
        ("vif_model", "virtio"): None,
    }


def test_a_tablet_on_either_bus_is_enough() -> None:
    claim = ("pointer_model", "usbtablet")
    assert verdicts({"type='tablet' bus='usb'": "USB is disabled"}, claim) == {claim: None}
    assert verdicts({"type='tablet'": "no"}, claim) == {claim: "no"}


def test_missing_firmware_says_nothing_of_a_viommu() -> None:
    claims = [("viommu_model", "virtio"), ("viommu_model", "smmuv3")]
    assert verdicts({"<iommu": NO_FIRMWARE}, *claims, arch="aarch64") == {}
    found = verdicts({"model='smmuv3'": "smmuv3 is not supported"}, *claims, arch="aarch64")
    assert found == {
        ("viommu_model", "smmuv3"): "smmuv3 is not supported",
        ("viommu_model", "virtio"): None,
    }


def test_auto_is_refused_only_where_every_model_is() -> None:
    claims = [("viommu_model", "auto"), ("viommu_model", "intel"), ("viommu_model", "virtio")]
    found = verdicts({"<iommu model='intel'": "only Q35"}, *claims)
    assert found[("viommu_model", "auto")] is None
    found = verdicts({"<iommu": "only Q35"}, *claims)
    assert found[("viommu_model", "auto")] == "only Q35"
