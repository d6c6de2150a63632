"""`capd --once`: one full pass, then exit."""

from __future__ import annotations

import argparse
import sys

HELP = "one full pass, then exit"
DESCRIPTION = HELP


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `--once` are those of the top level."""


def run(args: argparse.Namespace) -> int:
    """Discover and report; 0 if all of it was reported, 1 if anything failed."""
    from capd import config, traits
    from capd.commands.sources import observe
    from capd.report import Reporter
    from capd.store import DATABASE, InstanceLock, Store

    settings = config.load(args.config_file)
    with InstanceLock(settings.state_dir), Store(settings.state_dir / DATABASE) as store:
        discovery = observe(settings, args)
        assessment = traits.assess(discovery, settings.traits, settings.libvirt)
        report = Reporter(settings, store, discovery.host.hostname).report(assessment)
    for problem in (*assessment.problems, *report.problems):
        print(f"capd: {problem}", file=sys.stderr)
    for change in report.changes:
        if change != report.error:
            print(change)
    if report.error:
        print(f"capd: {report.error}", file=sys.stderr)
    return 0 if report.ok and not assessment.problems else 1
