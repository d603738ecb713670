"""The Approvals screen: the queue, and the request under the cursor in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.filtering import Filtering
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.approvals import (
    APPROVAL_COLUMNS,
    REVOKES,
    VIEWS,
    approval_document,
    approval_row,
    question,
    unapprovable,
)
from sb.screens.waiting import Waiting
from textual import on
from textual.widget import Widget

from sb.errors import CheckFailed
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Decider
from sb.kernel.calls.approval import OPEN, Approval, ApprovalState
from sb.log.references import full_id
from sb.present.approvals import decided_sentence
from sb.present.decisions import meanwhile

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed
    from sb.screens.state.listing import Row

EMPTY = {
    "open": "No pending requests. New ones appear here.\n\n] shows decided requests, and grants.",
    "decided": "No decided requests yet.\n\n[ shows open ones.",
}
NO_HIT = "No requests match.\n\nesc clears the filter."


class ApprovalsScreen(Filtering, Waiting):
    """The queue, those that wait first, and the one under the cursor in full."""

    name_ = "approvals"
    parts = ("approvals", LISTS, RECORDS, PANELS)
    heading = "Approvals"
    BINDINGS = bindings("approvals")

    def __init__(self) -> None:
        super().__init__()
        self.view = "open"
        self.known: dict[int, Disclosure] = {}
        self._opened_digests: set[str] = set()  # of the requests that were opened to be read
        self._revealed: int | None = None  # the request of which secrets are shown
        self._numbers: Sequence[int] = ()
        self._pending: set[int] = set()
        self._shown: int | None = None
        self._wanted_number = 0  # for the cursor, once it is in the list

    def body(self) -> Iterable[Widget]:
        detail = DocumentView(id="request")
        yield self.split(
            Panel(
                self.filter_box("words in the request or the decision"), RowList(APPROVAL_COLUMNS, id="queue")
            ),
            Panel(detail, title="Request"),
        )

    @property
    def rows(self) -> RowList:
        return self.query_one("#queue", RowList)

    def waiting(self) -> Sequence[int]:
        return [number for number in self._numbers if number in self._pending]

    @property
    def queue(self) -> ApprovalQueue:
        """For workers: asking for it may open the database."""
        return ApprovalQueue(self.records.log())

    def refresh_records(self) -> None:
        states, words = VIEWS[self.view], self.filter_text

        def work() -> tuple[list[int], set[int]]:
            queue = self.queue
            waiting = queue.numbers(states=(ApprovalState.WAITING,), words=words)
            return queue.numbers(states=states, words=words), set(waiting)

        self.read("queue", work, lambda found: self._show(*found))

    def _show(self, numbers: list[int], waiting: set[int]) -> None:
        self._numbers, self._pending = numbers, waiting
        self.rows.show(numbers, NO_HIT if self.filter_text else EMPTY[self.view])
        self.move_on()
        if self._wanted_number:
            self.rows.select(self._wanted_number)
            self._wanted_number = 0
        self.show_status()

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        self.read("rows", lambda: self._disclosed(message.keys), self._fetched)

    def _disclosed(self, numbers: Sequence[int]) -> dict[int, Disclosure]:
        """For a screenful; called in a worker."""
        queue = self.queue
        return {number: queue.disclose(item) for number, item in queue.numbered(numbers).items()}

    def _fetched(self, found: dict[int, Disclosure]) -> None:
        marked = {number: self.known[number] for number in self.rows.listing.marked if number in self.known}
        self.known = marked | found
        self._paint()

    def _paint(self) -> None:
        now = self.now()
        self.rows.put({number: self._row(number, now) for number in self.known})
        self._show_detail()

    def _row(self, number: int, now: int) -> Row:
        return approval_row(self.known[number], now, reveal=number == self._revealed)

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * 1e6)

    def tick(self) -> None:
        """Another second is over: what is left changes; a long record is not laid out again for that."""
        long = self.current is not None and self.current.long
        if not long and not self.query_one(DocumentView).unfolded:
            self._paint()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        if message.key is not None and message.key not in self.known:
            self.rows.ask(everything=True)  # its line is known still, the request is not
        self._show_detail()

    def _show_detail(self) -> None:
        item = self.current
        number = None if item is None else item.approval.number
        same = number is not None and number == self._shown
        self._shown = number
        if self._revealed is not None and self._revealed != self.rows.listing.current:
            self._hide()
        fields = [] if item is None else approval_document(item, self.now(), reveal=number == self._revealed)
        self.query_one(DocumentView).show(fields, same_record=same)

    def _hide(self) -> None:
        hidden, self._revealed = self._revealed, None
        if hidden in self.known:
            self.rows.put({hidden: self._row(hidden, self.now())})

    @property
    def current(self) -> Disclosure | None:
        """The request under the cursor, once it was read."""
        return self.known.get(self.rows.listing.current or 0)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        if self.current is not None:
            self._opened_digests.add(self.current.digest)
        self.focus_on(self.query_one(DocumentView))

    def action_reveal(self) -> None:
        item = self.current
        if item is None or not item.hides:
            self.console_app.say("nothing is hidden here")
            return
        number = item.approval.number
        self._revealed = None if self._revealed == number else number
        self._paint()

    def filter_changed(self) -> None:
        self.refresh_records()

    def pointed_at(self) -> Pointed:
        return self.current.approval.id if self.current else None

    def start_over(self) -> None:
        self.known.clear()
        self.rows.start_over()

    def summary(self) -> str:
        marked = f" · {len(self.rows.listing.marked)} marked" if self.rows.listing.marked else ""
        words = f" · filter: {self.filter_text}" if self.filter_text else ""
        return f"· {len(self._numbers):,} {self.view}{marked}{words}"

    def leave_part(self) -> bool:
        if self.query_one(DocumentView).has_focus:
            self.rows.focus()
            return True
        if self.rows.listing.marked:
            self.rows.listing.marked.clear()
            self.rows.refresh()
            self.show_status()
            return True
        return super().leave_part()

    def find(self, approval_id: str) -> None:
        """Put the cursor on a request, among all of them if it is not open any more."""
        self.read("find", lambda: self._named(approval_id), self._found)

    def _named(self, approval_id: str) -> Approval:
        """For a worker: the request whose id is, or begins, so."""
        queue = self.queue
        return queue.get(full_id(queue.log.database, approval_id))

    def _found(self, approval: Approval) -> None:
        if approval.number in self._numbers:
            self.rows.select(approval.number)
        else:
            self.view = "open" if approval.state in OPEN else "decided"
            self._wanted_number = approval.number
            self.refresh_records()

    def action_mark_all(self) -> None:
        super().action_mark_all()
        marked = sorted(self.rows.listing.marked - set(self.known))
        if marked:
            self.read(
                "marked", lambda: self._disclosed(marked), lambda found: self._fetched(self.known | found)
            )

    def action_view(self, by: int) -> None:
        """Open requests, decided ones, and after them the grants."""
        from sb.screens.grants import GrantsScreen

        names = list(VIEWS)
        at = names.index(self.view) + by
        if at not in range(len(names)):
            self.app.push_screen(GrantsScreen())
            return
        self.view = names[at]
        self.rows.start_over()
        self.refresh_records()

    def chosen(self) -> list[Disclosure]:
        """The marked requests, or else the one under the cursor."""
        marked = [self.known[number] for number in sorted(self.rows.listing.marked) if number in self.known]
        return marked or ([self.current] if self.current is not None else [])

    def _decide_chosen(self, verb: str) -> None:
        state = ApprovalState.APPROVED if verb == "revoke" else ApprovalState.WAITING
        chosen = [item for item in self.chosen() if item.approval.at(self.now()).state is state]
        if not chosen:
            self.console_app.say(f"nothing to {verb} here: only what is {state} can be")
            return
        refused = unapprovable(chosen, self._opened_digests) if verb == "approve" else ""
        if refused:
            self.console_app.say(refused)
            return
        reveal = len(chosen) == 1 and chosen[0].approval.number == self._revealed
        asked = question(verb, chosen, others=self.others(), reveal=reveal)
        self.ask(asked, chosen, lambda item, by, why: self._act(verb, item, by, why))

    def _act(self, verb: str, item: Disclosure, by: Decider, reason: str) -> str:
        from sb.kernel.approvals.decisions import AlreadyDecided
        from sb.kernel.baselines.seeding import sign_added
        from sb.kernel.baselines.seen import SURFACES
        from sb.parts import shipped_registry

        approvals, name = self.records.approvals(), item.approval.id
        try:
            if verb == "approve":
                unread = item.long and item.digest not in self._opened_digests
                decided = approvals.approve(name, by, reason, displayed="" if unread else item.digest)
            elif verb == "deny":
                decided = approvals.deny(name, by, reason)
            else:
                approvals.revoke(name, by, reason)
                decided = approvals.get(name)
        except AlreadyDecided as error:
            who = meanwhile(approvals.get(name), self.now())
            raise CheckFailed(who or error.message, "" if who else error.hint) from error
        stores = (self.records.baselines("write", surface) for surface in SURFACES)
        trouble = sign_added(stores, by, lambda: shipped_registry(self.records.config))
        takes_back = REVOKES if decided.state is ApprovalState.APPROVED else ""
        said = " ".join(filter(None, (decided_sentence(approvals.disclose(decided)), takes_back)))
        return "; ".join(filter(None, (said, trouble)))

    def action_approve(self) -> None:
        self._decide_chosen("approve")

    def action_deny(self) -> None:
        self._decide_chosen("deny")

    def action_take_away(self) -> None:
        self._decide_chosen("revoke")
