"""`capd --check`: PASS / WARN / FAIL for everything capd depends on."""

from __future__ import annotations

import argparse
import json
import sys

HELP = "check what capd depends on"
DESCRIPTION = (
    "One line for each thing checked, with the cure. Exits 1 if anything failed, 2 if the "
    "configuration cannot be used."
)

_COLOURS = {"PASS": "\033[32m", "WARN": "\033[33m", "FAIL": "\033[31m"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--json` is an argument of capd itself."""


def run(args: argparse.Namespace) -> int:
    """Print the findings as they come, or one JSON document at the end."""
    from capd import check
    from capd.findings import Level

    findings = []
    colour = sys.stdout.isatty() and not args.json
    for finding in check.everything(tuple(args.config_file)):
        findings.append(finding)
        if args.json:
            continue
        word = finding.level.value
        if colour:
            word = f"{_COLOURS[word]}{word}\033[0m"
        print(f"{word}  {finding.subject}: {finding.text}", flush=True)
        if finding.cure:
            print(f"      cure: {finding.cure}")
    failed = any(finding.level is Level.FAIL for finding in findings)
    if args.json:
        rows = [
            {
                "check": finding.subject,
                "level": finding.level.value,
                "text": finding.text,
                "cure": finding.cure,
            }
            for finding in findings
        ]
        print(json.dumps({"schema": 1, "ok": not failed, "checks": rows}, indent=1))
    if any(one.level is Level.FAIL and one.subject == "configuration" for one in findings):
        return 2
    return 1 if failed else 0
