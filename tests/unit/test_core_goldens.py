"""Golden hosts: recorded documents in, expected facts and traits out, as literals on disk.

A golden is a folder of `fixtures/hosts`: a recording and `expected/facts.json` and
`expected/traits.json`. They are rewritten only by `pytest --regenerate-goldens`, and a missing
one fails.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capd import config, recording, traits
from capd.facts import Support
from capd.table import CATEGORIES

HOSTS = Path(__file__).parents[2] / "fixtures" / "hosts"
NAMES = sorted(path.name for path in HOSTS.iterdir() if path.is_dir())


def outcome(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    settings = config.load()
    discovery = recording.load(HOSTS / name, settings)
    assessment = traits.assess(discovery, settings.traits, settings.libvirt)
    facts: dict[str, Any] = {"virt_type": discovery.host.virt_type, "machines": {}}
    for row in discovery.machines:
        label = f"{row.arch} {row.virt_type} {row.name or '-'}"
        if row.error is not None:
            facts["machines"][label] = {"error": row.error.split("(")[0].strip()}
            continue
        facts["machines"][label] = {
            category.name: None if values is None else sorted(values)
            for category in CATEGORIES
            for values in [row.values(category.name)]
        }
    facts["problems"] = len(discovery.problems)
    by_support: dict[str, Any] = {support.value: [] for support in Support}
    for verdict in assessment.verdicts.values():
        by_support[verdict.support.value].append(verdict.name)
    return facts, {key: sorted(names) for key, names in by_support.items()}


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    facts, found = outcome(name)
    folder = HOSTS / name / "expected"
    if request.config.getoption("--regenerate-goldens"):
        folder.mkdir(exist_ok=True)
        (folder / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
        (folder / "traits.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    assert facts == json.loads((folder / "facts.json").read_text())
    assert found == json.loads((folder / "traits.json").read_text())


def test_there_are_goldens_for_what_must_hold() -> None:
    assert set(NAMES) >= {
        "bookworm-x86_64", "trixie-x86_64", "bookworm-aarch64", "trixie-aarch64",
        "bookworm-s390x", "trixie-s390x", "bookworm-ppc64", "trixie-ppc64",
        "bookworm-riscv64", "trixie-riscv64", "awkward-element-absent",
        "awkward-supported-no", "awkward-empty-enum", "awkward-unknown-bus",
        "awkward-truncated", "awkward-entity-bomb", "awkward-nested-machines",
        "awkward-no-guest", "awkward-bhyve", "awkward-xen",
    }  # fmt: skip


def support(name: str, trait: str) -> str:
    _, found = outcome(name)
    return next(key for key, names in found.items() if trait in names)


def test_element_absent_is_unknown_not_no() -> None:
    assert support("awkward-element-absent", "COMPUTE_STORAGE_BUS_VIRTIO") == "unknown"
    assert support("awkward-element-absent", "COMPUTE_GRAPHICS_MODEL_VGA") == "unknown"
    assert support("awkward-element-absent", "CUSTOM_CAPD_PC_STORAGE_BUS_IDE") == "unknown"
    # its neighbours are untouched
    assert support("awkward-element-absent", "COMPUTE_NET_VIF_MODEL_E1000") == "yes"


def test_supported_no_and_empty_enum_are_no() -> None:
    assert support("awkward-supported-no", "COMPUTE_STORAGE_BUS_VIRTIO") == "no"
    assert support("awkward-supported-no", "COMPUTE_GRAPHICS_MODEL_VGA") == "no"
    assert support("awkward-empty-enum", "COMPUTE_GRAPHICS_MODEL_VGA") == "no"
    assert support("awkward-empty-enum", "COMPUTE_STORAGE_BUS_IDE") == "yes"


def test_unknown_words_get_names_of_their_own() -> None:
    assert support("awkward-unknown-bus", "CUSTOM_CAPD_STORAGE_BUS_UFS_3") == "yes"
    assert support("awkward-unknown-bus", "CUSTOM_CAPD_PC_STORAGE_BUS_UFS_3") == "yes"
    assert support("awkward-unknown-bus", "CUSTOM_CAPD_GRAPHICS_MODEL_HOLO_2") == "yes"


def test_one_truncated_document_costs_its_own_machine_type_only() -> None:
    assert support("awkward-truncated", "CUSTOM_CAPD_PC_STORAGE_BUS_IDE") == "yes"
    assert support("awkward-truncated", "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA") == "unknown"
    assert support("awkward-truncated", "CUSTOM_CAPD_MACHINE_Q35") == "unknown"
    assert support("awkward-truncated", "COMPUTE_STORAGE_BUS_SATA") == "yes"


def test_an_entity_bomb_is_refused_and_reads_no_file() -> None:
    facts, _ = outcome("awkward-entity-bomb")
    errors = {row["error"] for row in facts["machines"].values() if "error" in row}
    assert errors == {"x86_64 pc-i440fx-7.2 kvm: document type declarations are refused",
                      "x86_64 pc kvm: document type declarations are refused"}  # fmt: skip
    assert support("awkward-entity-bomb", "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA") == "yes"


def test_machines_and_emulator_inside_domain_are_honoured() -> None:
    facts, _ = outcome("awkward-nested-machines")
    assert sorted(facts["machines"]) == [
        "x86_64 kvm pc-q35-7.2",
        "x86_64 kvm q35",
        "x86_64 qemu pc",
        "x86_64 qemu pc-i440fx-7.2",
    ]
    assert support("awkward-nested-machines", "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA") == "yes"
    assert support("awkward-nested-machines", "CUSTOM_CAPD_PC_STORAGE_BUS_IDE") == "no"
    assert support("awkward-nested-machines", "COMPUTE_STORAGE_BUS_IDE") == "no"


def test_no_guest_at_all() -> None:
    facts, found = outcome("awkward-no-guest")
    assert facts["machines"] == {}
    assert found["yes"] == ["HW_ARCH_X86_64"]


def test_bhyve_and_xen_without_machine_type_or_with_their_own() -> None:
    facts, _ = outcome("awkward-bhyve")
    row = facts["machines"]["x86_64 bhyve -"]
    assert (row["disk_bus"], row["video_model"], row["rng_model"]) == (
        ["sata", "virtio"],
        [],
        None,
    )
    facts, _ = outcome("awkward-xen")
    assert facts["machines"]["x86_64 xen xenfv"]["disk_bus"] == ["ide", "scsi", "xen"]
    assert facts["machines"]["x86_64 xen xenpv"]["cdrom_bus"] == ["xen"]
    assert support("awkward-xen", "COMPUTE_STORAGE_BUS_IDE") == "yes"
    assert support("awkward-xen", "COMPUTE_GRAPHICS_MODEL_XEN") == "yes"
