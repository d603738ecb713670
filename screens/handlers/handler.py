"""The base of handlers: the record that the cursor is on, by its reference, as it was read last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sb.screens.deciding import Deciding
from sb.screens.state.document import Document

from sb.base.sources import MICROSECONDS
from sb.base.text import plain

if TYPE_CHECKING:
    from sb.screens.console import Console
    from sb.screens.state.kills import Pointed
    from sb.screens.state.records import Records

    from sb.kernel.authority.signing import Decider

Item = TypeVar("Item")
Act = Callable[[Any, "Decider", str], str]  # decides one item, with who decides and why; returns what to say


class Handler(ABC, Generic[Item]):
    """Shows one kind of record, and does what a person decides about it.

    A method for each action that the kind knows bears its id (`approve`, `undo`); `possible` says which do something
    now.

    Args:
        screen: asks the questions, and reads in its workers.
        changed: called when there is more to show of the record.
        read: the name of the read of which only the newest counts.
    """

    title = ""  # of the panel that shows the record
    several = False  # whether marked ones are decided together

    def __init__(self, screen: Deciding, changed: Callable[[], None], *, read: str = "detail") -> None:
        self.screen = screen
        self.changed = changed
        self._read = read
        self.reference = ""
        self.item: Item | None = None
        self.revealed = False

    @abstractmethod
    def load(self, reference: str) -> Item | None:
        """The record with this id, None if it is gone; called in a worker."""

    @abstractmethod
    def document(self) -> Document:
        """Everything that is known about the record."""

    def possible(self, action: str) -> bool:
        """True if the action of this id does something with the record now."""
        return False

    @property
    def labels(self) -> Mapping[str, str]:
        """Words for the line of keys, by actions, where this kind has its own."""
        return {}

    def command(self) -> str:
        """The command line that shows the record."""
        return ""

    def pointed_at(self) -> Pointed:
        """Whose agent, run or tool it is."""
        return None

    def open(self) -> None:
        """Note that the record was opened to be read in full."""

    def load_for_dialog(self, reference: str) -> Item | None:
        """The same for one of several in a dialog, with less around it; called in a worker."""
        return self.load(reference)

    def point_at(self, reference: str) -> None:
        """Read the record that the cursor is on; the same one is read again."""
        if reference != self.reference:
            self.reference, self.item, self.revealed = reference, None, False

        def done(item: Item | None) -> None:
            if reference == self.reference:
                self.item = item
                self.was_read()
                self.changed()

        if reference:
            self.screen.read(self._read, lambda: self.load(reference), done)

    @property
    def was_loaded(self) -> bool:
        """True unless the record under the cursor is still being read."""
        return not self.reference or self.item is not None

    def was_read(self) -> None:
        """Called once the record under the cursor was read, before it is shown."""

    def chosen(self, references: Sequence[str], then: Callable[[list[Item]], None]) -> None:
        """Read these for a dialog; what is typed meanwhile is its reason.

        Args:
            references: of the marked records; empty for the one under the cursor.
        """
        wanted = list(references) or [self.reference]
        load = self.load if len(wanted) == 1 else self.load_for_dialog

        def work() -> list[Item]:
            return [item for item in map(load, wanted) if item is not None]

        self.screen.prepare(work, then)

    def noting(self, act: Callable[[Any, Decider, str], str], reference: Callable[[Any], str]) -> Act:
        """The same act, after which the line of the record says what came of it.

        Args:
            reference: of the item that it decides.
        """

        def noted(item: Any, by: Decider, reason: str) -> str:
            text = act(item, by, reason)
            self.screen.note_outcome(reference(item), text)
            return text

        return noted

    @property
    def console(self) -> Console:
        return self.screen.console_app

    @property
    def records(self) -> Records:
        return self.screen.records

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * MICROSECONDS)

    def hide(self) -> None:
        """Show no secret in the record any more: a dialog opens, which shows them itself."""
        if self.revealed:
            self.revealed = False
            self.changed()

    def say(self, text: str) -> None:
        """Say why nothing was done."""
        self.console.say(plain(text, one_line=True))
