"""How long one `capd match` takes in a large cloud, and how much memory.

    python -m bench.match [--hosts N] [--rounds N] [--only CASE]

A real Placement on MariaDB with 10,000 compute nodes of about 200 traits each (their rows are
written by SQL, the API would take hours). The peer is the bare request that Nova's scheduler would
make, `GET /resource_providers?required=...` with all the traits, its body read and nothing done
with it. Both ask the same server in the same run, interleaved; the ratio counts.

  most fit   q35, SATA CD-ROM, virtio disk, QXL or virtio video, e1000e, USB input
  half fit   the same and a machine type that only Debian 13 has
  none fits  q35 with an IDE disk
  flavor     the first, with resources; its peer is the bare GET /allocation_candidates that Nova
             would send, a thousand candidates at most

find is `capd.match.hosts.find`, from the first request to the last reason; command is `capd match
--json` from its arguments to its output, imports and configuration included, in a new process.
Where no host fits, the bare request lists nothing, while the reasons for all hosts have to
be listed: the ratio says nothing there, and the list of all hosts is shown as a peer instead.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

IMAGE = {
    "hw_machine_type": "q35",
    "hw_disk_bus": "virtio",
    "hw_cdrom_bus": "sata",
    "hw_video_model": "virtio",
    "hw_vif_model": "e1000e",
    "hw_input_bus": "usb",
}
CASES: dict[str, dict[str, str]] = {
    "most fit": IMAGE,
    "half fit": {**IMAGE, "hw_machine_type": "pc-q35-10.0"},
    "none fits": {"hw_machine_type": "q35", "hw_disk_bus": "ide"},
    "flavor": IMAGE,
}
FLAVOR = {"name": "m1", "vcpus": 2, "ram": 4096, "disk": 20}

RUN = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
import io
from contextlib import redirect_stdout
from capd import cli
text = io.StringIO()
from capd.match import hosts
find, spent = hosts.find, []
def timed(*arguments):
    begun = time.monotonic()
    try:
        return find(*arguments)
    finally:
        spent.append(time.monotonic() - begun)
hosts.find = timed
begun = time.monotonic()
with redirect_stdout(text):
    code = cli.main(sys.argv[2:])
seconds = time.monotonic() - begun
document = json.loads(text.getvalue())
print(json.dumps({'code': code, 'seconds': seconds, 'find': spent[0],
    'fits': len(document['fits']), 'rejects': len(document['rejects']),
    'requests': document['requests'],
    'limited': document['limited'],
    'peak_kb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


@contextmanager
def cloud(hosts: int) -> Iterator[Any]:
    """A Placement on MariaDB with that many compute nodes."""
    from bench.fleet_of_traits import fill
    from tests.rig.databases import MariaDB
    from tests.rig.placement import Placement

    with (
        MariaDB() as server,
        Placement(database=server.create("placement"), workers=2) as placement,
    ):
        import pymysql

        begun = time.monotonic()
        connection = pymysql.connect(
            host="127.0.0.1", port=server.port, user="root", database="placement"
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM traits ORDER BY id")
            known = [row[0] for row in cursor.fetchall()]
            fill(hosts, known, cursor.execute)
            connection.commit()
            for table in ("traits", "resource_providers", "resource_provider_traits"):
                cursor.execute(f"ANALYZE TABLE {table}")
            cursor.execute("SELECT COUNT(*) FROM resource_provider_traits")
            rows = cursor.fetchone()[0]
        connection.close()
        placement.down()  # its cache of traits is from before
        placement.launch()
        print(f"{hosts} hosts, {rows / hosts:.0f} traits each, written by SQL", end=" ")
        print(f"in {time.monotonic() - begun:.0f} s")
        yield placement


def path(name: str, image: dict[str, str]) -> str:
    """The bare request of a case."""
    from capd.match import translate

    names = ",".join(translate(image).required)
    if name == "flavor":
        amounts = f"VCPU:{FLAVOR['vcpus']},MEMORY_MB:{FLAVOR['ram']},DISK_GB:{FLAVOR['disk']}"
        return f"/allocation_candidates?resources={amounts}&root_required={names}&limit=1000"
    if name == "none fits":
        return "/resource_providers?required=COMPUTE_NODE"
    return f"/resource_providers?required={names}"


def bare(url: str) -> dict[str, Any]:
    """The one request, with a connection that is open already."""
    import requests

    session = requests.Session()
    session.headers.update({"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"})
    session.get(url.partition("/resource")[0].partition("/alloc")[0])
    begun = time.monotonic()
    answer = session.get(url)
    seconds = time.monotonic() - begun
    if answer.status_code != 200:
        raise SystemExit(answer.text)
    return {"seconds": seconds, "bytes": len(answer.content)}


def match(settings: Path, image: dict[str, str], flavor: bool) -> dict[str, Any]:
    """`capd match --json` in a process of its own: time of the command, peak of the process."""
    command = [sys.executable, "-c", RUN, str(ROOT), "--config-file", str(settings), "match"]
    command += ["--json", *(f"--property={name}={value}" for name, value in image.items())]
    command += ["--flavor", str(settings.with_name("flavor.json"))] if flavor else []
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", choices=["", *CASES], help="one case alone")
    options = parser.parse_args()
    os.chdir(ROOT)
    with cloud(options.hosts) as placement, tempfile.TemporaryDirectory() as directory:
        settings = Path(directory, "capd.conf")
        settings.write_text(placement.snippet + "request_timeout = 120\npass_timeout = 300\n")
        settings.with_name("flavor.json").write_text(json.dumps(FLAVOR))
        print(f"{'':<10}{'bare GET':>10}{'find':>10}{'ratio':>7}{'command':>10}", end="")
        print(f"{'fit':>8}{'do not':>8}{'requests':>10}{'peak':>10}")
        for name, image in CASES.items():
            if options.only not in ("", name):
                continue
            pairs = [
                (bare(placement.url + path(name, image)), match(settings, image, name == "flavor"))
                for _ in range(2 if name == "flavor" else options.rounds + 1)
            ][1:]
            alone = statistics.median(one["seconds"] for one, _ in pairs)
            ours = statistics.median(one["find"] for _, one in pairs)
            whole = statistics.median(one["seconds"] for _, one in pairs)
            last = pairs[-1][1]
            peak = max(one["peak_kb"] for _, one in pairs) / 1000
            print(f"{name:<10}{alone * 1000:>7.0f} ms{ours * 1000:>7.0f} ms", end="")
            print(f"{ours / alone:>7.1f}{whole * 1000:>7.0f} ms", end="")
            print(f"{last['fits']:>8}{last['rejects']:>8}{last['requests']:>10}{peak:>7.0f} MB")
    print("goals: a ratio of at most 5.0, less than 200 MB")


if __name__ == "__main__":
    main()
