"""The diagnostic document: everything of one pass as JSON, for scripts and bug reports.

`capd.dumptext` shows the same to a person. The schema is versioned by its first key; lists are
sorted, null is unknown, an empty list is none.
"""

from __future__ import annotations

from typing import Any, Optional

from capd.facts import Discovery, Emulator, Machine
from capd.plan import Plan
from capd.table import CATEGORIES
from capd.verdicts import Assessment, Verdict

SCHEMA = 1


def document(discovery: Discovery, assessment: Assessment, plan: Optional[Plan]) -> dict[str, Any]:
    """The whole document; `plan` is None where Placement is not configured."""
    host = discovery.host
    return {
        "schema": SCHEMA,
        "host": {
            "hostname": host.hostname,
            "libvirt": host.libvirt,
            "uri": host.uri,
            "arch": host.arch,
            "virt_type": host.virt_type,
        },
        "emulators": [_emulator(emulator) for emulator in discovery.emulators],
        "machines": [_machine(machine) for machine in discovery.machines],
        "traits": [
            _trait(assessment.verdicts[name], plan) for name in sorted(assessment.verdicts)
        ],
        "placement": None if plan is None else _plan(plan),
        "refused": [
            {
                "arch": trial.arch,
                "machine": trial.machine,
                "category": trial.category,
                "value": trial.value,
                "because": trial.refused,
            }
            for trial in discovery.refusals()
        ],
        "problems": list(assessment.problems),
        "cost": {
            "libvirt_calls": discovery.cost.libvirt_calls,
            "seconds": discovery.cost.seconds,
        },
    }


def _emulator(emulator: Emulator) -> dict[str, Any]:
    return {
        "path": emulator.path,
        "arch": emulator.arch,
        "version": emulator.version,
        "fingerprint": emulator.fingerprint,
        "error": emulator.error,
    }


def _machine(machine: Machine) -> dict[str, Any]:
    row: dict[str, Any] = {
        "arch": machine.arch,
        "virt_type": machine.virt_type,
        "machine": machine.name or None,
        "canonical": machine.canonical or None,
        "alias": machine.alias,
        "family": machine.family or None,
        "default": machine.default,
        "deprecated": machine.deprecated,
        "error": machine.error,
    }
    for category in CATEGORIES:
        values = machine.values(category.name)
        row[category.name] = None if values is None else sorted(values)
    return row


def _trait(verdict: Verdict, plan: Optional[Plan]) -> dict[str, Any]:
    return {
        "name": verdict.name,
        "support": verdict.support.value,
        "owner": owner(verdict.name, plan),
        "source": verdict.source.value,
        "because": verdict.because,
    }


def owner(name: str, plan: Optional[Plan]) -> Optional[str]:
    """Who put a trait on the provider: `capd`, `other`, or None if it is not there."""
    if plan is None:
        return None
    if name in plan.owned:
        return "capd"
    return "other" if name in plan.others else None


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "provider": plan.provider,
        "name": plan.name,
        "how": plan.how,
        "creates": plan.creates,
        "generation": plan.generation,
        "reported_at": plan.reported_at,
        "add": list(plan.add),
        "remove": list(plan.remove),
        "pending": list(plan.pending),
        "contested": list(plan.contested),
        "disagree": list(plan.disagree),
        "unknown_to_placement": list(plan.unknown_to_placement),
        "error": plan.error,
    }
