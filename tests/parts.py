"""A part of the rig for as long as tests need it; skips them where it cannot be had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import pytest

from tests.rig.base import Unavailable


def running(part: Any, ready: Callable[[Any], object] = lambda part: None) -> Iterator[Any]:
    """Start `part`, make it `ready`, and stop it in the end; for the body of a fixture."""
    try:
        part.start()
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        ready(part)
        yield part
    finally:
        part.stop()
