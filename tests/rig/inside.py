"""First processes in a private libvirtd's namespaces: make the mounts, start libvirtd on demand.

Run by `tests.rig.libvirtd` under `unshare --mount --net --pid --fork --kill-child`. It reads one
order per line on standard input and answers each with one line; when standard input ends (the
test process is gone, however it went) it exits, and the kernel ends everything in the namespace
with it: libvirtd, guests, swtpm.

    start ARGUMENT...    start libvirtd
    signal NAME          send SIGNAME to libvirtd
    wait                 wait for libvirtd to end
    running              is libvirtd running
    kvm usable|unusable|absent     what /dev/kvm is from now on
    run JSON             run a command in the namespace; answers JSON [code, out, err]
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
KVM_DEVICE = (10, 232)

#: our directory under the root to the place where libvirtd looks
PLACES = {
    "run": "/run/libvirt",
    "lib": "/var/lib/libvirt",
    "cache": "/var/cache/libvirt",
    "log": "/var/log/libvirt",
    "etc": "/etc/libvirt",
}

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    done = _libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode())
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {source} on {target}: {os.strerror(number)}")


def private_sysfs(staging: Path) -> None:
    """A /sys that shows the network devices of this namespace and no others."""
    mount("sysfs", str(staging), "sysfs", 0)
    if Path("/sys/fs/cgroup").is_dir() and (staging / "fs" / "cgroup").is_dir():
        mount("/sys/fs/cgroup", str(staging / "fs" / "cgroup"), "", MS_BIND | MS_REC)
    mount(str(staging), "/sys", "", MS_BIND | MS_REC)


def prepare(root: Path) -> None:
    """Private /proc, /dev and libvirt directories."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", 0)
    private_sysfs(root / "sys")
    for name, place in PLACES.items():
        Path(place).mkdir(parents=True, exist_ok=True)
        mount(str(root / name), place, "", MS_BIND)
    devices = root / "dev"
    mount("tmpfs", str(devices), "tmpfs", 0, "mode=0755")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        target = devices / name
        target.touch()
        mount(f"/dev/{name}", str(target), "", MS_BIND)
    for name in ("shm", "pts", "net"):
        source = Path("/dev") / name
        if source.is_dir():
            (devices / name).mkdir()
            mount(str(source), str(devices / name), "", MS_BIND | MS_REC)
    for name, points_to in (
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        (devices / name).symlink_to(points_to)
    mount(str(devices), "/dev", "", MS_BIND | MS_REC)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False, capture_output=True)


def kvm(state: str) -> str:
    """Make /dev/kvm usable by all, by root alone, or absent."""
    node = Path("/dev/kvm")
    if state == "absent":
        node.unlink(missing_ok=True)
        return "done"
    if not node.exists():
        os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(*KVM_DEVICE))
    node.chmod(0o666 if state == "usable" else 0o600)
    return "done"


class Init:
    """Keeps at most one libvirtd and answers orders."""

    def __init__(self) -> None:
        self.daemon: subprocess.Popen[bytes] | None = None

    def order(self, line: str) -> str:
        """Carry out one order; the answer is one line."""
        verb, _, rest = line.partition(" ")
        if verb == "start":
            return self._start(json.loads(rest))
        if verb == "signal":
            if not self._running():
                return "not running"
            assert self.daemon is not None
            self.daemon.send_signal(signal.Signals[f"SIG{rest}"])
            return "done"
        if verb == "wait":
            if self.daemon is not None:
                self.daemon.wait()
            return "done"
        if verb == "running":
            return "yes" if self._running() else "no"
        if verb == "kvm":
            return kvm(rest)
        if verb == "run":
            done = subprocess.run(
                json.loads(rest), capture_output=True, text=True, stdin=subprocess.DEVNULL
            )
            return json.dumps([done.returncode, done.stdout, done.stderr])
        return f"unknown order {verb}"

    def _running(self) -> bool:
        return self.daemon is not None and self.daemon.poll() is None

    def _start(self, command: list[str]) -> str:
        if self._running():
            return "running already"
        self.daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        return "done"


def reap_until(worker: int) -> int:
    """As process 1: collect every orphan (libvirt waits for them to go) until `worker` ends."""
    while True:
        pid, status = os.wait()
        if pid == worker:
            return os.waitstatus_to_exitcode(status)


def main() -> int:
    """Serve orders until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    prepare(Path(sys.argv[1]))
    worker = os.fork()
    if worker:
        return reap_until(worker)
    init = Init()
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            answer = init.order(line.rstrip("\n"))
        except (OSError, ValueError, KeyError) as error:
            answer = f"failed: {error}"
        print(answer, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
