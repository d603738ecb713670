"""Views that list few records of one kind, read at once, with the one under the cursor beside them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel, Split
from sb.screens.row_list import RowList
from sb.screens.state.document import Document, fields_for
from sb.screens.state.listing import row_of
from sb.screens.tab_view import ListView
from textual import on
from textual.widget import Widget

from sb.base.sources import MICROSECONDS
from sb.present.kind import Kind

Item = TypeVar("Item")


class KindView(ListView[Item]):
    """A list laid out as a kind says; what a subclass adds is where its records come from."""

    kind: ClassVar[Kind[Any]]
    noun: ClassVar[str]  # the title of the record's panel
    empty: ClassVar[str]
    _shown: Any = None  # the reference of the record on screen

    def body(self) -> Iterable[Widget]:
        rows = RowList(self.kind.columns["list"], id=self.name_)
        yield self.split(self.views_panel(rows), Panel(DocumentView(id="record"), title=self.noun))

    @abstractmethod
    def read_items(self) -> Sequence[Item]:
        """The records, in the order of the list; called in a worker."""

    @abstractmethod
    def reference(self, item: Item) -> str:
        """The name that tells a record from all others, and by which it is found."""

    def document(self, item: Item) -> Document:
        """A record in full."""
        return fields_for(self.kind, item, self.now())

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * MICROSECONDS)

    def refresh_records(self) -> None:
        self.read(self.name_, self.read_items, self.show_items)

    def show_items(self, items: Sequence[Item]) -> None:
        """Show these; the cursor stays on its own."""
        references = [self.reference(item) for item in items]
        self.keep(items, references)
        now = self.now()
        self.rows.put({key: row_of(self.kind, item, now) for key, item in self.known.items()})
        self.rows.show(list(self.known), self.empty)
        split = self.query_one(Split)
        split.leave_out(split.query(Panel).last(), empty=not items)
        self.go_to_wanted(references)
        self.show_current()
        self.show_status()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self.show_current()

    def show_current(self) -> None:
        """Show the record under the cursor."""
        item = self.current
        shown = self.reference(item) if item is not None else None
        document = self.document(item) if item is not None else ()
        self.query_one(DocumentView).show(document, same_record=shown == self._shown)
        self._shown = shown

    def start_over(self) -> None:
        self.known = {}
        self.rows.start_over()
