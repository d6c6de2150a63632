"""Nova's cells: which databases there are, and in which of them an instance is.

From `[api_database]` and `[database]` of the configuration to a `Cloud`: the API database and
its cells, cell0 among them. Each database is opened, and its schema checked, when first needed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Optional

from oslo_config import cfg
from sqlalchemy import select
from sqlalchemy.engine import Connection

from capd import osloconf
from capd.errors import ConfigError, DatabaseError, InstanceNotFound
from capd.novadb import releases, schema
from capd.novadb.database import Conflict, Database, HalfWritten
from capd.novadb.releases import Release
from capd.novadb.urls import parse, resolve

_OPTIONS = (
    cfg.StrOpt("connection", secret=True),
    cfg.StrOpt("connection_parameters", default="", secret=True),
)

LOG = logging.getLogger(__name__)

CELL0 = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Cell:
    """One cell. `id` is None for the one that `[database]` alone names (unmapped instances)."""

    id: Optional[int]
    uuid: str
    name: str
    database: Database
    disabled: bool = False


def configured(conf: cfg.ConfigOpts) -> bool:
    """Whether the files at hand name Nova's API database."""
    conf.register_opts(_OPTIONS, group="api_database")
    return bool(osloconf.value(conf, "api_database", "connection"))


class Cloud:
    """Nova's databases. Use as a context manager; leaving it drops all connections."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Read the connections from `conf`. Raises ConfigError if the API database is missing."""
        for group in ("database", "api_database"):
            conf.register_opts(_OPTIONS, group=group)
        api = osloconf.value(conf, "api_database", "connection")
        if not api:
            raise ConfigError(
                "[api_database] connection is not set",
                culprit="connection",
                cure="give Nova's file too: --config-file /etc/nova/nova.conf",
            )
        parameters = osloconf.value(conf, "api_database", "connection_parameters")
        url = parse(api, "[api_database] connection", parameters)
        self.api = Database(url, "the API database")
        self._default: Optional[str] = osloconf.value(conf, "database", "connection") or None
        self._parameters: str = osloconf.value(conf, "database", "connection_parameters")
        self._cells: Optional[tuple[Cell, ...]] = None
        self._api_release: Optional[Release] = None
        self._releases: dict[str, Release] = {}

    def __enter__(self) -> Cloud:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.api.close()
        for cell in self._cells or ():
            cell.database.close()

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells by id. Raises DatabaseError, also for an API database of unknown schema."""
        if self._cells is None:
            with self.api.read() as connection:
                self._api_release = schema.release(connection, self.api.where, api=True)
                rows = connection.execute(
                    select(schema.cell_mappings).order_by(schema.cell_mappings.c.id)
                ).all()
            self._cells = tuple(
                self._cell(
                    row.id, row.uuid, row.name or row.uuid, row.database_connection, row.disabled
                )
                for row in rows
            )
        return self._cells

    def cell_of(self, uuid: str) -> tuple[str, Cell]:
        """The instance's uuid as Nova spells it and its cell.

        Raises InstanceNotFound if it is mapped to none, in Nova's words.
        """
        found = self.mapped([uuid])
        if not found:
            raise InstanceNotFound(f"Instance {uuid} has no mapping to a cell.", culprit=uuid)
        return next(iter(found.items()))

    def mapped(self, uuids: Iterable[str]) -> Mapping[str, Cell]:
        """The cell of each instance that has a mapping."""
        table = schema.instance_mappings
        cells = {cell.id: cell for cell in self.cells}
        with self.api.read() as connection:
            rows = connection.execute(
                select(table.c.instance_uuid, table.c.cell_id).where(
                    table.c.instance_uuid.in_(list(uuids))
                )
            ).all()
        found: dict[str, Cell] = {}
        for row in rows:
            cell = cells.get(row.cell_id) if row.cell_id is not None else self._unmapped()
            if cell is None:
                raise DatabaseError(
                    f"instance {row.instance_uuid} is mapped to cell {row.cell_id}, which is "
                    "no cell",
                    culprit=row.instance_uuid,
                    cure="nova-manage cell_v2 list_cells shows the cells",
                )
            found[row.instance_uuid] = cell
        return found

    def others(self, cell: Cell) -> Iterator[Cell]:
        """The cells with a database other than that of `cell`."""
        for other in self.cells:
            if other.database.url != cell.database.url:
                yield other

    def release_of(self, cell: Cell) -> Release:
        """The oldest release that may read what is written into `cell`.

        From what the services of the cell and of cell0 report, else from the schema. Raises
        DatabaseError for a schema that is too old or too new.
        """
        if cell.uuid not in self._releases:
            with cell.database.read() as connection:
                by_schema = schema.release(connection, cell.database.where)
                versions = _service_versions(connection)
            for other in self.cells:
                if other.uuid == CELL0 and other.uuid != cell.uuid:
                    versions += self._versions_if_reachable(other)
            self._releases[cell.uuid] = releases.by_services(versions) or by_schema
        return self._releases[cell.uuid]

    @contextmanager
    def writing(self, cell: Cell) -> Iterator[tuple[Connection, Connection]]:
        """Transactions on `cell` and on the API database: (cell, api).

        The API database is committed first and the cell last, so that system_metadata, which
        Nova and `show` read, is the last to change: whatever is interrupted in between reads as
        not done, and doing it again completes it. Locks are taken in the order cell, API.
        Raises HalfWritten if the cell could not be committed.
        """
        committed = False
        try:
            with cell.database.write() as main:
                with self.api.write() as api:
                    yield main, api
                committed = True
        except DatabaseError as error:
            if not committed:
                raise
            half = HalfWritten(
                f"{error}; the request spec is written already, system_metadata is not",
                culprit=error.culprit,
                cure="give the same command again: it completes both",
            )
            half.undone = isinstance(error, Conflict)
            raise half from None

    def _versions_if_reachable(self, cell: Cell) -> list[int]:
        try:
            with cell.database.read() as connection:
                return _service_versions(connection)
        except DatabaseError as error:
            LOG.warning("%s; its services are not asked for their version", error)
            return []

    def _unmapped(self) -> Cell:
        """Where Nova looks for an instance that is not scheduled yet: `[database]`."""
        if self._default is None:
            raise ConfigError(
                "the instance is in no cell yet and [database] connection is not set",
                culprit="connection",
            )
        for cell in self.cells:
            if cell.database.url == parse(self._default, "[database] connection"):
                return cell
        return self._cell(None, "", "no cell", self._default, False)

    def _cell(
        self, number: Optional[int], uuid: str, name: str, template: str, disabled: Optional[bool]
    ) -> Cell:
        label = f"the database of {name}" if number is None else f"the database of cell {name}"
        url = parse(resolve(template, self._default), label, self._parameters)
        return Cell(number, uuid, name, Database(url, label), bool(disabled))


def _service_versions(connection: Connection) -> list[int]:
    table = schema.services
    rows = connection.execute(
        select(table.c.version).where(table.c.deleted == 0).distinct()
    ).scalars()
    return [int(version) for version in rows if version]
