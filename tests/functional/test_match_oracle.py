"""Nova's scheduler as the oracle of `--standard`, and each purposeful difference by name."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from capd.match import Status, translate
from capd.match.devices import PREFILTER
from capd.names import standard_names

CACHE = Path(os.environ.get("CAPD_CACHE") or Path.home() / ".cache" / "capd")
NOVA = CACHE / "nova" / "bin" / "python"
SCRIPT = Path(__file__).with_name("match_nova.py")

pytestmark = pytest.mark.skipif(
    not NOVA.exists(), reason=f"Nova is not installed in {NOVA.parents[1]} (run tests/rig/setup)"
)

#: (property, value) where Nova asks for a bus that cannot carry the device
IMPOSSIBLE = {("hw_cdrom_bus", "virtio"), ("hw_cdrom_bus", "fdc"), ("hw_disk_bus", "fdc")}

#: what Nova asks for that is no device
NO_DEVICE = {
    ("hw_cpu_thread_policy", "require"),
    ("hw_maxphysaddr_mode", "passthrough"),
    ("hw_maxphysaddr_mode", "emulate"),
    ("hw_pci_numa_affinity_policy", "socket"),
}

Answers = list[dict[str, Any]]


def nova(*arguments: str, given: str = "") -> Any:
    """What the script says in Nova's Python."""
    done = subprocess.run(
        [str(NOVA), "-I", str(SCRIPT), *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def values() -> dict[str, list[str]]:
    """Every value of every enumerated property, from Nova."""
    found: dict[str, list[str]] = nova("values")
    return found


@pytest.fixture(scope="module")
def answers(values: dict[str, list[str]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Nova's answer to every value of every enumerated property alone."""
    cases = [(name, value) for name, row in values.items() for value in row]
    cases += [("hw_architecture", "amd64"), ("hw_architecture", "i386")]
    cases += [("architecture", "amd64"), ("hw_vif_model", "VirtualE1000")]
    cases += [("vmware_adaptertype", "ide"), ("vmware_adaptertype", "lsiLogic")]
    told: Answers = nova(given=json.dumps([{name: value} for name, value in cases]))
    return dict(zip(cases, told))


def ask(**properties: str) -> dict[str, Any]:
    told: Answers = nova(given=json.dumps([properties]))
    return told[0]


def test_every_value_the_prefilter_translates_gives_the_same_trait(
    answers: dict[tuple[str, str], dict[str, Any]],
) -> None:
    compared = 0
    for (name, value), told in answers.items():
        if not told.get("prefilter") or (name, value) in IMPOSSIBLE:
            continue
        ours = translate({name: value}, exact=False).required
        assert list(ours) == told["prefilter"], (name, value)
        compared += 1
    # 9 + 9 disk buses less 3, 9 video models, 13 vif models, 33 + 5 architectures, 6 spellings
    assert compared == 81


def test_what_nova_asks_for_without_the_prefilter_is_the_same(
    answers: dict[tuple[str, str], dict[str, Any]],
) -> None:
    compared = set()
    for (name, value), told in answers.items():
        if told["refused"] or not told["always"] or (name, value) in NO_DEVICE:
            continue
        ours = translate({name: value}, exact=False).required
        assert list(ours) == told["always"], (name, value)
        compared.add((name, value))
    assert compared == {
        ("os_secure_boot", "required"),
        ("hw_tpm_version", "1.2"),
        ("hw_tpm_version", "2.0"),
        ("hw_sound_model", "virtio"),
    }


def test_where_nova_asks_for_nothing_standard_asks_for_nothing(
    answers: dict[tuple[str, str], dict[str, Any]],
) -> None:
    quiet = 0
    for (name, value), told in answers.items():
        if told["refused"] or told["prefilter"] is None or told["prefilter"] or told["always"]:
            continue
        assert translate({name: value}, exact=False).required == (), (name, value)
        quiet += 1
    assert quiet > 100


def test_a_tpm_with_model_and_version_is_asked_for_alike() -> None:
    told = ask(hw_tpm_model="tpm-crb", hw_tpm_version="2.0")
    ours = translate({"hw_tpm_model": "tpm-crb", "hw_tpm_version": "2.0"}, exact=False)
    assert (
        list(ours.required)
        == told["always"]
        == [
            "COMPUTE_SECURITY_TPM_2_0",
            "COMPUTE_SECURITY_TPM_CRB",
        ]
    )


def test_differs_viommu_model_has_its_real_prefix(
    answers: dict[tuple[str, str], dict[str, Any]], values: dict[str, list[str]]
) -> None:
    assert values["hw_viommu_model"] == ["intel", "smmuv3", "virtio", "auto"]
    for value in values["hw_viommu_model"]:
        assert answers["hw_viommu_model", value]["prefilter"] is None
        ours = translate({"hw_viommu_model": value}, exact=False).required
        assert ours == (f"COMPUTE_VIOMMU_MODEL_{value.upper()}",)


def test_differs_one_value_without_a_trait_drops_no_other() -> None:
    properties = {"hw_disk_bus": "scsi", "hw_video_model": "virtio", "hw_viommu_model": "intel"}
    assert ask(**properties)["prefilter"] is None
    assert translate(properties, exact=False).required == (
        "COMPUTE_GRAPHICS_MODEL_VIRTIO",
        "COMPUTE_STORAGE_BUS_SCSI",
        "COMPUTE_VIOMMU_MODEL_INTEL",
    )


def test_differs_a_wrong_value_drops_no_other() -> None:
    properties = {"hw_disk_bus": "scsi", "hw_video_model": "foo"}
    assert ask(**properties)["refused"] == "Field value foo is invalid"
    translation = translate(properties, exact=False)
    assert translation.required == ("COMPUTE_STORAGE_BUS_SCSI",)
    assert [error.value for error in translation.errors] == ["foo"]


@pytest.mark.parametrize(("name", "bus"), sorted(IMPOSSIBLE))
def test_differs_a_bus_that_cannot_carry_the_device_is_an_error(
    name: str, bus: str, answers: dict[tuple[str, str], dict[str, Any]]
) -> None:
    assert answers[name, bus]["prefilter"] == [f"COMPUTE_STORAGE_BUS_{bus.upper()}"]
    (outcome,) = translate({name: bus}, exact=False).outcomes
    assert (outcome.status, outcome.asks) == (Status.ERROR, ())


def test_differs_architectures_that_os_traits_spells_otherwise(
    answers: dict[tuple[str, str], dict[str, Any]], values: dict[str, list[str]]
) -> None:
    """Nova asks for HW_ARCH_ARMV7L, which is no trait, and gives up."""
    given_up = {
        (name, value)
        for name in ("hw_architecture", "hw_emulation_architecture")
        for value in values[name]
        if answers[name, value]["prefilter"] is None
    }
    ours = {
        (name, value): translate({name: value}, exact=False).required for name, value in given_up
    }
    assert {case: traits for case, traits in ours.items() if traits} == {
        ("hw_architecture", "armv7l"): ("HW_ARCH_ARMV7",),
    }
    assert {value for name, value in given_up if name == "hw_architecture"} == {"armv7l"}


def test_differs_values_without_a_standard_trait_are_said_to_have_none(
    answers: dict[tuple[str, str], dict[str, Any]],
) -> None:
    for (name, value), told in answers.items():
        if told.get("prefilter", ()) is None and name == "hw_emulation_architecture":
            (outcome,) = translate({name: value}, exact=False).outcomes
            assert outcome.status is Status.NOTHING
            assert outcome.note.startswith("there is no standard trait for ")


def test_with_as_traits_on_the_image_nova_itself_asks_for_the_exact_traits() -> None:
    image = {"hw_machine_type": "q35", "hw_disk_bus": "sata", "hw_vif_model": "e1000e"}
    traits = {f"trait:{name}": "required" for name in translate(image).derived()}
    assert ask(**image, **traits)["always"] == [
        "CUSTOM_CAPD_MACHINE_Q35",
        "CUSTOM_CAPD_Q35_NET_VIF_MODEL_E1000E",
        "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",
    ]


def test_what_stays_with_nova(answers: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Traits that stand for no device: capd neither reports nor asks for them."""
    theirs = {
        (name, value)
        for (name, value), told in answers.items()
        if not told["refused"] and told["always"] and not translate({name: value}).required
    }
    assert theirs == NO_DEVICE


def test_every_property_the_prefilter_knows_is_known_here(values: dict[str, list[str]]) -> None:
    assert set(values) >= PREFILTER
    assert "COMPUTE_STORAGE_BUS_SCSI" in standard_names()
