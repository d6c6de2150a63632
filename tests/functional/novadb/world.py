"""A Nova cloud's databases: made by Nova, filled by Nova, copied, and compared row by row."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid as uuids
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from sqlalchemy import MetaData, create_engine, select, text

from tests.rig import nova
from tests.rig.base import REPOSITORY, end, remove, temporary
from tests.rig.databases import MariaDB, PostgreSQL

PEER = Path(__file__).with_name("peer.py")

#: the password in every server URL: percent signs, an at sign and braces-free
PASSWORD = "s3cr3t%40x"
PLAIN_PASSWORD = "s3cr3t@x"

_CONF = """\
[DEFAULT]
transport_url = fake:///
state_path = {root}
[api_database]
connection = {api}
max_retries = 1
[database]
connection = {cell}
max_retries = 1
"""


def ident(name: str) -> str:
    """A uuid that is always the same for a name."""
    return str(uuids.uuid5(uuids.NAMESPACE_DNS, name))


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """The capd command itself, in a process of its own."""
    command = [sys.executable, "-m", "capd", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=str(REPOSITORY), **options)


class Peer:
    """Nova over a pipe: `peer.set(uuid, [...])`; raises RuntimeError with Nova's own error."""

    def __init__(self, conf: Path, python: Optional[Path] = None) -> None:
        self._log = conf.with_suffix(".peer.log")
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [str(python or nova.python()), "-W", "ignore", str(PEER), str(conf)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Nova ended: {self._log.read_text()[-3000:]}")
        return json.loads(line)

    def __getattr__(self, what: str) -> Any:
        def do(*arguments: Any, **options: Any) -> Any:
            assert self._process.stdin is not None
            request = {"do": what, "args": arguments, "with": options}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._answer()
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return answer["result"]

        return do

    def stop(self) -> None:
        end(self._process)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()


class World:
    """Three databases of one cloud, named after `name`, and the nova.conf that leads to them."""

    def __init__(
        self, server: Any = None, name: str = "nova", root: Optional[Path] = None
    ) -> None:
        self.server, self.name = server, name
        self.release = "current"
        self._owned = root is None
        self.root = root or temporary("cloud")
        self.conf = self.root / f"nova-{name}.conf"
        self.conf.write_text(
            _CONF.format(root=self.root, api=self.url("api"), cell=self.url("cell"))
        )

    @property
    def kind(self) -> str:
        return "sqlite" if self.server is None else str(self.server.name)

    def database(self, which: str) -> str:
        """What `api`, `cell`, `cell0` or `cell2` is called on the server, or the file's name."""
        if self.server is None:
            suffix = {"cell": ".db", "cell0": ".db_cell0"}.get(which, f"_{which}.db")
            return f"{self.name}{suffix}"
        return self.name if which == "cell" else f"{self.name}_{which}"

    def url(self, which: str) -> str:
        """Its SQLAlchemy URL as Nova's configuration has it, password included."""
        if self.server is None:
            return f"sqlite:///{self.root}/{self.database(which)}"
        database = self.database(which)
        where = f"nova:{PASSWORD}@127.0.0.1:{self.server.port}/{database}"
        if isinstance(self.server, MariaDB):
            return f"mysql+pymysql://{where}?charset=utf8"
        return f"postgresql+psycopg2://{where}?client_encoding=utf8"

    def template(self, suffix: str = "") -> str:
        """What a cell mapping says: blanks that Nova fills from [database] connection."""
        if self.server is None:
            return "{scheme}:////{path}" + suffix
        return "{scheme}://{username}:{password}@{hostname}:{port}/{path}" + suffix + "?{query}"

    def make(self) -> None:
        """Empty databases and the user nova."""
        if self.server is None:
            return
        for which in ("api", "cell", "cell0"):
            self.server.create(self.database(which))
            self.grant(which)

    def grant(self, which: str) -> None:
        """Give the user nova one database."""
        name = self.database(which)
        if isinstance(self.server, PostgreSQL):
            self.server.query(f'ALTER DATABASE "{name}" OWNER TO nova')
        else:
            self.server.query(f"GRANT ALL ON `{name}`.* TO nova@'127.0.0.1'")

    def copy(self, name: str) -> World:
        """The same cloud again under another name; nobody may be connected to this one."""
        other = World(self.server, name, self.root)
        for which in ("api", "cell", "cell0"):
            old, new = self.database(which), other.database(which)
            if self.server is None:
                shutil.copy(self.root / old, self.root / new)
            elif isinstance(self.server, PostgreSQL):
                self.server.create(new, old)
                other.grant(which)
            else:
                self.server.load(new, self.server.dump(old))
                other.grant(which)
        return other

    def tables(self) -> dict[str, Any]:
        """Every row of every table, time stamps only as set or not, JSON parsed."""
        found: dict[str, Any] = {}
        for which in ("api", "cell", "cell0"):
            engine = create_engine(self.url(which), future=True)
            with engine.connect() as connection:
                metadata = _metadata((self.kind, self.release, which), connection)
                for table in metadata.sorted_tables:
                    rows = [
                        plain(row._mapping)
                        for row in connection.execute(select(table).order_by(*table.primary_key))
                    ]
                    found[f"{which}.{table.name}"] = rows
            engine.dispose()
        return found

    def row(self, which: str, statement: Any) -> Any:
        """Run one statement and commit; its rows, if it has any."""
        engine = create_engine(self.url(which), future=True)
        with engine.begin() as connection:
            result = connection.execute(statement)
            rows = result.all() if result.returns_rows else []
        engine.dispose()
        return rows

    def of(self, uuid: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """System metadata and request spec of one instance, for comparison."""
        rows = []
        for which, name in (("cell", "instance_system_metadata"), ("api", "request_specs")):
            found = self.row(
                which,
                text(f"SELECT * FROM {name} WHERE instance_uuid = :uuid ORDER BY id").bindparams(
                    uuid=uuid
                ),
            )
            rows.append([plain(row._mapping) for row in found])
        return rows[0], rows[1]

    def stop(self) -> None:
        if self._owned:
            remove(self.root)


_REFLECTED: dict[tuple[str, str, str], MetaData] = {}


def _metadata(key: tuple[str, str, str], connection: Any) -> MetaData:
    """All tables of a database; those of the same Nova on the same server are the same."""
    if key not in _REFLECTED:
        _REFLECTED[key] = MetaData()
        _REFLECTED[key].reflect(connection)
    return _REFLECTED[key]


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row for comparison: `*_at` only as set or NULL, a request spec as what it says."""
    result: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_at"):
            value = value is not None
        elif name == "spec" and value:
            value = normal(json.loads(value))
        result[name] = value
    return result


def normal(value: Any) -> Any:
    """Nova's JSON with the lists whose order is that of a Python set put in order."""
    if isinstance(value, dict):
        result = {key: normal(item) for key, item in value.items()}
        if "nova_object.changes" in result:
            result["nova_object.changes"] = sorted(result["nova_object.changes"])
        if "hw_numa_cpus" in result:
            result["hw_numa_cpus"] = [sorted(cpus) for cpus in result["hw_numa_cpus"]]
        return result
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value
