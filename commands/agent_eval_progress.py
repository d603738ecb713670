"""Progress of evals on stderr: one changing line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from sb.commands.terminal import fits_terminal, width, write_line

from sb.base.text import plain, shorten

if TYPE_CHECKING:
    from sb.evals.results import CaseResult
    from sb.evals.running import Progress, Watch

_EVERY_S = 5.0  # seconds between two lines where nobody sees a line change
_DRAWN_S = 0.1  # seconds between two changes of one


@contextmanager
def progress_on(stream: TextIO, *, quiet: bool) -> Iterator[Watch]:
    """The callback that shows a run's progress; the line is gone afterwards."""
    shown = _Shown(stream, quiet=quiet)
    try:
        yield shown
    finally:
        shown.clear()


class _Shown:
    """The progress of one run on a stream."""

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self._stream = stream
        self._quiet = quiet
        self._redraws = fits_terminal(stream)
        self._last = time.monotonic() if not self._redraws else 0.0
        self._drawn = False

    def __call__(self, progress: Progress, result: CaseResult | None) -> None:
        if self._quiet:
            return
        if result is not None and not result.holds:
            self.clear()
            why = next((line for attempt in result.attempts for line in attempt.failures), "")
            self._put(f"{result.verdict}: {result.suite} {result.id}" + (f": {_masked(why)}" if why else ""))
        now = time.monotonic()
        if now - self._last < (_DRAWN_S if self._redraws else _EVERY_S):
            return
        self._last = now
        if self._redraws:
            self._stream.write("\r" + shorten(_line(progress), width() - 1) + "\x1b[K")
            self._stream.flush()
            self._drawn = True
        else:
            self._put(_line(progress))

    def _put(self, line: str) -> None:
        write_line(plain(line, one_line=True), self._stream)
        self._stream.flush()

    def clear(self) -> None:
        """Take the changing line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False


def _masked(line: str) -> str:
    from sb.base.secrets.redaction import redact_text

    return redact_text(line)


def _line(progress: Progress) -> str:
    parts = [f"{progress.done} of {progress.total} cases"]
    if progress.failed:
        parts.append(f"{progress.failed} failing")
    slowest = progress.slowest()
    if slowest is not None:
        parts.append(f"{plain(slowest[0], one_line=True)} for {slowest[1]:.0f} s")
    if progress.left_s is not None and progress.done < progress.total:
        parts.append(f"{progress.left_s:.0f} s left")
    return ", ".join(parts)
