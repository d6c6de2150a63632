"""Trials: libvirt's own validation of a minimal guest, before a claim becomes a trait.

Domain capabilities over-claim: `isapc` and `microvm` list sata, usb and qxl, yet no such guest
can be built. `domainXMLToNative` runs the validation that defining a guest would, in about a
millisecond, and defines nothing. Acceptance alone proves nothing, so only claimed values are
tried.

Network devices cannot be tried this way (libvirt wants a tap device); whether the machine type
has the bus they need is tried with a random number generator on that bus instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Optional

from capd.errors import LibvirtError, LibvirtRefusal
from capd.facts import Machine, Trial
from capd.hypervisor import Hypervisor
from capd.trialguest import BASELINE, PCI_WITNESS, VIRTIO_WITNESS, guest_xml, guests_for

#: network devices on neither PCI nor a virtio bus: nothing stands in for theirs
_NO_WITNESS = frozenset({"ne2k_isa", "eTSEC", "usb-net", "lan9118", "sriov", "netfront"})

#: a refusal that says nothing of the guest
_OF_THE_HOST = "does not support virt type"

#: an emulator that lists none of these cannot attach a floppy, whatever libvirt says
_FLOPPY_DEVICES = frozenset({"floppy", "isa-fdc"})


def impossible(
    machine: Machine, claims: Iterable[tuple[str, str]], devices: frozenset[str]
) -> tuple[Trial, ...]:
    """Claims that the emulator's own device list refutes: no validation by libvirt is needed.

    Before libvirt 11.5 floppy drives are claimed, and accepted, for machine types whose emulator
    cannot create one.
    """
    if devices.issuperset(_FLOPPY_DEVICES):
        return ()
    because = f"{machine.emulator} has no floppy controller"
    return tuple(
        Trial(machine.arch, machine.virt_type, machine.name, category, value, because)
        for category, value in claims
        if value == "fdc"
    )


def run(
    hypervisor: Hypervisor,
    machine: Machine,
    claims: Iterable[tuple[str, str]],
) -> tuple[Trial, ...]:
    """Try the claimed (category, value) pairs of one machine type.

    The result has a trial for each value
    that could be judged; it is empty where libvirt refuses even a guest without devices. Raises
    LibvirtError if libvirt stops answering, or no longer offers the virt type: then it speaks of
    the host (KVM went away meanwhile) and not of what was tried.
    """
    wanted = sorted(claims)
    attempts: list[tuple[tuple[str, str], str]] = []
    for key in (BASELINE, PCI_WITNESS, VIRTIO_WITNESS, *wanted):
        attempts.extend((key, guest_xml(machine, guest)) for guest in guests_for(*key))
    verdicts: dict[tuple[str, str], Optional[str]] = {}
    for key, outcome in hypervisor.to_native(attempts):
        if outcome.error is None:
            verdicts[key] = None
        elif isinstance(outcome.error, LibvirtRefusal):
            if _OF_THE_HOST in outcome.error.reason:
                raise LibvirtError(
                    f"{machine.name}: {outcome.error.reason}", culprit=machine.emulator
                )
            if not _speaks_of_firmware(key, outcome.error.reason):
                verdicts.setdefault(key, outcome.error.reason)
    if verdicts.get(BASELINE, "not asked") is not None:
        return ()
    return tuple(
        Trial(machine.arch, machine.virt_type, machine.name, category, value, refused)
        for category, value, refused in _judged(wanted, verdicts)
    )


def _speaks_of_firmware(key: tuple[str, str], reason: str) -> bool:
    """Whether a refusal is about firmware the host has none of, and so not about the value.

    A vIOMMU on aarch64 needs UEFI, which needs a package that a host may do without.
    """
    return key[0] == "viommu_model" and "firmware" in reason


def _judged(
    wanted: Iterable[tuple[str, str]],
    verdicts: Mapping[tuple[str, str], Optional[str]],
) -> Iterator[tuple[str, str, Optional[str]]]:
    for category, value in wanted:
        key = (category, value)
        if category == "vif_model":
            witness = VIRTIO_WITNESS if value.startswith("virtio") else PCI_WITNESS
            if value not in _NO_WITNESS and witness in verdicts:
                refused = verdicts[witness]
                text = f"no bus for network devices: {refused}" if refused else None
                yield (*key, text)
        elif key == ("viommu_model", "auto"):
            tried = [verdicts[other] for other in verdicts if other[0] == category]
            yield (*key, tried[0] if tried and None not in tried else None)
        elif key in verdicts:
            yield (*key, verdicts[key])
