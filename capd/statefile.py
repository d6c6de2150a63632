"""Files in the state directory, opened so that nobody's others are touched. For `capd.store`."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Optional

from capd.errors import StoreError

NO_FILE = "it is not a file of its own"


def own(path: Path) -> int:
    """A descriptor of a file in the state directory, created if it is not there.

    No link is followed: root must not write through one that capd's user made. What root creates
    belongs to the directory's owner, who has to go on with it. Raises OSError.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    try:
        found, directory = os.fstat(descriptor), path.parent.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.EINVAL, NO_FILE)
        if os.geteuid() == 0 and found.st_uid != directory.st_uid:
            os.fchown(descriptor, directory.st_uid, directory.st_gid)
        if found.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def unopened(path: Path, error: OSError) -> StoreError:
    why, cure = error.strerror, "check [DEFAULT] state_dir, its owner and free space"
    if error.errno == errno.ELOOP:
        why, cure = (
            "it is a symbolic link",
            "put the file itself there, or set [DEFAULT] state_dir",
        )
    elif error.errno == errno.EACCES and os.path.lexists(path):
        cure = f"chown it to the owner of {path.parent}"
    elif error.errno == errno.EACCES:
        cure = f"run capd as root, or as the user who may look into {path.parent}"
    return StoreError(f"cannot open {path}: {why}", culprit=str(path), cure=cure)


def present(path: Path) -> bool:
    """Whether there is such a file. Raises StoreError if there is none of capd's own making, or
    if this user may not even look."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unopened(path, error) from None
    if not stat.S_ISREG(mode):
        raise unopened(path, OSError(errno.EINVAL, NO_FILE))
    return True


def place(path: Path) -> Optional[tuple[int, int]]:
    """Device and inode, None if there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
