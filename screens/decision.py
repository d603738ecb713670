"""The dialog of every decision: the reason first, the confirmation second."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, ClassVar, cast

from sb.screens.actions import ASKING, bindings
from sb.screens.clicked import KeyHint
from sb.screens.dialogs import DIALOG_CSS, Answer, Dialog
from sb.screens.reading import safe
from sb.screens.state.question import Question
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.css.scalar import Scalar
from textual.errors import NoWidget
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from sb.base.text import plain

if TYPE_CHECKING:
    from sb.screens.keys_in_order import KeysInOrder

NEEDS_REASON = "a decision needs a reason"
LEAST_OBJECT = 3  # lines of the object in view; it scrolls beyond
BORDERS, FAULT = 2, 1  # lines of a dialog's frame, and of what may be said to be wrong


class Area(VerticalScroll, can_focus=False, inherit_bindings=False):
    """A part that scrolls by the dialog's own keys."""


class Confirmation(KeyHint, can_focus=True):
    """Has the focus in the second step, so that its keys hold in no other."""

    BINDINGS = bindings(ASKING)

    class Pressed(Message):
        """The key that decides."""

    def action_confirm(self) -> None:
        self.post_message(self.Pressed())

    async def action_cancel(self) -> None:
        await self.run_action("screen.cancel")

    async def action_reveal(self) -> None:
        await self.run_action("screen.reveal")


class WordBox(Input):
    """The box for the word of the second step, which is a number or in small letters."""

    BINDINGS = [Binding("S", "screen.reveal", show=False, priority=True)]


def sentences(objects: tuple[str, ...], looks: tuple[str, ...] = ()) -> Iterator[Widget]:
    """Each object; of several each has a sign before it, in a column that no text of others reaches.

    Args:
        looks: as a question has them; the sign of a change is its own.
    """
    for number, text in enumerate(objects):
        look = looks[number] if looks else ""
        sign, text = (text[:1], text[2:]) if look else ("" if looks else "-", text)
        shown = Static(safe(text), classes="text read")
        if len(objects) > 1:
            yield Horizontal(Static(sign, classes="sign"), shown, classes=f"item {look}")
        else:
            yield shown


def fact(name: str, text: str, *, id: str | None = None, classes: str = "") -> Widget:
    """A name and its value, which wraps in a column of its own."""
    value = Static(safe(text), classes="text read", id=id)
    return Horizontal(Static(safe(name), classes="label"), value, classes=f"item {classes}")


class TwoSteps(Dialog[Answer]):
    """Asks for a reason, then for a key or a word that confirms it.

    In the first step letters are text, and `enter` goes on. In the second `y` decides, or a typed word; `enter` alone
    does nothing, and `escape` goes back. Nothing is decided of which a line was never on the screen, nor by a key that
    was typed, or pasted, before the second step was there.

    Args:
        drafts: reasons that were typed and not used, by what they are about.
        key: what this one is about.
        typed: what was typed before the dialog was there.
    """

    AUTO_FOCUS = ""
    BINDINGS = [
        Binding("pageup", "scroll_page(-1)", show=False),
        Binding("pagedown", "scroll_page(1)", show=False),
        Binding("up", "scroll_line(-1)", show=False),
        Binding("down", "scroll_line(1)", show=False),
    ]
    needs_reason: ClassVar[str] = NEEDS_REASON

    def __init__(self, drafts: MutableMapping[str, str], key: str, typed: str = "") -> None:
        super().__init__()
        self._drafts = drafts
        self._key = key
        self._ahead = drafts.get(key, "") + typed
        self._confirming = False
        self._reason = ""
        self._keys = ""
        self._named_unseen = False  # that lines were not on the screen is said
        self._unseen: dict[Widget, tuple[Size, set[int]]] = {}  # lines that were not on the screen yet

    @abstractmethod
    def about(self) -> Iterator[Widget]:
        """The subject of the decision, and the facts below it."""

    @abstractmethod
    def answer(self, reason: str) -> Answer:
        """The dialog's answer once it is confirmed."""

    @property
    def title_text(self) -> str:
        """The verb and, of several, their number."""
        return ""

    @property
    def verb(self) -> str:
        """The word for the key of the second step."""
        return "does it"

    @property
    def word(self) -> str:
        """The word to type for confirmation; "" where a key is enough."""
        return ""

    @property
    def tone(self) -> str:
        """The colour of border and title: "danger" where a word has to be typed."""
        return "danger" if self.word else ""

    @property
    def more_keys(self) -> str:
        """Further keys of the second step, as its last line names them."""
        return ""

    @property
    def consequence(self) -> str:
        """The consequence, in words."""
        return ""

    @property
    def refused(self) -> str:
        """The reason why there is nothing to confirm; "" where there is."""
        return ""

    @property
    def signature(self) -> tuple[str, str] | None:
        """A word on whether it is signed, and by whom; None where nobody signs."""
        return None

    def compose(self) -> ComposeResult:
        with Area(classes="dialog", id="dialog"):
            yield from self.about()
            with Horizontal(classes="item field first"):
                yield Static("Reason", classes="label")
                yield Input(placeholder="recorded with the decision", id="reason", select_on_focus=False)
            yield fact("Reason", "", id="given", classes="second gap")
            if self.signature:
                yield fact(*self.signature, classes="second")
            yield Static(safe(self.consequence), id="consequence", classes="second read gap")
            if self.word:
                yield WordBox(placeholder=f"type {self.word} to confirm", id="word", classes="second")
            yield Static("", classes="wrong")
            yield Confirmation("", id="confirm", classes="hint")

    def on_mount(self) -> None:
        self._show_step(confirming=False)
        for area in self.query(Area):
            self.watch(area, "scroll_y", self._look_soon, init=False)
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._laid_out())

    def on_resize(self) -> None:
        self._unseen.clear()  # other lines, in other places
        self._look_soon()

    def _laid_out(self) -> None:
        self._fit_object()
        self._look()

    def _fit_object(self) -> None:
        """Give the object all lines of the screen that the other parts of the dialog leave."""
        body = self.query_one("#dialog", Area)
        most = self.app.size.height * 94 // 100 - BORDERS - FAULT
        for area in self.query(".object"):
            lines = max(most - body.virtual_size.height + area.size.height, LEAST_OBJECT)
            if area.size.height and area.styles.max_height != Scalar.from_number(lines):
                area.styles.max_height = lines
            # A line that ends in the gutter of the scrollbar wraps, which its own height does not count.
            needed = min(lines, area.virtual_size.height)
            if 0 < area.size.height < needed:
                area.styles.min_height = needed

    @property
    def _box(self) -> Input:
        return self.query_one("#reason", Input)

    def _show_step(self, *, confirming: bool) -> None:
        self._confirming = confirming
        for widget in self.query(".first"):
            widget.display = not confirming
        for widget in self.query(".second"):
            widget.display = confirming
        for area in self.query(
            ".object"
        ):  # grows once the rest is laid out: a dialog that overflows is narrower,
            area.styles.max_height = LEAST_OBJECT  # and what was read on narrower lines has to be read again
            area.styles.min_height = None
        body = self.query_one("#dialog")
        body.border_title = safe(self.title_text, one_line=True)
        body.border_subtitle = "2 of 2" if confirming else "1 of 2"
        body.set_class(self.tone == "danger", "-danger")
        body.set_class(self.tone == "ok", "-ok")
        self.say_wrong(self.refused)
        self._look_soon()

    def _look_soon(self) -> None:
        self.call_after_refresh(self._look)

    def _look(self) -> None:
        """Take what is on the screen now for read."""
        for widget in self._readable():
            try:
                place = self.find_widget(widget)
            except NoWidget:
                continue
            size, lines = self._unseen.get(widget, (None, set[int]()))
            if size != place.region.size:
                lines = set(range(place.region.height))
            seen = place.visible_region
            if seen.width:
                lines.difference_update(range(seen.y - place.region.y, seen.bottom - place.region.y))
            self._unseen[widget] = (place.region.size, lines)
        self._say_keys()

    def _readable(self) -> list[Widget]:
        """The widgets of this step whose every line has to be on screen."""
        return [
            widget
            for widget in self.query(".read")
            if all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))
        ]

    @property
    def unseen(self) -> int | None:
        """Lines that were not on the screen yet; None before they are laid out."""
        lines = [self._unseen.get(widget) for widget in self._readable()]
        return None if None in lines else sum(len(line[1]) for line in lines if line)

    def _say_keys(self) -> None:
        if self.refused:
            keys = "esc closes"
        elif not self._confirming:
            keys = "enter goes on · esc closes"
        elif self.word:
            keys = f"type {self.word}, then enter · {self.more_keys}esc goes back"
        else:
            keys = f"y {self.verb} · {self.more_keys}esc goes back"
        if self.unseen and not self.refused:
            keys = f"pgdn reads on · esc {'goes back' if self._confirming else 'closes'}"
        if self._named_unseen and not self.unseen:
            self._named_unseen = False
            self.say_wrong(self.refused)
        if keys != self._keys:
            self._keys = keys
            self.query_one("#confirm", Static).update(keys)
            self.query_one("#confirm").set_class(self._confirming and not self.unseen, "-decides")

    def type_ahead(self, event: events.Key) -> None:
        if not self._confirming:
            super().type_ahead(event)

    @on(Input.Submitted, "#reason")
    def _go_on(self, message: Input.Submitted) -> None:
        self._reason = plain(message.value, one_line=True).strip()
        if self.refused:
            self.say_wrong(self.refused)
        elif not self._reason:
            self.say_wrong(self.needs_reason)
        elif self.unseen:
            self.say_wrong(self._lines_unseen())
        elif self.ready():
            self.query_one("#given", Static).update(safe(self._reason, one_line=True))
            self.query_one("#consequence", Static).update(safe(self.consequence))
            self._show_step(confirming=True)
            cast("KeysInOrder", self.app).drop_typed()
            self.query_one("#word" if self.word else "#confirm").focus()

    def ready(self) -> bool:
        """True if there is something to confirm."""
        return True

    @on(Input.Submitted, "#word")
    def _word_given(self, message: Input.Submitted) -> None:
        if message.value.strip() == self.word:
            self._confirm()
        else:
            self.say_wrong(f"{self.nothing}: type {self.word}, or press esc")

    @on(Input.Changed, "#word")
    def _word_changed(self, message: Input.Changed) -> None:
        """Say at once that a key such as `y` decides nothing where a word has to be typed."""
        wrong = not self.word.startswith(message.value.strip())
        self.say_wrong(f"type {self.word}, then enter; nothing else confirms this" if wrong else "")

    @on(Confirmation.Pressed)
    def _confirm(self) -> None:
        """Decide, once all of it was on the screen."""
        unseen = self.unseen
        if unseen is None or unseen:
            self.say_wrong(self._lines_unseen())
            return
        self._drafts[self._key] = self._reason
        self.dismiss(self.answer(self._reason))

    def _lines_unseen(self) -> str:
        self._named_unseen = True
        lines = f"{self.unseen or 'some'} {'line was' if self.unseen == 1 else 'lines were'}"
        return f"{lines} not on the screen: pgdn, pgup"

    def action_cancel(self) -> None:
        """Go back one step; from the first one leave, and keep the reason for the next time."""
        if self._confirming:
            self._show_step(confirming=False)
            self._box.value = self._reason
            self._box.cursor_position = len(self._reason)
            self._box.focus()
            return
        self._drafts[self._key] = plain(self._box.value, one_line=True)
        super().action_cancel()

    def action_scroll_line(self, by: int) -> None:
        self._scroll(by)

    def action_scroll_page(self, by: int) -> None:
        self._scroll(by * self.app.size.height)

    def _scroll(self, by: int) -> None:
        """Scroll the object to its end, then the dialog, where the screen is too small for it."""
        areas = list(self.query(Area))  # the dialog, then the object
        for area in reversed(areas) if by > 0 else areas:
            end = area.max_scroll_y if by > 0 else 0
            if area.scroll_offset.y != end:
                lines = max(1, min(abs(by), area.scrollable_content_region.height - 1))
                area.scroll_relative(y=lines if by > 0 else -lines, animate=False)
                return


class DecisionScreen(TwoSteps[str | None]):
    """Gives the reason of a decision, or None.

    Args:
        question: what is decided.
        signature: whether it is signed, and by whom.
    """

    DEFAULT_CSS = "DecisionScreen { align: center middle; }" + DIALOG_CSS
    _reveals = False  # secrets are shown

    def __init__(
        self,
        question: Question,
        drafts: MutableMapping[str, str],
        signature: tuple[str, str],
        typed: str = "",
    ) -> None:
        super().__init__(drafts, question.key, typed)
        self.question = question
        self._signature = signature

    @property
    def title_text(self) -> str:
        return self.question.title

    @property
    def verb(self) -> str:
        return self.question.does

    @property
    def tone(self) -> str:
        return self.question.tone or super().tone

    @property
    def word(self) -> str:
        return self.question.word

    @property
    def consequence(self) -> str:
        return self.question.consequence

    @property
    def refused(self) -> str:
        return self.question.refused

    @property
    def signature(self) -> tuple[str, str]:
        return self._signature

    @property
    def more_keys(self) -> str:
        shows = "hides" if self._reveals else "shows"
        return f"S {shows} secrets · " if self.question.revealed else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "reveal" or (self._confirming and bool(self.question.revealed))

    def action_reveal(self) -> None:
        """Show the secrets, or hide them again."""
        self._show_secrets(reveal=not self._reveals)

    def _show_secrets(self, *, reveal: bool) -> None:
        if self._reveals != reveal:
            self._reveals = reveal
            texts = self.question.revealed if reveal else self.question.objects
            for widget, text in zip(self.query(".object .text").results(Static), texts, strict=True):
                widget.update(safe(text))
            self._look_soon()

    def action_cancel(self) -> None:
        self._show_secrets(reveal=False)
        super().action_cancel()

    def about(self) -> Iterator[Widget]:
        yield Area(*sentences(self.question.objects, self.question.looks), classes="object")
        for name, text in self.question.facts:
            yield fact(name, text)

    def answer(self, reason: str) -> str:
        return reason
