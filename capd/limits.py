"""How long requests may take and how large their answers may be.

Made by `capd.placement` for its client, held to by `capd.transport`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

_MIB = 2**20

#: bytes of an answer a pass needs. All names under capd's prefix come to some hundred kilobytes,
#: a token with the catalog of a large cloud to less. Parsed, JSON can take 21 times its length
#: (`[[],[],...]`), and the unit may have 256 MB: so 4 MiB and no more.
PASS = 4 * _MIB

#: bytes of an answer that matching needs: a list of 10,000 hosts with links is some 10 MB
MATCH = 256 * _MIB


@dataclass
class Limits:
    """Of one client. `largest` in bytes, unpacked; `until` on the monotonic clock.

    `until` moves with each pass and counts for every request, those to keystone included.
    """

    largest: int = PASS
    until: float = float("inf")

    @property
    def left(self) -> float:
        """Seconds until the pass is out of time; negative when it is."""
        return self.until - time.monotonic()
