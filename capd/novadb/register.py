"""Write into Nova what hypervisors recorded, where Nova has nothing.

For each record whose instance still matches (host, uuid, image) the undefined properties are
written into system metadata and the image of the request spec, in batches: one transaction for
some hundred instances, all or nothing for each instance. Nothing that is defined is changed, so
doing it again, after an interruption or later, writes only what is still missing; that is all it
takes to resume. A batch that fails because of one instance is done again one by one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Optional, TypeVar, Union

from capd import properties
from capd.errors import CapdError, DatabaseError, PropertyName, PropertyValue
from capd.novadb import instances, specs
from capd.novadb.agreement import agreeing
from capd.novadb.cells import Cell, Cloud
from capd.novadb.database import Unfit
from capd.novadb.exported import Exported, Unreadable
from capd.novadb.instances import Change, Instance
from capd.novadb.releases import Release, understands_value
from capd.novadb.requestspec import Spec

LOG = logging.getLogger(__name__)

#: instances in one transaction: long enough to save time, short enough to hold nobody up
BATCH = 200

Item = TypeVar("Item")


class Kind(str, Enum):
    """How it went for one instance; GONE: it left the host that recorded it."""

    REGISTERED = "registered"
    COMPLETE = "complete"
    SKIPPED = "skipped"
    GONE = "gone"
    FOREIGN = "not Nova's"


@dataclass(frozen=True)
class Difference:
    """A property that Nova has with another value than the one recorded."""

    name: str
    nova: str
    recorded: str


@dataclass(frozen=True)
class Outcome:
    """What was (or with a dry run would be) written for one record, or why nothing was."""

    kind: Kind
    uuid: str
    name: str = ""
    host: str = ""
    written: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    because: str = ""


class Register:
    """Registers records in a cloud; with `dry_run` it only says what it would write."""

    def __init__(self, cloud: Cloud, dry_run: bool = False, batch: int = BATCH) -> None:
        self._cloud, self._dry_run, self._batch = cloud, dry_run, batch
        self._unreachable: set[str] = set()

    def run(self, records: Iterable[Union[Exported, Unreadable]]) -> Iterator[Outcome]:
        """Outcomes as they are on disk, in the order of `records` but for the cells.

        Raises DatabaseError when a database fails; everything that came out before is done.
        """
        for part in _parts(records, self._batch):
            wanted: dict[str, Exported] = {}
            for item in part:
                if isinstance(item, Unreadable):
                    because = f"{item.where}: {item.because}"
                    yield Outcome(Kind.SKIPPED, "-", because=because)
                elif item.managed_by != "nova":
                    yield Outcome(Kind.FOREIGN, item.uuid, item.name, item.host)
                elif item.gone:
                    yield Outcome(Kind.GONE, item.uuid, item.name, item.host)
                elif item.uuid in wanted:
                    # two hosts claim it: one after the other, so that each is judged
                    yield from self._records([wanted.pop(item.uuid)])
                    wanted[item.uuid] = item
                else:
                    wanted[item.uuid] = item
            yield from self._records(list(wanted.values()))

    def _records(self, records: Sequence[Exported]) -> Iterator[Outcome]:
        mapped = self._cloud.mapped([record.uuid for record in records])
        by_cell: dict[str, tuple[Cell, list[Exported]]] = {}
        for record in records:
            cell = mapped.get(record.uuid)
            if cell is None:
                yield _skipped(record, "Nova has no such instance")
            else:
                by_cell.setdefault(cell.uuid, (cell, []))[1].append(record)
        for cell, part in by_cell.values():
            yield from self._cell(cell, part)

    def _cell(self, cell: Cell, records: Sequence[Exported]) -> Iterator[Outcome]:
        """Those of one cell: judged without locks first, since most need no write when resumed."""
        release = self._cloud.release_of(cell)
        double = self._in_other_cells(cell, [record.uuid for record in records])
        with cell.database.read() as connection:
            found = instances.read(connection, [record.uuid for record in records])
        pending: list[Exported] = []
        for record in records:
            outcome = judge(record, found.get(record.uuid), release)
            if record.uuid in double:
                yield _skipped(record, f"it is also in cell {double[record.uuid]}")
            elif outcome.kind is Kind.REGISTERED and not self._dry_run:
                pending.append(record)
            else:
                yield outcome
        if pending:
            yield from self._write(cell, pending, release)

    def _write(
        self, cell: Cell, records: Sequence[Exported], release: Release
    ) -> Iterator[Outcome]:
        try:
            yield from agreeing(
                self._cloud,
                cell,
                [record.uuid for record in records],
                release,
                lambda: self._transaction(cell, records, release),
            )
        except (Unfit, PropertyValue) as error:
            if len(records) == 1:
                yield _skipped(records[0], str(error))
                return
            for record in records:
                yield from self._write(cell, [record], release)

    def _transaction(
        self, cell: Cell, records: Sequence[Exported], release: Release
    ) -> list[Outcome]:
        """Judge again with the rows locked, and write what is undefined."""
        outcomes: list[Outcome] = []
        with self._cloud.writing(cell) as (main, api):
            uuids = [record.uuid for record in records]
            found = instances.read(main, uuids, lock=True)
            held = specs.read(api, uuids)
            changes: list[tuple[Spec, Change]] = []
            for record in records:
                instance = found.get(record.uuid)
                outcome = judge(record, instance, release)
                if outcome.kind is Kind.REGISTERED and instance is not None:
                    spec = held.get(record.uuid)
                    if spec is None:
                        raise specs.missing(record.uuid)
                    changes.append((spec, instances.plan(instance, outcome.written)))
                outcomes.append(outcome)
            specs.write(api, changes, release)
            instances.write(main, [change for _, change in changes])
        return outcomes

    def _in_other_cells(self, cell: Cell, uuids: Sequence[str]) -> dict[str, str]:
        """Which instances are live in another cell too, and in which."""
        double: dict[str, str] = {}
        for other in self._cloud.others(cell):
            if other.uuid in self._unreachable:
                continue
            try:
                with other.database.read() as connection:
                    for uuid in instances.present(connection, uuids):
                        double[uuid] = other.name
            except DatabaseError as error:
                self._unreachable.add(other.uuid)
                LOG.warning("%s; instances that are there too are not noticed", error)
        return double


def judge(record: Exported, instance: Optional[Instance], release: Release) -> Outcome:
    """What to write for `record`: all that is undefined, or nothing and why."""
    if instance is None:
        return _skipped(record, "the instance is deleted")
    if record.host not in (instance.host, instance.node):
        return _skipped(record, f"it is on {instance.host or 'no host'} now")
    if record.image != instance.image:
        return _skipped(record, f"its image is {instance.image or 'none (a volume)'} now")
    if instance.task_state is not None:
        return _skipped(record, f"it is being changed now ({instance.task_state})")
    written: dict[str, str] = {}
    differences: list[Difference] = []
    for name, value in record.properties.items():
        held = instance.value(name)
        if held is None:
            problem = _problem(name, value, release)
            if problem is not None:
                return _skipped(record, problem)
            written[name] = value
        elif not _same(name, held, value, record.machine):
            differences.append(Difference(name, held, value))
    kind = Kind.REGISTERED if written else Kind.COMPLETE
    return Outcome(
        kind, record.uuid, record.name, instance.host or "", written, tuple(differences)
    )


def _problem(name: str, value: str, release: Release) -> Optional[str]:
    """Why the cloud's Nova could not read this property, None if it can."""
    try:
        typed = properties.coerce(name, value)
    except (PropertyName, PropertyValue) as error:
        return f"{name}={value}: {error}"
    if not understands_value(release.properties, name, typed):
        return f"{name}={value}: {release} does not know it"
    return None


def _same(name: str, held: str, recorded: str, machine: Optional[str]) -> bool:
    """Whether two values of a property mean the same."""
    if held == recorded or (name == "hw_machine_type" and held == machine):
        return True
    try:
        return properties.validate(name, held) == properties.validate(name, recorded)
    except CapdError:
        return False


def _skipped(record: Exported, because: str) -> Outcome:
    return Outcome(Kind.SKIPPED, record.uuid, record.name, record.host, because=because)


def _parts(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while True:
        part = list(islice(iterator, size))
        if not part:
            return
        yield part
