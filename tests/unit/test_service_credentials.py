"""Passwords in files that others can read; credentials of systemd; what a reload cannot change."""

from __future__ import annotations

from pathlib import Path

import pytest

from capd import config, credentials
from capd.errors import ConfigError


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose files count by their own mode alone."""
    monkeypatch.setattr(
        credentials, "world_readable", lambda path: bool(path.stat().st_mode & 0o004)
    )
    return tmp_path


@pytest.mark.parametrize("secret", ["password", "token", "application_credential_secret"])
def test_password_that_all_can_read_is_refused(public: Path, secret: str) -> None:
    path = public / "capd.conf"
    path.write_text(f"[placement]\n{secret} = hunter2\n")
    path.chmod(0o644)
    with pytest.raises(ConfigError) as caught:
        config.load([path])
    assert f"holds [placement] {secret} and can be read by every user" in str(caught.value)
    assert "hunter2" not in caught.value.line()
    assert caught.value.culprit == str(path)
    path.chmod(0o640)
    assert config.load([path]).files == (path,)


def test_password_in_another_section_that_is_used(public: Path) -> None:
    path = public / "capd.conf"
    path.write_text("[placement]\nauth_section = Keystone\n[keystone]\npassword = hunter2\n")
    path.chmod(0o644)
    with pytest.raises(ConfigError) as caught:
        config.load([path])
    assert str(caught.value) == f"{path} holds [keystone] password and can be read by every user"
    path.write_text("[keystone]\npassword = hunter2\n")  # which capd has no use for
    assert config.load([path]).files == (path,)


def test_file_without_a_secret_may_be_read_by_all(public: Path) -> None:
    path = public / "capd.conf"
    path.write_text("[placement]\nauth_type = password\npassword =\n[traits]\nstandard = never\n")
    path.chmod(0o644)
    assert config.load([path]).traits.standard is False


def test_world_readable_looks_at_the_directories_too(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o644)
    tmp_path.chmod(0o700)
    assert not credentials.world_readable(path)
    assert credentials.world_readable(Path("/etc/passwd"))
    assert not credentials.world_readable(tmp_path / "absent")


def test_credentials_of_systemd_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "credentials"
    directory.mkdir()
    (directory / "placement.conf").write_text("[placement]\nprovider_name = from-systemd\n")
    (directory / "other").write_text("no configuration")
    main = tmp_path / "capd.conf"
    main.write_text("[placement]\nprovider_name = from-file\n")
    assert config.load([main]).placement.provider_name == "from-file"
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(directory))
    settings = config.load([main])
    assert settings.placement.provider_name == "from-systemd"
    assert settings.files == (main, directory / "placement.conf")


def test_what_a_reload_cannot_change_is_named(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    path.write_text("")
    old = config.load([path])
    path.write_text(
        "[DEFAULT]\nstate_dir = /elsewhere\ninterval = 5\n[metrics]\nlisten = 127.0.0.1:1\n"
    )
    assert config.needs_restart(old, config.load([path])) == (
        "[DEFAULT] state_dir",
        "[metrics] listen",
    )
    assert config.needs_restart(old, old) == ()
