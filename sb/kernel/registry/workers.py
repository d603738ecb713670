"""Worker threads with a deadline that holds even when a tool never returns.

By daemon threads of our own, reused: an executor pool would join a hung tool when the process ends, and a fresh
thread costs three times a reused one.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future


_T = TypeVar("_T")


class DeadlineExceeded(Exception):
    """The call did not return in time; it may still be running, and its effect may still come."""


class _Job:
    __slots__ = ("answer", "context", "fn")

    def __init__(self, fn: Callable[[], Any]) -> None:
        self.fn = fn
        self.context = contextvars.copy_context()
        self.answer: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run(self) -> tuple[Any, BaseException | None]:
        try:
            return self.context.run(self.fn), None
        except BaseException as error:  # noqa: BLE001 - a tool's SystemExit included: the caller judges
            return None, error


class Workers:
    """Threads that wait for a job; one that hangs is left behind and replaced."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[_Job]] = []
        self._pid = os.getpid()

    def _inbox(self) -> SimpleQueue[_Job]:
        if self._pid != os.getpid():  # threads do not survive a fork
            self._idle, self._pid = [], os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            inbox: SimpleQueue[_Job] = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="sb-tool", daemon=True).start()
            return inbox

    def _serve(self, inbox: SimpleQueue[_Job]) -> None:
        while True:
            job = inbox.get()
            outcome = job.run()
            self._idle.append(inbox)  # before the answer, so that the caller's next call finds it
            job.answer.put(outcome)

    def submit(self, fn: Callable[[], _T]) -> Future[_T]:
        """Run `fn` in a worker thread; the future has what it returned or raised."""
        from concurrent.futures import Future

        future: Future[_T] = Future()

        def settle() -> None:
            try:
                future.set_result(fn())
            except BaseException as error:  # noqa: BLE001 - the future carries it to its waiter
                future.set_exception(error)

        self._inbox().put(_Job(settle))
        return future

    def call(self, fn: Callable[[], Any], timeout_s: float) -> Any:
        """Run `fn` in a worker thread, in a copy of the caller's context.

        Raises:
            DeadlineExceeded: it did not return within `timeout_s` seconds.
            BaseException: whatever `fn` raised.
        """
        job = _Job(fn)
        self._inbox().put(job)
        try:
            value, error = job.answer.get(timeout=timeout_s)
        except Empty:
            raise DeadlineExceeded(f"no answer within {timeout_s:g} s") from None
        if error is not None:
            raise error
        return value
