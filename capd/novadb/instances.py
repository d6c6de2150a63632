"""Instances of one cell: state, place and image properties, read and written.

Nova keeps properties as rows `image_<property>` of `instance_system_metadata`. It reads them
without regard to `deleted`, the later row of a key winning, and when it saves it gives the first
row of each key the value and deletes the others; both are done here the same way, so that both
agree on databases where a key has two rows. MariaDB compares keys without regard to case and
trailing blanks, so keys are only ever compared here, in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Optional

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.engine import Connection

from capd.novadb.schema import instances, system_metadata

PREFIX = "image_"

#: a statement names at most so many instances (SQLite takes 999 values before 3.32)
CHUNK = 500


@dataclass(frozen=True)
class Row:
    """One row of instance_system_metadata."""

    id: int
    key: str
    value: Optional[str]


@dataclass(frozen=True)
class Instance:
    """A live instance. `image` is None for one booted from a volume.

    `rows` are all of its system metadata in the order of their ids.
    """

    id: int
    uuid: str
    name: str
    vm_state: Optional[str]
    task_state: Optional[str]
    host: Optional[str]
    node: Optional[str]
    image: Optional[str]
    hidden: bool
    rows: tuple[Row, ...]

    @property
    def metadata(self) -> dict[str, Optional[str]]:
        """System metadata as Nova reads it: the later row of a key wins."""
        return {row.key: row.value for row in self.rows}

    def value(self, name: str) -> Optional[str]:
        """The image property, None if there is no row, or one without a value (as `show`)."""
        return self.metadata.get(PREFIX + name) or None

    def properties(self) -> dict[str, str]:
        """All image properties that have a value."""
        return {
            key[len(PREFIX) :]: value
            for key, value in self.metadata.items()
            if key.startswith(PREFIX) and value
        }


@dataclass(frozen=True)
class Change:
    """What has to happen to one instance's rows; `metadata` is what Nova reads afterwards."""

    instance: Instance
    metadata: Mapping[str, Optional[str]]
    updates: Mapping[int, Optional[str]]
    inserts: Mapping[str, str]
    deletes: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.updates or self.inserts or self.deletes)


def plan(instance: Instance, properties: Mapping[str, str]) -> Change:
    """The change that gives `instance` these image properties, as Nova would save it."""
    wanted = instance.metadata
    wanted.update({PREFIX + name: value for name, value in properties.items()})
    pending = dict(wanted)
    updates: dict[int, Optional[str]] = {}
    deletes: list[int] = []
    for row in instance.rows:
        if row.key not in pending:
            deletes.append(row.id)
            continue
        value = pending.pop(row.key)
        if value != row.value:
            updates[row.id] = value
    inserts = {key: value for key, value in pending.items() if value is not None}
    return Change(instance, wanted, updates, inserts, tuple(deletes))


def read(connection: Connection, uuids: Sequence[str], lock: bool = False) -> dict[str, Instance]:
    """The live instances among `uuids`, by uuid; with `lock` their rows stay locked."""
    found: dict[str, Instance] = {}
    for start in range(0, len(uuids), CHUNK):
        part = sorted(uuids[start : start + CHUNK])
        statement = _live().where(instances.c.uuid.in_(part)).order_by(instances.c.uuid)
        rows = connection.execute(statement.with_for_update() if lock else statement).all()
        found.update({item.uuid: item for item in _with_metadata(connection, rows, lock)})
    return found


def present(connection: Connection, uuids: Sequence[str]) -> frozenset[str]:
    """Which of `uuids` are live here and not hidden (the other half of a cell migration is)."""
    found: set[str] = set()
    for start in range(0, len(uuids), CHUNK):
        statement = select(instances.c.uuid, instances.c.hidden).where(
            instances.c.uuid.in_(uuids[start : start + CHUNK]), instances.c.deleted == 0
        )
        found.update(row.uuid for row in connection.execute(statement) if not row.hidden)
    return frozenset(found)


def pages(
    connection: Connection, host: Optional[str] = None, size: int = CHUNK
) -> Iterator[list[Instance]]:
    """All live instances, or those of `host` (its service or node name), page by page."""
    last = 0
    while True:
        statement = _live().where(instances.c.id > last)
        if host is not None:
            statement = statement.where((instances.c.host == host) | (instances.c.node == host))
        rows = connection.execute(statement.order_by(instances.c.id).limit(size)).all()
        if not rows:
            return
        last = rows[-1].id
        yield list(_with_metadata(connection, rows, False))


def write(connection: Connection, changes: Iterable[Change]) -> None:
    """Carry out `changes`, and note on each changed instance when."""
    done = [change for change in changes if change]
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    deletes = [number for change in done for number in change.deletes]
    updates = [
        {"row": number, "new": value, "now": now}
        for change in done
        for number, value in change.updates.items()
    ]
    inserts = [
        {
            "instance_uuid": change.instance.uuid,
            "key": key,
            "value": value,
            "created_at": now,
            "deleted": 0,
        }
        for change in done
        for key, value in change.inserts.items()
    ]
    if deletes:
        connection.execute(delete(system_metadata).where(system_metadata.c.id.in_(deletes)))
    if updates:
        connection.execute(
            update(system_metadata)
            .where(system_metadata.c.id == bindparam("row"))
            .values(value=bindparam("new"), updated_at=bindparam("now")),
            updates,
        )
    if inserts:
        connection.execute(insert(system_metadata), inserts)
    numbers = [change.instance.id for change in done]
    if numbers:
        connection.execute(
            update(instances).where(instances.c.id.in_(numbers)).values(updated_at=now)
        )


def _live() -> Any:
    """A SELECT of the columns of an Instance, of those that are not deleted."""
    columns = instances.c
    return select(
        columns.id,
        columns.uuid,
        columns.display_name,
        columns.vm_state,
        columns.task_state,
        columns.host,
        columns.node,
        columns.image_ref,
        columns.hidden,
    ).where(columns.deleted == 0)


def _with_metadata(connection: Connection, rows: Sequence[Any], lock: bool) -> Iterator[Instance]:
    """The instances of `rows` with their system metadata; one statement for all."""
    if not rows:
        return
    columns = system_metadata.c
    statement = (
        select(columns.id, columns.instance_uuid, columns.key, columns.value)
        .where(columns.instance_uuid.in_([row.uuid for row in rows]))
        .order_by(columns.id)
    )
    metadata: dict[str, list[Row]] = {}
    for row in connection.execute(statement.with_for_update() if lock else statement):
        metadata.setdefault(row.instance_uuid, []).append(Row(row.id, row.key, row.value))
    for row in rows:
        yield Instance(
            id=row.id,
            uuid=row.uuid,
            name=row.display_name or "",
            vm_state=row.vm_state,
            task_state=row.task_state,
            host=row.host,
            node=row.node,
            image=row.image_ref or None,
            hidden=bool(row.hidden),
            rows=tuple(metadata.get(row.uuid, ())),
        )
