"""What the command line takes and refuses: nothing given is ignored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from capd.cli import main
from capd.errors import InputError
from capd.match.render import table

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        # without the refusal these would write to Placement, or start the daemon
        (["--once", "--dry-run"], "argument --dry-run: goes with --withdraw only"),
        (["--dry-run"], "argument --dry-run: goes with --withdraw only"),
        (["--from", "somewhere"], "argument --from: goes with --dump or --once only"),
        (["--json"], "argument --json: goes with --dump or --check or --withdraw only"),
        (["--once", "--record", "here"], "argument --record: goes with --dump only"),
        (["--with"], "unrecognized arguments: --with"),
        (["--dump", "--once"], "argument --once: not allowed with argument --dump"),
        (["--once", "match"], "argument --once: not allowed with the command match"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1] == f"capd: error: {said}"


def test_what_others_named_cannot_steer_the_terminal() -> None:
    error = InputError("a\x1b[31mb\u202e\ud8ff\n c", cure="it's ünï")
    assert error.line() == "a\\x1b[31mb\\u202e\\ud8ff c (it's ünï)"
    assert table([["NAME", "X"], ["e\x9b\n\x00", "y"]]) == [
        "NAME         X",
        "e\\x9b\\n\\x00  y",
    ]


def test_a_listing_stays_one_line_for_each_instance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hostile.xml"
    path.write_text("<domain type='kvm'><name>e&#x9b;31m&#10;x ünï</name></domain>")
    conf = tmp_path / "capd.conf"
    conf.write_text(f"[DEFAULT]\nstate_dir = {tmp_path}\n")
    assert main(["--config-file", str(conf), "image-property", "list", "--xml", str(path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert printed[1].startswith("e\\x9b31m\\nx ünï  ")


def _capd(arguments: str, stdout: str) -> subprocess.CompletedProcess[str]:
    with Path(stdout).open("w") as stream:
        return subprocess.run(
            [sys.executable, "-m", "capd", *arguments.split()],
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
        )


@pytest.mark.parametrize(
    "arguments",
    [
        # one is written while it is made, the other when all is done
        "--dump --json --from fixtures/captures/bookworm",
        "match --property hw_disk_bus=sata --as-traits",
    ],
)
def test_a_full_disk_behind_the_output_is_one_line(arguments: str) -> None:
    done = _capd(arguments, "/dev/full")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "capd: cannot write the output: No space left on device (free some space)"
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_ctrl_c_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("capd.cli.build_parser", interrupted)
    assert main(["--dump"]) == 130
