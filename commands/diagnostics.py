"""Print notes, errors and their hints on stderr."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from sb.commands.terminal import write_line

from sb.base.text import json_text, plain
from sb.errors import SBError


def note(text: str) -> None:
    """One line of narration, beside the data on stdout."""
    sys.stdout.flush()
    write_line(plain(text, one_line=True), sys.stderr, {"warning:": "warn"})


def progress(doing: str) -> Callable[[int, int], None] | None:
    """A line on stderr that counts up, to be called with what is done and what there is, 0 if nobody knows; None off a
    terminal.
    """
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        how_much = f"{100 * done // total:>3} %" if total else f"{done:,}"
        sys.stderr.write(f"\r{doing} {how_much}" + ("\r\x1b[K" if total and done >= total else ""))
        sys.stderr.flush()

    return show


def report(error: SBError, *, as_json: bool) -> None:
    """Say what was wrong and what to do: one line and a hint on stderr, or one JSON object on stdout."""
    sys.stdout.flush()
    if as_json:
        failure = {"kind": error.kind, "message": error.message, "hint": error.hint}
        sys.stdout.write(json_text({"error": failure}) + "\n")
        return
    write_line(f"sb: error: {plain(error.message, one_line=True)}", sys.stderr, {"error:": "danger"})
    if error.hint:
        write_line(f"hint: {plain(error.hint, one_line=True)}", sys.stderr)


def internal_error(error: Exception) -> SBError:
    """The one line for a failure of our own; its traceback, redacted, goes to a file in SB_HOME."""
    from sb.base.files import write_atomic
    from sb.base.secrets.redaction import redact_text

    home = Path(os.environ.get("SB_HOME") or Path.home() / ".sb").expanduser()
    text = redact_text("".join(traceback.format_exception(error)))
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = home / "last-error.log"
        write_atomic(path, text.encode(errors="replace"), durable=False)
        hint = f"the traceback is in {path}; please report it"
    except OSError:
        hint = "run again with --debug to see the traceback, and please report it"
    return SBError(f"internal error: {redact_text(f'{type(error).__name__}: {error}')}", hint)
