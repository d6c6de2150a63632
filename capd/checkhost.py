"""What `capd.check` looks up on the host itself: libvirt's sockets, KVM and QEMU's user."""

from __future__ import annotations

import grp
import os
import pwd
import re
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

#: libvirt's read-write sockets for QEMU; the first is the monolithic daemon's
SOCKETS = ("/run/libvirt/libvirt-sock", "/run/libvirt/virtqemud-sock")

#: users that distributions run QEMU as, where qemu.conf names none
QEMU_USERS = ("libvirt-qemu", "qemu")

_KVM = "/dev/kvm"


def libvirt_sockets(paths: tuple[str, ...] = SOCKETS) -> dict[str, str]:
    """The sockets that exist, and whether somebody listens: `live`, `dead` or `no access`."""
    found: dict[str, str] = {}
    for path in paths:
        if not Path(path).exists():
            continue
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(2)
            try:
                channel.connect(path)
                found[path] = "live"
            except PermissionError:
                found[path] = "no access"
            except OSError:
                found[path] = "dead"
    return found


def libvirt_kind(sockets: Mapping[str, str]) -> str:
    """Monolithic or modular, by the sockets that are live."""
    live = [path for path, state in sockets.items() if state == "live"]
    monolithic = any(path.endswith("/libvirt-sock") for path in live)
    modular = any(path.endswith("/virtqemud-sock") for path in live)
    if monolithic and modular:
        return "monolithic libvirtd and modular virtqemud (or virtproxyd)"
    if modular:
        return "modular virtqemud"
    return "monolithic libvirtd" if monolithic else "libvirt elsewhere"


@dataclass(frozen=True)
class KvmState:
    """Whether QEMU's user may open the KVM device; `problem` None if so."""

    path: str
    user: str
    problem: Optional[str] = None
    cure: Optional[str] = None


def qemu_user(conf: str = "/etc/libvirt/qemu.conf") -> str:
    """The user libvirt runs QEMU as: by qemu.conf, else by the distribution's habit."""
    try:
        text = Path(conf).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r'^\s*user\s*=\s*"?\+?([\w.-]+)"?', text, re.MULTILINE)
    if match:
        return match.group(1)
    for name in QEMU_USERS:
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return "root"


def kvm_state(path: str = _KVM, user: Optional[str] = None) -> KvmState:
    """Look at the KVM device as QEMU's user sees it."""
    name = user or qemu_user()
    try:
        status = os.stat(path)  # noqa: PTH116 - beside the rest of os here
    except OSError:
        return KvmState(
            path, name, f"{path} does not exist", "load kvm_intel or kvm_amd; see the firmware"
        )
    if not stat.S_ISCHR(status.st_mode):
        return KvmState(path, name, f"{path} is no device", f"remove {path} and reload kvm")
    if _may_open(status, name):
        return KvmState(path, name)
    owner = f"{_user(status.st_uid)}:{_group(status.st_gid)} {status.st_mode & 0o777:04o}"
    return KvmState(
        path,
        name,
        f"{name}, QEMU's user, may not open {path} ({owner})",
        f"chgrp kvm {path}; chmod 0660 {path}; usermod -a -G kvm {name}",
    )


def _may_open(status: os.stat_result, name: str) -> bool:
    """Read and write by mode; root may always (access lists are not looked at)."""
    try:
        entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
    except KeyError:
        return False
    if entry.pw_uid == 0:
        return True
    if entry.pw_uid == status.st_uid:
        return status.st_mode & 0o600 == 0o600
    if status.st_gid in os.getgrouplist(entry.pw_name, entry.pw_gid):
        return status.st_mode & 0o060 == 0o060
    return status.st_mode & 0o006 == 0o006


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
