"""What is refused, in which words, and that no password is ever among them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, text, update

from capd import config
from capd.errors import CapdError, ConfigError
from capd.novadb import schema
from capd.novadb.backend import Backend
from capd.novadb.cells import Cloud
from tests.functional.novadb.conftest import Twins
from tests.functional.novadb.world import PASSWORD, PLAIN_PASSWORD, World, ident
from tests.rig.databases import MariaDB

#: an instance that no other test of these clouds changes
SPARE = ident("untouched")

SECRETS = (PASSWORD, PLAIN_PASSWORD, "s3cr3t")


def answer(conf: Path, what: str = "set", *arguments: Any) -> CapdError:
    """The refusal, looked through for secrets."""
    with Cloud(config.load([conf]).conf) as cloud, pytest.raises(CapdError) as caught:
        getattr(Backend(cloud), what)(*(arguments or (SPARE, ["hw_disk_bus=sata"])))
    spoken = f"{caught.value.line()} {caught.value!r} {caught.value.__cause__}"
    assert not [secret for secret in SECRETS if secret in spoken]
    return caught.value


def conf_with(world: World, **connections: str) -> Path:
    """The cloud's nova.conf with other connections."""
    lines = world.conf.read_text()
    for which, url in connections.items():
        lines = lines.replace(f"connection = {world.url(which)}\n", f"connection = {url}\n")
    path = world.root / "nova-other.conf"
    path.write_text(lines)
    return path


#: for tests that spoil a cloud and say nothing about a server
on_sqlite = pytest.mark.parametrize("pristine", ["sqlite"], indirect=True)
on_servers = pytest.mark.parametrize("pristine", ["mariadb", "postgresql"], indirect=True)
on_mariadb = pytest.mark.parametrize("pristine", ["mariadb"], indirect=True)


@pytest.fixture
def copy(pristine: World, request: pytest.FixtureRequest) -> World:
    return pristine.copy(f"copy{abs(hash(request.node.name)) % 10**8}")


@pytest.fixture
def shared(twins: Twins) -> World:
    """Capd's twin, to be left as it was."""
    return twins.capd


@on_sqlite
@pytest.mark.parametrize(
    ("which", "words", "cure"),
    [
        ("cell", "the database of cell cell1", "install a newer capd"),
        ("api", "the API database", "install a newer capd"),
    ],
)
def test_too_new(copy: World, which: str, words: str, cure: str) -> None:
    copy.row(which, text("UPDATE alembic_version SET version_num = 'ffffffffffff'"))
    before = copy.tables()
    error = answer(copy.conf)
    assert str(error).startswith(words)
    assert str(error).endswith(
        "has schema version ffffffffffff: too new, this capd knows Nova up to 2026.2 (Nova 34)"
    )
    assert (error.exit_code, error.cure) == (1, cure)
    assert copy.tables() == before


@on_sqlite
def test_no_nova_database(copy: World) -> None:
    copy.row("cell", text("DROP TABLE alembic_version"))
    error = answer(copy.conf)
    assert "is no Nova database: it has no schema version" in str(error)
    assert error.exit_code == 1


@on_sqlite
def test_in_two_cells(copy: World) -> None:
    """A live instance of the same uuid in cell0; a hidden one is a cell migration's other half."""
    table = schema.instances
    row = {"uuid": SPARE, "vm_state": "stopped", "deleted": 0, "hidden": False}
    copy.row("cell0", insert(table).values(**row))
    before = copy.tables()
    error = answer(copy.conf)
    assert str(error) == (
        f"Instance {SPARE} is in two cells: cell1, to which it is mapped, and cell0"
    )
    assert error.exit_code == 1
    assert copy.tables() == before
    copy.row("cell0", update(table).where(table.c.uuid == SPARE).values(hidden=True))
    with Cloud(config.load([copy.conf]).conf) as cloud:
        Backend(cloud).set(SPARE, ["hw_disk_bus=sata"])


@on_sqlite
def test_mapped_to_no_cell(copy: World) -> None:
    copy.row("api", update(schema.instance_mappings).values(cell_id=99))
    error = answer(copy.conf)
    assert str(error) == f"instance {SPARE} is mapped to cell 99, which is no cell"


@on_sqlite
def test_other_cell_out_of_reach_is_a_warning(copy: World) -> None:
    table = schema.cell_mappings
    lost = (
        update(table)
        .where(table.c.name == "cell0")
        .values(database_connection="mysql+pymysql://nova:s3cr3t@127.0.0.1:1/gone")
    )
    copy.row("api", lost)
    with Cloud(config.load([copy.conf]).conf) as cloud:
        done = Backend(cloud).set(SPARE, ["hw_disk_bus=sata"])
    warning = next(one for one in done.warnings if "cell0" in one)
    assert "cannot be reached" in warning
    assert "s3cr3t" not in warning


@on_servers
@pytest.mark.parametrize("which", ["api", "cell"])
def test_user_may_only_read(shared: World, which: str) -> None:
    url, table = read_only_user(shared, which), schema.cell_mappings
    before = shared.of(SPARE)
    conf = conf_with(shared, **{which: url})
    if which == "cell":
        mine = update(table).where(table.c.name == "cell1")
        shared.row("api", mine.values(database_connection=url))
    try:
        error = answer(conf)
    finally:
        if which == "cell":
            shared.row("api", mine.values(database_connection=shared.template()))
    label = "the API database (" if which == "api" else "the database of cell cell1 ("
    assert str(error).startswith(label)
    assert "refuses this user" in str(error)
    assert error.cure == "use the user of nova.conf: SELECT, INSERT, UPDATE and DELETE are needed"
    assert error.exit_code == 1
    assert shared.of(SPARE) == before


def read_only_user(world: World, which: str) -> str:
    """The URL of a user with SELECT and nothing else."""
    server, name = world.server, world.database(which)
    if isinstance(server, MariaDB):
        server.query("CREATE USER IF NOT EXISTS reader@'127.0.0.1' IDENTIFIED BY 's3cr3t'")
        server.query(f"GRANT SELECT ON `{name}`.* TO reader@'127.0.0.1'")
    else:
        server.query("DROP OWNED BY reader", name) if _role(server) else server.query(
            "CREATE ROLE reader LOGIN PASSWORD 's3cr3t'"
        )
        server.query("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", name)
    return world.url(which).replace(f"nova:{PASSWORD}@", "reader:s3cr3t@")


def _role(server: Any) -> bool:
    return bool(server.query("SELECT 1 FROM pg_roles WHERE rolname = 'reader'").strip())


@pytest.fixture
def read_only(shared: World) -> Iterator[World]:
    """A cloud whose server takes no writes, as a replica."""
    if shared.kind == "mariadb":
        shared.server.query("SET GLOBAL read_only = 1")
        yield shared
        shared.server.query("SET GLOBAL read_only = 0")
    elif shared.kind == "postgresql":
        shared.server.query("ALTER ROLE nova SET default_transaction_read_only = on")
        yield shared
        shared.server.query("ALTER ROLE nova RESET default_transaction_read_only")
    else:
        url = f"sqlite:///file:{shared.root}/{shared.database('cell')}?mode=ro&uri=true"
        mine = update(schema.cell_mappings).where(schema.cell_mappings.c.name == "cell1")
        shared.row("api", mine.values(database_connection=url))
        yield shared
        shared.row("api", mine.values(database_connection=shared.template()))


def test_read_only_replica(read_only: World) -> None:
    before = read_only.of(SPARE)
    error = answer(read_only.conf)
    assert " is read-only: " in str(error)
    assert error.cure == "use the writable server of the cluster, not a replica of it"
    assert error.exit_code == 1
    assert read_only.of(SPARE) == before
    with Cloud(config.load([read_only.conf]).conf) as cloud:
        assert Backend(cloud).show(SPARE, "hw_disk_bus") == "virtio"


@on_mariadb
def test_wrong_password(shared: World) -> None:
    """PostgreSQL trusts everyone here, so only MariaDB can say no."""
    url = shared.url("api").replace(PASSWORD, "s3cr3t-wrong")
    error = answer(conf_with(shared, api=url))
    assert "the API database (mysql 127.0.0.1:" in str(error)
    assert "refuses this user" in str(error)
    assert "Access denied for user 'nova'" in str(error)


@on_servers
def test_server_down(shared: World) -> None:
    url = shared.url("api").replace(f":{shared.server.port}/", ":1/")
    error = answer(conf_with(shared, api=url))
    assert "cannot be reached" in str(error)
    assert error.cure == "check that the server runs and [database]"


@on_servers
def test_no_such_database(shared: World) -> None:
    url = shared.url("api").replace(f"/{shared.database('api')}", "/nowhere")
    error = answer(conf_with(shared, api=url))
    assert "nowhere" in str(error)
    if shared.kind == "mariadb":
        assert "refuses this user" in str(error)


@on_sqlite
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nova:s3cr3t@host/db", "the database URL of [api_database] connection cannot be"),
        (
            "mysql+nodriver://nova:s3cr3t@host/db",
            "the API database (mysql host/db) needs a driver",
        ),
        ("mysql+pymysql://nova:s3cr3t@host:port/db", "the database URL of [api_database]"),
        ("mysql+pymysql://u:s3cr3t@127.0.0.1:1/d?nonsense=1", "the API database (mysql 127"),
        ("sqlite:////nowhere/at/all.db", "the API database (sqlite /nowhere/at/all.db) does not"),
    ],
)
def test_broken_urls(pristine: World, url: str, words: str) -> None:
    conf = conf_with(pristine, api=url)
    try:
        Cloud(config.load([conf]).conf)
    except ConfigError as error:
        assert str(error).startswith(words)
        assert "s3cr3t" not in error.line()
        assert error.__cause__ is None and error.__suppress_context__
        return
    assert str(answer(conf)).startswith(words)


@on_sqlite
def test_template_without_database_connection(pristine: World) -> None:
    path = pristine.root / "nova-api-only.conf"
    path.write_text(f"[api_database]\nconnection = {pristine.url('api')}\n")
    error = answer(path)
    assert error.exit_code == 2
    assert "the database URL of the database of cell" in str(error)
    assert error.cure is not None and "[database] connection must fill" in error.cure


def test_no_api_database(tmp_path: Path) -> None:
    path = tmp_path / "nova.conf"
    path.write_text("[database]\nconnection = sqlite:////tmp/x.db\n")
    with pytest.raises(ConfigError, match=r"\[api_database\] connection is not set"):
        Cloud(config.load([path]).conf)


@pytest.mark.parametrize(
    "assignment", [f"os_distro={'x' * 256}", f"trait:{'Y' * 250}=required"], ids=["value", "key"]
)
def test_too_long(shared: World, assignment: str) -> None:
    """Over 255 characters: a server refuses, exit 1 as nova-manage; SQLite takes it, as there."""
    before = shared.of(SPARE)
    if shared.kind == "sqlite":
        with Cloud(config.load([shared.conf]).conf) as cloud:
            Backend(cloud).set(SPARE, ["hw_disk_bus=sata", assignment])
        return
    error = answer(shared.conf, "set", SPARE, ["hw_disk_bus=sata", assignment])
    assert "does not take a value" in str(error)
    assert error.exit_code == 1
    assert shared.of(SPARE) == before


@on_mariadb
def test_emoji(shared: World) -> None:
    before = shared.of(SPARE)
    error = answer(shared.conf, "set", SPARE, ["os_distro=\U0001f600"])
    assert "does not take a value" in str(error)
    assert shared.of(SPARE) == before


@on_sqlite
def test_broken_request_spec(copy: World) -> None:
    table = schema.request_specs
    copy.row("api", update(table).where(table.c.instance_uuid == SPARE).values(spec="{"))
    before = copy.tables
    error = answer(copy.conf)
    assert str(error) == f"the request spec of instance {SPARE} is not readable"
    assert before is not None


def ghosts(world: World, uuid: str, count: int) -> None:
    """Second rows of a key, one of them soft-deleted, and a key that only a collation confuses."""
    table = schema.system_metadata
    world.row("cell", delete(table).where(table.c.instance_uuid == uuid))
    rows = [
        {"key": "image_hw_disk_bus", "value": value, "deleted": deleted}
        for value, deleted in (("virtio", 0), ("scsi", 7), ("sata", 0))[:count]
    ]
    rows.append({"key": "image_hw_cdrom_bus", "value": "ide", "deleted": 0})
    rows.append({"key": "image_HW_DISK_BUS ", "value": "usb", "deleted": 0})
    world.row("cell", insert(table).values([dict(row, instance_uuid=uuid) for row in rows]))


@pytest.mark.parametrize(("count", "expected"), [(2, "scsi"), (3, "sata")])
def test_ghost_rows_are_read_and_written_as_nova_does(
    twins: Twins, count: int, expected: str
) -> None:
    uuid = ident("spare0")
    for world in (twins.nova, twins.capd):
        ghosts(world, uuid, count)
    with Cloud(config.load([twins.capd.conf]).conf) as cloud:
        assert twins.peer.show(uuid, "hw_disk_bus") == [0, f"{expected}\n"]
        assert Backend(cloud).show(uuid, "hw_disk_bus") == expected
        assert twins.peer.set(uuid, ["hw_cdrom_bus=sata"]) == [0, ""]
        Backend(cloud).set(uuid, ["hw_cdrom_bus=sata"])
    (theirs, _), (ours, _) = twins.nova.of(uuid), twins.capd.of(uuid)
    for row in (*theirs, *ours):
        row.pop("id")
    assert ours == theirs
    assert [row["value"] for row in ours] == [expected, "sata", "usb"]
    assert twins.capd.of(uuid)[1] == twins.nova.of(uuid)[1]


@on_sqlite
def test_nothing_secret_on_the_terminal(pristine: World) -> None:
    """The whole command, with debug logging, against a server that does not answer."""
    conf = conf_with(pristine, api="mysql+pymysql://nova:s3cr3t@127.0.0.1:1/nova_api")
    code = (
        "import logging, sys; logging.basicConfig(level=logging.DEBUG)\n"
        "from pathlib import Path\n"
        "from capd import config\n"
        "from capd.novadb.cells import Cloud\n"
        "from capd.novadb.backend import Backend\n"
        "Backend(Cloud(config.load([Path(sys.argv[1])]).conf)).show('u', 'hw_disk_bus')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(conf)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "capd.errors.DatabaseError: the API database" in done.stderr
    assert "s3cr3t" not in done.stderr + done.stdout
