"""Where a one-shot command's discovery comes from: this host, or a recording (`--from`)."""

from __future__ import annotations

import argparse
import sys

from capd.config import Settings
from capd.discover import Witness, discover
from capd.facts import Discovery
from capd.ticker import Ticker


def observe(settings: Settings, args: argparse.Namespace) -> Discovery:
    """Discover this host or the recorded one, keeping the raw documents if asked to.

    Raises LibvirtError or RecordingError if nothing can be learnt at all.
    """
    from capd.recording import Recording

    with Ticker() as ticker:
        if args.source is not None:
            return _kept(settings, Recording(args.source), args, ticker)
        from capd.hypervisor import Hypervisor
        from capd.live import LiveWitness

        hypervisor = Hypervisor(settings.libvirt)
        try:
            ticker("connecting to libvirt", 0, 0)
            hypervisor.open()
            return _kept(settings, LiveWitness(hypervisor, settings.libvirt), args, ticker)
        finally:
            hypervisor.close()


def _kept(
    settings: Settings, witness: Witness, args: argparse.Namespace, ticker: Ticker
) -> Discovery:
    from capd.recording import Recorder

    if args.record is None:
        return discover(settings, witness, progress=ticker)
    recorder = Recorder(witness, args.record)
    discovery = discover(settings, recorder, progress=ticker)
    documents = recorder.finish()
    print(f"capd: {documents} distinct documents recorded in {args.record}", file=sys.stderr)
    return discovery
