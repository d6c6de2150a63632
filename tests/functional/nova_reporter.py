"""Nova's own reporting, run by the Python of Nova's environment: one resource pass per line.

    nova_reporter.py PLACEMENT_URL LIBVIRT_URI NAME UUID
    nova_reporter.py PLACEMENT_URL fleet {NAME: UUID, ...} {TRAIT: BOOL, ...}

The second form does each pass for many hosts, with given claims instead of libvirt's.

What `ResourceTracker._update_to_placement` does, with Nova's report client, provider tree and
libvirt driver: fetch the tree, let the driver set inventory and traits, add the driver's
capabilities, write what changed. Each line read is `fresh` (look at the provider anew, as Nova
does every 300 s) or `cached`, and is answered by a JSON object: the standard traits Nova claims,
those it denies, and how many times it had to start over.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

os.environ.setdefault("OS_NOVA_DISABLE_EVENTLET_PATCHING", "1")
warnings.simplefilter("ignore")

import nova.conf  # noqa: E402
import os_traits  # noqa: E402
from nova import context, exception, objects  # noqa: E402
from nova.scheduler.client import report  # noqa: E402
from nova.virt.libvirt import driver  # noqa: E402

CONF = nova.conf.CONF
#: the driver's own pages of memory, vGPUs and the like: not what this is about
STATIC = (
    "_get_storage_bus_traits",
    "_get_video_model_traits",
    "_get_vif_model_traits",
    "_get_iommu_model_traits",
    "_get_tpm_traits",
    "_get_sound_model_traits",
    "_get_cpu_arch_traits",
    "_get_cpu_emulation_arch_traits",
)
INVENTORY = {
    name: {
        "total": total,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": total,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    for name, total in (("VCPU", 8), ("MEMORY_MB", 32768), ("DISK_GB", 100))
}


def configure(url: str, uri: str) -> None:
    CONF([], project="nova", default_config_files=[])
    from keystoneauth1 import loading

    loading.register_auth_conf_options(CONF, "placement")
    options = loading.get_auth_plugin_conf_options("admin_token")
    CONF.register_opts(options, group="placement")
    CONF.set_override("auth_type", "admin_token", "placement")
    CONF.set_override("endpoint", url, "placement")
    CONF.set_override("token", "admin", "placement")
    CONF.set_override("endpoint_override", url, "placement")
    if uri:
        CONF.set_override("connection_uri", uri, "libvirt")
        CONF.set_override("virt_type", "qemu", "libvirt")
    objects.register_all()


def static_traits(uri: str) -> dict[str, bool]:
    """What Nova's libvirt driver claims and denies on this host."""
    libvirt_driver = driver.LibvirtDriver(None)
    traits: dict[str, bool] = {}
    for name in STATIC:
        traits.update(getattr(libvirt_driver, name)())
    return traits


def one_pass(client: Any, name: str, uuid: str, static: dict[str, bool]) -> None:
    """The steps of `_update_to_placement` that concern one plain compute node."""
    ctxt = context.get_admin_context()
    tree = client.get_provider_tree_and_ensure_root(ctxt, uuid, name=name)
    client.get_allocations_for_provider_tree(ctxt, name)
    tree.update_inventory(name, INVENTORY)
    tree.add_traits(name, *(trait for trait, present in static.items() if present))
    tree.remove_traits(name, *(trait for trait, present in static.items() if not present))
    traits = set(tree.data(name).traits)
    for trait, supported in CAPABILITIES.items():
        (traits.add if supported else traits.discard)(trait)
    traits |= {os_traits.COMPUTE_NODE, os_traits.OWNER_NOVA}
    tree.update_traits(name, list(traits))
    client.update_from_provider_tree(ctxt, tree)


def until_done(client: Any, name: str, uuid: str, static: dict[str, bool]) -> int:
    """One pass as Nova's tracker tries it; how often it had to start over."""
    for again in range(5):
        try:
            one_pass(client, name, uuid, static)
            return again
        except exception.ResourceProviderUpdateConflict:
            pass
    raise SystemExit(f"{name}: too many conflicts")


def main() -> None:
    url, uri, *rest = sys.argv[1:5]
    fleet = uri == "fleet"
    configure(url, "" if fleet else uri)
    hosts = json.loads(rest[0]) if fleet else {rest[0]: rest[1]}
    static = json.loads(rest[1]) if fleet else static_traits(uri)
    static = {name: present for name, present in static.items() if known(name)}
    clients = {name: report.SchedulerReportClient() for name in hosts}
    for line in sys.stdin:
        again = 0
        for name, uuid in hosts.items():
            if line.strip() == "fresh":
                clients[name]._association_refresh_time.clear()
            again += until_done(clients[name], name, uuid, static)
        claimed = sorted(trait for trait, present in static.items() if present)
        denied = sorted(trait for trait, present in static.items() if not present)
        print(json.dumps({"claimed": claimed, "denied": denied, "again": again}), flush=True)


def known(name: str) -> bool:
    """Whether Nova's os-traits has the name; Nova leaves others out."""
    return name in os_traits.get_traits()


CAPABILITIES = driver.LibvirtDriver(None).capabilities_as_traits() if len(sys.argv) > 4 else {}

if __name__ == "__main__":
    main()
