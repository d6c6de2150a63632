"""Answers that never end: whole requests against the limits of time and size.

The servers here do what no real Placement or keystone can be made to do at a chosen moment.
"""

from __future__ import annotations

import functools
import gzip
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from tests.fake_placement import FakePlacement, FakeServer
from tests.reporting import STANDARD, configure

TIME = "([placement] request_timeout and pass_timeout are the limits)"
CURE = "(check the address, and that no web page or proxy answers for it)"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(FakePlacement(STANDARD)) as server:
        yield server


def ask(directory: Path, lines: str) -> tuple[str, float]:
    """What one request of a new client comes to: the error's line, and seconds."""
    from capd.errors import PlacementError
    from capd.placement import Placement

    client = Placement(configure(directory, placement=lines), pause=lambda _: None)
    client.begin()
    begin = time.monotonic()
    try:
        client.custom_names()
    except PlacementError as error:
        return error.line(), time.monotonic() - begin
    return "", time.monotonic() - begin


def trickle(handler: Any, pieces: Iterator[bytes]) -> bool:
    """Send a piece every 0.1 s for ten seconds, or until the client has had enough."""
    handler.close_connection = True
    end = time.monotonic() + 10
    for piece in pieces:
        try:
            handler.wfile.write(piece)
            handler.wfile.flush()
        except OSError:
            break
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    return True


def slow_body(handler: Any, method: str, path: str) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    return trickle(handler, iter(lambda: b" ", b""))


def slow_chunks(handler: Any, method: str, path: str) -> bool:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    return trickle(handler, iter(lambda: b"1\r\n \r\n", b""))


def slow_header(handler: Any, method: str, path: str) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    return trickle(handler, iter(lambda: b"x", b""))


def slow_status(handler: Any, method: str, path: str) -> bool:
    return trickle(handler, (b"HTTP/1.1 100 Continue\r\n\r\n" for _ in range(1000)))


@pytest.mark.parametrize("script", [slow_body, slow_chunks, slow_header, slow_status])
def test_an_answer_that_trickles_is_over_with_the_time_of_the_request(
    server: FakeServer, tmp_path: Path, script: Callable[..., Any]
) -> None:
    server.script = script
    line, seconds = ask(tmp_path, f"endpoint = {server.url}\ntoken = x\nrequest_timeout = 0.6\n")
    assert line == f"Placement at {server.url} does not answer in time {TIME}"
    assert 0.6 <= seconds < 1.5


def test_the_time_of_the_pass_bounds_one_request_too(server: FakeServer, tmp_path: Path) -> None:
    server.script = slow_body
    line, seconds = ask(tmp_path, f"endpoint = {server.url}\ntoken = x\npass_timeout = 1\n")
    assert line == f"Placement at {server.url} does not answer in time {TIME}"
    assert 1 <= seconds < 2


def test_keystone_that_trickles_is_bounded_by_the_pass(server: FakeServer, tmp_path: Path) -> None:
    """Discovery and the token are two requests, each with its own time."""
    server.script = slow_body
    line, seconds = ask(
        tmp_path,
        f"auth_type = password\nauth_url = {server.url}/v3\nusername = u\npassword = p\n"
        "project_name = s\nuser_domain_name = d\nproject_domain_name = d\n"
        "request_timeout = 0.8\npass_timeout = 1\n",
    )
    assert line == f"keystone at {server.url}/v3 does not answer in time {TIME}"
    assert 1 <= seconds < 2


def test_a_slow_answer_within_the_time_is_taken(server: FakeServer, tmp_path: Path) -> None:
    body = b'{"traits": []}'

    def script(handler: Any, method: str, path: str) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        return trickle(handler, (bytes([letter]) for letter in body))

    server.script = script
    lines = f"endpoint = {server.url}\ntoken = x\nrequest_timeout = 10\n"
    assert ask(tmp_path, lines)[0] == ""


@functools.cache
def packed() -> bytes:
    """200 MB of zeros, compressed."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    parts = [packer.compress(bytes(2**20)) for _ in range(200)]
    return b"".join([*parts, packer.flush()])


def giving(body: bytes, encoding: str) -> Any:
    def script(handler: Any, method: str, path: str) -> bool:
        handler.reply(200, body, Content_Encoding=encoding)
        return True

    return script


def endless(handler: Any, method: str, path: str) -> bool:
    """A plain body of 400 MB."""
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Content-Length", str(400 * 2**20))
    handler.end_headers()
    try:
        for _ in range(400):
            handler.wfile.write(bytes(2**20))
    except OSError:
        pass
    return True


LONG = "the answer is longer than 4 MiB"
PACKED = "the answer is packed in a way that was not asked for"

_MEASURED = r"""
import re, sys
from pathlib import Path
from capd.config import load
from capd.errors import PlacementError
from capd.placement import Placement
client = Placement(load([Path(sys.argv[1])]), pause=lambda _: None)
client.begin()
try:
    client.custom_names()
except PlacementError as error:
    print(error.line())
print(int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.parametrize("who", ["Placement", "keystone"])
@pytest.mark.parametrize(
    ("kind", "what"), [("bomb", LONG), ("plain", LONG), ("twice", PACKED), ("other", PACKED)]
)
def test_an_answer_without_end_costs_no_memory(
    server: FakeServer, tmp_path: Path, who: str, kind: str, what: str
) -> None:
    """300 kB of gzip came to 981 MB, and 400 MB as they are to 842."""
    server.script = {
        "bomb": lambda: giving(packed(), "gzip"),
        "plain": lambda: endless,
        "twice": lambda: giving(gzip.compress(packed()), "gzip, gzip"),
        "other": lambda: giving(b"...", "br"),
    }[kind]()
    lines, peer = f"endpoint = {server.url}\ntoken = x\n", f"Placement at {server.url}"
    if who == "keystone":
        peer = f"keystone at {server.url}/v3"
        lines = (
            f"auth_type = v3token\nauth_url = {server.url}/v3\ntoken = x\nproject_name = s\n"
            "project_domain_name = d\n"
        )
    configure(tmp_path, placement=lines)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(tmp_path / "capd.conf")],
        capture_output=True,
        text=True,
        check=True,
    )
    line, megabytes = done.stdout.splitlines()
    assert line == f"{peer}: {what} {CURE}"
    assert int(megabytes) < 80


def test_a_compressed_answer_is_unpacked(server: FakeServer, tmp_path: Path) -> None:
    server.script = giving(gzip.compress(b'{"traits": ["CUSTOM_CAPD_X"]}'), "gzip")
    assert ask(tmp_path, f"endpoint = {server.url}\ntoken = x\n")[0] == ""
    assert server.headers[0]["accept-encoding"] == "gzip, deflate"


def test_matching_takes_longer_answers_than_a_pass(server: FakeServer, tmp_path: Path) -> None:
    from capd.limits import MATCH
    from capd.placement import Placement

    row = {"uuid": "u", "name": "n", "links": [{"rel": "self", "href": "x" * 1000}]}
    rows = {"resource_providers": [row] * 6000}
    server.script = lambda handler, method, path: (200, rows)
    settings = configure(tmp_path, placement=f"endpoint = {server.url}\ntoken = x\n")
    answer = Placement(settings, largest=MATCH).get("/resource_providers", "1.18")
    assert len(answer.body) > 6 * 2**20
