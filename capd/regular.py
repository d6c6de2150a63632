"""Files from outside, read whole: regular ones of bounded size, and nothing that could block.

A FIFO has no end until somebody writes, a device may have none at all; either would hang a command
or the daemon. Used wherever a path comes from configuration or command line.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: bytes of a file that is read by lines or as a whole by people's editors, too
TEXT = 4 * 1024 * 1024

_KINDS = (
    (stat.S_ISDIR, "it is a directory"),
    (stat.S_ISFIFO, "it is a FIFO"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


def read(path: Path, limit: int) -> bytes:
    """The whole of a regular file, symlinks followed.

    Raises OSError, whose `strerror` says why: also for what is no regular file, or larger than
    `limit` bytes.
    """
    try:
        # without O_NONBLOCK opening a FIFO waits for its writer
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device without a driver
            raise OSError(errno.ENXIO, "it is no regular file", str(path)) from None
        raise
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            what = next((said for test, said in _KINDS if test(mode)), "it is no regular file")
            raise OSError(errno.EINVAL, f"{what}, not a file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError(errno.EINVAL, f"it is larger than {limit} bytes", str(path))
    return data
