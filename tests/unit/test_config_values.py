"""Values that cannot be are refused when files are read: with file and cure, never a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capd import config, values
from capd.cli import main
from capd.errors import ConfigError
from capd.options import OPTIONS, Kind

_DOLLAR = (
    "$ begins the name of another option in oslo.config, and there is none of that name "
    "(write $$ for a dollar sign)"
)


def refusal(path: Path, text: str | bytes) -> str:
    """The one line that `config.load` says of a file with this text."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        config.load([path])
    assert caught.value.exit_code == 2
    assert "secretpw" not in caught.value.culprit
    return caught.value.line()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[metrics]\ntextfile = /tmp/capd.txt\n",
            "{path}: [metrics] textfile: '/tmp/capd.txt' does not end in .prom "
            "(node_exporter reads no other files)",
        ),
        (
            "[metrics]\nlisten = 0.0.0.0:1\n",
            "{path}: [metrics] listen: '0.0.0.0:1' is not a loopback address and port "
            "(for example 127.0.0.1:9177; let a proxy with authentication serve others)",
        ),
        (
            "[libvirt]\nhw_machine_type = q35\n",
            "{path}: [libvirt] hw_machine_type: 'q35' is not arch=machine "
            "(for example x86_64=q35)",
        ),
        (
            "[traits]\noverride = COMPUTE_NET_VIF_MODEL_PCNET\n",
            "{path}: [traits] override: 'COMPUTE_NET_VIF_MODEL_PCNET' is not +TRAIT or -TRAIT "
            "(for example -COMPUTE_NET_VIF_MODEL_PCNET)",
        ),
        (
            "[traits]\noverride = +CUSTOM_CAPD_A, -COMPUTE_NODE, - CUSTOM_CAPD_A\n",
            "{path}: [traits] override: both +CUSTOM_CAPD_A and -CUSTOM_CAPD_A "
            "(remove one of them)",
        ),
        (
            "[DEFAULT]\nstate_dir = here\n",
            "{path}: [DEFAULT] state_dir: 'here' is no absolute path (for example /var/lib/capd)",
        ),
        (
            "[placement]\nauth_section = nowhere\n",
            "{path}: [placement] auth_section is nowhere, but no file has a section [nowhere] "
            "(correct it, or give the file with that section as another --config-file)",
        ),
    ],
)
def test_value_is_refused_when_it_is_read(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "capd.conf"
    assert refusal(path, text) == said.format(path=path)


def test_the_file_whose_value_counts_is_named(tmp_path: Path) -> None:
    first, last = tmp_path / "nova.conf", tmp_path / "capd.conf"
    first.write_text(
        "[libvirt]\nhw_machine_type = x86_64=q35\n[traits]\noverride = COMPUTE_NODE\n"
    )
    assert refusal(last, "[libvirt]\nhw_machine_type = q35\n").startswith(f"{last}: [libvirt] hw_")
    with pytest.raises(ConfigError) as caught:
        config.load([first, _write(last, "[libvirt]\nhw_machine_type = aarch64=virt\n")])
    assert (
        str(caught.value) == f"{first}: [traits] override: 'COMPUTE_NODE' is not +TRAIT or -TRAIT"
    )


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_override_said_twice_counts_once(tmp_path: Path) -> None:
    path = _write(tmp_path / "capd.conf", "[traits]\noverride = +COMPUTE_NODE, +COMPUTE_NODE\n")
    assert config.load([path]).traits.overrides == (values.Override("COMPUTE_NODE", True),)


# -- secrets


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[placement]\n  password = secretpw\n",
            "line 2: it is indented, which continues the value of the line before, and there is "
            "none",
        ),
        ("\n# x\npassword = secretpw\n", "line 3: it is before the first [section]"),
        ("[placement]\nusername = x\n=secretpw\n", "line 3: there is no key before the ="),
        ("[placement]\npassword secretpw\n", "line 2: it is neither [section] nor key = value"),
        ("[placement\n", "line 1: the name of the section does not end with ]"),
        ("[]\n", "line 1: the name of the section is empty"),
        (
            b"\xef\xbb\xbf[placement]\npassword = secretpw\n",
            "it begins with a byte order mark, which oslo.config does not take",
        ),
        (b"[placement]\npassword = secretpw\xff\n", "line 2: it is not UTF-8"),
    ],
)
def test_a_malformed_line_is_named_by_its_number(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
    path = tmp_path / "y.conf"
    assert refusal(path, text) == (
        f"configuration file {path} is malformed: {said} "
        "(it has [section] lines and key = value lines, in UTF-8)"
    )


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("[placement]\npassword = s3cr$secretpw\n", "[placement] password"),
        ("[placement]\npassword = ${secretpw}\n", "[placement] password"),
        ("[placement]\npassword = $secretpw.x\n", "[placement] password"),
        ("[placement]\npassword = secretpw$password\n", "[placement] password"),
        ("[placement]\nendpoint = $foo\n", "[placement] endpoint"),
        ("[placement]\nprovider_name = $foo\n", "[placement] provider_name"),
        ("[DEFAULT]\nstate_dir = $HOME/x\n", "[DEFAULT] state_dir"),
        ("[traits]\nemulated = aarch64, $foo\n", "[traits] emulated"),
        (
            "[placement]\nauth_section = keystone\n[keystone]\npassword = a$secretpw\n",
            "[keystone] password",
        ),
    ],
)
def test_a_dollar_that_names_nothing_is_refused(tmp_path: Path, text: str, option: str) -> None:
    path = tmp_path / "capd.conf"
    assert refusal(path, text) == f"{path}: {option}: {_DOLLAR}"


def test_a_dollar_that_is_meant_is_let_be(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "capd.conf",
        "[DEFAULT]\nstate_dir = /$$HOME\n"
        "[placement]\npassword = a$$b\ntoken = $5\\$x$\nusername = $provider_name-$region\n"
        "provider_name = p\nregion = r\n"
        "[other]\nkey = $nothing\n"
        "[traits]\nemulated = $$x\n",
    )
    settings = config.load([path])
    assert (str(settings.state_dir), settings.traits.emulated) == ("/$HOME", ("$x",))


# -- numbers


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("[DEFAULT]\ninterval", "nan", "'nan' is no number"),
        ("[DEFAULT]\ninterval", "inf", "Should be less than or equal to 86400"),
        ("[DEFAULT]\ninterval", "1e18", "Should be less than or equal to 86400"),
        ("[DEFAULT]\ninterval", "-inf", "Should be greater than or equal to 1"),
        ("[libvirt]\ncall_timeout", "nan", "'nan' is no number"),
        ("[libvirt]\ncall_timeout", "1e300", "Should be less than or equal to 3600"),
        ("[libvirt]\nkeepalive_interval", "99999999999", "Should be less than or equal to 3600"),
        ("[placement]\npass_timeout", "inf", "Should be less than or equal to 86400"),
        ("[records]\nretention", "nan", "'nan' is no number"),
        ("[records]\nretention", "1e10", "Should be less than or equal to 315360000"),
    ],
)
def test_a_time_is_finite_and_bounded(tmp_path: Path, option: str, value: str, said: str) -> None:
    path = tmp_path / "capd.conf"
    label = option.replace("\n", " ")
    assert refusal(path, f"{option} = {value}\n") == (
        f"{path}: {label} is not valid: {said} (capd.conf(5) lists types and ranges)"
    )


def test_every_number_has_its_bounds() -> None:
    numbers = [one for one in OPTIONS if one.kind in (Kind.INTEGER, Kind.NUMBER)]
    assert len(numbers) == 10
    assert [one.name for one in numbers if one.minimum is None or one.maximum is None] == []


def test_pages_write_numbers_out() -> None:
    for page in ("systemd/capd.conf", "docs/configuration.md"):
        text = (Path(__file__).parents[2] / page).read_text()
        assert "2592000" in text
        assert "e+0" not in text


@pytest.mark.parametrize("verb", [["list"], ["register"], ["show", "x", "hw_disk_bus"]])
def test_a_dollar_in_novas_database_url(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    path = _write(
        tmp_path / "nova.conf",
        f"[DEFAULT]\nstate_dir = {tmp_path}\n"
        "[api_database]\nconnection = mysql+pymysql://nova:a$secretpw@db/nova_api\n",
    )
    assert main(["--config-file", str(path), "image-property", *verb]) == 2
    assert capsys.readouterr().err == f"capd: [api_database] connection: {_DOLLAR}\n"


def test_what_does_not_fit_the_host_is_named_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nova = _write(tmp_path / "nova.conf", "[libvirt]\nhw_machine_type = x86_64=q53, X86=pc\n")
    own = _write(
        tmp_path / "capd.conf",
        "[traits]\noverride = +CUSTOM_SOMEBODY\nemulated = arm64\n",
    )
    files = ["--config-file", str(nova), "--config-file", str(own)]
    recorded = str(Path(__file__).parents[2] / "fixtures" / "captures" / "bookworm")
    assert main([*files, "--dump", "--json", "--from", recorded]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [problem.partition(",")[0] for problem in problems] == [
        f"{nova}: [libvirt] hw_machine_type = x86_64=q53",
        f"{nova}: [libvirt] hw_machine_type: X86 is no architecture by libvirt's name",
        f"{own}: [traits] emulated: arm64 is no architecture by libvirt's name",
        f"{own}: [traits] override: CUSTOM_SOMEBODY is neither a standard trait nor one of "
        "capd's (CUSTOM_CAPD_...); ignored",
    ]
