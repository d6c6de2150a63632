"""What can be seen of a change without asking libvirt: files of emulators and the KVM device.

To `capd.cycle`, which asks libvirt anew when a stamp differs, and to `capd.daemon`, which is
woken by `Watcher` when something in one of the directories changes. A stamp costs one stat(2) per
file; nothing is opened.
"""

from __future__ import annotations

import ctypes
import logging
import os
import stat
from collections.abc import Iterable
from pathlib import Path

LOG = logging.getLogger(__name__)

KVM = "/dev/kvm"

#: where the kernel shows the KVM device even to a process with a private /dev
KVM_CLASS = "/sys/class/misc/kvm"

#: where distributions keep QEMU's device modules: a package added or removed there changes devices
MODULE_PATTERNS = (
    "usr/lib/*/qemu",
    "usr/lib64/qemu",
    "usr/lib/qemu",
    "usr/libexec/qemu",
)

#: directories in which emulators may appear that no libvirt has listed yet
EMULATOR_DIRECTORIES = ("/usr/bin", "/usr/libexec")

Stamp = tuple[str, ...]


def module_directories(root: str = "/") -> tuple[str, ...]:
    """The module directories that exist."""
    return tuple(
        str(path)
        for pattern in MODULE_PATTERNS
        for path in sorted(Path(root).glob(pattern))
        if path.is_dir()
    )


def take(emulators: Iterable[str], directories: Iterable[str], kvm: str = KVM) -> Stamp:
    """The stamp of these files now; equal stamps mean nothing visible has changed."""
    paths = (*sorted(set(emulators)), *directories)
    return (*(_file(path) for path in paths), _device(kvm), str(Path(KVM_CLASS).exists()))


def _file(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 - each cycle, and ten times cheaper
    except OSError:
        return "absent"
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}-{status.st_mode:o}"


def _device(path: str) -> str:
    """Type, owner and mode of the device: what decides whether QEMU's user may open it."""
    try:
        status = Path(path).stat()
    except OSError:
        return "absent"
    kind = "device" if stat.S_ISCHR(status.st_mode) else "no device"
    return f"{kind}-{status.st_rdev}-{status.st_uid}-{status.st_gid}-{status.st_mode:o}"


class Watcher:
    """An inotify descriptor over directories; readable when something in one of them changed.

    Without inotify (or when its limits are reached) `descriptor` is -1 and nothing is seen until
    the next interval.
    """

    _MASK = 0x00000004 | 0x00000008 | 0x00000040 | 0x00000080 | 0x00000100 | 0x00000200
    # IN_ATTRIB, IN_CLOSE_WRITE, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE

    def __init__(self) -> None:
        self.descriptor = -1
        self._watched: set[str] = set()
        try:
            self._libc = ctypes.CDLL(None, use_errno=True)
            self.descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, AttributeError):
            LOG.debug("no inotify here")

    def watch(self, directories: Iterable[str]) -> None:
        """Add directories; those watched already or absent are passed over."""
        for directory in directories:
            if directory in self._watched or self.descriptor < 0 or not Path(directory).is_dir():
                continue
            path = os.fsencode(directory)
            if self._libc.inotify_add_watch(self.descriptor, path, self._MASK) < 0:
                LOG.debug("%s is not watched: %s", directory, os.strerror(ctypes.get_errno()))
                continue
            self._watched.add(directory)

    def drain(self) -> bool:
        """Read what is there; whether there was anything."""
        seen = False
        while True:
            try:
                if not os.read(self.descriptor, 65536):
                    return seen
            except BlockingIOError:
                return seen
            except OSError:
                return seen
            seen = True

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
