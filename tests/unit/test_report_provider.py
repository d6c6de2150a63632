"""Which provider is this host's: B15 and its kin."""

from __future__ import annotations

from pathlib import Path

import pytest

from capd import regular
from capd.provider import Provider, ProviderMissing, ProviderUnclear, find, identify
from tests.fake_placement import FakeClient, FakePlacement
from tests.reporting import configure

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
