"""The Home screen: what needs you, who is at work, and the newest calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sb.screens.actions import LISTS, Action, bindings
from sb.screens.deciding import Deciding
from sb.screens.panel import HIGH, WIDE, Panel, has_borders
from sb.screens.reading import safe
from sb.screens.row_list import RowList
from sb.screens.state.document import Field
from sb.screens.state.home import (
    LATEST_COLUMNS,
    NO_AGENT,
    NO_CALL,
    NOTHING,
    Home,
    HomeLine,
    Target,
    at_work,
    facts,
    quickly,
    thoroughly,
)
from sb.screens.toned import bars
from textual import on
from textual.containers import Container
from textual.content import Content
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from sb.base.sources import MICROSECONDS
from sb.base.text import plain
from sb.kernel.incident_response.kill import Kill
from sb.present.agents import AGENT
from sb.present.needs import NEED
from sb.present.overview import AtWork

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

    from sb.kernel.approvals.disclosure import Disclosure
    from sb.kernel.authority.signing import Decider
    from sb.operator.attention.inbox import NeedsNow
    from sb.present.approvals import RequestDetail

BROAD = 160  # cells of a terminal from which on agents and calls are beside each other
AROUND = 4  # lines: tabs, today, what is enforced, keys
LEAST_LATEST, MOST_AGENTS = 4, 6  # lines
NOTICE = 3  # lines of a list without rows
BAR = 10  # cells of the day's budget
READ_EVERY_S = 10.0  # while nothing is written: ages grow


class HomeScreen(Deciding):
    """Everything that needs a person, the agents, the newest calls, and what is enforced."""

    name_ = "home"
    parts = ("home", LISTS)
    heading = "Home"
    BINDINGS = bindings("home")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide"), (BROAD, "-broad")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (HIGH, "-high")]
    DEFAULT_CSS = """
    HomeScreen .words { height: auto; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    HomeScreen #side { height: auto; }
    HomeScreen #enforced-panel, HomeScreen #memory-panel { display: none; height: auto; }
    HomeScreen.-broad #side { dock: right; width: 45%; height: 1fr; }
    HomeScreen.-broad #enforced-panel, HomeScreen.-broad #memory-panel { display: block; }
    HomeScreen.-broad #facts { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.state = Home()
        self.lines: dict[int, HomeLine] = {}
        self._numbers: dict[str, int] = {}
        self._read_at: float | None = None

    def body(self) -> Iterable[Widget]:
        yield Static(id="today", classes="words")
        yield Panel(RowList(NEED.columns["list"], id="needs", leads=False), title="Needs you", id="first")
        with Container(id="below"):
            with Container(id="side"):
                yield Panel(
                    RowList(AGENT.columns["list"], id="agents", leads=False),
                    title="Agents",
                    id="agents-panel",
                )
                yield Panel(Static(id="enforced", classes="words"), title="Enforced", id="enforced-panel")
                yield Panel(Static(id="memory", classes="words"), title="Memory", id="memory-panel")
            yield Panel(RowList(LATEST_COLUMNS, id="latest", leads=False), title="Latest")
        yield Static(id="facts", classes="words")

    def on_mount(self) -> None:
        self.console_app.count_needs()  # while the screen is laid out

    def refresh_records(self) -> None:
        if self.console_app.needs_you is None:  # what needs you comes first; the rest would slow it down
            if not self.is_reading("needs"):
                self.console_app.count_needs()
            return
        self.show_needs(self.console_app.needs_you)
        self._read_rest()

    def _read_rest(self) -> None:
        self._read_at = self.records.clock.monotonic()
        self.read("home", lambda: quickly(self.records), self._show)
        self.read("home, agents", lambda: at_work(self.records), self._show)
        self.read("home, thoroughly", lambda: thoroughly(self.records), self._show)

    def tick(self) -> None:
        if self._read_at is not None and self.records.clock.monotonic() - self._read_at >= READ_EVERY_S:
            self.refresh_records()

    def _show(self, parts: dict[str, Any]) -> None:
        self.state = replace(self.state, **parts)
        if self.console_app.needs_you is not None:
            self.show_needs(self.console_app.needs_you)
        if self.state.work is not None:
            self._put("agents", self.state.agents(self.state.work), NO_AGENT)
            self.query_one("#agents-panel", Panel).count({"": self.state.work.seen})
        if self.state.latest is not None:
            now = int(self.records.clock.now() * MICROSECONDS)
            self._put("latest", self.state.calls(self.state.latest, now), NO_CALL)
        self._show_facts()
        self._share_out()

    def show_needs(self, needs_you: NeedsNow) -> None:
        lines = self.state.needs(needs_you)
        self._put("needs", lines, NOTHING)
        more = max(needs_you.total - len(needs_you.items) - 1, 0)
        self.query_one("#first", Panel).count({"": len(lines) + more})
        self._share_out()
        self.show_keys()
        if self._read_at is None:
            self.call_after_refresh(self._read_rest)  # once these rows are painted

    def _put(self, name: str, lines: Sequence[HomeLine], notice: str) -> None:
        rows = self.query_one(f"#{name}", RowList)
        numbered = {self._numbers.setdefault(line.key, len(self._numbers)): line for line in lines}
        self.lines |= numbered
        rows.put({number: line.row for number, line in numbered.items()})
        rows.show(list(numbered), notice)

    def _show_facts(self) -> None:
        work = self.state.work or AtWork()
        words = [Content.styled(text, f"${tone}" if tone else "") for text, tone in work.today]
        trend = bars(tuple(zip(work.calls, map(bool, work.refused), strict=True)))
        hours = Content.assemble(
            ("calls an hour ", "$soft"), *((bar, f"${tone}") for bar, tone in trend if trend)
        )
        if work.spent is not None:
            words[-1] = Content.assemble(words[-1], " ", _spent_bar(work.spent))
        today = Content.assemble(("Today  ", "$soft"), Content("  ").join(words))
        if self.size.width >= WIDE:
            today = Content.assemble(today, "   ", hours)
        self._write("today", today)
        found = facts(self.state, int(self.records.clock.now() * MICROSECONDS))
        text, tone = found.verified
        log = Content.assemble(("Log ", "$soft"), found.log, ", ", (text, f"${tone}" if tone else ""))
        line = [log, _pair("Enforced", found.enforced)]
        line += [_pair("Memory", found.memory)]
        if Content("   ").join(line).cell_length > self.size.width - 2:
            line.pop()  # rather than half of it
        self._write("facts", Content("   ").join(line))
        self._write("enforced", Content("\n").join([_pair("On", found.enforced), log]))
        newest = (_pair(f"{kind:<10}", text) for kind, text in self.state.newest)
        self._write("memory", Content("\n").join([Content(found.memory), *newest]))

    def _write(self, name: str, content: Content) -> None:
        words = self.query_one(f"#{name}", Static)
        before = words.content
        same = isinstance(before, Content) and before.is_same(content)
        if not same:  # else the whole screen would be laid out again for nothing
            words.update(content)

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        if self.composed:
            self._show_facts()
            self._share_out()

    def _share_out(self) -> None:
        """Give each list its lines: what needs you first, and the newest calls what is left."""
        frame = 2 if has_borders(self.app) else 1
        broad = self.size.width >= BROAD
        needs, agents = (
            len(self.query_one(f"#{name}", RowList).listing.keys) or NOTICE for name in ("needs", "agents")
        )
        room = self.size.height - AROUND - (2 if broad else 3) * frame
        agents = min(agents, MOST_AGENTS, max(room // 4, 1))
        most = room // 2 if broad else room - agents - LEAST_LATEST
        self.query_one("#first").styles.height = min(needs, max(most, 1)) + frame
        self.query_one("#agents-panel").styles.height = "1fr" if broad else agents + frame

    @property
    def _line(self) -> HomeLine | None:
        number = self.list_in_use.listing.current if self.list_in_use else None
        return None if number is None else self.lines.get(number)

    @property
    def _request(self) -> str:
        """The id of the request under the cursor, or ""."""
        need = self._line.need if self._line else None
        return need.reference if need and need.kind == "request" else ""

    @property
    def _kill(self) -> Kill | None:
        need = self._line.need if self._line else None
        return need.about if need and isinstance(need.about, Kill) else None

    @property
    def current(self) -> Target | None:
        """The item under the cursor."""
        return self._line.target if self._line else None

    def possible(self, action: Action) -> bool:
        if action.id in ("approve", "deny"):
            return bool(self._request)
        if action.id == "lift":
            return self._kill is not None
        return super().possible(action)

    def action_approve(self) -> None:
        self._decide_request("approve")

    def action_deny(self) -> None:
        self._decide_request("deny")

    def _decide_request(self, verb: str) -> None:
        """Ask about the request under the cursor, as Approvals does."""
        from sb.screens.requests import decide_request, read_request  # not before the first screen is there
        from sb.screens.state.approvals import question, unapprovable

        reference = self._request
        if not reference:
            self.console_app.say(f"nothing to {verb} here: enter opens what the cursor is on")
            return

        def act(item: Disclosure, by: Decider, reason: str) -> str:
            return decide_request(self.records, verb, item, by, reason, opened=False)

        def ask(found: tuple[Disclosure, RequestDetail]) -> None:
            item, detail = found
            refused = unapprovable([item], set()) if verb == "approve" else ""
            if refused:
                self.console_app.say(refused)
            else:
                self.ask(question(verb, [item], detail=detail, others=self.others()), [item], act)

        self.prepare(lambda: read_request(self.records, reference), ask)

    def pointed_at(self) -> Pointed:
        if self._line is not None and self._line.about is not None:
            return self._line.about
        return self.current.record if self.current else None

    def action_lift(self) -> None:
        from sb.screens.state.kills import lift_question

        kill = self._kill
        if kill is None:
            self.console_app.say("nothing to lift here: the cursor is not on a stop")
        else:
            self.ask(lift_question(kill), [kill], self._lift)

    def _lift(self, kill: Kill, by: Decider, reason: str) -> str:
        switch = self.records.kill_switch("write")
        waiting = switch.lift(kill.scope, kill.target, by, reason, number=kill.number)
        return f"{plain(kill.name, one_line=True)} {'waits for another operator' if waiting else 'may go on'}, says {by.name}"

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        line = self.lines[message.key]
        if line.target is not None:
            self.console_app.open_target(line.target)
        elif line.need is not None and (about := line.need.about) is not None:
            if isinstance(about, Kill):
                fields = [Field(about.sentence), Field("Lift it", about.lift_command)]
            else:
                fields = [Field(about.name), Field("", about.detail), Field("Do", about.hint)]
            self.console_app.open_fields(about.name, fields)

    def start_over(self) -> None:
        self.state = Home()
        self.lines.clear()
        for rows in self.walk_children(RowList):
            rows.start_over()


def _spent_bar(spent: float) -> Content:
    """The part of the day's budget that is spent."""
    cells = min(round(spent * BAR), BAR)
    return Content.assemble(("━" * cells, "$accent"), ("─" * (BAR - cells), "$soft"))


def _pair(name: str, text: str) -> Content:
    """A name and what it stands for."""
    return Content.assemble((f"{name} ", "$soft"), safe(text, one_line=True))
