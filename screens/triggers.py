"""The triggers and lessons of Memory: list, snooze, confirm and retire them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.deciding import Deciding
from sb.screens.kind_view import KindView
from sb.screens.state.question import Question

from sb.errors import UsageError
from sb.kernel.authority.signing import Decider
from sb.log.event import Subject
from sb.memory.views import View
from sb.present.kind import Kind
from sb.present.reminders import LESSON, TRIGGER

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

SNOOZED_S = 7 * 86_400.0
_CONSEQUENCES = {
    "retire": "It is shown to no agent any more, for good.",
    "snooze": "It rests for a week, then it waits again.",
    "confirm": "Its credibility rises by one observation.",
}


class TriggersScreen(Deciding, KindView[Any]):
    """Every trigger, the newest first, and the one under the cursor in full."""

    name_ = "triggers"
    parts = ("triggers", LISTS, RECORDS, PANELS)
    heading = "Memory"
    kind: ClassVar[Kind[Any]] = TRIGGER
    noun = "Trigger"
    gone = "no trigger has this id"
    failure = "not changed"
    empty = "No triggers.\n\nsb memory trigger create WORDS ACTION saves one."
    BINDINGS = bindings("triggers")

    def read_items(self) -> Sequence[View]:
        return self.records.memory("rows").trigger_list()

    def reference(self, item: Any) -> str:
        return str(item.id)

    def summary(self) -> str:
        ignored = sum(item.proposed for item in self.known.values())
        return f"{ignored} ignored" if ignored else ""

    def pointed_at(self) -> Pointed:
        return Subject(agent=self.current.agent_id) if self.current else None

    def possible(self, action: Action) -> bool:
        if action.id in ("take_away", "snooze", "approve"):
            ended = ("retired",) if action.id == "take_away" else ("retired", "fired", "expired", "settled")
            return self.current is not None and self.current.status not in ended
        return super().possible(action)

    def _change(self, verb: str) -> None:
        item = self.current
        if item is not None:
            text = self.kind.text(item, self.now(), "text")
            week = (("Rests", "a week"),) if verb == "snooze" else ()
            facts = (*week, ("Agent", item.agent_id), ("Scope", item.scope))
            asked = Question(verb.capitalize(), (text,), facts, _CONSEQUENCES[verb], (item.id,))
            self.ask(asked, [item.id], partial(self._act, verb, text))

    def _act(self, verb: str, text: str, uid: str, by: Decider, reason: str) -> str:
        overseer = self.records.memory("write", by.name)
        done = f"{verb.rstrip('e')}ed"
        try:
            with self.records.memory_decision(done, uid, by, reason):
                if verb == "confirm":
                    overseer.confirm(uid, reason)
                elif verb == "snooze":
                    until = datetime.fromtimestamp(self.records.clock.now() + SNOOZED_S, UTC)
                    overseer.trigger_snooze(uid, until, reason)
                else:
                    getattr(overseer, f"{self.name_[:-1]}_retire")(uid, reason)
        except ValueError as error:
            raise UsageError(str(error)) from error
        return f"{done.capitalize()}: {text}"

    def action_approve(self) -> None:
        self._change("confirm")

    def action_snooze(self) -> None:
        self._change("snooze")

    def action_take_away(self) -> None:
        self._change("retire")


class LessonsScreen(TriggersScreen):
    """Every lesson, the newest first, and the one under the cursor in full."""

    name_ = "lessons"
    parts = ("lessons", LISTS, RECORDS, PANELS)
    kind = LESSON
    noun = "Lesson"
    gone = "no lesson has this id"
    empty = "No lessons.\n\nFailed calls make some; sb memory lesson add CALL TEXT saves one."
    BINDINGS = bindings("lessons")

    def read_items(self) -> Sequence[View]:
        return self.records.memory("rows").lesson_list()
