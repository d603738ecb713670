"""The handler of agents: all about one, and the undo of what its newest session did."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sb.screens.deciding import Deciding
from sb.screens.handlers.handler import Handler
from sb.screens.handlers.kill import KillHandler
from sb.screens.handlers.recovery import RecoveryHandler
from sb.screens.state.agents import ABOUT, AgentPage, agent_page
from sb.screens.state.document import Document

from sb.log.event import Subject
from sb.present.agents import AgentLine

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed


UNDOES = ("undo", "undo_run")


class AgentHandler(Handler[AgentPage]):
    """Shows the pages of an agent; a reference is the key of its line.

    Args:
        lines: the agents on screen, by key.
    """

    title = "Agent"

    def __init__(
        self, screen: Deciding, changed: Callable[[], None], lines: Callable[[], Mapping[int, AgentLine]]
    ) -> None:
        super().__init__(screen, changed)
        self._lines = lines
        self._recovery = RecoveryHandler(screen, changed, read="recovery of an agent")
        self._stop = KillHandler(screen, changed, read="stop of an agent")
        self.view = ABOUT

    @property
    def line(self) -> AgentLine | None:
        """The agent under the cursor."""
        return self._lines().get(int(self.reference)) if self.reference else None

    def load(self, reference: str) -> AgentPage | None:
        line = self._lines().get(int(reference))
        return agent_page(self.records, line) if line else None

    def document(self) -> Document:
        return self.item.views[self.view] if self.item else []

    def possible(self, action: str) -> bool:
        if self.item is None:
            return False
        return bool(self.item.stops) if action == "lift" else action in UNDOES and self.item.undoable

    @property
    def labels(self) -> Mapping[str, str]:
        return {"undo": "undo session"}

    def command(self) -> str:
        return f"sb log search agent:{shlex.quote(self.line.agent)}" if self.line else ""

    def pointed_at(self) -> Pointed:
        return Subject(self.line.run_id, agent=self.line.agent) if self.line else None

    def lift(self, references: Sequence[str] = ()) -> None:
        if self.item is not None and self.item.stops:
            self._stop.item = self.item.stops[0]
            self._stop.lift()
        else:
            self.say("nothing to lift here: this agent is not stopped")

    def undo(self, references: Sequence[str] = ()) -> None:
        if self.line is not None:
            self._recovery.undo_all_of(self.line.run_id, self.line.agent)

    def undo_run(self, references: Sequence[str] = ()) -> None:
        self.undo()
