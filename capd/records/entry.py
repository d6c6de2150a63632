"""One instance as it is shown: what is written down and how it stands.

`capd.records.look` makes entries, `capd.records.export` and the commands show them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from capd.records.drift import Drift, Unsupported
from capd.records.reading import Domain
from capd.records.records import Record


@dataclass(frozen=True)
class Entry:
    """One instance: its record, its domain if it is here, and how they stand to each other.

    `written` is False if the record is only what would be written down.
    """

    record: Record
    domain: Optional[Domain] = None
    drift: tuple[Drift, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    written: bool = True
