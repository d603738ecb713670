"""The Approvals screen: the queue, and the request under the cursor in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.document_view import DocumentView
from sb.screens.filtering import Filtering
from sb.screens.panel import Panel
from sb.screens.requests import decide_request, request_detail
from sb.screens.row_list import RowList
from sb.screens.state.approvals import (
    COUNTED,
    DECIDED_VIEW,
    GRANTS_VIEW,
    OPEN_VIEW,
    STATES,
    VIEWS,
    approval_document,
    grant_document,
    question,
    unapprovable,
)
from sb.screens.state.listing import row_of
from sb.screens.waiting import CountedList
from textual import on
from textual.widget import Widget

from sb.base.fitting import count
from sb.base.values.frozen import frozen
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.queue import Order
from sb.kernel.authority.signing import Decider
from sb.kernel.calls.approval import OPEN, Approval, ApprovalState, Grant
from sb.kernel.review.needs import CallOrigin, call_origins
from sb.log.event import Subject
from sb.log.references import full_id
from sb.operator.attention.inbox import InboxReader
from sb.present.approvals import GRANT, REQUEST, Request, RequestDetail, request_face

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed
    from sb.screens.state.listing import Row

EMPTY = {
    OPEN_VIEW: "Nothing waits for you.\n\nCalls that need your approval appear here.",
    DECIDED_VIEW: "Nothing was decided yet.\n\n[ shows open requests.",
    GRANTS_VIEW: "No grants.\n\nsb approvals approve --until or --for-run makes one.",
}
VERBS = {"approve": "approve", "deny": "deny", "take_away": "revoke"}  # by actions
TAKES = {
    "approve": ApprovalState.WAITING,
    "deny": ApprovalState.WAITING,
    "revoke": ApprovalState.APPROVED,
}
NO_HIT = "No requests match.\n\nesc clears the filter."


@frozen
class Queue:
    """Requests or grants as read.

    Args:
        keys: of the view, in its order. waiting: those that can be decided.
    """

    view: str
    keys: Sequence[int]
    waiting: frozenset[int]
    counts: dict[str, int]
    grants: dict[int, Grant]


class ApprovalsScreen(Filtering, CountedList):
    """The queue, those that wait first, and the one under the cursor in full."""

    name_ = "approvals"
    parts = ("approvals", LISTS, RECORDS, PANELS)
    heading = "Approvals"
    BINDINGS = bindings("approvals")

    def __init__(self) -> None:
        super().__init__()
        self.view = OPEN_VIEW
        self.order: Order | None = Order.EXPIRY  # None: by stake
        self.known: dict[int, Disclosure] = {}
        self.grants: dict[int, Grant] = {}
        self._projects: dict[str, str] = {}  # by run
        self._detail: RequestDetail | None = None
        self._counts: dict[str, int] = {}
        self._opened_digests: set[str] = set()  # of the requests that were opened to be read
        self._revealed: int | None = None  # the request of which secrets are shown
        self._numbers: Sequence[int] = ()
        self._pending: frozenset[int] = frozenset()
        self._shown: int | None = None
        self._wanted_number = 0  # for the cursor, once it is in the list

    def body(self) -> Iterable[Widget]:
        box = self.filter_box("words in the request or the decision")
        queue = Panel(box, RowList(REQUEST.columns["open"], id="queue"), views=VIEWS, id="requests")
        yield self.split(queue, Panel(DocumentView(id="request"), title="Request"))

    @property
    def rows(self) -> RowList:
        return self.query_one("#queue", RowList)

    def waiting(self) -> Sequence[int]:
        return [number for number in self._numbers if number in self._pending]

    @property
    def queue(self) -> Approvals:
        """For workers: asking for it may open the database."""
        return Approvals(self.records.log(), self.records.authority())

    def refresh_records(self) -> None:
        view, words = self.view, self.filter_text
        order = self.order if view == OPEN_VIEW else Order.NEWEST  # what was decided is a list of times
        self.read("queue", lambda: self._read_queue(view, words, order), self._show)

    def _read_queue(self, view: str, words: str, order: Order | None) -> Queue:
        """Called in a worker."""
        queue = self.queue
        grants = {grant.number: grant for grant in queue.grants()}
        counts = {name: queue.count(states=states) for name, states in COUNTED.items()}
        if view == GRANTS_VIEW:
            keys, waiting = list(grants), frozenset[int]()
        else:
            keys = queue.numbers(states=STATES[view], words=words, order=order or Order.EXPIRY)
            if order is None:
                keys = InboxReader(queue.log).by_stake(keys)
            waiting = frozenset(queue.numbers(states=(ApprovalState.WAITING,), words=words))
        return Queue(view, keys, waiting, {**counts, GRANTS_VIEW: len(grants)}, grants)

    def _show(self, found: Queue) -> None:
        if found.view != self.view:
            return  # another one was asked for meanwhile
        self._numbers, self._pending, self._counts, self.grants = (
            found.keys,
            found.waiting,
            found.counts,
            found.grants,
        )
        self._paint()
        self.rows.show(found.keys, NO_HIT if self.filter_text else EMPTY[self.view])
        self.move_on()
        if self._wanted_number:
            self.rows.select(self._wanted_number)
            self._wanted_number = 0
        self._show_detail()
        self.show_status()

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        if self.view != GRANTS_VIEW:
            self.read("rows", lambda: self._disclosed(message.keys), lambda found: self._fetched(*found))

    def _disclosed(self, numbers: Sequence[int]) -> tuple[dict[int, Disclosure], dict[str, str]]:
        """For a screenful, with the projects of their runs; called in a worker."""
        queue = self.queue
        found = {number: queue.disclose(item) for number, item in queue.numbered(numbers).items()}
        runs = {item.approval.run_id for item in found.values()} - set(self._projects)
        origins = call_origins(queue.log, runs)
        return found, {run: origins.get(run, CallOrigin()).project_name for run in runs}

    def _fetched(self, found: dict[int, Disclosure], projects: dict[str, str]) -> None:
        listing = self.rows.listing  # the cursor may have gone on since these were asked for
        chosen = {*listing.marked, listing.current}
        self.known = {number: item for number, item in self.known.items() if number in chosen} | found
        self._projects |= projects
        self._paint()
        self._read_detail()

    def _paint(self) -> None:
        now = self.now()
        if self.view == GRANTS_VIEW:
            self.rows.put({number: row_of(GRANT, grant, now) for number, grant in self.grants.items()})
        else:
            self.rows.put({number: self._row(number, now) for number in self.known})
        self._show_detail()

    def _row(self, number: int, now: int) -> Row:
        about = self._about(self.known[number])
        return row_of(REQUEST, about, now, request_face(about, now))

    def _about(self, item: Disclosure) -> Request:
        """A request with what is known around it."""
        project = self._projects.get(item.approval.run_id, "")
        reveal = item.approval.number == self._revealed
        return Request(item, project, reveal, self._detail_of(item))

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
        self._read_detail()

    def _read_detail(self) -> None:
        """Read the context of the request under the cursor."""
        item = self.current
        self._show_detail()
        if item is not None:
            self.read("detail", lambda: request_detail(self.records, item.approval), self._detail_read)

    def _detail_read(self, detail: RequestDetail) -> None:
        self._detail = detail
        self._show_detail()

    def _detail_of(self, item: Disclosure) -> RequestDetail | None:
        """The detail read of a request, if any."""
        read = self._detail
        return read if read is not None and read.number == item.approval.number else None

    def _show_detail(self) -> None:
        grant, item = self.grant, self.current
        number = grant.number if grant else item.approval.number if item else None
        same = number is not None and number == self._shown
        self._shown = number
        if self._revealed is not None and self._revealed != self.rows.listing.current:
            self._hide()
        fields = [] if grant is None else grant_document(grant, self.now())
        if item is not None:
            fields = approval_document(self._about(item), self.now())
        self.query_one(DocumentView).show(fields, same_record=same)

    def _hide(self) -> None:
        hidden, self._revealed = self._revealed, None
        if hidden in self.known:
            self.rows.put({hidden: self._row(hidden, self.now())})

    @property
    def current(self) -> Disclosure | None:
        """The request under the cursor, once it was read."""
        return None if self.view == GRANTS_VIEW else self.known.get(self.rows.listing.current or 0)

    @property
    def grant(self) -> Grant | None:
        """The grant under the cursor."""
        return self.grants.get(self.rows.listing.current or 0) if self.view == GRANTS_VIEW else None

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
        grant = self.grant
        if grant is not None:
            return Subject(grant.run_id, "", grant.agent, grant.tool_id)
        return self.current.approval.id if self.current else None

    def command(self) -> str:
        if self.grant is not None:
            return f"sb approvals revoke {self.grant.id}"
        return f"sb approvals show {self.current.approval.id}" if self.current else ""

    def start_over(self) -> None:
        self.known.clear()
        self._projects.clear()
        self._detail = None
        self.rows.start_over()

    def view_counts(self) -> Mapping[str, int]:
        return self._counts

    def foot(self) -> Sequence[str]:
        unused = len(self._numbers) - len(self._pending) if self.view == OPEN_VIEW else 0
        approved = f"{count(unused)} approved" if unused else ""
        sorted_by = f"by {self.order or 'stake'}" if self.order is not Order.EXPIRY else ""
        return approved, sorted_by, f"filter: {self.filter_text}" if self.filter_text else ""

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
            self._wanted_number = approval.number
            self._view(OPEN_VIEW if approval.state in OPEN else DECIDED_VIEW)

    def action_mark_all(self) -> None:
        super().action_mark_all()
        marked = sorted(self.rows.listing.marked - set(self.known))
        if marked:
            self.read(
                "marked",
                lambda: self._disclosed(marked),
                lambda found: self._fetched(self.known | found[0], found[1]),
            )

    def action_view(self, by: int) -> None:
        """Open requests, decided ones, or the grants."""
        self.step_view(by)

    @on(Panel.Viewed)
    def _viewed(self, message: Panel.Viewed) -> None:
        self._view(message.view)

    def _view(self, view: str) -> None:
        panel = self.query_one("#requests", Panel)
        panel.show_view(view)
        self.view = view
        self.rows.start_over()
        self.refresh_records()

    def action_sort(self) -> None:
        """Order what waits by the next of the orders."""
        orders = [Order.EXPIRY, None, Order.AGENT, Order.NEWEST]
        self.order = orders[(orders.index(self.order) + 1) % len(orders)]
        self.rows.start_over()
        self.refresh_records()

    def chosen(self) -> list[Disclosure]:
        """The marked requests, or else the one under the cursor."""
        marked = [self.known[number] for number in sorted(self.rows.listing.marked) if number in self.known]
        return marked or ([self.current] if self.current is not None else [])

    def possible(self, action: Action) -> bool:
        if action.id in VERBS:
            grant = self.grant
            active = grant is not None and action.id == "take_away" and grant.state == "active"
            return active or bool(self._decidable(VERBS[action.id]))
        return super().possible(action) and (action.id != "sort" or self.view == OPEN_VIEW)

    def _decidable(self, verb: str) -> list[Disclosure]:
        """The chosen requests that this can be done with now."""
        now = self.now()
        return [item for item in self.chosen() if item.approval.at(now).state is TAKES[verb]]

    def _decide_chosen(self, verb: str) -> None:
        chosen = self._decidable(verb)
        if not chosen:
            self.console_app.say(f"nothing to {verb} here: only what is {TAKES[verb]} can be")
            return
        refused = unapprovable(chosen, self._opened_digests) if verb == "approve" else ""
        if refused:
            self.console_app.say(refused)
            return
        reveal = len(chosen) == 1 and chosen[0].approval.number == self._revealed
        detail = self._detail_of(chosen[0])
        asked = question(verb, chosen, detail=detail, others=self.others(), reveal=reveal)
        self.ask(asked, chosen, lambda item, by, why: self._act(verb, item, by, why))

    def _act(self, verb: str, item: Disclosure, by: Decider, reason: str) -> str:
        opened = item.digest in self._opened_digests
        return decide_request(self.records, verb, item, by, reason, opened=opened)

    def action_approve(self) -> None:
        self._decide_chosen("approve")

    def action_deny(self) -> None:
        self._decide_chosen("deny")

    def action_take_away(self) -> None:
        grant = self.grant
        if grant is None:
            self._decide_chosen("revoke")
        elif grant.state == "active":
            self.ask(question("revoke", [grant]), [grant], self._revoke)
        else:
            self.console_app.say(f"nothing to revoke: this grant is {grant.state}")

    def _revoke(self, grant: Grant, by: Decider, reason: str) -> str:
        self.records.approvals().revoke(grant.id, by, reason)
        return f"Revoked: {grant.agent} asks for {grant.tool_id} again ({grant.id})"
