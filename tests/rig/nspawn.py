"""A real systemd: a Debian tree booted in systemd-nspawn, on an overlay that is thrown away.

with Machine("bookworm") as machine:
    machine.install(deb)
    assert machine.run("systemctl", "is-active", "capd") == "active"

The machine shares the host's network, so that a Placement on 127.0.0.1 is reachable from inside,
and nothing else: its files, processes and journal are its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from tests.rig.base import (
    CACHE,
    REPOSITORY,
    Broken,
    Unavailable,
    need_root,
    program,
    remove,
    tail,
    temporary,
    wait_for,
)
from tests.rig.libvirtd import libvirt_package

TREES = CACHE / "trees"

#: what nsenter enters; the network is the host's in any case
_NAMESPACES = ("-m", "-u", "-i", "-n", "-p", "-C")


def tree(suite: str) -> Path:
    """The tree of a suite, built if it is not there (about a minute). Unavailable if it cannot."""
    need_root()
    program("debootstrap")
    done = subprocess.run(
        [str(REPOSITORY / "tests" / "rig" / "tree"), suite],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise Unavailable(f"no tree of {suite}: {done.stderr.strip()[-300:]}")
    return Path(done.stdout.strip().splitlines()[-1])


def virtqemud(suite: str) -> Path:
    """What `tests/rig/virtqemud` built for the libvirt in a suite's tree. Unavailable if not."""
    built = CACHE / "virtqemud" / libvirt_package(str(tree(suite)))
    if not (built / ".complete").exists():
        raise Unavailable(f"no {built} (make test-wide builds it with tests/rig/virtqemud)")
    return built / "usr"


_KVM = Path("/dev/kvm")


class Machine:
    """One booted tree. `kvm` binds the host's /dev/kvm into it."""

    def __init__(self, suite: str, kvm: bool = True) -> None:
        self.suite = suite
        self.kvm = kvm and _KVM.exists()
        self.root = Path()
        self.files = Path()
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._bus: Optional[int] = None
        self._init = 0

    def start(self) -> Machine:
        """Boot and wait until systemd has started everything it wants to."""
        lower = tree(self.suite)
        nspawn = program("systemd-nspawn")
        self.root = temporary("nspawn")
        try:
            self._mount(lower)
            command = [nspawn, "--register=no", "--keep-unit", "--quiet", "--boot"]
            command += [f"--machine=capd-{self.suite}", "--hostname=hypervisor"]
            command += [f"--directory={self.files}", "--link-journal=no", "--console=pipe"]
            if self.kvm:
                command += ["--bind=/dev/kvm"]
                _KVM.chmod(0o666)
            with (self.root / "console.log").open("wb") as console:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    env=self._environment(),
                    start_new_session=True,
                )
            self._init = wait_for(
                "systemd-nspawn", self._find_init, 20, self._alive, self.root / "console.log"
            )
            wait_for("boot", self._booted, 60, self._alive, self.root / "console.log")
            if self.kvm:
                # the node is the host's own, and udev inside gives it to a group of the tree
                _KVM.chmod(0o666)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Power off the hard way and throw everything away."""
        if self._process is not None:
            if self._init and self._alive():
                os.kill(self._init, 9)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._bus is not None:
            os.kill(self._bus, 15)
            self._bus = None
        if self.root != Path():
            for _ in range(50):
                done = subprocess.run(["umount", "-R", str(self.files)], capture_output=True)
                if done.returncode == 0 or not self.files.is_mount():
                    break
                time.sleep(0.1)
            subprocess.run(["umount", "-l", str(self.root / "layer")], capture_output=True)
            remove(self.root)

    def __enter__(self) -> Machine:
        return self.start()

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()

    # -- use

    def call(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program inside; its result, whatever it is."""
        enter = ["nsenter", "-t", str(self._init), *_NAMESPACES]
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
        }
        return subprocess.run(
            [*enter, *command],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=options.pop("timeout", 120),
            env=environment,
        )

    def run(self, *command: str) -> str:
        """Run a program inside; its output without the last line break. Broken if it fails."""
        done = self.call(*command)
        if done.returncode != 0:
            raise Broken(
                f"{' '.join(command)}: exit {done.returncode}: {done.stdout}{done.stderr}"
            )
        return done.stdout.rstrip("\n")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file inside, owner and group as they were. Not under /run or /tmp: those are
        the machine's own mounts.
        """
        target = self.files / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def install(self, deb: Path) -> str:
        """Install a package file with dpkg; its output. Broken if dpkg is not content."""
        shutil.copy(deb, self.files / "root" / deb.name)
        return self.run("dpkg", "--force-confold", "-i", f"/root/{deb.name}")

    def install_virtqemud(self) -> None:
        """Put virtqemud, as built for this suite, and its units beside libvirtd; enable none."""
        shutil.copytree(virtqemud(self.suite), self.files / "usr", dirs_exist_ok=True)
        self.run("systemctl", "daemon-reload")

    def property(self, name: str, unit: str = "capd.service") -> str:
        """One property of a unit, as `systemctl show` gives it."""
        return self.run("systemctl", "show", "-P", name, unit)

    def journal(self, *match: str, unit: str = "capd.service") -> str:
        """What the unit logged, as text."""
        return self.call("journalctl", "-q", "--no-pager", "-o", "cat", "-u", unit, *match).stdout

    # -- within

    def _mount(self, lower: Path) -> None:
        layer = self.root / "layer"
        layer.mkdir()
        self._done(["mount", "-t", "tmpfs", "-o", "size=1g,mode=0755", "tmpfs", str(layer)])
        self.files = self.root / "files"
        self.files.mkdir()
        for name in ("upper", "work"):
            (layer / name).mkdir(mode=0o755)
        options = f"lowerdir={lower},upperdir={layer}/upper,workdir={layer}/work"
        self._done(["mount", "-t", "overlay", "overlay", "-o", options, str(self.files)])
        (self.files / "etc" / "hostname").write_text("hypervisor\n")

    def _done(self, command: Sequence[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"{' '.join(command)}: {done.stderr.strip()}")

    def _start_bus(self) -> str:
        """A system bus of our own for nspawn; the host may have none."""
        address = f"unix:path={self.root}/bus"
        daemon = [program("dbus-daemon"), "--system", "--fork", "--nopidfile", "--print-pid"]
        done = subprocess.run(
            [*daemon, f"--address={address}"], capture_output=True, text=True, timeout=20
        )
        if done.returncode != 0:
            raise Unavailable(f"dbus-daemon: {done.stderr.strip()}")
        self._bus = int(done.stdout.split()[0])
        return address

    def _environment(self) -> dict[str, str]:
        """For nspawn. systemd 258 and later run on the unified hierarchy only, which nspawn gives
        where the host itself has the old one if it is told to.
        """
        env = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": self._start_bus()}
        if self.suite not in ("bullseye", "bookworm", "trixie"):
            env["SYSTEMD_NSPAWN_UNIFIED_HIERARCHY"] = "1"
        return env

    def _alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _find_init(self) -> int:
        """The machine's process 1, seen from here."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        for child in children.read_text().split():
            status = Path(f"/proc/{child}/status").read_text()
            spaces = next(line for line in status.splitlines() if line.startswith("NSpid:"))
            if spaces.split()[-1] == "1" and "systemd" in Path(f"/proc/{child}/comm").read_text():
                return int(child)
        return 0

    def _booted(self) -> bool:
        state = self.call("systemctl", "is-system-running").stdout.strip()
        if state == "degraded":
            failed = self.call("systemctl", "--failed", "--plain", "--no-legend").stdout
            raise Broken(f"{self.suite} booted with failed units: {failed}{self._console()}")
        return state == "running"

    def _console(self) -> str:
        return tail(self.root / "console.log")
