"""What the command line takes and refuses: nothing given is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from capd.cli import main
from capd.errors import InputError
from capd.match.render import table


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
