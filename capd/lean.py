"""requests without what capd has no use for.

Whatever imports requests or keystoneauth calls this first.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib import metadata, util
from types import ModuleType
from typing import cast


def import_requests() -> None:
    """Import requests without its guessers of character sets, which JSON has no use for.

    They are 3 to 8 MB of the daemon's memory. chardet is left out wherever charset_normalizer
    takes its place; from 2.32 on requests does without either. None in sys.modules is Python's
    way of saying that a module cannot be found (reference, "The module cache").
    """
    if "requests" in sys.modules:
        return
    spared = [name for name in _guessers() if name not in sys.modules]
    sys.modules.update(dict.fromkeys(spared, cast(ModuleType, None)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that it found no guesser
            importlib.import_module("requests")
    finally:
        for name in spared:
            del sys.modules[name]


def _guessers() -> tuple[str, ...]:
    """The guessers that this requests can spare; none if its version cannot be told."""
    try:
        major, minor = (int(part) for part in metadata.version("requests").split(".")[:2])
    except (metadata.PackageNotFoundError, ValueError):
        return ()
    if (major, minor) >= (2, 32):
        return "chardet", "charset_normalizer"
    return ("chardet",) if util.find_spec("charset_normalizer") else ()
