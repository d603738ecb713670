"""Events as files for other programs: JSON lines, or a table of who did what, and when."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sb.base.sources import iso_micros
from sb.base.spreadsheet import csv_line
from sb.log.event_log import EventLog
from sb.log.search import events_at
from sb.present.events import event_lines

COLUMNS = ("row", "at", "kind", "state", "object", "agent", "by", "reason", "run", "call")
FORMATS = ("json", "csv")
AT_ONCE = 1_000  # rows that are read together


def event_file(log: EventLog, seqs: Sequence[int], format_: str) -> Iterator[str]:
    """The lines of a file with these rows of the log, in their order; a row that is gone is left out.

    Args:
        format_: one of FORMATS: JSON lines as `sb log export` writes them, or a table with COLUMNS.
    """
    if format_ == "csv":
        yield csv_line(COLUMNS)
    for start in range(0, len(seqs), AT_ONCE):
        wanted = seqs[start : start + AT_ONCE]
        events = events_at(log, wanted)
        lines = event_lines(log, wanted) if format_ == "csv" else {}
        for seq in wanted:
            event, line = events.get(seq), lines.get(seq)
            if event is not None and line is None:
                yield json.dumps(event.to_dict(), ensure_ascii=False) + "\n"
            elif event is not None and line is not None:
                cells = (line.verdict.word, line.object, line.agent, line.by, line.why)
                subject = event.subject
                yield csv_line(
                    (seq, iso_micros(event.at), event.kind, *cells, subject.run_id, subject.call_id)
                )
