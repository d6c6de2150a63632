"""Modular libvirt: capd on a real virtqemud, by the URI and the configuration operators have.

Debian ships no virtqemud. These tests run where there is one (`tests.rig.libvirtd.virtqemud` says
where it is looked for; `make test-wide` builds it) and are skipped with the reason elsewhere.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from tests.parts import running
from tests.rig.base import wait_for
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement
from tests.rig.program import Done, capd
from tests.rig.service import Service

FOREIGN = {"CUSTOM_GOLD", "COMPUTE_NODE"}
KNOWN = {"CUSTOM_CAPD_MACHINE_Q35", "COMPUTE_STORAGE_BUS_VIRTIO", "COMPUTE_ARCH_AARCH64"}
RESTARTS = 30

GUEST = """<domain type='qemu'><name>{name}</name><memory>65536</memory>
<os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices><disk type='file' device='disk'><source file='{disk}'/>
<target dev='sda' bus='sata'/></disk><video><model type='{video}'/></video></devices></domain>
"""


@pytest.fixture(scope="module")
def virtqemud() -> Iterator[Libvirtd]:
    """A virtqemud that these tests may break; two architectures."""
    daemon = Libvirtd(emulators=["x86_64", "aarch64"], modular=True)
    yield from running(daemon, Libvirtd.warm_up)


def operator(daemon: Libvirtd, *arguments: str, uri: str = "", **options: Any) -> Done:
    """capd on a host of which this daemon is the libvirt; `uri` where one is configured."""
    config = f"[libvirt]\nconnection_uri = {uri}\n" if uri else ""
    text = options.pop("placement", "")
    return capd(*arguments, config=config + text, prefix=daemon.in_place, **options)


def facts(daemon: Libvirtd, done: Done) -> dict[str, Any]:
    """What a dump says of the host, whoever was asked."""
    assert done.code == 0, done.err
    document = json.loads(done.out.replace(str(daemon.root), ""))
    return {**document, "host": None, "cost": None}


# -- the URI


URIS = ("", "qemu:///system", "qemu:///system?mode=direct", "qemu:///system?socket={socket}")


def test_dump_says_what_it_says_on_libvirtd(
    virtqemud: Libvirtd, make_libvirtd: Callable[..., Libvirtd]
) -> None:
    """Every URI, with and without libvirtd's kind of answer to compare with: the same facts."""
    libvirtd = make_libvirtd(emulators=["x86_64", "aarch64"])
    monolithic = facts(libvirtd, operator(libvirtd, "--dump", "--json"))
    assert len(monolithic["machines"]) > 150
    assert [row["error"] for row in monolithic["machines"] if row["error"]] == []
    for uri in URIS:
        uri = uri.format(socket=virtqemud.socket)
        done = operator(virtqemud, "--dump", "--json", uri=uri)
        assert facts(virtqemud, done) == monolithic, uri
        host = json.loads(done.out)["host"]
        assert host["uri"] == (uri or "qemu:///system")
        assert host["libvirt"] == virtqemud.virsh_version()


@pytest.mark.parametrize("mode", ["auto", "direct", "legacy"])
def test_whatever_mode_the_client_library_is_set_to(virtqemud: Libvirtd, mode: str) -> None:
    """remote_mode in libvirt.conf; `legacy` without a virtproxyd leads nowhere, capd goes on."""
    conf = virtqemud.root / "etc" / "libvirt.conf"
    conf.write_text(f'remote_mode = "{mode}"\n')
    try:
        done = operator(virtqemud, "--dump", "--json")
    finally:
        conf.unlink()
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["machines"]) > 150


def test_check_names_the_kind(virtqemud: Libvirtd) -> None:
    version = virtqemud.virsh_version()
    for uri in URIS:
        uri = uri.format(socket=virtqemud.socket)
        lines = operator(virtqemud, "--check", uri=uri).out.splitlines()
        kind = f"PASS  libvirt: modular virtqemud, {version}, at {uri or 'qemu:///system'}"
        assert kind in lines, lines


def test_what_is_wrong_is_said_with_the_cure_for_this_kind(virtqemud: Libvirtd) -> None:
    readonly = operator(virtqemud, "--check", uri=virtqemud.readonly_uri)
    assert "virtqemud-sock where libvirt is modular" in readonly.out
    virtqemud.kill()
    try:
        dead = operator(virtqemud, "--check")
    finally:
        virtqemud.launch()
    (line,) = [text for text in dead.out.splitlines() if text.startswith("FAIL  libvirt")]
    assert "virtqemud-sock': Connection refused" in line
    assert "sockets: /run/libvirt/virtqemud-sock (dead)" in line
    assert "virtqemud.socket where libvirt is modular" in dead.out


# -- passes, events, records


class Case:
    """capd's daemon on the virtqemud, and its provider."""

    def __init__(self, service: Service, placement: Placement, uuid: str) -> None:
        self.service = service
        self.uuid = uuid
        self._placement = placement

    def traits(self) -> set[str]:
        return set(self._placement.client.traits(self.uuid))

    def rested(self) -> bool:
        """Whether the last pass is over, and was good."""
        return self.service.passed() and "; now: " not in self.service.status

    def settle(self) -> set[str]:
        """Wait for the first good passes; the traits then."""
        self.service.wait("traits", lambda: self.traits() >= FOREIGN | KNOWN, 90)
        self.service.wait("a good pass", self.rested, 60)
        return self.traits()


def _provider(placement: Placement, name: str) -> tuple[str, str]:
    """A provider with foreign traits, and the configuration for it."""
    placement.client.create_trait("CUSTOM_GOLD")
    uuid = placement.client.create_provider(name, traits=sorted(FOREIGN))
    return uuid, f"{placement.snippet}provider_uuid = {uuid}\nprovider_name = {name}\n"


@pytest.fixture
def case(virtqemud: Libvirtd, placement: Placement, tmp_path: Path) -> Iterator[Case]:
    """No [libvirt] connection_uri at all: the default."""
    uuid, where = _provider(placement, f"modular-{os.getpid()}-{tmp_path.name}")
    text = f"interval = 60\n[libvirt]\nkeepalive_interval = 1\n{where}"
    with Service(tmp_path, text, prefix=virtqemud.in_place) as service:
        yield Case(service, placement, uuid)
        assert "Traceback" not in service.text, service.explain()


def test_once_reports(virtqemud: Libvirtd, placement: Placement) -> None:
    uuid, where = _provider(placement, f"modular-once-{os.getpid()}")
    done = operator(virtqemud, "--once", placement=where)
    assert done.code == 0, done.err
    assert placement.client.traits(uuid) >= FOREIGN | KNOWN


def test_guests_are_recorded_as_soon_as_they_are_defined(
    virtqemud: Libvirtd, case: Case, tmp_path: Path
) -> None:
    """By virtqemud's events: the interval is a minute."""
    case.settle()
    file, disk = tmp_path / "guest.xml", virtqemud.root / "disk"
    with disk.open("wb") as image:
        image.truncate(1 << 20)

    def records() -> dict[str, dict[str, Any]]:
        state = f"[DEFAULT]\nstate_dir = {tmp_path / 'state'}\n"
        (tmp_path / "reader").mkdir(exist_ok=True)
        path = tmp_path / "reader" / "capd.conf"
        path.write_text(state)
        done = capd("--config-file", path, "image-property", "list", "--json")
        assert done.code == 0, done.err
        return {row["name"]: row for row in json.loads(done.out)}

    seconds = {}
    for name, video in (("defined", "vga"), ("running", "virtio")):
        file.write_text(GUEST.format(name=name, video=video, disk=disk))
        begun = time.monotonic()
        virtqemud.virsh("define", str(file))
        if name == "running":
            virtqemud.virsh("start", name)
        wait_for(name, lambda name=name: name in records(), 20)
        seconds[name] = time.monotonic() - begun
    try:
        found = records()
        for name, video in (("defined", "vga"), ("running", "virtio")):
            values = {key: item["value"] for key, item in found[name]["properties"].items()}
            assert values["hw_disk_bus"] == "sata"
            assert values["hw_video_model"] == video
            assert values["hw_machine_type"] == "q35"
            assert found[name]["machine"].startswith("pc-q35-")
        print(f"recorded after {seconds['defined']:.1f} s, {seconds['running']:.1f} s")
        assert max(seconds.values()) < 10
        virtqemud.kill()  # the guest lives on
        virtqemud.launch()
        case.service.wait("a good pass", case.service.passed, 30)
        assert records() == found
    finally:
        virtqemud.virsh("destroy", "running")
        for name in ("defined", "running"):
            virtqemud.virsh("undefine", name)


def test_killed_and_restarted_again_and_again(virtqemud: Libvirtd, case: Case) -> None:
    """Nothing is lost, nothing leaks, and it is back long before the interval is over."""
    settled = case.settle()
    samples, seconds = [], []
    for turn in range(RESTARTS + 3):
        old = case.service.begun()
        begun = time.monotonic()
        if turn % 2:
            virtqemud.restart()
        else:
            virtqemud.kill()
            time.sleep(0.1 * (turn % 7))
            virtqemud.launch()
        case.service.wait("a new pass", lambda old=old: case.service.begun() > old, 40)
        case.service.wait("its good end", case.rested, 40)
        seconds.append(time.monotonic() - begun)
        assert case.traits() == settled
        if turn >= 3:
            samples.append(case.service.resources())
    descriptors, threads, resident = (list(column) for column in zip(*samples))
    print(
        f"{len(samples)} restarts: descriptors {min(descriptors)}-{max(descriptors)}, threads "
        f"{min(threads)}-{max(threads)}, {resident[0]} to {resident[-1]} kB, good pass after at "
        f"most {max(seconds):.1f} s"
    )
    assert max(descriptors) == min(descriptors)
    assert max(threads) == min(threads)
    assert resident[-1] - resident[0] < 4096
    assert max(seconds) < 20


def test_a_daemon_with_a_time_out_stays_while_capd_is_connected(
    make_libvirtd: Callable[..., Libvirtd], placement: Placement, tmp_path: Path
) -> None:
    """virtqemud ends when it was idle for its --timeout; an open connection is not idle."""
    daemon = make_libvirtd(emulators=["x86_64", "aarch64"], modular=True,
                           arguments=["--timeout", "2"])  # fmt: skip
    held = daemon.connect()
    uuid, where = _provider(placement, f"modular-timeout-{os.getpid()}")
    with Service(tmp_path, f"interval = 60\n{where}", prefix=daemon.in_place) as service:
        case = Case(service, placement, uuid)
        settled, pid = case.settle(), daemon.pid
        held.close()
        time.sleep(8)
        assert (daemon.pid, service.passed(), case.traits()) == (pid, True, settled)
        service.stop()
        begun = time.monotonic()
        wait_for("its end", lambda: daemon.pid is None, 10)
        print(f"ended {time.monotonic() - begun:.1f} s after capd let go")
