"""Checkpoints as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sb.screens.state.document import Change, Document, Field
from sb.screens.state.listing import WIDE, Column, Row
from sb.screens.state.question import Question
from sb.screens.state.records import Records

from sb.entity import Checkpoint
from sb.entity.composition import Difference, Present, parts
from sb.errors import SBError
from sb.present.checkpoints import change_lines, checkpoint_line, state_word
from sb.present.times import minute
from sb.text import shorten

CHECKPOINT_COLUMNS = (
    Column("at", 16),
    Column("core", 12),
    Column("state", 10),
    Column("stacks", 20, least=WIDE),
    Column("message"),
)
MOST_CHANGES = 8  # in a question
_TONES = {"present": "ok", "edited": "warn", "unreadable": "error"}


@dataclass(frozen=True)
class Listed:
    """One checkpoint in the list.

    Args:
        found: what is in it, or why that cannot be read.
        is_present: whether its core is composed so now.
    """

    checkpoint_id: str
    checkpoint: Checkpoint | str
    is_present: bool

    @property
    def state_word(self) -> str:
        """One word, or ""."""
        return state_word(self.checkpoint, present=self.is_present)


def listed(present: Present) -> list[Listed]:
    """Every checkpoint, the newest first."""
    seen = set[str]()
    found = []
    for checkpoint_id, one in present.readable():
        core = checkpoint_id.rsplit("_", 4)[0]  # before date, time, microseconds and what is random
        found.append(Listed(checkpoint_id, one, core not in seen))
        seen.add(core)
    return found


def checkpoint_row(one: Listed) -> Row:
    """One line about a checkpoint."""
    line = checkpoint_line(one.checkpoint_id, one.checkpoint, present=one.is_present)
    return Row((line.at, line.core, line.state, line.stacks, line.message), _TONES.get(line.state, ""))


def checkpoint_document(present: Present, one: Listed) -> Document:
    """A checkpoint in full, and what restoring it changes."""
    if isinstance(one.checkpoint, str):
        return [Field(f"unreadable: {one.checkpoint_id}"), Field("why", one.checkpoint)]
    found = one.checkpoint
    fields: list[Field | Change] = [Field(f"{one.state_word or 'checkpoint'}: {one.checkpoint_id}")]
    fields += [Field("at", minute(found.created_at)), Field("message", found.message or "no message")]
    fields += [Field(name, text) for name, text in parts(found.binding).items()]
    if not found.intact:
        fields.append(Field("edited", "its file was edited: it cannot be restored"))
    return [*fields, *_changes(present, found)]


def _changes(present: Present, found: Checkpoint) -> Iterator[Field | Change]:
    try:
        changes = present.changes(found)
    except SBError as error:
        yield Field("the current core cannot be read")
        yield Field("why", error.message)
        return
    yield Field("restoring it changes" if changes else "the core is in this state now")
    yield from (Change(one.part, one.before, one.after) for one in changes)


def question(found: Checkpoint, changes: tuple[Difference, ...]) -> Question:
    """What to ask before a checkpoint is restored."""
    lines = [shorten(line, 300) for line in change_lines(changes[:MOST_CHANGES])]
    if len(changes) > MOST_CHANGES:
        lines.append(f"and {len(changes) - MOST_CHANGES:,} more")
    facts = (("Core", shorten(found.binding.core_id, 100)), ("From", found.checkpoint_id))
    way_back = "The current state becomes a checkpoint too; restore that one to go back."
    return Question("Restore", tuple(lines), facts, way_back, (found.checkpoint_id,))


def restore(records: Records, checkpoint_id: str, actor: str, reason: str) -> str:
    """Do it; returns what to say.

    Raises:
        NotFoundError, CheckFailed: it no longer exists, or not as it was written.
    """
    present = records.present("write")
    done = present.restore(records.log("write"), present.find(checkpoint_id), actor=actor, reason=reason)
    return f"restored {done.core_id}; to go back, restore {done.before_id}"
