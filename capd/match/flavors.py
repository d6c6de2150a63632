"""Flavors: the resources one instance takes, and what extra specs say about devices and traits.

Read by `capd.match.sources` from `openstack flavor show -f json`; `translate` looks at the extra
specs, `capd.match.request` at the resources. The rules are Nova's (`nova.scheduler.utils`,
`ResourceRequest.from_request_spec`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

#: extra specs that Nova reads beside an image property of the same meaning
DEVICE_SPECS: dict[str, str] = {
    "hw:tpm_model": "hw_tpm_model",
    "hw:tpm_version": "hw_tpm_version",
    "hw:viommu_model": "hw_viommu_model",
    "hw:sound_model": "hw_sound_model",
    "hw:usb_model": "hw_usb_model",
    "os:secure_boot": "os_secure_boot",
}

#: of these Nova takes the flavor's value; where other ones differ it refuses the instance
FLAVOR_WINS = frozenset({"hw_viommu_model"})

#: `resources:VCPU`, `trait:X`, `resources1:...`, `trait_GPU:...`
GROUP_SPEC = re.compile(
    r"(?P<kind>resources|trait)(?P<suffix>[A-Za-z0-9_-]{0,64}):(?P<name>[A-Z0-9_]{1,255})\Z"
)


@dataclass(frozen=True)
class Flavor:
    """What a flavor gives an instance: memory and swap in MiB, disks in GiB; None if not said."""

    name: str = ""
    vcpus: Optional[int] = None
    memory: Optional[int] = None
    root: int = 0
    ephemeral: int = 0
    swap: int = 0
    extra_specs: Mapping[str, str] = field(default_factory=dict)

    def resources(self, volume_backed: bool = False) -> dict[str, int]:
        """The unsuffixed resources of one instance, by resource class.

        A volume-backed instance takes no root disk from the host. What the extra specs name
        themselves stands; zero takes a class away, as in Nova.
        """
        named = {
            match.group("name"): number
            for key, value in self.extra_specs.items()
            for match in [GROUP_SPEC.match(key)]
            if match and match.group("kind") == "resources" and not match.group("suffix")
            for number in [amount(value)]
            if number is not None
        }
        everywhere = {
            match.group("name")
            for key in self.extra_specs
            for match in [GROUP_SPEC.match(key)]
            if match and match.group("kind") == "resources"
        }
        result = dict(named)
        if self.vcpus and everywhere.isdisjoint({"VCPU", "PCPU"}):
            result[self._cpu_class()] = self.vcpus
        if self.memory and "MEMORY_MB" not in everywhere:
            result["MEMORY_MB"] = self.memory
        disk = self.ephemeral + math.ceil(self.swap / 1024)
        disk += 0 if volume_backed else self.root
        if disk and "DISK_GB" not in everywhere:
            result["DISK_GB"] = disk
        return {name: number for name, number in result.items() if number}

    def groups(self) -> dict[str, tuple[dict[str, int], dict[str, str]]]:
        """The granular groups: suffix to (resources, trait to required or forbidden)."""
        result: dict[str, tuple[dict[str, int], dict[str, str]]] = {}
        for key, value in self.extra_specs.items():
            match = GROUP_SPEC.match(key)
            if match is None or not match.group("suffix"):
                continue
            resources, traits = result.setdefault(match.group("suffix"), ({}, {}))
            if match.group("kind") == "trait":
                traits[match.group("name")] = value
            else:
                number = amount(value)
                if number:
                    resources[match.group("name")] = number
        return result

    def _cpu_class(self) -> str:
        return "PCPU" if self.extra_specs.get("hw:cpu_policy") == "dedicated" else "VCPU"


def amount(value: str) -> Optional[int]:
    """The amount that an extra spec's text names, None if it is no number."""
    return int(value) if value.isascii() and value.isdigit() else None
