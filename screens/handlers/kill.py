"""The handler of stops: who threw the kill switch, and lifting it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.screens.handlers.handler import Handler
from sb.screens.state.document import Document, Field
from sb.screens.state.kills import lift_question

from sb.base.text import plain
from sb.kernel.authority.signing import Decider
from sb.kernel.incident_response.kill import Kill, KillScope
from sb.log.event import Subject

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed


class KillHandler(Handler[Kill]):
    """Lifts stops; a reference is the name of one."""

    title = "Stop"

    def load(self, reference: str) -> Kill | None:
        active = self.records.kill_switch("inbox").active()
        return next((kill for kill in active if kill.name == reference), None)

    def document(self) -> Document:
        kill = self.item
        if kill is None:
            return []
        lifted = ", ".join(kill.lifted_by)
        return [
            Field(kill.name),
            Field("Stopped", kill.sentence, tone="danger"),
            *([Field("Lifted by", f"{lifted}, of {kill.people} who must agree")] if lifted else []),
            Field("Next", f"L lifts it; or {kill.lift_command}"),
        ]

    def possible(self, action: str) -> bool:
        return action == "lift" and self.item is not None

    def command(self) -> str:
        return self.item.lift_command if self.item else ""

    def pointed_at(self) -> Pointed:
        kill = self.item
        return Subject(agent=kill.target) if kill and kill.scope is KillScope.AGENT else None

    def lift(self, references: Sequence[str] = ()) -> None:
        if self.item is not None:
            noted = self.noting(self._lift, lambda kill: kill.name)
            self.screen.ask(lift_question(self.item), [self.item], noted)

    def _lift(self, kill: Kill, by: Decider, reason: str) -> str:
        switch = self.records.kill_switch("write")
        waiting = switch.lift(kill.scope, kill.target, by, reason, number=kill.number)
        state = "waits for another operator" if waiting else "may go on"
        return f"{plain(kill.name, one_line=True)} {state}, says {by.name}"
