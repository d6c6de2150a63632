"""`image-property` without libvirt: files, recorded facts, and what is not claimed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest

from capd import cli
from capd.novadb import exported
from capd.records.records import Property, Record, Source
from capd.records.recordstore import RecordStore
from capd.store import Store

FIXTURES = Path(__file__).parents[2] / "fixtures"
GUESTS, CAPTURES = FIXTURES / "guests", FIXTURES / "captures"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    path = tmp_path / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {tmp_path}/state\n"
        f"[libvirt]\nconnection_uri = qemu:///system?socket={tmp_path}/none\n"
    )

    def go(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(["--config-file", str(path), "image-property", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return go


def record(number: int, video: str, gone: float | None = None) -> Record:
    return Record(
        f"00000000-0000-0000-0000-{number:012d}",
        f"instance-{number}",
        "nova",
        "image",
        "x86_64",
        "kvm",
        "pc-q35-7.2",
        {
            "hw_machine_type": Property("q35", Source.IMAGE),
            "hw_disk_bus": Property("virtio", Source.OBSERVED, ("virtio", "scsi")),
            "hw_cdrom_bus": Property("sata", Source.DEFAULT),
            "hw_video_model": Property(video, Source.SET),
        },
        1.0,
        gone,
    )


@pytest.fixture
def store(tmp_path: Path) -> None:
    with Store(tmp_path / "state" / "capd.db") as opened:
        for one in (record(1, "qxl"), record(2, "qxl"), record(3, "vga"), record(4, "vga", 9.0)):
            assert RecordStore(opened).add(one)
            assert not RecordStore(opened).add(one)


@pytest.mark.usefixtures("store")
def test_b39_who_uses_what_a_recorded_host_cannot_do(run: Run) -> None:
    code, out, err = run("list", "--unsupported", "--from", str(CAPTURES / "trixie"))
    assert code == 7
    assert [line.split()[0] for line in out.splitlines()] == ["NAME", "instance-1", "instance-2"]
    assert "unsupported: hw_video_model=qxl: pc-q35-7.2 has no qxl here" in out
    code, out, err = run("list", "--unsupported", "--from", str(CAPTURES / "bookworm"))
    assert (code, out) == (0, "")
    # the recorded host's facts are at hand, this host's libvirt is not
    assert "connecting" in err


@pytest.mark.usefixtures("store")
def test_records_are_shown_without_libvirt_and_nothing_else_is_claimed(run: Run) -> None:
    code, out, err = run("list")
    assert code == 0
    lines = out.splitlines()
    assert " ".join(lines[0].split()) == (
        "NAME UUID BY MACHINE CDROM DISK FLOPPY INPUT POINTER VIDEO VIF REMARKS"
    )
    assert lines[1].split() == [
        "instance-1",
        "00000000-0000-0000-0000-000000000001",
        "nova",
        "q35=",
        "(pc-q35-7.2)",
        "(sata)",
        "virtio+",
        "-",
        "-",
        "-",
        "qxl!",
        "-",
    ]
    assert lines[4].endswith("gone")
    assert "connecting" in err
    assert "(x) default, no such device now" in err
    for option, words in (("--drift", "drift"), ("--unsupported", "what this host can do")):
        code, out, err = run("list", option)
        assert (code, out) == (1, "")
        assert f"{words} cannot be told" in err
    code, out, _ = run("show", "instance-3", "hw_video_model")
    assert (code, out) == (0, "vga\n")
    assert run("show", "instance-3", "hw_vif_model")[0] == 3
    assert run("show", "nobody", "hw_vif_model")[0] == 2
    assert run("list", "00000000-0000-0000-0000-000000000003")[1].count("\n") == 2
    code, _, err = run("set", "--property", "hw_disk_bus=scsi", "instance-1")
    assert code == 1
    assert "connecting" in err


@pytest.mark.usefixtures("store")
def test_json_is_what_the_contract_says(run: Run) -> None:
    code, out, _ = run("list", "--json", "instance-1")
    assert code == 0
    assert json.loads(out) == [
        {
            "uuid": "00000000-0000-0000-0000-000000000001",
            "name": "instance-1",
            "managed_by": "nova",
            "image": "image",
            "machine": "pc-q35-7.2",
            "recorded": True,
            "gone": None,
            "rescued": False,
            "drift": [],
            "unsupported": [],
            "properties": {
                "hw_cdrom_bus": {"value": "sata", "source": "default"},
                "hw_disk_bus": {
                    "value": "virtio",
                    "source": "observed",
                    "mixed": ["virtio", "scsi"],
                },
                "hw_machine_type": {"value": "q35", "source": "image"},
                "hw_video_model": {"value": "qxl", "source": "set"},
            },
        }
    ]
    lines = [json.loads(line) for line in run("export")[1].splitlines()]
    assert [line["name"] for line in lines] == [f"instance-{number}" for number in (1, 2, 3, 4)]
    assert [line["gone"] for line in lines] == [None, None, None, 9.0]
    assert {line["schema"] for line in lines} == {1}
    assert len(run("export", "instance-2")[1].splitlines()) == 1


@pytest.mark.usefixtures("store")
def test_the_controller_reads_what_export_writes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(run("export")[1])
    found = list(exported.read([path]))
    assert len(found) == 4
    first = found[0]
    assert isinstance(first, exported.Exported)
    assert (first.uuid, first.name) == (record(1, "qxl").uuid, "instance-1")
    assert (first.managed_by, first.image, first.machine) == ("nova", "image", "pc-q35-7.2")
    assert first.host
    assert first.properties == {
        "hw_cdrom_bus": "sata",
        "hw_disk_bus": "virtio",
        "hw_machine_type": "q35",
        "hw_video_model": "qxl",
    }


def test_domain_xml_from_files(run: Run, tmp_path: Path) -> None:
    files = [str(GUESTS / f"{name}.libvirt.xml") for name in ("all-pc", "s390x-ps2mouse")]
    broken = tmp_path / "broken.xml"
    broken.write_bytes(b"\xff\xfe<domain/>")
    code, out, err = run("list", "--xml", files[0], str(broken), files[1])
    assert code == 1
    assert f"{broken}: not UTF-8 text" in err
    assert len(out.splitlines()) == 3
    assert not (tmp_path / "state").exists()
    code, out, _ = run("list", "--json", "--from", str(CAPTURES / "bookworm"), "--xml", *files)
    assert code == 0
    pc, s390x = json.loads(out)
    assert pc["properties"]["hw_machine_type"] == {"value": "pc", "source": "image"}
    assert s390x["properties"] == {
        "hw_cdrom_bus": {"value": "scsi", "source": "default"},
        "hw_disk_bus": {"value": "virtio", "source": "observed"},
        "hw_machine_type": {"value": "s390-ccw-virtio", "source": "observed"},
        "hw_video_model": {"value": "virtio", "source": "observed"},
        "hw_vif_model": {"value": "virtio", "source": "observed"},
    }
    qxl = GUESTS / "spice-qxl.libvirt.xml"
    code, out, _ = run(
        "list", "--unsupported", "--from", str(CAPTURES / "trixie"), "--xml", str(qxl)
    )
    assert code == 7
    assert "hw_video_model=qxl" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--xml", str(GUESTS / "spice-qxl.libvirt.xml"), "--drift"),
            "list --xml takes neither an instance nor --drift",
        ),
        (("one", "--all"), "list takes an instance, --host or --all, one of them"),
        (
            ("--host", "host1"),
            "list --host needs Nova's database (give Nova's file too: --config-file "
            "/etc/nova/nova.conf)",
        ),
        (
            ("--host", "host1", "--drift"),
            "list --host asks Nova's database, --from, --drift and --unsupported this host "
            "(leave one of them out)",
        ),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    assert run("list", *arguments) == (2, "", f"capd: {said}\n")


def test_register_without_nova_prints_no_table(run: Run, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text("{}\n")
    assert run("register", str(records)) == (
        2,
        "",
        "capd: [api_database] connection is not set (give Nova's file too: --config-file "
        "/etc/nova/nova.conf)\n",
    )


def test_what_nova_has_no_value_for_is_said(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "guest.xml"
    path.write_text(
        "<domain><name>g</name><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>"
        "<disk device='disk'><target bus='nvme'/></disk></devices></domain>"
    )
    code, out, _ = run("list", "--xml", str(path))
    assert code == 0
    assert "Nova has no hw_disk_bus=nvme" in out
    (document,) = json.loads(run("list", "--json", "--xml", str(path))[1])
    assert document["properties"]["hw_disk_bus"] == {
        "value": "nvme",
        "source": "observed",
        "known": False,
    }
