"""Triggers and lessons: the cells of their lines, and all of one by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sb.base.sources import micros
from sb.base.text import counted
from sb.present.kind import ROOMY, Column, Field, Kind
from sb.present.states import SOFT, WARN, State, state
from sb.present.times import ago, date_and_time

if TYPE_CHECKING:
    from sb.memory.lessons.lessons import LessonStatus
    from sb.memory.triggers.triggers import TriggerStatus


def _state(it: TriggerStatus | LessonStatus, now: int) -> State:
    return State("inert", WARN) if it.inert else state(it.status)


def _seconds(name: str) -> Callable[[Any, int], str]:
    """Reads a time that a record may have."""
    return lambda it, now: date_and_time(micros(at)) if (at := getattr(it, name)) else ""


def _fields(text: Field[Any], *more: Field[Any]) -> tuple[Field[Any], ...]:
    return (
        Field("state", _state, Column(8), "State"),
        text,
        Field("advice", lambda it, now: "ignored" if it.proposed else "", Column(7, 50, WARN)),
        Field("agent", lambda it, now: it.agent_id, Column(12, ROOMY, SOFT)),
        Field("age", lambda it, now: ago(micros(it.created_at), now), Column(8, 60, SOFT, right=True)),
        Field("when", lambda it, now: it.when, label="When"),
        Field(
            "shown",
            lambda it, now: f"in {counted(it.shown, 'session')}, ignored in {it.ignored}",
            label="Shown",
        ),
        Field(
            "next",
            lambda it, now: "x retires it: it was ignored too often" if it.proposed else "",
            label="Next",
        ),
        Field("author", lambda it, now: f"{it.agent_id}, {it.source_type}", label="Words of"),
        Field("scope", lambda it, now: it.scope, label="Scope"),
        Field("id", lambda it, now: it.id, folded=True),
        *more,
    )


TRIGGER = Kind["TriggerStatus"](
    *_fields(
        Field("text", lambda it, now: f"when {it.when}: {it.action}"),
        Field("action", lambda it, now: it.action, label="Then"),
        Field("every", lambda it, now: "every session" if it.every_session else "once", label="Fires"),
        Field("ended", _seconds("ended_at"), label="Ended"),
        Field("why", lambda it, now: it.why, label="Reason"),
        Field("expires", _seconds("expires_at"), label="Expires"),
        Field(
            "snoozed",
            lambda it, now: _seconds("snoozed_until")(it, now) if it.status == "snoozed" else "",
            label="Rests until",
        ),
    ),
    faces={
        "list": "state,text,advice,agent,age",
        "plain": "id,state,text,advice,agent,age",
        "document": "when,action,state,ended,why,next,shown,every,expires,snoozed,author,scope,id",
    },
)
LESSON = Kind["LessonStatus"](
    *_fields(
        Field("text", lambda it, now: f"{it.content} · {it.when}" if it.when else it.content),
        Field("content", lambda it, now: it.content, label="Lesson"),
        Field("failed", lambda it, now: counted(it.times, "time") if it.times else "", label="Failed"),
        Field("sure", lambda it, now: f"{it.credibility:.2f}", label="Credibility"),
    ),
    faces={
        "list": "state,text,advice,agent,age",
        "plain": "id,state,text,advice,agent,age",
        "document": "content,when,state,next,failed,shown,sure,author,scope,id",
    },
)
