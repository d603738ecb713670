"""Rows of what ranking reads of records, kept as columns so that those of many candidates become arrays at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.numeric import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stored = tuple[int, bytes]
"""A text as it is kept: whose record it is, and its words as `sb.memory.ranking.encoding` has them."""

NO_TERMS = bytes(4)
NO_TEXT: Stored = (0, NO_TERMS)
_COLUMNS = (
    ("id", "i8"), ("place", "i8"), ("session", "i8"), ("previous", "i8"), ("speaker", "i8"), ("previous_speaker", "i8"),
    ("happened_at", "f8"), ("information", "f8"), ("texts", "i8", 3),
)  # fmt: skip


class RankedRow(NamedTuple):
    """What ranking has to know of a record.

    Args:
        texts: those of the record and of the two before it that it quotes, `NO_TEXT` for none.
        speaker: who said it, None if it is not a thing said. previous_speaker: who said the text before it.
        session: in which it was made, None if in none. happened_at: seconds since 1970.
        information: how specific its text is; 0 until housekeeping has seen it.
        place: where searches find it; None if none does. previous: what came before it in its session, in whatever state.
    """

    id: int
    texts: tuple[Stored, Stored, Stored]
    speaker: str | None = None
    previous_speaker: str | None = None
    session: int | None = None
    happened_at: float | None = None
    information: float = 0.0
    place: int | None = None
    previous: int | None = None


class RankedRows(NamedTuple):
    """The rows of some records.

    Args:
        columns: by the names of `RankedRow`, 0 for None, but not a number for no time. A speaker is a place in `names`,
            a text one in `texts`.
        texts, names: of all records that were met; they grow at their ends alone.
    """

    columns: NDArray[np.void]
    texts: Sequence[Stored]
    names: Sequence[str | None]

    @property
    def ids(self) -> NDArray[np.int64]:
        """The numbers of the records."""
        return self.columns["id"]

    def is_said_by(self, speakers: Iterable[str], column: str = "speaker") -> NDArray[np.bool_]:
        """Marks the rows with one of these speakers."""
        wanted = frozenset(speakers)
        return np.array([name in wanted for name in self.names], np.bool_).take(self.columns[column])


class RankedTable:
    """The rows of the records that were met. What is there never changes, so that threads may read while one adds."""

    def __init__(self) -> None:
        self._texts: list[Stored] = [NO_TEXT]
        self._names: list[str | None] = [None]
        self._text_at: dict[int, int] = {0: 0}  # by record
        self._name_at: dict[str | None, int] = {None: 0}
        self._columns = np.zeros(256, _row())
        self._at: dict[int, int] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, record: int) -> bool:
        return record in self._at

    def add(self, rows: Sequence[RankedRow]) -> None:
        """Adds the rows of records that are not here."""
        with self._lock:
            new = [self._numbers(row) for row in rows if row.id not in self._at]
            size, need = len(self._at), len(self._at) + len(new)
            columns = self._columns
            if need > len(columns):
                columns = np.concatenate([columns, np.zeros(max(need, len(columns)), columns.dtype)])
            columns[size:need] = np.array(new, columns.dtype)
            self._columns = columns  # before anybody is told that they are there
            self._at |= zip((row[0] for row in new), range(size, need), strict=True)

    def of(self, records: Iterable[int]) -> RankedRows:
        """The rows of these records, in their order.

        Raises:
            KeyError: one is not here.
        """
        at = list(map(self._at.__getitem__, records))
        return RankedRows(self._columns.take(np.array(at, np.intp)), self._texts, self._names)

    def _numbers(self, row: RankedRow) -> tuple[Any, ...]:
        for text in row.texts:
            if text[0] not in self._text_at:
                self._texts.append(text)
                self._text_at[text[0]] = len(self._texts) - 1
        for name in (row.speaker, row.previous_speaker):
            if name not in self._name_at:
                self._names.append(name)
                self._name_at[name] = len(self._names) - 1
        happened_at = np.nan if row.happened_at is None else row.happened_at
        return (
            row.id, row.place or 0, row.session or 0, row.previous or 0, self._name_at[row.speaker],
            self._name_at[row.previous_speaker], happened_at, row.information,
            [self._text_at[text[0]] for text in row.texts],
        )  # fmt: skip


@cache
def _row() -> np.dtype[np.void]:
    return np.dtype(list(_COLUMNS))
