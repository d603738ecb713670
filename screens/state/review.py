"""The review queue of memory as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sb.screens.state.document import Change, Document, Field, fields_of
from sb.screens.state.memory import HISTORY, ORIGIN, TEXT
from sb.screens.state.question import MOST_OBJECTS, Question, some

from sb.base.text import counted, shorten
from sb.base.values.frozen import frozen
from sb.errors import NotFoundError, UsageError
from sb.stack.review_queue import ReviewItem, ReviewKind

if TYPE_CHECKING:
    from sb.screens.state.records import Records

    from sb.kernel.authority.signing import Decider
    from sb.memory.quarantine.review import Held
    from sb.protocols.types import SyncConflict

LOCAL, REMOTE, BOTH = "local", "remote", "both"
_WHICH = {LOCAL: "this copy", REMOTE: "the other copy"}
_CONSEQUENCES = {
    LOCAL: "The memory stays as it is here; the other copy takes this version when it syncs.",
    REMOTE: "The memory becomes what the other copy says, here and wherever it syncs.",
    BOTH: "The memory stays as it is here, and the other version becomes a memory of its own.",
}
_DECIDES = {
    "release": "Agents find it from now on; what was derived from it stays quarantined.",
    "purge": "It stays as evidence that no agent finds, without its relations, and cannot be released.",
}
_DONE = {
    LOCAL: "kept this copy's version",
    REMOTE: "kept the other copy's version",
    BOTH: "kept both versions",
}


@frozen
class Reviewed:
    """A waiting item, with the facts for its decision.

    Args:
        document: of a conflict without its two versions, which `versions` puts before it.
    """

    item: ReviewItem
    document: Document
    conflict: SyncConflict | None = None


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
            return Reviewed(item, [*about, Field("History"), *views[HISTORY][1:]], _conflict(records, item))
        case ReviewKind.QUARANTINE:
            return Reviewed(item, _quarantined(records.quarantine("detail").show(item.reference)))
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
        Field("Next", "a releases it as safe, d purges it as malicious."),
        Field("Scope", memory.scope),
        Field("Id", memory.id, folded=True),
    ]


def quarantine_question(items: Sequence[ReviewItem], verb: str) -> Question:
    """The question before quarantined memories are released or purged."""
    texts = [shorten(str(item.record["text"]), 300) for item in items[:MOST_OBJECTS]]
    uids = tuple(item.reference for item in items)
    title = f"{verb.capitalize()} {counted(len(items), 'memory')}"
    return Question(title, some(texts, len(items)), (), _DECIDES[verb], uids)


def decide_quarantine(records: Records, verb: str, item: ReviewItem, by: Decider, reason: str) -> str:
    """Release or purge a memory as it was looked at; returns what to say.

    Raises:
        NotFoundError: it was decided meanwhile. DeniedError: the operator wrote it, or may not decide.
    """
    quarantine = records.quarantine("write")
    memory = replace(quarantine.show(item.reference), version=item.record["version"])
    decide = quarantine.release if verb == "release" else quarantine.purge
    return f"{item.reference} {decide([memory], by=by, reason=reason).verdict}"


def _conflict(records: Records, item: ReviewItem) -> SyncConflict:
    stack = records.stack("detail", item.stack)
    found = next((conflict for conflict in stack.conflicts() if conflict.id == item.reference), None)
    if found is None:
        raise NotFoundError("the conflict was resolved meanwhile, or is about a private memory of its agent")
    return found


def versions(found: Reviewed, chosen: str) -> Document:
    """The record; of a conflict its two versions first, the chosen one marked."""
    conflict = found.conflict
    if conflict is None:
        return found.document
    local, remote = conflict.local_summary or "", conflict.cloud_summary or ""
    fields: list[Field | Change] = [
        _version("This copy", local, chosen == LOCAL),
        _version("The other", remote, chosen == REMOTE),
        Field("Differs in", ", ".join(conflict.differing)),
    ]
    if local != remote:
        fields.append(Change("- this copy, + the other", local, remote))
    other = Field("Other database", conflict.source or "", folded=True)
    return [*fields, Field("Memory"), *found.document, other]


def _version(name: str, text: str, chosen: bool) -> Field:
    return Field(f"{'▸' if chosen else ' '} {name}", text, tone="strong" if chosen else "")


def conflict_question(found: Reviewed, keep: str) -> Question:
    """The question before a conflict is resolved."""
    conflict = found.conflict
    assert conflict is not None
    texts = {LOCAL: conflict.local_summary or "", REMOTE: conflict.cloud_summary or ""}
    objects = tuple(shorten(texts[which], 300) for which in ((LOCAL, REMOTE) if keep == BOTH else (keep,)))
    dropped = {LOCAL: REMOTE, REMOTE: LOCAL}.get(keep, "")
    facts = [("Drops", shorten(texts[dropped], 300))] if dropped else []
    title = "Keep both" if keep == BOTH else f"Keep {_WHICH[keep]}"
    return Question(title, objects, tuple(facts), _CONSEQUENCES[keep], (conflict.id,))


def resolve(records: Records, item: ReviewItem, keep: str, by: str, reason: str) -> str:
    """Resolve a conflict; returns what to say.

    Raises:
        NotFoundError: it was resolved meanwhile. UsageError: both cannot be kept.
    """
    stack = records.stack("write", item.stack)
    try:
        stack.resolve_conflict(item.reference, keep, reason, actor=by)  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(str(error)) from error
    return f"{item.record['uid']} {_DONE[keep]}: by {by}"
