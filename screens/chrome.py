"""The lines around every screen: tabs, trouble and keys; each stays one line, so writing it moves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from sb.screens.actions import EVERYWHERE, SECTIONS, TABS, Action
from sb.screens.clicked import ActionLine, Parts
from sb.screens.reading import safe
from textual import events
from textual.content import Content
from textual.widgets import Static

from sb.base.fitting import short_count

if TYPE_CHECKING:
    from sb.screens.console import Console

TOUCHED_BELOW = 60  # cells of a terminal that is held in a hand
TOUCHED = ("line_up", "line_down", "open", "approve", "deny", "filter", "back")
LETTERS, FEW, WHOLE = 4, 2, 99


class TabLine(Static):
    """The screens with the count of what needs you on each, and how far the picture can be relied on."""

    DEFAULT_CSS = "TabLine { height: 1; background: $raised; color: $text; text-wrap: nowrap; }"

    def __init__(self, current: str) -> None:
        super().__init__()
        self._current = TABS.get(current, current)
        self._needs: Mapping[str, int] = {}
        self._state = Content("")
        self._parts = Parts[str]()

    def on_click(self, event: events.Click) -> None:
        if name := self._parts.at(event.x):
            cast("Console", self.app).go(name)

    def on_resize(self, event: events.Resize) -> None:
        self._write()

    def show(self, needs: Mapping[str, int], state: Content) -> None:
        """Show the counts of needs by screen, and the text at the right end."""
        if needs != self._needs or not state.is_same(self._state):
            self._needs, self._state = dict(needs), state
            self._write()

    def _write(self) -> None:
        width, state = self.app.size.width, self._state
        forms = [(WHOLE, True), (WHOLE, False), (LETTERS, False), (FEW, False), (0, False)]
        for letters, roomy in forms:
            self._parts = Parts(self._tabs(letters, roomy))
            tabs = self._parts.text
            if tabs.cell_length + state.cell_length + 2 <= width:
                break
        room = max(width - state.cell_length - 2, 0)
        self.update(Content.assemble(tabs.truncate(room, pad=True), " ", state, " "), layout=False)

    def _tabs(self, letters: int, roomy: bool) -> Iterator[tuple[str | tuple[str, str], str | None]]:
        """All tabs, each with the name of its place; a name has at most so many letters, the active one's all where others have none."""
        gap, between = " " if roomy else "", " " if letters == WHOLE else ""
        yield (" sb ", "bold") if roomy else "", None
        for number, (name, title) in enumerate(SECTIONS.items(), 1):
            active = name == self._current
            short = title if active and not letters else title[:letters]
            needs = self._needs.get(name, 0)
            count = f"·{short_count(needs)}" if needs else ""
            text = f"{number}{between}{short}{count}"
            if active:
                yield (f" {text} ", "bold $on_accent on $accent"), name
            else:
                yield f"{gap}{text}{gap}" + ("" if gap else " "), name


class TroubleLine(Static):
    """One line on what is wrong, and that it will be tried again; not there while nothing is."""

    DEFAULT_CSS = """
    TroubleLine { height: 1; background: $danger; color: $panel; text-style: bold; display: none; text-wrap: nowrap; }
    TroubleLine.-wrong { display: block; }
    """

    _text = ""

    def say(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.set_class(bool(text), "-wrong")
            self.update(safe(f" {text}", one_line=True), layout=False)


class KeyLine(ActionLine):
    """The keys that matter here: what decides, what looks, and what is the same everywhere."""

    DEFAULT_CSS = "KeyLine { height: 1; background: $raised; color: $text; text-wrap: nowrap; }"

    def __init__(self, actions: Sequence[Action]) -> None:
        super().__init__()
        here = [action for action in actions if EVERYWHERE not in action.on]
        self._decide = [action for action in here if action.writes]
        look = (action for action in here if not action.writes)
        self._look = sorted(look, key=lambda action: action.id != "open")  # which gives way last
        self._always = [action for action in actions if EVERYWHERE in action.on]
        self._left_out: frozenset[str] = frozenset()
        self._labels: Mapping[str, str] = {}

    def on_resize(self, event: events.Resize) -> None:
        self.update(self.fitting(event.size.width), layout=False)

    def show(self, left_out: frozenset[str], labels: Mapping[str, str]) -> None:
        """Leave out the actions that do nothing where the cursor is, and name the others as they are called there."""
        if (left_out, labels) != (self._left_out, self._labels):
            self._left_out, self._labels = left_out, labels
            self.update(self.fitting(self.size.width), layout=False)

    def fitting(self, width: int) -> Content:
        """The line in so many cells: the middle gives way first, from its end; the last part stays."""
        decide, look = (
            [action for action in group if action.id not in self._left_out]
            for group in (self._decide, self._look)
        )
        self.parts = Parts(self._line(decide, look))
        while self.parts.text.cell_length > width and (look or decide):
            (look or decide).pop()
            self.parts = Parts(self._line(decide, look))
        return self.parts.text

    def _line(self, *groups: Sequence[Action]) -> Iterator[tuple[Content | str, Action | None]]:
        between: Content | str = " "
        for group in (*groups, self._always):
            for action in group:
                yield between, None
                label = self._labels.get(action.id, action.label)
                yield Content.assemble((action.shown_keys.split()[0], "bold $accent"), f" {label}"), action
                between = "  "
            if group:
                between = Content.from_markup(" [$line]│[/] ")


class TouchLine(ActionLine):
    """Buttons for a finger, where a terminal is too narrow for a keyboard; one that does nothing now is quiet."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    TouchLine { height: 3; background: $raised; color: $accent; text-style: bold; text-wrap: nowrap;
                padding: 1 0; }
    .-low TouchLine { height: 1; padding: 0; }
    """

    def __init__(self, actions: Sequence[Action]) -> None:
        super().__init__()
        known = {action.id: action for action in actions}
        self._shown = [known[id] for id in TOUCHED if id in known]
        self._left_out: frozenset[str] | None = None

    def on_resize(self, event: events.Resize) -> None:
        self._write()

    def show(self, left_out: frozenset[str]) -> None:
        """Make the actions quiet that do nothing where the cursor is."""
        if left_out != self._left_out:
            self._left_out = left_out
            self._write()

    def _write(self) -> None:
        names = [action.label for action in self._shown]
        room = self.size.width - sum(map(len, names)) - 1
        gap = max(room // max(len(names), 1), 1)
        looks = ["not bold $soft" if it.id in (self._left_out or ()) else "" for it in self._shown]
        parts = [
            ((f"{' ' * (gap // 2)}{name}{' ' * (gap - gap // 2)}", look), action)
            for name, look, action in zip(names, looks, self._shown, strict=True)
        ]
        self.parts = Parts(parts)
        self.update(self.parts.text, layout=False)
