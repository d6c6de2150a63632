"""`capd --once`: one full pass, then exit."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from capd.stages import CycleResult

HELP = "one full pass, then exit"
DESCRIPTION = HELP


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `--once` are those of the top level."""


def run(args: argparse.Namespace) -> int:
    """Discover and report; 0 if all of it was reported, 1 if anything failed."""
    from capd import authoptions, config
    from capd.cycle import Cycle
    from capd.progress import Progress
    from capd.recording import Recording
    from capd.store import InstanceLock
    from capd.ticker import Ticker

    settings = config.load(args.config_file)
    authoptions.check(settings.conf)
    witness = Recording(args.source) if args.source is not None else None
    with InstanceLock(settings.state_dir), Ticker() as ticker:
        if witness is not None:
            _refuse_anothers(settings.state_dir, witness.host()[0], args.source)
        cycle = Cycle(settings, witness=witness, once=True)
        try:
            result = cycle.run(Progress(show=ticker))
        finally:
            cycle.close()
    return _tell(result)


def _refuse_anothers(state_dir: Path, recorded: str, source: Path) -> None:
    """Raise InputError if another host's recording would take this host's traits away."""
    from capd.errors import InputError
    from capd.memory import Memory
    from capd.store import DATABASE, Store

    with Store(state_dir / DATABASE, read_only=True) as store:
        hosts = Memory(store).live_hosts()
    if hosts and recorded not in hosts:
        raise InputError(
            f"{source} was recorded on {recorded}, and {state_dir} remembers what this host, "
            f"{', '.join(sorted(hosts))}, reported of itself",
            culprit=str(source),
            cure="report recordings with a [DEFAULT] state_dir and a provider of their own",
        )


def _tell(result: CycleResult) -> int:
    """Print what changed and what failed; the exit code."""
    report, assessment = result.report, result.assessment
    problems = [*(assessment.problems if assessment else ()), *(report.problems if report else ())]
    for done in result.errors:
        if done.error is not None and str(done.error) not in problems:
            problems.append(done.error.line())
    for problem in problems:
        print(f"capd: {problem}", file=sys.stderr)
    for change in report.changes if report else ():
        if report and change != report.error:
            print(change)
    if report and report.ok and not (report.added or report.removed):
        print("nothing to change")
    return 0 if report and report.ok and not problems else 1
