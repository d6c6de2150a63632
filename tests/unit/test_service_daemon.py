"""The daemon's parts that decide: watchdog, health, metrics, checks, quiet providers."""

from __future__ import annotations

import logging
import os
import socket
import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capd import check, checkhost, config, metrics, values
from capd.config import MetricsSettings, Settings
from capd.daemon import Daemon
from capd.errors import ConfigError, LibvirtError, PlacementError
from capd.events import Event, EventKind
from capd.facts import Source, Support
from capd.findings import Level
from capd.health import Health
from capd.ledger import Shown
from capd.notify import Notifier
from capd.outcome import Report
from capd.plan import Plan
from capd.quiet import Quiet
from capd.stages import CycleResult, Stage, StageResult
from capd.store import Store
from capd.verdicts import Assessment, Verdict
from tests.rig.base import remove, temporary


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "capd.conf"
    path.touch(mode=0o600)
    path.write_text(
        f"[DEFAULT]\nstate_dir = {tmp_path}\n[libvirt]\n"
        "connection_uri = qemu:///system?socket=/nonexistent/sock\n"
    )
    return config.load([path])


class Manager(Notifier):
    """What systemd is told, kept."""

    def __init__(self, watchdog: float | None = None) -> None:
        super().__init__({})
        self.watchdog = watchdog
        self.told: list[str] = []

    def _tell(self, state: str) -> None:
        self.told.append(state)


def assessed(**support: Support) -> Assessment:
    verdicts = {name: Verdict(name, value, Source.TABLE, "so") for name, value in support.items()}
    return Assessment(verdicts, tuple(sorted(support)))


# -- watchdog


@pytest.fixture
def daemon(settings: Settings) -> Iterator[Daemon]:
    made = Daemon(settings, settings.files, Manager(watchdog=1.0))
    yield made
    made._worker.finish(2)


def _pings(daemon: Daemon) -> int:
    told: Any = daemon._notifier
    return int(told.told.count("WATCHDOG=1"))


def test_b76_no_ping_once_a_step_is_overdue(daemon: Daemon) -> None:
    now = time.monotonic() + 100
    daemon._ping(now)
    assert _pings(daemon) == 1  # idle
    daemon._worker.busy = True
    daemon._worker.progress.expect(30)
    daemon._worker.progress.step("asking libvirt")
    daemon._ping(now + 1)
    daemon._ping(now + 2)
    assert _pings(daemon) == 3  # progress, then within the limit of the step
    daemon._worker.progress.expect(-1)
    daemon._ping(now + 3)
    daemon._ping(now + 60)
    assert _pings(daemon) == 3  # overdue and no progress
    daemon._worker.progress.step("asking libvirt")
    daemon._worker.progress.expect(-1)
    daemon._ping(now + 61)
    assert _pings(daemon) == 4  # it moved after all


def test_b74_pings_come_at_most_at_half_the_interval(daemon: Daemon) -> None:
    now = time.monotonic() + 100
    for tenth in range(100):
        daemon._ping(now + tenth / 10)
    assert 20 <= _pings(daemon) <= 40  # ten seconds, watchdog of one


def test_a_stalled_loop_does_not_spin(daemon: Daemon) -> None:
    daemon._worker.busy = True
    daemon._worker.progress.expect(-1)
    daemon._counted = daemon._worker.progress.count
    daemon._mailbox.drain()
    daemon._ping(time.monotonic())
    begun = time.monotonic()
    daemon._wait()
    assert time.monotonic() - begun > 0.2


def test_events_of_domains_are_gathered_and_followed(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        daemon._worker, "begin", lambda settings, instances=(): began.append(tuple(instances))
    )
    now = time.monotonic()
    daemon._schedule.due = now + 600
    for name in ("a", "b", "a"):
        daemon._event(Event(EventKind.DOMAIN, name, f"uuid-{name}"), now)
    daemon._begin(now)
    assert began == []
    daemon._begin(now + 1.1)
    assert began == [("uuid-a", "uuid-b")]
    daemon._event(Event(EventKind.LOST, "end of file"), now)
    assert daemon._schedule.due - now < 1
    daemon._begin(now + 1)
    assert began[-1] == ()  # a whole pass


def test_reload_swaps_or_keeps(daemon: Daemon, settings: Settings, tmp_path: Path) -> None:
    told: Any = daemon._notifier
    settings.files[0].write_text("[traits]\nstandart = never\n")
    daemon._reload()
    assert told.told[-2].startswith("RELOADING=1\nMONOTONIC_USEC=")
    assert "READY=1" in told.told[-1] and "did you mean standard?" in told.told[-1]
    assert (daemon._settings, daemon._pending) == (settings, None)
    settings.files[0].write_text(f"[DEFAULT]\nstate_dir = {tmp_path}\ninterval = 7\n")
    daemon._reload()
    assert "reload failed" not in told.told[-1]
    assert daemon._pending is not None and daemon._pending.interval == 7
    assert daemon._schedule.interval == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[metrics]\ntextfile = /tmp/x.txt\n", "'/tmp/x.txt' does not end in .prom"),
        ("[metrics]\nlisten = 0.0.0.0:1\n", "'0.0.0.0:1' is not a loopback address and port"),
        ("[placement]\npassword = s3cr$et\n", "[placement] password: $ begins the name of"),
        ("[placement]\npassword s3cret\n", "malformed: line 2: it is neither [section] nor key"),
    ],
)
def test_reload_of_what_a_start_would_refuse_keeps_the_old(
    daemon: Daemon, settings: Settings, text: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: Any = daemon._notifier
    settings.files[0].write_text(text)
    daemon._reload()
    assert (daemon._settings, daemon._pending) == (settings, None)
    for line in (told.told[-1], caplog.text):
        assert "READY=1" in line or "the old configuration stays" in line
        assert said in line
        assert "s3cr" not in line


@pytest.fixture
def level() -> Iterator[logging.Logger]:
    """The logger of all of capd, given back as it was."""
    log = logging.getLogger("capd")
    before = log.level
    yield log
    log.setLevel(before)


def test_reload_switches_debug_on_and_off(
    daemon: Daemon, settings: Settings, level: logging.Logger
) -> None:
    def reload(debug: str) -> int:
        settings.files[0].write_text(f"[DEFAULT]\ndebug = {debug}\n")
        daemon._reload()
        return level.level

    assert reload("true") == logging.DEBUG
    assert logging.getLogger("capd.cycle").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("urllib3").isEnabledFor(logging.DEBUG)
    assert reload("maybe") == logging.DEBUG  # refused
    assert reload("false") == logging.NOTSET
    daemon._debug = True  # --debug
    assert reload("false") == logging.DEBUG


# -- health


def test_health_tells_the_last_good_pass_and_what_is_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    health = Health()
    assert health.line() == "last good pass none yet; nothing reported yet"
    error = LibvirtError("libvirt is gone", cure="start it")
    bad = CycleResult((StageResult(Stage.LIBVIRT, 0.1, error),), 0.1)
    for _ in range(20):
        health.finished(bad)
    assert "libvirt fails: libvirt is gone (start it)" in health.line()
    good = CycleResult((StageResult(Stage.LIBVIRT, 0.1),), 0.1, assessment=assessed(A=Support.YES))
    health.finished(good)
    assert "fails" not in health.line()
    assert "1 traits supported" in health.line()
    assert [record.getMessage() for record in caplog.records] == [
        "libvirt: libvirt is gone (start it)",
        "libvirt: works again after 20 failures in 0 s",
        "1 traits supported here",
    ]
    assert (health.passes, health.failures[Stage.LIBVIRT]) == (21, 20)


def test_health_names_each_trait_that_changed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    health = Health()
    for support in (Support.YES, Support.YES, Support.NO):
        health.finished(CycleResult((), 0.1, assessment=assessed(A=support, B=Support.YES)))
    record = caplog.records[-1]
    assert record.getMessage() == "A: no, was yes (so)"
    assert record.capd_trait == "A"  # type: ignore[attr-defined]
    assert len(caplog.records) == 2


def test_health_logs_an_unforeseen_end_of_a_pass_once(caplog: pytest.LogCaptureFixture) -> None:
    health = Health()
    for _ in range(3):
        health.crashed(RuntimeError("surprise"))
    assert caplog.text.count("a pass ended unexpectedly") == 1
    assert "pass fails: RuntimeError: surprise" in health.line()


# -- metrics


def test_metrics_are_served_on_loopback_only() -> None:
    assert values.address("127.0.0.1:9177") == ("127.0.0.1", 9177)
    assert values.address("[::1]:9177") == ("::1", 9177)
    for listen in ("0.0.0.0:9177", "10.0.0.1:1", "host:1", "127.0.0.1", "127.0.0.1:99999"):
        with pytest.raises(ConfigError, match="not a loopback address"):
            values.address(listen)


def test_metrics_file_is_replaced_whole_and_a_failure_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("prometheus_client")
    file = tmp_path / "x" / "capd.prom"
    exporter = metrics.Exporter(MetricsSettings(file, None))
    exporter.start()
    plan = Plan(provider="u", owned=("A", "B"), others=("C",), contested=("D",))
    result = CycleResult(
        (StageResult(Stage.PLACEMENT, 0.5),), 0.7, report=Report(plan, requests=1)
    )
    health = Health()
    health.finished(result)
    exporter.update(result, health)
    exporter.update(result, health)
    assert caplog.text.count("metrics cannot be written") == 1
    file.parent.mkdir()
    exporter.update(result, health)
    text = file.read_text()
    assert 'capd_provider_traits{state="owned"} 2.0' in text
    assert 'capd_provider_traits{state="contested"} 1.0' in text
    assert 'capd_stage_duration_seconds{stage="placement"} 0.5' in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert list(file.parent.iterdir()) == [file]


def test_without_metrics_nothing_is_loaded() -> None:
    exporter = metrics.Exporter(MetricsSettings(None, None))
    exporter.start()
    exporter.update(CycleResult((), 0.1), Health())
    assert exporter._registry is None


# -- a provider that is as it was


class Client:
    """Placement, as far as `Quiet` asks it."""

    def __init__(self) -> None:
        self.shown = Shown(7, frozenset({"A", "X"}))
        self.requests = 0

    def begin(self) -> None:
        self.requests = 0

    def provider_traits(self, uuid: str) -> Shown:
        assert uuid == "u"
        self.requests += 1
        if self.shown.generation < 0:
            raise PlacementError("refused")
        return self.shown


def test_b21_settled_provider_costs_one_request(settings: Settings) -> None:
    client: Any = Client()
    placement = replace(settings.placement, compute_id_files=())
    quiet = Quiet(placement, client)
    assessment = assessed(A=Support.YES)
    report = Report(Plan(provider="u", generation=7, owned=("A",), others=("X",)))
    assert quiet.still(assessment, "h") is None
    quiet.reported(assessment, "h", report)
    assert quiet.still(assessment, "h") is None  # a denial counts once a pass: two whole ones
    quiet.reported(assessment, "h", report)
    for _ in range(10):
        found = quiet.still(assessment, "h")
        assert found is not None and (found.plan, found.requests) == (report.plan, 1)

    def again() -> None:
        quiet.reported(assessment, "h", report)

    for change in (
        lambda: setattr(client, "shown", Shown(8, frozenset({"A", "X"}))),
        lambda: setattr(client, "shown", Shown(7, frozenset({"A"}))),
        lambda: setattr(client, "shown", Shown(-1, frozenset())),
    ):
        again()
        change()
        assert quiet.still(assessment, "h") is None
        client.shown = Shown(7, frozenset({"A", "X"}))
        assert quiet.still(assessment, "h") is None  # until a whole pass has looked
    again()
    assert quiet.still(assessed(A=Support.YES), "h") is None  # another look at the host


def test_a_pass_with_anything_open_is_not_quiet(settings: Settings) -> None:
    client: Any = Client()
    assessment = assessed(A=Support.YES)
    plan = Plan(provider="u", generation=7, owned=("A",), others=("X",))
    for report in (
        Report(replace(plan, error="refused")),
        Report(replace(plan, pending=("A",))),
        Report(replace(plan, unknown_to_placement=("B",))),
        Report(plan, added=("A",)),
        Report(plan, problems=("names",)),
        Report(replace(plan, remove=("A",))),
    ):
        quiet = Quiet(replace(settings.placement, compute_id_files=()), client)
        for _ in range(3):
            quiet.reported(assessment, "h", report)
        assert quiet.still(assessment, "h") is None


# -- checks


def test_b45_sockets_of_libvirt_live_and_dead(tmp_path: Path) -> None:
    place = temporary("sockets")  # a socket's path must be short
    modular, proxy = place / "virtqemud-sock", place / "libvirt-sock"
    paths = (str(modular), str(proxy), str(tmp_path / "none"))
    assert checkhost.libvirt_sockets(paths) == {}
    assert checkhost.libvirt_kind("qemu:///system", paths) == "libvirt elsewhere"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        one.bind(str(proxy))
        one.listen()
        assert checkhost.libvirt_kind("qemu:///system", paths) == "monolithic libvirtd"
        two.bind(str(modular))
        assert checkhost.libvirt_sockets(paths) == {str(modular): "dead", str(proxy): "live"}
        assert checkhost.libvirt_kind("qemu:///system", paths) == "monolithic libvirtd"
        two.listen()
        one.settimeout(0.1)
        while True:  # what knocked so far
            try:
                one.accept()[0].close()
            except socket.timeout:
                break
        assert checkhost.libvirt_sockets(paths) == {str(modular): "live", str(proxy): "not tried"}
        with pytest.raises(socket.timeout):  # behind systemd a knock would start that daemon
            one.accept()
        for uri, kind in (
            ("qemu:///system", "modular virtqemud"),
            ("qemu:///system?mode=direct", "modular virtqemud"),
            (f"qemu:///system?socket={modular}", "modular virtqemud"),
            ("qemu:///system?mode=legacy", "virtproxyd or monolithic libvirtd"),
            (f"qemu:///system?socket={proxy}", "virtproxyd or monolithic libvirtd"),
            ("qemu:///system?socket=/elsewhere", "libvirt elsewhere"),
        ):
            assert checkhost.libvirt_kind(uri, paths) == kind
    remove(place)


def test_kvm_as_qemu_sees_it(tmp_path: Path) -> None:
    state = checkhost.kvm_state(str(tmp_path / "kvm"), "nobody")
    assert state.problem == f"{tmp_path / 'kvm'} does not exist"
    (tmp_path / "kvm").touch()
    assert checkhost.kvm_state(str(tmp_path / "kvm"), "nobody").problem is not None
    assert checkhost.kvm_state("/dev/null", "nobody").problem is None
    if os.geteuid() == 0:
        node = tmp_path / "node"
        os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        state = checkhost.kvm_state(str(node), "nobody")
        assert state.problem == f"nobody, QEMU's user, may not open {node} (root:root 0600)"
        assert state.cure is not None and "chmod 0660" in state.cure
        assert checkhost.kvm_state(str(node), "root").problem is None


def test_qemus_user_is_read_from_its_configuration(tmp_path: Path) -> None:
    conf = tmp_path / "qemu.conf"
    conf.write_text('#user = "root"\n  user = "+64055"\n')
    assert checkhost.qemu_user(str(conf)) == "64055"
    conf.write_text('user = "qemu"\n')
    assert checkhost.qemu_user(str(conf)) == "qemu"


def test_check_of_a_bad_configuration_ends_there(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    path.write_text("[traits]\nstandart = never\n")
    (finding,) = check.everything((path,))
    assert finding.level is Level.FAIL
    assert finding.cure == "did you mean standard?"


def test_check_goes_on_after_a_failure(settings: Settings) -> None:
    findings = list(check.everything(settings.files))
    by = {(found.subject, found.level.value) for found in findings}
    assert ("libvirt", "FAIL") in by
    assert ("placement", "FAIL") in by  # none is configured
    assert ("configuration", "PASS") in by
    assert ("store", "PASS") in by
    assert {"kvm", "clock"} <= {found.subject for found in findings}
    assert all(found.cure for found in findings if found.level is Level.FAIL)


def test_check_of_a_state_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    path.write_text(f"[DEFAULT]\nstate_dir = {path}/state\n")
    (found,) = check.store(config.load([path]))
    assert (found.level, found.text) == (Level.FAIL, f"{path} is no directory")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_check_of_a_state_that_another_user_left(tmp_path: Path) -> None:
    path, state = tmp_path / "capd.conf", tmp_path / "state"
    path.write_text(f"[DEFAULT]\nstate_dir = {state}\n")
    Store(state / "capd.db").close()
    os.chown(state, 65534, 65534)
    (found,) = [row for row in check.store(config.load([path])) if row.level is Level.FAIL]
    assert found.text == (
        f"{state}/capd.db belongs to root, its directory to nobody: one of them cannot open it"
    )
    assert found.cure == f"chown --reference={state} {state}/capd.db"


def test_check_does_not_promise_an_override_that_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    path.write_text("[traits]\noverride = +COMPUTE_NO_SUCH\n")
    rows = list(check.configuration(config.load([path])))
    assert [row.text for row in rows if "COMPUTE_NO_SUCH" in row.text] == []


def test_b73_check_lists_overrides(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    path.write_text("[traits]\noverride = -COMPUTE_NET_VIF_MODEL_PCNET\n")
    rows = list(check.configuration(config.load([path])))
    (found,) = [row for row in rows if row.text.startswith("override")]
    assert "COMPUTE_NET_VIF_MODEL_PCNET is reported as not supported" in found.text
