"""Records at scale, on a real libvirtd: recording at start and a steady interval.

    python bench/records.py [--domains 1000] [--rounds 5]

Start: a fresh tracker over an empty store, against a bare loop over the same connection that
fetches each domain's XML and does nothing with it, interleaved in one run; medians. Steady: CPU
time (user and system, all threads) of `reconcile` when nothing has changed.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from capd import config  # noqa: E402
from capd.discover import discover  # noqa: E402
from capd.hypervisor import Hypervisor  # noqa: E402
from capd.live import LiveWitness  # noqa: E402
from capd.records.recordstore import RecordStore  # noqa: E402
from capd.records.tracker import Tracker  # noqa: E402
from capd.store import Store  # noqa: E402
from tests.rig.libvirtd import Libvirtd  # noqa: E402

GUEST = (ROOT / "fixtures" / "guests" / "all-pc.libvirt.xml").read_text()


def guest(number: int) -> str:
    """Nova's own XML for a guest, under a name, uuid and address of its own."""
    xml = GUEST.replace("type='kvm'", "type='qemu'", 1)
    xml = re.sub(r"<uuid>.*?</uuid>", f"<uuid>{uuid.UUID(int=number + 1)}</uuid>", xml, count=1)
    xml = re.sub(r"<entry name='(serial|uuid)'>.*?</entry>", "", xml)
    xml = re.sub(r"<name>.*?</name>", f"<name>instance-{number:08x}</name>", xml, count=1)
    mac = f"fa:16:3e:00:{number // 256:02x}:{number % 256:02x}"
    return re.sub(r"fa:16:3e:..:..:..", mac, xml)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with Libvirtd(emulators=["x86_64"]) as daemon, tempfile.TemporaryDirectory() as scratch:
        connection = daemon.connect()
        for number in range(args.domains):
            connection.defineXML(guest(number))
        path = Path(scratch, "capd.conf")
        path.write_text(f"[DEFAULT]\nstate_dir = {scratch}\n{daemon.snippet}")
        settings = config.load([path])
        hypervisor = Hypervisor(settings.libvirt)
        hypervisor.open()
        facts = discover(settings, LiveWitness(hypervisor, settings.libvirt))

        def bare() -> None:
            for domain in connection.listAllDomains(0):
                domain.XMLDesc(0)

        bare()
        bares, starts, steadies = [], [], []
        for number in range(args.rounds):
            bares.append(timed(bare)[0])
            with Store(Path(scratch, f"{number}.db")) as store:
                tracker = Tracker(RecordStore(store), settings.records.retention)
                starts.append(timed(partial(tracker.start, hypervisor, facts))[0])
                if len(tracker.store.all()) != args.domains:
                    raise SystemExit("not every domain was recorded")
                steadies += [timed(tracker.reconcile)[1] for _ in range(3)]
        hypervisor.close()
        connection.close()
    bare_time, start_time = statistics.median(bares), statistics.median(starts)
    print(f"{args.domains} domains, {args.rounds} rounds, medians")
    print(f"bare loop of XMLDesc   {bare_time * 1000:7.1f} ms wall")
    print(
        f"start, all recorded    {start_time * 1000:7.1f} ms wall = {start_time / bare_time:.2f} "
        f"times the bare loop (limit 2; worst {max(starts) / bare_time:.2f})"
    )
    print(
        f"steady interval        {statistics.median(steadies) * 1000:7.1f} ms CPU (limit 50; "
        f"worst {max(steadies) * 1000:.1f})"
    )
    return 0 if start_time <= 2 * bare_time and statistics.median(steadies) <= 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
