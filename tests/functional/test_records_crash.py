"""Records survive: killed at every step and at random, a full disk, two writers at a time."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Callable, Optional

import pytest

from capd.errors import StoreError
from capd.records.definitions import Definitions
from capd.records.records import Property, Record, Source, assign
from capd.records.recordstore import RecordStore
from capd.store import Store

NAMES = ("hw_cdrom_bus", "hw_disk_bus", "hw_machine_type", "hw_video_model", "hw_vif_model")
KILLS = 500


def record(number: int, generation: int = 0) -> Record:
    """All values of a record carry its generation, so that a mixture would show."""
    return Record(
        f"00000000-0000-0000-0000-{number:012d}",
        f"g{number}",
        "libvirt",
        f"image-{generation}",
        "x86_64",
        "kvm",
        f"machine-{generation}",
        {name: Property(f"value-{generation}", Source.OBSERVED) for name in NAMES},
        1.0,
    )


def put(records: RecordStore, after: Record, event: str) -> None:
    records.update(after.uuid, lambda _: (after, event), 1.0)


def whole(found: Record) -> bool:
    generation = str(found.image).partition("-")[2]
    return found.machine == f"machine-{generation}" and found.properties == {
        name: Property(f"value-{generation}", Source.OBSERVED) for name in NAMES
    }


def check(path: Path) -> dict[str, Record]:
    """The records, after SQLite's own check and ours that none is half-written."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    with Store(path) as store:
        found = RecordStore(store).all()
    return found


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """Run `work` in a child with a pipe to write on; its process id and the end to read from."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        os.close(reading)
        work(writing)
        os._exit(0)
    finally:
        os._exit(1)


def acknowledged(reading: int, first: bytes = b"") -> list[tuple[int, int]]:
    """Number and generation of everything that the child said was written, after `first`."""
    with os.fdopen(reading, "rb") as stream:
        lines = (first + stream.read()).split(b"\n")[:-1]
    return [(int(number), int(generation)) for number, generation in map(bytes.split, lines)]


def test_killed_500_times_at_random(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    seed = random.Random(11)
    promised: dict[int, int] = {}
    deaths = 0
    for round_ in range(KILLS):

        def work(pipe: int, round_: int = round_) -> None:
            with Store(path) as store:
                records = RecordStore(store)
                for step in range(1000):
                    number = (round_ * 7 + step) % 40
                    after = record(number, round_ + 1)
                    event = "rebuilt" if step % 2 else "set"
                    if step % 5 == 4:
                        with records.bulk():
                            put(records, after, event)
                    else:
                        put(records, after, event)
                    os.write(pipe, b"%d %d\n" % (number, round_ + 1))

        pid, reading = forked(work)
        # every fifth while it may still be opening the database, the others while it writes
        first = os.read(reading, 4096) if round_ % 5 else b""
        time.sleep(seed.uniform(0.0, 0.01))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        deaths += os.WIFSIGNALED(status)
        for number, generation in acknowledged(reading, first):
            promised[number] = generation
        if round_ % 10 == 9 or round_ == KILLS - 1:
            found = check(path)
            for number, generation in promised.items():
                kept = found[record(number).uuid]
                assert whole(kept)
                assert int(str(kept.image).partition("-")[2]) >= generation
    assert deaths == KILLS
    assert len(promised) == 40


def test_killed_before_every_single_statement(tmp_path: Path) -> None:
    for step in range(1, 200):
        path = tmp_path / f"{step}.db"
        with Store(path) as store:
            RecordStore(store).update(record(0).uuid, lambda _: (record(0), "recorded"), 1.0)

        def work(_pipe: int, path: Path = path, step: int = step) -> None:
            with Store(path) as store:
                left = [step]

                def trace(_statement: str) -> None:
                    left[0] -= 1
                    if left[0] == 0:
                        os.kill(os.getpid(), signal.SIGKILL)

                store.connection.set_trace_callback(trace)
                records = RecordStore(store)
                records.update(record(0).uuid, lambda _: (record(0, 1), "rebuilt"), 2.0)
                records.update(record(1).uuid, lambda _: (record(1, 1), "recorded"), 2.0)
                records.vanish(record(1).uuid, 3.0)
                definitions = Definitions(store)
                definitions.left(definitions.keep(record(0).uuid, "<domain/>", 3.0), "<other/>")
                records.purge(10.0)

        pid, reading = forked(work)
        os.close(reading)
        _, status = os.waitpid(pid, 0)
        found = check(path)
        assert whole(found[record(0).uuid])
        assert all(whole(kept) for kept in found.values())
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            assert step > 20
            return
    raise AssertionError("never came to the end")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    where = tmp_path / "small"
    where.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(where)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs here: {done.stderr.strip()}")
    yield where
    subprocess.run(["umount", str(where)], check=True)


def test_a_full_disk_loses_nothing(small_disk: Path) -> None:
    path = small_disk / "capd.db"
    written = 0
    failure: Optional[StoreError] = None
    ballast = small_disk / "ballast"
    with Store(path) as store:
        records = RecordStore(store)
        ballast.write_bytes(bytes(200 * 1024))
        while failure is None:
            after = record(written, 1)
            try:
                put(records, after, "recorded")
                written += 1
            except StoreError as error:
                failure = error
        assert "free some space" in failure.line() or "check the file" in failure.line()
        assert str(path) in failure.line()
        assert 10 < written < 5000
        assert len(records.all()) == written
        ballast.unlink()
        records.update(record(written).uuid, lambda _: (record(written, 1), "recorded"), 1.0)
    found = check(path)
    assert len(found) == written + 1
    assert all(whole(kept) for kept in found.values())


def test_two_processes_writing_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    Store(path).close()

    def writer(first: int, generation: int) -> Callable[[int], None]:
        def work(pipe: int) -> None:
            with Store(path) as store:
                records = RecordStore(store)
                for number in range(first, first + 150):
                    after = record(number % 200, generation)
                    put(records, after, "set")
                    os.write(pipe, b"%d %d\n" % (number % 200, generation))

        return work

    children = [forked(writer(0, 1)), forked(writer(100, 2))]
    said = [acknowledged(reading) for _, reading in children]
    for pid, _ in children:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [len(lines) for lines in said] == [150, 150]
    found = check(path)
    assert len(found) == 200
    assert all(whole(kept) for kept in found.values())


def test_what_is_set_is_not_undone_by_a_look_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "capd.db"
    with Store(path) as store:
        RecordStore(store).update(record(0).uuid, lambda _: (record(0), "recorded"), 1.0)

    def changer(change: Callable[[Record, int], Record], event: str) -> Callable[[int], None]:
        def work(_pipe: int) -> None:
            with Store(path) as store:
                records = RecordStore(store)
                for number in range(100):
                    once = partial(change, number=number)
                    records.update(
                        record(0).uuid, lambda was, once=once: was and (once(was), event), 1.0
                    )

        return work

    def set_(was: Record, number: int) -> Record:
        return assign(was, {"hw_disk_bus": f"set-{number}"}, None)

    def rename(was: Record, number: int) -> Record:
        return replace(was, name=f"n{number}")

    setter, observer = changer(set_, "set"), changer(rename, "seen")
    children = [forked(setter), forked(observer)]
    for pid, reading in children:
        os.close(reading)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with Store(path) as store:
        final = RecordStore(store).get(record(0).uuid)
        events = [line.event for line in RecordStore(store).history(record(0).uuid)]
    assert final is not None
    assert final.name == "n99"
    assert final.properties["hw_disk_bus"] == Property("set-99", Source.SET)
    assert events.count("set") == 100
    assert events.count("renamed") == 100
