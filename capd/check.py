"""`capd --check`: what capd depends on, one line each, with the cure where one is needed.

Each check yields `Finding`s and depends on nothing but its arguments; a check that fails does not
keep the next one from running. Nothing is changed, but for one trait name that capd would create
anyway, by which the right to write to Placement is proved.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

from capd import checkcloud, checkhost, config, credentials, traits
from capd.config import Settings
from capd.discover import discover
from capd.errors import CapdError, LibvirtError
from capd.facts import Discovery
from capd.findings import Finding, Level, fail, good, warn
from capd.hypervisor import Hypervisor
from capd.live import LiveWitness
from capd.store import DATABASE, LOCK, Store

#: adjtimex(2) returns this where nothing keeps the clock in step
_TIME_ERROR = 5

#: megabytes that ought to be free where the state is
_FREE = 50


def everything(files: tuple[Path, ...]) -> Iterator[Finding]:
    """All checks in order; those that need a configuration end where there is none."""
    try:
        settings = config.load(files)
    except CapdError as error:
        yield fail("configuration", error)
        return
    yield from configuration(settings)
    yield from store(settings)
    discovery = None
    for item in libvirt(settings):
        if isinstance(item, Finding):
            yield item
        else:
            discovery = item
    yield from kvm(settings, discovery)
    assessment = None
    if discovery is not None:
        yield from emulators(discovery)
        assessment = traits.assess(discovery, settings.traits, settings.libvirt)
        for problem in assessment.problems:
            if problem not in discovery.problems:
                yield warn("configuration", problem, "correct the option; --dump shows the traits")
    yield from checkcloud.placement(settings, discovery, assessment)
    yield clock()
    yield from service()


def configuration(settings: Settings) -> Iterator[Finding]:
    """Files, who may read them, overrides."""
    names = ", ".join(map(str, settings.files)) or "none, so all defaults"
    yield good("configuration", f"read: {names}")
    for path in settings.files:
        if credentials.world_readable(path) and path.name.startswith("nova"):
            yield warn(
                "configuration",
                f"{path} can be read by every user and holds Nova's passwords",
                f"chmod 0640 {path}",
            )
    for override in settings.traits.overrides:
        if not traits.known_name(override.trait):
            continue  # said below, with everything else that names what is not there
        sign = "supported" if override.present else "not supported"
        yield warn(
            "configuration",
            f"override: {override.trait} is reported as {sign}, whatever the host says",
            "remove it from [traits] override once it is no longer needed",
        )


def store(settings: Settings) -> Iterator[Finding]:
    """The state database and the disk it is on."""
    path = settings.state_dir / DATABASE
    existing = next(
        parent for parent in (settings.state_dir, *path.parents) if os.access(parent, os.F_OK)
    )
    if not existing.is_dir():
        yield Finding(
            Level.FAIL, "store", f"{existing} is no directory", "set another [DEFAULT] state_dir"
        )
        return
    try:
        with Store(path, read_only=True) as opened:
            records = opened.rows("SELECT count(*) FROM trait")[0][0]
    except CapdError as error:
        yield fail("store", error)
        return
    if not path.exists():
        yield good("store", f"{path} does not exist yet; the first pass creates it")
    elif path.stat().st_mode & 0o077:
        yield warn("store", f"{path} can be read by others", f"chmod 0600 {path}")
    else:
        yield good("store", f"{path} is sound, {records} traits remembered")
    yield from _owners(settings.state_dir)
    free = shutil.disk_usage(existing).free // 2**20
    if free < _FREE:
        yield warn("store", f"{free} MB free on the disk of {existing}", "free some space")


def _owners(state_dir: Path) -> Iterator[Finding]:
    """Files that another user left, root as a rule, and that the daemon could not open."""
    if not state_dir.is_dir():
        return
    owner = state_dir.stat().st_uid
    for path in (state_dir / DATABASE, state_dir / LOCK):
        found = path.lstat().st_uid if path.exists() else owner
        if found != owner:
            yield Finding(
                Level.FAIL,
                "store",
                f"{path} belongs to {checkhost.user_name(found)}, its directory to "
                f"{checkhost.user_name(owner)}: one of them cannot open it",
                f"chown --reference={state_dir} {path}",
            )


def libvirt(settings: Settings) -> Iterator[Finding | Discovery]:
    """Which libvirt there is, access to it, and what it says; the last item is what it says."""
    hypervisor = Hypervisor(settings.libvirt)
    try:
        hypervisor.open()
        kind = checkhost.libvirt_kind(hypervisor.uri)
        yield good("libvirt", f"{kind}, {hypervisor.version()}, at {hypervisor.uri}")
        witness = LiveWitness(hypervisor, settings.libvirt)
        discovery = discover(settings, witness)
    except LibvirtError as error:
        sockets = checkhost.libvirt_sockets()
        found = "; ".join(f"{path} ({state})" for path, state in sockets.items())
        text = f"{error}; sockets: {found or 'none found'}"
        yield Finding(Level.FAIL, "libvirt", " ".join(text.split()), error.cure)
        return
    except CapdError as error:
        yield fail("libvirt", error)
        return
    finally:
        hypervisor.close()
    answered = sum(machine.error is None for machine in discovery.machines)
    text = f"{answered} of {len(discovery.machines)} combinations answered, read-write"
    if answered:
        yield good("libvirt", f"{text}, in {discovery.cost.seconds:.1f} s")
    else:
        yield Finding(Level.FAIL, "libvirt", text, "see libvirt's own log for the reason")
    for problem in discovery.problems:
        yield warn("libvirt", problem)
    yield discovery


def kvm(settings: Settings, discovery: Optional[Discovery]) -> Iterator[Finding]:
    """KVM: there, usable by QEMU's user, offered by libvirt."""
    wanted = settings.libvirt.virt_type in (None, "kvm")
    state = checkhost.kvm_state()
    if state.problem is None:
        yield good("kvm", f"{state.path} can be opened by {state.user}, QEMU's user")
    elif wanted:
        yield warn("kvm", state.problem, state.cure)
    else:
        yield good("kvm", f"not needed, [libvirt] virt_type = {settings.libvirt.virt_type}")
    if discovery is None or not wanted:
        return
    if discovery.host.accelerated:
        yield good("kvm", f"libvirt offers kvm for {discovery.host.arch}")
    else:
        yield warn(
            "kvm",
            f"libvirt does not offer kvm for {discovery.host.arch}: instances are emulated",
            "make /dev/kvm usable by QEMU's user, or set [libvirt] virt_type = qemu",
        )


def emulators(discovery: Discovery) -> Iterator[Finding]:
    """Each emulator libvirt lists, and whether it says what it has."""
    sound = [emulator for emulator in discovery.emulators if emulator.error is None]
    for emulator in discovery.emulators:
        if emulator.error is not None:
            yield warn("emulators", emulator.error, f"reinstall the package of {emulator.path}")
    native = [emulator for emulator in sound if emulator.arch == discovery.host.arch]
    if native:
        version = native[0].version or "unknown version"
        yield good("emulators", f"{len(sound)} answer, native: {native[0].path}, {version}")
    else:
        yield Finding(
            Level.FAIL,
            "emulators",
            f"no usable emulator for {discovery.host.arch or 'this host'}",
            "install QEMU for it (qemu-system-x86 and the like)",
        )


def clock() -> Finding:
    """Whether something keeps the clock in step: tokens expire by it."""
    buffer = ctypes.create_string_buffer(512)
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(buffer)
    except (OSError, AttributeError):
        state = -1
    if state < 0:
        return warn("clock", "its state cannot be read here")
    if state == _TIME_ERROR:
        return warn(
            "clock",
            "not synchronised: tokens may count as expired, times in the records be wrong",
            "run chrony or systemd-timesyncd",
        )
    return good("clock", "synchronised")


def service() -> Iterator[Finding]:
    """The systemd unit: running, and watched."""
    systemctl = shutil.which("systemctl")
    if systemctl is None or not Path("/run/systemd/system").is_dir():
        yield warn("service", "systemd does not run here", "see to it that capd is restarted")
        return
    names = "LoadState,ActiveState,WatchdogUSec,UnitFileState"
    done = subprocess.run(
        [systemctl, "show", "capd.service", f"--property={names}"],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    shown = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    if shown.get("LoadState") != "loaded":
        yield warn("service", "capd.service is not installed", "make install, or the package")
        return
    state = f"{shown.get('ActiveState')}, {shown.get('UnitFileState')}"
    if shown.get("ActiveState") == "active":
        yield good("service", f"capd.service is {state}")
    else:
        yield warn("service", f"capd.service is {state}", "systemctl enable --now capd")
    if shown.get("WatchdogUSec", "0") in ("0", "infinity", ""):
        yield warn("watchdog", "the unit sets no WatchdogSec", "set WatchdogSec=60")
    else:
        yield good("watchdog", f"a hang is noticed within {shown['WatchdogUSec']}")
