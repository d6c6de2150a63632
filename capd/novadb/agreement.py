"""Doing a transaction on both databases, again if it lost against another one.

A cluster (Galera) finds a conflict only when the second database is committed, after the request
spec in the first was. What was written there is then made to agree with system metadata again
before anything else, so that a refusal leaves both as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from capd.novadb import instances, specs
from capd.novadb.cells import Cell, Cloud
from capd.novadb.database import Conflict, HalfWritten, retrying
from capd.novadb.releases import Release

Result = TypeVar("Result")


def agreeing(
    cloud: Cloud,
    cell: Cell,
    uuids: Sequence[str],
    release: Release,
    work: Callable[[], Result],
) -> Result:
    """`work`, a transaction of `cloud.writing(cell)` on these instances, repeated on conflict.

    Raises what `work` raises; HalfWritten only if it cannot be told or undone.
    """

    def once() -> Result:
        try:
            return work()
        except HalfWritten as half:
            if not half.undone:
                raise
            restore(cloud, cell, uuids, release)
            raise Conflict(str(half), culprit=half.culprit, cure=half.cure) from None

    return retrying(once)


def restore(cloud: Cloud, cell: Cell, uuids: Sequence[str], release: Release) -> None:
    """Make the image in the request specs of `uuids` agree with their system metadata."""
    with cell.database.write() as main:
        found = instances.read(main, uuids, lock=True)
        with cloud.api.write() as api:
            held = specs.read(api, list(found))
            changes = [(held[uuid], instances.plan(found[uuid], {})) for uuid in held]
            specs.write(api, changes, release)
