"""Armed triggers in a database, for those who only ask whether there are any; `sb.memory.triggers` matches them."""

from __future__ import annotations

from sb.store.database import Database


def any_armed(database: Database) -> bool:
    """True if a trigger may fire; costs one look-up."""
    return bool(database.query("SELECT 1 FROM triggers LIMIT 1"))
