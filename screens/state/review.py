"""The review queue of memory as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sb.screens.state.document import Change, Document, Field, fields_of
from sb.screens.state.memory import HISTORY, ORIGIN, TEXT
from sb.screens.state.question import MOST_OBJECTS, Question, some

from sb.base.sources import iso
from sb.base.text import counted, shorten
from sb.base.values.frozen import frozen
from sb.errors import NotFoundError, UsageError
from sb.stack.review_queue import ReviewItem, ReviewKind

if TYPE_CHECKING:
    from sb.screens.state.records import Records

    from sb.kernel.authority.signing import Decider
    from sb.memory.beliefs.conflicts import Conflict, Side
    from sb.memory.quarantine.review import Held
    from sb.stack.all_conflicts import AllConflicts

BOTH = "both"
_NAMES = {"local": "This copy", "remote": "The other"}
_WHICH = {"local": "this copy", "remote": "the other copy"}
_CONSEQUENCES = {
    "local": "The memory stays as it is here; the other copy takes this version when it syncs.",
    "remote": "The memory becomes what the other copy says, here and wherever it syncs.",
    "": "The others are superseded, with what rests on them alone; `sb memory conflicts revert` takes that back.",
}
_BOTH = {
    True: "The memory stays as it is here, and the other version becomes a memory of its own.",
    False: "All stay as they are, and nothing marks them any more.",
}
_DECIDES = {
    "release": "Agents find it from now on; what was derived from it stays quarantined.",
    "retire": "It is shown to no agent any more, for good.",
    "keep": "It stays; three more sessions have to ignore it before it is proposed again.",
    "dismiss": "What it would replace stands; its text stays in quarantine, where no agent finds it.",
    "purge": "It stays as evidence that no agent finds, without its relations, and cannot be released.",
}
_NEXT = {
    True: "a accepts it: it takes the place of what it replaces; d dismisses it, and that stands.",
    False: "a releases it as safe, d purges it as malicious.",
}


@frozen
class Reviewed:
    """A waiting item, with the facts for its decision.

    Args:
        document: of a conflict without its sides, which `versions` puts before it.
    """

    item: ReviewItem
    document: Document
    conflict: Conflict | None = None


def reviewed(records: Records, item: ReviewItem) -> Reviewed:
    """Read an item in full; one that is gone says so."""
    try:
        return _read(records, item)
    except NotFoundError as error:
        return Reviewed(item, [Field(error.message)])


def _read(records: Records, item: ReviewItem) -> Reviewed:
    from sb.screens.state.memory_record import memory_record  # with what makes vectors

    views = memory_record(records.memory("detail"), item.record["id"]).views
    (title, *about), origin = views[TEXT], views[ORIGIN][1:]
    match item.kind:
        case ReviewKind.CONFLICT:
            return Reviewed(
                item,
                [*about, Field("History"), *views[HISTORY][1:]],
                _conflicts(records, "detail").get(item.reference),
            )
        case ReviewKind.QUARANTINE:
            return Reviewed(item, _quarantined(records.quarantine("detail").show(item.reference)))
        case ReviewKind.IGNORED:
            asks = Field(
                "", "Three sessions were shown it, and none heeded it: a retires it, d keeps it.", tone="soft"
            )
            return Reviewed(item, [title, asks, *about])
        case ReviewKind.TRIGGER:
            waits = Field("", "It fires by itself; nothing has to be decided.", tone="soft")
            return Reviewed(item, [title, waits, *about])
    return Reviewed(item, [title, *about, *origin])


def _quarantined(memory: Held) -> Document:
    """The document of a quarantined memory: its text, the reason, and what follows from either decision."""
    return [
        Field(memory.content),
        Field("State", "quarantined: no agent finds it", tone="danger"),
        Field("Reason", memory.reason),
        *([Field("Replaces", "\n".join(memory.replaces.values()))] if memory.replaces else []),
        Field("Agent", memory.agent_id),
        Field("Source", memory.source_type),
        *([Field("Derived from", "\n".join(memory.sources))] if memory.sources else []),
        *([Field("Derived memories", "\n".join(memory.derived))] if memory.derived else []),
        *fields_of({name: value for name, value in memory.details.items() if value}),
        Field("Next", _NEXT[bool(memory.replaces)]),
        Field("Scope", memory.scope),
        Field("Id", memory.id, folded=True),
    ]


def verb_of(item: ReviewItem, verb: str) -> str:
    """The verb for a quarantined memory: a pending correction is dismissed where others are purged."""
    return "dismiss" if verb == "purge" and item.held else verb


def quarantine_question(items: Sequence[ReviewItem], verb: str) -> Question:
    """The question before quarantined memories are released, purged or dismissed."""
    verbs = dict.fromkeys(verb_of(item, verb) for item in items)
    texts = [shorten(str(item.record["text"]), 300) for item in items[:MOST_OBJECTS]]
    uids = tuple(item.reference for item in items)
    title = f"{' or '.join(verbs).capitalize()} {counted(len(items), 'memory')}"
    return Question(title, some(texts, len(items)), (), " ".join(map(_DECIDES.__getitem__, verbs)), uids)


def decide_quarantine(records: Records, verb: str, item: ReviewItem, by: Decider, reason: str) -> str:
    """Release a memory as it was looked at, or purge or dismiss it; returns what to say.

    Raises:
        NotFoundError: it was decided meanwhile. DeniedError: the operator wrote it, or may not decide.
    """
    quarantine = records.quarantine("write")
    memory = replace(quarantine.show(item.reference), version=item.record["version"])
    ways = {"release": quarantine.release, "purge": quarantine.purge, "dismiss": quarantine.dismiss}
    return f"{item.reference} {ways[verb_of(item, verb)]([memory], by=by, reason=reason).verdict}"


def ignored_question(items: Sequence[ReviewItem], verb: str) -> Question:
    """The question before ignored triggers and lessons are retired or kept."""
    texts = [shorten(str(item.record["text"]), 300) for item in items[:MOST_OBJECTS]]
    title = f"{verb.capitalize()} {counted(len(items), 'reminder')}"
    uids = tuple(item.reference for item in items)
    return Question(title, some(texts, len(items)), (), _DECIDES[verb], uids)


def settle_ignored(records: Records, verb: str, item: ReviewItem, by: Decider, reason: str) -> str:
    """Retire an ignored trigger or lesson, or keep it; returns what to say."""
    memory = records.memory("write", by.name)
    reminders = memory.lessons if item.record["kind"] == "lesson" else memory.triggers
    word = "retired" if verb == "retire" else "kept"
    try:
        with records.memory_decision(word, item.reference, by, reason):
            reminders.retire(item.record, reason) if verb == "retire" else reminders.keep(item.record)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return f"{word.capitalize()}: {shorten(str(item.record['text']), 100)}"


def _conflicts(records: Records, use: str, name: str = "") -> AllConflicts:
    from sb.stack.all_conflicts import AllConflicts  # with what reads other copies

    return AllConflicts(records.memory(use, name), partial(records.stack, use))


def versions(found: Reviewed, chosen: int) -> Document:
    """The record; of a conflict its sides first, the chosen one marked."""
    conflict = found.conflict
    if conflict is None:
        return found.document
    sides = conflict.sides
    fields: list[Field | Change] = []
    for at, side in enumerate(sides):
        mark, tone = ("▸", "strong") if at == chosen % len(sides) else (" ", "")
        fields.append(
            Field(f"{mark} {_NAMES.get(side.id, side.agent or 'nobody named')}", side.content, tone=tone)
        )
        fields += [Field("", _evidence(side), tone="soft")] if side.trust is not None else []
    fields.append(Field("Differs in", conflict.about))
    if len(sides) == 2 and sides[0].content != sides[1].content:
        label = "- this copy, + the other" if found.item.is_of_copies else "- the first, + the second"
        fields.append(Change(label, sides[0].content, sides[1].content))
    origin = "Other database" if found.item.is_of_copies else "Opened by"
    return [*fields, Field("Memory"), *found.document, Field(origin, conflict.opened_by, folded=True)]


def _evidence(side: Side) -> str:
    """The speaker of a side and its evidence, on one line."""
    made = f", made from {', '.join(side.sources)}" if side.sources else ""
    sure = "" if side.confidence is None else f", confidence {side.confidence:.2f} of {side.evidence or 0:g}"
    return f"{side.source}, {iso(side.at)[:16]}Z, trust {side.trust or 0:.2f}{sure}{made}"


def conflict_question(found: Reviewed, chosen: int | None) -> Question:
    """The question before a conflict is resolved; None keeps all sides."""
    conflict = found.conflict
    assert conflict is not None
    texts = [shorten(side.content, 300) for side in conflict.sides]
    if chosen is None:
        consequence = _BOTH[found.item.is_of_copies]
        return Question("Keep both", tuple(texts[:MOST_OBJECTS]), (), consequence, (conflict.id,))
    at = chosen % len(texts)
    facts = tuple(("Drops", text) for number, text in enumerate(texts) if number != at)
    side = conflict.sides[at]
    title = f"Keep {_WHICH.get(side.id, f'the memory of {side.agent}')}"
    return Question(
        title, (texts[at],), facts, _CONSEQUENCES[side.id if side.id in _NAMES else ""], (conflict.id,)
    )


def resolve(records: Records, found: Reviewed, chosen: int | None, by: Decider, reason: str) -> str:
    """Resolve a conflict; returns what to say.

    Raises:
        NotFoundError: it was resolved meanwhile. UsageError: both cannot be kept.
    """
    item, conflict = found.item, found.conflict
    assert conflict is not None
    winner = BOTH if chosen is None else conflict.sides[chosen % len(conflict.sides)].id
    uid = item.record["uid"] if winner in (BOTH, *_NAMES) else winner
    try:
        with records.memory_decision("resolved", uid, by, reason):
            _conflicts(records, "write", by.name).resolve(item.reference, winner, reason, lambda: by.name)
    except ValueError as error:
        raise UsageError(str(error)) from error
    sides = [shorten(side.content, 100) for side in conflict.sides]
    return f"Kept: {' · '.join(sides) if chosen is None else sides[chosen % len(sides)]}"
