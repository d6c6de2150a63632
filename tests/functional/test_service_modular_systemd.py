"""The package on real systemd with modular libvirt: virtqemud under its own units and sockets.

Debian's trees get the virtqemud that `tests/rig/virtqemud` built from the source of their own
libvirt, with upstream's units: the sockets are open to all and polkit decides, as on Fedora and
CentOS. One machine lives through the tests in their order. Skipped where it was not built.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.test_service_systemd import EXPECTED, FOREIGN, Host
from tests.rig import nspawn
from tests.rig.base import REPOSITORY, Unavailable, wait_for
from tests.rig.nspawn import Machine
from tests.rig.placement import Placement

SUITES = os.environ.get("CAPD_SUITES", "bookworm trixie").split()

MODULAR = ["virtqemud.socket", "virtqemud-ro.socket", "virtqemud-admin.socket"]
MONOLITHIC = ["libvirtd.socket", "libvirtd-ro.socket", "libvirtd-admin.socket"]

pytestmark = pytest.mark.timeout(900)


def _package(directory: Path) -> Path:
    done = subprocess.run(
        [str(REPOSITORY / "packaging" / "deb"), str(directory)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def to_modular(machine: Machine) -> None:
    """What an operator does: libvirtd and its sockets off, virtqemud's on."""
    machine.run("systemctl", "-q", "disable", "--now", "libvirtd.service", *MONOLITHIC)
    machine.run("systemctl", "-q", "enable", "--now", *MODULAR)


def to_monolithic(machine: Machine) -> None:
    """And back."""
    machine.run("systemctl", "-q", "disable", "--now", "virtqemud.service", *MODULAR)
    machine.run("systemctl", "-q", "enable", "--now", *MONOLITHIC)


@pytest.fixture(scope="module", params=SUITES)
def host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, placement: Placement
) -> Iterator[Host]:
    machine = Machine(request.param, kvm=request.param != "bullseye")
    try:
        nspawn.virtqemud(request.param)
        machine.start()
        machine.install_virtqemud()
    except Unavailable as reason:
        machine.stop()
        pytest.skip(str(reason))
    try:
        to_modular(machine)
        name = f"modular-{request.param}-{os.getpid()}"
        provider = placement.client.create_provider(name, traits=sorted(FOREIGN))
        package = _package(tmp_path_factory.mktemp("packages"))
        yield Host(machine, placement, provider, name, package, package)
    finally:
        machine.stop()


def restart(machine: Machine, *units: str) -> None:
    """However often that was done in the last seconds."""
    machine.call("systemctl", "reset-failed", *units)
    machine.run("systemctl", "restart", *units)


def virtqemud(host: Host) -> tuple[str, int]:
    """Its state and process id."""
    unit = "virtqemud.service"
    return host.machine.property("ActiveState", unit), int(host.machine.property("MainPID", unit))


def removed(host: Host) -> list[str]:
    """What the journal says that went."""
    return [
        str(entry["MESSAGE"])
        for entry in host.journal()
        if "CAPD_TRAIT" in entry and not str(entry["MESSAGE"]).startswith("added ")
    ]


def patient(host: Host, extra: str = "") -> None:
    """An interval so long that whatever comes soon was not waited for."""
    text = host.text(extra).replace("interval = 2", "interval = 600")
    host.machine.write("/etc/capd/capd.conf", text, 0o640)
    host.fresh()


def last_pass(host: Host) -> str:
    """When the last good pass ended, by the clock; empty while one runs or something fails."""
    found = re.match(r"last good pass (\d\d:\d\d:\d\d);", host.status())
    return found.group(1) if found and host.passed() and "; now: " not in host.status() else ""


def another_pass(host: Host, act: list[str]) -> float:
    """Do this; the seconds until a good pass after it has ended."""
    first = wait_for("rest", lambda: last_pass(host), 20)
    time.sleep(1.1)
    begun = time.monotonic()
    host.machine.run(*act)
    wait_for("a pass", lambda: last_pass(host) not in ("", first), 40)
    return time.monotonic() - begun


def test_installed_on_a_modular_host_it_reports(host: Host) -> None:
    """Its first connection starts virtqemud by the socket; libvirtd stays out of it."""
    assert virtqemud(host) == ("inactive", 0)
    begun = time.monotonic()
    host.machine.install(host.package)
    wait_for("the service", host.active, 5)
    print(f"{host.machine.suite}: active {time.monotonic() - begun:.1f} s after dpkg began")
    host.configure()
    host.fresh()
    wait_for("traits", host.reported, 30)
    assert host.traits() >= EXPECTED | FOREIGN
    assert virtqemud(host)[0] == "active"
    assert host.machine.property("ActiveState", "libvirtd.service") == "inactive"
    assert host.machine.run("ps", "-o", "user=", "-p", str(host.pid())) == "capd"
    print(f"{host.machine.suite}: {len(host.traits())} traits")


def test_ordered_after_both_and_requiring_neither(host: Host) -> None:
    after = host.machine.property("After").split()
    daemons = {f"{name}.{kind}" for name in ("libvirtd", "virtqemud", "virtproxyd")
               for kind in ("service", "socket")}  # fmt: skip
    assert daemons <= set(after)
    for name in ("Requires", "Requisite", "BindsTo", "Wants", "PartOf"):
        assert not daemons & set(host.machine.property(name).split()), name


def test_check_names_the_kind_and_starts_no_other_daemon(host: Host) -> None:
    """Where libvirtd's socket listens, too, a connection to it would end virtqemud."""
    machine = host.machine
    both = machine.suite in ("bullseye", "bookworm")  # later units exclude each other's sockets
    if both:
        machine.run("systemctl", "start", "libvirtd.socket")
    before = virtqemud(host)
    done = machine.call("capd", "--check", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["ok"]) == (0, True), result
    version = machine.run("virtqemud", "--version").split()[-1]
    texts = [row["text"] for row in result["checks"] if row["check"] == "libvirt"]
    assert texts[0] == f"modular virtqemud, {version}, at qemu:///system"
    assert virtqemud(host) == before
    assert machine.property("ActiveState", "libvirtd.service") == "inactive"
    if both:  # the trap itself; capd, on its default URI, brings virtqemud back
        machine.run("virsh", "-c", "qemu:///system?mode=legacy", "uri")
        assert virtqemud(host) != before
        wait_for("virtqemud", lambda: virtqemud(host)[0] == "active", 20)
        wait_for("a good pass", lambda: last_pass(host), 30)
        assert machine.property("ActiveState", "libvirtd.service") == "inactive"
        machine.run("systemctl", "stop", *MONOLITHIC)


def test_group_or_polkit_rule_is_enough_and_none_is_refused(host: Host) -> None:
    machine = host.machine
    if machine.suite == "bullseye":
        pytest.skip("Debian 11's polkit reads no rules: the group it is")
    rule = "/usr/share/polkit-1/rules.d/50-capd.rules"

    def start() -> None:
        restart(machine, "polkit")
        machine.run("systemctl", "restart", "capd")

    machine.run("mv", rule, "/root/rule")  # the group alone
    start()
    wait_for("a good pass by the group", host.passed, 30)
    machine.run("gpasswd", "-d", "capd", "libvirt")  # neither
    start()
    wait_for("the refusal", lambda: "libvirt fails: " in host.status(), 30)
    assert "authentication" in host.status() or "access denied" in host.status()
    assert "let capd's user use libvirt: see docs/security.md" in host.machine.journal()
    assert host.traits() >= EXPECTED | FOREIGN
    machine.run("mv", "/root/rule", rule)  # the rule alone
    start()
    wait_for("a good pass by the rule", host.passed, 30)
    machine.run("gpasswd", "-a", "capd", "libvirt")
    start()
    wait_for("a good pass by both", host.passed, 30)


def test_access_control_rules_hold_for_virtqemud(host: Host) -> None:
    """docs/security.md with virtqemud.conf in the place of libvirtd.conf."""
    machine = host.machine
    if machine.suite == "bullseye":
        pytest.skip("Debian 11's polkit reads no rules")
    rules = (REPOSITORY / "systemd" / "polkit" / "access-control.rules").read_text()
    machine.write("/etc/polkit-1/rules.d/40-capd-access.rules", rules)
    machine.write("/etc/libvirt/virtqemud.conf", 'access_drivers = [ "polkit" ]\n')
    machine.write(
        "/root/guest.xml",
        "<domain type='qemu'><name>g</name><memory>65536</memory><os><type>hvm</type></os>"
        "</domain>",
    )
    machine.run("virsh", "-c", "qemu:///system", "define", "/root/guest.xml")
    restart(machine, "polkit", "virtqemud")
    host.fresh()
    assert host.reported()
    as_capd = ("runuser", "-u", "capd", "--", "virsh", "-c", "qemu:///system")
    assert machine.run(*as_capd, "list", "--all", "--name").split() == ["g"]
    for refused in (["start", "g"], ["undefine", "g"], ["dumpxml", "--security-info", "g"]):
        done = machine.call(*as_capd, *refused)
        assert (done.returncode, "access denied" in done.stderr) == (1, True), refused
    machine.run("virsh", "-c", "qemu:///system", "undefine", "g")
    machine.run("rm", "/etc/polkit-1/rules.d/40-capd-access.rules", "/etc/libvirt/virtqemud.conf")
    restart(machine, "polkit", "virtqemud")
    host.fresh()


def test_restart_is_seen_at_once(host: Host) -> None:
    patient(host)
    before, pid, was = host.traits(), host.pid(), virtqemud(host)[1]
    seconds = another_pass(host, ["systemctl", "restart", "virtqemud"])
    assert virtqemud(host)[0] == "active"
    assert virtqemud(host)[1] not in (0, was)
    print(f"{host.machine.suite}: good pass {seconds:.1f} s after a restart began")
    assert seconds < 15
    assert (host.pid(), host.traits()) == (pid, before)


def test_stopped_alone_it_is_started_again_by_its_socket(host: Host) -> None:
    """systemctl says so itself: the service can still be activated by its sockets."""
    before, pid = host.traits(), host.pid()
    seconds = another_pass(host, ["systemctl", "stop", "virtqemud.service"])
    assert virtqemud(host)[0] == "active"
    print(f"{host.machine.suite}: good pass {seconds:.1f} s after a stop")
    assert (host.pid(), host.traits()) == (pid, before)


def test_stopped_with_its_sockets_all_is_kept_until_it_is_back(host: Host) -> None:
    host.configure()
    host.fresh()
    before, pid = host.traits(), host.pid()
    host.machine.run("systemctl", "stop", "virtqemud.service", *MODULAR)
    wait_for("the status", lambda: "libvirt fails: " in host.status(), 20)
    time.sleep(6)  # some passes without libvirt
    assert (host.pid(), host.active(), host.traits()) == (pid, True, before)
    assert "virtqemud.socket where libvirt is modular" in host.machine.journal()
    done = host.machine.call("capd", "--check")
    assert done.returncode == 1
    left = (
        "/run/libvirt/virtqemud-sock (dead)" if host.machine.suite == "bullseye" else "none found"
    )
    assert f"sockets: {left}" in done.stdout
    host.machine.run("systemctl", "start", *MODULAR)
    wait_for("a good pass", host.passed, 30)
    assert (host.pid(), host.traits()) == (pid, before)


def test_time_out_while_connected_and_after(host: Host) -> None:
    """--timeout 120 in the units as shipped, 3 here: capd's connection keeps virtqemud up; alone
    it ends by itself, and whoever comes next starts it again.
    """
    machine, before = host.machine, host.traits()
    unit = Path("/usr/lib/systemd/system/virtqemud.service")
    shipped = '"--timeout 120"' in machine.run("cat", str(unit))
    assert shipped is (machine.suite != "bullseye")  # libvirt 7.0 sets none
    drop_in = "/etc/systemd/system/virtqemud.service.d/timeout.conf"
    machine.write(drop_in, '[Service]\nEnvironment=VIRTQEMUD_ARGS="--timeout 3"\n')
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "virtqemud")
    host.fresh()
    was = virtqemud(host)
    time.sleep(10)
    assert (virtqemud(host), host.passed()) == (was, True)
    host.stop()
    begun = time.monotonic()
    wait_for("its end", lambda: virtqemud(host) == ("inactive", 0), 20)
    print(f"{machine.suite}: ended {time.monotonic() - begun:.1f} s after capd stopped")
    assert machine.property("Result", "virtqemud.service") == "success"
    done = machine.call("capd", "--dump", "--json")
    assert done.returncode == 0, done.stderr
    wait_for("its end", lambda: virtqemud(host) == ("inactive", 0), 20)
    machine.run("systemctl", "start", "capd")
    wait_for("a good pass", host.passed, 30)
    assert virtqemud(host)[0] == "active"
    assert host.traits() == before
    machine.run("rm", "-r", str(Path(drop_in).parent))
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "virtqemud")


def test_restarted_many_times_nothing_leaks(host: Host) -> None:
    host.configure()
    host.fresh()
    before, pid = host.traits(), str(host.pid())

    def resources() -> tuple[int, int]:
        directory = f"/proc/{pid}"
        return tuple(  # type: ignore[return-value]
            len(host.machine.run("ls", f"{directory}/{name}").split()) for name in ("fd", "task")
        )

    samples = []
    for turn in range(12):
        if turn % 3 == 2:
            host.machine.run("kill", "-9", str(virtqemud(host)[1]))
            time.sleep(0.5)
        else:
            host.machine.call("systemctl", "reset-failed", "virtqemud")
            another_pass(host, ["systemctl", "restart", "virtqemud"])
        wait_for("a good pass", host.passed, 40)
        wait_for("rest", lambda: "; now: " not in host.status(), 20)
        samples.append(resources())
    print(f"{host.machine.suite}: descriptors and threads {samples}")
    assert max(samples[6:]) <= max(samples[:6])
    assert max(samples)[0] - min(samples)[0] <= 1  # Placement's connection comes and goes
    assert (str(host.pid()), host.traits()) == (pid, before)


def test_by_way_of_virtproxyd(host: Host) -> None:
    """What an old URI leads to on a modular host; a restart behind the proxy is noticed, too."""
    machine, before = host.machine, host.traits()
    machine.run("systemctl", "start", "virtproxyd.socket")
    patient(host, "[libvirt]\nconnection_uri = qemu:///system?mode=legacy")
    assert machine.property("ActiveState", "virtproxyd.service") == "active"
    assert host.reported()
    checks = json.loads(machine.call("capd", "--check", "--json").stdout)["checks"]
    (text,) = [row["text"] for row in checks if row["text"].startswith("virtproxyd")]
    assert text.startswith("virtproxyd or monolithic libvirtd, ")
    for turn in range(3):
        seconds = another_pass(host, ["systemctl", "restart", "virtqemud"])
        print(f"{machine.suite}: {turn}, good pass {seconds:.1f} s after, by the proxy")
        assert virtqemud(host)[0] == "active"
        assert host.traits() == before
    host.configure()
    host.fresh()
    machine.run("systemctl", "stop", "virtproxyd.service", "virtproxyd.socket",
                "virtproxyd-ro.socket", "virtproxyd-admin.socket")  # fmt: skip


def test_a_virtqemud_that_cannot_start_is_waited_for(host: Host) -> None:
    """A broken virtqemud.conf, repaired: the same process of capd, every trait."""
    machine, before, pid = host.machine, host.traits(), host.pid()
    machine.write("/etc/libvirt/virtqemud.conf", "auth_unix_rw = [\n")
    machine.call("systemctl", "restart", "virtqemud")
    wait_for("the status", lambda: "libvirt fails: " in host.status(), 30)
    time.sleep(8)
    print(f"{machine.suite}: {host.status()}; {machine.property('Result', 'virtqemud.socket')}")
    assert (host.pid(), host.active(), host.traits()) == (pid, True, before)
    machine.run("rm", "/etc/libvirt/virtqemud.conf")
    machine.run("systemctl", "reset-failed", "virtqemud.service", "virtqemud.socket")
    machine.run("systemctl", "start", *MODULAR)
    wait_for("a good pass", host.passed, 30)
    assert (host.pid(), host.traits()) == (pid, before)


def test_moved_to_monolithic_and_back_under_a_running_capd(host: Host) -> None:
    machine, before, pid = host.machine, host.traits(), host.pid()
    for move, unit in ((to_monolithic, "libvirtd"), (to_modular, "virtqemud")):
        begun = time.monotonic()
        move(machine)
        moved = time.monotonic() - begun
        wait_for(unit, lambda unit=unit: machine.property("ActiveState", unit) == "active", 30)
        first = last_pass(host)
        wait_for("a good pass", lambda first=first: last_pass(host) not in ("", first), 30)
        seconds = time.monotonic() - begun - moved
        print(f"{machine.suite}: on {unit} in {moved:.1f} s, good pass {seconds:.1f} s later")
        assert (host.pid(), host.traits()) == (pid, before)


def test_nothing_ever_went(host: Host) -> None:
    assert removed(host) == []
    assert host.restarts() == 0
    assert "Traceback" not in host.machine.journal()
