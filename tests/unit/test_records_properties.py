"""Names and values of image properties, and the words and codes of a refusal."""

from __future__ import annotations

import pytest

from capd import properties
from capd.errors import CapdError, PropertyFormat, PropertyName, PropertyValue


def test_b56_a_value_may_contain_equal_signs() -> None:
    assert properties.parse("os_command_line=root=/dev/vda ro=1") == (
        "os_command_line",
        "root=/dev/vda ro=1",
    )
    assert properties.parse_all(["trait:CUSTOM_X=required", "os_distro=a=b"]) == {
        "trait:CUSTOM_X": "required",
        "os_distro": "a=b",
    }


@pytest.mark.parametrize(
    ("assignments", "error", "code", "words"),
    [
        (["hw_disk_bus"], PropertyFormat, 4, "--property should use the format key=value"),
        (
            ["hw_disk_bus=floppy", "min_ram=4", "oops"],
            PropertyFormat,
            4,
            "--property should use the format key=value",
        ),
        (
            ["hw_disk_bus=floppy", "min_ram=4"],
            PropertyName,
            5,
            "Invalid image property name min_ram.",
        ),
        (["=x"], PropertyName, 5, "Invalid image property name ."),
        (["HW_DISK_BUS=ide"], PropertyName, 5, "Invalid image property name HW_DISK_BUS."),
        (["hw_disk_bus=floppy"], PropertyValue, 6, "Field value floppy is invalid"),
        (["hw_disk_bus="], PropertyValue, 6, "Field value  is invalid"),
        (
            ["hw_video_ram=much"],
            PropertyValue,
            6,
            "invalid literal for int() with base 10: 'much'",
        ),
    ],
)
def test_b56_refusals_have_novas_words_and_codes(
    assignments: list[str], error: type[CapdError], code: int, words: str
) -> None:
    with pytest.raises(error) as caught:
        properties.parse_all(assignments)
    assert str(caught.value) == words
    assert caught.value.exit_code == code


def test_of_a_property_given_twice_the_last_counts() -> None:
    assert properties.parse_all(["hw_disk_bus=nonsense", "hw_disk_bus=scsi"]) == {
        "hw_disk_bus": "scsi"
    }


@pytest.mark.parametrize(
    ("name", "value", "canonical"),
    [
        ("hw_vif_model", "VirtualE1000", "e1000"),
        ("hw_scsi_model", "lsiLogicsas", "lsisas1068"),
        ("hw_scsi_model", "paraVirtual", "vmpvscsi"),
        ("hw_architecture", "AMD64", "x86_64"),
        ("hw_machine_type", "anything at all", "anything at all"),
        ("hw_machine_type", "", ""),
        ("hw_qemu_guest_agent", "maybe", "False"),
        ("hw_video_ram", " 64 ", "64"),
        ("trait:CUSTOM_X", "whatever", "whatever"),
        ("hw_disk_bus", "xen", "xen"),
    ],
)
def test_values_become_canonical(name: str, value: str, canonical: str) -> None:
    assert properties.validate(name, value) == canonical


def test_the_cure_lists_the_values() -> None:
    with pytest.raises(PropertyValue) as caught:
        properties.validate("hw_pointer_model", "ps2mouse")
    assert caught.value.line() == (
        "Field value ps2mouse is invalid (hw_pointer_model takes usbtablet)"
    )


def test_one_bad_image_property_takes_no_other_with_it() -> None:
    image = properties.from_image(
        {"hw_disk_bus": "scsi", "hw_viommu_model": "foo", "hw_video_model": "virtio"}
    )
    assert image.values == {"hw_disk_bus": "scsi", "hw_video_model": "virtio"}
    assert [str(problem) for problem in image.problems] == ["Field value foo is invalid"]
