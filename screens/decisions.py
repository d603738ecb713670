"""The decisions of Activity: what people approved, denied, stopped and settled, the newest first."""

from __future__ import annotations

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.log import ActivityView
from sb.screens.state.search import LogSearch, names_state

from sb.kernel.review.calls import DecisionFilter
from sb.log.search import LogFilter
from sb.present.events import EVENT


class DecisionsScreen(ActivityView):
    """Decisions, each with who made it; an approval that was not used yet can be taken back."""

    name_ = "decisions"
    parts = ("decisions", LISTS, RECORDS, PANELS)
    over = DecisionFilter
    columns, face = EVENT.columns["decisions"], "decisions"
    empty = "Nobody has decided anything yet.\n\n1 shows what waits for you."
    BINDINGS = bindings("decisions")

    def new_search(self, text: str) -> LogSearch:
        """The search among decisions; of what nobody decided too, where the filter names a state."""
        over = LogFilter if names_state(text) else DecisionFilter
        return LogSearch(text, over, self.now(), self.name_)
