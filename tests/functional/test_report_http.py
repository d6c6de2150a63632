"""Reporting over real HTTP against a server that misbehaves at a chosen moment."""

from __future__ import annotations

import logging
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from capd.report import Reporter
from capd.store import Store
from tests.fake_placement import FakePlacement, FakeServer, error
from tests.reporting import BOCHS, GOLD, STANDARD, YES, A, assess, configure

SECRET = "open-sesame-9177"
FACTS = assess(**{A: YES, BOCHS: YES})


class Site:
    """A fake behind HTTP, and a reporter that is configured for it."""

    def __init__(self, directory: Path, server: FakeServer) -> None:
        self.directory = directory
        self.server = server
        self.fake = server.fake
        self.uuid = self.fake.create("host1", traits=[GOLD])
        self.store: Optional[Store] = None
        self.reporter = self.configure()

    def configure(self, lines: str = "", url: str = "") -> Reporter:
        if self.store is not None:
            self.store.close()
        auth = "" if "auth_type" in lines else f"endpoint = {url or self.server.url}\n"
        settings = configure(self.directory, placement=f"{auth}token = {SECRET}\n{lines}")
        self.store = Store(settings.state_dir / "capd.db")
        self.reporter = Reporter(settings, self.store, "host1", pause=lambda _: None)
        return self.reporter

    def failing(self) -> str:
        report = self.reporter.report(FACTS)
        assert report.error is not None
        assert not report.ok
        assert SECRET not in report.error
        return report.error

    def recovers(self) -> None:
        """The next pass, without a restart, with one line about it."""
        self.server.script = lambda handler, method, path: None
        report = self.reporter.report(FACTS)
        assert report.ok
        assert report.changes[0] == "reporting works again"
        assert self.fake.providers[self.uuid].traits == {A, BOCHS, GOLD}
        assert self.reporter.report(FACTS).changes == ()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with FakeServer(FakePlacement(STANDARD)) as server:
        site = Site(tmp_path, server)
        yield site
        assert site.store is not None
        site.store.close()


def everywhere(reply: Any) -> Any:
    return lambda handler, method, path: reply


def writes(action: Any) -> Any:
    """A script that acts on writes to providers only."""

    def script(handler: Any, method: str, path: str) -> Any:
        if method == "PUT" and path.startswith("/resource_providers"):
            return action(handler)
        return None

    return script


def test_b11_every_request_names_the_microversion_and_stays_short(site: Site) -> None:
    names = {f"CUSTOM_CAPD_{number:03}_{'LONG_' * 40}": YES for number in range(60)}
    assert site.reporter.report(assess(**names, **{BOCHS: YES})).ok
    assert len(site.server.lines) > 60
    assert {headers["openstack-api-version"] for headers in site.server.headers} == {
        "placement 1.6"
    }
    assert {headers["x-auth-token"] for headers in site.server.headers} == {SECRET}
    assert max(map(len, site.server.lines)) < 2000
    assert not [line for line in site.server.lines if line.startswith("DELETE")]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "does not accept the credentials|does not accept the token"),
        (403, "forbids this to capd's user"),
        (406, "older than microversion 1.6"),
        (500, "failed inside"),
        (502, "unavailable"),
        (503, "unavailable"),
        (504, "unavailable"),
        (302, "unexpected answer"),
    ],
)
@pytest.mark.parametrize("where", ["everywhere", "writes"])
def test_answers_fail_the_pass_and_the_next_recovers(
    site: Site, status: int, words: str, where: str
) -> None:
    reply = error(status, "so it is")
    site.server.script = everywhere(reply) if where == "everywhere" else writes(lambda _: reply)
    assert any(word in site.failing() for word in words.split("|"))
    site.recovers()


def test_a_failure_is_said_once(site: Site) -> None:
    site.server.script = everywhere(error(503, "busy"))
    lines = [site.reporter.report(FACTS).changes for _ in range(5)]
    assert [len(changes) for changes in lines] == [1, 0, 0, 0, 0]
    site.recovers()


def test_placement_before_microversion_1_6(site: Site) -> None:
    site.server.script = everywhere(
        error(406, "Unacceptable version", max_version="1.5", min_version="1.0")
    )
    assert "it knows up to 1.5" in site.failing()
    site.recovers()


def test_connection_refused_then_up(site: Site) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    site.configure(url=f"http://127.0.0.1:{port}")
    assert "cannot be reached" in site.failing()
    assert "cannot be reached" in site.failing()
    site.server.server.server_close()
    site.server.server.socket = socket.create_server(("127.0.0.1", port))
    report = site.reporter.report(FACTS)
    assert report.ok
    assert report.changes[0] == "reporting works again"


def test_reset_connection(site: Site) -> None:
    def reset(handler: Any) -> bool:
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        handler.close_connection = True
        handler.connection.close()
        handler.rfile = handler.wfile = open("/dev/null", "r+b")  # noqa: SIM115
        return True

    site.server.script = lambda handler, method, path: reset(handler)
    assert "cannot be reached" in site.failing()
    site.recovers()


def test_an_answer_that_breaks_off(site: Site) -> None:
    def half(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"traits": [')
        handler.close_connection = True
        return True

    site.server.script = lambda handler, method, path: half(handler)
    assert "broke off" in site.failing() or "cannot be reached" in site.failing()
    site.recovers()


@pytest.mark.parametrize(
    "body", [b"<html><body>It works!</body></html>", b"", b"[]", b'{"traits": 7}', b"\x00\xff"]
)
def test_a_body_that_is_not_placements(site: Site, body: bytes) -> None:
    def script(handler: Any, method: str, path: str) -> bool:
        handler.reply(200, body, "text/html")
        return True

    site.server.script = script
    assert "Placement at http://127.0.0.1" in site.failing()
    site.recovers()


NOT_PLACEMENT = "(check that the endpoint is Placement's and no web page or proxy answers for it)"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (7, "answered without a list of providers"),
        ([{"uuid": "u", "name": "n"}] * 2, "answered with 2 providers where one can be"),
        ([{"name": "n"}], "answered with a provider without uuid or name"),
        (["n"], "answered with a provider without uuid or name"),
    ],
)
def test_providers_of_another_shape(site: Site, rows: Any, said: str) -> None:
    def script(handler: Any, method: str, path: str) -> Any:
        found = {"resource_providers": rows}
        return (200, found) if path.startswith("/resource_providers?") else None

    site.server.script = script
    assert site.failing() == (
        f"Placement at {site.server.url} {said} (GET /resource_providers: 200) {NOT_PLACEMENT}"
    )
    site.recovers()


def test_b19_a_server_that_never_answers_fails_within_the_limit(site: Site) -> None:
    site.configure("request_timeout = 0.5")
    site.server.script = lambda handler, method, path: time.sleep(3) or True
    begin = time.monotonic()
    assert "does not answer in time" in site.failing()
    assert time.monotonic() - begin < 1.5
    site.recovers()


def test_b19_the_limit_of_the_pass_holds_however_often_it_is_tried(site: Site) -> None:
    site.configure("request_timeout = 0.5\npass_timeout = 1")
    site.reporter._client._pause = time.sleep
    site.server.script = writes(lambda _: error(409, "generation"))
    begin = time.monotonic()
    site.failing()
    assert time.monotonic() - begin < 1.6
    site.recovers()


def test_a_write_whose_answer_was_lost_is_looked_up_not_repeated(site: Site) -> None:
    def lose(handler: Any, method: str, path: str) -> Any:
        if method == "PUT" and path.startswith("/resource"):
            traits = sorted({A, BOCHS, GOLD})
            body = {"resource_provider_generation": 1, "traits": traits}
            assert site.fake.handle("PUT", path, body)[0] == 200
            return error(502, "the answer got lost")
        return None

    site.server.script = lose
    report = site.reporter.report(FACTS)
    assert report.ok
    assert len(site.fake.puts()) == 1
    assert report.plan.owned == (BOCHS, A)


def test_a_write_whose_answer_is_too_long_counts_as_perhaps_done(site: Site) -> None:
    """Standard traits that it added are capd's all the same, and it is not sent twice."""

    def flood(handler: Any, method: str, path: str) -> Any:
        if method == "PUT" and path.startswith("/resource"):
            traits = sorted({A, BOCHS, GOLD})
            body = {"resource_provider_generation": 1, "traits": traits}
            assert site.fake.handle("PUT", path, body)[0] == 200
            handler.reply(200, bytes(5 * 2**20))
            return True
        return None

    site.server.script = flood
    assert site.failing() == (
        f"Placement at {site.server.url}: the answer is longer than 4 MiB (check the address, "
        "and that no web page or proxy answers for it)"
    )
    site.server.script = lambda handler, method, path: None
    report = site.reporter.report(FACTS)
    assert report.ok
    assert report.plan.owned == (BOCHS, A)
    assert len(site.fake.puts()) == 1


def test_b18_retry_after_is_honoured_up_to_reason(site: Site) -> None:
    waits: list[float] = []
    site.reporter._client._pause = waits.append

    def busy(handler: Any, method: str, path: str) -> bool:
        handler.reply(503, b"", Retry_After="2")
        return True

    site.server.script = busy
    site.failing()
    assert waits and min(waits) >= 2
    waits.clear()

    def very_busy(handler: Any, method: str, path: str) -> bool:
        handler.reply(503, b"", Retry_After="3600")
        return True

    site.server.script = very_busy
    site.failing()
    assert waits == []
    site.recovers()


def test_a_pause_that_raises_ends_the_pass_at_once(site: Site) -> None:
    class Stop(Exception):
        pass

    def stop(_: float) -> None:
        raise Stop

    site.reporter._client._pause = stop
    site.server.script = everywhere(error(503, "busy"))
    with pytest.raises(Stop):
        site.reporter.report(FACTS)


# -- ways to authenticate that need no keystone


@pytest.mark.parametrize("kind", ["none", "noauth"])
def test_no_authentication(site: Site, kind: str) -> None:
    site.configure(f"auth_type = {kind}\nendpoint = {site.server.url}")
    assert site.reporter.report(FACTS).ok
    assert site.server.headers[0]["x-auth-token"] == "notused"


def test_http_basic(site: Site) -> None:
    login = f"username = capd\npassword = {SECRET}"
    site.configure(f"auth_type = http_basic\nendpoint = {site.server.url}\n{login}")
    assert site.reporter.report(FACTS).ok
    assert site.server.headers[0]["authorization"].startswith("Basic ")


def test_endpoint_override(site: Site) -> None:
    site.configure(f"endpoint_override = {site.server.url}", url="http://127.0.0.1:9/nowhere")
    assert site.reporter.report(FACTS).ok


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("auth_type = carrier_pigeon", "keystoneauth has no plugin carrier_pigeon"),
        ("auth_type = ", "no Placement is configured"),
        ("auth_type = password", "auth_url"),
        ("auth_type = v3applicationcredential\nauth_url = http://127.0.0.1:9/v3", "application"),
        ("auth_type = none", "endpoint"),
    ],
)
def test_options_that_do_not_make_a_session(site: Site, lines: str, words: str) -> None:
    site.configure(lines)
    assert words in site.failing()


def test_secrets_stay_out_of_errors_and_of_the_debug_log(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = site.server.url.replace("http://", f"http://capd:{SECRET}@")
    site.configure(
        f"auth_type = http_basic\nendpoint = {url}\nusername = capd\npassword = {SECRET}"
    )
    site.server.script = everywhere(error(500, "no"))
    site.failing()
    site.configure()
    site.server.script = everywhere(error(403, "no"))
    site.failing()
    assert "GET /traits?name=startswith:CUSTOM_CAPD_: 403" in caplog.text
    assert SECRET not in caplog.text


# -- TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private authority, a server's and a client's certificate, and another authority."""
    directory = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    for name in ("ca", "other"):
        openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"),
        )
    (directory / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-days", "2", "-extfile", "san", "-out", f"{name}.pem"),
        )
    return directory


@pytest.fixture
def tls(site: Site, certificates: Path) -> Site:
    """The site behind TLS; the server demands a client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.load_verify_locations(certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    listener = site.server.server
    listener.socket = context.wrap_socket(
        listener.socket, server_side=True, do_handshake_on_connect=False
    )
    return site


def test_b19_ca_file_and_client_certificate(tls: Site, certificates: Path) -> None:
    url = tls.server.url.replace("http:", "https:")
    client = f"certfile = {certificates}/client.pem\nkeyfile = {certificates}/client.key\n"
    tls.configure(f"cafile = {certificates}/other.pem\n{client}", url)
    assert "TLS failed" in tls.failing()
    tls.configure(client, url)
    message = tls.failing()
    assert "TLS failed" in message and "cafile" in message
    tls.configure(f"cafile = {certificates}/ca.pem\n", url)
    tls.failing()
    tls.configure(f"cafile = {certificates}/ca.pem\n{client}", url)
    assert tls.reporter.report(FACTS).ok
    tls.configure(f"insecure = true\n{client}", url)
    assert tls.reporter.report(FACTS).ok


def test_b19_a_tls_peer_that_hangs_in_the_handshake(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        site.configure("request_timeout = 0.5", f"https://127.0.0.1:{port}")
        begin = time.monotonic()
        assert "in time" in site.failing()
        assert time.monotonic() - begin < 1.5


def test_plain_http_where_tls_is_expected(site: Site) -> None:
    site.configure(url=site.server.url.replace("http:", "https:"))
    assert "TLS failed" in site.failing()


def test_two_capds_racing_for_one_provider_agree(site: Site, tmp_path: Path) -> None:
    """Two hosts' worth of writers on one provider: what the lock cannot see does no harm."""
    other = configure_other(site, tmp_path)
    threads = [
        threading.Thread(target=reporter.report, args=(FACTS,))
        for reporter in (site.reporter, other)
        for _ in range(1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert site.fake.providers[site.uuid].traits == {A, BOCHS, GOLD}


def configure_other(site: Site, directory: Path) -> Reporter:
    other = directory / "other"
    other.mkdir()
    settings = configure(other, placement=f"endpoint = {site.server.url}\ntoken = x\n")
    store = Store(settings.state_dir / "capd.db")
    return Reporter(settings, store, "host1", pause=lambda _: None)
