"""Which Nova it is, and what that Nova could not read."""

from __future__ import annotations

from typing import Optional

import pytest

from capd.fields import FIELDS
from capd.novadb.releases import (
    _NEW_NAMES,
    _NEW_VALUES,
    by_revision,
    by_services,
    understands_name,
    understands_value,
)


@pytest.mark.parametrize(
    ("revision", "api", "number"),
    [
        ("402", False, 20),
        ("406", False, 20),
        ("407", False, 21),
        ("417", False, 23),
        ("422", False, 23),
        ("401", False, None),
        ("423", False, None),
        ("67", True, 20),
        ("87", True, 23),
        ("66", True, None),
        ("88", True, None),
        ("8f2f1571d55b", False, 24),
        ("16f1fbcab42b", False, 25),
        ("1b91788ec3a6", False, 27),
        ("13863f4e1612", False, 29),
        ("d60bddf7a903", False, 30),
        ("2903cd72dc14", False, 31),
        ("ab450ba04102", False, 34),
        ("b30f573d3377", True, 25),
        ("cdeec0c85668", True, 28),
        ("ffffffffffff", False, None),
        ("ab450ba04102", True, None),
    ],
)
def test_release_by_schema_is_the_oldest_that_fits(
    revision: str, api: bool, number: Optional[int]
) -> None:
    release = by_revision(revision, api)
    assert (release.number if release else None) == number


@pytest.mark.parametrize(
    ("versions", "number"),
    [([74], 34), ([74, 61], 25), ([66], 27), ([67], 29), ([62], 25), ([40], 20), ([12], 20)],
)
def test_release_by_services_is_that_of_the_oldest(versions: list[int], number: int) -> None:
    release = by_services(versions)
    assert release is not None and release.number == number


def test_no_services_say_nothing() -> None:
    assert by_services([]) is None
    assert by_services([0]) is None


def test_new_names_and_values_are_known_to_the_properties() -> None:
    assert set(_NEW_NAMES) <= set(FIELDS)
    for name, value in _NEW_VALUES:
        assert value in FIELDS[name].values


def test_what_a_release_understands() -> None:
    assert understands_name(29, "hw_input_bus")
    assert not understands_name(24, "hw_input_bus")
    assert understands_value(24, "hw_input_bus", "usb")
    assert not understands_value(29, "hw_video_model", "bochs")
    assert understands_value(30, "hw_video_model", "bochs")
    assert not understands_value(38, "hw_vif_model", "igb")
    assert understands_value(24, "hw_vif_model", "e1000")
