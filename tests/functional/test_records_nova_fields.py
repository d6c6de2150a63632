"""The table of image properties against Nova's own code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from capd import fields, properties
from capd.errors import CapdError

CACHE = Path(os.environ.get("CAPD_CACHE") or Path.home() / ".cache/capd")
NOVA = CACHE / "nova/bin/python"

BAD = [
    "",
    " ",
    "floppy",
    "VIRTIO",
    "Virtio",
    " virtio",
    "virtio ",
    "none",
    "None",
    "0",
    "1",
    "-1",
    " 7 ",
    "1_000",
    "+3",
    "0x10",
    "1.5",
    "much",
    "yes",
    " TRUE ",
    "maybe",
    "off",
    "t",
    "i386",
    "AMD64",
    "x86_32p",
    "armv7",
    "armv6l",
    "XAPI",
    "KVM",
    "pv",
    "HV",
    "baremetal",
    "Linux",
    "WINDOWS",
    "VirtualE1000",
    "VirtualE1000e",
    "VirtualPCNet32",
    "VirtualSriovEthernetCard",
    "VirtualVmxnet",
    "VirtualVmxnet3",
    "lsiLogicsas",
    "paraVirtual",
    "LSILOGIC",
    ">=2.6",
    ">=2.6,<3",
    "=> 1",
    ">= 1 2",
    ">=",
    ">=a",
    "==1.0rc1.post2.dev3",
    "!=1!2.0+ubuntu.1",
    "< 1.0-1",
    ">=v1.0",
    "required",
    "usb-tablet",
    "ps2",
    "tablet",
    "nvme",
    "sd",
    "ramfb",
    "é",
    "İ",
    "x" * 300,
    "a b",
    "a;b",
    "${x}",
    "{0}",
    "%s",
    "1" * 50,
]

IMAGES = [
    {"architecture": "amd64", "vmware_adaptertype": "ide"},
    {"vmware_adaptertype": "lsiLogicsas", "hw_vif_model": "VirtualE1000"},
    {"vmware_adaptertype": "paraVirtual", "hw_disk_bus": "virtio"},
    {"vmware_adaptertype": ""},
    {"hypervisor_type": "XAPI", "vm_mode": "pv", "bdm_v2": "yes", "min_ram": "64"},
    {"hw_boot_menu": "maybe", "hw_video_ram": "64", "os_type": "Linux", "custom": "x"},
    {"architecture": "i386", "hw_architecture": "aarch64"},
    {"trait:HW_CPU_X86_AVX2": "required", "trait:CUSTOM_A": "forbidden", "traits_required": "x"},
    {"img_owner_id": "a", "owner_id": "b", "img_hv_requested_version": ">=2.6"},
    {"hw_numa_nodes": "2", "hw_numa_cpus": "junk", "hw_numa_mem": "junk"},
]


def _ask(single: list[list[str]], images: list[dict[str, str]]) -> Any:
    if not NOVA.exists():
        pytest.skip(f"no Nova installation at {NOVA.parent.parent} (tests/rig sets one up)")
    done = subprocess.run(
        [str(NOVA), str(Path(__file__).with_name("nova_fields.py"))],
        input=json.dumps({"single": single, "images": images}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def cases() -> list[list[str]]:
    names = [*fields.FIELDS, "min_ram", "", " hw_disk_bus", "HW_DISK_BUS", "vmware_adaptertype"]
    names += [*fields.LEGACY_NAMES, "trait:CUSTOM_X", "trait:", "Trait:X", "hw_numa_mem.0"]
    words = {value for entry in fields.FIELDS.values() for value in entry.values}
    words |= {word for entry in fields.FIELDS.values() for word in entry.spellings}
    return [[name, value] for name in names for value in [*BAD, *sorted(words)]]


@pytest.fixture(scope="module")
def nova(cases: list[list[str]]) -> Any:
    return _ask(cases, IMAGES)


def _capd(name: str, value: str) -> dict[str, Any]:
    try:
        typed = properties.coerce(name, value)
    except CapdError as error:
        return {"error": str(error), "code": error.exit_code}
    if properties.is_trait_name(name) or fields.FIELDS[name].kind is fields.Kind.UNREAD:
        return {"value": None, "kind": "unread"}
    return {"value": typed, "kind": type(typed).__name__}


def test_names_and_order_are_novas(nova: Any) -> None:
    assert len(fields.FIELDS) == 86
    assert list(fields.FIELDS) == nova["names"]
    assert nova["legacy"] == fields.LEGACY_NAMES


def test_every_enumeration_is_novas(nova: Any) -> None:
    ours = {
        name: sorted(entry.values)
        for name, entry in fields.FIELDS.items()
        if entry.kind is fields.Kind.ENUM
    }
    theirs = {name: sorted(values) for name, values in nova["enums"].items()}
    assert len(theirs) == 33
    assert ours == theirs


def test_every_value_is_judged_as_nova_judges_it(nova: Any, cases: list[list[str]]) -> None:
    assert len(cases) > 15000
    differing = [
        (name, value, ours, theirs)
        for (name, value), theirs in zip(cases, nova["single"])
        if (ours := _capd(name, value)) != theirs
    ]
    assert differing == []
    errors = {theirs["code"] for theirs in nova["single"] if "error" in theirs}
    assert errors == {5, 6}


def test_images_are_read_as_nova_reads_them(nova: Any) -> None:
    for properties_given, theirs in zip(IMAGES, nova["images"]):
        ours = properties.from_image(properties_given)
        assert ours.problems == ()
        made: dict[str, Any] = dict(ours.values)
        if ours.required_traits:
            made["traits_required"] = list(ours.required_traits)
        assert made == theirs, properties_given
