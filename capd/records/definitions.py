"""Definitions that `set` replaced, kept for `restore`.

Between `capd.records.change` and the state database (`capd.store`). They hold passwords, as
libvirt needs them back: they are stored in a file of mode 0600 and never shown.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Optional

from lxml import etree

from capd import documents
from capd.store import Store

#: a first start chooses the firmware's files, gives addresses and sorts the devices
_BY_LIBVIRT = ("os/loader", "os/nvram", "os/firmware", "devices//address", "devices//alias")


@dataclass(frozen=True)
class Kept:
    """One definition as it was before a `set`, at a time in seconds since the epoch."""

    number: int
    at: float
    xml: str
    left: Optional[str]

    def still_left(self, xml: str) -> bool:
        """Whether `xml`, which is in force now, is what that `set` left there."""
        return self.left is None or self.left == _digest(xml)


class Definitions:
    """The kept definitions in an open `Store`. Every method raises StoreError if it must."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keep(self, uuid: str, xml: str, now: float) -> int:
        """Keep a domain's definition as it was before capd changed it; returns its number."""
        with self._store.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO record_definition (uuid, at, xml) VALUES (?, ?, ?)", (uuid, now, xml)
            )
            return int(cursor.lastrowid or 0)

    def left(self, number: int, xml: str) -> None:
        """Note what is in force now in place of a kept definition."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE record_definition SET left_digest = ? WHERE id = ?",
                (_digest(xml), number),
            )

    def drop(self, number: int) -> None:
        """Forget a kept definition, because it is in force again or was never replaced."""
        with self._store.transaction() as connection:
            connection.execute("DELETE FROM record_definition WHERE id = ?", (number,))

    def last(self, uuid: str) -> Optional[Kept]:
        """The definition kept last, None if there is none."""
        rows = self._store.rows(
            "SELECT id, at, xml, left_digest FROM record_definition WHERE uuid = ? "
            "ORDER BY id DESC LIMIT 1",
            (uuid,),
        )
        return Kept(*rows[0]) if rows else None


def _digest(xml: str) -> str:
    """Of what somebody decided: without what libvirt fills in by itself at a start."""
    root = documents.parse(xml, "a kept definition")
    for path in _BY_LIBVIRT:
        for element in root.findall(path):
            parent = element.getparent()
            if parent is not None:
                parent.remove(element)
    for element in root.iter():
        element.text, element.tail = (element.text or "").strip(), ""
    for devices in root.findall("devices"):
        devices[:] = sorted(devices, key=lambda device: etree.tostring(device, method="c14n"))
    return hashlib.sha256(etree.tostring(root, method="c14n")).hexdigest()
