"""Rows of what ranking reads of records, kept as columns so that those of many candidates become arrays at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.values.numeric import np
from sb.store.index.column_table import ColumnTable

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
    """The facts that ranking needs of a record.

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


class RankedTable(ColumnTable):
    """The rows of the records that were met."""

    def __init__(self) -> None:
        super().__init__(_COLUMNS)
        self._texts: list[Stored] = [NO_TEXT]
        self._names: list[str | None] = [None]
        self._text_at: dict[int, int] = {0: 0}  # by record
        self._name_at: dict[str | None, int] = {None: 0}

    def add(self, rows: Sequence[RankedRow]) -> None:
        """Adds the rows of records, but for those that are here."""
        with self._lock:
            self.put(np.array(list(map(self._numbers, rows)), self._rows.dtype))

    def of(self, records: Iterable[int]) -> RankedRows:
        """The rows of these records, in their order.

        Raises:
            KeyError: one is not here.
        """
        return RankedRows(self.rows(records), self._texts, self._names)

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
