"""What an emulator can create: `-device help` to claims.

libvirt's domain capabilities name no vif, input, sound, USB controller or vIOMMU models in any
version; the emulator does (QEMU, "-device help": lines `name "NAME", bus BUS, ...` under
headings). Only devices a user may create are listed, so that boards' built-in ones stay unknown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from capd.errors import EmulatorError
from capd.facts import Claim, Claims, Source
from capd.table import CATEGORIES, Category, Origin

_LINE = re.compile(r'name "(?P<name>[^"]+)"')


@dataclass(frozen=True)
class DeviceList:
    """Device names by heading (`Network devices`); a device may stand under several."""

    sections: Mapping[str, frozenset[str]]

    def names(self) -> frozenset[str]:
        """Every device listed, under whatever heading."""
        return frozenset().union(*self.sections.values())


def read(text: str, origin: str) -> DeviceList:
    """Parse a device list. Raises EmulatorError naming `origin` if it names no device at all."""
    sections: dict[str, set[str]] = {}
    heading = ""
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            sections.setdefault(heading, set()).add(sys.intern(match.group("name")))
        elif line.endswith(":"):
            heading = line[:-1].strip()
    if not sections:
        raise EmulatorError(
            f"{origin} did not answer with a device list",
            culprit=origin,
            cure=f"run {origin} -machine none -device help and reinstall the package if it fails",
        )
    return DeviceList({name: frozenset(found) for name, found in sections.items()})


def claims(devices: DeviceList) -> Claims:
    """What the list says about each category that only an emulator can answer."""
    names = devices.names()
    result: dict[str, Claim] = {}
    for category in CATEGORIES:
        if category.origin is Origin.DEVICES:
            found = frozenset(
                value.name for value in category.values if not names.isdisjoint(value.raw)
            )
            if category.name == "viommu_model" and found:
                found |= {"auto"}
            result[category.name] = Claim(found | _unlisted(category, devices), Source.EMULATOR)
    return result


def _unlisted(category: Category, devices: DeviceList) -> frozenset[str]:
    """Devices under the category's heading that the table does not know, by their own name."""
    if not category.section:
        return frozenset()
    known = {word for value in category.values for word in value.raw}
    return devices.sections.get(category.section, frozenset()) - known
