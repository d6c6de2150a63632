"""Two sets on one instance, a set against an instance being started: never a mixture."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select

from capd import config
from capd.errors import CapdError, InstanceState
from capd.novadb import backend as backend_module
from capd.novadb import schema, specs
from capd.novadb.backend import Backend
from capd.novadb.cells import Cloud
from tests.functional.novadb.conftest import Twins
from tests.functional.novadb.world import World, ident

#: sets both properties to one value, again and again: no moment may show two different ones
_SETTER = """
import sys
from pathlib import Path
from capd import config
from capd.novadb.backend import Backend
from capd.novadb.cells import Cloud
conf, uuid, rounds, *values = sys.argv[1:]
with Cloud(config.load([Path(conf)]).conf) as cloud:
    for _ in range(int(rounds)):
        for value in values:
            Backend(cloud).set(uuid, [f"hw_disk_bus={value}", f"hw_cdrom_bus={value}"])
"""


def held(world: World, uuid: str) -> tuple[str, str, str, str]:
    """Disk and CD-ROM bus in system metadata and in the request spec, read in one go each."""
    table = schema.system_metadata
    rows = world.row(
        "cell", select(table.c.key, table.c.value).where(table.c.instance_uuid == uuid)
    )
    values = {row.key: row.value for row in rows}
    table = schema.request_specs
    text = world.row("api", select(table.c.spec).where(table.c.instance_uuid == uuid))[0][0]
    image = json.loads(text)["nova_object.data"]["image"]["nova_object.data"]
    fields = image["properties"]["nova_object.data"]
    return (
        values["image_hw_disk_bus"],
        values["image_hw_cdrom_bus"],
        fields["hw_disk_bus"],
        fields["hw_cdrom_bus"],
    )


def pair(value: str) -> list[str]:
    return [f"hw_disk_bus={value}", f"hw_cdrom_bus={value}"]


def start(twins: Twins, uuid: str) -> None:
    """Nova starts the instance; where SQLite's one lock refuses it at once, it tries again."""
    for _ in range(200):
        try:
            twins.reader.start(uuid)
        except RuntimeError as error:
            if "database is locked" not in str(error):
                raise
            time.sleep(0.02)
        else:
            return


@pytest.fixture
def backend(twins: Twins) -> Iterator[Backend]:
    with Cloud(config.load([twins.capd.conf]).conf) as cloud:
        yield Backend(cloud)


def test_two_sets_are_serialised(twins: Twins, backend: Backend) -> None:
    uuid = ident("spare4")
    backend.set(uuid, pair("usb"))
    setters = [
        subprocess.Popen(
            [sys.executable, "-c", _SETTER, str(twins.capd.conf), uuid, "8", *values],
            stderr=subprocess.PIPE,
        )
        for values in (("scsi", "ide"), ("sata", "usb"))
    ]
    seen = set()
    while any(setter.poll() is None for setter in setters):
        disk, cdrom, _, _ = held(twins.capd, uuid)
        assert disk == cdrom
        seen.add(disk)
    for setter in setters:
        _, errors = setter.communicate()
        assert (setter.returncode, errors) == (0, b"")
    assert len(set(held(twins.capd, uuid))) == 1
    assert len(seen) >= 2


def test_started_before_the_write_is_refused(
    twins: Twins, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid = ident("spare5")
    backend.set(uuid, pair("usb"))
    checked = backend._other_cells

    def start_meanwhile(*arguments: Any) -> list[str]:
        twins.reader.start(uuid)
        return checked(*arguments)

    monkeypatch.setattr(backend, "_other_cells", start_meanwhile)
    with pytest.raises(InstanceState, match="in task_state powering-on"):
        backend.set(uuid, pair("scsi"))
    assert held(twins.capd, uuid) == ("usb",) * 4
    assert twins.reader.started(uuid)["image_hw_disk_bus"] == "usb"
    monkeypatch.undo()
    with pytest.raises(InstanceState, match="in vm_state active"):
        backend.set(uuid, pair("scsi"))
    twins.reader.update(uuid, vm_state="stopped")


def test_start_during_the_write_waits_and_sees_all_of_it(
    twins: Twins, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid = ident("spare5")
    backend.set(uuid, pair("usb"))
    starter = threading.Thread(target=start, args=(twins, uuid))
    write = specs.write
    alive: list[bool] = []

    def start_now(*arguments: Any) -> None:
        starter.start()
        starter.join(0.5)
        alive.append(starter.is_alive())
        write(*arguments)

    monkeypatch.setattr(backend_module.specs, "write", start_now)
    backend.set(uuid, pair("scsi"))
    starter.join()
    assert alive == [True]
    used = twins.reader.started(uuid)
    assert (used["image_hw_disk_bus"], used["image_hw_cdrom_bus"]) == ("scsi", "scsi")
    assert held(twins.capd, uuid) == ("scsi",) * 4
    twins.reader.update(uuid, vm_state="stopped")


def test_set_races_start(twins: Twins, backend: Backend) -> None:
    """Whoever wins, the guest runs with what both databases say."""
    uuid, values, refused = ident("spare5"), ("usb", "scsi", "sata", "ide"), 0
    backend.set(uuid, pair("ide"))
    for number in range(12):
        before, new = held(twins.capd, uuid)[0], values[number % 4]
        errors: list[CapdError] = []

        def run(value: str, errors: list[CapdError] = errors) -> None:
            try:
                backend.set(uuid, pair(value))
            except CapdError as caught:
                errors.append(caught)

        setter = threading.Thread(target=run, args=(new,))
        setter.start()
        setter.join(0.002 * (number % 6))
        start(twins, uuid)
        used = twins.reader.started(uuid)
        setter.join()
        expected = before if errors else new
        assert [error.exit_code for error in errors] in ([], [3])
        assert (used["image_hw_disk_bus"], used["image_hw_cdrom_bus"]) == (expected, expected)
        assert held(twins.capd, uuid) == (expected,) * 4
        refused += len(errors)
        twins.reader.update(uuid, vm_state="stopped")
    assert refused < 12


@contextmanager
def commit_fails(cloud: Cloud, times: int) -> Iterator[None]:
    """The cell's next commits fail as on a cluster that finds a conflict only then (a fake)."""
    from capd.novadb.database import Conflict

    cells = [cell.database for cell in cloud.cells]
    originals = [database.write for database in cells]
    left = [times]

    def failing(original: Callable[[], Any]) -> Callable[[], Any]:
        @contextmanager
        def write() -> Iterator[Any]:
            with original() as connection:
                yield connection
                if left[0]:
                    left[0] -= 1
                    connection.rollback()
                    raise Conflict("the database of cell cell1 is busy: deadlock at commit")

        return write

    for database, original in zip(cells, originals):
        database.write = failing(original)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for database, original in zip(cells, originals):
            database.write = original  # type: ignore[method-assign]


def test_conflict_at_the_last_commit_is_repeated(twins: Twins, backend: Backend) -> None:
    uuid = ident("spare4")
    backend.set(uuid, pair("usb"))
    with commit_fails(backend.cloud, 1):
        backend.set(uuid, pair("scsi"))
    assert held(twins.capd, uuid) == ("scsi",) * 4


def test_conflict_at_the_last_commit_with_a_start_leaves_all_as_it_was(
    twins: Twins, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from capd.novadb import agreement

    uuid = ident("spare4")
    backend.set(uuid, pair("usb"))
    restore = agreement.restore

    def start_first(*arguments: Any) -> None:
        assert held(twins.capd, uuid) == ("usb", "usb", "sata", "sata")
        twins.reader.start(uuid)
        restore(*arguments)

    monkeypatch.setattr(agreement, "restore", start_first)
    with commit_fails(backend.cloud, 1), pytest.raises(InstanceState, match="powering-on"):
        backend.set(uuid, pair("sata"))
    assert held(twins.capd, uuid) == ("usb",) * 4
    twins.reader.started(uuid)
    twins.reader.update(uuid, vm_state="stopped")
