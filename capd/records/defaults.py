"""What an instance would get for a device that it does not have now.

Nova's own rule where this host can do what the rule says, from the machine type's facts, for
`capd.records.records`. Where the rule's value is impossible on the machine type there is no
default: nothing is invented. (Nova: `nova.virt.libvirt.blockinfo`, `driver._get_video_type`,
`driver._get_pointer_bus_and_model`, `vif.get_vif_model`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from capd.facts import Machine, Support
from capd.names import family
from capd.properties import CAPTURED
from capd.records.ability import Ability
from capd.records.reading import Domain

#: families with a floppy controller or a place for one
_FLOPPY = frozenset({"pc", "q35", "isapc"})

#: families without USB, for when the host has not been asked
_NO_USB = frozenset({"s390-ccw-virtio", "isapc", "microvm", "none"})

#: families without any bus that takes a CD-ROM, for when the host has not been asked
_NO_CDROM = frozenset({"microvm", "none"})

_POWER = frozenset({"ppc", "ppc64", "ppc64le", "ppcle"})


def find(domain: Domain, ability: Ability) -> Mapping[str, str]:
    """The default of each captured property that `domain` has no device for.

    A property without a sensible default is left out.
    """
    if not domain.hvm or not domain.machine:
        return {}
    machine = ability.machine(domain.arch, domain.machine, domain.virt_type)
    result: dict[str, str] = {}
    for name in CAPTURED:
        if name in domain.properties:
            continue
        value = _default(name, domain, machine, ability)
        if value is not None:
            result[name] = value
    return result


def _default(
    name: str, domain: Domain, machine: Optional[Machine], ability: Ability
) -> Optional[str]:
    kin = machine.family if machine is not None else family(domain.machine or "")
    if name == "hw_cdrom_bus":
        return _cdrom(kin, machine, ability)
    wish = _wish(name, domain, kin)
    if wish is None:
        return None
    return None if ability.of(machine, name, wish).support is Support.NO else wish


def _wish(name: str, domain: Domain, kin: str) -> Optional[str]:
    """What Nova would choose, whether or not the host can do it."""
    if name in ("hw_disk_bus", "hw_vif_model"):
        return "virtio"
    if name == "hw_floppy_bus":
        return "fdc" if kin in _FLOPPY else None
    if name == "hw_video_model":
        return "vga" if domain.arch in _POWER else "virtio"
    if name in ("hw_input_bus", "hw_pointer_model"):
        # a guest with graphics and without a pointer was meant to have none
        if not domain.headless or kin in _NO_USB:
            return None
        return "usb" if name == "hw_input_bus" else "usbtablet"
    return None


def _cdrom(kin: str, machine: Optional[Machine], ability: Ability) -> Optional[str]:
    first = {"pc": "ide", "isapc": "ide", "q35": "sata"}.get(kin, "scsi")
    answer = ability.of(machine, "hw_cdrom_bus", first)
    if answer.support is Support.YES:
        return first
    if answer.support is Support.UNKNOWN:
        return None if kin in _NO_CDROM else first
    possible = answer.possible or ()
    return next((bus for bus in ("scsi", "sata", "ide", "usb") if bus in possible), None)
