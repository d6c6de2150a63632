"""Pages made from the tables: current, complete, and what the program does."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from capd import config
from capd.cli import build_parser
from capd.options import OPTIONS, Kind

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "pages.py"), name],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("name", "path"), [("sample", "systemd/capd.conf"), ("reference", "docs/configuration.md")]
)
def test_page_in_the_repository_is_current(name: str, path: str) -> None:
    assert (ROOT / path).read_text() == page(name), f"{path} is out of date: make pages"


def test_sample_sets_nothing_and_its_defaults_are_the_defaults(tmp_path: Path) -> None:
    text = page("sample")
    path = tmp_path / "capd.conf"
    path.write_text(text)
    shipped = config.load([path])
    empty = tmp_path / "empty.conf"
    empty.write_text("")
    plain = config.load([empty])
    # Every option uncommented, keystoneauth's examples apart: the same settings.
    own = {option.name for option in OPTIONS}
    lines = [
        line[1:] if re.match(r"#(\w+) =", line) and line[1:].split(" =")[0] in own else line
        for line in text.splitlines()
    ]
    path.write_text("\n".join(lines))
    spelled = config.load([path])
    for settings in (shipped, spelled):
        for option in OPTIONS:
            if option.choices and option.default is None and settings is spelled:
                continue  # shows one of its values instead of none
            group = settings.conf if option.group == "DEFAULT" else settings.conf[option.group]
            usual = plain.conf if option.group == "DEFAULT" else plain.conf[option.group]
            value, default = getattr(group, option.name), getattr(usual, option.name)
            if option.kind is Kind.STRING:
                value, default = value or "", default or ""
            assert value == default, option.name


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _parsers(child)


def _flags() -> set[str]:
    return {
        flag
        for parser in _parsers(build_parser())
        for action in parser._actions
        for flag in action.option_strings
        if action.help != argparse.SUPPRESS
    }


def test_man_page_has_every_option_and_command() -> None:
    text = page("capd.8").replace("\\-", "-")
    missing = [flag for flag in _flags() if flag not in text]
    assert missing == []
    for command in ("image-property", "match", "diff"):
        assert f".SS capd {command}" in text
    assert "--once: not everything was reported" in text


def test_man_page_of_the_configuration_has_every_option() -> None:
    text = page("capd.conf.5").replace("\\-", "-")
    for option in OPTIONS:
        assert f".B {option.name}\n" in text
        assert f"[{option.group}]" in text


@pytest.mark.parametrize("name", ["capd.8", "capd.conf.5"])
def test_man_page_is_sound_troff(name: str) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        [groff, "-man", "-Tascii", "-ww", "-z"], input=page(name), capture_output=True, text=True
    )
    complaints = [line for line in done.stderr.splitlines() if "break" not in line]
    assert (done.returncode, complaints) == (0, [])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("capd --wi", {"--withdraw"}),
        ("capd image-p", {"image-property"}),
        ("capd image-property l", {"list"}),
        ("capd --config-file /etc/hostn", set()),  # files are bash's business
    ],
)
def test_completion_completes(words: str, expected: set[str]) -> None:
    parts = words.split(" ")
    script = (
        f"{page('completion')}\n"
        "compopt() { :; }\n"
        f"COMP_WORDS=({' '.join(parts)}); COMP_CWORD={len(parts) - 1}; _capd\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


def test_completion_offers_every_flag() -> None:
    text = page("completion")
    assert [flag for flag in _flags() if flag not in text] == []


def test_install_lays_everything_out(tmp_path: Path) -> None:
    subprocess.run(
        [str(ROOT / "packaging" / "install")],
        env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "DESTDIR": str(tmp_path),
            "SITE": "/usr/lib/python3/dist-packages",
            "PYTHON": sys.executable,
        },
        check=True,
    )
    for path in (
        "usr/bin/capd",
        "usr/lib/python3/dist-packages/capd/daemon.py",
        "usr/lib/systemd/system/capd.service",
        "usr/lib/sysusers.d/capd.conf",
        "usr/lib/tmpfiles.d/capd.conf",
        "usr/share/polkit-1/rules.d/50-capd.rules",
        "usr/share/man/man8/capd.8.gz",
        "usr/share/man/man5/capd.conf.5.gz",
        "usr/share/bash-completion/completions/capd",
        "etc/capd/capd.conf",
    ):
        assert (tmp_path / path).is_file(), path
    assert (tmp_path / "etc/capd/capd.conf").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "usr/bin/capd").stat().st_mode & 0o777 == 0o755
