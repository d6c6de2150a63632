"""What `capd.check` looks up on the host itself: libvirt's sockets, KVM and QEMU's user."""

from __future__ import annotations

import grp
import os
import pwd
import re
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from urllib.parse import parse_qsl, urlsplit

#: libvirt's read-write sockets for QEMU, in the order in which its client prefers them
SOCKETS = ("/run/libvirt/virtqemud-sock", "/run/libvirt/libvirt-sock")

#: users that distributions run QEMU as, where qemu.conf names none
QEMU_USERS = ("libvirt-qemu", "qemu")

_KVM = "/dev/kvm"


def libvirt_sockets(paths: tuple[str, ...] = SOCKETS) -> dict[str, str]:
    """The sockets that exist: `live` if somebody listens, else `dead` or `no access`.

    Behind a live one the others are `not tried`: trying a socket of systemd's starts its daemon,
    and starting libvirtd ends virtqemud.
    """
    found: dict[str, str] = {}
    for path in paths:
        if Path(path).exists():
            found[path] = "not tried" if "live" in found.values() else _knock(path)
    return found


def _knock(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(2)
        try:
            channel.connect(path)
        except PermissionError:
            return "no access"
        except OSError:
            return "dead"
    return "live"


def libvirt_kind(uri: str, paths: tuple[str, ...] = SOCKETS) -> str:
    """Monolithic or modular: by the socket that `uri` names, else by the one that is live."""
    options = dict(parse_qsl(urlsplit(uri).query))
    modes = {"direct": "virtqemud-sock", "legacy": "libvirt-sock"}
    named = options.get("socket") or modes.get(options.get("mode", ""))
    if named is None:
        sockets = libvirt_sockets(paths)
        named = next((path for path, state in sockets.items() if state == "live"), "")
    if "virtqemud-sock" in named:
        return "modular virtqemud"
    if "libvirt-sock" in named:
        proxied = options and any("virtqemud" in path and Path(path).exists() for path in paths)
        return "virtproxyd or monolithic libvirtd" if proxied else "monolithic libvirtd"
    return "libvirt elsewhere"


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
    owner = f"{user_name(status.st_uid)}:{_group(status.st_gid)} {status.st_mode & 0o777:04o}"
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


def user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
