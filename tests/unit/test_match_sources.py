"""Images and flavors from the files that the OpenStack tools write."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from capd.errors import InputError
from capd.match.flavors import Flavor
from capd.match.sources import Image, read_flavor, read_image, with_properties


def write(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "document.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


WANTED = {"hw_disk_bus": "scsi", "hw_machine_type": "q35", "trait:CUSTOM_X": "required"}

UUID = "5f1c7d8e-0000-0000-0000-000000000001"

OPENSTACK = {
    "checksum": "0" * 32,
    "container_format": "bare",
    "disk_format": "qcow2",
    "id": UUID,
    "min_disk": 0,
    "min_ram": 0,
    "name": "debian",
    "properties": {**WANTED, "os_hidden": False, "stores": "file", "direct_url": "x"},
    "status": "active",
    "tags": [],
    "visibility": "public",
}

GLANCE = {
    **{key: value for key, value in OPENSTACK.items() if key != "properties"},
    **WANTED,
    "schema": "/v2/schemas/image",
    "self": "/v2/images/5f1c",
    "locations": [],
    "owner": None,
}


@pytest.mark.parametrize(
    "document",
    [OPENSTACK, GLANCE, {"image": {"name": "debian", "properties": WANTED}}],
    ids=["openstack", "glance", "glance-v1"],
)
def test_images_of_every_tool(tmp_path: Path, document: Any) -> None:
    image = read_image(write(tmp_path, document))
    assert image == Image("debian", WANTED, False, str(document.get("id", "debian")))


def test_a_plain_mapping_of_properties(tmp_path: Path) -> None:
    assert read_image(write(tmp_path, WANTED)) == Image("", WANTED)


def test_an_image_without_properties(tmp_path: Path) -> None:
    document = {**OPENSTACK, "properties": {}}
    assert read_image(write(tmp_path, document)) == Image("debian", {}, False, UUID)
    document["properties"] = None
    assert read_image(write(tmp_path, document)) == Image("debian", {}, False, UUID)


def test_properties_as_the_text_of_an_older_client(tmp_path: Path) -> None:
    text = "hw_disk_bus='scsi', os_admin_user='O\\'Neil, J', hw_machine_type='q35'"
    assert read_image(write(tmp_path, {"name": "i", "properties": text})).properties == {
        "hw_disk_bus": "scsi",
        "os_admin_user": "O'Neil, J",
        "hw_machine_type": "q35",
    }


def test_values_become_text(tmp_path: Path) -> None:
    document = {"hw_boot_menu": True, "hw_video_ram": 64, "a": None, "b": ["x"]}
    assert read_image(write(tmp_path, document)).properties == {
        "hw_boot_menu": "true",
        "hw_video_ram": "64",
        "b": '["x"]',
    }


def test_b54_a_volume_and_a_snapshot_of_a_volume_backed_instance(tmp_path: Path) -> None:
    volume = {
        "id": "v",
        "name": "data",
        "size": 10,
        "volume_image_metadata": {**WANTED, "image_name": "debian", "min_ram": "0"},
    }
    assert read_image(write(tmp_path, volume)) == Image("debian", WANTED, True, "debian")
    mapping = json.dumps([{"boot_index": 0, "destination_type": "volume", "disk_bus": "scsi"}])
    image = read_image(write(tmp_path, {"block_device_mapping": mapping, "hw_disk_bus": "scsi"}))
    assert image.volume_backed
    assert not read_image(write(tmp_path, {"block_device_mapping": "[]"})).volume_backed


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(OPENSTACK)))
    assert read_image(Path("-")) == Image("debian", WANTED, False, UUID)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100000, "is not JSON"),
        ("[1, 2]", "holds no JSON object"),
        ('{"properties": 3}', "properties are no mapping of names to values"),
        ('{"properties": "hw_disk_bus=scsi"}', "properties are no mapping of names to values"),
    ],
)
def test_what_is_no_image(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_image(write(tmp_path, text))
    assert caught.value.exit_code == 2
    assert caught.value.culprit == str(tmp_path / "document.json")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file or directory"):
        read_image(tmp_path / "absent")
    with pytest.raises(InputError, match="Is a directory"):
        read_image(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(InputError, match="is not JSON"):
        read_image(tmp_path / "binary")


def test_properties_of_the_command_line_win() -> None:
    image = with_properties(Image("i", {"a": "1", "b": "2"}), ["b=3", "c=x=y", "d="])
    assert image.properties == {"a": "1", "b": "3", "c": "x=y", "d": ""}
    with pytest.raises(InputError, match="'hw_disk_bus' is not name=value"):
        with_properties(Image("", {}), ["hw_disk_bus"])


FLAVOR = {
    "OS-FLV-DISABLED:disabled": False,
    "OS-FLV-EXT-DATA:ephemeral": 5,
    "disk": 20,
    "id": "1",
    "name": "m1.small",
    "properties": {"hw:tpm_version": "2.0"},
    "ram": 2048,
    "swap": 512,
    "vcpus": 2,
}


def test_flavors_of_every_tool(tmp_path: Path) -> None:
    wanted = Flavor("m1.small", 2, 2048, 20, 5, 512, {"hw:tpm_version": "2.0"})
    assert read_flavor(write(tmp_path, FLAVOR)) == wanted
    older = {**FLAVOR, "properties": "hw:tpm_version='2.0'"}
    assert read_flavor(write(tmp_path, older)) == wanted
    api = {key: value for key, value in FLAVOR.items() if key not in ("properties", "swap")}
    api.update(extra_specs={"hw:tpm_version": "2.0"}, swap="")
    assert read_flavor(write(tmp_path, {"flavor": api})).swap == 0
    assert read_flavor(write(tmp_path, {"trait:X": "required"})) == Flavor(
        extra_specs={"trait:X": "required"}
    )


def test_a_flavor_with_nonsense(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vcpus is 'two', not a number"):
        read_flavor(write(tmp_path, {**FLAVOR, "vcpus": "two"}))
    with pytest.raises(InputError, match="ram is -1, not a number"):
        read_flavor(write(tmp_path, {**FLAVOR, "ram": -1}))


def test_resources_as_nova_counts_them() -> None:
    flavor = Flavor("f", 2, 2048, 20, 5, 1500, {})
    assert flavor.resources() == {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 27}
    assert flavor.resources(volume_backed=True) == {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 7}
    dedicated = Flavor(vcpus=2, memory=1, extra_specs={"hw:cpu_policy": "dedicated"})
    assert dedicated.resources() == {"PCPU": 2, "MEMORY_MB": 1}
    bare = Flavor(
        vcpus=2,
        memory=1,
        extra_specs={
            "resources:VCPU": "0",
            "resources:MEMORY_MB": "0",
            "resources:CUSTOM_BAREMETAL": "1",
        },
    )
    assert bare.resources() == {"CUSTOM_BAREMETAL": 1}


def test_granular_groups_of_a_flavor() -> None:
    flavor = Flavor(
        vcpus=1,
        extra_specs={
            "resources1:VGPU": "1",
            "trait1:CUSTOM_A100": "required",
            "trait_NET:CUSTOM_SLOW": "forbidden",
            "resources:VCPU": "4",
        },
    )
    assert flavor.resources() == {"VCPU": 4}
    assert flavor.groups() == {
        "1": ({"VGPU": 1}, {"CUSTOM_A100": "required"}),
        "_NET": ({}, {"CUSTOM_SLOW": "forbidden"}),
    }
