"""Values as operators write them: from the text of a property to the word libvirt knows.

Nova's own spellings come from `capd.properties`. Values that libvirt knows and Nova does not
(`nvme`, `riscv64`) are taken too and said to be so. Which bus can carry which kind of device is
libvirt's rule (`virDomainDiskDefValidate`, `qemuValidateDomainDeviceDefDisk`), not Nova's.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Optional

from capd.errors import PropertyName, PropertyValue
from capd.properties import validate, values_of
from capd.table import ARCH_WORDS, BY_PROPERTY, FAMILIES, Category

#: right values that put no demand on a host
NEUTRAL: dict[str, tuple[str, ...]] = {
    "os_secure_boot": ("disabled", "optional"),
    "hw_usb_model": ("none",),
}

#: kind of device that each bus property places
DEVICE_OF: dict[str, str] = {
    "hw_disk_bus": "disk",
    "hw_cdrom_bus": "cdrom",
    "hw_floppy_bus": "floppy",
}

DEVICE_TITLES = {"disk": "hard disk", "cdrom": "CD-ROM", "floppy": "floppy disk"}

#: the only bus for a floppy disk, and only for one
_FLOPPY_BUS = "fdc"
#: buses without removable media
_FIXED = ("virtio", "nvme", "sd")

#: architectures of libvirt (virArch) that Nova's enumeration lacks
_LIBVIRT_ARCHITECTURES = (
    "armv6l",
    "hppa",
    "hppa64",
    "loongarch64",
    "or1k",
    "or32",
    "riscv32",
    "riscv64",
)
ARCHITECTURE_PROPERTIES = ("hw_architecture", "hw_emulation_architecture")
#: Nova's words for architectures that libvirt calls by another name
_LIBVIRT_WORD = {"armv6": "armv6l"}
#: common words that neither Nova nor libvirt takes
_MISTAKEN = {"arm64": "aarch64", "x64": "x86_64", "x86": "i686", "ppc64el": "ppc64le"}

_MACHINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*\Z")
_LONGEST_MACHINE = 255


@dataclass(frozen=True)
class Spelling:
    """A value read: `word` as libvirt spells it, None if it is wrong; `note` says what is odd."""

    word: Optional[str]
    note: str = ""
    choices: tuple[str, ...] = ()


def device_value(name: str, value: str) -> Spelling:
    """Read the value of a property that has a row in the table."""
    category = BY_PROPERTY[name]
    try:
        return Spelling(validate(name, value))
    except (PropertyValue, PropertyName):
        if category.value(value) is not None:
            return Spelling(value, "Nova itself does not take this value")
    choices = _choices(name, category)
    return Spelling(None, f"{value!r} is no {category.title}{_near(value, choices)}", choices)


def architecture(name: str, value: str) -> Spelling:
    """Read an architecture: `x86_64` for `amd64`, `i686` for `i386`, else libvirt's own name."""
    try:
        word = validate(name, value)
        return Spelling(_LIBVIRT_WORD.get(word, word))
    except PropertyValue:
        lower = value.lower()
        if lower in _LIBVIRT_ARCHITECTURES:
            return Spelling(lower, "Nova itself does not take this value")
    choices = tuple(sorted({*(values_of(name) or ()), *_LIBVIRT_ARCHITECTURES}))
    meant = _MISTAKEN.get(lower)
    hint = f"; did you mean {meant}?" if meant else _near(lower, choices)
    return Spelling(None, f"{value!r} is no architecture{hint}", choices)


def machine_type(value: str) -> Spelling:
    """Read a machine type. Any name may be one; only what cannot be a name is wrong."""
    if not _MACHINE.match(value) or len(value) > _LONGEST_MACHINE:
        return Spelling(None, f"{value!r} cannot be the name of a machine type")
    families = {family for row in FAMILIES.values() for family in row}
    if value not in families and value.lower() in families:
        return Spelling(value, f"machine types are case-sensitive: did you mean {value.lower()}?")
    return Spelling(value)


def carries(device: str, bus: str) -> Optional[str]:
    """Why `bus` cannot carry a `device` (disk, cdrom, floppy), None if it can."""
    title = DEVICE_TITLES[device]
    if device == "floppy" and bus != _FLOPPY_BUS:
        return f"a floppy disk cannot be on bus {bus}, only on {_FLOPPY_BUS}"
    if device != "floppy" and bus == _FLOPPY_BUS:
        return f"a {title} cannot be on bus {bus}, which is for floppy disks"
    if device == "cdrom" and bus in _FIXED:
        return f"a CD-ROM cannot be on bus {bus}, which has no removable media"
    return None


def known_architectures() -> frozenset[str]:
    """Every architecture by libvirt's name that can be asked for."""
    nova = values_of("hw_architecture") or ()
    return frozenset({*nova, *_LIBVIRT_ARCHITECTURES, *ARCH_WORDS, *FAMILIES})


def _choices(name: str, category: Category) -> tuple[str, ...]:
    """The values to offer for a wrong one: Nova's, where the kind of device can be on them."""
    device = DEVICE_OF.get(name)
    names = values_of(name) or tuple(row.name for row in category.values)
    return tuple(word for word in names if device is None or carries(device, word) is None)


def _near(value: str, choices: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(value.lower(), choices, 1)
    return f"; did you mean {near[0]}?" if near else ""
