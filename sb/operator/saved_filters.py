"""Filters saved under names, and what the console last showed: the filter and order of each place, and its theme."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sb.base.files import locked_folder, write_atomic
from sb.base.secrets.redaction import redact_text
from sb.base.text import nearest, plain
from sb.base.values.frozen import frozen
from sb.config.home import Home
from sb.errors import NotFoundError, SBError, UsageError

REPLACE_HINT = "--replace, or choose another name"
MOST_SAVED, LONGEST_NAME = 100, 40
SAVED, PLACES = "filters", "places"  # the parts of the file
THEME = "theme"  # in it, by name


@frozen
class SavedFilter:
    """A filter as it was typed, and the order of the list under it; "" for the usual one."""

    text: str = ""
    sort: str = ""

    @property
    def problem(self) -> str:
        """The reason why it cannot be read any more; "" if it can."""
        from sb.operator.filters import Filter  # with the queue of approvals, for which no start has to wait

        try:
            Filter.parse(self.text)
        except UsageError as error:
            return error.message
        return ""


class SavedFilters:
    """The saved filters of one home; read anew each time, since other processes save some too."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._file = home.folder / "filters.json"

    def all(self) -> dict[str, SavedFilter]:
        """The saved filters by name, in the order of their names.

        Raises:
            SBError: the file cannot be read.
        """
        return dict(sorted(_entries(self._read(), SAVED).items()))

    def text(self, name: str) -> str:
        """The text of a saved filter; "" for the name "".

        Raises:
            NotFoundError: there is none of that name. UsageError: it cannot be read any more. SBError: as `all`.
        """
        if not name:
            return ""
        saved: SavedFilter = _found(self.all(), name)
        if saved.problem:
            raise UsageError(
                f"saved filter {_shown(name)}: {saved.problem}", "sb filters save --replace corrects it"
            )
        return saved.text

    def save(self, name: str, text: str, sort: str = "", *, replace: bool = False) -> SavedFilter:
        """Save a filter under a name, without the secrets in its words.

        Args:
            replace: put it in place of another filter of that name.

        Raises:
            UsageError: the filter or the name is wrong, the name is taken, or there are too many.
            SBError: it cannot be written.
        """
        from sb.operator.filters import Filter

        if not 0 < len(name) <= LONGEST_NAME or plain(name, one_line=True).strip() != name:
            raise UsageError(
                f"a filter's name has 1 to {LONGEST_NAME} characters on one line, and no space around them"
            )
        if redact_text(name) != name:
            raise UsageError("this name holds a secret", "choose another name")
        wanted = Filter.parse(text)
        if not wanted and not sort:
            raise UsageError(f"no filter to save as {_shown(name)}", "such as agent:clerk since:7d")
        saved = SavedFilter(redact_text(wanted.text), sort)
        with self._changed() as parts:
            known = parts[SAVED]
            if name not in known and len(known) >= MOST_SAVED:
                raise UsageError(f"there are {MOST_SAVED} saved filters", "delete one first")
            before = _entries(parts, SAVED).get(name, saved)
            if before != saved and not replace:
                raise UsageError(
                    f"{_shown(name)} is saved already, as {plain(before.text, one_line=True)}", REPLACE_HINT
                )
            known[name] = {"filter": saved.text, "sort": saved.sort}
        return saved

    def delete(self, name: str) -> None:
        """Delete a saved filter.

        Raises:
            NotFoundError: there is none of that name. SBError: it cannot be written.
        """
        with self._changed() as parts:
            _found(parts[SAVED], name)
            del parts[SAVED][name]

    def places(self) -> dict[str, SavedFilter]:
        """The last filter and order of each place; {} where the file cannot be read."""
        try:
            return _entries(self._read(), PLACES)
        except SBError:
            return {}

    def keep_place(self, place: str, last: SavedFilter) -> None:
        """Keep the last filter and order of a place; raises SBError."""
        with self._changed() as parts:
            parts[PLACES][place] = {"filter": redact_text(last.text), "sort": last.sort}

    def theme(self) -> str:
        """The console's theme when it was last changed; "" where it never was, or the file cannot be read."""
        try:
            return str(self._read().get(THEME, ""))
        except SBError:
            return ""

    def keep_theme(self, name: str) -> None:
        """Keep the console's theme; raises SBError."""
        with self._changed() as parts:
            parts[THEME] = name

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SBError(f"cannot read {self._file}: {error.strerror}") from None
        except (ValueError, RecursionError):
            found = None
        parts = [found.get(part, {}) for part in (SAVED, PLACES)] if isinstance(found, dict) else [None]
        if not all(isinstance(part, dict) for part in parts):
            raise SBError(
                f"{self._file} is damaged, so no saved filter can be read", "correct it, or move it away"
            )
        return dict(found)

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Any]]:
        """The file's parts, to be changed; nobody else writes them meanwhile, and what we do not know stays."""
        try:
            self._home.create()
            with locked_folder(self._home.folder):
                parts = self._read()
                for part in (SAVED, PLACES):
                    parts.setdefault(part, {})
                yield parts
                text = json.dumps(parts, ensure_ascii=False, indent=1)
                write_atomic(self._file, text.encode(errors="backslashreplace"), durable=False)
        except OSError as error:
            raise SBError(f"cannot write {self._file}: {error.strerror}") from None


def _entries(parts: Mapping[str, Any], part: str) -> dict[str, SavedFilter]:
    pairs = parts.get(part, {}).items()
    return {
        name: SavedFilter(*(str(about.get(key, "")) for key in ("filter", "sort")))
        for name, about in pairs
        if isinstance(about, dict)
    }


def _found(known: Mapping[str, Any], name: str) -> Any:
    if name not in known:
        raise NotFoundError(f"no saved filter {_shown(name)}{nearest(name, known)}", "sb filters list")
    return known[name]


def _shown(name: str) -> str:
    return repr(plain(name, one_line=True))
