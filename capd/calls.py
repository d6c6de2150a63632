"""Calls that can be abandoned: worker threads around an API that has no deadlines.

A libvirt daemon that accepts and never answers holds its caller for ever. Here each call runs in
a daemon thread; when its deadline passes the caller goes on and the thread is left behind (it
ends by itself should the answer ever come). The number left behind is bounded.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Callable, Generic, Optional, TypeVar

T = TypeVar("T")
K = TypeVar("K")

#: threads that may be stuck in calls at a time before new calls are refused
MAX_STUCK = 16


class CallTimeout(Exception):
    """The deadline passed; the call may still be going on."""


class TooManyStuck(Exception):
    """So many earlier calls never came back that no further one is started."""


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """A value or the exception that came instead."""

    value: Optional[T]
    error: Optional[BaseException]

    def result(self) -> T:
        """The value; raises the exception if there is one."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


@dataclass(eq=False)
class _Job:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    answers: queue.SimpleQueue[tuple[_Job, Outcome[Any]]]
    deadline: float = 0.0
    key: Any = None
    worker: Optional[_Worker] = None


class _Worker:
    """One daemon thread that does one job at a time."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Optional[_Job]] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="capd-call", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while True:
            job = self.jobs.get()
            if job is None:
                return
            try:
                outcome: Outcome[Any] = Outcome(job.function(*job.args), None)
            except Exception as error:  # noqa: BLE001 - handed to the caller as a value
                outcome = Outcome(None, error)
            answers = job.answers
            answers.put((job, outcome))
            del job, outcome, answers


class Caller:
    """Runs calls with deadlines; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._stuck: list[_Worker] = []

    @property
    def stuck(self) -> int:
        """Calls abandoned and still not answered."""
        with self._lock:
            self._stuck = [worker for worker in self._stuck if worker.thread.is_alive()]
            return len(self._stuck)

    def call(
        self,
        function: Callable[..., T],
        *args: Any,
        timeout: float,
        extend: Optional[Callable[[], bool]] = None,
    ) -> T:
        """`function(*args)`; raises CallTimeout after `timeout` seconds, or what it raises."""
        (_, outcome), *_ = self.each([((), function, args)], timeout=timeout, extend=extend)
        return outcome.result()  # type: ignore[no-any-return]

    def each(
        self,
        calls: Iterable[tuple[K, Callable[..., Any], tuple[Any, ...]]],
        *,
        timeout: float,
        workers: int = 1,
        extend: Optional[Callable[[], bool]] = None,
        ahead: bool = False,
    ) -> Iterator[tuple[K, Outcome[Any]]]:
        """Run `calls` (key, function, arguments), `workers` at a time; outcomes as they come.

        Each call has `timeout` seconds from when it starts, and as many again each time `extend`
        says so. With `ahead` the next call is on its way before an answer is handed out (not
        before an error is, where the caller may want to end), so that it must not make calls of
        its own meanwhile. Closing the iterator early abandons what is in flight.
        """
        answers: queue.SimpleQueue[tuple[_Job, Outcome[Any]]] = queue.SimpleQueue()
        waiting = iter(calls)
        running: list[_Job] = []

        def start_next() -> None:
            for key, function, args in islice(waiting, workers - len(running)):
                running.append(self._start(key, function, args, answers, timeout))

        try:
            start_next()
            while running:
                job, outcome = self._wait(running, answers, timeout, extend)
                running.remove(job)
                if ahead and outcome.error is None:
                    start_next()
                yield job.key, outcome
                start_next()
        finally:
            for job in running:
                self._abandon(job)

    def _start(
        self,
        key: Any,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        answers: queue.SimpleQueue[tuple[_Job, Outcome[Any]]],
        timeout: float,
    ) -> _Job:
        if self.stuck >= MAX_STUCK:
            raise TooManyStuck(f"{MAX_STUCK} earlier calls were never answered")
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        job = _Job(function, args, answers, time.monotonic() + timeout, key)
        job.worker = worker or _Worker()
        job.worker.jobs.put(job)
        return job

    def _wait(
        self,
        running: list[_Job],
        answers: queue.SimpleQueue[tuple[_Job, Outcome[Any]]],
        timeout: float,
        extend: Optional[Callable[[], bool]],
    ) -> tuple[_Job, Outcome[Any]]:
        """The next answer, or a CallTimeout outcome for the job whose deadline came first."""
        while True:
            first = min(running, key=lambda job: job.deadline)
            try:
                left = max(0.0, first.deadline - time.monotonic())
                job, outcome = answers.get(timeout=left)
            except queue.Empty:
                if extend is not None and extend():
                    first.deadline = time.monotonic() + timeout
                    continue
                self._abandon(first)
                return first, Outcome(None, CallTimeout())
            if job in running:
                with self._lock:
                    if job.worker is not None:
                        self._idle.append(job.worker)
                return job, outcome

    def _abandon(self, job: _Job) -> None:
        """Leave the thread of `job` to end by itself once its call comes back."""
        if job.worker is not None:
            job.worker.jobs.put(None)
            with self._lock:
                self._stuck.append(job.worker)

    def close(self) -> None:
        """Let idle threads end. Stuck ones are left; they are daemon threads."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.jobs.put(None)
