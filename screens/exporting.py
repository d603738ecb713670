"""Export of the rows that a filter lets through, to a file beside the terminal or a download in the browser."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from sb.screens.choosing import ChoiceScreen
from sb.screens.section import Section

from sb.base.text import counted
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

    def chosen(number: int | None) -> None:
        if number is not None:
            log, format_ = section.records.log, FORMATS[number]
            section.read(
                "export",
                lambda: ("".join(event_file(log("export"), seqs, format_)), Path.cwd()),
                lambda found: deliver(*found, "jsonl" if format_ == "json" else format_),
            )

    def deliver(text: str, folder: Path, suffix: str) -> None:
        name = f"activity-{section.console_app.time_of_day().replace(':', '')}.{suffix}"
        section.app.deliver_text(io.StringIO(text), save_directory=folder, save_filename=name)

    note = (
        "The file is written to the folder in which the console was started; in a browser it is downloaded."
    )
    section.app.push_screen(ChoiceScreen(f"Export {counted(len(seqs), 'row')}", CHOICES, note), chosen)
