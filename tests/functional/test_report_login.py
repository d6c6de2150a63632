"""Ways in that lead nowhere: a keystone that asks for a token first, options of no use.

Each ends in time, in one line without a secret, a URL's password or a library's words.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_placement import FakePlacement, FakeServer
from tests.functional.test_report_limits import ask
from tests.reporting import STANDARD

PASSWORD = (
    "auth_type = password\nauth_url = {url}\nusername = u\npassword = s3cret\nproject_name = s\n"
    "user_domain_name = d\nproject_domain_name = d\n"
)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(FakePlacement(STANDARD)) as server:
        yield server


def capd(directory: Path, lines: str, *arguments: str) -> tuple[int, str]:
    """Exit code and standard error of the program with this `[placement]`."""
    path = directory / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {directory}/state\n[libvirt]\n"
        f"connection_uri = qemu:///system?socket={directory}/none\n"
        f"[placement]\ncompute_id_files =\n{lines}\n"
    )
    path.chmod(0o640)
    done = subprocess.run(
        [sys.executable, "-m", "capd", "--config-file", str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stderr


# -- keystone whose version discovery wants a token


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (
            "/v3",
            " does not accept the credentials (check the user, password or application credential "
            "in [placement])",
        ),
        ("", " did not say which API versions it has (check auth_url, and that keystone runs)"),
    ],
)
def test_discovery_that_is_refused_does_not_wait_for_itself(
    server: FakeServer, tmp_path: Path, path: str, words: str
) -> None:
    server.script = lambda handler, method, target: (401, {"error": {"code": 401}})
    url = server.url + path
    code, said = capd(
        tmp_path, PASSWORD.format(url=url), "match", "--property", "hw_disk_bus=sata"
    )
    assert (code, said) == (3, f"capd: keystone at {url}{words}\n")


def test_discovery_that_is_refused_is_not_needed(server: FakeServer, tmp_path: Path) -> None:
    """The address says which version it is; tokens are given all the same."""
    interface = {"interface": "internal", "region_id": "R", "region": "R", "url": server.url}
    token = {
        "methods": ["password"],
        "user": {"id": "u", "name": "u", "domain": {"id": "d", "name": "d"}},
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": "2099-01-01T00:00:00.000000Z",
        "catalog": [{"type": "placement", "name": "placement", "endpoints": [interface]}],
    }

    def script(handler: Any, method: str, path: str) -> Any:
        if path == "/v3/auth/tokens":
            import json

            handler.reply(201, json.dumps({"token": token}).encode(), X_Subject_Token="t0ken")
            return True
        return (401, None) if path.startswith("/v3") else None

    server.script = script
    assert ask(tmp_path, PASSWORD.format(url=f"{server.url}/v3"))[0] == ""
    assert server.headers[-1]["x-auth-token"] == "t0ken"
    discovery = [line for line in server.lines if line.startswith("GET /v3")]
    assert len(discovery) == 2


OTHER = "(check the address, and that no web page or proxy answers for it)"
LATER = "(see its own log; the next pass tries again)"


@pytest.mark.parametrize(
    ("status", "document", "said"),
    [
        (201, [], f": Invalid response from server. {OTHER}"),
        (201, 3, f": the answer cannot be understood {OTHER}"),
        (201, None, f": Invalid response from server. {OTHER}"),
        (201, {}, f": Invalid response from server. {OTHER}"),
        (201, {"token": 3}, f": the answer cannot be understood {OTHER}"),
        (201, {"token": {"catalog": 7}}, f": the answer cannot be understood {OTHER}"),
        (403, {"error": {"message": "no role"}}, f" answered 403: no role {OTHER}"),
        (429, {"error": {"message": "slower"}}, f" answered 429: slower {LATER}"),
        (503, {"error": {"message": "busy"}}, f" answered 503: busy {LATER}"),
    ],
)
def test_answers_of_keystone_that_are_no_token(
    server: FakeServer, tmp_path: Path, status: int, document: Any, said: str
) -> None:
    server.script = lambda handler, method, path: (status, document)
    line, _ = ask(tmp_path, PASSWORD.format(url=f"{server.url}/v3"))
    assert line == f"keystone at {server.url}/v3{said}"


NETWORK = "(check that it runs, the address, and the network between)"
LOG = "(see its log, and that of its proxy)"
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", f" cannot be reached: it closes the connection without an answer {NETWORK}"),
        (b"hello\r\n\r\n", f" cannot be reached: its answer is no HTTP {NETWORK}"),
        (HEAD + b"a: b\r\n" * 200, f" cannot be reached: its answer is no HTTP {NETWORK}"),
        (HEAD + b"Content-Length: 9\r\n\r\nabc", f": the answer broke off {LOG}"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", f": the answer broke off {LOG}"),
        (
            HEAD + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
            f": the answer cannot be unpacked {OTHER}",
        ),
    ],
)
def test_answers_that_are_no_http(
    server: FakeServer, tmp_path: Path, answer: bytes, said: str
) -> None:
    def script(handler: Any, method: str, path: str) -> bool:
        handler.close_connection = True
        handler.wfile.write(answer)
        return True

    server.script = script
    line, _ = ask(tmp_path, f"endpoint = {server.url}\ntoken = s3cret\n")
    assert line == f"Placement at {server.url}{said}"


# -- options that cannot be used


def plain(line: str) -> bool:
    """No class of Python's, no repr, no secret."""
    return not re.search(r"Error\b|Exception|0x|object at|s3cret|LocationInfo|<class|\\n", line)


CAPTURE = str(min((Path(__file__).parents[2] / "fixtures" / "hosts").glob("*/")))
TOKEN = "endpoint = http://127.0.0.1:9\nauth_type = admin_token\n"
ONE_LINE = "write it on one line; an indented line continues the one above"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            f"{TOKEN}token=s3cret\n  more",
            f"[placement] token holds a line break or another control character ({ONE_LINE})",
        ),
        (
            PASSWORD.format(url="http://127.0.0.1:9/v3").replace("s3cret", "s3cret\n  more"),
            f"[placement] password holds a line break or another control character ({ONE_LINE})",
        ),
        (
            "auth_type = http_basic\nendpoint = http://127.0.0.1:9\nusername = u\n"
            "password = s3cret\x07",
            f"[placement] password holds a line break or another control character ({ONE_LINE})",
        ),
        (
            f"{TOKEN}token = s3crét",
            "[placement] token holds a character that no token has (copy it anew)",
        ),
        (f"{TOKEN}token =", "[placement] token is empty (set it)"),
        (
            PASSWORD.format(url="http://127.0.0.1:9/v3").replace("s3cret", ""),
            "[placement] password is empty (set it)",
        ),
        (
            "auth_type = admin_token\ntoken = s3cret\nendpoint = 127.0.0.1:1",
            "[placement] endpoint is no address with http:// or https:// in front "
            "(for example endpoint = http://controller:8778)",
        ),
        (
            f"{TOKEN}token = s3cret\nendpoint_override = ftp://127.0.0.1",
            "[placement] endpoint_override is no address with http:// or https:// in front "
            "(for example endpoint_override = http://controller:8778)",
        ),
        (
            f"{TOKEN}token = s3cret\nendpoint_override = http://127.0.0.1/100%",
            "[placement] endpoint_override is no address with http:// or https:// in front "
            "(for example endpoint_override = http://controller:8778)",
        ),
        (
            PASSWORD.format(url="http://[::1/v3"),
            "[placement] auth_url is no address with http:// or https:// in front "
            "(for example auth_url = http://controller:5000/v3)",
        ),
        (
            PASSWORD.format(url=""),
            "[placement] auth_url is empty (set it)",
        ),
        (
            f"{TOKEN}token = s3cret\ninsecure = maybe",
            "{path}: [placement] insecure is not valid: Unexpected boolean value 'maybe' "
            "(keystoneauth's documentation of its options lists types)",
        ),
        (
            f"{TOKEN}token = s3cret\ntimeout = soon",
            "{path}: [placement] timeout is not valid: could not convert string to float: 'soon' "
            "(keystoneauth's documentation of its options lists types)",
        ),
    ],
)
def test_an_option_that_cannot_be_used_is_named(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "capd.conf"
    for arguments in (["match", "--property", "hw_disk_bus=sata"], ["--once"]):
        code, text = capd(tmp_path, lines, *arguments)
        assert (code, text) == (2, f"capd: {said.format(path=path)}\n"), arguments
        assert plain(text)


@pytest.mark.parametrize("mode", [["--withdraw"], ["--dump", "--from", CAPTURE]])
def test_so_it_is_in_every_mode(tmp_path: Path, mode: list[str]) -> None:
    code, text = capd(tmp_path, f"{TOKEN}token =", *mode)
    assert (code, text) == (2, "capd: [placement] token is empty (set it)\n")


FILES = "(check cafile, certfile and keyfile in [placement], and the server's name)"
HTTPS = "auth_type = admin_token\nendpoint = https://127.0.0.1:9\ntoken = s3cret\n"


@pytest.mark.parametrize("option", ["cafile", "certfile"])
def test_a_file_of_tls_that_is_not_there(tmp_path: Path, option: str) -> None:
    absent = tmp_path / "absent.pem"
    line = ask(tmp_path, f"{HTTPS}{option} = {absent}\n")[0]
    assert line.startswith("Placement at https://127.0.0.1:9: Could not find ")
    assert line.endswith(f", invalid path: {absent} {FILES}")


def test_tls_where_the_server_speaks_plain_http(server: FakeServer, tmp_path: Path) -> None:
    url = server.url.replace("http:", "https:")
    line = ask(tmp_path, f"endpoint = {url}\ntoken = s3cret\n")[0]
    assert re.fullmatch(
        f"Placement at {url}: TLS failed: (wrong version number|record layer failure) "
        + re.escape(FILES),
        line,
    )


def test_a_proxy_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    line = ask(tmp_path, "endpoint = http://placement.example\ntoken = s3cret\n")[0]
    assert line == (
        "Placement at http://placement.example cannot be reached: Connection refused "
        "(check that it runs, the address, and the network between)"
    )
