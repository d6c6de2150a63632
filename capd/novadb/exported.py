"""What hypervisors recorded, as `capd image-property export` writes it: one JSON object a line.

A line gives the instance's uuid and name, the host that has it, its image and the recorded
properties with their sources. Lines are read one at a time, so a file may be of any length; a
line that cannot be read is a problem of its own and takes no other with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from capd.errors import InputError
from capd.records.export import SCHEMA

#: a longer line is no record (bytes); it bounds the memory a broken file can take
LONGEST = 1024 * 1024


@dataclass(frozen=True)
class Exported:
    """One record.

    `machine` is the exact machine type where `hw_machine_type` is an alias; `gone` says that the
    instance has left the host that recorded it.
    """

    where: str
    uuid: str
    name: str
    host: str
    image: Optional[str]
    managed_by: str
    machine: Optional[str]
    properties: Mapping[str, str]
    gone: bool = False


@dataclass(frozen=True)
class Unreadable:
    """A line that is no record, and why."""

    where: str
    because: str


def read(files: Sequence[Path]) -> Iterator[Union[Exported, Unreadable]]:
    """The records of all files in turn; no file, or `-`, is standard input.

    Raises InputError for a file that cannot be opened.
    """
    for path in files or (Path("-"),):
        if str(path) == "-":
            yield from _lines("standard input", sys.stdin.buffer)
            continue
        try:
            stream = path.open("rb")
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}", culprit=str(path)) from None
        with stream:
            yield from _lines(str(path), stream)


def _lines(name: str, stream: Any) -> Iterator[Union[Exported, Unreadable]]:
    number = 0
    while True:
        line = stream.readline(LONGEST)
        if not line:
            return
        number += 1
        where = f"{name}:{number}"
        if len(line) >= LONGEST and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(LONGEST)
            yield Unreadable(where, "the line is too long for a record")
        elif line.strip():
            yield _record(where, line)


def _record(where: str, line: bytes) -> Union[Exported, Unreadable]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        complete = line.endswith(b"\n")
        return Unreadable(where, "no JSON" if complete else "the last line is cut off")
    try:
        if document.get("schema", SCHEMA) > SCHEMA:
            return Unreadable(where, "it was written by a newer capd")
        return Exported(
            where=where,
            uuid=_text(document, "uuid"),
            name=document.get("name") or "",
            host=_text(document, "host"),
            image=document.get("image") or None,
            managed_by=document.get("managed_by") or "nova",
            machine=document.get("machine") or None,
            gone=document.get("gone") is not None,
            properties={
                str(name): str(entry["value"]) for name, entry in document["properties"].items()
            },
        )
    except (KeyError, TypeError, AttributeError):
        return Unreadable(where, "no record: uuid, host, image and properties are needed")


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document[key]
    if not isinstance(value, str) or not value:
        raise TypeError(key)
    return value
