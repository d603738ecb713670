"""Checkpoints as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Iterator

from sb.screens.state.document import Change, Document, Field
from sb.screens.state.question import Question
from sb.screens.state.records import Records

from sb.base.sources import micros
from sb.base.text import counted, shorten
from sb.entity import Checkpoint
from sb.entity.composition import Difference, Present, parts
from sb.errors import SBError
from sb.present.checkpoints import ShownCheckpoint, change_lines, composition_text
from sb.present.states import state
from sb.present.times import date_and_time

LONGEST_HEADING = 400
MOST_CHANGES = 8  # in a question


def listed(present: Present) -> list[ShownCheckpoint]:
    """Every checkpoint, the newest first."""
    seen = set[str]()
    found = []
    for checkpoint_id, item in present.readable():
        core = checkpoint_id.rsplit("_", 4)[0]  # before date, time, microseconds and what is random
        found.append(ShownCheckpoint(checkpoint_id, item, core not in seen))
        seen.add(core)
    return found


def checkpoint_document(present: Present, entry: ShownCheckpoint) -> Document:
    """The document of a checkpoint: the changes of restoring it, then its content."""
    if isinstance(entry.found, str):
        return [
            Field("This checkpoint cannot be read"),
            Field("Why", entry.found),
            Field("Id", entry.checkpoint_id),
        ]
    found = entry.found
    word = entry.state_word
    title = found.message or f"{found.binding.core_id}: {composition_text(found)}"
    fields: list[Field | Change] = [Field(shorten(title, LONGEST_HEADING))]
    if word:
        tone = state(word).tone
        why = ", so it cannot be restored" if not found.intact else ""
        fields.append(Field("State", f"{word}{why}", tone=tone))
    fields += [
        *_changes(present, found),
        Field("What it holds"),
        Field("Saved", _saved(found)),
    ]
    fields += [Field(name, text) for name, text in parts(found.binding).items()]
    if len(title) > LONGEST_HEADING:
        fields.append(Field("Message", title))
    return [*fields, Field("Id", entry.checkpoint_id, folded=True)]


def _saved(found: Checkpoint) -> str:
    return date_and_time(micros(found.created_at.timestamp())) if found.created_at else "unknown"


def _changes(present: Present, found: Checkpoint) -> Iterator[Field | Change]:
    try:
        changes = present.changes(found)
    except SBError as error:
        yield Field("The current core cannot be read")
        yield Field("Why", error.message)
        return
    if not changes:
        yield Field("Going back", "changes nothing: the core is in this state now")
        return
    yield Field(f"Going back changes {counted(len(changes), 'part')}")
    yield from (Change(difference.part, difference.before, difference.after) for difference in changes)


def question(found: Checkpoint, changes: tuple[Difference, ...]) -> Question:
    """The question before a checkpoint is restored."""
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
    return (
        f"restored {done.core_id} as it was; u on the newest checkpoint but one goes back to {done.before_id}"
    )
