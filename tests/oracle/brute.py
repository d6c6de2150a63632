"""Ask libvirt for every machine type one by one, and take the answer apart with nothing of capd.

    python -m tests.oracle.brute URI > rows.json

The rows are keyed by architecture, virt type and machine type. `ElementTree` and a loop over the
tree stand in for lxml, and nothing is cut, shared or remembered.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any, Optional

import libvirt


def choices(root: ElementTree.Element, path: list[str], name: str) -> Optional[list[str]]:
    """The values of an enumeration; [] if the device is said to be absent, None if silent."""
    here = root
    for step in path:
        children = [child for child in here if child.tag == step]
        if not children:
            return None
        here = children[0]
        if here.attrib.get("supported") == "no":
            return []
    for child in here:
        if child.tag == "enum" and child.attrib.get("name") == name:
            return sorted(value.text or "" for value in child)
    return None


def devices(emulator: str) -> set[str]:
    """The devices an emulator lists."""
    done = subprocess.run(
        [emulator, "-machine", "none", "-device", "help"], capture_output=True, text=True
    )
    return set(re.findall(r'^name "([^"]*)"', done.stdout, re.MULTILINE))


def everything(uri: str) -> dict[str, Any]:
    """A row for every combination that getCapabilities lists."""
    connection = libvirt.open(uri)
    root = ElementTree.fromstring(connection.getCapabilities())
    rows: dict[str, Any] = {}
    lists: dict[str, set[str]] = {}
    for arch in root.iter("arch"):
        if "name" not in arch.attrib:
            continue
        for domain in arch.findall("domain"):
            machines = domain.findall("machine") or arch.findall("machine")
            emulator = domain.findtext("emulator") or arch.findtext("emulator") or ""
            if emulator not in lists:
                lists[emulator] = devices(emulator)
            for machine in machines:
                key = " ".join([arch.attrib["name"], domain.attrib["type"], machine.text or ""])
                rows[key] = row(
                    connection, emulator, arch.attrib["name"], machine.text, domain.attrib["type"]
                )
                rows[key]["devices"] = sorted(lists[emulator])
    return rows


def row(
    connection: libvirt.virConnect, emulator: str, arch: str, machine: Optional[str], virt: str
) -> dict[str, Any]:
    """One combination."""
    try:
        text = connection.getDomainCapabilities(emulator, arch, machine, virt, 0)
    except libvirt.libvirtError as error:
        return {"error": str(error)}
    tree = ElementTree.fromstring(text)
    return {
        "error": None,
        "disk_bus": choices(tree, ["devices", "disk"], "bus"),
        "video_model": choices(tree, ["devices", "video"], "modelType"),
        "rng_model": choices(tree, ["devices", "rng"], "model"),
        "filesystem_driver": choices(tree, ["devices", "filesystem"], "driverType"),
        "tpm_raw": choices(tree, ["devices", "tpm"], "model"),
        "tpm_backends": choices(tree, ["devices", "tpm"], "backendModel"),
        "firmware_raw": choices(tree, ["os"], "firmware"),
        "secure": choices(tree, ["os", "loader"], "secure"),
    }


if __name__ == "__main__":
    json.dump(everything(sys.argv[1]), sys.stdout)
