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
            section.read(
                "export", lambda: "".join(_lines(section, seqs, number)), lambda text: deliver(text, number)
            )

    def deliver(text: str, number: int) -> None:
        stamp = section.console_app.time_of_day().replace(":", "")
        name = f"activity-{stamp}.{'jsonl' if FORMATS[number] == 'json' else 'csv'}"
        section.app.deliver_text(io.StringIO(text), save_directory=Path.cwd(), save_filename=name)
        section.console_app.say(f"wrote {counted(len(seqs), 'row')} to {name}")

    note = (
        "The file is written to the folder in which the console was started; in a browser it is downloaded."
    )
    section.app.push_screen(ChoiceScreen(f"Export {counted(len(seqs), 'row')}", CHOICES, note), chosen)


def _lines(section: Section, seqs: Sequence[int], number: int) -> list[str]:
    return list(event_file(section.records.log("export"), seqs, FORMATS[number]))
