"""Minimal guests are well-formed whatever the names are."""

from __future__ import annotations

from lxml import etree

from capd.facts import Machine
from capd.trialguest import guest_xml, guests_for


def test_names_are_quoted() -> None:
    machine = Machine("x86_64", "kvm", "a'b<c&d", "x", None, "f", False, False, "/bin/q&<>'")
    (guest,) = guests_for("video_model", "v'&<")
    root = etree.fromstring(guest_xml(machine, guest))
    kind, emulator = root.find("os/type"), root.find("devices/emulator")
    video = root.find("devices/video/model")
    assert kind is not None and emulator is not None and video is not None
    assert kind.get("machine") == "a'b<c&d"
    assert emulator.text == "/bin/q&<>'"
    assert video.get("type") == "v'&<"
