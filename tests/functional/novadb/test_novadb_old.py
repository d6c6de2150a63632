"""Databases that Nova Train, Wallaby and Yoga made: read, set and registered by capd.

The dumps are in old/ (its README says how they were made). Where the old Nova itself is installed
its own objects load afterwards what capd wrote; where it is not, what is written is compared with
the versions and names that release has.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from capd import config
from capd.errors import DatabaseError, PropertyValue
from capd.novadb import schema
from capd.novadb.backend import Backend
from capd.novadb.cells import Cloud
from capd.novadb.exported import Exported
from capd.novadb.register import Kind, Register
from tests.functional.novadb.world import Peer, World, ident
from tests.rig.base import CACHE

OLD = Path(__file__).with_name("old")

#: release, minor version of ImageMetaProps, of RequestSpec, whether it has hw_input_bus
RELEASES = {
    "train": ("Train (Nova 20)", 24, 12, False),
    "wallaby": ("Wallaby (Nova 23)", 29, 14, True),
    "yoga": ("Yoga (Nova 25)", 31, 14, True),
}
IMAGE = "11111111-2222-4333-8444-555555555555"


@pytest.fixture(params=RELEASES)
def old(request: pytest.FixtureRequest) -> Iterator[tuple[str, World, Backend]]:
    world = World(name=request.param)
    world.release = request.param
    for which, dump in (("api", "api"), ("cell", "cell"), ("cell0", "cell")):
        connection = sqlite3.connect(world.root / world.database(which))
        connection.executescript((OLD / f"{request.param}.{dump}.sql").read_text())
        if which == "cell0":
            connection.execute("DELETE FROM instance_system_metadata")
            connection.execute("DELETE FROM instances")
            connection.execute("DELETE FROM services")
            connection.commit()
        connection.close()
    with Cloud(config.load([world.conf]).conf) as cloud:
        yield request.param, world, Backend(cloud)
    world.stop()


def spec_of(world: World, name: str) -> dict[str, Any]:
    table = schema.request_specs
    row = world.row("api", select(table.c.spec).where(table.c.instance_uuid == ident(name)))
    return json.loads(row[0][0])  # type: ignore[no-any-return]


def versions(spec: dict[str, Any]) -> tuple[str, str, str]:
    image = spec["nova_object.data"]["image"]
    properties = image["nova_object.data"]["properties"]
    return (
        spec["nova_object.version"],
        image["nova_object.version"],
        properties["nova_object.version"],
    )


def load(name: str, world: World, instance: str) -> Any:
    """What the old Nova makes of the instance, None where it is not installed."""
    python = CACHE / f"nova-{name}" / "bin" / "python"
    if not python.exists():
        return None
    with Peer(world.conf, python) as peer:
        return peer.load(ident(instance))


def record(instance: str, **properties: str) -> Exported:
    return Exported("-", ident(instance), instance, "host1", IMAGE, "nova", None, properties)


def test_release_is_told_and_instances_are_listed(old: tuple[str, World, Backend]) -> None:
    name, _, backend = old
    cell = next(cell for cell in backend.cloud.cells if cell.name == "cell1")
    assert str(backend.cloud.release_of(cell)) == RELEASES[name][0]
    assert backend.show(ident("rich"), "hw_machine_type") == "q35"
    listed = {item.instance.uuid: item.instance for item in backend.all(host="host1")}
    assert listed[ident("rich")].value("hw_cdrom_bus") == "sata"
    assert ident("deleted") not in listed


def test_set_writes_what_that_nova_reads(old: tuple[str, World, Backend]) -> None:
    name, world, backend = old
    _, minor, spec_minor, has_input_bus = RELEASES[name]
    backend.set(ident("rich"), ["hw_disk_bus=sata", "hw_input_bus=virtio", "hw_video_ram=32"])
    assert backend.show(ident("rich"), "hw_input_bus") == "virtio"
    spec = spec_of(world, "rich")
    assert versions(spec) == (f"1.{spec_minor}", "1.8", f"1.{minor}")
    fields = spec["nova_object.data"]["image"]["nova_object.data"]["properties"]
    fields = fields["nova_object.data"]
    assert (fields["hw_disk_bus"], fields["hw_video_ram"]) == ("sata", 32)
    assert ("hw_input_bus" in fields) is has_input_bus
    assert fields["traits_required"] == ["HW_CPU_X86_AVX2"]
    loaded = load(name, world, "rich")
    if loaded is not None:
        theirs = loaded["image_meta"]["nova_object.data"]["properties"]["nova_object.data"]
        assert {key: sorted(map(str, [value])) for key, value in theirs.items()} == {
            key: sorted(map(str, [value])) for key, value in fields.items()
        }
        assert loaded["system_metadata"]["image_hw_input_bus"] == "virtio"


@pytest.mark.parametrize("value", ["hw_vif_model=igb", "hw_video_model=bochs"])
def test_set_refuses_a_value_that_nova_could_not_load(
    old: tuple[str, World, Backend], value: str
) -> None:
    _, world, backend = old
    name = value.split("=")[1]
    if name == "bochs" and RELEASES[old[0]][1] >= 30:
        backend.set(ident("plain"), [value])
        return
    before = world.tables()
    with pytest.raises(PropertyValue, match=f"Field value {name} is invalid") as caught:
        backend.set(ident("plain"), ["hw_disk_bus=sata", value])
    assert caught.value.exit_code == 6
    assert caught.value.cure is not None and RELEASES[old[0]][0] in caught.value.cure
    assert world.tables() == before


def test_register(old: tuple[str, World, Backend]) -> None:
    name, world, backend = old
    records = [
        record("plain", hw_disk_bus="virtio", hw_cdrom_bus="ide", hw_input_bus="usb"),
        record("shelved", hw_disk_bus="virtio", hw_vif_model="igb", hw_cdrom_bus="ide"),
        record("no-spec", hw_cdrom_bus="ide"),
    ]
    outcomes = list(Register(backend.cloud).run(records))
    assert [(one.kind, dict(one.written)) for one in outcomes] == [
        (Kind.SKIPPED, {}),
        (Kind.REGISTERED, {"hw_cdrom_bus": "ide", "hw_input_bus": "usb"}),
        (Kind.SKIPPED, {}),
    ]
    assert outcomes[0].because == f"hw_vif_model=igb: {RELEASES[name][0]} does not know it"
    assert outcomes[2].because == f"RequestSpec not found for instance {ident('no-spec')}"
    loaded = load(name, world, "plain")
    if loaded is not None:
        assert loaded["system_metadata"]["image_hw_cdrom_bus"] == "ide"
        image = loaded["spec_image"]["nova_object.data"]["properties"]["nova_object.data"]
        assert image["hw_cdrom_bus"] == "ide"
        assert image["hw_disk_bus"] == "virtio"


@pytest.mark.parametrize("old", ["yoga"], indirect=True)
def test_yoga_agrees_on_system_metadata(old: tuple[str, World, Backend]) -> None:
    """Yoga has `nova-manage image_property`, which there does not touch the request spec yet."""
    _, world, backend = old
    python = CACHE / "nova-yoga" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"Nova Yoga is not installed in {python.parents[1]}")
    with Peer(world.conf, python) as peer:
        assert peer.set(ident("spare0"), ["hw_disk_bus=sata"]) == [0, ""]
        assert backend.show(ident("spare0"), "hw_disk_bus") == "sata"
        backend.set(ident("spare0"), ["hw_disk_bus=scsi", "hw_cdrom_bus=sata"])
        assert peer.show(ident("spare0"), "hw_disk_bus") == [0, "scsi\n"]
        assert peer.set(ident("active"), ["hw_disk_bus=sata"])[0] == 3


@pytest.mark.parametrize("old", ["train"], indirect=True)
@pytest.mark.parametrize(
    ("main", "api", "words"),
    [
        ("400", "67", "the database of cell cell1 .* has schema version 400: too old, Train"),
        ("402", "60", "the API database .* has schema version 60: too old, Train"),
        ("999", "67", "the database of cell cell1 .* has schema version 999: too new"),
    ],
)
def test_unknown_numbers_are_refused(
    old: tuple[str, World, Backend], main: str, api: str, words: str
) -> None:
    _, world, _ = old
    for which, number in (("cell", main), ("api", api)):
        connection = sqlite3.connect(world.root / world.database(which))
        connection.execute("UPDATE migrate_version SET version = ?", (number,))
        connection.commit()
        connection.close()
    with Cloud(config.load([world.conf]).conf) as cloud, pytest.raises(DatabaseError, match=words):
        Backend(cloud).set(ident("plain"), ["hw_disk_bus=sata"])
