"""Export of the rows that a filter lets through, to a file beside the terminal or a download in the browser."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from sb.screens.choosing import ChoiceScreen
from sb.screens.section import Section

from sb.base.files import write_atomic
from sb.base.sources import iso
from sb.base.text import counted
from sb.errors import UsageError
from sb.present.event_files import FORMATS, event_file

CHOICES = ("JSON lines, with payloads and hashes", "CSV: who, what and when")


def export(section: Section, seqs: Sequence[int]) -> None:
    """Ask for the format, and write these rows of the log.

    Args:
        section: on which they are listed.
    """
    if not seqs:
        section.console_app.say("nothing to export: no row fits the filter")
        return

    web, folder = section.app.is_web, Path.cwd()

    def chosen(number: int | None) -> None:
        if number is not None:
            section.read("export", lambda: written(FORMATS[number]), report)

    def written(format_: str) -> tuple[str, Path]:
        text = "".join(event_file(section.records.log("export"), seqs, format_))
        stamp = iso(section.records.clock.now())[:19].replace(":", "").replace("T", "-")
        path = folder / f"activity-{stamp}.{'jsonl' if format_ == 'json' else format_}"
        if not web:
            try:
                write_atomic(path, text.encode(), replace=False)
            except OSError as error:
                raise UsageError(f"not exported to {path}: {error.strerror}") from error
        return text, path

    def report(found: tuple[str, Path]) -> None:
        text, path = found
        if web:
            section.app.deliver_text(io.StringIO(text), save_filename=path.name)
        else:
            section.console_app.say(f"wrote {counted(len(seqs), 'row')} to {path}")

    note = (
        "In a browser the file is downloaded." if web else f"The file is written to {folder}, for you alone."
    )
    section.app.push_screen(ChoiceScreen(f"Export {counted(len(seqs), 'row')}", CHOICES, note), chosen)
