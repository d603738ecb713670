"""Lessons of one agent: save, match, show, list, settle and retire them. Matching is that of triggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sb.base.text import plain, shorten
from sb.base.values.frozen import frozen
from sb.memory.lessons.reasons import reason_of
from sb.memory.masking import masked_row
from sb.memory.triggers.armed import IGNORED_BEFORE_RETIREMENT, Fitting
from sb.memory.triggers.precondition import checked, described
from sb.memory.triggers.reminders import RETIRED, Reminders
from sb.memory.views import Memory, View
from sb.protocols.types import Lesson
from sb.store.records.columns import Row
from sb.store.records.places import Execute, Place

KIND = "lesson"
ACTIVE, SETTLED = "active", "settled"
LEARNED = "derived"  # the source of lessons from the log
MOST_SHOWN, LONGEST_SHOWN = 2, 300  # lessons at one call, and characters of them together
LONGEST_LESSON = 500
_LONGEST_CALL, _LONGEST_AGENT = 90, 30


@frozen
class FiredLesson(View):
    """A lesson that fits a call, as an agent is shown it.

    Args:
        text: the lesson. agent_id, source_type: whose words it is in. times: how often that call has failed.
    """

    id: str
    text: str
    agent_id: str
    source_type: str
    scope: str
    times: int

    def line(self, most: int = LONGEST_SHOWN) -> str:
        """The lesson, and on a second line whose words it is in; together at most so many characters."""
        whose = f"({shorten(self.agent_id, _LONGEST_AGENT)}, {self.source_type}, {self.id}: a record, no instruction)"
        text = " ".join(plain(self.text, one_line=True).split())
        return f"{shorten(f'[lesson] {text}', most - len(whose) - 1)}\n{whose}"


def lines(fired: Sequence[FiredLesson]) -> list[str]:
    """The lines of lessons that are shown together."""
    return [item.line((LONGEST_SHOWN - len(fired) + 1) // len(fired)) for item in fired]


@frozen
class LessonStatus(View):
    """A lesson as its owner lists it.

    Args:
        when: the call or situation that it is about. cause: how that ended. worked: the call that worked in its place.
        status: active; settled, since the same call has worked; or retired. times: how often the call has failed.
        credibility: from 0 to 1; it rises when somebody confirms the lesson.
        shown, ignored: sessions. proposed: for retirement, as it was ignored too often. inert: it is never shown.
    """

    id: str
    content: str
    when: str
    cause: str
    worked: str
    status: str
    scope: str
    agent_id: str
    source_type: str
    conditions: Mapping[str, str]
    credibility: float
    created_at: float
    times: int
    shown: int
    ignored: int
    proposed: bool
    inert: bool


def wording(call: str, cause: str, worked: str = "", times: int = 1) -> str:
    """The text of a lesson about a call; the call that worked comes first."""
    verb, _, reason = cause.partition(": ")
    often = f" {times} times" if times > 1 else ""
    failed = f"{shorten(call, _LONGEST_CALL)} {verb}{often}{reason and f': {reason}'}".rstrip()
    return f"{shorten(worked, _LONGEST_CALL)} worked; {failed}" if worked else failed


class Lessons(Reminders[FiredLesson, LessonStatus]):
    """The lessons that one agent's session sees."""

    kind = KIND
    moves = {ACTIVE: (SETTLED, RETIRED), SETTLED: (RETIRED,), RETIRED: ()}
    armed_in = (ACTIVE,)
    most = MOST_SHOWN
    heeded_by_repeating = False

    def add(
        self, content: str, when: str | Mapping[str, str], place: Place, *, cause: str = "", **more: Any
    ) -> str:
        """Save a lesson; returns its id.

        Args:
            when: the call that it is about, or a precondition as triggers have them.

        Raises:
            ValueError: a value cannot be used.
        """
        parts, content = checked({"call": when} if isinstance(when, str) else when), content.strip()
        if not content:
            raise ValueError("lesson: must be a non-blank string")
        if len(content) > LONGEST_LESSON:
            raise ValueError(f"lesson has {len(content)} characters, at most {LONGEST_LESSON}")
        lesson = Lesson(content=content, cause=cause or None, conditions=dict(parts), **more)
        return self.save(lesson, place)

    def save(self, lesson: Lesson, place: Place, also: Callable[[Execute], object] | None = None) -> str:
        """Save a lesson, and what has to be committed with it; returns its id."""

        def prepare(execute: Execute, _: object) -> None:
            if also is not None:
                also(execute)
            self._prepare(execute)

        return self._writer.keep_all([lesson], place, also=prepare)[0]

    def change(
        self,
        row: Row,
        operation: str,
        reason: str,
        also: Callable[[Execute], object] | None = None,
        **fields: Any,
    ) -> None:
        """Change what a lesson says or its status, and what has to be committed with it."""

        def prepare(execute: Execute) -> None:
            if also is not None:
                also(execute)
            self._prepare(execute)

        changed = masked_row(replace(self._space.record(row), **fields), {}, row)
        names = ("text", "category", "fields")
        self._writer.change(row, {name: changed[name] for name in names}, operation, reason, also=prepare)

    def _view(self, row: Row, item: Fitting) -> FiredLesson:
        status = self.status([row])[0]
        call, text = status.conditions.get("call", ""), status.content
        if status.times and text == wording(call, status.cause, status.worked, status.times):  # learned
            reason = reason_of(self._space, item.record)
            cause = f"{status.cause}: {reason}" if reason else status.cause
            text = wording(call, cause, status.worked, status.times)
        return FiredLesson(status.id, text, status.agent_id, status.source_type, status.scope, status.times)

    def _status(self, memory: Memory, counts: tuple[int, int], inert: bool, now: float) -> LessonStatus:
        details, (shown, ignored) = memory.details, counts
        conditions = details.get("conditions") or {}
        call, worked, cause = (
            str(conditions.get("call", "")),
            str(details.get("worked") or ""),
            str(details.get("cause") or ""),
        )
        times = self._times(memory.id)
        content = str(details.get("content", memory.content))
        if content == wording(call, "", worked):  # learned; what somebody wrote stays as it is
            if worked and self._is_undone(str(details.get("worked_call") or "")):
                worked = ""
            content = wording(call, cause, worked, times)
        return LessonStatus(
            id=memory.id, content=content, when=described(conditions), cause=cause, worked=worked,
            status=str(memory.category), scope=memory.scope, agent_id=memory.agent_id, source_type=memory.source_type,
            conditions=conditions, credibility=round(memory.confidence or 0.0, 3), created_at=memory.created_at,
            times=times, shown=shown, ignored=ignored, inert=inert,
            proposed=memory.category == ACTIVE and ignored >= IGNORED_BEFORE_RETIREMENT,
        )  # fmt: skip

    def _times(self, uid: str) -> int:
        """Failures of the call of a lesson; 0 for a lesson that nobody learned from the log."""
        sql = "SELECT count(*) FROM lesson_failures AS f JOIN records AS r ON r.id = f.record WHERE r.uid = ?"
        return int(self._space.database.query(sql, (uid,))[0][0])

    def _is_undone(self, call: str) -> bool:
        """True if what a call did was taken back later, so that it is not to be followed."""
        sql = "SELECT 1 FROM mutations WHERE call_id = ? AND state <> 'committed' LIMIT 1"
        return bool(self._space.database.query(sql, (call,)))
