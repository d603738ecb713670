"""The handler of proposals of higher autonomy: what the record says of an agent, signing it, and freezing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sb.screens.handlers.handler import Act, Handler
from sb.screens.state.document import Document, Field
from sb.screens.state.question import Question

from sb.base.text import counted
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.autonomy.proposals import Proposal
from sb.log.event import Subject
from sb.present.autonomy import PROPOSAL
from sb.present.decisions import freezing, raising

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed


class LevelHandler(Handler[Proposal]):
    """Signs proposals, or freezes the level; a reference is the id of a proposal."""

    title = "Autonomy"
    several = True

    @property
    def labels(self) -> Mapping[str, str]:
        return {"approve": "sign", "deny": "freeze"}

    def load(self, reference: str) -> Proposal | None:
        return next((it for it in self.records.proposals("inbox").all() if it.id == reference), None)

    def document(self) -> Document:
        it = self.item
        if it is None:
            return []
        return [Field(f"{it.tool_id}: {it.to}"), *(Field(name, text) for name, text in _facts(it))]

    def possible(self, action: str) -> bool:
        return self.item is not None and action in ("approve", "deny")

    def command(self) -> str:
        return f"sb autonomy sign {self.reference}"

    def pointed_at(self) -> Pointed:
        return Subject(agent=self.item.agent, tool_id=self.item.tool_id) if self.item else None

    def approve(self, references: Sequence[str] = ()) -> None:
        self.chosen(references, partial(self._ask, "Sign", self._sign))

    def deny(self, references: Sequence[str] = ()) -> None:
        self.chosen(references, partial(self._ask, "Freeze", self._freeze))

    def _ask(self, verb: str, act: Act, found: Sequence[Proposal]) -> None:
        if not found:
            self.say(f"nothing to {verb.lower()} here: it is not proposed any more")
            return
        title = f"{verb} this level" if len(found) == 1 else f"{verb} {counted(len(found), 'level')}"
        objects = tuple(f"{it.tool_id} of {it.agent}: {it.before} to {it.to}" for it in found)
        facts = tuple(_facts(found[0])) if len(found) == 1 else ()
        follows = raising(found) if verb == "Sign" else freezing(found)
        asked = Question(title, objects, facts, follows, tuple(it.id for it in found))
        self.screen.ask(asked, list(found), self.noting(act, lambda it: str(it.id)))

    def _sign(self, it: Proposal, by: Decider, reason: str) -> str:
        self.records.proposals("write").sign(it.id, by, reason)
        return f"{it.tool_id} of {it.agent} is {it.to}, signed by {by.name}"

    def _freeze(self, it: Proposal, by: Decider, reason: str) -> str:
        self.records.proposals("write").levels.freeze(it.agent, it.tool_id, Label(by.name), reason)
        return f"{it.tool_id} of {it.agent} is frozen, says {by.name}"


def _facts(it: Proposal) -> list[tuple[str, str]]:
    """The facts of a proposal by their names."""
    return [(field.name.capitalize(), text) for field, text, _ in PROPOSAL.facts(it, 0, "document")]
