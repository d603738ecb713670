"""Lines for a call that say which triggers and lessons it fires."""

from __future__ import annotations

from collections.abc import Callable

from sb.memory.brain import Brain
from sb.memory.triggers.armed import fitting, unprepared
from sb.memory.triggers.precondition import Situation
from sb.store.database import Database


def reminders(
    database: Database, situation: Situation, open_brain: Callable[[], Brain], note: str = ""
) -> list[str]:
    """Fire what fits a call; returns a line for each trigger, and two for each lesson.

    Args:
        open_brain: called where anything fits. note: goes before triggers.
    """
    if unprepared(database):  # from a bundle
        open_brain().triggers.prepare()
    kinds = {item.kind for item in fitting(database, situation)}
    if not kinds:
        return []
    brain = open_brain()
    fired = brain.triggers.check(situation) if "trigger" in kinds else []
    shown_lines = [note] if fired and note else []
    shown_lines += [item.line for item in fired]
    if "lesson" in kinds:  # few homes have any
        from sb.memory.lessons.lessons import lines

        shown_lines += lines(brain.lessons.check(situation))
    return shown_lines
