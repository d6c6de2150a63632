"""What the daemon does not keep in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capd import lean
from tests.rig.base import REPOSITORY

_LOADED = """
import sys
from capd import lean
lean.import_requests()
import keystoneauth1.session, requests
print(sorted({"chardet", "charset_normalizer"} & set(sys.modules)))
answer = requests.Response()
answer._content = "{\\"name\\": \\"Zürich\\"}".encode()
print(answer.json(), answer.text)
"""


def test_requests_comes_without_its_guessers_and_reads_utf_8() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _LOADED],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", "{'name': 'Zürich'} {\"name\": \"Zürich\"}"]
    assert done.stderr == ""


_WHOLE = """
import sys
from capd import cli
cli.main(sys.argv[1:])
print(sorted({"requests", "chardet", "charset_normalizer"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("mode", ["--dump", "--once"])
def test_no_mode_loads_the_guessers(tmp_path: Path, mode: str) -> None:
    """However its imports are ordered; Placement cannot be reached here."""
    path = tmp_path / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {tmp_path / 'state'}\n"
        "[placement]\nauth_type = none\nendpoint = http://127.0.0.1:1\n"
    )
    recording = REPOSITORY / "fixtures" / "hosts" / "bookworm-s390x"
    words = ["--config-file", str(path), mode, "--from", str(recording)]
    done = subprocess.run(
        [sys.executable, "-c", _WHOLE, *words],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "['requests']"


@pytest.mark.parametrize(
    ("version", "other", "spared"),
    [
        ("2.34.2", True, ("chardet", "charset_normalizer")),
        ("2.32.0", False, ("chardet", "charset_normalizer")),
        ("2.31.0", True, ("chardet",)),
        ("2.25.1", False, ()),
        ("unknown", True, ()),
    ],
)
def test_only_what_this_requests_can_spare_is_left_out(
    monkeypatch: pytest.MonkeyPatch, version: str, other: bool, spared: tuple[str, ...]
) -> None:
    found: Callable[[str], object] = lambda name: object() if other else None  # noqa: E731
    monkeypatch.setattr("capd.lean.metadata.version", lambda name: version)
    monkeypatch.setattr("capd.lean.util.find_spec", found)
    assert lean._guessers() == spared
