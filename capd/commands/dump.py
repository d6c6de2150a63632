"""`capd --dump`: the daemon's own pass, stopped before the write."""

from __future__ import annotations

import argparse
import json
import os
import sys

HELP = "discover and show; write nothing"
DESCRIPTION = HELP


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The dump's options are those of the top level."""


def run(args: argparse.Namespace) -> int:
    """Show facts, traits and the plan; 1 if something could not be learnt."""
    from capd import config, dump, dumptext, traits
    from capd.commands.planning import preview
    from capd.commands.sources import observe

    settings = config.load(args.config_file)
    discovery = observe(settings, args)
    assessment = traits.assess(discovery, settings.traits, settings.libvirt)
    plan, why = preview(settings, discovery.host.hostname, assessment)
    if args.json:
        json.dump(dump.document(discovery, assessment, plan), sys.stdout, indent=1)
        print()
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(dumptext.render(discovery, assessment, plan, why, colour), end="")
    return 1 if assessment.problems else 0
