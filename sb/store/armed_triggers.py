"""Armed triggers in a database, for those who only ask whether there are any; `sb.memory.triggers` matches them."""

from __future__ import annotations

from sb.base.secrets.redaction import one_line
from sb.store.database import Database


def any_armed(database: Database) -> bool:
    """True if a trigger may fire; costs one look-up."""
    return bool(database.query("SELECT 1 FROM triggers LIMIT 1"))


def unreadable(error: Exception) -> str:
    """The message for an agent whose reminders cannot be read; its call goes on."""
    return one_line(f"reminders cannot be read ({type(error).__name__}): ask the user to run sb doctor", 200)
