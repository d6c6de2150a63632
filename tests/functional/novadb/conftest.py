"""Nova clouds on SQLite, MariaDB and PostgreSQL, made once and copied.

| fixture | what | scope |
| --- | --- | --- |
| `pristine` | a filled cloud that nobody is connected to, on each server in turn | session |
| `twins` | two copies: Nova works on one (`twins.peer`), capd on the other | session |
| `cloud_copy` | a copy of a test's own | test |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.functional.novadb.world import PLAIN_PASSWORD, Peer, World, ident
from tests.rig import nova
from tests.rig.base import Unavailable
from tests.rig.databases import MariaDB, PostgreSQL

SERVERS = ("sqlite", "mariadb", "postgresql")

#: system metadata of the named instances, besides image_base_image_ref
METADATA: dict[str, dict[str, Any]] = {
    "plain": {"image_hw_disk_bus": "virtio"},
    "rich": {
        "image_hw_machine_type": "q35",
        "image_hw_disk_bus": "scsi",
        "image_hw_cdrom_bus": "sata",
        "image_hw_vif_model": "VirtualE1000",
        "image_hw_video_ram": "64",
        "image_hw_qemu_guest_agent": "yes",
        "image_trait:HW_CPU_X86_AVX2": "required",
        "image_trait:CUSTOM_ODD": "optional",
        "image_custom_key": "anything",
        "image_min_ram": "512",
        "image_min_disk": "1",
        "image_disk_format": "qcow2",
        "image_container_format": "bare",
        "image_os_type": "linux",
        "image_architecture": "AMD64",
        "image_hw_numa_nodes": "2",
        "image_hw_numa_cpus.0": "0-1",
        "image_hw_numa_cpus.1": "2,3,^3",
        "image_hw_numa_mem.0": "256",
        "image_hw_numa_mem.1": "256",
        "boot_roles": "admin,member",
    },
    "registered": {
        "image_hw_machine_type": "pc",
        "image_hw_disk_bus": "virtio",
        "image_hw_cdrom_bus": "ide",
        "image_hw_input_bus": "usb",
        "image_hw_pointer_model": "usbtablet",
        "image_hw_video_model": None,
        "image_hw_vif_model": "virtio",
    },
    "empty-value": {"image_hw_machine_type": ""},
    "no-image": {"image_hw_disk_bus": "virtio"},
    "bad-stored": {"image_hw_video_ram": "much"},
}

STATES = {
    "active": "active",
    "paused": "paused",
    "shelved": "shelved",
    "offloaded": "shelved_offloaded",
    "error": "error",
    "rescued": "rescued",
    "building": "building",
}


def fill(peer: Peer) -> None:
    """The instances that the tests speak of, through Nova's objects."""
    for name, metadata in METADATA.items():
        image = "" if name == "no-image" else "11111111-2222-4333-8444-555555555555"
        other = {"id": image, "properties": {}} if name == "bad-stored" else None
        peer.create(ident(name), system_metadata=metadata, image_ref=image, name=name, image=other)
    for name, state in STATES.items():
        host = None if state == "shelved_offloaded" else "host1"
        peer.create(
            ident(name), vm_state=state, system_metadata=METADATA["plain"], name=name, host=host
        )
    peer.create(ident("in-cell0"), cell="cell0", host=None, name="in-cell0")
    peer.create(ident("no-spec"), spec=False, name="no-spec")
    peer.create(ident("no-mapping"), mapping=False, name="no-mapping")
    peer.create(ident("unmapped"), cell=None, host=None, vm_state="building", name="unmapped")
    peer.create(ident("deleted"), name="deleted")
    peer.delete(ident("deleted"))
    group = peer.group()
    peer.create(ident("grouped"), group=group, name="grouped")
    peer.create(ident("untouched"), system_metadata=METADATA["plain"], name="untouched")
    for number in range(6):
        peer.create(ident(f"spare{number}"), system_metadata=METADATA["plain"], name="spare")


def server_for(kind: str) -> Any:
    """A running server with the user nova, None for SQLite."""
    if kind == "sqlite":
        return None
    server: Any = MariaDB() if kind == "mariadb" else PostgreSQL()
    server.start()
    if kind == "mariadb":
        server.query(f"CREATE USER nova@'127.0.0.1' IDENTIFIED BY '{PLAIN_PASSWORD}'")
    else:
        server.query(f"CREATE ROLE nova LOGIN PASSWORD '{PLAIN_PASSWORD}'")
    return server


def make_world(server: Any, name: str = "pristine") -> World:
    """A cloud made by Nova's own migrations with cell mappings that are templates."""
    world = World(server, name)
    world.make()
    with Peer(world.conf) as peer:
        peer.sync(cell=world.template(), cell0=world.template("_cell0"))
        fill(peer)
    return world


@pytest.fixture(scope="session", params=SERVERS)
def pristine(request: pytest.FixtureRequest) -> Iterator[World]:
    try:
        nova.python()
        server = server_for(request.param)
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        world = make_world(server)
        yield world
        world.stop()
    finally:
        if server is not None:
            server.stop()


@dataclass
class Twins:
    """Two clouds alike: Nova changes the `nova` one through `peer`, capd the `capd` one."""

    nova: World
    capd: World
    peer: Peer
    reader: Peer


@pytest.fixture(scope="session")
def twins(pristine: World) -> Iterator[Twins]:
    theirs, ours = pristine.copy("theirs"), pristine.copy("ours")
    with Peer(theirs.conf) as peer, Peer(ours.conf) as reader:
        yield Twins(theirs, ours, peer, reader)


@pytest.fixture
def cloud_copy(pristine: World) -> Callable[[str], World]:
    return pristine.copy
