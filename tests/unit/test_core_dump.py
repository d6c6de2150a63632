"""The dump of recorded hosts, as JSON and as text, and recordings that are broken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from capd import cli, config, dump, dumptext, recording, traits
from capd.plan import Plan

HOSTS = Path(__file__).parents[2] / "fixtures" / "hosts"


def parts(name: str) -> tuple[Any, Any]:
    settings = config.load()
    discovery = recording.load(HOSTS / name, settings)
    return discovery, traits.assess(discovery, settings.traits, settings.libvirt)


PLAN = Plan(
    provider="6c1a", name="node-1", how="the host's name", generation=7,
    add=("CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",), remove=("CUSTOM_CAPD_GONE",),
    contested=("COMPUTE_GRAPHICS_MODEL_BOCHS",), disagree=("COMPUTE_NET_VIF_MODEL_SPAPR_VLAN",),
    unknown_to_placement=("COMPUTE_NET_VIF_MODEL_IGB",), pending=("CUSTOM_CAPD_LATER",),
    owned=("COMPUTE_STORAGE_BUS_IDE",), others=("COMPUTE_STORAGE_BUS_SATA", "CUSTOM_GOLD"),
)  # fmt: skip


def test_the_document_has_the_keys_of_the_contract() -> None:
    discovery, assessment = parts("bookworm-x86_64")
    document = dump.document(discovery, assessment, PLAN)
    assert list(document) == [
        "schema", "host", "emulators", "machines", "traits", "placement", "refused", "problems",
        "cost",
    ]  # fmt: skip
    assert document["schema"] == 1
    assert document["host"] == {
        "hostname": "bookworm-x86_64.example.org",
        "libvirt": "9.0.0",
        "uri": f"recorded:{HOSTS / 'bookworm-x86_64'}",
        "arch": "x86_64",
        "virt_type": "kvm",
    }
    rows = {(row["machine"], row["virt_type"]): row for row in document["machines"]}
    assert len(rows) == len(document["machines"]) == 14
    q35, version = rows["q35", "kvm"], rows["pc-q35-7.2", "kvm"]
    assert (q35["alias"], q35["canonical"], q35["family"]) == (None, "pc-q35-7.2", "q35")
    assert (version["alias"], version["canonical"]) == ("q35", "pc-q35-7.2")
    assert q35["disk_bus"] == ["fdc", "sata", "scsi", "usb", "virtio"]
    assert rows["pc-i440fx-7.2", "kvm"]["default"] is True
    by_name = {trait["name"]: trait for trait in document["traits"]}
    assert by_name["COMPUTE_STORAGE_BUS_IDE"] == {
        "name": "COMPUTE_STORAGE_BUS_IDE",
        "support": "yes",
        "owner": "capd",
        "source": "domcaps",
        "because": "pc-i440fx-7.2 and 1 more: claimed, not tried",
    }
    assert by_name["COMPUTE_STORAGE_BUS_SATA"]["owner"] == "other"
    assert by_name["COMPUTE_STORAGE_BUS_SCSI"]["owner"] is None
    assert document["placement"]["add"] == ["CUSTOM_CAPD_Q35_STORAGE_BUS_SATA"]
    assert json.loads(json.dumps(document)) == document


def test_unknown_is_null_and_none_is_empty() -> None:
    discovery, assessment = parts("awkward-element-absent")
    row = dump.document(discovery, assessment, None)["machines"][0]
    assert row["video_model"] is None
    discovery, assessment = parts("awkward-supported-no")
    document = dump.document(discovery, assessment, None)
    assert document["machines"][0]["video_model"] == []
    assert document["placement"] is None


def test_text_without_and_with_colour() -> None:
    discovery, assessment = parts("bookworm-x86_64")
    plain = dumptext.render(discovery, assessment, PLAN)
    assert "\x1b" not in plain
    for line in (
        "bookworm-x86_64.example.org: x86_64, kvm",
        "  pc: 1 machine type, now pc-i440fx-7.2",
        "  provider node-1 (6c1a), by the host's name, generation 7",
        "    + CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",
        "    - CUSTOM_CAPD_GONE",
        "    ~ CUSTOM_CAPD_LATER",
        "    ! COMPUTE_GRAPHICS_MODEL_BOCHS",
        "    # COMPUTE_NET_VIF_MODEL_SPAPR_VLAN",
        "    ? COMPUTE_NET_VIF_MODEL_IGB",
    ):
        assert line in plain.splitlines()
    coloured = dumptext.render(discovery, assessment, PLAN, colour=True)
    assert "\x1b[32myes" in coloured


def test_text_says_why_there_is_no_plan() -> None:
    discovery, assessment = parts("awkward-truncated")
    text = dumptext.render(discovery, assessment, None, "not configured: because")
    assert text.splitlines()[-4:-2] == ["", "Problems"]
    assert "  not configured: because" in text
    assert "not-well-formed" not in text and "not well-formed XML" in text
    failed = dumptext.render(discovery, assessment, Plan(error="refused by the server"))
    assert "  refused by the server" in failed.splitlines()


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    shutil.copytree(HOSTS / "bookworm-x86_64", tmp_path / "host")
    return tmp_path / "host"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_dump_from_a_recording(capsys: pytest.CaptureFixture[str], broken: Path) -> None:
    code, out, err = run(capsys, "--dump", "--json", "--from", str(broken))
    assert (code, err) == (0, "")
    assert json.loads(out)["host"]["hostname"] == "bookworm-x86_64.example.org"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("index.json", None, "No such file or directory"),
        ("index.json", "{", "Expecting property name"),
        ("index.json", "[]", "expected an object"),
        ("index.json", '{"rows": 3}', "it has no list of rows"),
        ("capabilities.xml", None, "No such file or directory"),
        ("trials.json", '[{"nonsense": 1}]', "nonsense"),
        ("trials.json", "{}", "it is not a list"),
    ],
)
def test_a_broken_recording_is_one_line(
    capsys: pytest.CaptureFixture[str], broken: Path, name: str, content: str, words: str
) -> None:
    path = broken / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    code, out, err = run(capsys, "--dump", "--from", str(broken))
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert str(path) in err and words in err


def test_a_recording_cannot_reach_outside_its_folder(
    capsys: pytest.CaptureFixture[str], broken: Path
) -> None:
    index = json.loads((broken / "index.json").read_text())
    for row in index["rows"]:
        row["document"] = "../../../../etc/passwd"
    (broken / "index.json").write_text(json.dumps(index))
    code, out, _ = run(capsys, "--dump", "--json", "--from", str(broken))
    assert code == 1
    document = json.loads(out)
    errors = {row["error"] for row in document["machines"]}
    said = f"recording: {broken}/../../../../etc/passwd: it points outside the recording"
    assert errors == {said}
    assert document["problems"] == [said]


def test_one_missing_document_and_one_missing_device_list_cost_only_their_own(
    capsys: pytest.CaptureFixture[str], broken: Path
) -> None:
    index = json.loads((broken / "index.json").read_text())
    lost = next(row["document"] for row in index["rows"] if row["machine"] == "q35")
    (broken / lost).unlink()
    (broken / "devices" / "qemu-system-x86_64.txt").unlink()
    code, out, _ = run(capsys, "--dump", "--json", "--from", str(broken))
    assert code == 1
    document = json.loads(out)
    rows = {(row["machine"], row["virt_type"]): row for row in document["machines"]}
    assert "No such file" in rows["q35", "kvm"]["error"]
    assert rows["pc", "kvm"]["disk_bus"] == ["fdc", "ide", "sata", "scsi", "usb", "virtio"]
    assert rows["pc", "kvm"]["vif_model"] is None
    assert document["problems"] == [
        f"recording: {broken / lost}: No such file or directory",
        f"recording: {broken / 'devices' / 'qemu-system-x86_64.txt'}: No such file or directory "
        "(a recording is made with capd --dump --record DIR)",
    ]
