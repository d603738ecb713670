"""Screens whose record is shown, and decided about, by the handler of its kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sb.screens.actions import Action
from sb.screens.deciding import Deciding
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel, Split
from sb.screens.reading import trouble_of
from sb.screens.row_list import RowList
from textual import on

from sb.errors import DeniedError, SBError, StoreError

if TYPE_CHECKING:
    from sb.screens.handlers.handler import Handler
    from sb.screens.state.kills import Pointed

# The actions that handlers have, each with what is said where the record under the cursor knows none of that name.
NONE_HERE = {
    "approve": "nothing to approve here",
    "deny": "nothing to deny here",
    "take_away": "nothing to revoke here",
    "undo": "nothing to undo here",
    "undo_run": "nothing to undo here",
    "settle": "this call's outcome is known",
    "try_out": "no undo record here",
    "lift": "nothing to lift here: the cursor is not on a stop",
    "reveal": "nothing is hidden here",
    "choose": "there is nothing to choose from here",
}
# What needs the record itself; the others read theirs for the dialog.
WITH_RECORD = ("undo", "undo_run", "settle", "try_out", "lift")
TOGETHER = ("approve", "deny", "take_away")  # what marked records are decided by, all at once


class Handled(Deciding):
    """A section that passes what a person decides on to the handler of the record under the cursor."""

    _shown: tuple[str, str] = ("", "")  # the kind and reference of the record on screen

    @property
    @abstractmethod
    def handler(self) -> Handler[Any] | None:
        """The handler of the record under the cursor."""

    @property
    def deciding(self) -> Handler[Any] | None:
        """The handler of what is decided now: that of what is marked, else of the record under the cursor."""
        return self.handler

    def handler_for(self, action: str) -> Handler[Any] | None:
        """The handler that an action of this id goes to: marks count for what can be decided together."""
        return self.deciding if action in TOGETHER else self.handler

    def marked_references(self) -> Sequence[str]:
        """The references of what is marked, all of them `deciding`'s."""
        return ()

    @property
    def detail(self) -> DocumentView:
        """The record's place on the screen."""
        return self.query_one(DocumentView)

    def show_detail(self) -> None:
        """Show the record under the cursor, as far as it was read."""
        if not self.composed:
            return
        handler = self.handler
        shown = (handler.title, handler.reference) if handler else ("", "")
        self.detail.show(handler.document() if handler else (), same_record=shown == self._shown)
        if handler is not None:
            self.query_one(Split).query(Panel).last().retitle(handler.title)
        self._shown = shown
        self.show_keys()

    def possible(self, action: Action) -> bool:
        name = action.id.partition("(")[0]
        if name in NONE_HERE:
            handler = self.handler_for(name)
            return handler is not None and handler.possible(name)
        return super().possible(action)

    def labels(self) -> Mapping[str, str]:
        handlers = {name: self.handler_for(name) for name in NONE_HERE}
        return {name: it.labels[name] for name, it in handlers.items() if it and name in it.labels}

    def pointed_at(self) -> Pointed:
        return self.handler.pointed_at() if self.handler else None

    def command(self) -> str:
        return self.handler.command() if self.handler else ""

    @on(RowList.Opened)
    def _row_opened(self, message: RowList.Opened) -> None:
        self.open_row(message.key)

    def open_row(self, key: int) -> None:
        """Go from a line to its record."""
        if self.handler is not None:
            self.handler.open()
        self.focus_on(self.detail)

    def do(self, name: str) -> None:
        """Let the handler do the action of this id, if the record's kind has it."""
        handler = self.handler_for(name)
        act = getattr(handler, name, None)
        if handler is not None and act is not None and name in WITH_RECORD and not handler.was_loaded:
            self.prepare(
                lambda: handler.load(handler.reference), lambda item: self._do_with(handler, name, item)
            )
        elif act is None:
            self.console_app.say(NONE_HERE[name])
        elif name in ("reveal", "choose"):
            act()
        else:
            act(self.marked_references() if name in TOGETHER else ())

    def _do_with(self, handler: Handler[Any], name: str, item: Any) -> None:
        """Do the action now that the record is there that the cursor came to with the key before."""
        handler.item = item
        handler.was_read()
        self.show_detail()
        if item is None:
            self.console_app.say(NONE_HERE[name])
        else:
            getattr(handler, name)(())

    def action_approve(self) -> None:
        self.do("approve")

    def action_deny(self) -> None:
        self.do("deny")

    def action_take_away(self) -> None:
        self.do("take_away")

    def action_undo(self) -> None:
        self.do("undo")

    def action_undo_run(self) -> None:
        self.do("undo_run")

    def action_settle(self) -> None:
        self.do("settle")

    def action_try_out(self) -> None:
        self.do("try_out")

    def action_lift(self) -> None:
        self.do("lift")

    def action_reveal(self) -> None:
        self.do("reveal")

    def action_choose(self) -> None:
        self.do("choose")

    def failed(self, error: BaseException) -> None:
        """Report a refusal of what was decided; the database is not in trouble."""
        if isinstance(error, SBError) and not isinstance(error, StoreError | DeniedError):
            self.notify_failure(trouble_of(error))
        else:
            super().failed(error)
