"""Reporting through the real keystone: tokens that run out or are revoked, turning credentials.

Each test has a Placement that validates tokens with keystone, and capd with `[placement]` as in a
usual nova.conf. Whatever keystone does, reporting resumes by itself in the next pass.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from capd.config import load
from capd.report import Reporter
from capd.store import Store
from tests.reporting import BOCHS, YES, A, B, assess
from tests.rig.keystone import Keystone
from tests.rig.placement import Client, Placement

SECRET = "s3cret-of-capd"
FACTS = assess(**{A: YES, BOCHS: YES})
MORE = assess(**{A: YES, BOCHS: YES, B: YES})


class Cloud:
    """Keystone, Placement, a user of capd's own, and a reporter."""

    def __init__(self, keystone: Keystone, placement: Placement, directory: Path) -> None:
        self.keystone, self.placement, self.directory = keystone, placement, directory
        self.name = directory.name
        self.keystone.create_user(self.name, SECRET)
        self.client = Client(placement.url, keystone.token())
        self.uuid = self.client.create_provider(self.name)
        self.store: Optional[Store] = None
        self.reporter = self.configure(keystone.password_snippet(self.name, SECRET))

    def configure(self, snippet: str, more: str = "", timeout: float = 60) -> Reporter:
        if self.store is not None:
            self.store.close()
        path = self.directory / "nova.conf"
        path.write_text(
            f"[DEFAULT]\nstate_dir = {self.directory}/state\ninstances_path = /var/lib/nova\n"
            f"{snippet}valid_interfaces = internal\n{more}"
        )
        own = self.directory / "capd.conf"
        own.write_text(
            f"[placement]\ncompute_id_files =\nrequest_timeout = {timeout}\n"
            f"pass_timeout = {2 * timeout}\n"
        )
        settings = load([path, own])
        self.store = Store(settings.state_dir / "capd.db")
        self.reporter = Reporter(settings, self.store, self.name)
        return self.reporter

    def good(self, facts: Any = FACTS) -> Any:
        report = self.reporter.report(facts)
        assert report.error is None
        assert report.ok
        return report

    def bad(self, words: str) -> str:
        report = self.reporter.report(FACTS)
        assert report.error is not None
        assert words in report.error
        assert SECRET not in report.error
        return report.error

    def recovers(self) -> None:
        assert self.good().changes[0] == "reporting works again"

    def traits(self) -> set[str]:
        return Client(self.placement.url, self.keystone.token()).traits(self.uuid)


@pytest.fixture
def cloud(keystone: Keystone, keystone_placement: Placement, tmp_path: Path) -> Iterator[Cloud]:
    cloud = Cloud(keystone, keystone_placement, tmp_path)
    yield cloud
    assert cloud.store is not None
    cloud.store.close()


def test_password_as_in_nova_conf(cloud: Cloud, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    cloud.good()
    assert cloud.traits() == {A, BOCHS}
    cloud.keystone.forget_requests()
    assert cloud.good().requests == 1
    tokens = [one for one in cloud.keystone.requests() if one.user_agent.startswith("capd")]
    assert tokens == [], "a token is kept as long as it is good"
    assert SECRET not in caplog.text


def test_a_revoked_token_is_renewed_within_the_pass(cloud: Cloud) -> None:
    cloud.good()
    time.sleep(1.1)  # revocation has whole seconds
    cloud.keystone.revoke_all(cloud.name)
    time.sleep(1.1)
    report = cloud.good(MORE)
    assert report.added == (B,)


def test_a_wrong_password_then_the_right_one(cloud: Cloud) -> None:
    cloud.configure(cloud.keystone.password_snippet(cloud.name, "wrong-" + SECRET))
    error = cloud.bad("does not accept the credentials")
    assert cloud.keystone.url in error and "[placement]" in error
    assert cloud.reporter.report(FACTS).changes == ()
    cloud.keystone.set_password(cloud.name, "wrong-" + SECRET)
    time.sleep(1.1)  # keystone revokes what was issued within the second of the change
    cloud.recovers()
    assert cloud.traits() == {A, BOCHS}


def test_a_password_that_is_changed_underway(cloud: Cloud) -> None:
    cloud.good()
    time.sleep(1.1)
    cloud.keystone.set_password(cloud.name, "another")
    time.sleep(1.1)
    cloud.bad("does not accept the credentials")
    cloud.keystone.set_password(cloud.name, SECRET)
    time.sleep(1.1)
    cloud.recovers()


def test_a_rotated_application_credential(cloud: Cloud) -> None:
    keystone = cloud.keystone
    first = keystone.application_credential("first", cloud.name, SECRET)
    cloud.configure(keystone.application_credential_snippet(first))
    cloud.good()
    keystone.delete_application_credential(cloud.name, SECRET, first.id)
    time.sleep(1.1)
    error = cloud.bad("does not accept the credentials")
    assert first.secret not in error
    second = keystone.application_credential("second", cloud.name, SECRET)
    cloud.configure(keystone.application_credential_snippet(second))
    assert cloud.good(MORE).added == (B,)


def test_a_user_without_the_role(cloud: Cloud) -> None:
    name = f"{cloud.name}-guest"
    cloud.keystone.create_user(name, SECRET, roles=["reader"])
    cloud.configure(cloud.keystone.password_snippet(name, SECRET))
    cloud.bad("forbids this to capd's user")
    assert cloud.traits() == set()


def test_b18_no_placement_in_the_catalog_for_three_passes(cloud: Cloud) -> None:
    cloud.keystone.unregister("placement")
    try:
        lines = [cloud.reporter.report(FACTS) for _ in range(3)]
    finally:
        cloud.keystone.register("placement", cloud.placement.url)
    assert [len(report.changes) for report in lines] == [1, 0, 0]
    assert "the catalog has no placement endpoint" in (lines[0].error or "")
    assert "internal" in (lines[0].error or "")
    cloud.recovers()


def test_region_and_endpoint_override(cloud: Cloud) -> None:
    snippet = cloud.keystone.password_snippet(cloud.name, SECRET)
    elsewhere = snippet.replace("region_name = RegionOne", "region_name = Elsewhere")
    cloud.configure(elsewhere)
    cloud.bad("region Elsewhere")
    cloud.configure(elsewhere, f"endpoint_override = {cloud.placement.url}\n")
    cloud.good()
    cloud.keystone.register("placement", cloud.placement.url, region="Elsewhere")
    cloud.configure(elsewhere)
    assert cloud.good(MORE).added == (B,)


@pytest.mark.parametrize("kind", ["token", "v3token", "v3password"])
def test_other_auth_types(cloud: Cloud, kind: str) -> None:
    url, project = f"auth_url = {cloud.keystone.url}/v3\n", "project_name = service\n"
    domains = "project_domain_name = Default\n"
    if kind == "v3password":
        who = f"username = {cloud.name}\npassword = {SECRET}\nuser_domain_name = Default\n"
    else:
        who = f"token = {cloud.keystone.token(cloud.name, SECRET, 'service')}\n"
    cloud.configure(f"[placement]\nauth_type = {kind}\n{url}{project}{domains}{who}")
    cloud.good()


def test_credentials_in_a_section_of_their_own(cloud: Cloud) -> None:
    snippet = cloud.keystone.password_snippet(cloud.name, SECRET)
    cloud.configure(
        snippet.replace("[placement]", "[shared_auth]")
        + "[placement]\nauth_section = shared_auth\n"
    )
    cloud.good()


def test_keystone_down_for_a_while(cloud: Cloud) -> None:
    snippet = cloud.keystone.password_snippet(cloud.name, SECRET)
    old = cloud.configure(snippet, timeout=10)
    cloud.good()
    cloud.keystone.down()
    try:
        # capd's own token is still good, but Placement has nobody to ask about it; it tries long
        error = old.report(FACTS).error or ""
        assert "Placement at" in error
        assert "is unavailable" in error or "does not answer in time" in error
        fresh = cloud.configure(snippet)
        assert cloud.keystone.url in cloud.bad("keystone at")
        assert fresh.report(FACTS).changes == ()
    finally:
        cloud.keystone.launch()
    cloud.recovers()


def test_keystone_that_accepts_and_never_answers(cloud: Cloud) -> None:
    cloud.configure(cloud.keystone.password_snippet(cloud.name, SECRET), timeout=1)
    cloud.keystone.pause()
    try:
        before = time.monotonic()
        cloud.bad("does not answer in time")
        assert time.monotonic() - before < 4
    finally:
        cloud.keystone.resume()
    cloud.configure(cloud.keystone.password_snippet(cloud.name, SECRET))
    cloud.good()


def test_tokens_that_expire(cloud: Cloud) -> None:
    """Tokens of a minute: keystoneauth relies on none that has less than two to live."""
    conf = cloud.keystone.root / "keystone.conf"
    text = conf.read_text()
    assert "expiration = 3600" in text
    conf.write_text(text.replace("expiration = 3600", "expiration = 60"))
    cloud.keystone.down()
    cloud.keystone.launch()
    try:
        cloud.good()
        cloud.keystone.forget_requests()
        for _ in range(3):
            cloud.good()
        renewed = [
            one
            for one in cloud.keystone.requests()
            if (one.method, one.target, one.status) == ("POST", "/v3/auth/tokens", 201)
        ]
        assert len(renewed) >= 3
    finally:
        conf.write_text(text)
        cloud.keystone.down()
        cloud.keystone.launch()
