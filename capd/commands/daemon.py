"""`capd` without a mode: the daemon."""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import sys

HELP = "the daemon"
DESCRIPTION = "Discover, report and record at an interval, in the foreground."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The daemon has no arguments of its own."""


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM. Raises ConfigError, and StoreError if another capd runs already."""
    from capd import config, journal
    from capd.daemon import Daemon
    from capd.notify import Notifier
    from capd.store import InstanceLock

    # The watchdog's SIGABRT leaves every thread's stack on standard error.
    faulthandler.enable()
    settings = config.load(args.config_file)
    journal.setup(args.debug or settings.debug)
    with InstanceLock(settings.state_dir):
        daemon = Daemon(settings, args.config_file, Notifier(), debug=args.debug)
        code = daemon.run()
        logging.shutdown()
        if daemon.stuck:
            # A thread inside libvirt cannot be ended, and must not hold the process.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return code
