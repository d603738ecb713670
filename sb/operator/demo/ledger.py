"""The demo shop's orders and refunds, in one SQLite file.

One SQLite file that several processes use at once. Entries are only ever added: a refund is taken back by a reversal
that names it, once. Amounts are cents.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sb.base.values.frozen import frozen
from sb.errors import NotFoundError, UsageError
from sb.store import driver

_SCHEMA = """
CREATE TABLE orders (number INTEGER PRIMARY KEY, customer TEXT, item TEXT, cents INTEGER, state TEXT) STRICT;
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, order_number INTEGER NOT NULL REFERENCES orders,
    cents INTEGER NOT NULL CHECK (cents > 0), reverses INTEGER UNIQUE REFERENCES entries
) STRICT;
"""
_REFUNDED = """SELECT coalesce(sum(iif(reverses IS NULL, cents, -cents)), 0) FROM entries
    WHERE ? IS NULL OR order_number = ?"""


@frozen
class Order:
    """One order, and how far it got."""

    number: int
    customer: str
    item: str
    cents: int
    state: str


class Ledger:
    """The shop's orders and entries; every method is one transaction.

    Args:
        path: the file, as `Ledger.create` made it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, orders: Sequence[Order]) -> Ledger:
        """Make a new file with these orders; raises FileExistsError."""
        path.touch(mode=0o600, exist_ok=False)
        ledger = cls(path)
        with ledger._transaction() as connection:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            for item in orders:
                row = (item.number, item.customer, item.item, item.cents, item.state)
                connection.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", row)
        return ledger

    def order(self, number: int) -> Order:
        """One order; raises NotFoundError."""
        with self._transaction() as connection:
            return _order(connection, number)

    def ship(self, number: int) -> None:
        """The warehouse sends an order off; raises NotFoundError."""
        with self._transaction() as connection:
            _order(connection, number)
            connection.execute("UPDATE orders SET state = 'shipped' WHERE number = ?", (number,))

    def refunded(self, number: int | None = None) -> int:
        """The money that was given back and not taken back since, for one order or for all."""
        with self._transaction() as connection:
            return _refunded(connection, number)

    def refund(self, number: int, cents: int, key: str) -> dict[str, Any]:
        """Give money back, or say again what the same key gave back before.

        Raises:
            NotFoundError: there is no such order.
            UsageError: that is no amount, more than is left of the order's price, or the key was used otherwise.
        """
        with self._transaction() as connection:
            known = _by_key(connection, key)
            if known is None:
                order = _order(connection, number)
                left = order.cents - _refunded(connection, number)
                if not 0 < cents <= left:
                    raise UsageError(f"{cents} cents cannot be refunded: {left} are left of order {number}")
                _add(connection, key, number, cents, None)
            elif (known["order"], known["cents"], "reversal_id" in known) != (number, cents, False):
                raise UsageError("this key was used for another entry")
            return known or _by_key(connection, key) or {}

    def reverse(self, refund_id: str, key: str) -> dict[str, Any]:
        """Take a refund back, or say again what the same key took back before.

        Raises:
            NotFoundError: there is no such refund.
            UsageError: it was taken back already, or the key was used otherwise.
        """
        with self._transaction() as connection:
            known = _by_key(connection, key)
            if known is None:
                entry, order, cents, reversed_by = _refund(connection, refund_id)
                if reversed_by is not None:
                    raise UsageError(f"{refund_id} was reversed already, by rev_{reversed_by}")
                _add(connection, key, order, cents, entry)
            elif "reversal_id" not in known or known["refund_id"] != refund_id:
                raise UsageError("this key was used for another entry")
            return known or _by_key(connection, key) or {}

    def reversible(self, refund_id: str) -> str:
        """The reason why a refund cannot be taken back now, or ""."""
        with self._transaction() as connection:
            try:
                reversed_by = _refund(connection, refund_id)[3]
            except NotFoundError as error:
                return error.message
        return "" if reversed_by is None else f"{refund_id} was reversed already, by rev_{reversed_by}"

    def find(self, key: str) -> dict[str, Any] | None:
        """The recorded result for an idempotency key, or None."""
        with self._transaction() as connection:
            return _by_key(connection, key)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[driver.Connection]:
        """Everything inside or nothing; a killed process leaves nothing, as SQLite rolls it back."""
        with contextlib.closing(driver.connect(self.path)) as connection:
            try:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except driver.Error as error:
                raise driver.explain(error, self.path) from error


def _order(connection: driver.Connection, number: int) -> Order:
    row = connection.execute("SELECT * FROM orders WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise NotFoundError(f"no order {number}")
    return Order(*row)


def _refunded(connection: driver.Connection, number: int | None) -> int:
    return int(connection.execute(_REFUNDED, (number, number)).fetchone()[0])


def _add(connection: driver.Connection, key: str, order: int, cents: int, reverses: int | None) -> None:
    columns = "key, order_number, cents, reverses"
    row = (key, order, cents, reverses)
    connection.execute(f"INSERT INTO entries ({columns}) VALUES (?, ?, ?, ?)", row)


def _refund(connection: driver.Connection, refund_id: str) -> tuple[int, int, int, int | None]:
    """A refund's entry, order and cents, and the entry that reverses it; raises NotFoundError."""
    row = connection.execute(
        "SELECT e.number, e.order_number, e.cents, r.number FROM entries AS e"
        " LEFT JOIN entries AS r ON r.reverses = e.number WHERE 'ref_' || e.number = ? AND e.reverses IS NULL",
        (refund_id,),
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no refund {refund_id}")
    return row[0], row[1], row[2], row[3]


def _by_key(connection: driver.Connection, key: str) -> dict[str, Any] | None:
    row = connection.execute(
        "SELECT number, order_number, cents, reverses FROM entries WHERE key = ?", (key,)
    ).fetchone()
    if row is None:
        return None
    number, order, cents, reverses = row
    ids = {"refund_id": f"ref_{number}" if reverses is None else f"ref_{reverses}"}
    return (
        ids
        | ({} if reverses is None else {"reversal_id": f"rev_{number}"})
        | {"order": order, "cents": cents}
    )
