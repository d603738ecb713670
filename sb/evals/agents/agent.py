"""Agents under test, and the pool of a run's processes."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from sb.evals.agents.process import AgentFailure, AgentProcess, end_strays
from sb.evals.answer import Answer, Task


class AgentUnderTest(Protocol):
    """An agent that answers the cases of a run. `run` is called by several threads at once."""

    @property
    def name(self) -> str:
        """The agent as people named it."""

    @property
    def has_kernel(self) -> bool:
        """True if it needs a home of its own for each attempt."""

    @property
    def own_clock(self) -> bool:
        """True if its kernel runs on the eval's clock, not on the system's."""

    def run(self, task: Task) -> Answer:
        """Its answer; one that says why where it could not be run. Never raises for what an agent does."""

    def stop(self) -> None:
        """End whatever runs; what is run from then on fails at once."""

    def close(self) -> None:
        """End its processes. Idempotent."""


class Processes:
    """The processes of an agent: those at work, and those that wait for their next case."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._idle: list[AgentProcess] = []
        self._busy: set[AgentProcess] = set()
        self._stopped = False

    @contextmanager
    def process(self, start: Callable[[str], AgentProcess], *, again: bool) -> Iterator[AgentProcess]:
        """A process for one answer.

        Args:
            start: starts one, with the token that its environment has to carry.
            again: take one that waits, and let it wait again afterwards if it is alive and nothing went wrong.

        Raises:
            AgentFailure: it cannot be started.
        """
        process = self._take(start, again=again)
        fine = False
        try:
            yield process
            fine = again and process.alive
        finally:
            with self._lock:
                self._busy.discard(process)
                fine = fine and not self._stopped
                if fine:
                    self._idle.append(process)
            if not fine:
                process.kill()

    def _take(self, start: Callable[[str], AgentProcess], *, again: bool) -> AgentProcess:
        with self._lock:
            if self._stopped:
                raise AgentFailure("stopped")
            process = self._idle.pop() if again and self._idle else None
            if process is not None:
                self._busy.add(process)
        if process is None:
            process = start(self._token)
            with self._lock:
                self._busy.add(process)
                if self._stopped:
                    process.stop()
        return process

    def stop(self) -> None:
        """End those at work, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._busy:
                process.stop()

    def close(self) -> None:
        """End all, and what left their groups."""
        self.stop()
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.kill()
        end_strays(self._token)
