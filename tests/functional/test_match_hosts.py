"""Hosts of a real Placement: who fits, who does not and why, at every microversion's form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest

from capd.config import load
from capd.errors import InputError, PlacementError
from capd.match import translate
from capd.match.candidates import request_for
from capd.match.explain import Said, explain
from capd.match.flavors import Flavor
from capd.match.hosts import Answer, find
from capd.match.providers import Api, Reply
from capd.placement import Placement as Client
from tests.fake_placement import FakePlacement, FakeServer
from tests.rig.placement import Placement

BOTH = {
    "MACHINE_PC",
    "MACHINE_Q35",
    "MACHINE_PC_Q35_7_2",
    "PC_STORAGE_BUS_IDE",
    "PC_STORAGE_BUS_VIRTIO",
    "DEFAULT_STORAGE_BUS_IDE",
    "Q35_STORAGE_BUS_SATA",
    "Q35_STORAGE_BUS_VIRTIO",
    "Q35_GRAPHICS_MODEL_QXL",
}
STANDARD = {"COMPUTE_NODE", "HW_ARCH_X86_64", "COMPUTE_STORAGE_BUS_IDE"}


def traits(*names: str) -> set[str]:
    return {f"CUSTOM_CAPD_{name}" for name in names}


@dataclass
class Cloud:
    """A Placement with five compute nodes and two providers that are none."""

    service: Placement
    settings: Path

    @property
    def api(self) -> Client:
        client = Client(load([self.settings]))
        client.begin()
        return client


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    from tests.rig.base import Unavailable

    service = Placement()
    try:
        service.start()
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        client = service.client
        hosts = {
            "both": STANDARD | traits(*BOTH) | {"CUSTOM_GOLD"},
            "newer": STANDARD | traits(*BOTH, "MACHINE_PC_Q35_9_0") - traits("MACHINE_PC_Q35_7_2"),
            "only-pc": STANDARD | traits(*(name for name in BOTH if "Q35" not in name)),
            "disabled": STANDARD | traits(*BOTH) | {"COMPUTE_STATUS_DISABLED"},
            "no-capd": STANDARD,
            "storage": {"MISC_SHARES_VIA_AGGREGATE"},
        }
        for name, row in hosts.items():
            uuid = client.create_provider(name, traits=row)
            if "COMPUTE_NODE" in row:
                client.set_inventory(uuid, {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 10})
        uuids = client.providers()
        client.request(
            "POST",
            "/resource_providers",
            {"name": "both_gpu", "parent_provider_uuid": uuids["both"]},
        )
        gpu = client.providers()["both_gpu"]
        client.set_traits(gpu, ["CUSTOM_A100"])
        client.set_inventory(gpu, {"VGPU": 1})
        # known to Placement and nobody's
        for name in ("CUSTOM_CAPD_Q35_STORAGE_BUS_IDE", "CUSTOM_UNUSED"):
            client.create_trait(name)
        path = tmp_path_factory.mktemp("match") / "capd.conf"
        path.write_text(service.snippet)
        yield Cloud(service, path)
    finally:
        service.stop()


class Older:
    """The same Placement, said to know no newer microversion than `newest`."""

    def __init__(self, api: Api, newest: str) -> None:
        self.api = api
        self.newest = newest
        self.asked: list[str] = []

    def get(self, path: str, microversion: str) -> Reply:
        self.asked.append(path)
        reply = self.api.get(path, microversion)
        if path != "/":
            assert tuple(map(int, microversion.split("."))) <= tuple(
                map(int, self.newest.split("."))
            )
            return reply
        versions = json.loads(reply.body)
        versions["versions"][0]["max_version"] = self.newest

        @dataclass
        class Changed:
            body: bytes
            endpoint: str

        return Changed(json.dumps(versions).encode(), reply.endpoint)


def fits(answer: Answer) -> list[str]:
    return [host.name for host in answer.fits]


def missing(answer: Answer) -> dict[str, tuple[str, ...]]:
    return {
        reject.host.name: tuple(name.replace("CUSTOM_CAPD_", "") for name in reject.missing)
        for reject in answer.rejects
        if not reject.silent
    }


def silent(answer: Answer) -> list[str]:
    return [reject.host.name for reject in answer.rejects if reject.silent]


Q35 = {"hw_machine_type": "pc-q35-7.2", "hw_disk_bus": "sata", "hw_video_model": "qxl"}


@pytest.mark.parametrize("newest", ["1.39", "1.38", "1.22", "1.21", "1.18"])
def test_who_fits_and_who_does_not_with_every_form_of_the_question(
    cloud: Cloud, newest: str
) -> None:
    answer = find(Older(cloud.api, newest), translate(Q35))
    assert fits(answer) == ["both"]
    assert missing(answer) == {
        "newer": ("MACHINE_PC_Q35_7_2",),
        "only-pc": ("MACHINE_PC_Q35_7_2", "Q35_GRAPHICS_MODEL_QXL", "Q35_STORAGE_BUS_SATA"),
        "disabled": (),
    }
    assert silent(answer) == ["no-capd"]
    assert {reject.host.name: reject.forbidden for reject in answer.rejects}["disabled"] == (
        "COMPUTE_STATUS_DISABLED",
    )
    assert answer.hosts == 5
    assert [(count.trait, count.hosts) for count in answer.counts] == [
        ("CUSTOM_CAPD_MACHINE_PC_Q35_7_2", 2),
        ("CUSTOM_CAPD_Q35_GRAPHICS_MODEL_QXL", 3),
        ("CUSTOM_CAPD_Q35_STORAGE_BUS_SATA", 3),
    ]


def test_a_placement_older_than_traits_is_refused(cloud: Cloud) -> None:
    with pytest.raises(PlacementError, match=r"knows microversions up to 1\.17"):
        find(Older(cloud.api, "1.17"), translate(Q35))


def test_b35_ide_on_q35_finds_no_host_though_hosts_have_ide(cloud: Cloud) -> None:
    image = {"hw_machine_type": "q35", "hw_cdrom_bus": "ide"}
    answer = find(cloud.api, translate(image))
    assert fits(answer) == []
    count = answer.counts[1]
    assert (count.trait, count.hosts, count.known, count.elsewhere) == (
        "CUSTOM_CAPD_Q35_STORAGE_BUS_IDE",
        0,
        True,
        "COMPUTE_STORAGE_BUS_IDE",
    )
    assert fits(find(cloud.api, translate(image, exact=False))) == [
        "both",
        "newer",
        "no-capd",
        "only-pc",
    ]


def test_b63_a_trait_that_nobody_has_and_one_that_placement_does_not_know(cloud: Cloud) -> None:
    answer = find(
        cloud.api,
        translate({"trait:CUSTOM_UNUSED": "required", "hw_vif_model": "tulip"}),
    )
    assert [(count.trait, count.hosts, count.known) for count in answer.counts] == [
        ("CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_TULIP", 0, False),
        ("CUSTOM_UNUSED", 0, True),
    ]
    assert fits(answer) == []
    assert answer.hosts == 5


def test_b08_a_host_that_has_not_reported_is_apart_from_one_that_says_no(cloud: Cloud) -> None:
    answer = find(cloud.api, translate({"hw_disk_bus": "ide"}))
    assert fits(answer) == ["both", "newer", "only-pc"]
    assert silent(answer) == ["no-capd"]


def test_no_properties_fit_every_enabled_compute_node(cloud: Cloud) -> None:
    answer = find(cloud.api, translate({}))
    assert fits(answer) == ["both", "newer", "no-capd", "only-pc"]


def test_forbidden_traits(cloud: Cloud) -> None:
    for newest in ("1.39", "1.18"):
        answer = find(
            Older(cloud.api, newest),
            translate({"trait:CUSTOM_GOLD": "forbidden", "trait:CUSTOM_NONE": "forbidden"}),
        )
        assert fits(answer) == ["newer", "no-capd", "only-pc"]
        assert [(count.hosts, count.known, count.forbidden) for count in answer.counts] == [
            (1, True, True),
            (0, False, True),
        ]


FLAVOR = Flavor("f", 1, 1024, 5)


@pytest.mark.parametrize("newest", ["1.39", "1.34", "1.22", "1.18"])
def test_resources_are_asked_for_as_nova_asks(cloud: Cloud, newest: str) -> None:
    request = request_for(FLAVOR, False)
    answer = find(Older(cloud.api, newest), translate({"hw_disk_bus": "ide"}), request)
    assert fits(answer) == ["both", "newer", "only-pc"]
    big = request_for(Flavor("f", 1, 1024, 11), False)
    answer = find(Older(cloud.api, newest), translate({"hw_disk_bus": "ide"}), big)
    assert fits(answer) == []
    assert [reject.host.name for reject in answer.rejects if reject.full] == [
        "both",
        "newer",
        "only-pc",
    ]
    booted_from_volume = request_for(Flavor("f", 1, 1024, 11), True)
    answer = find(cloud.api, translate({"hw_disk_bus": "ide"}), booted_from_volume)
    assert fits(answer) == ["both", "newer", "only-pc"]


def test_a_named_trait_may_be_on_a_nested_provider(cloud: Cloud) -> None:
    specs = {"resources:VGPU": "1", "trait:CUSTOM_A100": "required"}
    flavor = Flavor("f", 1, 1024, 5, extra_specs=specs)
    image = {"hw_disk_bus": "ide"}
    answer = find(cloud.api, translate(image, flavor), request_for(flavor, False))
    assert fits(answer) == ["both"]
    grouped = {"resources1:VGPU": "1", "trait1:CUSTOM_A100": "required"}
    flavor = Flavor("f", 1, 1024, 5, extra_specs=grouped)
    answer = find(cloud.api, translate(image, flavor), request_for(flavor, False))
    assert fits(answer) == ["both"]
    with pytest.raises(PlacementError, match=r"granular groups need Placement 1\.25"):
        find(Older(cloud.api, "1.22"), translate(image, flavor), request_for(flavor, False))


def test_more_candidates_than_asked_for_are_said_to_be_more(cloud: Cloud) -> None:
    from dataclasses import replace

    request = request_for(FLAVOR, False)
    assert request is not None
    answer = find(cloud.api, translate({"hw_disk_bus": "ide"}), replace(request, limit=2))
    assert answer.limited == 2
    assert len(answer.fits) <= 2
    assert not any(reject.full for reject in answer.rejects)


def test_explaining_one_host(cloud: Cloud) -> None:
    image = {
        "hw_machine_type": "pc-q35-7.2",
        "hw_cdrom_bus": "ide",
        "hw_vif_model": "e1000",
        "trait:CUSTOM_GOLD": "forbidden",
    }
    found = explain(cloud.api, "newer", translate(image))
    assert (found.name, found.reporting, found.fits) == ("newer", True, False)
    assert [
        (finding.outcome.name, finding.said, finding.good, finding.instead)
        for finding in found.findings
    ] == [
        ("hw_machine_type", Said.NO, False, ("pc", "pc-q35-9.0", "q35")),
        ("hw_cdrom_bus", Said.NO, False, ("sata",)),
        ("hw_vif_model", Said.SILENT, False, ()),
        ("trait:CUSTOM_GOLD", Said.NO, True, ()),
    ]
    foreign = explain(cloud.api, "newer", translate({"hw_architecture": "aarch64"}))
    assert [finding.instead for finding in foreign.findings] == [("x86_64",)]
    emulated = explain(
        cloud.api,
        "newer",
        translate({"hw_emulation_architecture": "aarch64", "hw_machine_type": "virt"}),
    )
    assert [(finding.said, finding.instead) for finding in emulated.findings] == [
        (Said.NO, ()),
        (Said.SILENT, ()),
    ]
    by_uuid = explain(cloud.api, cloud.service.client.providers()["both"], translate({}))
    assert (by_uuid.name, by_uuid.fits) == ("both", True)


def test_explaining_a_host_that_does_not_report(cloud: Cloud) -> None:
    found = explain(cloud.api, "no-capd", translate({"hw_disk_bus": "ide"}))
    assert not found.reporting
    assert [finding.said for finding in found.findings] == [Said.SILENT]
    with pytest.raises(InputError, match="no resource provider elsewhere"):
        explain(cloud.api, "elsewhere", translate({}))


def test_clouds_without_nova_have_hosts_too(
    make_placement: Callable[..., Placement], tmp_path: Path
) -> None:
    service = make_placement()
    service.client.create_provider("one", traits=traits("MACHINE_PC", "DEFAULT_STORAGE_BUS_IDE"))
    service.client.create_provider("two", traits=traits("MACHINE_PC"))
    service.client.create_provider("storage", traits=["MISC_SHARES_VIA_AGGREGATE"])
    settings = tmp_path / "capd.conf"
    settings.write_text(service.snippet)
    for newest in ("1.39", "1.21"):
        client = Client(load([settings]))
        client.begin()
        answer = find(Older(client, newest), translate({"hw_disk_bus": "ide"}))
        assert fits(answer) == ["one"]
        assert missing(answer) == {"two": ("DEFAULT_STORAGE_BUS_IDE",)}


def test_the_number_of_requests_grows_with_traits_and_not_with_hosts(
    make_placement: Callable[..., Placement], tmp_path: Path
) -> None:
    service = make_placement()
    settings = tmp_path / "capd.conf"
    settings.write_text(service.snippet)
    numbers = {}
    service.client.create_provider("storage", traits=["MISC_SHARES_VIA_AGGREGATE"])
    for hosts in (4, 24):
        for number in range(len(service.client.providers()) - 1, hosts):
            row = traits(*BOTH) | STANDARD
            row -= traits("Q35_GRAPHICS_MODEL_QXL") if number % 3 else set()
            service.client.create_provider(f"host{number}", traits=row)
        for name, image in (("one", {"hw_disk_bus": "ide"}), ("three", Q35)):
            client = Client(load([settings]))
            client.begin()
            service.forget_requests()
            answer = find(client, translate(image))
            numbers[hosts, name] = answer.requests
            assert answer.hosts == hosts
            served = [one for one in service.requests() if one.user_agent.startswith("capd/")]
            assert len(served) == answer.requests
    assert numbers == {(4, "one"): 7, (4, "three"): 9, (24, "one"): 7, (24, "three"): 9}


def capd(cloud: Cloud, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "capd", "--config-file", str(cloud.settings), "match", *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--property", "hw_disk_bus=ide"], 0),
        (["--property", "hw_machine_type=q35", "--property", "hw_disk_bus=ide"], 1),
        (["--property", "hw_machine_type=q35", "--property", "hw_disk_bus=ide", "--standard"], 0),
        (["--property", "hw_disk_bus=foo"], 2),
        (["--property", "hw_disk_bus"], 2),
        (["--image", "/nonexistent"], 2),
        ([], 2),
        (["--property", "hw_disk_bus=ide", "--host", "both"], 0),
        (["--property", "hw_disk_bus=ide", "--host", "no-capd"], 1),
        (["--property", "hw_disk_bus=ide", "--host", "elsewhere"], 2),
        (["--property", "hw_disk_bus=ide", "--exact", "--standard"], 2),
        (["--image", "-", "--flavor", "-"], 2),
    ],
)
def test_exit_codes(cloud: Cloud, arguments: list[str], code: int) -> None:
    done = capd(cloud, *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_exit_code_where_placement_cannot_be_asked(tmp_path: Path, cloud: Cloud) -> None:
    settings = tmp_path / "capd.conf"
    settings.write_text(
        "[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:1\ntoken = t\n"
    )
    done = capd(Cloud(cloud.service, settings), "--property", "hw_disk_bus=ide")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def asked_of(body: bytes, kind: str, tmp_path: Path, cloud: Cloud) -> tuple[str, str]:
    """What match prints on stderr about a server that answers everything so, and its address."""
    with FakeServer(FakePlacement()) as server:

        def page(handler: Any, method: str, path: str) -> bool:
            handler.reply(200, body, kind)
            return True

        server.script = page
        settings = tmp_path / "capd.conf"
        settings.write_text(
            f"[placement]\nauth_type = admin_token\nendpoint = {server.url}\ntoken = admin\n"
        )
        done = capd(Cloud(cloud.service, settings), "--property", "hw_disk_bus=ide")
    assert (done.returncode, done.stdout) == (3, "")
    return done.stderr, server.url


def test_a_web_page_in_place_of_placement_is_named(tmp_path: Path, cloud: Cloud) -> None:
    said, url = asked_of(b"<html>It works!</html>", "text/html", tmp_path, cloud)
    assert said == (
        f"capd: Placement at {url} answered with something that is not JSON (GET /) (check "
        "that the endpoint is Placement's and no web page or proxy answers for it)\n"
    )


@pytest.mark.parametrize("body", [b"[]", b"null", b"3", b'{"versions": 3}'])
def test_json_that_is_not_placements_is_named(tmp_path: Path, cloud: Cloud, body: bytes) -> None:
    said, url = asked_of(body, "application/json", tmp_path, cloud)
    assert said == (
        f"capd: Placement at {url} answered without the microversions it knows (check "
        "that the endpoint is Placement's and no web page or proxy answers for it)\n"
    )


@pytest.mark.parametrize(
    ("properties", "lines"),
    [
        (
            ["hw_machine_type=q35", "trait:CUSTOM_FOO=required"],
            [
                "NO HOST has CUSTOM_FOO, and Placement does not know it"
                " (asked by trait:CUSTOM_FOO=required)."
            ],
        ),
        (
            ["hw_machine_type=no!such", "trait:CUSTOM_FOO=required"],
            [
                "NO HOST has CUSTOM_FOO, and Placement does not know it"
                " (asked by trait:CUSTOM_FOO=required)."
            ],
        ),
        (
            ["hw_machine_type=q35", "hw_sound_model=ich9"],
            ["NO HOST has COMPUTE_SOUND_MODEL_ICH9 (asked by hw_sound_model=ich9)."],
        ),
        (
            ["hw_disk_bus=scsi"],
            [
                "NO HOST has CUSTOM_CAPD_DEFAULT_STORAGE_BUS_SCSI, and Placement does not know it"
                " (asked by hw_disk_bus=scsi)."
            ],
        ),
        (
            ["hw_machine_type=pc-q35-9.0", "hw_disk_bus=ide"],
            [
                "NO HOST has CUSTOM_CAPD_Q35_STORAGE_BUS_IDE"
                " (asked by hw_machine_type=pc-q35-9.0, hw_disk_bus=ide)."
            ],
        ),
    ],
)
def test_only_what_asks_for_a_trait_is_named_for_it(
    cloud: Cloud, properties: list[str], lines: list[str]
) -> None:
    done = capd(cloud, *(word for one in properties for word in ("--property", one)))
    assert [line for line in done.stdout.splitlines() if line.startswith("NO HOST")] == lines


def test_the_table_says_no_host_loudly(cloud: Cloud) -> None:
    done = capd(cloud, "--property", "hw_machine_type=q35", "--property", "hw_disk_bus=ide")
    page = (Path(__file__).resolve().parents[2] / "docs" / "matching.md").read_text()
    assert done.stdout in page
    assert done.stdout.splitlines() == [
        "PROPERTY         VALUE  RESULT  TRAIT OR REASON                  HOSTS",
        "hw_machine_type  q35    asked   CUSTOM_CAPD_MACHINE_Q35          3",
        "hw_disk_bus      ide    asked   CUSTOM_CAPD_Q35_STORAGE_BUS_IDE  0 NO HOST",
        "",
        "NO HOST has CUSTOM_CAPD_Q35_STORAGE_BUS_IDE"
        " (asked by hw_machine_type=q35, hw_disk_bus=ide).",
        "  Hosts have COMPUTE_STORAGE_BUS_IDE, but with other machine types only.",
        "",
        "5 hosts: 0 fit, 4 do not, 1 not reporting",
        "",
        "These do not:",
        "  lacks CUSTOM_CAPD_Q35_STORAGE_BUS_IDE",
        "    both",
        "    newer",
        "  lacks CUSTOM_CAPD_MACHINE_Q35, CUSTOM_CAPD_Q35_STORAGE_BUS_IDE",
        "    only-pc",
        "  lacks CUSTOM_CAPD_Q35_STORAGE_BUS_IDE; has forbidden COMPUTE_STATUS_DISABLED",
        "    disabled",
        "",
        "These run no capd, or it has not reported yet:",
        "  no-capd",
    ]


def test_b62_a_wrong_value_is_named_and_the_rest_is_answered(cloud: Cloud) -> None:
    done = capd(
        cloud,
        "--json",
        *("--property", "hw_disk_bus=ide", "--property", "hw_viommu_model=foo"),
    )
    assert done.returncode == 2
    assert done.stderr == (
        "capd: hw_viommu_model=foo: 'foo' is no vIOMMU model"
        " (one of: intel, smmuv3, virtio, auto)\n"
    )
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["required"] == ["CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE"]
    assert [host["name"] for host in document["fits"]] == ["both", "newer", "only-pc"]
    assert [one["status"] for one in document["properties"]] == ["asked", "error"]


def test_as_traits_and_as_command(cloud: Cloud) -> None:
    image = json.dumps({"name": "win 10", "properties": Q35, "disk_format": "raw"})
    done = capd(cloud, "--image", "-", "--as-traits", given=image)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "trait:CUSTOM_CAPD_MACHINE_PC_Q35_7_2=required",
            "trait:CUSTOM_CAPD_Q35_GRAPHICS_MODEL_QXL=required",
            "trait:CUSTOM_CAPD_Q35_STORAGE_BUS_SATA=required",
        ],
    )
    done = capd(cloud, "--image", "-", "--as-command", given=image)
    assert done.stdout == (
        "openstack image set \\\n"
        "    --property trait:CUSTOM_CAPD_MACHINE_PC_Q35_7_2=required \\\n"
        "    --property trait:CUSTOM_CAPD_Q35_GRAPHICS_MODEL_QXL=required \\\n"
        "    --property trait:CUSTOM_CAPD_Q35_STORAGE_BUS_SATA=required \\\n"
        "    'win 10'\n"
    )
