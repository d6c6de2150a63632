"""Records on disk: one transaction per instance, every change in the history.

Between `capd.records.tracker` or a command and the state database (`capd.store`). The daemon and
a command may write at the same time: what is to be written is decided inside the transaction,
from what is in the database then, so neither undoes the other.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

from capd.errors import InstanceNotFound
from capd.records.records import Property, Record, Source
from capd.store import Store

#: what becomes of a record (None in, if there is none yet), and the word for it in the history
Change = Callable[[Optional[Record]], Optional[tuple[Record, str]]]

_PLACES = ", ".join("?" * 10)

#: pages in the write-ahead log before a bulk moves them into the database (4 kB each)
_BULK_PAGES = 16384

_COLUMNS = "uuid, name, managed_by, image, arch, virt_type, machine, since, gone, properties"


@dataclass(frozen=True)
class Event:
    """One line of an instance's history; `at` in seconds since the epoch.

    `event` is defined, set, mixed, rebuilt, renamed, gone, returned or restored.
    Of an instance that was rebuilt, the old values stand here.
    """

    at: float
    event: str
    property: Optional[str] = None
    old_value: Optional[str] = None
    old_source: Optional[str] = None
    new_value: Optional[str] = None
    new_source: Optional[str] = None


class RecordStore:
    """The records in an open `Store`. Every method raises StoreError if SQLite cannot do it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def all(self) -> dict[str, Record]:
        """Every record by uuid, in the order of names."""
        rows = self.store.rows(f"SELECT {_COLUMNS} FROM record ORDER BY name, uuid")  # noqa: S608
        with self.store.sound("a record"):
            return {row["uuid"]: _record(row) for row in rows}

    def find(self, instance: str) -> Record:
        """The record of a uuid or a libvirt name, of present domains first.

        Raises InstanceNotFound, also if several instances bear the name.
        """
        rows = self.store.rows(
            "SELECT uuid FROM record WHERE uuid = ? OR name = ? "
            "ORDER BY uuid != ?, gone IS NOT NULL",
            (instance.lower(), instance, instance.lower()),
        )
        record = self.get(rows[0]["uuid"]) if rows else None
        if record is None:
            raise InstanceNotFound(
                f"Instance {instance} could not be found.",
                culprit=instance,
                cure="capd image-property list shows those that are recorded",
            )
        return record

    def get(self, uuid: str) -> Optional[Record]:
        """The record of one instance, None if there is none."""
        return _load(self.store, self.store.rows, uuid)

    def add(self, record: Record) -> bool:
        """Write a new record, one statement and so one transaction; False if there is one."""
        with self.store.statement() as connection:
            cursor = connection.execute(
                f"INSERT OR IGNORE INTO record ({_COLUMNS}) VALUES ({_PLACES})",  # noqa: S608
                _row(record),
            )
        return bool(cursor.rowcount)

    def update(self, uuid: str, change: Change, now: float) -> Record:
        """Apply `change` to the record of `uuid` in one transaction; returns what stands then.

        Raises InstanceNotFound if there is no record and `change` makes none.
        """
        with self.store.transaction() as connection:
            before = _load(self.store, connection.execute, uuid)
            made = change(before)
            if made is None:
                raise InstanceNotFound(f"Instance {uuid} could not be found.", culprit=uuid)
            after, event = made
            if after != before:
                _write(connection, before, after, now, event)
        return after

    def vanish(self, uuid: str, now: float) -> None:
        """Note that an instance has left this host; its record stays."""

        def leave(record: Optional[Record]) -> Optional[tuple[Record, str]]:
            return (replace(record, gone=record.gone or now), "gone") if record else None

        self.update(uuid, leave, now)

    def present(self) -> set[str]:
        """The uuids of the instances that have not gone."""
        return {
            row["uuid"] for row in self.store.rows("SELECT uuid FROM record WHERE gone IS NULL")
        }

    def version(self) -> int:
        """Changes when another process has written to the database."""
        return int(self.store.rows("PRAGMA data_version")[0][0])

    def purge(self, before: float) -> list[str]:
        """Forget instances that went before this time, history and all; returns their uuids."""
        due = "SELECT uuid FROM record WHERE gone < ?"
        if not self.store.rows(due, (before,)):
            return []
        with self.store.transaction() as connection:
            uuids = [row["uuid"] for row in connection.execute(due, (before,)).fetchall()]
            for uuid in uuids:
                for table in ("record", "record_history", "record_definition"):
                    connection.execute(f"DELETE FROM {table} WHERE uuid = ?", (uuid,))  # noqa: S608
        return uuids

    def history(self, uuid: str) -> tuple[Event, ...]:
        """Everything that happened to a record, oldest first."""
        rows = self.store.rows(
            "SELECT at, event, property, old_value, old_source, new_value, new_source "
            "FROM record_history WHERE uuid = ? ORDER BY id",
            (uuid,),
        )
        return tuple(Event(*row) for row in rows)

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Many updates, flushed to the disk together at the end.

        Each is still a transaction of its own: a killed process loses none that was committed,
        and none is half-written. Only a power cut within the block could take the last ones, and
        they are read from libvirt again at the next start.
        """
        connection = self.store.connection
        (usual,) = connection.execute("PRAGMA wal_autocheckpoint").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_BULK_PAGES}")
        try:
            yield
        finally:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {int(usual)}")
            self.store.rows("PRAGMA wal_checkpoint(PASSIVE)")


def _load(store: Store, select: Callable[..., Iterable[Any]], uuid: str) -> Optional[Record]:
    rows = select(f"SELECT {_COLUMNS} FROM record WHERE uuid = ?", (uuid,))  # noqa: S608
    with store.sound("a record"):
        return next((_record(row) for row in rows), None)


def _write(
    connection: sqlite3.Connection, before: Optional[Record], after: Record, now: float, event: str
) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO record ({_COLUMNS}) VALUES ({_PLACES})",  # noqa: S608
        _row(after),
    )
    for line in _changes(before, after, now, event):
        _note(connection, after.uuid, line)


def _changes(before: Optional[Record], after: Record, now: float, event: str) -> Iterator[Event]:
    """The lines of history that lead from one record to the other."""
    if before is None:
        return
    if before.name != after.name:
        yield Event(now, "renamed", None, before.name, None, after.name)
    if before.gone is None and after.gone is not None:
        yield Event(now, "gone")
    if before.gone is not None and after.gone is None:
        yield Event(now, "returned")
    for name in ("image", "machine"):
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and old != new:
            yield Event(now, event, name, old, None, new)
    for name in sorted(before.properties.keys() | after.properties.keys()):
        was, now_is = before.properties.get(name), after.properties.get(name)
        if was == now_is:
            continue
        if was is not None and now_is is not None and was.mixed != now_is.mixed:
            yield Event(now, "mixed", name, " ".join(was.mixed), None, " ".join(now_is.mixed))
        if _essence(was) != _essence(now_is):
            yield Event(now, event, name, *_essence(was), *_essence(now_is))


def _essence(found: Optional[Property]) -> tuple[Optional[str], Optional[str]]:
    return (found.value, found.source.value) if found is not None else (None, None)


def _note(connection: sqlite3.Connection, uuid: str, line: Event) -> None:
    values: Sequence[Any] = (
        uuid,
        line.at,
        line.event,
        line.property,
        line.old_value,
        line.old_source,
        line.new_value,
        line.new_source,
    )
    connection.execute(
        "INSERT INTO record_history (uuid, at, event, property, old_value, old_source, "
        "new_value, new_source) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )


def _row(record: Record) -> Sequence[Any]:
    """A record as its row: properties as `{"hw_disk_bus": [value, source, others...]}`."""
    properties = {
        name: (found.value, found.source.value, *found.mixed)
        for name, found in record.properties.items()
    }
    return (
        record.uuid,
        record.name,
        record.managed_by,
        record.image,
        record.arch,
        record.virt_type,
        record.machine,
        record.since,
        record.gone,
        json.dumps(properties),
    )


def _record(row: Any) -> Record:
    *plain, since, gone, properties = row
    found = {
        name: Property(value, Source(source), tuple(mixed))
        for name, (value, source, *mixed) in json.loads(properties).items()
    }
    uuid, name, managed_by, image, arch, virt_type, machine = plain
    return Record(uuid, name, managed_by, image, arch, virt_type, machine, found, since, gone)
