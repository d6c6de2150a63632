"""Register 100,000 instances into MariaDB, killed 20 times; against nova-manage in a loop.

`python -m bench.register [--count N] [--kills N] [--nova N]`. MariaDB syncs every commit. The
loop sets the same seven or eight properties of one instance with each `nova-manage
image_property set`; it is also measured without the start of a process each time, through the
same class in one process of Nova's.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.functional.novadb import crowd
from tests.functional.novadb.conftest import server_for
from tests.functional.novadb.world import Peer, World
from tests.rig import nova
from tests.rig.base import REPOSITORY


@dataclass
class Run:
    """One run of the command: how it ended, what it took, the last it said."""

    code: int
    seconds: float
    cpu: float
    peak: int
    said: str


def register(world: World, path: Path, kill_at: int = 0, pause: float = 0.0) -> Run:
    """`capd image-property register`; SIGKILL `pause` seconds after so many instances are done.

    0 lets it end.
    """
    log = world.root / "progress"
    words = ["--config-file", str(world.conf), "image-property", "register", str(path)]
    begun = time.monotonic()
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "capd", *words],
            stdout=subprocess.DEVNULL,
            stderr=stream,
            cwd=str(REPOSITORY),
        )
        if kill_at:
            while _runs(process.pid) and crowd.progress(world) < kill_at:
                time.sleep(0.2)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    lines = log.read_text().splitlines()
    return Run(
        process.returncode,
        time.monotonic() - begun,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
        lines[-1] if lines else "",
    )


def _runs(pid: int) -> bool:
    """Whether the process has not ended; what it used can still be asked for afterwards."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def assignments(index: int) -> list[str]:
    """What nova-manage is to set of the instance with this index."""
    wanted = crowd.RECORDED[f"seed{index % len(crowd.SEEDS)}"]
    return [f"{name}={value}" for name, value in wanted.items()]


def uuid_of(index: int) -> str:
    """The uuid of the instance with this index."""
    return crowd.number_uuid(index % len(crowd.SEEDS), index // len(crowd.SEEDS) + 1)


def loop(world: World, count: int) -> tuple[float, float]:
    """Seconds for one instance: by nova-manage, and by its class without the start of Nova."""
    begun = time.monotonic()
    for index in range(count):
        words = [word for text in assignments(index) for word in ("--property", text)]
        done = nova.manage("image_property", "set", *words, uuid_of(index), config=world.conf)
        assert done.returncode == 0, done.stdout + done.stderr
    command = (time.monotonic() - begun) / max(count, 1)
    with Peer(world.conf) as peer:
        begun = time.monotonic()
        for index in range(count, 2 * count):
            assert peer.set(uuid_of(index), assignments(index)) == [0, ""]
        return command, (time.monotonic() - begun) / max(count, 1)


def main() -> int:
    """Measure and print; 1 if an instance is not right exactly once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--nova", type=int, default=100)
    args = parser.parse_args()
    server = server_for("mariadb")
    world = World(server, "bench")
    try:
        server.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        world.make()
        with Peer(world.conf) as peer:
            peer.sync(cell=world.template(), cell0=world.template("_cell0"))
        return measure(world, args.count, args.kills, args.nova)
    finally:
        world.stop()
        server.stop()


def measure(world: World, count: int, kills: int, novas: int) -> int:
    """The whole bench on an empty cloud."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    begun = time.monotonic()
    crowd.populate(world, count)
    path = world.root / "records.jsonl"
    crowd.export(path, count)
    size = path.stat().st_size / 1e6
    print(f"{count} instances made in {time.monotonic() - begun:.0f} s, records {size:.0f} MB")
    chance = random.Random(20)
    runs: list[Run] = []
    points = sorted(chance.randrange(1, count) for _ in range(kills))
    for number, point in enumerate(points, 1):
        runs.append(register(world, path, point, chance.uniform(0.0, 0.3)))
        done = crowd.progress(world)
        print(f"kill {number:2}: after {runs[-1].seconds:5.1f} s, {done} done", flush=True)
    runs.append(register(world, path))
    print(f"last run: {runs[-1].seconds:.1f} s, exit {runs[-1].code}: {runs[-1].said}")
    wrong = crowd.state(world) != crowd.expected(count)
    print(f"every instance right exactly once: {'NO' if wrong else 'yes'} {crowd.state(world)}")
    again = register(world, path)
    wrong = wrong or crowd.state(world) != crowd.expected(count) or again.code != 0
    print(f"once more, nothing to do: {again.seconds:.1f} s: {again.said}")
    seconds, cpu = sum(run.seconds for run in runs), sum(run.cpu for run in runs)
    peak = max(run.peak for run in (*runs, again)) / 1e6
    print(
        f"capd register, {kills} kills and all: {seconds:.0f} s, {1000 * seconds / count:.2f} ms "
        f"an instance, CPU {cpu:.0f} s, peak memory {peak:.0f} MB (limit 150)"
    )
    command, inner = loop(world, novas)
    hours = command * count / 3600
    print(f"nova-manage set, mean of {novas}: {command:.2f} s, for all {hours:.1f} h")
    hours = inner * count / 3600
    print(f"its class in one process: {1000 * inner:.0f} ms, for all {hours:.2f} h")
    ratios = command * count / seconds, inner * count / seconds
    print(f"capd is {ratios[0]:.0f} times as fast as the commands, {ratios[1]:.0f} as the class")
    return 1 if wrong or peak > 150 else 0


if __name__ == "__main__":
    sys.exit(main())
