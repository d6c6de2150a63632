"""What the command line takes and refuses: nothing given is ignored."""

from __future__ import annotations

import pytest

from capd.cli import main


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
