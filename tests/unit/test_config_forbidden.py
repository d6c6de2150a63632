"""The default configuration file where this user may not read it: who can do without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDED = str(ROOT / "fixtures" / "captures" / "bookworm")

_CAPD = (
    "import sys; from pathlib import Path; from capd import cli, config; "
    "config.DEFAULT_FILE = Path(sys.argv.pop(1)); sys.exit(cli.main())"
)


@pytest.fixture
def forbidden(tmp_path: Path) -> Iterator[Path]:
    """A directory as /etc/capd is to an ordinary user."""
    directory = tmp_path / "etc"
    directory.mkdir()
    (directory / "capd.conf").write_text(f"[DEFAULT]\nstate_dir = {directory}\n")
    directory.chmod(0)
    yield directory
    directory.chmod(0o700)


def capd(default: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    prefix = []
    if os.geteuid() == 0:  # root, bound by modes like everybody
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("setpriv is not installed")
        lost = "-dac_override,-dac_read_search"
        prefix = [setpriv, f"--bounding-set={lost}", f"--inh-caps={lost}"]
    return subprocess.run(
        [*prefix, sys.executable, "-c", _CAPD, str(default), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


@pytest.mark.parametrize("mode", [[], ["--once"], ["--dump"], ["--withdraw"]])
def test_modes_need_it(forbidden: Path, mode: list[str]) -> None:
    path = forbidden / "capd.conf"
    done = capd(path, *mode)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"capd: cannot read configuration file {path}: Permission denied "
        "(run capd as root or as the user capd, or name a file with --config-file)\n"
    )


def test_check_needs_it(forbidden: Path) -> None:
    done = capd(forbidden / "capd.conf", "--check")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == (
        f"FAIL  configuration: cannot read configuration file {forbidden / 'capd.conf'}: "
        "Permission denied\n"
        "      cure: run capd as root or as the user capd, or name a file with --config-file\n"
    )


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_what_reads_no_configuration_does_not_ask_for_it(forbidden: Path, flag: str) -> None:
    done = capd(forbidden / "capd.conf", flag)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["diff", RECORDED, RECORDED], 0),
        (["image-property", "list", "--xml", "guest.xml"], 0),
    ],
)
def test_commands_on_files_do_without(
    forbidden: Path, tmp_path: Path, arguments: list[str], code: int
) -> None:
    guest = tmp_path / "guest.xml"
    guest.write_text("<domain type='kvm'><name>g</name></domain>")
    path = forbidden / "capd.conf"
    done = capd(path, *(str(guest) if word == guest.name else word for word in arguments))
    assert done.returncode == code
    first, *legend = done.stderr.splitlines()
    assert (
        first
        == f"WARNING capd.config: {path} may not be read by this user: its options are not used"
    )
    assert len(legend) == (arguments[0] == "image-property")


def test_match_says_what_it_lacks(forbidden: Path) -> None:
    path = forbidden / "capd.conf"
    done = capd(path, "match", "--property", "hw_disk_bus=sata", "--as-traits")
    assert (done.returncode, done.stderr) == (0, "")
    done = capd(path, "match", "--property", "hw_disk_bus=sata")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"WARNING capd.config: {path} may not be read by this user: its options are not used",
        "capd: no Placement is configured (set [placement] auth_type and its credentials, or give "
        "nova.conf as another --config-file)",
    ]


def test_diff_says_that_it_cannot_name_instances(forbidden: Path, tmp_path: Path) -> None:
    conf = tmp_path / "capd.conf"
    conf.write_text(f"[DEFAULT]\nstate_dir = {forbidden}\n")
    done = capd(conf, "diff", RECORDED, RECORDED)
    assert (done.returncode, done.stderr) == (
        0,
        f"WARNING capd.commands.diff: {forbidden}/capd.db may not be read by this user: no "
        "instance can be named\n",
    )


def test_a_file_that_was_named_must_be_readable(forbidden: Path, tmp_path: Path) -> None:
    path = forbidden / "capd.conf"
    done = capd(tmp_path / "none", "--config-file", str(path), "diff", RECORDED, RECORDED)
    assert (done.returncode, done.stderr) == (
        2,
        f"capd: cannot read configuration file {path}: Permission denied "
        "(check the path and its permissions)\n",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (["--once"], 1, "capd.lock"),
        (["--withdraw", "--dry-run"], 1, "capd.db"),
        (["--check"], 1, "capd.db"),
        (["--dump", "--from", RECORDED], 0, "capd.db"),
        (["image-property", "list"], 1, "capd.db"),
    ],
)
def test_a_state_directory_that_may_not_be_looked_into(
    forbidden: Path, tmp_path: Path, arguments: list[str], code: int, name: str
) -> None:
    conf = tmp_path / "mine.conf"
    conf.write_text(
        f"[DEFAULT]\nstate_dir = {forbidden}\n"
        "[placement]\nauth_type = none\nendpoint = http://127.0.0.1:1\n"
        "[libvirt]\nconnection_uri = qemu:///system?socket=/nonexistent/sock\n"
    )
    done = capd(tmp_path / "none", "--config-file", str(conf), *arguments)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert f"cannot open {forbidden / name}: Permission denied" in done.stdout + done.stderr
    cure = f"run capd as root, or as the user who may look into {forbidden}"
    assert cure in done.stdout + done.stderr
