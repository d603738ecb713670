"""The last filter and order of each place of the console, and its theme, kept over a restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual.screen import Screen

from sb.config.home import Home
from sb.errors import SBError
from sb.operator.saved_filters import SavedFilter, SavedFilters


class LastPlaces:
    """Filters and orders by place, read once; a console that may write nothing keeps them for itself."""

    def __init__(self, home: Home, *, read_only: bool) -> None:
        self.saved = SavedFilters(home)
        self._read_only = read_only
        self._places = self.saved.places()
        self._begun = dict(self._places)
        self._written = dict(self._places)
        self._told = False

    def of(self, place: str) -> SavedFilter:
        """The last filter and order of a place."""
        return self._places.get(place, SavedFilter())

    def holds_since_start(self, place: str) -> bool:
        """True if a filter of an earlier console is in force in a place."""
        return self.of(place).text == self._begun.get(place, SavedFilter()).text != ""

    def put(self, place: str, *, text: str | None = None, sort: str | None = None) -> None:
        """Remember a filter or an order, or both."""
        changed = {"text": text, "sort": sort}
        given = {key: value for key, value in changed.items() if value is not None}
        self._places[place] = replace(self.of(place), **given)

    def keep(self, screen: Screen[None], place: str, say: Callable[[str], None]) -> None:
        """Write a place to the home, in a thread of a screen; that this is impossible is said once."""
        last = self.of(place)
        if self._read_only or last == self._written.get(place, SavedFilter()):
            return
        self._written[place] = last
        self._write(screen, say, lambda: self.saved.keep_place(place, last))

    def keep_theme(self, screen: Screen[None], name: str, say: Callable[[str], None]) -> None:
        """Write the theme to the home, as `keep` does with a place."""
        if not self._read_only:
            self._write(screen, say, lambda: self.saved.keep_theme(name))

    def _write(self, screen: Screen[None], say: Callable[[str], None], save: Callable[[], None]) -> None:
        def work() -> None:
            try:
                save()
            except SBError as error:
                if not self._told:
                    self._told = True
                    screen.app.call_from_thread(say, f"not kept: {error.message}")

        screen.run_worker(work, group="places", thread=True, exit_on_error=False)
