"""What an unchanged host costs: CPU per pass, resident memory.

    python -m bench.steady [--passes 300]

Real libvirtd with every emulator installed here, real Placement. The CPU is that of the process
that makes the passes, all its threads, per unchanged pass; goals: 5 ms, and 60 MB resident.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement
from tests.rig.program import environment, write_config
from tests.rig.service import Service

GOAL_CPU = 5.0
GOAL_KB = 60 * 1000

#: run as a child, so that nothing of the rig is in its memory or its time
_CHILD = """
import sys, time
from pathlib import Path
from capd import config
from capd.cycle import Cycle
from capd.progress import Progress
cycle = Cycle(config.load([Path(sys.argv[1])]), lambda event: None)
for _ in range(4):
    result = cycle.run(Progress())
    assert not result.errors, result.errors
print(len(result.discovery.machines), len(result.report.plan.owned))
for _ in range(int(sys.argv[2])):
    begun = time.process_time()
    result = cycle.run(Progress())
    print((time.process_time() - begun) * 1000, result.looked, bool(result.errors), result.calls)
"""


def main() -> int:
    """Measure and compare with the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=300)
    passes = parser.parse_args().passes
    import subprocess

    with (
        Libvirtd() as libvirtd,
        Placement() as placement,
        tempfile.TemporaryDirectory(prefix="capd-steady-") as directory,
    ):
        libvirtd.warm_up()
        uuid = placement.client.create_provider("steady", traits=["COMPUTE_NODE"])
        text = (
            f"interval = 2\n[libvirt]\nconnection_uri = {libvirtd.uri}\n{placement.snippet}"
            f"provider_uuid = {uuid}\nprovider_name = steady\n"
        )
        config = write_config(Path(directory), text)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, str(config), str(passes)],
            capture_output=True,
            text=True,
            env=environment(measured=True),
            check=True,
        )
        head, *rows = done.stdout.splitlines()
        combinations, owned = head.split()
        costs = [float(row.split()[0]) for row in rows]
        assert all(row.split()[1:3] == ["None", "False"] for row in rows)
        print(f"{combinations} combinations, {owned} traits owned, load {os.getloadavg()[0]:.1f}")
        median, mean = statistics.median(costs), statistics.fmean(costs)
        print(f"unchanged pass: median {median:.2f} ms, mean {mean:.2f} ms of CPU (goal 5)")
        print(f"libvirt calls in a pass: {rows[-1].split()[3]}")
        with Service(Path(directory), text) as service:
            service.wait("a good pass", service.passed, 60)
            time.sleep(10)
            descriptors, threads, kilobytes = service.resources()
            status = Path(f"/proc/{service.pid}/status").read_text()
        split = {
            line.split(":")[0]: int(line.split()[1])
            for line in status.splitlines()
            if line.startswith("Rss")
        }
        print(f"resident {kilobytes} kB: {split['RssAnon']} own, {split['RssFile']} of files")
        print(f"{descriptors} descriptors, {threads} threads")
    return 0 if median <= GOAL_CPU else 1


if __name__ == "__main__":
    sys.exit(main())
