"""The Inbox: all that waits for a person, ranked by stake, and the record under the cursor in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.document_view import DocumentView
from sb.screens.filtering import Filtering
from sb.screens.handled import Handled
from sb.screens.handlers.contract import ContractHandler
from sb.screens.handlers.finding import FindingHandler
from sb.screens.handlers.kill import KillHandler
from sb.screens.handlers.level import LevelHandler
from sb.screens.handlers.recovery import RecoveryHandler
from sb.screens.handlers.request import RequestHandler
from sb.screens.handlers.review import ReviewHandler
from sb.screens.panel import Panel, Split
from sb.screens.row_list import RowList
from sb.screens.state.document import Document, Field
from sb.screens.state.inbox import NOTHING, InboxLines, at_work, fitting, thoroughly
from sb.screens.toned import bars
from sb.screens.waiting import Waiting
from textual import on
from textual.content import Content
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from sb.base.fitting import count
from sb.present.needs import NEED, Need
from sb.present.overview import AtWork

if TYPE_CHECKING:
    from sb.screens.handlers.handler import Handler

    from sb.operator.attention.inbox import Group

NO_HIT = "Nothing matches.\n\nesc clears the filter."
MOST_ALIKE = 100  # lines of a group's record
BAR = 10  # cells of the day's budget
READ_EVERY_S = 10.0  # while nothing is written: ages grow
DAY_FROM = 100  # cells from which on the calls of each hour stand beside the figures of today


class InboxScreen(Filtering, Handled, Waiting):
    """Everything that waits, the highest stake first; alike requests are one line, which `enter` opens."""

    name_ = "inbox"
    parts = ("inbox", LISTS, RECORDS, PANELS)
    heading = "Inbox"
    failure = "not decided"
    BINDINGS = bindings("inbox")
    DEFAULT_CSS = """
    InboxScreen #today { height: 1; padding: 0 1; color: $text; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines = InboxLines()
        self._work = AtWork()
        self._needs: dict[str, Need] = {}  # by key, of what was read for the screen
        self._wanted = ""  # a reference for the cursor, once it is in the list
        self._read_at: float | None = None

    def body(self) -> Iterable[Widget]:
        yield Static(id="today")
        box = self.filter_box("words, agent:… tool:… effect:… amount>… since:…")
        first = Panel(box, RowList(NEED.columns["list"], id="waiting"), title="Needs you", id="first")
        yield self.split(first, Panel(DocumentView(id="need"), title="Record"))

    @property
    def rows(self) -> RowList:
        return self.query_one("#waiting", RowList)

    @cached_property
    def _handlers(self) -> Mapping[str, Handler[Any]]:
        recovery, review = RecoveryHandler(self, self.show_detail), ReviewHandler(self, self.show_detail)
        return {
            "request": RequestHandler(self, self.show_detail),
            "unknown": recovery,
            "reversal": recovery,
            "contract": ContractHandler(self, self.show_detail),
            "conflict": review,
            "quarantine": review,
            "suggestion": review,
            "ignored": review,
            "level": LevelHandler(self, self.show_detail),
            "kill": KillHandler(self, self.show_detail),
            "finding": FindingHandler(self, self.show_detail, self._finding),
        }

    @property
    def handler(self) -> Handler[Any] | None:
        entry = self.lines.entry(self.rows.listing.current)
        return self._handlers[entry.kind] if entry else None

    def _finding(self, reference: str) -> Need | None:
        return next((need for need in self._needs.values() if need.reference == reference), None)

    def on_mount(self) -> None:
        self.console_app.count_needs()  # while the screen is laid out

    def refresh_records(self) -> None:
        if self._moves_on:  # what was decided is gone once it is counted again
            self.console_app.count_needs()
            self._read_rest()
            return
        if self.console_app.inbox is None:  # what needs you comes first; the rest would slow it down
            if not self.is_reading("needs"):
                self.console_app.count_needs()
            return
        self.show_inbox(self.console_app.inbox)
        self._read_rest()

    def _read_rest(self) -> None:
        self._read_at = self.records.clock.monotonic()
        self.read("inbox, agents", lambda: at_work(self.records), self._show_work)
        self.read("inbox, thoroughly", lambda: thoroughly(self.records), self._show_thorough)

    def tick(self) -> None:
        if self._read_at is not None and self.records.clock.monotonic() - self._read_at >= READ_EVERY_S:
            self.refresh_records()

    def show_inbox(self, groups: Sequence[Group]) -> None:
        self.lines.show(fitting(groups, self.filter_text, self.now()), below=not self.filter_text)
        self._show()
        if self._read_at is None:
            self.call_after_refresh(self._read_rest)  # once these rows are painted

    def _show_thorough(self, needs: Sequence[Need]) -> None:
        self._needs |= {need.key: need for need in needs}
        self.console_app.stops.weak = sum(need.kind == "finding" for need in needs)
        self.lines.show_below(needs)
        self._show()

    def _show(self) -> None:
        self.rows.show(self.lines.keys, NO_HIT if self.filter_text else NOTHING)
        if self._wanted:
            self._select_wanted()
        self.move_on()
        self._point()
        self.show_status()

    @on(RowList.Wanted)
    def _rows_wanted(self, message: RowList.Wanted) -> None:
        entries = self.lines.waiting_of(message.keys)

        def done(needs: Mapping[str, Need]) -> None:
            self._needs |= needs
            self.rows.put(self.lines.rows(message.keys, self._needs, self.now()))

        self.read("rows", lambda: self.records.describe(entries), done)

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * 1e6)

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._point()

    def _point(self) -> None:
        entry, handler = self.lines.entry(self.rows.listing.current), self.handler
        if entry is not None and handler is not None:
            handler.point_at(entry.reference)
        self._read_group()
        self.show_detail()

    def _read_group(self) -> None:
        """Read what is alike of the group under the cursor, also where its lines are not open."""
        group = self.lines.group(self.rows.listing.current)
        unread = [it for it in group.entries[:MOST_ALIKE] if it.key not in self._needs] if group else []

        def done(needs: Mapping[str, Need]) -> None:
            self._needs |= needs
            self.show_detail()

        if unread:
            self.read("alike", lambda: self.records.describe(unread), done)

    def show_detail(self) -> None:
        current = self.rows.listing.current
        group, (outcome, reference) = self.lines.group(current), self.lines.outcome(current)
        if outcome:
            leads = [Field("Next", "enter shows the decision, with its reason")] if _leads(reference) else []
            self.detail.show([Field(outcome), Field("Id", reference), *leads])
            self.query_one(Split).query(Panel).last().retitle("Decided")
            self._shown = ("", outcome)
            self.show_keys()
        elif group is None:
            super().show_detail()
        else:
            self.detail.show(self._alike(group))
            if self.handler is not None:
                self.query_one(Split).query(Panel).last().retitle(f"{self.handler.title}s")
            self._shown = ("", group.label)
            self.show_keys()

    def _alike(self, group: Group) -> Document:
        """Requests that are alike, a line each."""
        known = [self._needs.get(entry.key) for entry in group.entries[:MOST_ALIKE]]
        lines = [Field(need.when, need.object) for need in known if need is not None]
        more = len(group.entries) - MOST_ALIKE
        return [
            Field(f"{group.label}: {count(len(group.entries))} alike"),
            *lines,
            *([Field("", f"and {count(more)} more")] if more > 0 else []),
            Field("Next", "enter opens them one by one; a and d decide all of them together"),
        ]

    def open_row(self, key: int) -> None:
        reference = self.lines.outcome(key)[1]
        if self.lines.group(key) is not None:
            self.lines.toggle(key)
            self._show()
        elif _leads(reference):
            self.console_app.find_on("decisions", reference)
        else:
            super().open_row(key)

    @property
    def deciding(self) -> Handler[Any] | None:
        marked = self.lines.entries_of(sorted(self.rows.listing.marked))
        return self._handlers[marked[0].kind] if marked else self.handler

    def marked_references(self) -> Sequence[str]:
        """Those of the marked lines; of a group's line alone all of its entries."""
        listing = self.rows.listing
        alone = [listing.current] if listing.current and self.lines.group(listing.current) else []
        return [entry.reference for entry in self.lines.entries_of(sorted(listing.marked) or alone)]

    def action_mark(self) -> None:
        """Mark the line, or take its mark away; what is marked is of one kind, since it is decided together."""
        if self.handler is None or not self.handler.several:
            self.console_app.say("this is decided by itself: no mark")
        elif self.rows.listing.marked and self.deciding is not self.handler:
            self.console_app.say("what is marked is of another kind: esc takes the marks away")
        else:
            super().action_mark()

    @property
    def can_mark(self) -> bool:
        several = self.handler is not None and self.handler.several
        return several and (len(self.lines.keys) > 1 or bool(self.rows.listing.marked))

    def waiting(self) -> Sequence[int]:
        """The lines of the kind under the cursor, where such are decided together."""
        handler = self.deciding
        if handler is None or not handler.several:
            return ()
        kinds = {number: self.lines.entry(number) for number in self.lines.keys}
        return [number for number, it in kinds.items() if it and self._handlers[it.kind] is handler]

    def action_next_waiting(self, by: int) -> None:
        """The next line, or the one before, and from the last to the first."""
        keys, index = self.lines.keys, self.rows.listing.index
        places = [(index + by * step) % len(keys) for step in range(1, len(keys) + 1)]
        ahead = [keys[place] for place in places if keys[place] not in self.lines.decided]
        if ahead:
            self.rows.select(ahead[0])

    def filter_changed(self) -> None:
        self.lines.clear_outcomes()  # which fit no filter
        if self.console_app.inbox is not None:
            self.show_inbox(self.console_app.inbox)

    def move_on(self) -> None:
        """Go on to what waits below what was just decided, once its line says so; from the last one to nothing else."""
        keys, decided = self.lines.keys, self.lines.decided
        if self._moves_on and self.rows.listing.current in decided:
            self._moves_on = False
            below = [key for key in keys[self.rows.listing.index :] if key not in decided]
            if below:
                self.rows.select(below[0])

    def action_refresh(self) -> None:
        self.console_app.count_needs()
        super().action_refresh()

    def note_outcome(self, reference: str, text: str) -> None:
        self.app.call_from_thread(self.lines.keep, reference, text)

    def on_screen_suspend(self) -> None:
        """Another place is shown: what was decided need not be here any more."""
        if self not in self.app.screen_stack:
            self.lines.clear_outcomes()

    def find(self, reference: str) -> None:
        """Put the cursor on what has this id."""
        self._wanted = reference
        if self.console_app.inbox is not None:
            self._show()

    def _select_wanted(self) -> None:
        wanted, self._wanted = self._wanted, ""
        key = self.lines.number_of(wanted)
        self.rows.show(self.lines.keys, NOTHING)
        if key is None:
            self.console_app.say("that does not wait any more")
        else:
            self.rows.select(key)

    def show_status(self) -> None:
        super().show_status()
        if self.composed and self.is_current:
            panel, marked = self.query_one("#first", Panel), len(self.rows.listing.marked)
            panel.count({"": self.lines.total})
            place = f"{count(self.rows.listing.index + 1)} of {count(len(self.lines.keys))}"
            panel.foot(
                f"{marked} marked" if marked else "",
                place if self.lines.keys else "",
                f"filter: {self.filter_text}" if self.filter_text else "",
                self.work_text,
            )

    @property
    def hides(self) -> str:
        hidden = self.console_app.needs["inbox"] - self.lines.total
        return f"the filter hides {count(hidden)} of what needs you: esc shows all" if hidden > 0 else ""

    def _show_work(self, work: AtWork) -> None:
        self._work = work
        self._show_today()

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        if self.composed:
            self._show_today()

    def _show_today(self) -> None:
        work = self._work
        words = [Content.styled(text, f"${tone}" if tone else "") for text, tone in work.today]
        if words and work.spent is not None:
            words[-1] = Content.assemble(words[-1], " ", _spent_bar(work.spent))
        today = Content.assemble(("Today  ", "$soft"), Content("  ").join(words))
        trend = bars(tuple(zip(work.calls, map(bool, work.refused), strict=True)))
        if self.size.width >= DAY_FROM and trend:
            hours = (("   calls an hour ", "$soft"), *((bar, f"${tone}") for bar, tone in trend))
            today = Content.assemble(today, *hours)
        line = self.query_one("#today", Static)
        before = line.content
        if not (isinstance(before, Content) and before.is_same(today)):
            line.update(today)

    def possible(self, action: Action) -> bool:
        if action.id.startswith("next_waiting("):
            return bool(self.lines.keys)
        return super().possible(action)

    def start_over(self) -> None:
        self.lines, self._needs = InboxLines(), {}
        self.rows.start_over()


def _leads(reference: str) -> bool:
    """True if events of decisions have this id."""
    return reference.startswith(("apr_", "mem_"))


def _spent_bar(spent: float) -> Content:
    """The part of the day's budget that is spent."""
    cells = min(round(spent * BAR), BAR)
    return Content.assemble(("━" * cells, "$accent"), ("─" * (BAR - cells), "$soft"))
