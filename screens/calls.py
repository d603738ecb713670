"""The calls of Activity, each once, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.log import ActivityView
from sb.screens.state.runs import call_rows

from sb.kernel.review.calls import CallFilter
from sb.present.events import CALL

if TYPE_CHECKING:
    from sb.screens.state.listing import Row
    from sb.screens.state.records import Records


class CallsScreen(ActivityView):
    """Calls of all agents, and the one under the cursor in full."""

    name_ = "calls"
    parts = ("calls", LISTS, RECORDS, PANELS)
    over = CallFilter
    columns = CALL.columns["list"]
    empty = "No calls yet. What agents do appears here as it happens.\n\nsb demo makes some."
    lists_calls = True
    BINDINGS = bindings("calls")

    def rows_of(self, records: Records, seqs: Sequence[int]) -> Mapping[int, Row]:
        return call_rows(records.log(), seqs)
