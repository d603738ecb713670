"""The calls of Activity, each once, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.log import ActivityView
from sb.screens.state.runs import CALL as CALLED
from sb.screens.state.runs import Node, call_rows, refused_call

from sb.kernel.review.calls import CallFilter
from sb.present.events import CALL

if TYPE_CHECKING:
    from sb.screens.state.listing import Row
    from sb.screens.state.records import Records

    from sb.log.event_log import EventLog


class CallsScreen(ActivityView):
    """Calls of all agents, and the one under the cursor in full."""

    name_ = "calls"
    parts = ("calls", LISTS, RECORDS, PANELS)
    over = CallFilter
    columns = CALL.columns["list"]
    empty = "No calls yet. What agents do appears here as it happens.\n\nsb demo makes some."
    BINDINGS = bindings("calls")

    def rows_of(self, records: Records, seqs: Sequence[int]) -> Mapping[int, Row]:
        return call_rows(records.log(), seqs)

    def next_refused(self, log: EventLog, text: str, seq: int, by: int) -> int | None:
        """The first event of such a call, by which this list knows it; from the end on if there is none."""
        found = refused_call(log, text, Node(CALLED, seq), by)
        return found.first if found else None
