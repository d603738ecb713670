"""The trigger and lesson operations of a Brain.

Source: the memory whitepaper, "prospective memory"; docs/reference/memory-triggers.md and
docs/reference/memory-lessons.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from sb.base.text import storable
from sb.memory.access import READ
from sb.memory.lazy import lazy
from sb.memory.operations import Operations
from sb.protocols.types.brain import Fields
from sb.store.armed_triggers import any_armed

if TYPE_CHECKING:  # most homes have neither
    from sb.memory.lessons.lessons import FiredLesson, Lessons, LessonStatus
    from sb.memory.triggers.triggers import FiredTrigger, Triggers, TriggerStatus
    from sb.memory.views import Hit


class Prospective(Operations):
    """Prospective memory: what to remember when something comes up, and lessons at the calls that they are about."""

    @lazy
    def triggers(self) -> Triggers:
        """The triggers that this agent sees."""
        from sb.memory.triggers.triggers import Triggers

        return Triggers(self.writer)

    @lazy
    def lessons(self) -> Lessons:
        """The lessons that this agent sees."""
        from sb.memory.lessons.lessons import Lessons

        return Lessons(self.writer)

    def fired_by(self, query: str, scope: str | None) -> list[Hit]:
        """The triggers that a search fires; none for operators, whose searches reach no agent."""
        if self.writer.record_writer.is_operator or not any_armed(self.space.database):
            return []
        return self.triggers.hits(query, scope)

    def trigger_create(
        self,
        precondition: str | Mapping[str, str],
        action: str,
        scope: str | None = None,
        *,
        project: str | None = None,
        private: bool = False,
        expires_at: datetime | None = None,
        every_session: bool = False,
        **more: Unpack[Fields],
    ) -> str:
        """Save a reminder for when a precondition comes up; returns its id.

        Args:
            precondition: words, or a mapping with any of `words`, `entity`, `task`, `path` (a glob), `tool` and `error`, of
                which all have to hold.
            action: what to think of then, at most 500 characters. It is shown as data, never as an instruction.
            expires_at: when it no longer fires. every_session: fire once in each session instead of once.

        Raises:
            ValueError: a value cannot be used: the precondition fits everything, the time is past.
        """
        place = self._place(project, scope, private)
        return self.triggers.create(
            precondition, action, place, expires_at=expires_at, every_session=every_session, **more
        )

    def trigger_check(
        self,
        text: str = "",
        *,
        task: str = "",
        paths: Sequence[str] = (),
        tool: str = "",
        error: str = "",
    ) -> list[FiredTrigger]:
        """Fire the triggers that fit a situation; returns them, the best first, at most three.

        Args:
            text: what comes up, in words. task: what the session is about. paths: files. tool, error: of a call.
        """
        from sb.memory.triggers.precondition import Situation

        self.writer.check_right(READ)
        situation = Situation(
            storable(text), storable(task), tuple(paths), tool, storable(error), is_call=bool(tool)
        )
        return self.triggers.check(situation, meaning=True)

    def trigger_list(self, status: str = "") -> list[TriggerStatus]:
        """List the triggers that this agent sees, the newest first.

        Args:
            status: only those that are pending, fired, retired, expired or snoozed.

        Raises:
            UsageError: there is no such status.
        """
        self.writer.check_right(READ)
        return self.triggers.listed(status)

    def trigger_show(self, trigger: str) -> TriggerStatus:
        """One trigger. Raises NotFoundError if this agent sees none of that id."""
        return self.triggers.status([self._visible_row(trigger)])[0]

    def trigger_snooze(self, trigger: str, until: datetime, reason: str = "") -> None:
        """Let a trigger rest until a time.

        Raises:
            NotFoundError: there is none. ValueError: it is over, or the time is past. DeniedError: this agent may not.
        """
        self.triggers.snooze(self._changeable_row(trigger), until, reason)

    def trigger_retire(self, trigger: str, reason: str = "") -> None:
        """End a trigger for good.

        Raises:
            NotFoundError: there is none. ValueError: it has retired. DeniedError: this agent may not.
        """
        self.triggers.retire(self._changeable_row(trigger), reason)

    def lesson_add(
        self,
        content: str,
        when: str | Mapping[str, str],
        scope: str | None = None,
        *,
        cause: str = "",
        project: str | None = None,
        private: bool = False,
        **more: Unpack[Fields],
    ) -> str:
        """Save a lesson that is shown at the call that it is about; returns its id.

        Args:
            content: the lesson, at most 500 characters. It is shown as data, never as an instruction.
            when: the call, such as "npm run biuld", or a mapping as `trigger_create` takes, with `call` for the call.
            cause: how that call ended.

        Raises:
            ValueError: a value cannot be used: the condition fits everything, the lesson is empty.
        """
        place = self._place(project, scope, private)
        return self.lessons.add(content, when, place, cause=cause, **more)

    def lesson_check(
        self, call: str = "", *, paths: Sequence[str] = (), tool: str = "", error: str = ""
    ) -> list[FiredLesson]:
        """The lessons for a call, at most two, each once in a session.

        Args:
            call: the command, or the tool and its target. paths: files. tool, error: of the call.
        """
        from sb.memory.triggers.precondition import Situation
        from sb.memory.triggers.situations import call_line

        self.writer.check_right(READ)
        call = storable(call)
        line = call_line({"command": call}, "") if call else ""
        return self.lessons.check(
            Situation(call, "", tuple(paths), tool, storable(error), line, is_call=True)
        )

    def lesson_lines(self, call: str, **about: Any) -> list[str]:
        """The lines of what `lesson_check` gives, together at most 300 characters."""
        from sb.memory.lessons.lessons import lines

        return lines(self.lesson_check(call, **about)) if any_armed(self.space.database) else []

    def lesson_list(self, status: str = "") -> list[LessonStatus]:
        """List the lessons that this agent sees, the newest first.

        Args:
            status: only those that are active, settled or retired.

        Raises:
            UsageError: there is no such status.
        """
        self.writer.check_right(READ)
        return self.lessons.listed(status)

    def lesson_show(self, lesson: str) -> LessonStatus:
        """One lesson. Raises NotFoundError if this agent sees none of that id."""
        return self.lessons.status([self._visible_row(lesson)])[0]

    def lesson_retire(self, lesson: str, reason: str = "") -> None:
        """End a lesson for good.

        Raises:
            NotFoundError: there is none. ValueError: it has retired. DeniedError: this agent may not.
        """
        self.lessons.retire(self._changeable_row(lesson), reason)
