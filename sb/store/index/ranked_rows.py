"""Rows of the facts that ranking reads of records, as columns of one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.values.numeric import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stored = tuple[int, bytes]
"""A text as it is kept: whose record it is, and its words as `sb.memory.ranking.encoding` has them."""

NO_TERMS = bytes(4)
NO_TEXT: Stored = (0, NO_TERMS)
_COLUMNS = (
    ("id", "i8"), ("session", "i8"), ("speaker", "i8"), ("previous_speaker", "i8"),
    ("happened_at", "f8"), ("information", "f8"), ("texts", "i8", 3),
)  # fmt: skip


class RankedRows(NamedTuple):
    """The rows of some records.

    Args:
        columns: 0 for None, but not a number for no time. `speaker` is a place in `names`, 0 for what nobody said;
            `texts` are places in `texts`: of the record's own, and of the two before it that it quotes. `information` says
            how specific its text is, 0 until housekeeping has seen it.
        texts, names: those of all rows, each once.
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


def ranked_rows(rows: Sequence[tuple[Any, ...]]) -> RankedRows:
    """The rows of these records, in their order.

    Args:
        rows: of each number, session (0 for none), time, information, speaker and who spoke before; then number and words
            of its own text and of the two before it, number 0 for none.
    """
    columns = np.zeros(len(rows), list(_COLUMNS))
    if not rows:
        return RankedRows(columns, [NO_TEXT], [None])
    ids, sessions, times, informations, speakers, spoken_before, own, terms, *quoted = zip(*rows, strict=True)
    texts = {0: NO_TERMS} | dict(zip(own, terms, strict=True))
    for numbers, words in (quoted[:2], quoted[2:]):
        texts |= zip(numbers, words, strict=True)
    texts[0] = NO_TERMS
    names = dict.fromkeys((None, *speakers, *spoken_before))
    text_at, name_at = ({key: at for at, key in enumerate(keys)} for keys in (texts, names))
    columns["id"], columns["session"], columns["information"] = ids, sessions, informations
    columns["happened_at"] = np.array(times, np.float64)  # None is not a number
    for name, values in (("speaker", speakers), ("previous_speaker", spoken_before)):
        columns[name] = [name_at[value] for value in values]
    for at, numbers in enumerate((own, quoted[0], quoted[2])):
        columns["texts"][:, at] = [text_at[number] for number in numbers]
    return RankedRows(columns, list(texts.items()), list(names))
