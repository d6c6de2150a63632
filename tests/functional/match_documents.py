"""What a recorded host's own documents say about an image; shares no code with capd.

`Documents` reads a recording (`capabilities.xml`, `index.json`, `domcaps/`, `devices/`) of an
x86_64 host and judges images by what stands there for their machine type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from lxml import etree

Properties = Mapping[str, str]

#: QEMU devices that libvirt makes of a vif, sound or input model
_VIF = {"virtio": "virtio-net-pci"}
_SOUND = {
    "sb16": "sb16",
    "es1370": "ES1370",
    "ac97": "AC97",
    "ich6": "intel-hda",
    "ich9": "ich9-intel-hda",
    "usb": "usb-audio",
    "virtio": "virtio-sound-pci",
}


class Documents:
    """One recorded host."""

    def __init__(self, directory: Path, arch: str = "x86_64", virt_type: str = "kvm") -> None:
        self.directory = directory
        rows = json.loads((directory / "index.json").read_text())["rows"]
        self.machines: dict[str, Optional[str]] = {
            row["machine"]: row["document"]
            for row in rows
            if (row["arch"], row["virt_type"]) == (arch, virt_type)
        }
        help_text = (directory / "devices" / f"qemu-system-{arch}.txt").read_text()
        self.devices = set(re.findall(r'^name "([^"]+)"', help_text, re.MULTILINE))
        self._parsed: dict[str, dict[str, set[str]]] = {}

    def refusal(self, properties: Properties, default: str = "pc") -> Optional[str]:
        """The first property that the documents speak against, None if there is none."""
        machine = properties.get("hw_machine_type", default)
        document = self.machines.get(machine)
        if document is None:
            return f"no machine type {machine}"
        found = self._document(document)
        for name, value in properties.items():
            if name != "hw_machine_type" and not self._has(name, value, found):
                return f"no {name}={value} on {machine}"
        return None

    def _has(self, name: str, value: str, found: dict[str, set[str]]) -> bool:
        if name == "hw_floppy_bus":
            return value == "fdc" and "fdc" in found["bus"]
        if name in ("hw_disk_bus", "hw_cdrom_bus"):
            never = {"fdc"} | ({"virtio", "nvme", "sd"} if name == "hw_cdrom_bus" else set())
            return value in found["bus"] - never
        if name == "hw_video_model":
            return value in found["modelType"]
        if name == "hw_vif_model":
            return _VIF.get(value, value) in self.devices
        if name == "hw_input_bus":
            return f"{'usb' if value == 'usb' else 'virtio'}-tablet" in {
                device.replace("-pci", "") for device in self.devices
            }
        if name == "hw_pointer_model":
            return "usb-tablet" in self.devices
        if name == "hw_sound_model":
            return _SOUND.get(value, value) in self.devices
        raise AssertionError(f"{name} is not for these documents")

    def _document(self, name: str) -> dict[str, set[str]]:
        if name not in self._parsed:
            parser = etree.XMLParser(resolve_entities=False, no_network=True)
            tree = etree.parse(str(self.directory / name), parser)
            self._parsed[name] = {
                enum: set(tree.xpath(f"/domainCapabilities/devices/{path}/value/text()"))
                for enum, path in (
                    ("bus", "disk[@supported='yes']/enum[@name='bus']"),
                    ("modelType", "video[@supported='yes']/enum[@name='modelType']"),
                )
            }
        return self._parsed[name]
