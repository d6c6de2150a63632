"""The image of a request spec made from system metadata; the oracle is in the functional tests."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest

from capd.errors import PropertyValue
from capd.novadb.database import Unfit
from capd.novadb.instances import Instance, Row, plan
from capd.novadb.releases import NEWEST, OLDEST
from capd.novadb.requestspec import Spec, image


def props(metadata: dict[str, Optional[str]], minor: int = 44) -> dict[str, Any]:
    made = image(metadata, None, minor)["nova_object.data"]["properties"]
    return made["nova_object.data"]  # type: ignore[no-any-return]


def test_values_are_typed_and_legacy_names_give_way() -> None:
    assert props(
        {
            "image_hw_video_ram": "64",
            "image_hw_boot_menu": "on",
            "image_hw_vif_model": "VirtualE1000",
            "image_architecture": "amd64",
            "image_hw_disk_bus": None,
            "image_mappings": "x",
            "image_unknown": "x",
            "image_trait:A": "required",
            "image_trait:B": "no",
            "hw_rng_model": "virtio",
        }
    ) == {
        "hw_video_ram": 64,
        "hw_boot_menu": True,
        "hw_vif_model": "e1000",
        "hw_architecture": "x86_64",
        "hw_rng_model": "virtio",
        "traits_required": ["A"],
    }


def test_numa() -> None:
    made = props(
        {
            "image_hw_numa_nodes": "2",
            "image_hw_numa_mem.0": "1024",
            "image_hw_numa_mem.1": "512",
            "image_hw_numa_mem.3": "1",
            "image_hw_numa_cpus.0": "0-3,^2",
            "image_hw_numa_cpus.1": " 4 , ,6-7",
        }
    )
    assert made["hw_numa_mem"] == [1024, 512]
    assert made["hw_numa_cpus"] == [[0, 1, 3], [4, 6, 7]]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("image_hw_video_ram", "much", "invalid literal for int() with base 10: 'much'"),
        ("image_min_ram", "", "invalid literal for int() with base 10: ''"),
        ("image_hw_disk_bus", "no", "Field value no is invalid"),
        ("image_hw_numa_cpus.0", "3-1", "Invalid range expression '3-1'"),
        ("image_hw_numa_cpus.0", "a", "Invalid range expression 'a'"),
        ("image_hw_numa_mem.0", "x", "invalid literal for int() with base 10: 'x'"),
    ],
)
def test_a_value_that_nova_could_not_read_is_refused(key: str, value: str, words: str) -> None:
    with pytest.raises(PropertyValue) as caught:
        image({key: value}, None, 44)
    assert str(caught.value) == words


def test_an_older_nova_gets_what_it_knows() -> None:
    metadata = {"image_hw_input_bus": "usb", "image_hw_disk_bus": "sata"}
    assert props(metadata, 24) == {"hw_disk_bus": "sata"}
    assert props(metadata, 29) == {"hw_disk_bus": "sata", "hw_input_bus": "usb"}
    with pytest.raises(PropertyValue, match="Field value igb is invalid"):
        props({"image_hw_vif_model": "igb"}, 38)


def test_image_itself() -> None:
    metadata = {"image_min_ram": "512", "image_disk_format": "raw"}
    made = image(metadata, "11111111-2222-4333-8444-555555555555", 44)
    assert made["nova_object.version"] == "1.8"
    assert made["nova_object.changes"] == ["disk_format", "id", "min_ram", "properties"]
    assert made["nova_object.data"]["min_ram"] == 512
    empty = image({}, None, 31)["nova_object.data"]["properties"]
    assert empty == {
        "nova_object.name": "ImageMetaProps",
        "nova_object.namespace": "nova",
        "nova_object.version": "1.31",
        "nova_object.data": {},
    }


def spec(minor: int = 42, **data: Any) -> Spec:
    held = {
        "nova_object.name": "ImageMeta",
        "nova_object.version": "1.8",
        "nova_object.data": {
            "name": "cirros",
            "properties": {
                "nova_object.name": "ImageMetaProps",
                "nova_object.version": f"1.{minor}",
                "nova_object.data": {"hw_disk_bus": "ide"},
            },
        },
    }
    document = {
        "nova_object.name": "RequestSpec",
        "nova_object.namespace": "nova",
        "nova_object.version": "1.14",
        "nova_object.data": {"image": held, "num_instances": 1, **data},
    }
    return Spec(7, "u", json.dumps(document))


def test_the_rest_of_a_spec_stays() -> None:
    made = json.loads(
        spec(requested_destination=None, retry={"x": 1}, flavor={"y": 2}).with_image(
            {"new": 1}, NEWEST
        )
    )
    assert made["nova_object.version"] == "1.15"
    assert made["nova_object.data"] == {
        "image": {"new": 1},
        "num_instances": 1,
        "flavor": {"y": 2},
        "retry": None,
        "ignore_hosts": None,
        "id": 7,
        "instance_uuid": "u",
    }
    assert made["nova_object.changes"] == ["image", "retry"]


def test_versions_never_go_back() -> None:
    assert spec().minor(OLDEST) == 42
    assert spec().minor(NEWEST) == 44
    assert spec().properties() == {"hw_disk_bus": "ide"}
    made = json.loads(spec().with_image({}, OLDEST))
    assert made["nova_object.version"] == "1.14"


def test_a_deleted_server_group_is_left_out() -> None:
    group = {"nova_object.data": {"uuid": "g"}, "nova_object.changes": ["uuid"]}
    held = spec(instance_group=group, scheduler_hints={"group": ["g"], "other": ["x"]})
    assert held.group == "g"
    made = json.loads(held.with_image({}, NEWEST, group_exists=False))["nova_object.data"]
    assert made["instance_group"] is None
    assert made["scheduler_hints"] == {"other": ["x"]}
    half = spec(instance_group={"nova_object.data": {}}, scheduler_hints={"group": ["g"]})
    assert half.group == "g"
    made = json.loads(half.with_image({}, NEWEST))["nova_object.data"]["instance_group"]
    assert made["nova_object.data"] == {"uuid": "g", "members": None, "hosts": None}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nova_object.name": "Flavor"}', "null"])
def test_what_is_no_spec(text: str) -> None:
    with pytest.raises(Unfit, match="the request spec of instance u is not readable"):
        Spec(1, "u", text)


def instance(*rows: tuple[str, Optional[str]]) -> Instance:
    return Instance(
        id=1,
        uuid="u",
        name="",
        vm_state="stopped",
        task_state=None,
        host="h",
        node=None,
        image=None,
        hidden=False,
        rows=tuple(Row(number, key, value) for number, (key, value) in enumerate(rows, 1)),
    )


def test_plan_changes_only_what_differs() -> None:
    held = instance(("image_a", "1"), ("image_b", "2"), ("other", "x"))
    change = plan(held, {"a": "1", "b": "3", "c": "4"})
    assert (dict(change.updates), dict(change.inserts), change.deletes) == (
        {2: "3"},
        {"image_c": "4"},
        (),
    )
    assert not plan(held, {"a": "1"})


def test_plan_with_a_key_that_stands_twice() -> None:
    held = instance(("image_a", "old"), ("image_a", "new"), ("image_A", "else"))
    assert held.value("a") == "new"
    change = plan(held, {"b": "1"})
    assert (dict(change.updates), change.deletes) == ({1: "new"}, (2,))
    assert change.metadata == {"image_a": "new", "image_A": "else", "image_b": "1"}
