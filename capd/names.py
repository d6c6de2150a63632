"""Names: from values, families and machine types to trait names.

A trait is the standard one where os-traits has the name and `CUSTOM_CAPD_` with the same words
where it has not. Placement allows `CUSTOM_` names of A-Z, 0-9 and `_` up to 255 characters
(Placement API, "Traits"). Two different machine types never share a name: one that would not
survive the spelling unambiguously carries a digest.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Optional

import os_traits

from capd.table import (
    ARCH_WORDS,
    COMPUTE_ARCH,
    CUSTOM,
    HW_ARCH,
    Category,
)

_MAX = 255
_DIGIT_SEGMENT = re.compile(r"\d+\Z")
_PLAIN_SEGMENT = re.compile(r"[a-z0-9]+\Z")
_VERSION_SEGMENT = re.compile(r"(?:rhel)?\d+(?:\.\d+)+\Z")
_VERSIONED = re.compile(
    r"(?P<base>.+?)-(?P<version>(?:rhel)?\d+(?:\.\d+)+|"
    r"(?:trusty|utopic|vivid|wily|xenial|yakkety|zesty|artful|bionic|cosmic|disco|eoan|focal|"
    r"groovy|hirsute|impish|jammy|kinetic|lunar|mantic|noble|oracular|plucky|questing)(?:-v2)?)"
    r"(?P<suffix>(?:-[a-z0-9]+)*)\Z"
)
_FAMILY_OF_BASE = {"pc-i440fx": "pc", "pc-q35": "q35", "pc": "pc"}


def word(text: str) -> str:
    """`text` as part of a trait name: upper case, everything else than A-Z 0-9 to `_`."""
    return re.sub(r"[^A-Z0-9]", "_", text.upper())


@lru_cache(maxsize=1)
def standard_names() -> frozenset[str]:
    """Every trait of the installed os-traits."""
    return frozenset(os_traits.get_traits())


def family(machine: str) -> str:
    """The family of a machine type: `q35` for `pc-q35-7.2`, `pc` for `pc-i440fx-noble`.

    Distribution suffixes belong to the version. A machine type without a version is a family of
    its own.
    """
    match = _VERSIONED.match(machine)
    base = match.group("base") if match else machine
    return _FAMILY_OF_BASE.get(base, base)


def value_trait(category: Category, value: str) -> Optional[str]:
    """The host-wide trait of a value, None if the category has none."""
    row = category.value(value)
    if category.custom is None or (row is not None and not row.trait):
        return None
    words = (row.word if row else "") or word(value)
    standard = f"{category.standard}{words}" if category.standard else ""
    return standard if standard in standard_names() else f"{CUSTOM}{category.custom}{words}"


def family_trait(
    category: Category, value: str, machine_family: str, arch: Optional[str] = None
) -> Optional[str]:
    """The trait of a value within one machine family; `arch` only for an emulated one."""
    row = category.value(value)
    if category.custom is None or not category.per_family or (row and not row.trait):
        return None
    words = (row.word if row else "") or word(value)
    return f"{CUSTOM}{_prefix(arch)}{word(machine_family)}_{category.custom}{words}"


def default_trait(category: Category, value: str, arch: Optional[str] = None) -> Optional[str]:
    """The trait of a value for an image that names no machine type."""
    return family_trait(category, value, "DEFAULT", arch)


def machine_trait(machine: str, arch: Optional[str] = None) -> str:
    """The trait of one machine type, alias or version; `arch` only for an emulated one."""
    return f"{CUSTOM}{_prefix(arch)}MACHINE_{machine_word(machine)}"


def host_arch_trait(arch: str) -> str:
    """The trait of the host's own architecture (`hw_architecture`)."""
    return _arch_trait(HW_ARCH, HW_ARCH, arch)


def emulated_arch_trait(arch: str) -> str:
    """The trait of an architecture the host can run, emulated or not."""
    return _arch_trait(COMPUTE_ARCH, "ARCH_", arch)


def machine_word(machine: str) -> str:
    """A machine type as part of a trait name, distinct for distinct machine types."""
    plain = word(machine)
    if _unambiguous(machine) and len(plain) <= _MAX - 80:
        return plain
    digest = hashlib.sha256(machine.encode()).hexdigest()[:12].upper()
    return f"{plain[: _MAX - 80]}_X{digest}"


def _unambiguous(machine: str) -> bool:
    """Whether `machine` can be told back from its upper-case spelling.

    Dots stand only inside a version, never next to a dash that could be read as one.
    """
    previous = ""
    for segment in machine.split("-"):
        after_number = previous[-1:].isdigit()
        if _VERSION_SEGMENT.match(segment):
            if previous.startswith("rhel"):
                return False
        elif not _PLAIN_SEGMENT.match(segment) or (_DIGIT_SEGMENT.match(segment) and after_number):
            return False
        previous = segment
    return True


def _prefix(arch: Optional[str]) -> str:
    return f"{word(arch)}_" if arch else ""


def _arch_trait(standard: str, custom: str, arch: str) -> str:
    words = ARCH_WORDS.get(arch) or word(arch)
    name = f"{standard}{words}"
    return name if name in standard_names() else f"{CUSTOM}{custom}{words}"
