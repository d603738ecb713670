"""The Home screen: what needs you, and what is enforced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sb.screens.actions import LISTS, bindings
from sb.screens.deciding import Deciding
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.document import Field
from sb.screens.state.home import HOME_COLUMNS, Home, HomeLine, Target, quickly, thoroughly
from textual import on
from textual.widget import Widget

from sb.log.event import Subject
from sb.text import plain

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

    from sb.kernel.authority.signing import Decider
    from sb.kernel.incidents.kill import Kill


class HomeScreen(Deciding):
    """One line for everything that needs a person, what is enforced, and the last events."""

    name_ = "home"
    parts = ("home", LISTS)
    heading = "Home"
    BINDINGS = bindings("home")

    def __init__(self) -> None:
        super().__init__()
        self.state = Home()
        self.lines: list[HomeLine] = []

    def body(self) -> Iterable[Widget]:
        yield Panel(RowList(HOME_COLUMNS, id="lines"))

    def refresh_records(self) -> None:
        self.read("home", lambda: quickly(self.records), self._show_quick)

    def _show_quick(self, parts: dict[str, Any]) -> None:
        self._show(parts)
        self.read("home, thoroughly", lambda: thoroughly(self.records), self._show)

    def _show(self, parts: dict[str, Any]) -> None:
        current = self._line
        self.state = replace(self.state, **parts)
        self.lines = self.state.lines(self.now())
        rows = self.query_one(RowList)
        rows.put({number: line.row for number, line in enumerate(self.lines)})
        rows.show(range(len(self.lines)))
        same = [number for number, line in enumerate(self.lines) if current and line.same_as(current)]
        if same:
            rows.select(same[0])
        self.show_status()

    def tick(self) -> None:
        """Another second is over: how long ago something was heard of changes."""
        if self.lines and self.state.lines(self.now()) != self.lines:
            self._show({})

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * 1e6)

    @property
    def current(self) -> Target | None:
        """What the cursor is on."""
        return self._line.target if self._line else None

    @property
    def _line(self) -> HomeLine | None:
        number = self.query_one(RowList).listing.current
        return self.lines[number] if number is not None and number < len(self.lines) else None

    def pointed_at(self) -> Pointed:
        if self._line is not None and self._line.about is not None:
            return self._line.about
        target = self.current
        if target is None or target.section != "contracts":
            return target.record if target else None
        return Subject(tool_id=str(target.record or ""))

    def action_lift(self) -> None:
        from sb.screens.state.kills import lift_question

        kill = self._line.kill if self._line else None
        if kill is None:
            self.console_app.say("nothing to lift here: the cursor is not on a kill")
        else:
            self.ask(lift_question(kill), [kill], self._lift)

    def _lift(self, kill: Kill, by: Decider, reason: str) -> str:
        switch = self.records.kill_switch("write")
        waiting = switch.lift(kill.scope, kill.target, by, reason, number=kill.number)
        return f"{plain(kill.name, one_line=True)} {'waits for another operator' if waiting else 'may go on'}, says {by.name}"

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        line = self.lines[message.key]
        target = line.target
        if target is None:
            self.console_app.open_fields(line.row.texts[1], [Field(line.row.texts[0], line.row.texts[2])])
        else:
            self.console_app.open_target(target)

    def start_over(self) -> None:
        self.state, self.lines = Home(), []
        self.query_one(RowList).start_over()

    def summary(self) -> str:
        return f"· {self.state.waiting:,} need{'s' if self.state.waiting == 1 else ''} you"
