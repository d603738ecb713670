"""Rows of fixed size by the numbers of records, in one array."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from threading import RLock
from typing import TYPE_CHECKING

from sb.base.values.numeric import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ColumnTable:
    """Rows by their column `id`. What is there never changes, so that threads may read while one adds.

    Args:
        columns: their names and types, as numpy has them.
    """

    def __init__(self, columns: Iterable[tuple[str, str] | tuple[str, str, int]]) -> None:
        self._rows = np.zeros(64, list(columns))
        self._at: dict[int, int] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, record: int) -> bool:
        return record in self._at

    def put(self, rows: NDArray[np.void]) -> None:
        """Adds rows, but for those that are here; none is there twice."""
        with self._lock:
            numbers: list[int] = rows["id"].tolist()
            new = [at for at, number in enumerate(numbers) if number not in self._at]
            size, need = len(self._at), len(self._at) + len(new)
            ndarray = self._rows
            if need > len(ndarray):
                room = max(need - len(ndarray), len(ndarray) // 2)
                ndarray = np.concatenate([ndarray, np.zeros(room, ndarray.dtype)])
            ndarray[size:need] = rows[new]
            self._rows = ndarray  # before anybody is told that they are there
            self._at |= zip((numbers[at] for at in new), range(size, need), strict=True)

    def rows(self, records: Iterable[int]) -> NDArray[np.void]:
        """The rows of these records, in their order.

        Raises:
            KeyError: one is not here.
        """
        at = list(map(self._at.__getitem__, records))
        return self._rows.take(np.array(at, np.intp))


def among(column: NDArray[np.int64], values: Collection[int]) -> NDArray[np.bool_]:
    """Marks where a column has one of a few values."""
    found = np.zeros(len(column), np.bool_)
    for value in values:
        found |= column == value
    return found
