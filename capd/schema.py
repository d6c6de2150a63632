"""The schema of the state database, version by version.

`capd.store` applies what is missing when it opens a database. Trait memory belongs to
`capd.memory`, records of instances to `capd.records.recordstore`.
"""

from __future__ import annotations

#: traits: what was written to which provider, and what was last known of each trait
_TRAIT_MEMORY = (
    """CREATE TABLE provider (
        uuid TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        generation INTEGER NOT NULL,
        customs INTEGER NOT NULL DEFAULT 0,
        missing INTEGER NOT NULL DEFAULT 0,
        reported_at REAL
    ) WITHOUT ROWID""",
    """CREATE TABLE trait (
        provider TEXT NOT NULL,
        name TEXT NOT NULL,
        state TEXT NOT NULL,
        told INTEGER NOT NULL DEFAULT 0,
        since REAL NOT NULL,
        PRIMARY KEY (provider, name)
    ) WITHOUT ROWID""",
    """CREATE TABLE intent (
        id INTEGER PRIMARY KEY,
        provider TEXT NOT NULL,
        generation INTEGER NOT NULL,
        adds TEXT NOT NULL,
        removes TEXT NOT NULL,
        evidence TEXT NOT NULL
    )""",
    """CREATE TABLE support (
        name TEXT PRIMARY KEY,
        support TEXT,
        denials INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID""",
    """CREATE TABLE vocabulary (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        digest TEXT NOT NULL,
        checked_at REAL NOT NULL
    )""",
)

#: records: what each instance was given, every change to it, definitions kept for restore
_RECORDS = (
    """CREATE TABLE record (
        uuid TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        managed_by TEXT NOT NULL,
        image TEXT,
        arch TEXT NOT NULL,
        virt_type TEXT NOT NULL,
        machine TEXT,
        since REAL NOT NULL,
        gone REAL,
        properties TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE record_history (
        id INTEGER PRIMARY KEY,
        uuid TEXT NOT NULL,
        at REAL NOT NULL,
        event TEXT NOT NULL,
        property TEXT,
        old_value TEXT,
        old_source TEXT,
        new_value TEXT,
        new_source TEXT
    )""",
    "CREATE INDEX record_history_uuid ON record_history (uuid)",
    """CREATE TABLE record_definition (
        id INTEGER PRIMARY KEY,
        uuid TEXT NOT NULL,
        at REAL NOT NULL,
        xml TEXT NOT NULL
    )""",
    "CREATE INDEX record_definition_uuid ON record_definition (uuid)",
)

#: what `set` left in force in place of a kept definition (SHA-256), to tell a later change by hand
_LEFT = ("ALTER TABLE record_definition ADD COLUMN left_digest TEXT",)

#: the host whose own libvirt the last report to a provider came from, NULL after a recording
_HOST = ("ALTER TABLE provider ADD COLUMN host TEXT",)

#: one entry per schema version: the statements that lead from the version before to it. Landed
#: entries never change; a new need is a new entry.
MIGRATIONS: tuple[tuple[str, ...], ...] = (_TRAIT_MEMORY, _RECORDS, _LEFT, _HOST)
