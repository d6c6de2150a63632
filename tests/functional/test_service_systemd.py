"""The package on real systemd: Debian trees booted in systemd-nspawn, libvirtd, QEMU, Placement.

One machine for each suite lives through the tests of this module in their order, as a host lives
through its years: installed, configured, broken in many ways, upgraded, purged. CAPD_SUITES
(default `bookworm trixie`; the wide run adds `bullseye sid`) says which.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.rig.base import REPOSITORY, Unavailable, free_port, wait_for
from tests.rig.nspawn import Machine
from tests.rig.placement import Placement

SUITES = os.environ.get("CAPD_SUITES", "bookworm trixie").split()

#: what the host has that is not capd's
FOREIGN = {"CUSTOM_GOLD", "COMPUTE_NODE"}

#: some of what a Debian host with x86_64's emulator gets, by any version
EXPECTED = {
    "COMPUTE_STORAGE_BUS_VIRTIO",
    "COMPUTE_GRAPHICS_MODEL_VIRTIO",
    "COMPUTE_NET_VIF_MODEL_VIRTIO",
    "CUSTOM_CAPD_MACHINE_Q35",
    "CUSTOM_CAPD_PC_STORAGE_BUS_IDE",
    "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",
}

pytestmark = pytest.mark.timeout(900)


@dataclass
class Host:
    """One booted machine, its provider, and the configuration in force."""

    machine: Machine
    placement: Placement
    provider: str
    name: str
    package: Path
    newer: Path

    def configure(self, extra: str = "", placement: str = "", mode: int = 0o640) -> None:
        """Write capd.conf; owner and group stay as the package made them."""
        self.machine.write("/etc/capd/capd.conf", self.text(extra, placement), mode)

    def text(self, extra: str = "", placement: str = "") -> str:
        where = placement or self.placement.snippet
        return (
            f"[DEFAULT]\ninterval = 2\n{where}provider_uuid = {self.provider}\n"
            f"provider_name = {self.name}\nrequest_timeout = 3\npass_timeout = 6\n{extra}\n"
        )

    def traits(self) -> set[str]:
        return set(self.placement.client.traits(self.provider))

    def reported(self) -> bool:
        return self.traits() >= EXPECTED | FOREIGN

    def status(self) -> str:
        return self.machine.property("StatusText")

    def pid(self) -> int:
        return int(self.machine.property("MainPID"))

    def restarts(self) -> int:
        return int(self.machine.property("NRestarts"))

    def active(self) -> bool:
        return self.machine.property("ActiveState") == "active"

    def passed(self) -> bool:
        """Whether the last pass was good, and nothing is wrong now."""
        status = self.status()
        return "none yet" not in status and " fails: " not in status

    def fresh(self) -> None:
        """A running service whose last pass was good."""
        self.machine.call("systemctl", "reset-failed", "capd")
        self.machine.run("systemctl", "restart", "capd")
        wait_for("a good pass", self.passed, 40)

    def stop(self) -> float:
        """Stop the service; the seconds that took."""
        begun = time.monotonic()
        self.machine.run("systemctl", "stop", "capd")
        return time.monotonic() - begun

    def daemon(self) -> str:
        """The process id of libvirtd inside."""
        return self.machine.property("MainPID", "libvirtd.service")

    def journal(self, *match: str) -> list[dict[str, Any]]:
        command = ["journalctl", "-q", "--no-pager", "-o", "json", "-u", "capd.service", *match]
        return [json.loads(line) for line in self.machine.run(*command).splitlines()]


def _build(directory: Path, version: str) -> Path:
    done = subprocess.run(
        [str(REPOSITORY / "packaging" / "deb"), str(directory)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHON": sys.executable, "VERSION": version},
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module", params=SUITES)
def host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, placement: Placement
) -> Iterator[Host]:
    directory = tmp_path_factory.mktemp("packages")
    # Debian 11's libvirt probes its emulator anew on every call where KVM is not to its liking.
    machine = Machine(request.param, kvm=request.param != "bullseye")
    try:
        machine.start()
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        name = f"{request.param}-{os.getpid()}"
        provider = placement.client.create_provider(name, traits=sorted(FOREIGN))
        older, newer = _build(directory, "0.1.0"), _build(directory, "0.1.1")
        yield Host(machine, placement, provider, name, older, newer)
    finally:
        machine.stop()


def test_package_installs_and_the_service_is_active_within_5_s(host: Host) -> None:
    machine = host.machine
    assert machine.call("systemctl", "is-system-running").stdout.strip() == "running"
    begun = time.monotonic()
    output = machine.install(host.package)
    wait_for("the service", host.active, 5)
    print(f"{machine.suite}: active {time.monotonic() - begun:.1f} s after dpkg began")
    assert "Setting up capd (0.1.0)" in output
    assert machine.run("stat", "-c", "%U:%G %a", "/etc/capd/capd.conf") == "root:capd 640"
    assert machine.run("stat", "-c", "%U:%G %a", "/var/lib/capd") == "capd:capd 700"
    assert "libvirt" in machine.run("id", "-nG", "capd").split()
    assert machine.run("systemctl", "is-enabled", "capd") == "enabled"
    assert machine.run("dpkg", "--audit") == ""
    assert machine.run("dpkg", "--verify", "capd") == ""


def test_without_placement_it_waits_and_says_so(host: Host) -> None:
    """B18: the control plane is not configured yet; nothing crashes."""
    wait_for("a status", lambda: "no Placement is configured" in host.status(), 30)
    assert (host.active(), host.restarts()) == (True, 0)


def test_traits_reach_placement(host: Host) -> None:
    host.configure()
    host.fresh()
    wait_for("traits", host.reported, 30)
    assert host.traits() >= FOREIGN
    status = host.status()
    assert re.search(r"last good pass \d\d:\d\d:\d\d; \d+ traits on ", status), status


def test_memory_is_within_its_limit(host: Host) -> None:
    """60 MB resident; on sid Python 3.14 and libvirt 12.8 alone need more."""
    wait_for("an unchanged pass", host.passed, 30)
    time.sleep(5)
    rollup = host.machine.run("cat", f"/proc/{host.pid()}/smaps_rollup")
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
    resident = sizes["Rss"]
    print(
        f"{host.machine.suite}: {len(host.traits())} traits, {resident} kB resident, "
        f"{sizes['Pss']} kB where pages shared with others count in part, "
        f"{sizes['Anonymous']} kB of its own"
    )
    assert resident <= (67_000 if host.machine.suite == "sid" else 60 * 1024)


def test_state_is_private_and_capd_unprivileged(host: Host) -> None:
    machine, pid = host.machine, str(host.pid())
    assert machine.run("stat", "-c", "%U %a", "/var/lib/capd/capd.db") == "capd 600"
    status = machine.run("cat", f"/proc/{pid}/status")
    assert re.search(r"^CapBnd:\s0+$", status, re.MULTILINE)
    assert re.search(r"^CapEff:\s0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s1$", status, re.MULTILINE)
    assert re.search(r"^Seccomp:\s2$", status, re.MULTILINE)
    assert machine.run("ps", "-o", "user=", "-p", pid) == "capd"


def test_journal_has_structured_fields(host: Host) -> None:
    entries = host.journal("CAPD_TRAIT=COMPUTE_STORAGE_BUS_VIRTIO")
    assert [entry["MESSAGE"] for entry in entries] == ["added COMPUTE_STORAGE_BUS_VIRTIO"]
    assert entries[0]["CAPD_PROVIDER"] == host.provider
    assert (entries[0]["PRIORITY"], entries[0]["SYSLOG_IDENTIFIER"]) == ("6", "capd")
    (stage,) = {entry["CAPD_STAGE"] for entry in host.journal("CAPD_STAGE=placement")}
    assert stage == "placement"


def test_log_tells_changes_and_not_cycles(host: Host) -> None:
    before = len(host.journal())
    time.sleep(7)  # three passes and more
    assert len(host.journal()) == before


def test_security_score_is_at_most_2(host: Host) -> None:
    text = host.machine.run("systemd-analyze", "security", "--no-pager", "capd.service")
    found = re.search(r"exposure level for capd.service: ([\d.]+) OK", text)
    assert found, text[-300:]
    print(f"{host.machine.suite}: systemd-analyze security {found.group(1)}")
    assert float(found.group(1)) <= 2.0
    explained = (REPOSITORY / "docs" / "security.md").read_text().replace("\\|", "|")
    left = re.findall(r"^✗ (\S+)", text, re.MULTILINE)
    assert left
    assert [name for name in left if f"`{name}" not in explained] == []


def test_unit_verifies(host: Host) -> None:
    done = host.machine.call("systemd-analyze", "verify", "--man=no", "capd.service")
    known = ("RestartSteps", "RestartMaxDelaySec")  # since systemd 254; ignored before
    lines = [line for line in done.stderr.splitlines() if not any(word in line for word in known)]
    assert [line for line in lines if "capd" in line] == []


def test_check_says_what_is_right_and_wrong(host: Host) -> None:
    done = host.machine.call("capd", "--check", "--json")
    result = json.loads(done.stdout)
    levels = {(row["check"], row["level"]) for row in result["checks"]}
    for subject in ("configuration", "store", "libvirt", "emulators", "placement", "provider"):
        assert (subject, "PASS") in levels, result
    assert {("service", "PASS"), ("watchdog", "PASS")} <= levels
    assert not [row for row in result["checks"] if row["level"] == "FAIL"]
    assert (done.returncode, result["ok"]) == (0, True)
    host.machine.run("systemctl", "stop", "libvirtd.service", "libvirtd.socket",
                     "libvirtd-ro.socket", "libvirtd-admin.socket")  # fmt: skip
    done = host.machine.call("capd", "--check")
    host.machine.run("systemctl", "start", "libvirtd.socket", "libvirtd.service")
    assert done.returncode == 1
    assert re.search(r"^FAIL  libvirt: .*\n      cure: start libvirtd", done.stdout, re.MULTILINE)


def test_reload_takes_good_configuration(host: Host) -> None:
    host.fresh()
    pid = host.pid()
    assert "COMPUTE_STORAGE_BUS_SATA" in host.traits()
    host.configure("[traits]\noverride = -COMPUTE_STORAGE_BUS_SATA")
    host.machine.run("systemctl", "reload", "capd")
    wait_for("the override", lambda: "COMPUTE_STORAGE_BUS_SATA" not in host.traits(), 30)
    assert (host.pid(), host.active()) == (pid, True)
    host.configure()
    host.machine.run("systemctl", "reload", "capd")
    wait_for("the trait", lambda: "COMPUTE_STORAGE_BUS_SATA" in host.traits(), 30)


def test_reload_refuses_bad_configuration_and_keeps_the_old(host: Host) -> None:
    pid, before = host.pid(), host.traits()
    host.configure("[traits]\noverrides = -COMPUTE_STORAGE_BUS_SATA")
    host.machine.run("systemctl", "reload", "capd")
    wait_for("the complaint", lambda: "unknown option overrides" in host.status(), 10)
    assert "did you mean override?" in host.status()
    time.sleep(5)
    assert (host.pid(), host.active(), host.traits()) == (pid, True, before)
    host.configure()
    host.machine.run("systemctl", "reload", "capd")
    wait_for("the status", lambda: "reload failed" not in host.status(), 10)


def test_killed_it_comes_back_and_no_trait_goes(host: Host) -> None:
    """B70: kill -9 at any time; the provider's set does not shrink."""
    before, restarts = host.traits(), host.restarts()
    host.machine.run("kill", "-9", str(host.pid()))
    wait_for("the restart", lambda: host.restarts() == restarts + 1 and host.active(), 15)
    wait_for("a good pass", host.passed, 30)
    assert host.traits() == before


def test_b74_a_slow_libvirt_does_not_starve_the_watchdog(host: Host) -> None:
    """Calls of 8 s under a watchdog of 2 s: the step in hand is within its limit, so it lives."""
    drop_in = "/etc/systemd/system/capd.service.d/watchdog.conf"
    host.machine.write(drop_in, "[Service]\nWatchdogSec=2\nRestartSec=1\n")
    host.machine.run("systemctl", "daemon-reload")
    host.configure("[libvirt]\ncall_timeout = 20\nconnect_timeout = 20")
    host.fresh()
    assert host.machine.property("WatchdogUSec") == "2s"
    pid = host.pid()
    daemon = host.daemon()
    host.machine.run("kill", "-STOP", daemon)
    time.sleep(8)
    host.machine.run("kill", "-CONT", daemon)
    assert (host.pid(), host.active()) == (pid, True)
    wait_for("a good pass", host.passed, 40)
    assert host.pid() == pid


def test_b76_a_hung_daemon_is_killed_by_the_watchdog(host: Host) -> None:
    """Stopped in the middle, it pings no more; systemd wakes it with SIGABRT and restarts it."""
    machine, before = host.machine, host.traits()
    host.configure()
    host.fresh()
    restarts, begun = host.restarts(), time.monotonic()
    machine.run("kill", "-STOP", str(host.pid()))
    wait_for("the watchdog", lambda: host.restarts() > restarts, 40)
    print(f"{machine.suite}: hung daemon killed after {time.monotonic() - begun:.0f} s")
    wait_for("recovery", lambda: host.active() and host.passed(), 60)
    text = machine.journal()
    assert "Watchdog timeout" in text
    assert "Fatal Python error: Aborted" in text
    assert "capd/daemon.py" in text  # the stacks say where it was
    assert host.traits() == before


_DEAD_MOUNT = """
import os, time
real = os.stat
def dead(path, *arguments, **options):
    while str(path) == "/usr/bin/qemu-system-x86_64" and os.path.exists("/opt/hang/dead"):
        time.sleep(0.1)
    return real(path, *arguments, **options)
os.stat = dead
"""


def test_b76_a_hung_pass_is_killed_by_the_watchdog(host: Host) -> None:
    """A worker that hangs ends the pings once the step's limit is over; systemd restarts it.

    A file system that no longer answers (NFS whose server is gone) holds a stat() for ever, and
    no deadline of capd's own covers that; `_DEAD_MOUNT` is such a stat().
    """
    machine, before = host.machine, host.traits()
    machine.run("install", "-d", "/opt/hang")
    machine.write("/opt/hang/sitecustomize.py", _DEAD_MOUNT)
    drop_in = "/etc/systemd/system/capd.service.d/hang.conf"
    machine.write(drop_in, "[Service]\nEnvironment=PYTHONPATH=/opt/hang\n")
    machine.run("systemctl", "daemon-reload")
    host.fresh()
    restarts, begun = host.restarts(), time.monotonic()
    machine.run("touch", "/opt/hang/dead")
    wait_for("the watchdog", lambda: host.restarts() > restarts, 60)
    print(f"{machine.suite}: hung pass killed after {time.monotonic() - begun:.0f} s")
    machine.run("rm", "/opt/hang/dead")
    wait_for("recovery", lambda: host.active() and host.passed(), 60)
    text = machine.journal()
    assert "Watchdog timeout" in text
    assert "/opt/hang/sitecustomize.py" in text  # the stacks name the culprit
    assert host.traits() == before
    machine.run("rm", "-r", "/etc/systemd/system/capd.service.d", "/opt/hang")
    machine.run("systemctl", "daemon-reload")


@pytest.mark.parametrize("state", ["idle", "first pass", "libvirt hangs", "placement hangs"])
def test_it_stops_in_under_5_s(host: Host, state: str) -> None:
    host.configure()
    host.fresh()
    daemon = host.daemon()
    if state == "first pass":
        host.machine.run("systemctl", "restart", "capd")
    if state == "libvirt hangs":
        host.machine.run("kill", "-STOP", daemon)
        time.sleep(4)
    if state == "placement hangs":
        import socket

        with socket.socket() as mute:
            mute.bind(("127.0.0.1", free_port()))
            mute.listen(16)
            host.configure(
                placement="[placement]\nauth_type = admin_token\ntoken = admin\n"
                f"endpoint = http://127.0.0.1:{mute.getsockname()[1]}\n"
            )
            host.machine.run("systemctl", "restart", "capd")
            wait_for("the report", lambda: "reporting to Placement" in host.status(), 20)
            seconds = host.stop()
    else:
        seconds = host.stop()
    host.machine.run("kill", "-CONT", daemon)
    print(f"{host.machine.suite}: stopped in {seconds:.1f} s, {state}")
    assert seconds < 5
    assert host.machine.property("Result") == "success"


def test_it_starts_before_libvirt_and_before_the_control_plane(host: Host) -> None:
    """Ordered after libvirt, requiring nothing: it waits, and recovers without a restart."""
    sockets = ["libvirtd.socket", "libvirtd-ro.socket", "libvirtd-admin.socket"]
    host.machine.run("systemctl", "stop", "libvirtd.service", *sockets)
    before, port = host.traits(), free_port()
    host.configure(
        placement="[placement]\nauth_type = admin_token\ntoken = admin\n"
        f"endpoint = http://127.0.0.1:{port}\n"
    )
    host.machine.run("systemctl", "restart", "capd")
    wait_for("the status", lambda: "libvirt fails: " in host.status(), 20)
    assert host.active()
    host.machine.run("systemctl", "start", "libvirtd.socket", "libvirtd.service")
    wait_for("the status", lambda: "placement fails: " in host.status(), 30)
    pid = host.pid()
    host.configure()
    host.machine.run("systemctl", "reload", "capd")
    wait_for("a good pass", host.passed, 30)
    assert (host.pid(), host.traits()) == (pid, before)


def test_a_package_of_qemu_that_changes_is_noticed_at_once(host: Host) -> None:
    """B72: an emulator's file changes; the pass comes long before the interval is over."""
    host.machine.write(
        "/etc/capd/capd.conf", host.text().replace("interval = 2", "interval = 600"), 0o640
    )
    host.fresh()
    time.sleep(1)
    first = host.status()
    host.machine.run("touch", "/usr/bin/qemu-system-x86_64")
    wait_for("a pass", lambda: host.status() != first and host.passed(), 30)
    host.configure()


def test_credential_of_systemd_is_read(host: Host) -> None:
    secret = host.placement.snippet
    host.machine.write("/etc/capd-placement.conf", secret, 0o600)
    host.machine.write(
        "/etc/systemd/system/capd.service.d/credential.conf",
        "[Service]\nLoadCredential=placement.conf:/etc/capd-placement.conf\n",
    )
    host.machine.write("/etc/capd/capd.conf", host.text().replace(secret, "[placement]\n"), 0o640)
    host.machine.run("systemctl", "daemon-reload")
    host.fresh()
    assert "token" not in host.machine.run("cat", "/etc/capd/capd.conf")
    host.machine.run("rm", "-r", "/etc/systemd/system/capd.service.d")
    host.machine.run("systemctl", "daemon-reload")
    host.configure()
    host.fresh()


def test_password_that_all_can_read_is_refused_without_a_crash_loop(host: Host) -> None:
    host.machine.run("chmod", "0755", "/etc/capd")
    host.configure(mode=0o644)
    host.machine.call("systemctl", "restart", "capd")
    wait_for("the end", lambda: host.machine.property("ActiveState") == "failed", 15)
    time.sleep(4)
    assert host.machine.property("ExecMainStatus") == "2"
    assert host.machine.property("ActiveState") == "failed"
    assert "holds [placement] token and can be read by every user" in host.machine.journal()
    host.machine.run("chmod", "0750", "/etc/capd")
    host.configure()
    host.fresh()


def test_access_control_rules_let_capd_work_and_nothing_more(host: Host) -> None:
    machine = host.machine
    if machine.suite == "bullseye":
        pytest.skip("polkit 0.105 of Debian 11 knows no rules files")
    machine.write("/etc/libvirt/libvirtd.conf", 'access_drivers = [ "polkit" ]\n')
    rules = (REPOSITORY / "systemd" / "polkit" / "access-control.rules").read_text()
    machine.write("/etc/polkit-1/rules.d/40-capd-access.rules", rules)
    guest = "<memory>65536</memory><os><type>hvm</type></os>"
    machine.write("/root/guest.xml", f"<domain type='qemu'><name>g</name>{guest}</domain>")
    machine.run("virsh", "define", "/root/guest.xml")
    machine.run("systemctl", "restart", "libvirtd")
    host.fresh()
    assert host.reported()

    def virsh(*command: str) -> subprocess.CompletedProcess[str]:
        as_capd = ("runuser", "-u", "capd", "--", "virsh", "-c", "qemu:///system")
        return machine.call(*as_capd, *command)

    assert "g" in virsh("list", "--all", "--name").stdout.split()
    assert virsh("dumpxml", "g").returncode == 0
    for refused in (["start", "g"], ["undefine", "g"], ["define", "/dev/stdin"], ["net-list"],
                    ["pool-list"], ["dumpxml", "--security-info", "g"]):  # fmt: skip
        done = virsh(*refused)
        if refused[0] in ("net-list", "pool-list"):
            assert len(done.stdout.split("\n---")) <= 2, refused
            continue
        assert done.returncode != 0, refused
    machine.run("virsh", "undefine", "g")
    machine.run("rm", "/etc/polkit-1/rules.d/40-capd-access.rules")
    machine.write("/etc/libvirt/libvirtd.conf", "")
    machine.run("systemctl", "restart", "libvirtd")
    host.fresh()


def test_upgrade_restarts_and_keeps_configuration_state_and_traits(host: Host) -> None:
    before, pid = host.traits(), host.pid()
    conf = host.machine.run("cat", "/etc/capd/capd.conf")
    output = host.machine.install(host.newer)
    assert "Setting up capd (0.1.1)" in output
    assert host.traits() == before
    wait_for("a good pass", lambda: host.active() and host.passed(), 40)
    assert host.pid() != pid
    assert host.machine.run("cat", "/etc/capd/capd.conf") == conf
    assert host.machine.run("stat", "-c", "%U %a", "/var/lib/capd/capd.db") == "capd 600"
    assert host.traits() == before


def test_remove_keeps_traits_and_purge_leaves_nothing(host: Host) -> None:
    machine, before = host.machine, host.traits()
    machine.run("dpkg", "-r", "capd")
    assert host.traits() == before
    assert machine.call("test", "-e", "/var/lib/capd/capd.db").returncode == 0
    machine.run("dpkg", "-P", "capd")
    left = machine.run(
        "find", "/etc", "/usr", "/var/lib", "/run/systemd", "-name", "*capd*",
        "-not", "-path", "/etc/capd-placement.conf",
    )  # fmt: skip
    assert left == ""
    assert machine.call("id", "capd").returncode != 0
    assert machine.run("dpkg", "--audit") == ""
    assert machine.call("systemctl", "is-system-running").stdout.strip() == "running"
