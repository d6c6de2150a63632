"""Which provider is this host's: B15 and its kin."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Optional

import pytest

from capd import checkcloud, regular
from capd.dumptext import Painter, _plan
from capd.provider import Provider, ProviderMissing, ProviderUnclear, find, identify
from tests.fake_placement import FakeClient, FakePlacement, FakeServer
from tests.reporting import BOCHS, GOLD, MARK, NO, YES, A, B, FakeHost, assess, configure

U1 = "11111111-1111-4111-8111-111111111111"
U2 = "22222222-2222-4222-8222-222222222222"


class Site:
    """A configuration, files and a fake Placement."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.fake = FakePlacement()
        self.lines = ""

    def file(self, name: str, content: str) -> Path:
        path = self.directory / name
        path.write_text(content)
        return path

    def find(self, hostname: str = "now", create: bool = False) -> Provider:
        settings = configure(self.directory, placement=self.lines)
        client = FakeClient(settings, self.fake)
        return find(client, identify(settings.placement, hostname), create)

    def unclear(self) -> str:
        with pytest.raises(ProviderUnclear) as caught:
            self.find()
        assert caught.value.cure
        return str(caught.value)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_by_name_says_so(site: Site) -> None:
    site.fake.create("now", U1)
    assert site.find() == Provider(U1, "now", "the host's name (no compute_id file)")
    site.lines = "provider_name = now"
    assert site.find("other") == Provider(U1, "now", "[placement] provider_name")


def test_by_uuid_in_one_request(site: Site) -> None:
    site.fake.create("now", U1)
    site.lines = f"provider_uuid = {U1.upper()}"
    assert site.find() == Provider(U1, "now", "[placement] provider_uuid")
    assert site.fake.log == [("GET", f"/resource_providers?uuid={U1}", 200)]


def test_b15_compute_id_wins_whatever_the_name_if_no_other_has_it(site: Site) -> None:
    path = site.file("compute_id", f"{U1}\n")
    site.lines = f"compute_id_files = {path}"
    site.fake.create("before", U1)
    assert site.find() == Provider(U1, "before", str(path))


def test_b15_two_providers_could_be_meant(site: Site) -> None:
    site.lines = f"compute_id_files = {site.file('compute_id', U1)}"
    site.fake.create("before", U1)
    site.fake.create("now", U2)
    message = site.unclear()
    assert U1 in message and U2 in message
    assert "is named before" in message and "is named now" in message


def test_b15_a_compute_id_that_placement_does_not_know_beside_a_name_it_does(site: Site) -> None:
    site.lines = f"compute_id_files = {site.file('compute_id', U1)}"
    site.fake.create("now", U2)
    message = site.unclear()
    assert U1 in message and U2 in message and "does not exist" in message


def test_b15_compute_id_files_that_differ(site: Site) -> None:
    first, second = site.file("one", U1), site.file("two", U2)
    site.lines = f"compute_id_files = {first}, {second}"
    message = site.unclear()
    assert f"{first}: {U1}" in message and f"{second}: {U2}" in message


def test_compute_id_files_that_agree_or_are_absent(site: Site) -> None:
    first, second = site.file("one", U1), site.file("two", f"  {U1}\n")
    site.lines = f"compute_id_files = {first}, {site.directory}/none, {first}/x, {second}"
    site.fake.create("now", U1)
    assert site.find().how == str(first)


@pytest.mark.parametrize("content", ["", "not-a-uuid", "\x00" * 36])
def test_a_compute_id_file_with_nonsense_is_named(site: Site, content: str) -> None:
    path = site.file("compute_id", content)
    site.lines = f"compute_id_files = {path}"
    assert f"{path}: " in site.unclear()


def test_a_compute_id_file_that_is_no_text(site: Site) -> None:
    path = site.directory / "compute_id"
    path.write_bytes(b"\xff\xfe\xfa")
    site.lines = f"compute_id_files = {path}"
    assert f"cannot read {path}: it is no text" in site.unclear()


def test_provider_uuid_against_the_compute_id_file(site: Site) -> None:
    path = site.file("compute_id", U1)
    site.lines = f"compute_id_files = {path}\nprovider_uuid = {U2}"
    message = site.unclear()
    assert U1 in message and U2 in message and str(path) in message


def test_provider_name_against_the_uuid(site: Site) -> None:
    site.fake.create("before", U1)
    site.lines = f"provider_uuid = {U1}\nprovider_name = wanted"
    message = site.unclear()
    assert "before" in message and "wanted" in message and U1 in message


def test_missing_waits_and_creates_only_if_told_to(site: Site) -> None:
    with pytest.raises(ProviderMissing, match="no resource provider now") as caught:
        site.find()
    assert "nova-compute" in (caught.value.cure or "")
    assert site.fake.providers == {}
    made = site.find(create=True)
    assert {uuid: row.name for uuid, row in site.fake.providers.items()} == {made.uuid: "now"}


def test_created_with_the_uuid_that_is_configured(site: Site) -> None:
    site.lines = f"provider_uuid = {U1}"
    assert site.find(create=True) == Provider(U1, "now", "[placement] provider_uuid")


def test_an_unreadable_file_is_no_absent_file(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    path = site.file("compute_id", U1)
    site.lines = f"compute_id_files = {path}"

    def deny(path: Path, limit: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    settings = configure(site.directory, placement=site.lines)
    monkeypatch.setattr(regular, "read", deny)
    with pytest.raises(ProviderUnclear, match="Permission denied"):
        identify(settings.placement, "now")


def test_names_with_odd_characters_are_quoted(site: Site) -> None:
    name = "höst & co?name=x/#1"
    site.fake.create(name, U1)
    assert site.find(name).uuid == U1
    assert "&" not in site.fake.log[0][1].split("name=", 1)[1]


# -- under a running daemon


def renamed(host: FakeHost) -> str:
    """The host's provider gets another name, and a new one the old name; the uuid of that."""
    host.fake.providers[host.uuid].name = "retired"
    return host.fake.create("host1", U2)


def unclear(host: FakeHost) -> str:
    return (
        f"two resource providers could be this host's: {host.uuid} (from [placement] "
        f"provider_uuid) is named retired, and {U2} is named host1 (see whether the host was "
        "renamed or its compute_id lost; remove the provider that is not in use, or set "
        "[placement] provider_name)"
    )


def fixed(directory: Path) -> FakeHost:
    host = FakeHost(directory)
    host.restart(f"[placement]\nprovider_uuid = {host.uuid}\n")
    assert host.report(**{A: YES}).ok
    return host


def test_a_provider_renamed_under_the_daemon_is_seen_before_the_next_write(tmp_path: Path) -> None:
    host = fixed(tmp_path)
    renamed(host)
    assert host.report(**{A: YES}).requests == 1
    before = len(host.fake.puts())
    report = host.report(**{A: YES, B: YES})
    assert report.error == unclear(host)
    assert len(host.fake.puts()) == before
    assert host.fake.providers[host.uuid].traits == {A, GOLD}
    assert host.fake.providers[U2].traits == set()


def test_and_within_an_hour_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = fixed(tmp_path)
    renamed(host)
    assert host.report(**{A: YES}).error is None
    now = time.monotonic()
    monkeypatch.setattr("capd.provider.time.monotonic", lambda: now + 3961)
    assert host.report(**{A: YES}).error == unclear(host)
    assert host.report(**{A: YES}).error == unclear(host)
    host.fake.providers.pop(U2)
    assert host.report(**{A: YES}).changes == ("reporting works again",)


def test_known_by_name_only_the_one_with_the_name_gets_the_traits(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    assert host.report(**{A: YES}).ok
    renamed(host)
    report = host.report(**{A: YES, B: YES})
    assert report.ok
    assert host.fake.providers[U2].traits == {A, B}
    assert host.fake.providers[host.uuid].traits == {A, GOLD}
    assert f"provider host1 ({U2}), by the host's name (no compute_id file)" in report.changes


def test_making_sure_costs_a_request_and_none_where_the_pass_has_asked(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    asked = len(host.fake.log)
    host.report(**{A: YES})
    host.report(**{A: YES, B: YES})
    who = "/resource_providers?name=host1"
    what = f"/resource_providers/{host.uuid}/traits"
    assert [
        (method, path) for method, path, _ in host.fake.log[asked:] if "/traits?" not in path
    ] == [
        ("PUT", f"/traits/{A}"),
        ("PUT", f"/traits/{MARK}"),
        ("GET", who),
        ("GET", what),
        ("PUT", what),
        ("PUT", f"/traits/{B}"),
        ("GET", what),
        ("GET", who),
        ("PUT", what),
    ]


# -- one that does not exist yet and is to be created


@pytest.mark.parametrize("uuid", [None, U1])
def test_preview_says_what_a_created_provider_would_get(
    tmp_path: Path, uuid: Optional[str]
) -> None:
    host = FakeHost(tmp_path)
    host.fake.providers.clear()
    known = f"provider_uuid = {uuid}\n" if uuid else ""
    host.restart(f"[placement]\ncreate_provider = true\n{known}")
    plan = host.reporter.preview(assess(**{A: YES, BOCHS: YES, B: NO}))
    assert (plan.error, plan.creates, plan.provider, plan.name) == (None, True, uuid, "host1")
    assert plan.add == (BOCHS, A)
    assert host.fake.providers == {}
    how = "[placement] provider_uuid" if uuid else "the host's name (no compute_id file)"
    who = f"provider host1 ({uuid})" if uuid else "provider host1"
    assert list(_plan(plan, "", Painter(False)))[2:] == [
        f"  {who} does not exist yet and will be created, by {how}",
        "  not yet reported",
        "  2 to add:",
        f"    + {BOCHS}",
        f"    + {A}",
    ]


def test_preview_waits_where_nova_is_to_create_it(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.fake.providers.clear()
    plan = host.reporter.preview(assess(**{A: YES}))
    assert plan.error == (
        "Placement has no resource provider host1 (from the host's name (no compute_id file)) "
        "(capd waits for nova-compute to create it; without Nova set [placement] create_provider)"
    )


@pytest.mark.parametrize(
    ("create", "line"),
    [
        (
            "true",
            "PASS provider: mine does not exist yet; the first pass creates it, by [placement] "
            "provider_name",
        ),
        (
            "false",
            "FAIL placement: Placement has no resource provider mine (from [placement] "
            "provider_name)",
        ),
    ],
)
def test_check_knows_that_the_provider_is_to_be_created(
    tmp_path: Path, create: str, line: str
) -> None:
    with FakeServer(FakePlacement()) as server:
        lines = f"endpoint = {server.url}\ntoken = x\nprovider_name = mine\n"
        settings = configure(tmp_path, placement=f"{lines}create_provider = {create}\n")
        found = list(checkcloud.placement(settings, None, None))
    assert [f"{one.level.value} {one.subject}: {one.text}" for one in found][-1] == line
    assert server.fake.providers == {}


def test_check_of_an_option_that_cannot_be_used(tmp_path: Path) -> None:
    settings = configure(tmp_path, placement="endpoint = 127.0.0.1:1\ntoken = x\n")
    (found,) = checkcloud.placement(settings, None, None)
    assert (found.level.value, found.subject, found.text) == (
        "FAIL",
        "configuration",
        "[placement] endpoint is no address with http:// or https:// in front",
    )
