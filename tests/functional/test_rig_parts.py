"""The rig itself: each part really is what it says, private, and gone afterwards."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Callable

import pytest
import requests

from tests.rig import nova
from tests.rig.base import REPOSITORY
from tests.rig.databases import MariaDB, PostgreSQL
from tests.rig.keystone import Keystone
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Client, Placement

GUEST = """
<domain type='qemu'>
  <name>rig</name><memory unit='MiB'>64</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
</domain>
"""


def test_chosen_emulators_are_all_that_libvirt_sees(libvirtd_x86: Libvirtd) -> None:
    connection = libvirtd_x86.connect()
    text = connection.getCapabilities()
    connection.close()
    assert f"<emulator>{libvirtd_x86.bin}/qemu-system-x86_64</emulator>" in text
    assert text.count("<guest>") == 2  # i686 and x86_64
    assert "qemu-system-aarch64" not in text


def test_guest_outlives_a_killed_libvirtd_and_ends_with_the_rig(
    make_libvirtd: Callable[..., Libvirtd],
) -> None:
    daemon = make_libvirtd(emulators=["x86_64"])
    connection = daemon.connect()
    connection.defineXML(GUEST).create()
    connection.close()
    qemu = int((daemon.root / "run/qemu/rig.pid").read_text())
    assert "qemu-system-x86_64" in daemon.run("cat", f"/proc/{qemu}/cmdline")
    daemon.kill()
    assert daemon.pid is None
    daemon.launch()
    assert daemon.virsh("domstate", "rig").strip() == "running"
    root = daemon.root
    daemon.stop()
    assert not root.exists()
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(root) in _read(p)]
    assert left == []


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@pytest.mark.parametrize(("kvm", "offered"), [("usable", True), ("absent", False)])
def test_kvm_is_there_or_not(
    make_libvirtd: Callable[..., Libvirtd], kvm: str, offered: bool
) -> None:
    daemon = make_libvirtd(emulators=["x86_64"], kvm=kvm)
    native = daemon.virsh("capabilities").split("<arch name='x86_64'>")[1].split("</guest>")[0]
    if os.uname().machine != "x86_64":
        pytest.skip("the guest architecture is not this machine's own")
    assert ("<domain type='kvm'" in native) is offered


def test_unusable_kvm_is_refused_to_qemu(make_libvirtd: Callable[..., Libvirtd]) -> None:
    daemon = make_libvirtd(emulators=["x86_64"], kvm="unusable")
    begun = time.monotonic()
    daemon.virsh("domcapabilities", "--virttype", "qemu")
    daemon.virsh("domcapabilities", "--virttype", "qemu")
    # libvirt probes anew on each call in this state; warm, two calls take about 20 ms
    assert time.monotonic() - begun > 0.1


def test_paused_libvirtd_never_answers(make_libvirtd: Callable[..., Libvirtd]) -> None:
    daemon = make_libvirtd(emulators=["x86_64"])
    daemon.pause()
    answered = threading.Event()

    def ask() -> None:
        daemon.connect().close()
        answered.set()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert not answered.wait(1)
    daemon.resume()
    assert answered.wait(10)


def test_placement_keeps_traits_and_generations(placement: Placement) -> None:
    client = placement.client
    uuid = client.create_provider("rig-1", traits=["CUSTOM_RIG_GOLD", "HW_CPU_X86_AVX"])
    assert client.read(uuid) == ({"CUSTOM_RIG_GOLD", "HW_CPU_X86_AVX"}, 1)
    assert client.bump(uuid) == 2
    stale = {"traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": 1}
    client.request("PUT", f"/resource_providers/{uuid}/traits", stale, expect=[409])


def test_racing_writers_on_sqlite_lose_nothing(placement: Placement) -> None:
    uuid = placement.client.create_provider("rig-2")

    def write(number: int) -> None:
        client = Client(placement.url)
        for step in range(5):
            client.change_traits(uuid, add=[f"CUSTOM_RIG_{number}_{step}"])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = {f"CUSTOM_RIG_{number}_{step}" for number in range(4) for step in range(5)}
    assert placement.client.traits(uuid) == wanted


def test_placement_goes_down_and_comes_back_with_its_data(
    make_placement: Callable[..., Placement],
) -> None:
    placement = make_placement()
    uuid = placement.client.create_provider("rig-3")
    placement.down()
    with pytest.raises(requests.ConnectionError):
        placement.client.providers()
    placement.launch()
    assert placement.client.providers() == {"rig-3": uuid}
    assert [(r.method, r.status) for r in placement.requests()] == [("POST", 200), ("GET", 200)]


def test_placement_takes_tokens_of_keystone_only(
    keystone: Keystone, keystone_placement: Placement
) -> None:
    with pytest.raises(AssertionError, match="401"):
        keystone_placement.client.providers()
    token = keystone.token("capd", "secret", "service")
    client = Client(keystone_placement.url, token)
    uuid = client.create_provider("rig-4")
    assert client.providers()["rig-4"] == uuid
    keystone.revoke(token)
    client.request("GET", "/resource_providers", expect=[401])


def test_placement_on_mariadb(mariadb: MariaDB, make_placement: Callable[..., Placement]) -> None:
    placement = make_placement(database=mariadb.create("rig_placement"), workers=2)
    uuid = placement.client.create_provider("rig-5")
    assert mariadb.query("SELECT name, uuid FROM resource_providers", "rig_placement") == (
        f"rig-5\t{uuid}\n"
    )


def test_mariadb_copies_a_database(mariadb: MariaDB) -> None:
    mariadb.create("rig_a")
    mariadb.query("CREATE TABLE t (n INT); INSERT INTO t VALUES (7)", "rig_a")
    mariadb.load("rig_b", mariadb.dump("rig_a"))
    assert mariadb.query("SELECT n FROM t", "rig_b") == "7\n"


def test_postgresql_copies_a_database(postgresql: PostgreSQL) -> None:
    postgresql.create("rig_a")
    postgresql.query("CREATE TABLE t (n INT); INSERT INTO t VALUES (7)", "rig_a")
    postgresql.create("rig_b", template="rig_a")
    assert postgresql.query("SELECT n FROM t", "rig_b") == "7\n"


def test_nova_is_the_release_that_is_pinned(nova_python: Path) -> None:
    pins = (REPOSITORY / "tests/rig/requirements/nova.txt").read_text()
    version = nova.run("import nova.version as v; print(v.version_string())").strip()
    assert f"nova=={version}\n" in pins
