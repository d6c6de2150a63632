"""Matching: from image properties to the traits a host must have, and to the hosts that have them.

`translate` is pure: no I/O, no configuration, no Placement; a scheduler can import it. What it
asks for is named by `capd.table` and `capd.names`, the tables that the reporting side uses, so
that asking and reporting cannot differ. `capd.match.sources` reads images and flavors,
`capd.match.hosts` asks Placement, `capd.match.explain` looks at one host, and
`capd.commands.match` is the command.

    >>> from capd.match import translate
    >>> translate({"hw_machine_type": "q35", "hw_disk_bus": "sata"}).required
    ('CUSTOM_CAPD_MACHINE_Q35', 'CUSTOM_CAPD_Q35_STORAGE_BUS_SATA')
"""

from __future__ import annotations

from capd.match.outcomes import Ask, Origin, Outcome, Scope, Status, Translation
from capd.match.translate import translate

__all__ = ["Ask", "Origin", "Outcome", "Scope", "Status", "Translation", "translate"]
