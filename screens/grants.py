"""The Grants screen: answers given in advance, and revoking them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, bindings
from sb.screens.deciding import Deciding
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.approvals import GRANT_COLUMNS, grant_document, grant_row, question
from textual import on
from textual.widget import Widget

from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Decider
from sb.kernel.calls.approval import Grant
from sb.log.event import Subject

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = "No grants.\n\nsb approvals approve --until or --for-run makes one."


class GrantsScreen(Deciding):
    """Every grant, newest first."""

    name_ = "grants"
    parts = ("grants", LISTS)
    heading = "Grants"
    BINDINGS = bindings("grants")

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Grant] = {}

    def body(self) -> Iterable[Widget]:
        yield Panel(RowList(GRANT_COLUMNS, id="grants"))

    @property
    def rows(self) -> RowList:
        return self.query_one(RowList)

    def refresh_records(self) -> None:
        self.read("grants", lambda: ApprovalQueue(self.records.log()).grants(), self._show)

    def _show(self, grants: Iterable[Grant]) -> None:
        self.known = {grant.number: grant for grant in grants}
        self.tick()
        self.rows.show(list(self.known), EMPTY)
        self.show_status()

    def tick(self) -> None:
        now = int(self.records.clock.now() * 1e6)
        self.rows.put({number: grant_row(grant, now) for number, grant in self.known.items()})

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        grant = self.known[message.key]
        self.console_app.open_fields(grant.id, grant_document(grant))

    def pointed_at(self) -> Pointed:
        grant = self.known.get(self.rows.listing.current or 0)
        return Subject(grant.run_id, "", grant.agent, grant.tool_id) if grant else None

    def start_over(self) -> None:
        self.rows.start_over()

    def summary(self) -> str:
        active = sum(grant.state == "active" for grant in self.known.values())
        return f"· {active:,} in force, {len(self.known):,} in all"

    def leave_part(self) -> bool:
        self.app.pop_screen()
        return True

    def action_view(self, by: int) -> None:
        """Go back to the requests."""
        self.app.pop_screen()

    def action_take_away(self) -> None:
        current = self.known.get(self.rows.listing.current or 0)
        if current is not None:
            self.ask(question("revoke", [current]), [current], self._revoke)

    def _revoke(self, grant: Grant, by: Decider, reason: str) -> str:
        self.records.approvals().revoke(grant.id, by, reason)
        return f"{grant.id} revoked by {by.name}"
