"""`capd diff`: what an upgrade from Debian 12 to 13 takes away, and whom it hits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from capd import cli, config, difference, snapshot
from capd.config import Settings
from capd.records.records import Property, Record, Source
from capd.records.recordstore import RecordStore
from capd.store import Store

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"
BOOKWORM, TRIXIE = CAPTURES / "bookworm", CAPTURES / "trixie"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "capd.conf"
    path.write_text(f"[DEFAULT]\nstate_dir = {tmp_path}\n")
    return path


@pytest.fixture
def settings(conf: Path) -> Settings:
    return config.load([conf])


@pytest.fixture
def diff(conf: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(["--config-file", str(conf), "diff", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def record(number: int, machine: str, video: str) -> Record:
    return Record(
        f"00000000-0000-0000-0000-{number:012d}",
        f"instance-{number}",
        "nova",
        None,
        "x86_64",
        "kvm",
        machine,
        {"hw_video_model": Property(video, Source.OBSERVED)},
        1.0,
    )


def keep(tmp_path: Path, *records: Record) -> None:
    with Store(tmp_path / "capd.db") as store:
        for one in records:
            RecordStore(store).update(one.uuid, lambda _, one=one: (one, "recorded"), 1.0)


def test_b39_an_upgrade_that_drops_a_model_names_who_uses_it(
    tmp_path: Path, diff: Callable[..., Any]
) -> None:
    keep(
        tmp_path,
        record(1, "pc-q35-7.2", "qxl"),
        record(2, "pc-i440fx-7.2", "qxl"),
        record(3, "pc-q35-7.2", "virtio"),
        record(4, "pc-i440fx-2.0", "vga"),
    )
    code, out, _ = diff(str(BOOKWORM), str(TRIXIE))
    assert code == 7
    hits = out[out.index("instances hit") :].splitlines()
    assert hits == [
        "instances hit, of 4 recorded here:",
        "  instance-1 (00000000-0000-0000-0000-000000000001): hw_video_model=qxl: "
        "pc-q35-7.2 has no qxl here",
        "  instance-2 (00000000-0000-0000-0000-000000000002): hw_video_model=qxl: "
        "pc-i440fx-7.2 has no qxl here",
        "  instance-4 (00000000-0000-0000-0000-000000000004): hw_machine_type=pc-i440fx-2.0: "
        "this host has no machine type pc-i440fx-2.0 for x86_64",
    ]
    code, out, _ = diff("--json", str(BOOKWORM), str(TRIXIE))
    assert code == 7
    document = json.loads(out)
    assert [one["name"] for one in document["instances"]] == [
        "instance-1",
        "instance-2",
        "instance-4",
    ]


def test_what_differs_between_two_releases(settings: Settings) -> None:
    before, after = snapshot.load(BOOKWORM, settings), snapshot.load(TRIXIE, settings)
    found = difference.compare(before, after)
    assert found.takes_away
    native = {
        (change.family, change.category): (change.lost, change.gained)
        for change in found.changes
        if (change.arch, change.virt_type) == ("x86_64", "kvm")
    }
    assert native["q35", "video_model"] == (("qxl",), ())
    assert native["pc", "vif_model"] == (("pvrdma",), ("igb", "xen-net-device"))
    assert ("pc", "disk_bus") not in native
    lost = {row[2] for row in found.machines_lost if row[:2] == ("x86_64", "kvm")}
    assert {"pc-i440fx-1.4", "pc-i440fx-2.0", "pc-i440fx-2.3"} <= lost
    assert "pc-i440fx-2.4" not in lost
    gained = {row[2] for row in found.machines_gained if row[:2] == ("x86_64", "kvm")}
    assert "pc-q35-10.0" in gained
    aliases = {(one.arch, one.name): (one.before, one.after) for one in found.aliases}
    assert aliases["x86_64", "q35"] == ("pc-q35-7.2", "pc-q35-10.0")
    assert "COMPUTE_GRAPHICS_MODEL_QXL" in found.traits_lost
    assert "COMPUTE_NET_VIF_MODEL_IGB" in found.traits_gained
    assert found.hits == ()


def test_a_dump_says_the_same_as_the_recording_behind_it(
    tmp_path: Path, settings: Settings, conf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for capture in (BOOKWORM, TRIXIE):
        arguments = ["--config-file", str(conf), "--dump", "--json", "--from", str(capture)]
        assert cli.main(arguments) == 0
        path = tmp_path / f"{capture.name}.json"
        path.write_text(capsys.readouterr().out)
        paths.append(path)
    same = difference.compare(snapshot.load(paths[0], settings), snapshot.load(BOOKWORM, settings))
    assert (same.changes, same.traits_lost, same.traits_gained) == ((), (), ())
    users = [record(1, "pc-q35-7.2", "qxl"), record(2, "pc-q35-7.2", "vga")]
    from_files = difference.compare(*(snapshot.load(path, settings) for path in paths), users)
    from_folders = difference.compare(
        snapshot.load(BOOKWORM, settings), snapshot.load(TRIXIE, settings), users
    )
    assert from_files == from_folders
    assert [hit.record.name for hit in from_files.hits] == ["instance-1"]


def test_nothing_is_taken_away_by_nothing(tmp_path: Path, diff: Callable[..., Any]) -> None:
    code, out, _ = diff(str(TRIXIE), str(TRIXIE))
    assert (code, out) == (0, "instances hit, of 0 recorded here:\n  none\n")
    code, out, _ = diff(str(BOOKWORM), str(TRIXIE))
    assert code == 1
    assert "x86_64 q35: video_model qxl (" in out
    assert "aarch64" not in out.partition("traits taken away")[0]
    assert "aarch64" in diff("--all-architectures", str(BOOKWORM), str(TRIXIE))[1]
    # nobody is hit by what was impossible before already
    keep(tmp_path, record(1, "pc-q35-7.2", "xen"))
    assert diff(str(BOOKWORM), str(TRIXIE))[0] == 1


def test_unknown_is_not_taken_away(
    tmp_path: Path, settings: Settings, diff: Callable[..., Any]
) -> None:
    def dump(video: Any, error: Any = None) -> Path:
        machine = {
            "arch": "x86_64",
            "virt_type": "kvm",
            "machine": "pc",
            "canonical": "pc-i440fx-7.2",
            "alias": "pc-i440fx-7.2",
            "family": "pc",
            "default": True,
            "deprecated": False,
            "error": error,
            "video_model": video,
        }
        host = {"hostname": "h", "libvirt": "9", "uri": "u", "arch": "x86_64", "virt_type": "kvm"}
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(
            json.dumps(
                {"schema": 1, "host": host, "machines": [machine], "traits": [], "refused": []}
            )
        )
        return path

    first = dump(["qxl", "vga"])
    before = snapshot.load(first, settings)
    for after in (dump(None), dump(None, "cannot be asked")):
        found = difference.compare(before, snapshot.load(after, settings))
        assert not found.takes_away
        assert [(one.lost, one.unknown) for one in found.changes] == [((), ("qxl", "vga"))]
        code, out, _ = diff(str(first), str(after))
        assert code == 3
        assert "unknown by now:\n  x86_64 pc: video_model qxl vga (pc)\n" in out
        assert diff(str(after), str(first))[0] == 0
    assert difference.compare(before, snapshot.load(dump([]), settings)).changes[0].lost == (
        "qxl",
        "vga",
    )


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("", "it is no JSON"),
        ("[]", "it is no dump"),
        ('{"schema": 2, "machines": []}', "its schema is 2, not 1"),
        ('{"schema": 1, "machines": [{}], "traits": []}', "it is incomplete"),
        ('{"schema": 1, "machines": [], "traits": [{"name": 1}]}', "it is incomplete"),
    ],
)
def test_what_cannot_be_compared_is_named(
    tmp_path: Path, diff: Callable[..., Any], text: str, because: str
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    code, _, err = diff(str(path), str(TRIXIE))
    assert code == 2
    assert f"{path} cannot be compared: {because}" in err
    code, _, err = diff(str(tmp_path / "absent.json"), str(TRIXIE))
    assert code == 2
    assert "cannot read" in err


def test_a_broken_recording_does_not_look_like_a_finding(
    tmp_path: Path, diff: Callable[..., Any]
) -> None:
    """1 is "something is taken away": an upgrade check must not take a wrong path for that."""
    code, out, err = diff(str(tmp_path), str(TRIXIE))
    assert (code, out) == (2, "")
    assert err == (
        f"capd: recording: {tmp_path}/index.json: No such file or directory "
        "(a recording is made with capd --dump --record DIR)\n"
    )
