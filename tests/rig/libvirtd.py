"""A private libvirtd: its own namespaces, directories, /dev/kvm, emulators and socket.

    with Libvirtd(emulators=["x86_64"]) as daemon:
        capd --once with `[libvirt] connection_uri = {daemon.uri}`

It is Debian's own libvirtd and QEMU, or with `modular=True` the QEMU daemon of modular libvirt;
only what it sees is ours. The root directory
(`daemon.root`) is visible on both sides under the same path, so its socket and its emulators can
be used from outside. Guests are started as root with no confinement; the network namespace is
private, too, so user networking and tap devices are free to use.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from tests.rig.base import (
    CACHE,
    Broken,
    Unavailable,
    descendants,
    need_root,
    program,
    remove,
    tail,
    temporary,
    wait_for,
)

_INSIDE = Path(__file__).with_name("inside.py")

_QEMU_CONF = """\
user = "{user}"
group = "{group}"
dynamic_ownership = 1
remember_owner = 0
stdio_handler = "file"
security_driver = "none"
cgroup_controllers = [ ]
namespaces = [ ]
max_core = 0
"""

_LIBVIRTD_CONF = """\
auth_unix_rw = "none"
auth_unix_ro = "none"
unix_sock_rw_perms = "0777"
unix_sock_ro_perms = "0777"
log_level = 3
log_outputs = "3:file:/var/log/libvirt/{name}.log"
max_clients = 5000
max_workers = 20
{extra}
"""

#: binds a daemon's sockets and configuration to where clients look for them, for one program
_IN_PLACE = """
mkdir -p /run/libvirt /etc/libvirt
mount --bind "$0/run" /run/libvirt && mount --bind "$0/etc" /etc/libvirt && exec "$@"
"""

#: emulators that do not work, as scripts; `fakes` also takes texts of your own
CRASHES = "#!/bin/sh\nkill -SEGV $$\n"
JUNK = "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' '\\377'\necho '<<<'\n"
HANGS = "#!/bin/sh\nexec sleep 1000\n"


def wrapper(arch: str, on_device_help: str) -> str:
    """An emulator that libvirt can use but that does `on_device_help` (shell) when asked that."""
    real = f"/usr/bin/qemu-system-{arch}"
    return (
        "#!/bin/sh\n"
        'case "$*" in\n'
        f'*"-device help"*|*"-device ?"*) {on_device_help} ;;\n'
        "esac\n"
        f'exec {real} "$@"\n'
    )


def virtqemud() -> str:
    """Where modular libvirt's QEMU daemon is: $CAPD_VIRTQEMUD, installed, or built for the rig.

    Debian does not ship it. `tests/rig/virtqemud` builds it for the libvirt of one suite, which is
    good here if this machine has the same version.
    """
    given = os.environ.get("CAPD_VIRTQEMUD")
    if given:
        if os.access(given, os.X_OK):
            return given
        raise Unavailable(f"CAPD_VIRTQEMUD={given} is no program")
    try:
        return program("virtqemud")
    except Unavailable:
        built = CACHE / "virtqemud" / libvirt_package() / "usr" / "sbin" / "virtqemud"
        if built.exists():
            return str(built)
    raise Unavailable(
        f"no virtqemud: not installed, CAPD_VIRTQEMUD not set, no {built} "
        "(make test-wide builds it with tests/rig/virtqemud)"
    )


def libvirt_package(root: str = "/") -> str:
    """The source version of libvirt's Debian package under `root`, `unknown` if there is none."""
    database = f"--admindir={Path(root) / 'var/lib/dpkg'}"
    query = ["dpkg-query", database, "-W", "-f", "${source:Version}", "libvirt0"]
    try:
        done = subprocess.run(query, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


class Libvirtd:
    """One private libvirtd.

    `emulators`: architectures whose qemu-system-* it finds (default: all that are installed, at
    /usr/bin; otherwise links under `root/bin`). `fakes`: architecture to script text, put there
    as that emulator (mode 0755; a text of "" makes an empty file with mode 0644). `kvm`: what
    /dev/kvm is inside: usable, unusable (root's alone while QEMU runs as nobody), absent, or auto
    (usable where the machine has it).
    `warm`: begin with the emulator cache that earlier runs left. `user`: whom QEMU runs as.
    `modular`: virtqemud instead of libvirtd. `arguments`: more for its command line.
    """

    def __init__(
        self,
        *,
        emulators: Optional[Sequence[str]] = None,
        fakes: Optional[Mapping[str, str]] = None,
        kvm: str = "auto",
        warm: bool = True,
        user: Optional[str] = None,
        config: str = "",
        modular: bool = False,
        arguments: Sequence[str] = (),
    ) -> None:
        self.emulators = emulators
        self.modular = modular
        self.name = "virtqemud" if modular else "libvirtd"
        self.arguments = tuple(arguments)
        self.fakes = dict(fakes or {})
        if kvm == "auto":
            kvm = "usable" if Path("/dev/kvm").exists() else "absent"
        self.kvm = kvm
        self.warm = warm
        self.user = user or ("nobody" if kvm == "unusable" else "root")
        self.config = config
        self.root = Path()
        self._init: Optional[subprocess.Popen[str]] = None

    # -- where it is

    @property
    def socket(self) -> Path:
        """The read-write socket."""
        return self.root / "run" / ("virtqemud-sock" if self.modular else "libvirt-sock")

    @property
    def readonly_socket(self) -> Path:
        """The read-only socket."""
        return self.socket.with_name(f"{self.socket.name}-ro")

    @property
    def uri(self) -> str:
        """What to give `virsh -c` or `[libvirt] connection_uri`."""
        return f"qemu:///system?socket={self.socket}"

    @property
    def readonly_uri(self) -> str:
        """The same by way of the read-only socket."""
        return f"qemu:///system?socket={self.readonly_socket}"

    @property
    def snippet(self) -> str:
        """For a capd.conf."""
        return f"[libvirt]\nconnection_uri = {self.uri}\n"

    @property
    def in_place(self) -> tuple[str, ...]:
        """Put before a command: its clients find this daemon at /run/libvirt, as on a host."""
        unshare = ("unshare", "--mount", "--propagation", "private")
        return (*unshare, "sh", "-c", _IN_PLACE, str(self.root))

    @property
    def log(self) -> Path:
        """The daemon's own log."""
        return self.root / "log" / f"{self.name}.log"

    @property
    def bin(self) -> Path:
        """Where its emulators are, when they were chosen."""
        return self.root / "bin"

    @property
    def pid(self) -> Optional[int]:
        """libvirtd's process id outside, or None while it is not running."""
        if self._init is None or self._init.poll() is not None:
            return None
        for pid in descendants(self._init.pid):
            try:
                if Path(f"/proc/{pid}/comm").read_text().strip() == self.name:
                    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                    return None if state == "Z" else pid
            except OSError:
                continue
        return None

    # -- life

    def start(self) -> Libvirtd:
        """Start it and wait until it accepts connections."""
        need_root()
        daemon = virtqemud() if self.modular else program("libvirtd")
        if self.kvm != "absent" and not Path("/dev/kvm").exists():
            raise Unavailable("this machine has no /dev/kvm")
        self.root = temporary("libvirt")
        self.root.chmod(0o755)
        try:
            self._layout()
            command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
            with (self.root / "init.log").open("w") as stream:
                self._init = subprocess.Popen(
                    [*command, sys.executable, "-S", str(_INSIDE), str(self.root)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stream,
                    text=True,
                    env=self._environment(),
                    start_new_session=True,
                )
            if self._line() != "ready":
                raise Unavailable(f"no private namespaces here{tail(self.root / 'init.log')}")
            self.set_kvm(self.kvm)
            pid_file = f"/run/libvirt/{self.name}.pid"
            self._command = [daemon, "--pid-file", pid_file, *self.arguments]
            self.launch()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End libvirtd and every guest in its namespace; delete its directory."""
        if self._init is not None:
            self._keep_cache()
            assert self._init.stdin is not None
            try:
                self._init.stdin.close()
                self._init.wait(5)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                pass
            self._init.kill()
            self._init.wait()
            assert self._init.stdout is not None
            self._init.stdout.close()
            self._init = None
        if self.root != Path():
            remove(self.root)

    def __enter__(self) -> Libvirtd:
        return self.start()

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()

    # -- faults

    def launch(self) -> None:
        """Start libvirtd again after `kill`; guests of the earlier one live on."""
        self.socket.unlink(missing_ok=True)
        self._done(f"start {json.dumps(self._command)}")
        wait_for(
            self.name,
            lambda: self.socket.exists() and _accepts(self.socket),
            alive=lambda: self._order("running") == "yes",
            log=self.log,
        )

    def signal(self, name: str) -> None:
        """Send a signal by its short name (TERM, KILL, STOP, CONT, HUP) to libvirtd."""
        self._order(f"signal {name}")

    def pause(self) -> None:
        """SIGSTOP: it accepts (the kernel does) and never answers."""
        self.signal("STOP")

    def resume(self) -> None:
        """SIGCONT."""
        self.signal("CONT")

    def kill(self, name: str = "KILL") -> None:
        """End libvirtd (not its guests) and wait for it; a KILL leaves its stale socket files."""
        self.signal(name)
        self._order("wait")

    def restart(self) -> None:
        """As a package upgrade does: TERM, then start."""
        self.kill("TERM")
        self.launch()

    def set_kvm(self, state: str) -> None:
        """/dev/kvm inside becomes usable, unusable (0600) or absent from now on."""
        self.kvm = state
        self._done(f"kvm {state}")

    def add_emulator(self, arch: str, text: Optional[str] = None) -> Path:
        """Make an emulator appear: the real one, or a script with `text`. Only for chosen ones."""
        target = self.bin / f"qemu-system-{arch}"
        target.unlink(missing_ok=True)
        if text is None:
            real = Path("/usr/bin") / target.name
            if not real.exists():
                raise Unavailable(f"{real} is not installed (run tests/rig/setup)")
            target.symlink_to(real)
        else:
            target.write_text(text)
            target.chmod(0o755 if text else 0o644)
        return target

    def remove_emulator(self, arch: str) -> None:
        """Make an emulator vanish, as removing its package does."""
        (self.bin / f"qemu-system-{arch}").unlink()

    # -- use

    def connect(self) -> Any:
        """A libvirt connection (virConnect)."""
        import libvirt

        return libvirt.open(self.uri)

    def run_any(self, *command: str) -> tuple[int, str, str]:
        """Run a program inside its namespaces; exit code, output, errors."""
        code, out, err = json.loads(self._order(f"run {json.dumps(command)}"))
        return int(code), str(out), str(err)

    def run(self, *command: str) -> str:
        """Run a program inside its namespaces; its output. Broken when it fails."""
        code, out, err = self.run_any(*command)
        if code != 0:
            raise Broken(f"{shlex.join(command)}: exit {code}: {err}")
        return out

    def virsh(self, *arguments: str) -> str:
        """virsh on this libvirtd; its output. Broken when it fails."""
        done = subprocess.run(
            ["virsh", "-q", "-c", self.uri, *arguments], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise Broken(f"virsh {shlex.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def virsh_version(self) -> str:
        """The version of libvirt, as its own client tells it."""
        return self.virsh("version", "--daemon").rpartition("libvirt ")[2].split()[0]

    def warm_up(self) -> float:
        """Have every emulator probed now; the seconds that took."""
        begun = time.monotonic()
        connection = self.connect()
        try:
            connection.getCapabilities()
        finally:
            connection.close()
        return time.monotonic() - begun

    # -- within

    def _layout(self) -> None:
        for name in ("run", "lib", "cache", "log", "etc", "dev", "sys"):
            (self.root / name).mkdir(mode=0o755)
        group = "root" if self.user == "root" else "nogroup"
        etc = self.root / "etc"
        (etc / "qemu.conf").write_text(_QEMU_CONF.format(user=self.user, group=group))
        config = _LIBVIRTD_CONF.format(name=self.name, extra=self.config)
        (etc / f"{self.name}.conf").write_text(config)
        for name in ("nwfilter", "qemu/networks"):
            source = Path("/etc/libvirt") / name
            if source.is_dir():
                shutil.copytree(source, etc / name)
        shutil.rmtree(etc / "qemu" / "networks" / "autostart", ignore_errors=True)
        if self._chosen:
            self.bin.mkdir()
            for tool in Path("/usr/bin").iterdir():
                if not tool.name.startswith(("qemu-system", "qemu-kvm", "kvm")):
                    (self.bin / tool.name).symlink_to(tool)
            for arch in self.emulators or ():
                self.add_emulator(arch)
            for arch, text in self.fakes.items():
                self.add_emulator(arch, text)
        elif self.warm and self._seed.is_dir():
            shutil.copytree(self._seed, self.root / "cache", dirs_exist_ok=True)

    @property
    def _chosen(self) -> bool:
        return self.emulators is not None or bool(self.fakes)

    @property
    def _seed(self) -> Path:
        """The kept cache for these emulators; libvirt itself checks that it is still true."""
        stamp = hashlib.sha256()
        for path in sorted(Path("/usr/bin").glob("qemu-system-*")):
            stamp.update(f"{path} {path.stat().st_ctime_ns}\n".encode())
        stamp.update(str(Path(program("libvirtd")).stat().st_ctime_ns).encode())
        return CACHE / "libvirt" / f"{self.kvm}-{stamp.hexdigest()[:16]}"

    def _keep_cache(self) -> None:
        if self._chosen or not self.warm or self.user != "root" or self._seed.exists():
            return
        emulators = list(Path("/usr/bin").glob("qemu-system-*"))
        probed = list((self.root / "cache" / "qemu" / "capabilities").glob("*.xml"))
        if len(probed) < len(emulators) * 0.6:
            return
        self._seed.parent.mkdir(parents=True, exist_ok=True)
        partial = self._seed.with_name(f".{self._seed.name}.{os.getpid()}")
        shutil.copytree(self.root / "cache", partial)
        try:
            partial.rename(self._seed)
        except OSError:
            remove(partial)

    def _environment(self) -> dict[str, str]:
        path = f"{self.bin}:/usr/sbin" if self._chosen else "/usr/bin:/usr/sbin"
        return {"PATH": path, "LC_ALL": "C", "HOME": "/root"}

    def _line(self) -> str:
        assert self._init is not None and self._init.stdout is not None
        return self._init.stdout.readline().rstrip("\n")

    def _order(self, order: str) -> str:
        if self._init is None or self._init.stdin is None:
            raise Broken("this libvirtd was never started")
        self._init.stdin.write(order + "\n")
        self._init.stdin.flush()
        return self._line()

    def _done(self, order: str) -> None:
        answer = self._order(order)
        if answer != "done":
            raise Broken(f"{order}: {answer}{tail(self.root / 'init.log')}")


def _accepts(path: Path) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX) as sock:
        return sock.connect_ex(str(path)) == 0
