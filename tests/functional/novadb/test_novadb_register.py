"""`capd image-property register`: what it writes, what it leaves alone, and being killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capd import config
from capd.novadb.cells import Cloud
from capd.novadb.exported import Exported, Unreadable, read
from capd.novadb.register import Difference, Kind, Outcome, Register
from tests.functional.novadb import crowd
from tests.functional.novadb.conftest import Twins
from tests.functional.novadb.world import World, ident, run
from tests.rig.base import REPOSITORY

IMAGE = "11111111-2222-4333-8444-555555555555"
COUNT, KILLS = 2000, 20

RECORDED = {
    "hw_machine_type": "q35",
    "hw_cdrom_bus": "sata",
    "hw_disk_bus": "virtio",
    "hw_vif_model": "e1000",
}


def record(name: str, **changes: Any) -> Exported:
    fields: dict[str, Any] = {
        "where": "x:1",
        "uuid": ident(name),
        "name": name,
        "host": "host1",
        "image": IMAGE,
        "managed_by": "nova",
        "machine": "pc-q35-7.2",
        "properties": RECORDED,
    }
    return Exported(**{**fields, **changes})


def register(world: World, *records: Any, dry_run: bool = False) -> list[Outcome]:
    with Cloud(config.load([world.conf]).conf) as cloud:
        return list(Register(cloud, dry_run).run(records))


@pytest.fixture
def spare(twins: Twins) -> Iterator[str]:
    """A new instance in capd's cloud, without any property."""
    name = f"new{time.monotonic_ns()}"
    twins.reader.create(ident(name), name=name, vm_state="active")
    yield name


def test_registers_what_is_undefined_and_nova_reads_it(twins: Twins, spare: str) -> None:
    """A running instance too: Nova's own registering does not stop one either."""
    outcomes = register(twins.capd, record(spare))
    assert outcomes == [Outcome(Kind.REGISTERED, ident(spare), spare, "host1", RECORDED)]
    for name, value in RECORDED.items():
        assert twins.reader.show(ident(spare), name) == [0, f"{value}\n"]
    loaded = twins.reader.load(ident(spare))
    for image in (loaded["image_meta"], loaded["spec_image"]):
        fields = image["nova_object.data"]["properties"]["nova_object.data"]
        assert fields == RECORDED
    rows, _ = twins.capd.of(ident(spare))
    assert [row["updated_at"] for row in rows] == [False] * len(rows)


def test_again_it_changes_nothing(twins: Twins, spare: str) -> None:
    register(twins.capd, record(spare))
    before = twins.capd.tables()
    assert register(twins.capd, record(spare)) == [
        Outcome(Kind.COMPLETE, ident(spare), spare, "host1")
    ]
    assert twins.capd.tables() == before


def test_never_overwrites_and_reports_differences(twins: Twins, spare: str) -> None:
    uuid = ident(spare)
    values = {"image_hw_disk_bus": "scsi", "image_hw_vif_model": "VirtualE1000"}
    values["image_hw_machine_type"] = "pc-q35-7.2"
    twins.reader.update(uuid, system_metadata=values)
    outcome = register(twins.capd, record(spare))[0]
    assert dict(outcome.written) == {"hw_cdrom_bus": "sata"}
    assert outcome.differences == (Difference("hw_disk_bus", "scsi", "virtio"),)
    assert twins.reader.show(uuid, "hw_disk_bus") == [0, "scsi\n"]
    assert twins.reader.show(uuid, "hw_vif_model") == [0, "VirtualE1000\n"]


def test_fills_what_nova_registered_as_null(twins: Twins, spare: str) -> None:
    uuid = ident(spare)
    twins.reader.update(uuid, system_metadata={"image_hw_video_model": None})
    outcome = register(twins.capd, record(spare, properties={"hw_video_model": "virtio"}))[0]
    assert dict(outcome.written) == {"hw_video_model": "virtio"}
    assert twins.reader.show(uuid, "hw_video_model") == [0, "virtio\n"]


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"host": "host2"}, "it is on host1 now"),
        ({"image": "99999999-2222-4333-8444-555555555555"}, f"its image is {IMAGE} now"),
        ({"image": None}, f"its image is {IMAGE} now"),
        ({"uuid": ident("nowhere")}, "Nova has no such instance"),
        (
            {"properties": {**RECORDED, "hw_vif_model": "tulip"}},
            "hw_vif_model=tulip: Field value tulip is invalid",
        ),
        (
            {"properties": {**RECORDED, "hw_nonsense": "1"}},
            "hw_nonsense=1: Invalid image property name hw_nonsense.",
        ),
    ],
)
def test_all_or_nothing(twins: Twins, spare: str, changes: dict[str, Any], because: str) -> None:
    before = twins.capd.of(ident(spare))
    outcome = register(twins.capd, record(spare, **changes))[0]
    assert (outcome.kind, outcome.because) == (Kind.SKIPPED, because)
    assert twins.capd.of(ident(spare)) == before


def test_one_bad_instance_does_not_take_its_batch_along(twins: Twins, spare: str) -> None:
    """No spec, an unreadable stored value, a deleted one, one that is being changed."""
    twins.reader.update(ident("paused"), task_state="suspending")
    outcomes = register(
        twins.capd,
        record("no-spec"),
        record("bad-stored"),
        record("deleted"),
        record("paused"),
        Unreadable("x:7", "no JSON"),
        record("plain", managed_by="libvirt"),
        record("plain", gone=True),
        record(spare),
    )
    twins.reader.update(ident("paused"), task_state=None)
    found = {(one.kind.value, one.because) for one in outcomes}
    assert found == {
        ("skipped", f"RequestSpec not found for instance {ident('no-spec')}"),
        ("skipped", "invalid literal for int() with base 10: 'much'"),
        ("skipped", "the instance is deleted"),
        ("skipped", "it is being changed now (suspending)"),
        ("skipped", "x:7: no JSON"),
        ("not Nova's", ""),
        ("gone", ""),
        ("registered", ""),
    }
    assert twins.reader.show(ident(spare), "hw_cdrom_bus") == [0, "sata\n"]
    assert twins.reader.show(ident("bad-stored"), "hw_cdrom_bus")[0] == 3


def test_two_hosts_claim_one_instance(twins: Twins, spare: str) -> None:
    other = dict.fromkeys(("hw_cdrom_bus", "hw_disk_bus"), "usb")
    outcomes = register(twins.capd, record(spare, host="host2", properties=other), record(spare))
    assert [(one.kind, one.because) for one in outcomes] == [
        (Kind.SKIPPED, "it is on host1 now"),
        (Kind.REGISTERED, ""),
    ]
    assert twins.reader.show(ident(spare), "hw_disk_bus") == [0, "virtio\n"]


def test_dry_run_shows_a_table_and_writes_nothing(
    twins: Twins, spare: str, tmp_path: Path
) -> None:
    uuid, path = ident(spare), tmp_path / "records.jsonl"
    line = {
        "schema": 1,
        "uuid": uuid,
        "name": spare,
        "host": "host1",
        "managed_by": "nova",
        "image": IMAGE,
        "machine": None,
        "gone": None,
        "properties": {"hw_disk_bus": {"value": "sata", "source": "observed"}},
    }
    path.write_text(json.dumps(line) + "\n" + json.dumps({**line, "host": "host9"}) + "\n")
    before = twins.capd.tables()
    done = run("--config-file", twins.capd.conf, "image-property", "register", "--dry-run", path)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "INSTANCE                              HOST              RESULT",
        f"{uuid}  host1             would write  hw_disk_bus=sata",
        f"{uuid}  host9             skipped      it is on host1 now",
    ]
    assert done.stderr == "1 to be registered, 0 complete before, 1 skipped\n"
    assert twins.capd.tables() == before
    done = run("--config-file", twins.capd.conf, "image-property", "register", "--json", path)
    assert [json.loads(text)["result"] for text in done.stdout.splitlines()] == ["skipped"]
    assert done.stderr == "1 registered, 0 complete before, 1 skipped\n"
    assert twins.reader.show(uuid, "hw_disk_bus") == [0, "sata\n"]


def test_unreadable_lines(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    good = '{"uuid": "u", "host": "h", "image": null, "properties": {"a": {"value": "b"}}}'
    lines = ["nonsense", "[]", '{"uuid": 1}', "", good, '{"schema": 2}', "x" * 1100000, '{"uu']
    path.write_text("\n".join(lines))
    found = [(item.where[-2:], getattr(item, "because", None)) for item in read([path])]
    assert found == [
        (":1", "no JSON"),
        (":2", "no record: uuid, host, image and properties are needed"),
        (":3", "no record: uuid, host, image and properties are needed"),
        (":5", None),
        (":6", "it was written by a newer capd"),
        (":7", "the line is too long for a record"),
        (":8", "the last line is cut off"),
    ]


# -- many, and killed


@pytest.fixture(scope="module")
def many(pristine: World) -> World:
    world = pristine.copy("crowd")
    crowd.populate(world, COUNT)
    return world


def registering(world: World, path: Path) -> subprocess.Popen[bytes]:
    words = ["--config-file", str(world.conf), "image-property", "register", str(path)]
    return subprocess.Popen(
        [sys.executable, "-m", "capd", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=str(REPOSITORY),
    )


@pytest.mark.parametrize("pristine", ["mariadb"], indirect=True)
def test_killed_again_and_again_every_instance_is_right_once(many: World, tmp_path: Path) -> None:
    """After each kill every instance is whole in the cell, and no request spec is behind it."""
    path = tmp_path / "records.jsonl"
    crowd.export(path, COUNT)
    chance = random.Random(6)
    killed = registered = 0
    for point in sorted(chance.randrange(1, COUNT - 200) for _ in range(KILLS)):
        process = registering(many, path)
        while process.poll() is None and crowd.progress(many) < point:
            time.sleep(0.05)
        time.sleep(chance.uniform(0.0, 0.1))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = crowd.state(many)
        assert now["doubles"] == now["touched"] == 0
        assert now["registered"] >= registered
        assert now["partly"] == 0
        assert now["agreeing"] >= now["registered"]
        registered = now["registered"]
    assert killed >= KILLS // 2
    process = registering(many, path)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    assert "0 skipped" in said
    assert crowd.state(many) == crowd.expected(COUNT)
    assert usage.ru_maxrss < 150 * 1024
