"""What capd remembers from pass to pass, in the state database.

`Knowledge` is what was last known of each trait and how often in a row it was denied; it is the
host's and depends on no provider. `capd.ledger.Ledger` is what capd did to one provider. `Memory`
reads and writes both for `capd.report`; nothing is written while nothing changes, but for the time
of the last report.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional

from capd.facts import Source, Support
from capd.ledger import Intent, Ledger
from capd.store import Store
from capd.verdicts import Verdict

#: explicit denials in a row after which a trait is taken back
DENIALS = 2


@dataclass(frozen=True)
class Known:
    """What was last known of a trait: `support` (never unknown), None if nothing ever was.

    `denials` counts the latest passes that said no, at most `DENIALS`.
    """

    support: Optional[Support] = None
    denials: int = 0


Knowledge = Mapping[str, Known]


@dataclass(frozen=True)
class Remembered:
    """A provider capd has reported to; `reported_at` in seconds since the epoch."""

    uuid: str
    name: str
    reported_at: Optional[float]


def observe(before: Known, verdict: Verdict) -> Known:
    """What is known after one more pass. An override says what to do, not what is known."""
    if verdict.support is Support.UNKNOWN:
        return Known(before.support, 0)
    if verdict.support is Support.YES:
        known = before.support if verdict.source is Source.OVERRIDE else Support.YES
        return Known(known, 0)
    denials = min(before.denials + 1, DENIALS)
    settled = denials >= DENIALS and verdict.source is not Source.OVERRIDE
    return Known(Support.NO if settled else before.support, denials)


def digest(names: Iterable[str]) -> str:
    """A short stand-in for a vocabulary."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()


class Memory:
    """The trait part of a `Store`. Every method raises StoreError if the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def knowledge(self) -> dict[str, Known]:
        """What was last known of each trait."""
        rows = self._store.rows("SELECT name, support, denials FROM support")
        with self._store.sound("support of a trait"):
            return {
                row["name"]: Known(
                    Support(row["support"]) if row["support"] else None, int(row["denials"])
                )
                for row in rows
            }

    def learn(self, before: Knowledge, after: Knowledge) -> None:
        """Store what changed between two states of knowledge."""
        changed = [
            (name, known.support.value if known.support else None, known.denials)
            for name, known in after.items()
            if before.get(name) != known
        ]
        if changed:
            with self._store.transaction() as connection:
                connection.executemany("REPLACE INTO support VALUES (?, ?, ?)", changed)

    def ledger(self, provider: str) -> Ledger:
        """What capd did to a provider; an empty ledger if it never did anything."""
        with self._store.sound("a ledger"):
            return self._ledger(provider)

    def _ledger(self, provider: str) -> Ledger:
        head = self._store.rows("SELECT * FROM provider WHERE uuid = ?", [provider])
        names: dict[str, set[str]] = {"owned": set(), "withdrawn": set(), "unknown": set()}
        contested: dict[str, bool] = {}
        for row in self._store.rows("SELECT * FROM trait WHERE provider = ?", [provider]):
            if row["state"] == "contested":
                contested[row["name"]] = bool(row["told"])
            else:
                names[row["state"]].add(row["name"])
        return Ledger(
            generation=int(head[0]["generation"]) if head else -1,
            customs=bool(head and head[0]["customs"]),
            missing=bool(head and head[0]["missing"]),
            owned=frozenset(names["owned"]),
            withdrawn=frozenset(names["withdrawn"]),
            contested=contested,
            unknown=frozenset(names["unknown"]),
            intents=self._intents(provider),
        )

    def keep(self, provider: str, name: str, before: Ledger, after: Ledger) -> None:
        """Store what changed between two ledgers, all or nothing."""
        if before == after and before.generation != -1:
            return
        with self._store.transaction() as connection:
            connection.execute(
                "INSERT INTO provider (uuid, name, generation, customs, missing) VALUES"
                " (?, ?, ?, ?, ?) ON CONFLICT (uuid) DO UPDATE SET name = excluded.name,"
                " generation = excluded.generation, customs = excluded.customs,"
                " missing = excluded.missing",
                (provider, name, after.generation, after.customs, after.missing),
            )
            _keep_states(connection, provider, _states(before), _states(after))
            if before.intents != after.intents:
                _keep_intents(connection, provider, after.intents)

    def forget(self, provider: str) -> None:
        """Drop the ledger of a provider: owned, contested and everything else."""
        with self._store.transaction() as connection:
            connection.execute("DELETE FROM provider WHERE uuid = ?", [provider])
            connection.execute("DELETE FROM trait WHERE provider = ?", [provider])
            connection.execute("DELETE FROM intent WHERE provider = ?", [provider])

    def reported(self, provider: str, at: Optional[float] = None) -> None:
        """Note the time of a successful report, in seconds since the epoch."""
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE provider SET reported_at = ? WHERE uuid = ?",
                [time.time() if at is None else at, provider],
            )

    def live(self, provider: str, host: str) -> None:
        """Note that a report to `provider` came from the libvirt of `host` itself."""
        with self._store.transaction() as connection:
            connection.execute("UPDATE provider SET host = ? WHERE uuid = ?", [host, provider])

    def live_hosts(self) -> frozenset[str]:
        """The names under which this host's own libvirt was reported."""
        rows = self._store.rows("SELECT host FROM provider WHERE host IS NOT NULL")
        return frozenset(row["host"] for row in rows)

    def reported_at(self, provider: Optional[str] = None) -> Optional[float]:
        """When capd last reported to a provider, or to any; None if it never did."""
        known = (one for one in self.providers() if provider in (None, one.uuid))
        return next((one.reported_at for one in known), None)

    def providers(self) -> tuple[Remembered, ...]:
        """Every provider capd remembers, the latest reported first."""
        rows = self._store.rows(
            "SELECT uuid, name, reported_at FROM provider ORDER BY reported_at DESC, uuid"
        )
        return tuple(Remembered(row["uuid"], row["name"], row["reported_at"]) for row in rows)

    def vocabulary(self) -> tuple[str, float]:
        """Digest of the names last known to exist in Placement, and when that was checked."""
        rows = self._store.rows("SELECT digest, checked_at FROM vocabulary")
        return (rows[0]["digest"], rows[0]["checked_at"]) if rows else ("", 0.0)

    def keep_vocabulary(self, digest_: str, at: float) -> None:
        """Note that the names with this digest exist in Placement."""
        with self._store.transaction() as connection:
            connection.execute("REPLACE INTO vocabulary VALUES (1, ?, ?)", [digest_, at])

    def _intents(self, provider: str) -> tuple[Intent, ...]:
        rows = self._store.rows("SELECT * FROM intent WHERE provider = ? ORDER BY id", [provider])
        return tuple(
            Intent(
                row["generation"],
                frozenset(json.loads(row["adds"])),
                frozenset(json.loads(row["removes"])),
                frozenset(json.loads(row["evidence"])),
            )
            for row in rows
        )


def _states(ledger: Ledger) -> dict[str, tuple[str, bool]]:
    """Each trait a ledger speaks of, with its one state; contested outweighs the others."""
    states = dict.fromkeys(ledger.unknown, ("unknown", False))
    states.update((name, ("withdrawn", False)) for name in ledger.withdrawn)
    states.update((name, ("owned", False)) for name in ledger.owned)
    states.update((name, ("contested", told)) for name, told in ledger.contested.items())
    return states


def _keep_states(
    connection: sqlite3.Connection,
    provider: str,
    before: Mapping[str, tuple[str, bool]],
    after: Mapping[str, tuple[str, bool]],
) -> None:
    now = time.time()
    connection.executemany(
        "DELETE FROM trait WHERE provider = ? AND name = ?",
        [(provider, name) for name in before if name not in after],
    )
    connection.executemany(
        "REPLACE INTO trait (provider, name, state, told, since) VALUES (?, ?, ?, ?, ?)",
        [
            (provider, name, state, told, now)
            for name, (state, told) in after.items()
            if before.get(name) != (state, told)
        ],
    )


def _keep_intents(
    connection: sqlite3.Connection, provider: str, intents: tuple[Intent, ...]
) -> None:
    connection.execute("DELETE FROM intent WHERE provider = ?", [provider])
    connection.executemany(
        "INSERT INTO intent (provider, generation, adds, removes, evidence)"
        " VALUES (?, ?, ?, ?, ?)",
        [
            (
                provider,
                intent.generation,
                json.dumps(sorted(intent.adds)),
                json.dumps(sorted(intent.removes)),
                json.dumps(sorted(intent.evidence)),
            )
            for intent in intents
        ],
    )
