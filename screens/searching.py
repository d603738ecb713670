"""A list that follows a filter over many rows, step by step."""

from __future__ import annotations

from abc import abstractmethod

from sb.screens.filtering import Filtering
from sb.screens.row_list import RowList
from sb.screens.state.search import Found, Search
from textual import on
from textual.message import Message
from textual.worker import get_current_worker

from sb.base.values.frozen import mutable

SEARCHING = "Searching…"


class Searching(Filtering):
    """A section whose rows are looked for in steps, the newest first."""

    search: Search
    _looking: Search | None = None
    _look_again = False

    @mutable
    class Step(Message):
        """A search has come further."""

        search: Search
        found: Found

    @abstractmethod
    def new_search(self, text: str) -> Search:
        """The search for what fits a filter, "" for everything."""

    @abstractmethod
    def show_found(self, notice: str) -> None:
        """Show what the search has found.

        Args:
            notice: what to say if that is nothing; "" once everything was looked at.
        """

    def refresh_records(self) -> None:
        search = self.search
        if self._looking is search:
            self._look_again = True
            return
        self._looking, self._look_again = search, False

        def work() -> None:
            worker = get_current_worker()
            for found in search.look(self.records.log("search")):
                if worker.is_cancelled:
                    return
                self.post_message(self.Step(search, found))

        self.read("search", work, self._looked)

    @on(Step)
    def _step(self, message: Step) -> None:
        if message.search is not self.search:
            return
        before, found = self.search.hits, message.found
        self.search.hits = found
        if found.complete or len(found.keys) != len(before.keys):
            self.show_found("" if found.complete else SEARCHING)
        self.show_status()

    def _looked(self, _: None) -> None:
        self._looking = None
        if self._look_again:
            self.refresh_records()

    def failed(self, error: BaseException) -> None:
        self._looking = None
        super().failed(error)

    def filter_changed(self) -> None:
        self.search = self.new_search(self.filter_text)
        self.refresh_records()

    def start_over(self) -> None:
        self.search = self.new_search(self.search.text)
        for rows in self.walk_children(RowList):
            rows.start_over()
