"""Recorded hosts: the raw documents of a discovery on disk, and a discovery from them.

Layout of a recording: `capabilities.xml`; `domcaps/ARCH--MACHINE--VIRT.xml`, one whole document
for each distinct content; `index.json`, which document answers for which combination, or the
error; `devices/NAME.txt` and `.version` for each emulator by the name of its file; `trials.json`,
what libvirt's validation said. The last one and the host's name and URI in the index are optional,
so that older recordings load.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional

from capd import devices, documents, regular
from capd.calls import Outcome
from capd.capabilities import Combination
from capd.config import Settings
from capd.discover import Progress, Witness, discover, quiet
from capd.domcaps import remainder
from capd.emulator import MAX_OUTPUT, Answer
from capd.errors import (
    DocumentError,
    EmulatorError,
    LibvirtError,
    LibvirtRefusal,
    RecordingError,
)
from capd.facts import Discovery, Machine, Trial

_INDEX, _CAPABILITIES, _TRIALS = "index.json", "capabilities.xml", "trials.json"


class Recorder:
    """A witness that passes everything on from `inner` and keeps the raw documents."""

    def __init__(self, inner: Witness, directory: Path) -> None:
        self.inner = inner
        self.directory = directory
        self._index: dict[str, Any] = {}
        self._rows: list[dict[str, Optional[str]]] = []
        self._known: dict[str, str] = {}
        self._trials: list[Trial] = []
        try:
            if directory.exists() and any(directory.iterdir()):
                raise RecordingError(
                    f"{directory} is not empty",
                    culprit=str(directory),
                    cure="name a new directory for the recording",
                )
            for path in (directory, directory / "domcaps", directory / "devices"):
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(directory, error) from None

    def host(self) -> tuple[str, str, str]:
        """As `inner`; remembered for the index."""
        name, version, uri = self.inner.host()
        self._index = {"libvirt": version, "hostname": name, "uri": uri}
        return name, version, uri

    def capabilities(self) -> str:
        """As `inner`; kept."""
        text = self.inner.capabilities()
        self._write(_CAPABILITIES, text)
        return text

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        """As `inner`; each distinct document is kept."""
        for row, outcome in self.inner.domain_capabilities(rows):
            self._rows.append(self._row(row, outcome))
            yield row, outcome

    def _row(self, row: Combination, outcome: Outcome[str]) -> dict[str, Optional[str]]:
        entry = {
            "arch": row.arch,
            "virt_type": row.virt_type,
            "machine": row.machine,
            "emulator": row.emulator,
            "document": None,
            "error": None,
        }
        if outcome.error is not None:
            error = outcome.error
            entry["error"] = error.reason if isinstance(error, LibvirtRefusal) else str(error)
            return entry
        text = outcome.result()
        key = remainder(text)
        if key not in self._known:
            name = f"domcaps/{row.arch}--{row.machine or 'default'}--{row.virt_type}.xml"
            self._known[key] = name
            self._write(name, text)
        entry["document"] = self._known[key]
        return entry

    def emulators(self, paths: Sequence[str]) -> Iterator[Answer]:
        """As `inner`; device lists and version lines are kept."""
        answers = self.inner.emulators(paths)
        return (self._kept(answer) for answer in answers)

    def _kept(self, answer: Answer) -> Answer:
        base = f"devices/{Path(answer.path).name}"
        if answer.devices is not None:
            self._write(f"{base}.txt", answer.text)
        if answer.version:
            self._write(f"{base}.version", answer.version + "\n")
        return answer

    def try_claims(
        self,
        machine: Machine,
        claims: Iterable[tuple[str, str]],
    ) -> tuple[Trial, ...]:
        """As `inner`; kept."""
        trials = self.inner.try_claims(machine, claims)
        self._trials.extend(trials)
        return trials

    def calls(self) -> int:
        """As `inner`."""
        return self.inner.calls()

    def finish(self) -> int:
        """Write the index and the trials; returns the number of distinct documents."""
        self._write(_INDEX, json.dumps({**self._index, "rows": self._rows}, indent=0) + "\n")
        trials = [asdict(trial) for trial in self._trials]
        self._write(_TRIALS, json.dumps(trials, indent=0) + "\n")
        return len(self._known)

    def _write(self, name: str, text: str) -> None:
        path = self.directory / name.replace("..", "_")
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(
        f"cannot write {path}: {error.strerror}",
        culprit=str(path),
        cure="free some space, or choose another directory for --record",
    )


@dataclass(frozen=True)
class _Row:
    document: Optional[str]
    error: Optional[str]


class Recording:
    """A witness that answers from a recording. Raises RecordingError naming the file at fault."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        index = _object(self._json(_INDEX), directory / _INDEX)
        self._version = str(index.get("libvirt", "unknown"))
        self._hostname = str(index.get("hostname") or socket.gethostname())
        self._rows: dict[tuple[Optional[str], ...], _Row] = {}
        rows = index.get("rows")
        if not isinstance(rows, list):
            raise self._bad(_INDEX, "it has no list of rows")
        for row in rows:
            entry = _texts(row, directory / _INDEX)
            key = (entry.get("arch"), entry.get("virt_type"), entry.get("machine"))
            self._rows[key] = _Row(entry.get("document"), entry.get("error"))
        self._texts: dict[str, str] = {}
        self._trials = self._read_trials()

    def host(self) -> tuple[str, str, str]:
        """Host name, libvirt version, and where the recording lies in place of a URI."""
        return self._hostname, self._version, f"recorded:{self.directory}"

    def capabilities(self) -> str:
        """The recorded capabilities document."""
        return self._text(_CAPABILITIES)

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        """The recorded document or error of each row; a row not recorded is an error."""
        for row in rows:
            yield row, self._answer(row)

    def _answer(self, row: Combination) -> Outcome[str]:
        entry = self._rows.get((row.arch, row.virt_type, row.machine))
        if entry is None:
            return Outcome(None, LibvirtError("not in the recording"))
        if entry.document is None:
            if entry.error is None:
                error = self._bad(_INDEX, f"neither document nor error for {row.machine}")
                return Outcome(None, DocumentError(str(error), culprit=error.culprit))
            return Outcome(None, LibvirtError(entry.error))
        try:
            text = self._texts.get(entry.document)
            if text is None:
                text = self._texts[entry.document] = self._text(entry.document)
            return Outcome(text, None)
        except RecordingError as error:
            # not libvirt's answer but a fault of the recording, which has to be told
            return Outcome(None, DocumentError(str(error), culprit=error.culprit))

    def emulators(self, paths: Sequence[str]) -> Iterator[Answer]:
        """The recorded device lists."""
        return iter([self._emulator(path) for path in paths])

    def _emulator(self, path: str) -> Answer:
        base = f"devices/{Path(path).name}"
        version = None
        if (self.directory / f"{base}.version").exists():
            version = self._text(f"{base}.version", MAX_OUTPUT).strip() or None
        mark = f"recorded:{self.directory.name}"
        try:
            text = self._text(f"{base}.txt", MAX_OUTPUT)
            return Answer(path, version, mark, devices.read(text, path), text, None)
        except (RecordingError, EmulatorError) as error:
            return Answer(path, version, mark, None, "", error.line())

    def try_claims(
        self,
        machine: Machine,
        claims: Iterable[tuple[str, str]],
    ) -> tuple[Trial, ...]:
        """The recorded trials of that machine type, none if trials were not recorded."""
        key = (machine.arch, machine.virt_type, machine.name)
        return tuple(
            trial for trial in self._trials if (trial.arch, trial.virt_type, trial.machine) == key
        )

    def calls(self) -> int:
        """A recording makes no libvirt calls."""
        return 0

    def _read_trials(self) -> list[Trial]:
        if not (self.directory / _TRIALS).exists():
            return []
        found = self._json(_TRIALS)
        if not isinstance(found, list):
            raise self._bad(_TRIALS, "it is not a list")
        try:
            return [Trial(**_texts(entry, self.directory / _TRIALS)) for entry in found]
        except TypeError as error:
            raise self._bad(_TRIALS, str(error)) from None

    def _json(self, name: str) -> object:
        try:
            return json.loads(self._text(name))
        except RecursionError:
            raise self._bad(name, "it is nested too deeply") from None
        except ValueError as error:
            raise self._bad(name, str(error)) from None

    def _text(self, name: str, limit: int = documents.MAX_SIZE) -> str:
        path = self.directory / name
        if not os.path.realpath(path).startswith(os.path.realpath(self.directory) + os.sep):
            raise self._bad(name, "it points outside the recording")
        try:
            return regular.read(path, limit).decode("utf-8", "replace")
        except OSError as error:
            raise self._bad(name, error.strerror or str(error)) from None

    def _bad(self, name: str, why: str) -> RecordingError:
        path = self.directory / name
        return RecordingError(
            f"recording: {path}: {why}",
            culprit=str(path),
            cure="a recording is made with capd --dump --record DIR",
        )


def _object(value: object, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RecordingError(f"recording: {path}: expected an object", culprit=str(path))
    return value


def _texts(value: object, path: Path) -> dict[str, Any]:
    """An object whose values are text or null."""
    found = _object(value, path)
    if not all(one is None or isinstance(one, str) for one in found.values()):
        raise RecordingError(
            f"recording: {path}: expected text in {', '.join(sorted(found))}", culprit=str(path)
        )
    return found


def load(directory: Path, settings: Settings, progress: Progress = quiet) -> Discovery:
    """The discovery of a recorded host. Raises RecordingError if it cannot be read."""
    return discover(settings, Recording(directory), progress=progress)
