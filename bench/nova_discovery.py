"""Nova's own discovery, to be run by the Python of Nova's environment with the libvirt URI.

Prints one JSON object: seconds to import, to ask (`Host.get_domain_capabilities`) and to make
traits, and the process's peak memory in kB.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time

os.environ.setdefault("OS_NOVA_DISABLE_EVENTLET_PATCHING", "1")

started = time.monotonic()
import nova.conf  # noqa: E402
from nova.virt.libvirt import driver  # noqa: E402

imported = time.monotonic()
nova.conf.CONF([], project="nova", default_config_files=[])
nova.conf.CONF.set_override("connection_uri", sys.argv[1], "libvirt")
nova.conf.CONF.set_override("virt_type", sys.argv[2], "libvirt")
libvirt_driver = driver.LibvirtDriver(None)
before = time.monotonic()
capabilities = libvirt_driver._host.get_domain_capabilities()
asked = time.monotonic()
traits: dict[str, bool] = {}
for name in (
    "_get_storage_bus_traits",
    "_get_video_model_traits",
    "_get_vif_model_traits",
    "_get_sound_model_traits",
    "_get_iommu_model_traits",
    "_get_tpm_traits",
    "_get_cpu_arch_traits",
    "_get_cpu_emulation_arch_traits",
):
    traits.update(getattr(libvirt_driver, name)())
print(
    json.dumps(
        {
            "import": imported - started,
            "ask": asked - before,
            "traits": time.monotonic() - asked,
            "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "machines": sum(len(machines) for machines in capabilities.values()),
            "names": len(traits),
        }
    )
)
