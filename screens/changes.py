"""The changes of Activity: calls that left an undo record, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.handlers.recovery import RecoveryHandler
from sb.screens.log import ActivityView
from sb.screens.state.recovery import change_rows
from sb.screens.state.search import LogSearch
from textual.widget import Widget

from sb.kernel.review.calls import ChangeFilter, UndoableFilter
from sb.present.recovery import RECOVERY

if TYPE_CHECKING:
    from sb.screens.state.listing import Row
    from sb.screens.state.records import Records

ALL = "all"  # also what cannot be undone


class ChangesScreen(ActivityView):
    """Calls that can be undone; those without a way back are left out until asked for."""

    name_ = "changes"
    parts = ("changes", LISTS, RECORDS, PANELS)
    over = UndoableFilter
    columns = RECOVERY.columns["list"]
    empty = "Nothing that can be undone yet.\n\nh shows what cannot be undone too."
    BINDINGS = bindings("changes")

    def body(self) -> Iterable[Widget]:
        self.sort = self.console_app.last_places.of(self.place).sort
        self.search = self.new_search("")
        return super().body()

    @cached_property
    def handler(self) -> RecoveryHandler:
        return RecoveryHandler(self, self.show_detail)

    def reference(self, seq: int) -> str:
        return f"mut_{seq}"

    def rows_of(self, records: Records, seqs: Sequence[int]) -> Mapping[int, Row]:
        return change_rows(records.log(), seqs)

    def new_search(self, text: str) -> LogSearch:
        over = ChangeFilter if self.sort == ALL else UndoableFilter
        return LogSearch(text, over, self.now(), self.name_)

    def summary(self) -> str:
        return " · ".join(filter(None, (super().summary(), self.sort)))

    def action_hidden(self) -> None:
        """Show what cannot be undone too, or leave it out again."""
        self.sort_by("" if self.sort else ALL)
        self.keep_place()

    def sort_by(self, sort: str) -> None:
        self.sort = sort if sort == ALL else ""
        self.console_app.last_places.put(self.place, sort=self.sort)
        self.rows.start_over()
        self.filter_changed()
        self.show_status()
