"""The fault matrix: the daemon on real parts that are made to fail, each in turn.

Real libvirtd and QEMU, real Placement, real keystone; times are shortened. What every case shows:
the daemon stays up (no crash loop), no trait goes without an explicit no, nothing of others is
lost, and it recovers by itself. CAPD_WIDE=1 adds the long cases.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable

import pytest

from tests.parts import running
from tests.rig.base import REPOSITORY, program
from tests.rig.keystone import Keystone
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement
from tests.rig.proxy import Proxy
from tests.rig.service import Service

FOREIGN = {"CUSTOM_GOLD", "COMPUTE_NODE"}
KNOWN = {"CUSTOM_CAPD_MACHINE_Q35", "COMPUTE_STORAGE_BUS_VIRTIO", "COMPUTE_ARCH_AARCH64"}
WIDE = bool(os.environ.get("CAPD_WIDE"))


@pytest.fixture(scope="module")
def hypervisor() -> Iterator[Libvirtd]:
    """A libvirtd that these tests may break; two architectures."""
    daemon = Libvirtd(emulators=["x86_64", "aarch64"])
    yield from running(daemon, Libvirtd.warm_up)


@pytest.fixture(scope="module")
def control() -> Iterator[Placement]:
    """A Placement that these tests may take down."""
    placement = Placement()
    yield from running(placement)


class Case:
    """One daemon with its provider, and the check that nothing was lost in between."""

    def __init__(self, service: Service, placement: Placement, uuid: str) -> None:
        self.service = service
        self.placement = placement
        self.uuid = uuid
        self.settled: set[str] = set()

    def traits(self) -> set[str]:
        return set(self.placement.client.traits(self.uuid))

    def settle(self) -> None:
        """Wait for the first good passes."""
        self.service.wait("traits", lambda: self.traits() >= FOREIGN | KNOWN, 90)
        self.service.wait("a good pass", self.service.passed, 60)
        self.settled = self.traits()

    def kept(self) -> None:
        """All is as it was, and the same process lives."""
        assert self.traits() == self.settled
        assert self.service.running

    def recovered(self, timeout: float = 60) -> None:
        self.service.wait("recovery", self.service.passed, timeout)
        self.kept()


Make = Callable[..., Any]


@pytest.fixture
def make(hypervisor: Libvirtd, control: Placement, tmp_path: Path) -> Make:
    @contextmanager
    def build(
        extra: str = "",
        socket: str = "",
        placement: str = "",
        options: str = "request_timeout = 3\npass_timeout = 8\n",
        **more: Any,
    ) -> Iterator[Case]:
        name = f"host-{os.getpid()}-{tmp_path.name}"
        existing = {title: uuid for uuid, title in control.client.providers().items()}
        uuid = existing.get(name) or control.client.create_provider(name)
        control.client.set_traits(uuid, FOREIGN)
        uri = f"qemu:///system?socket={socket}" if socket else hypervisor.uri
        text = (
            f"interval = 1\n[libvirt]\nconnection_uri = {uri}\ncall_timeout = 3\n"
            f"connect_timeout = 2\nkeepalive_interval = 1\n{extra}"
            f"{placement or control.snippet}provider_uuid = {uuid}\nprovider_name = {name}\n"
            f"{options}"
        )
        control.client.create_trait("CUSTOM_GOLD")
        with Service(tmp_path, text, **more) as service:
            case = Case(service, control, uuid)
            yield case
            assert "Traceback" not in service.text, service.explain()
            assert case.traits() >= FOREIGN

    return build


# -- libvirt


def test_b70_libvirtd_killed_again_and_again_in_the_middle_of_passes(
    make: Make, hypervisor: Libvirtd
) -> None:
    with make() as case:
        case.settle()
        for moment in range(8):
            time.sleep(0.15 * moment)
            hypervisor.kill()
            assert case.traits() == case.settled
            hypervisor.launch()
            case.service.wait("the next pass", case.service.passed, 30)
        case.recovered()


def test_b43_libvirtd_stopped_is_abandoned_and_comes_back(
    make: Make, hypervisor: Libvirtd
) -> None:
    """SIGSTOP: it accepts and never answers. Signals, watchdog and state stay as they should."""
    with make(watchdog=1.0) as case:
        case.settle()
        hypervisor.pause()
        case.service.failing("libvirt", timeout=40)
        begun, seconds = time.monotonic(), 300 if WIDE else 15
        time.sleep(seconds)
        pings = [at for at in case.service.pings() if at > begun]
        # every third of a second, while every call is abandoned in time
        assert len(pings) >= seconds * 5 / 3
        case.kept()
        hypervisor.resume()
        case.recovered(90)


def test_b43_sigterm_is_obeyed_while_libvirt_hangs(make: Make, hypervisor: Libvirtd) -> None:
    with make("emulator_timeout = 5\n") as case:
        case.settle()
        hypervisor.pause()
        try:
            time.sleep(2.5)
            code, seconds = case.service.stop()
        finally:
            hypervisor.resume()
        assert code == 0
        assert seconds < 5


def test_b28_b74_slow_libvirt_ready_at_once_and_the_watchdog_fed(
    make: Make, hypervisor: Libvirtd, tmp_path: Path
) -> None:
    """Every answer takes longer than the watchdog's interval; native machines come first."""
    native = {"CUSTOM_CAPD_MACHINE_Q35", "COMPUTE_STORAGE_BUS_VIRTIO"}
    with (
        Proxy(tmp_path / "slow", hypervisor.socket, delay=0.25) as proxy,
        make(
            socket=str(proxy.path),
            extra="trials = false\nconnect_timeout = 20\n",
            watchdog=0.24,
        ) as case,
    ):
        service = case.service
        begun = time.monotonic()
        service.wait("READY", lambda: service.ready is not None, 10)
        assert service.ready is not None and service.ready - begun < 5
        assert native - case.traits()
        service.wait("native traits", lambda: native <= case.traits(), 150)
        assert "COMPUTE_ARCH_AARCH64" in case.traits() or not service.passed()
        statuses = {text for _, text in service.messages if "asking about machine types" in text}
        assert len(statuses) >= 2  # progress in STATUS
        gaps = [b - a for a, b in zip(service.pings(), service.pings()[1:])]
        assert len(gaps) > 100
        # Most come at a third of the interval; a busy machine may delay a few.
        assert sorted(gaps)[int(len(gaps) * 0.9)] < 0.22
        assert service.stop()[1] < 5


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not WIDE, reason="a quarter of an hour of waiting; CAPD_WIDE=1 runs it")
def test_b28_every_call_takes_4_s(
    make: Make, make_libvirtd: Callable[..., Libvirtd], tmp_path: Path
) -> None:
    """With the options as they are by default: native machine types come, nothing is lost."""
    slow = make_libvirtd(emulators=["x86_64"])
    native = {"CUSTOM_CAPD_MACHINE_Q35", "COMPUTE_STORAGE_BUS_VIRTIO"}
    defaults = "call_timeout = 20\nconnect_timeout = 30\nkeepalive_interval = 5\n"
    with (
        Proxy(tmp_path / "slow", slow.socket, delay=4) as proxy,
        make(socket=str(proxy.path), extra=defaults, watchdog=60.0) as case,
    ):
        service, begun = case.service, time.monotonic()
        service.wait("READY", lambda: service.ready is not None, 10)
        service.wait("native traits", lambda: native <= case.traits(), 1500)
        print(f"4 s per call: native traits after {time.monotonic() - begun:.0f} s")
        # the rest of the look does not fit into sweep_timeout: it is unknown, and no failure
        service.wait("the end of the look", service.passed, 600)
        assert "the sweep took longer than 900 s" in service.text
        assert "libvirt went away" not in service.text
        settled = case.traits()
        assert len(settled) > 150
        time.sleep(60)
        assert case.traits() >= settled
        assert service.stop()[1] < 5


def test_b43_daemon_that_goes_mute_in_the_middle_of_a_sweep(
    make: Make, hypervisor: Libvirtd, tmp_path: Path
) -> None:
    with (
        Proxy(tmp_path / "mute", hypervisor.socket, delay=0.05) as proxy,
        make(socket=str(proxy.path), extra="trials = false\n") as case,
    ):
        case.settle()
        hypervisor.restart()  # a new connection, and so a new sweep
        time.sleep(1.5)
        proxy.mute = True
        case.service.failing("libvirt", timeout=60)
        time.sleep(4)
        case.kept()
        proxy.mute = False
        case.recovered(90)


def test_b42_events_come_after_a_reconnect(make: Make, hypervisor: Libvirtd) -> None:
    """The interval is long, so that only an event can bring the record."""
    with make() as case:
        case.settle()
        case.service.configure("\ninterval = 1\n", "\ninterval = 600\n")
        case.service.reload()
        case.service.wait("the reload", lambda: "a pass every" in case.service.text, 10)
        case.recovered()
        time.sleep(3)
        hypervisor.restart()
        time.sleep(6)
        case.service.wait("the reconnection", case.service.passed, 30)
        xml = case.service.directory / "guest.xml"
        xml.write_text(
            "<domain type='qemu'><name>late</name><memory>65536</memory>"
            "<os><type arch='x86_64' machine='q35'>hvm</type></os></domain>"
        )
        hypervisor.virsh("define", str(xml))
        try:
            database = case.service.directory / "state" / "capd.db"

            def recorded() -> bool:
                with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
                    return bool(
                        connection.execute("SELECT 1 FROM record WHERE name = 'late'").fetchall()
                    )

            case.service.wait("the record", recorded, 20)
        finally:
            hypervisor.virsh("undefine", "late")


def test_b41_idle_connection_lives_and_has_its_event_loop(make: Make) -> None:
    """Five keepalive periods and more without a call of ours; a lost connection would be told."""
    with make() as case:
        case.settle()
        case.service.configure("\ninterval = 1\n", "\ninterval = 600\n")
        case.service.reload()
        time.sleep(3)
        case.recovered()
        before = case.service.messages[:]
        time.sleep(8)
        assert case.service.messages == before


@pytest.mark.timeout(3600)
def test_reconnects_leak_nothing(make: Make, hypervisor: Libvirtd) -> None:
    """Real restarts of libvirtd; descriptors and threads as before, memory flat."""
    count = 500 if WIDE else 12
    with make() as case:
        case.settle()

        def restart() -> None:
            hypervisor.kill()
            case.service.failing("libvirt", timeout=30)
            hypervisor.launch()
            case.service.wait("reconnection", case.service.passed, 60)

        for _ in range(max(5, count // 10)):
            restart()
        time.sleep(2)
        before = case.service.resources()
        for _ in range(count):
            restart()
        time.sleep(2)
        after = case.service.resources()
        print(f"{count} restarts: descriptors, threads, kB {before} -> {after}")
        assert after[0] <= before[0]
        assert after[1] <= before[1]
        assert after[2] - before[2] <= 2048
        case.kept()


@pytest.mark.skipif(not WIDE, reason="minutes of probing; CAPD_WIDE=1 runs it")
def test_b28_every_emulator_and_a_cold_cache(
    make: Make, make_libvirtd: Callable[..., Libvirtd]
) -> None:
    """libvirt probes some 25 emulators for the first time; nothing waits for that."""
    cold = make_libvirtd(warm=False)
    with make(extra="call_timeout = 10\n", socket=str(cold.socket), watchdog=1.0) as case:
        service = case.service
        begun = time.monotonic()
        service.wait("READY", lambda: service.ready is not None, 15)
        service.wait("traits", lambda: case.traits() >= FOREIGN | KNOWN, 600)
        service.wait("a good pass", service.passed, 600)
        gaps = [b - a for a, b in zip(service.pings(), service.pings()[1:])]
        print(f"cold: reported after {time.monotonic() - begun:.0f} s, {len(gaps)} pings")
        assert sorted(gaps)[int(len(gaps) * 0.9)] < 0.9


# -- Placement and keystone


def test_b18_placement_down_and_flapping(make: Make, control: Placement) -> None:
    with make() as case:
        case.settle()
        control.down()
        try:
            case.service.failing("placement", timeout=30)
            time.sleep(8)
            assert case.service.running
        finally:
            control.launch()
        case.recovered()
        for _ in range(4):
            control.down()
            time.sleep(1.3)
            control.launch()
            time.sleep(1.3)
            assert case.traits() == case.settled
        case.recovered()
        lines = [line for line in case.service.text.splitlines() if " ERROR placement: " in line]
        assert len(lines) <= 12  # a line for each change, none for each cycle


def test_b19_placement_that_accepts_and_never_answers(make: Make, control: Placement) -> None:
    with make(watchdog=1.0) as case:
        case.settle()
        control.pause()
        try:
            case.service.failing("placement", timeout=40)
            begun = time.monotonic()
            time.sleep(8)
            assert len([at for at in case.service.pings() if at > begun]) >= 12
        finally:
            control.resume()
        case.recovered()


def test_b18_keystone_down_then_back(
    make: Make, make_keystone: Callable[..., Keystone], make_placement: Callable[..., Placement]
) -> None:
    keystone = make_keystone()
    placement = make_placement(keystone_authtoken=keystone.authtoken)
    keystone.register("placement", placement.url)
    keystone.create_user("capd", "secret")
    keystone.down()
    patient = "request_timeout = 20\npass_timeout = 90\n"  # hundreds of names are made first
    snippet = keystone.password_snippet("capd", "secret")
    with make(placement=snippet, options=patient) as case:
        case.service.failing("placement", timeout=90)
        assert case.service.running
        keystone.launch()
        case.service.wait(
            "an answer", lambda: "no resource provider" in case.service.status, 180
        )  # authenticated: this Placement has no such provider
        assert "secret" not in case.service.text


# -- the state


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-o", "size=1m,mode=0700"]
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(place)])
    if done.returncode != 0:
        pytest.skip("cannot mount here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_disk_full(make: Make, small_disk: Path) -> None:
    """Full before anything could be remembered: nothing is half done, and it recovers."""
    ballast = small_disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as stream:
        while stream.write(b"\0" * 4096):
            pass
    with make(state=small_disk / "state") as case:
        time.sleep(6)
        assert case.service.running, case.service.explain()
        assert case.traits() == FOREIGN
        case.service.failing("store", timeout=30)
        ballast.unlink()
        case.settle()


def test_database_corrupt_locked_newer_and_read_only(make: Make, tmp_path: Path) -> None:
    database = tmp_path / "state" / "capd.db"
    with make() as case:
        case.settle()
        case.service.stop()
        good = database.read_bytes()
        assert b"SQLite" in good[:16]

        database.write_bytes(b"junk" * 4096)
        case.service.start()
        case.service.failing("store", "damaged", 30)
        assert database.read_bytes() == b"junk" * 4096
        case.kept()
        database.write_bytes(good)  # repaired while it runs: no restart is needed
        case.recovered()

        with sqlite3.connect(database, isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            time.sleep(3)
            case.kept()
            other.execute("ROLLBACK")
        case.recovered()

        case.service.stop()
        with sqlite3.connect(database) as other:
            version = other.execute("PRAGMA user_version").fetchone()[0]
            other.execute("PRAGMA user_version = 99")
        case.service.start()
        case.service.failing("store", "schema version 99", 30)
        case.kept()
        with sqlite3.connect(database) as other:
            assert other.execute("PRAGMA user_version").fetchone()[0] == 99
            other.execute(f"PRAGMA user_version = {version}")
        case.recovered()


def test_a_database_taken_away_while_it_runs_is_told_and_made_anew(
    make: Make, tmp_path: Path
) -> None:
    with make() as case:
        case.settle()
        database = tmp_path / "state" / "capd.db"
        database.rename(tmp_path / "aside.db")
        case.service.failing("store", "was removed or replaced while capd runs", 30)
        case.recovered()
        assert database.stat().st_size > 0


def test_state_on_a_disk_that_becomes_read_only(make: Make, small_disk: Path) -> None:
    with make(state=small_disk / "state") as case:
        case.settle()
        case.service.stop()
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
        case.service.start()
        time.sleep(4)
        case.settled = case.traits()
        assert case.settled >= KNOWN
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
        if not case.service.running:  # the lock file itself could not be opened: said so, and out
            assert "cannot open" in case.service.text
            case.service.start()
        case.recovered()


def test_clock_jumping_both_ways(make: Make, tmp_path: Path) -> None:
    """Years ahead and back: intervals go on, records and names stay, nothing is forgotten."""
    jump, library = tmp_path / "jump", tmp_path / "jump.so"
    jump.write_text("0")
    source = REPOSITORY / "tests" / "rig" / "jump.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    with make(env={"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(jump)}) as case:
        case.settle()
        year = time.localtime(time.time() + 800 * 86400).tm_year
        for days in (400, -400, 1, 0):
            jump.write_text(str(days * 86400))
            case.service.passes(2)
            case.recovered()
        case.service.reload()
        jump.write_text(str(800 * 86400))
        case.service.reload()
        case.service.wait("a line", lambda: f"\n{year}-" in case.service.text, 20)


# -- KVM and emulators


def test_b26_kvm_gone_unusable_and_back(make: Make, hypervisor: Libvirtd) -> None:
    """Without KVM libvirt offers qemu only; what was kvm's is kept until that is certain."""
    with make() as case:
        case.settle()
        assert ", kvm" in case.service.text
        try:
            hypervisor.set_kvm("absent")
            case.service.wait("the change", lambda: "the host changed" in case.service.text, 60)
            case.service.wait("a good pass", case.service.passed, 60)
            assert case.traits() >= KNOWN | FOREIGN
        finally:
            hypervisor.set_kvm("usable")
        case.service.wait(
            "kvm again", lambda: case.service.text.count("the host changed") >= 2, 60
        )
        case.service.wait("all traits", lambda: case.traits() == case.settled, 60)


def test_b29_b72_emulator_package_removed_and_installed_again(
    make: Make, hypervisor: Libvirtd
) -> None:
    """Gone: an explicit no, seen twice. Back: reported again. No restart of anything."""
    with make() as case:
        case.settle()
        hypervisor.remove_emulator("aarch64")
        try:
            case.service.wait(
                "the trait to go", lambda: "COMPUTE_ARCH_AARCH64" not in case.traits(), 60
            )
            left = case.traits()
            assert "CUSTOM_CAPD_MACHINE_Q35" in left
        finally:
            hypervisor.add_emulator("aarch64")
        case.service.wait("the trait", lambda: case.traits() == case.settled, 60)
        assert "removed COMPUTE_ARCH_AARCH64" in case.service.text


# -- the daemon itself


def test_b70_killed_at_any_moment_no_trait_goes(make: Make) -> None:
    with make() as case:
        case.settle()
        for moment in range(10):
            case.service.kill()
            assert case.traits() == case.settled
            case.service.start()
            time.sleep(0.2 + 0.2 * moment)
        case.recovered()


def test_metrics_textfile_and_http(make: Make, tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    import urllib.request

    from tests.rig.base import free_port

    port, file = free_port(), tmp_path / "metrics" / "capd.prom"
    file.parent.mkdir()
    extra = f"[metrics]\ntextfile = {file}\nlisten = 127.0.0.1:{port}\n"
    with make(extra=extra) as case:
        case.settle()
        case.service.passes(2)
        text = file.read_text()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            served = answer.read().decode()
        for sample in (
            'capd_last_success_timestamp_seconds{stage="placement"}',
            'capd_stage_duration_seconds{stage="discovery"}',
            'capd_provider_traits{state="owned"}',
            'capd_provider_traits{state="contested"} 0.0',
            "capd_claims_refused",
            "capd_libvirt_calls_total",
            "capd_records 0.0",
        ):
            assert sample in text, text
            assert sample in served
        assert [path.name for path in file.parent.iterdir()] == ["capd.prom"]
        assert program("sh")
