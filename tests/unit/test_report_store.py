"""The state database: permissions, versions, damage, and one capd per host."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import capd.store
from capd.errors import StoreError
from capd.memory import Memory
from capd.store import MIGRATIONS, InstanceLock, Store


def put(store: Store, name: str, support: str = "yes") -> None:
    with store.transaction() as connection:
        connection.execute("INSERT INTO support VALUES (?, ?, 0)", (name, support))


def names(store: Store) -> list[str]:
    return [row["name"] for row in store.rows("SELECT name FROM support ORDER BY name")]


def test_new_database_is_private_wal_and_current(tmp_path: Path) -> None:
    path = tmp_path / "state" / "capd.db"
    with Store(path) as store:
        put(store, "A")
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.with_name("capd.db-wal").stat().st_mode & 0o777 == 0o600
        assert store.rows("PRAGMA journal_mode")[0][0] == "wal"
        assert store.rows("PRAGMA user_version")[0][0] == len(MIGRATIONS)
    with Store(path) as store:
        assert names(store) == ["A"]


def test_wide_permissions_are_narrowed(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    Store(path).close()
    path.chmod(0o644)
    Store(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_exception_rolls_everything_back(tmp_path: Path) -> None:
    with Store(tmp_path / "capd.db") as store:
        with pytest.raises(RuntimeError), store.transaction() as connection:
            connection.execute("INSERT INTO support VALUES ('A', 'yes', 0)")
            raise RuntimeError
        assert names(store) == []


def test_newer_schema_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="schema version 99") as caught:
            Store(path, read_only=read_only)
        assert caught.value.culprit == str(path)
    assert path.read_bytes() == before


def test_older_schema_is_migrated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "capd.db"
    monkeypatch.setattr(capd.store, "MIGRATIONS", MIGRATIONS[:1])
    with Store(path) as store:
        put(store, "A")
    later = (*MIGRATIONS[:1], ("ALTER TABLE support ADD COLUMN more TEXT",))
    monkeypatch.setattr(capd.store, "MIGRATIONS", later)
    with Store(path, read_only=True) as store:
        assert [tuple(row) for row in store.rows("SELECT name, more FROM support")] == [
            ("A", None)
        ]
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (1,)
    with Store(path) as store:
        assert names(store) == ["A"]
        assert store.rows("PRAGMA user_version")[0][0] == 2


def test_a_failing_migration_leaves_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "capd.db"
    monkeypatch.setattr(capd.store, "MIGRATIONS", MIGRATIONS[:1])
    with Store(path) as store:
        put(store, "A")
    broken = (*MIGRATIONS[:1], ("CREATE TABLE extra (x)", "CREATE TABLE extra (x)"))
    monkeypatch.setattr(capd.store, "MIGRATIONS", broken)
    with pytest.raises(StoreError, match="extra already exists"):
        Store(path)
    monkeypatch.setattr(capd.store, "MIGRATIONS", MIGRATIONS[:1])
    with Store(path) as store:
        assert names(store) == ["A"]
        assert store.rows("SELECT 1 FROM sqlite_master WHERE name = 'extra'") == []


def test_not_a_database_is_named_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    path.write_text("this is no database, but maybe it is dear to someone\n" * 50)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="is damaged") as caught:
            Store(path, read_only=read_only)
        assert "move it aside" in (caught.value.cure or "")
    assert path.read_bytes() == before


def test_damaged_pages_are_found_at_opening(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    with Store(path) as store, store.transaction() as connection:
        connection.executemany(
            "INSERT INTO support VALUES (?, 'yes', 0)", ((f"N{n:04}" * 20,) for n in range(2000))
        )
    with path.open("r+b") as stream:
        stream.seek(4096 * 8)
        stream.write(b"\xff" * 4096 * 4)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is damaged"):
        Store(path)
    assert path.read_bytes() == before


def test_another_layout_of_the_same_version_has_a_cure(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    with Store(path) as store, store.transaction() as connection:
        connection.execute("ALTER TABLE support RENAME COLUMN name TO title")
    with Store(path) as store, pytest.raises(StoreError) as caught:
        names(store)
    assert caught.value.line() == (
        f"cannot read {path}: no such column: name (no release lays it out so: "
        "move it aside, capd begins a new one)"
    )


def test_locked_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capd.store, "_BUSY_SECONDS", 0.1)
    path = tmp_path / "capd.db"
    with Store(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked") as caught:
            put(store, "A")
        assert "another process holds it" in (caught.value.cure or "")
        other.execute("ROLLBACK")
        put(store, "A")
        assert names(store) == ["A"]


def test_read_only_never_writes(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    with Store(path, read_only=True) as store:
        assert names(store) == []
    assert list(tmp_path.iterdir()) == []
    with Store(path) as store:
        put(store, "A")
    with Store(path, read_only=True) as store:
        assert names(store) == ["A"]
        with pytest.raises(StoreError, match="readonly database"):
            put(store, "B")


def test_full_disk_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "capd.db") as store:
        put(store, "A")
        store.connection.execute("PRAGMA max_page_count = 12")
        with pytest.raises(StoreError, match="full") as caught, store.transaction() as connection:
            for n in range(500):
                connection.execute("INSERT INTO support VALUES (?, 'yes', 0)", (f"N{n}" * 60,))
        assert "free some space" in (caught.value.cure or "")
        assert names(store) == ["A"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_directory_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Permission denied"):
        Store(tmp_path / "capd.db")


def test_state_dir_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StoreError, match=r"File exists|Not a directory") as caught:
        Store(tmp_path / "state" / "capd.db")
    assert "state_dir" in (caught.value.cure or "")


def test_two_threads_take_turns(tmp_path: Path) -> None:
    with Store(tmp_path / "capd.db") as store:

        def work(prefix: str) -> None:
            for n in range(50):
                put(store, f"{prefix}{n:02}")

        threads = [threading.Thread(target=work, args=(prefix,)) for prefix in "AB"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(names(store)) == 100


_HOLDER = """
import sys, pathlib
from capd.store import InstanceLock
lock = InstanceLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_second_capd_refuses_and_names_the_first(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreError, match=f"process {holder.pid}$"):
        InstanceLock(tmp_path)
    holder.kill()
    holder.communicate()
    with InstanceLock(tmp_path) as lock:
        assert lock.path.read_text() == f"{os.getpid()}\n"
        assert lock.path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(StoreError, match=f"process {os.getpid()}$"):
            InstanceLock(tmp_path)
    InstanceLock(tmp_path).release()


@pytest.mark.parametrize("name", ["capd.db", "capd.lock"])
@pytest.mark.parametrize("kind", ["link", "hard link", "fifo"])
def test_nothing_is_written_through_what_somebody_else_put_there(
    tmp_path: Path, name: str, kind: str
) -> None:
    """Root runs `capd --once` in a directory of capd's user."""
    state, victim = tmp_path / "state", tmp_path / "victim"
    state.mkdir(mode=0o700)
    victim.write_text("precious")
    path = state / name
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "hard link":
        os.link(victim, path)
    else:
        os.mkfifo(path)
    why = "it is a symbolic link" if kind == "link" else "it is not a file of its own"
    with pytest.raises(StoreError, match=f"^cannot open {path}: {why}$"):
        if name == "capd.db":
            Store(path)
        else:
            InstanceLock(state)
    assert victim.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_creates_belongs_to_the_directorys_owner(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    os.chown(state, 65534, 65534)
    with InstanceLock(state), Store(state / "capd.db") as store:
        store.rows("SELECT 1")
        found = {path.name: path.stat() for path in state.iterdir()}
    assert {"capd.db", "capd.lock"} <= set(found)
    assert {(one.st_uid, one.st_gid, one.st_mode & 0o777) for one in found.values()} == {
        (65534, 65534, 0o600)
    }


@pytest.mark.parametrize("how", ["removed", "replaced", "directory gone"])
def test_a_database_that_is_taken_away_is_noticed(tmp_path: Path, how: str) -> None:
    path = tmp_path / "state" / "capd.db"
    with Store(path) as store:
        store.check_place()
        if how == "directory gone":
            path.parent.rename(tmp_path / "elsewhere")
        else:
            path.rename(path.with_suffix(".aside"))
        if how == "replaced":
            path.write_bytes(b"")
        with pytest.raises(StoreError) as caught:
            store.check_place()
    assert str(caught.value) == f"{path} was removed or replaced while capd runs"


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (
            "INSERT INTO trait VALUES ('p', 'CUSTOM_CAPD_A', 'bogus', 0, 0)",
            "a ledger that no release writes: 'bogus'",
        ),
        (
            "INSERT INTO intent VALUES (1, 'p', 1, '[', '[]', '[]')",
            "a ledger that no release writes: Expecting value: line 1 column 2 (char 1)",
        ),
        (
            "INSERT INTO support VALUES ('CUSTOM_CAPD_A', 'maybe', 0)",
            "support of a trait that no release writes: 'maybe' is not a valid Support",
        ),
    ],
)
def test_values_that_no_release_writes_are_damage(
    tmp_path: Path, statement: str, what: str
) -> None:
    path = tmp_path / "capd.db"
    with Store(path) as store:
        store.connection.execute(statement)
        memory = Memory(store)
        with pytest.raises(StoreError) as caught:
            memory.ledger("p")
            memory.knowledge()
    assert str(caught.value) == f"{path} is damaged: {what}"
