"""Matching among many hosts: requests grow with traits alone, and memory stays small.

`python -m bench.match` is the same with 10,000 hosts on MariaDB, and measures time.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.fleet_of_traits import fill
from tests.rig.placement import Placement

REPOSITORY = Path(__file__).resolve().parents[2]
HOSTS = 500
IMAGE = ("hw_machine_type=q35", "hw_disk_bus=virtio", "hw_cdrom_bus=sata", "hw_vif_model=e1000e")


def test_500_hosts_of_200_traits(make_placement: Callable[..., Placement], tmp_path: Path) -> None:
    service = make_placement()
    service.client.known_traits()  # the first request fills the table of standard names
    service.down()
    database = sqlite3.connect(service.root / "placement.db")
    known = [row[0] for row in database.execute("SELECT name FROM traits ORDER BY id")]
    fill(HOSTS, known, database.execute)
    database.commit()
    database.close()
    service.launch()
    service.forget_requests()
    settings = tmp_path / "capd.conf"
    settings.write_text(service.snippet)
    command = [sys.executable, "-m", "capd", "--config-file", str(settings), "match", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run(
        [*command, *(f"--property={one}" for one in IMAGE)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (len(answer["fits"]), len(answer["rejects"])) == (450, 50)
    assert {reject["reporting"] for reject in answer["rejects"]} == {False}
    assert [(count["trait"], count["hosts"]) for count in answer["counts"]] == [
        ("CUSTOM_CAPD_MACHINE_Q35", 450),
        ("CUSTOM_CAPD_Q35_NET_VIF_MODEL_E1000E", 450),
        ("CUSTOM_CAPD_Q35_STORAGE_BUS_SATA", 450),
        ("CUSTOM_CAPD_Q35_STORAGE_BUS_VIRTIO", 450),
    ]
    served = [one for one in service.requests() if one.user_agent.startswith("capd/")]
    # versions, names, fits, one host's tree, other providers, silent hosts, 4 traits
    assert len(served) == answer["requests"] == 10
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak == before or peak < 200_000  # kB
