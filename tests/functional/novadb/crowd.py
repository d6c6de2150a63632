"""Many instances on MariaDB: a few made by Nova's objects, the rest copied from them by SQL.

Also what hypervisors would have recorded for them, and whether all of it has arrived once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.functional.novadb.world import Peer, World, ident

SEEDS = ("seed0", "seed1", "seed2")

#: what Nova has for each seed before
BEFORE: dict[str, dict[str, str]] = {
    "seed0": {},
    "seed1": {"image_hw_disk_bus": "scsi", "image_hw_machine_type": "q35"},
    "seed2": {"image_hw_vif_model": "e1000", "image_trait:HW_CPU_X86_AVX2": "required"},
}

#: what is recorded for each instance of a seed; where Nova has a value it is the same
RECORDED: dict[str, dict[str, str]] = {
    "seed0": {
        "hw_machine_type": "pc",
        "hw_cdrom_bus": "ide",
        "hw_disk_bus": "virtio",
        "hw_input_bus": "usb",
        "hw_pointer_model": "usbtablet",
        "hw_video_model": "virtio",
        "hw_vif_model": "virtio",
    },
    "seed1": {
        "hw_machine_type": "q35",
        "hw_cdrom_bus": "sata",
        "hw_disk_bus": "scsi",
        "hw_input_bus": "usb",
        "hw_pointer_model": "usbtablet",
        "hw_video_model": "bochs",
        "hw_vif_model": "virtio",
    },
    "seed2": {
        "hw_machine_type": "pc",
        "hw_cdrom_bus": "ide",
        "hw_floppy_bus": "fdc",
        "hw_disk_bus": "virtio",
        "hw_input_bus": "usb",
        "hw_pointer_model": "usbtablet",
        "hw_video_model": "cirrus",
        "hw_vif_model": "e1000",
    },
}

_CELL = ("instances", "instance_system_metadata", "instance_extra", "instance_info_caches")
_API = ("instance_mappings", "request_specs")


def number_uuid(seed: int, number: int) -> str:
    """The uuid of copy `number` of a seed."""
    return f"{number:08x}-0000-4000-8000-{seed:012x}"


def populate(world: World, count: int) -> None:
    """`count` instances: the seeds through Nova, the copies of them by SQL."""
    with Peer(world.conf) as peer:
        for name in SEEDS:
            peer.create(ident(name), system_metadata=BEFORE[name], name=name)
    for seed, name in enumerate(SEEDS):
        copies = len(range(seed, count, len(SEEDS)))
        for which, tables in (("cell", _CELL), ("api", _API)):
            for table in tables:
                _copy(world, which, table, ident(name), seed, copies)


def _copy(world: World, which: str, table: str, uuid: str, seed: int, copies: int) -> None:
    database = world.database(which)
    key = "uuid" if table == "instances" else "instance_uuid"
    columns = world.server.query(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = "
        f"'{database}' AND table_name = '{table}' AND column_name != 'id'"
    ).split()
    new = f"LOWER(CONCAT(LPAD(HEX(seq), 8, '0'), '-0000-4000-8000-{seed:012x}'))"
    values = {name: f"s.`{name}`" for name in columns}
    values[key] = new
    if "spec" in values:
        values["spec"] = f"REPLACE(s.spec, '{uuid}', {new})"
    world.server.query(
        f"INSERT INTO `{database}`.`{table}` ({', '.join(f'`{name}`' for name in columns)}) "
        f"SELECT {', '.join(values[name] for name in columns)} "
        f"FROM seq_1_to_{copies} JOIN `{database}`.`{table}` s ON s.`{key}` = '{uuid}'"
    )


def records(count: int) -> Iterator[dict[str, Any]]:
    """What `export` would say of every instance, hosts in turn."""
    for index in range(count):
        seed = index % len(SEEDS)
        yield {
            "schema": 1,
            "gone": None,
            "uuid": number_uuid(seed, index // len(SEEDS) + 1),
            "name": f"instance-{index:08x}",
            "managed_by": "nova",
            "host": "host1",
            "image": "11111111-2222-4333-8444-555555555555",
            "machine": "pc-i440fx-7.2",
            "properties": {
                name: {"value": value, "source": "observed"}
                for name, value in RECORDED[f"seed{seed}"].items()
            },
        }


def export(path: Path, count: int) -> None:
    """The records as a file."""
    with path.open("w") as stream:
        for record in records(count):
            stream.write(json.dumps(record) + "\n")


def progress(world: World) -> int:
    """How many instances are done, cheaply."""
    return int(
        world.server.query(
            f"SELECT COUNT(*) FROM `{world.database('cell')}`.instances "
            "WHERE updated_at IS NOT NULL AND uuid LIKE '%-0000-4000-8000-%'"
        )
    )


def state(world: World) -> dict[str, int]:
    """Counts that must be exactly right once everything is registered.

    `rows`: system metadata rows of copies; `touched`: rows that were ever updated; `doubles`:
    keys that stand twice; `partly`: instances with some of the recorded values that were
    missing, but not all; `registered`: instances with all of them in system metadata;
    `agreeing`: request specs whose image has all recorded values.
    """
    cell, api = world.database("cell"), world.database("api")
    like = "LIKE '%-0000-4000-8000-%'"

    def number(statement: str) -> int:
        return int(world.server.query(statement).strip() or 0)

    meta = f"`{cell}`.instance_system_metadata"
    found = {
        "rows": number(f"SELECT COUNT(*) FROM {meta} WHERE instance_uuid {like}"),
        "touched": number(
            f"SELECT COUNT(*) FROM {meta} WHERE instance_uuid {like} AND updated_at IS NOT NULL"
        ),
        "doubles": number(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {meta} WHERE instance_uuid {like} "
            "GROUP BY instance_uuid, BINARY `key` HAVING COUNT(*) > 1) d"
        ),
        "partly": 0,
        "registered": 0,
        "agreeing": 0,
    }
    for seed, name in enumerate(SEEDS):
        pairs = ", ".join(f"('image_{key}', '{value}')" for key, value in RECORDED[name].items())
        wanted = len(RECORDED[name])
        mine = f"LIKE '%-0000-4000-8000-{seed:012x}'"
        found["registered"] += number(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {meta} WHERE instance_uuid {mine} AND "
            f"(`key`, value) IN ({pairs}) GROUP BY instance_uuid HAVING COUNT(*) = {wanted}) d"
        )
        before = len({f"image_{key}" for key in RECORDED[name]} & set(BEFORE[name]))
        found["partly"] += number(
            f"SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM {meta} WHERE instance_uuid {mine} "
            f"AND (`key`, value) IN ({pairs}) GROUP BY instance_uuid "
            f"HAVING n NOT IN ({before}, {wanted})) d"
        )
        path = '$."nova_object.data".image."nova_object.data".properties."nova_object.data".'
        agree = " AND ".join(
            f"JSON_VALUE(spec, '{path}{key}') = '{value}'" for key, value in RECORDED[name].items()
        )
        found["agreeing"] += number(
            f"SELECT COUNT(*) FROM `{api}`.request_specs WHERE instance_uuid {mine} AND {agree}"
        )
    return found


def expected(count: int) -> dict[str, int]:
    """What `state` must say after everything is registered exactly once."""
    rows = 0
    for seed, name in enumerate(SEEDS):
        copies = len(range(seed, count, len(SEEDS)))
        keys = {f"image_{key}" for key in RECORDED[name]} | set(BEFORE[name])
        # base_image_ref and what Nova itself adds
        rows += copies * (len(keys) + 1)
    once = {"touched": 0, "doubles": 0, "partly": 0}
    return {"rows": rows, **once, "registered": count, "agreeing": count}
