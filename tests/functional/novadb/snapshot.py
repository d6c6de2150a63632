"""Take an older Nova's database: `python -m tests.functional.novadb.snapshot NAME PYTHON`.

PYTHON is the interpreter of a virtual environment with that Nova (NAME is `train`, `wallaby` or
`yoga`; old/README.md says how such an environment is made). Its own migrations make the tables,
its own objects the rows. What is written is read by test_novadb_old.py.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

from tests.functional.novadb.conftest import fill
from tests.functional.novadb.world import Peer, World

OLD = Path(__file__).with_name("old")


def take(name: str, python: Path) -> None:
    """Make a cloud with the Nova of `python` and dump its API and cell database."""
    world = World(name=name)
    try:
        with Peer(world.conf, python) as peer:
            peer.sync(cell=world.template(), cell0=world.template("_cell0"))
            fill(peer)
            peer.service("host1")
            peer.node("host1", "aaaaaaaa-1111-4222-8333-000000000001")
        for which in ("api", "cell"):
            source = world.root / world.database(which)
            (OLD / f"{name}.{which}.sql").write_text(dump(source))
    finally:
        world.stop()


def dump(path: Path) -> str:
    """All tables but the shadow tables, which hold archived rows and are empty."""
    connection = sqlite3.connect(path)
    lines = [line for line in connection.iterdump() if "shadow_" not in line]
    connection.close()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    take(sys.argv[1], Path(sys.argv[2]))
