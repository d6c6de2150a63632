"""`capd --withdraw`: take back every trait that capd owns.

Works without libvirt when the provider is known by configuration, by compute_id file or from
memory, and without capd.db (then only `CUSTOM_CAPD_` traits are known to be capd's). Trait names
stay defined in Placement: a flavor that names one would fail otherwise.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from capd.config import Settings
    from capd.outcome import Report
    from capd.store import Store

HELP = "take every trait that capd owns back"
DESCRIPTION = "Take back every trait that capd owns on this host's resource provider."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A mode has no arguments of its own."""


def run(args: argparse.Namespace) -> int:
    """Withdraw, or show with `--dry-run` what would go. 0 done, 1 failed."""
    from capd import authoptions
    from capd.config import load
    from capd.report import Reporter
    from capd.store import DATABASE, InstanceLock, Store

    settings = load(args.config_file)
    authoptions.check(settings.conf)
    if args.dry_run:
        with Store(settings.state_dir / DATABASE, read_only=True) as store:
            report = Reporter(settings, store, _hostname(settings, store)).withdraw(dry_run=True)
    else:
        with InstanceLock(settings.state_dir), Store(settings.state_dir / DATABASE) as store:
            report = Reporter(settings, store, _hostname(settings, store)).withdraw()
    _show(report, args.dry_run, args.json)
    return 1 if report.error else 0


def _hostname(settings: Settings, store: Store) -> str:
    """The host's name, asked of libvirt only if nothing else tells the provider.

    Raises LibvirtError if libvirt does not answer and no provider is remembered.
    """
    from capd.memory import Memory
    from capd.provider import identify

    identity = identify(settings.placement, "")
    remembered = Memory(store).providers()
    if identity.name:
        return identity.name
    fitting = [one for one in remembered if identity.uuid in (None, one.uuid)]
    if len(fitting) == 1:
        return fitting[0].name
    from capd.hypervisor import Hypervisor

    hypervisor = Hypervisor(settings.libvirt)
    hypervisor.open()
    try:
        return hypervisor.hostname()
    finally:
        hypervisor.close()


def _show(report: Report, dry_run: bool, as_json: bool) -> None:
    from capd.errors import PlacementError

    plan = report.plan
    names = plan.remove if dry_run else report.removed
    if as_json:
        document = {
            "provider": plan.provider,
            "name": plan.name,
            "dry_run": dry_run,
            "removed": list(names),
            "left": list(plan.others),
            "error": report.error,
        }
        print(json.dumps(document, indent=1))
        return
    if report.error:
        raise PlacementError(report.error)
    print(f"provider {plan.name} ({plan.provider}), by {plan.how}")
    for name in names:
        print(f"  - {name}")
    verb = "would be taken back" if dry_run else "taken back"
    print(f"{len(names)} traits {verb}; {len(plan.others)} of others stay")
