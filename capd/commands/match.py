"""`capd match`: which hosts can take an image, and why the others cannot."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from capd.errors import CapdError, InputError, PlacementError

if TYPE_CHECKING:
    from capd.match import Translation
    from capd.match.candidates import Request
    from capd.match.flavors import Flavor
    from capd.match.providers import Api
    from capd.match.sources import Image

HELP = "required traits of an image, hosts that fit, and reasons for those that do not"

DESCRIPTION = """\
Turn image properties into required traits, and ask Placement which hosts have them.

exit codes:
  0  some host fits (with --as-traits and --as-command: done)
  1  no host fits
  2  wrong input: a property, file, flavor, host or option; what is right was still answered
  3  Placement could not be asked
"""


class Unanswerable(CapdError):
    """Placement could not be asked, which is not the same as no host."""

    exit_code = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `capd match`."""
    parser.add_argument(
        "--property",
        dest="properties",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an image property; may be given several times and wins over --image",
    )
    parser.add_argument(
        "--image",
        metavar="FILE",
        type=Path,
        help="image as `openstack image show -f json` or the Glance API gives it, a volume as "
        "`openstack volume show -f json`, or a JSON mapping of properties; - is standard input",
    )
    parser.add_argument(
        "--flavor",
        metavar="FILE",
        type=Path,
        help="flavor as `openstack flavor show -f json` gives it: resources, extra specs; "
        "- is standard input",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--exact",
        dest="exact",
        action="store_true",
        default=True,
        help="ask for capd's traits, which know machine types (the default)",
    )
    mode.add_argument(
        "--standard",
        dest="exact",
        action="store_false",
        help="ask only for what Nova's own scheduler would ask for",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--as-traits",
        action="store_true",
        help="print trait:...=required properties for the image; do not ask Placement",
    )
    output.add_argument(
        "--as-command",
        action="store_true",
        help="the same as openstack commands",
    )
    output.add_argument("--host", metavar="NAME", help="explain one host, property by property")
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="one JSON document"
    )


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from capd.match import translate
    from capd.match.candidates import request_for

    image, flavor = _sources(args)
    translation = translate(image.properties, flavor, args.exact)
    request = request_for(flavor, image.volume_backed)
    if args.as_traits or args.as_command:
        _print_traits(args, translation, image, flavor)
        found = True
    else:
        found = _ask(args, translation, request, image)
    return _complain(translation) or (0 if found else 1)


def _sources(args: argparse.Namespace) -> tuple[Image, Optional[Flavor]]:
    from capd.match.sources import Image, read_flavor, read_image, with_properties

    if not args.properties and args.image is None and args.flavor is None:
        raise InputError("nothing to match", cure="give --property, --image or --flavor")
    if str(args.image) == "-" == str(args.flavor):
        raise InputError("only one of --image and --flavor can be standard input", culprit="-")
    image = read_image(args.image) if args.image is not None else Image("", {})
    flavor = read_flavor(args.flavor) if args.flavor is not None else None
    return with_properties(image, args.properties), flavor


def _ask(
    args: argparse.Namespace,
    translation: Translation,
    request: Optional[Request],
    image: Image,
) -> bool:
    """Ask Placement and print; whether some host (with --host: that one) fits."""
    from capd.match import render
    from capd.match.explain import explain
    from capd.match.hosts import find

    try:
        api = _placement(args)
        if args.host is not None:
            found = explain(api, args.host, translation)
            _print(
                args,
                {
                    **render.document(translation, request, None),
                    "host": render.explanation_document(found),
                },
                render.explanation(found),
            )
            return found.fits
        answer = find(api, translation, request)
    except PlacementError as error:
        raise Unanswerable(str(error), culprit=error.culprit, cure=error.cure) from None
    lines = render.asked(translation, answer)
    if image.volume_backed:
        lines.append("The image is volume-backed: no root disk is taken from the host.")
    if request is not None:
        amounts = ", ".join(f"{key} {value}" for key, value in sorted(request.resources.items()))
        lines.append(f"One instance takes {amounts or 'only the resources of granular groups'}.")
    lines += ["", *render.hosts(translation, answer)]
    _print(args, render.document(translation, request, answer), lines)
    return bool(answer.fits)


def _placement(args: argparse.Namespace) -> Api:
    from capd.config import load
    from capd.limits import MATCH
    from capd.placement import Placement

    client = Placement(load(args.config_file, needed=False), largest=MATCH)
    client.begin()
    return client


def _print(args: argparse.Namespace, document: dict[str, Any], lines: list[str]) -> None:
    from capd.match.render import json_lines

    print("\n".join(json_lines(document) if args.json else lines))


def _print_traits(
    args: argparse.Namespace, translation: Translation, image: Image, flavor: Optional[Flavor]
) -> None:
    """The traits as properties to set, on the image and, for its extra specs, on the flavor."""
    from capd.match import Origin
    from capd.table import CUSTOM

    owners = [
        ("image", image.name or "IMAGE", translation.derived(Origin.IMAGE)),
        (
            "flavor",
            (flavor.name if flavor else "") or "FLAVOR",
            translation.derived(Origin.FLAVOR),
        ),
    ]
    if args.json:
        traits = {kind: {f"trait:{name}": "required" for name in row} for kind, _, row in owners}
        json.dump(traits, sys.stdout, indent=2)
        print()
        return
    for kind, name, row in owners:
        if not row:
            continue
        if args.as_command:
            options = [f"--property trait:{trait}=required" for trait in row]
            print(" \\\n    ".join([f"openstack {kind} set", *options, shlex.quote(name)]))
            continue
        if kind == "flavor":
            print("# for the flavor:")
        print("\n".join(f"trait:{trait}=required" for trait in row))
    stale = sorted(trait for trait in translation.passed if trait.startswith(CUSTOM))
    if stale:
        print(
            f"already named and not asked for by a property: {', '.join(stale)}", file=sys.stderr
        )


def _complain(translation: Translation) -> int:
    """Name each wrong property on standard error; 2 if there is one, else 0."""
    from capd.match.render import complaint

    for outcome in translation.errors:
        print(f"capd: {complaint(outcome)}", file=sys.stderr)
    return 2 if translation.errors else 0
