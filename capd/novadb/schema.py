"""The few tables of Nova that capd reads and writes, and which Nova made them.

Columns are those of Nova's models (`nova.db.main.models`, `nova.db.api.models`), the same from
Train to now. `release` refuses a database that is no Nova database, older than Train, or newer
than this capd knows.
"""

from __future__ import annotations

from typing import Any, Optional

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
)
from sqlalchemy.engine import Connection

from capd.errors import DatabaseError
from capd.novadb.releases import NEWEST, OLDEST, Release, by_revision

_MAIN, _API = MetaData(), MetaData()


def _table(metadata: MetaData, name: str, *columns: Column[Any]) -> Table:
    """A table with the columns that all of Nova's have."""
    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True),
        Column("created_at", DateTime),
        Column("updated_at", DateTime),
        *columns,
    )


def _string(name: str) -> Column[Any]:
    return Column(name, String(255))


def _integer(name: str) -> Column[Any]:
    return Column(name, Integer)


instances = _table(
    _MAIN,
    "instances",
    _string("uuid"),
    _string("vm_state"),
    _string("task_state"),
    _string("host"),
    _string("node"),
    _string("image_ref"),
    _string("display_name"),
    _integer("deleted"),
    Column("hidden", Boolean),
)

system_metadata = _table(
    _MAIN,
    "instance_system_metadata",
    _string("key"),
    _string("value"),
    _string("instance_uuid"),
    _integer("deleted"),
)

compute_nodes = _table(
    _MAIN,
    "compute_nodes",
    _string("host"),
    _string("hypervisor_hostname"),
    _string("uuid"),
    _integer("deleted"),
)

services = _table(_MAIN, "services", _string("binary"), _integer("version"), _integer("deleted"))

cell_mappings = _table(
    _API,
    "cell_mappings",
    _string("uuid"),
    _string("name"),
    Column("database_connection", Text),
    Column("disabled", Boolean),
)

instance_mappings = _table(
    _API, "instance_mappings", _string("instance_uuid"), _integer("cell_id")
)

request_specs = _table(_API, "request_specs", _string("instance_uuid"), Column("spec", Text))

instance_groups = _table(_API, "instance_groups", _string("uuid"))

_alembic = Table("alembic_version", MetaData(), Column("version_num", String(32)))
_migrate = Table("migrate_version", MetaData(), Column("version", Integer))


def release(connection: Connection, where: str, api: bool = False) -> Release:
    """The oldest release whose schema the database may have; `where` names it in messages.

    Raises DatabaseError if it is not a Nova database from Train to the newest known.
    """
    revision = _noted(connection, _alembic) or _noted(connection, _migrate)
    command = "nova-manage api_db sync" if api else "nova-manage db sync"
    if revision is None:
        raise DatabaseError(
            f"{where} is no Nova database: it has no schema version",
            culprit=where,
            cure=f"check the database name; {command} makes the tables",
        )
    found = by_revision(revision, api)
    if found is not None:
        return found
    oldest = OLDEST.api if api else OLDEST.main
    if revision.isdigit() and int(revision) < int(oldest):
        raise DatabaseError(
            f"{where} has schema version {revision}: too old, {OLDEST} has {oldest}",
            culprit=where,
            cure=f"upgrade to {OLDEST.name} or later, or finish the upgrade with {command}",
        )
    raise DatabaseError(
        f"{where} has schema version {revision}: too new, this capd knows Nova up to {NEWEST}",
        culprit=where,
        cure="install a newer capd",
    )


def _noted(connection: Connection, table: Table) -> Optional[str]:
    """The version that alembic or sqlalchemy-migrate noted in `table`, None if there is none."""
    if not inspect(connection).has_table(table.name):
        return None
    row = connection.execute(select(table)).first()
    return str(row[0]) if row is not None else None
