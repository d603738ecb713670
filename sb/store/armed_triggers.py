"""Armed triggers and lessons in a database, for those who only ask whether there are any; `sb.memory.triggers` matches them."""

from __future__ import annotations

from sb.base.secrets.redaction import one_line
from sb.store.database import Database

_LEARNS = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM lesson_failures WHERE run_id = ? AND open = 1) OR EXISTS (SELECT 1"
    " FROM memory_sessions AS m JOIN trigger_showings AS s ON s.session = m.id AND s.heeded = 0"
    " JOIN triggers AS t ON t.record = s.record AND t.kind = 'lesson' WHERE m.name = ?)"
)


def any_armed(database: Database) -> bool:
    """True if a trigger may fire; costs one look-up."""
    return bool(database.query("SELECT 1 FROM triggers LIMIT 1"))


def learns_from(database: Database, run_id: str, session: str = "") -> bool:
    """True if the next calls of a run may teach something; costs one look-up.

    A call of it failed, and what works in its place is not known yet; or it was shown a lesson.

    Args:
        session: its name in memory, by default the run's.
    """
    return bool(database.query(_LEARNS, (run_id, session or run_id)))


def unreadable(error: Exception) -> str:
    """The message for an agent whose reminders cannot be read; its call goes on."""
    return one_line(f"reminders cannot be read ({type(error).__name__}): ask the user to run sb doctor", 200)
