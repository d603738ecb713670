"""What one agent may read: scopes, grants, consent, the handoffs of others and the trust floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import orjson

from sb.memory.access import READ
from sb.memory.consent import refusal, withheld
from sb.memory.trust.floor import below
from sb.memory.visibility import Condition, any_of
from sb.store.records.columns import Row

if TYPE_CHECKING:  # a process that writes has no need of handoffs
    from sb.memory.handoffs import Handoffs
    from sb.memory.session_writer import SessionWriter


class AgentVisibility:
    """The `Visibility` of an agent.

    Args:
        writer: knows agent, stack and space. handoffs: gives those of the agent.
    """

    def __init__(self, writer: SessionWriter, handoffs: Callable[[], Handoffs]) -> None:
        self._agent, self._stack, self._space = writer.agent, writer.stack, writer.space
        self._handoffs = handoffs

    def refusal(self, row: Row) -> str:
        """Why the agent may not read a record; "" if it may."""
        rights = self._space.rights
        if rights and not rights.may(self._agent, READ, self._space.places.numbered(row["place"]).scope):
            return "you may not read its scope"
        handoff = self._handoffs().refusal(row) if row["kind"] == "handoff" else ""
        return handoff or refusal(row, self._agent)

    def left_out(self, places: Sequence[int]) -> Condition:
        """The records in these places that no search of the agent finds."""
        parts = [self._handoffs().between_others(places)]
        if floor := self._space.settings.trust_floor:
            parts.append(below(self._space.trust, self._stack, floor))
        if hidden := withheld(self._space, places, self._agent):
            parts.append(("r.id IN (SELECT value FROM json_each(?))", (orjson.dumps(hidden).decode(),)))
        return any_of(*parts)
