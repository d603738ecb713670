"""Reads in worker threads, so that a screen never waits for the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from textual.content import Content
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from sb.base.text import plain
from sb.errors import SBError

Result = TypeVar("Result")


def safe(value: object, *, one_line: bool = False) -> Content:
    """Text from anywhere, as widgets may show it: neither markup nor controls in it do anything."""
    return Content(plain(value, one_line=one_line))


class Reading(Widget):
    """A widget or screen that reads in worker threads."""

    _waiting: dict[Worker[Any], Callable[[Any], None]]

    def read(self, group: str, work: Callable[[], Result], done: Callable[[Result], None]) -> None:
        """Do the work in a thread and hand its result to `done` on the UI thread.

        Args:
            group: of several with the same name only the newest counts.
            work: touches no widget.
        """
        if not hasattr(self, "_waiting"):
            self._waiting = {}
        worker = self.run_worker(work, group=group, exclusive=True, thread=True, exit_on_error=False)
        self._waiting[worker] = done

    def is_reading(self, group: str) -> bool:
        """True if a read with this name is under way."""
        return any(worker.group == group for worker in getattr(self, "_waiting", ()))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        worker = event.worker
        if not worker.is_finished:
            return
        done = self._waiting.pop(worker, None)
        if event.state is WorkerState.SUCCESS and done is not None:
            self.succeeded()
            done(worker.result)
            self.after_read()
        elif event.state is WorkerState.ERROR and worker.error is not None:
            self.failed(worker.error)

    def succeeded(self) -> None:
        """Something was read."""

    def after_read(self) -> None:
        """Act once the read rows are on screen."""

    def failed(self, error: BaseException) -> None:
        """Say that it could not be read."""
        self.notify(trouble_of(error), severity="error", timeout=8, markup=False)


def trouble_of(error: BaseException) -> str:
    """A failure in one line; one of our own leaves its traceback in a file."""
    if isinstance(error, SBError):
        hint = f" ({error.hint})" if error.hint else ""
        return plain(f"{error.message}{hint}", one_line=True)
    if isinstance(error, Exception):
        from sb.commands.diagnostics import internal_error

        return trouble_of(internal_error(error))
    raise error
