"""Erase a memory, from the files too.

What stays is a tombstone: that there was a record, of which kind and agent, and who erased it when and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from sb.base.values.frozen import frozen
from sb.errors import NotFoundError
from sb.log import kinds
from sb.log.event import Subject
from sb.log.event_log import EventLog, LogWrite
from sb.memory.masking import masked_text
from sb.memory.ranking.terms import STOP_WORDS, stem, words
from sb.memory.space import Space
from sb.memory.views import View
from sb.store.index.statistics import TextStatistics
from sb.store.records.collapses import blank_reason
from sb.store.records.columns import ERASED, Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.edges import DERIVED_FROM

MEMORY_ERASED = "memory.erased"
kinds.register(MEMORY_ERASED, "A person erased a memory for good")
_MADE = (
    "playbook",
    "summary",
    "self_narrative",
    "entity_model",
)  # what `sb.stack.making` makes of other memories
_RUN = 6  # words in a row that two texts do not share by chance


@frozen
class Erased(View):
    """The result of an erasure.

    Args:
        ids: what was erased.
        quoting: handoffs and ends of sessions that repeat some of it and were left as they are.
        neighbours: how many records were found by it too, since they came next in its session, and are no longer.
        questions: how many questions, and reasons for changes, on record held words that only it had; they were removed.
        held_back: whether a reader of an older state keeps the former content in the write-ahead log. Erase again once
            it has finished.
    """

    ids: tuple[str, ...]
    quoting: tuple[str, ...]
    neighbours: int
    questions: int
    held_back: bool


def erase(
    space: Space,
    log: EventLog,
    uids: Sequence[str],
    *,
    actor: str,
    reason: str,
    with_handoffs: bool = False,
) -> Erased:
    """Remove memories for good: content, history, relations, index, vectors, and what was made of them.

    The database is written anew for it, at about 100 MB a second, and others wait for that long before they can write.
    What was erased before is skipped, and the files are cleaned again. Playbooks, summaries, self-narratives and entity
    models that were made of it by rules (`sb stack make`) go with it.

    Args:
        log: of the same database; it records that, by whom and why.
        actor: the operator who does it.
        with_handoffs: also erase the handoffs and ends of sessions that repeat some of it.

    Raises:
        NotFoundError: there is none of that id; nothing was erased.
        ValueError: the reason repeats what is to be erased, or the log is another database's.
        StoreError: the database could not be written. Erase again: what is gone already is skipped.
    """
    if log.database is not space.database:
        raise ValueError("the log belongs to another database")
    with log.write() as write:
        rows = [row for row in _found(space, uids) if row["state"] != ERASED]
        texts = [text for row in rows for text in _texts(space, row)]
        repeated_in = _repeating(space, {run for row in rows for run in _recognised_by(space, row)})
        quoting = [row for row in repeated_in if row["uid"] not in uids]
        if with_handoffs:
            rows, texts = [*rows, *quoting], texts + [text for row in quoting for text in _texts(space, row)]
            quoting = []
        neighbours = _remove(space, write, rows, actor, reason)
        only_here = _only_in(space, texts)
        repeated = [word for word in words(reason) if stem(word) in only_here]
        if repeated:
            raise ValueError(f"the reason stays on record, but repeats erased words: {', '.join(repeated)}")
        questions = _blank_questions(space, write, only_here)
    space.words.optimize()
    held_back = not space.database.rewrite()
    return Erased(
        ids=tuple(row["uid"] for row in rows),
        quoting=tuple(row["uid"] for row in quoting),
        neighbours=neighbours,
        questions=questions,
        held_back=held_back,
    )


def old_copies(backups: Path) -> list[Path]:
    """The copies of the database that keep what was erased since they were made, oldest first.

    Args:
        backups: the folder of this home's backups; copies elsewhere are not known, nor are bundles.
    """
    return sorted(
        (path for path in backups.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime
    )


def _found(space: Space, uids: Sequence[str]) -> list[Row]:
    wanted = list(dict.fromkeys(uids))
    here = space.records.known(wanted)
    for uid in wanted:
        if uid not in here:
            raise NotFoundError(f"no memory {uid!r}", "sb memory search finds ids")
    rows = [here[uid] for uid in wanted]
    texts = space.evidence.texts([row["id"] for row in rows])  # they say the same
    known = {row["id"] for row in rows}
    rows += space.records.rows([number for number in texts if number not in known])
    return [*rows, *_made_of(space, rows)]


def _made_of(space: Space, rows: Sequence[Row]) -> list[Row]:
    """The memories made of these by rules, and of those: they repeat them, and can be made again without them."""
    sql = (
        "WITH RECURSIVE down(id) AS (SELECT value FROM json_each(?) UNION SELECT e.source FROM down"
        f" JOIN edges AS e ON e.target = down.id AND e.relation = '{DERIVED_FROM}'"
        " JOIN records AS r ON r.id = e.source AND r.kind IN (?, ?, ?, ?)) SELECT id FROM down"
    )
    known = {row["id"] for row in rows}
    found = space.database.query(sql, (orjson.dumps(sorted(known)).decode(), *_MADE))
    return list(space.records.rows([number for (number,) in found if number not in known]))


def _states(space: Space, row: Row) -> Iterator[Row]:
    """A record as it is, and what was replaced in it."""
    yield row
    yield from (entry["former"] or {} for entry in space.records.history(row["id"]))


def _texts(space: Space, row: Row) -> Iterator[str]:
    """All that a record says, and said before it was changed."""
    closed = DESCRIPTORS[row["kind"]].vocabulary
    for state in _states(space, row):
        yield from (state[name] for name in ("text", "key", "speaker") if state.get(name))
        yield from _strings(orjson.loads(state.get("tags") or "[]"))
        for name, value in orjson.loads(state.get("fields") or "{}").items():
            if name not in closed:
                yield from _strings(value)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from (name, *_strings(item))
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _recognised_by(space: Space, row: Row) -> Iterator[tuple[str, ...]]:
    """The words in a row by which one sees that a text repeats a record: six, or all of a text that has fewer.

    One word says nothing, unless it is all that the record says; a tag never does.
    """
    tags = {tag for state in _states(space, row) for tag in _strings(orjson.loads(state.get("tags") or "[]"))}
    for text in _texts(space, row):
        found = words(text)
        if text == row["text"] or (len(found) > 1 and text not in tags):
            yield from _runs(found, _RUN)


def _repeating(space: Space, wanted: set[tuple[str, ...]]) -> list[Row]:
    """The handoffs, and the ends of sessions that say the same, in which any of these words stand in a row."""
    rows = space.records.select(
        "r.place IN (SELECT id FROM places) AND r.state <> 'erased'"
        " AND (r.kind = 'handoff' OR r.kind = 'event' AND r.category = 'session_end')",
        (),
    )
    lengths = {len(run) for run in wanted}
    return [
        row
        for row in rows
        if any(not wanted.isdisjoint(_runs(words(row["text"]), length)) for length in lengths)
    ]


def _runs(tokens: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Every run of so many words, or the only one where there are fewer."""
    for start in range(max(1, len(tokens) - length + 1)) if tokens else ():
        yield tuple(tokens[start : start + length])


def _remove(space: Space, write: LogWrite, rows: Sequence[Row], actor: str, reason: str) -> int:
    """Empty the records, and let those after them forget what they were found by; returns how many these are."""
    erased = {row["id"] for row in rows}
    quoting: set[int] = set()
    for row in rows:
        quoting.update(space.vectors.drop(write.execute, row["id"]))
    space.records.erase(write.execute, sorted(erased), actor=actor, reason=masked_text(reason, {}))
    for row in rows:
        subject = Subject(agent=row["agent"], call_id=row["uid"])
        write.append(MEMORY_ERASED, {"by": actor, "reason": reason}, subject, {"kind": row["kind"]})
    space.embed(write.execute, sorted(quoting - erased))
    return len(quoting - erased)


def _only_in(space: Space, texts: Sequence[str]) -> set[str]:
    """The stems of what was said that no record has any more."""
    counted = TextStatistics(space.database)  # what is remembered of before would be wrong
    stems = {stem(word) for text in texts for word in words(text) if len(word) > 2 and word not in STOP_WORDS}
    return {item for item in stems if not counted.document_frequency(item)}


def _blank_questions(space: Space, write: LogWrite, only_here: set[str]) -> int:
    """Remove the questions, and reasons for changes, that hold such a word: they say what was erased."""
    blanked = 0
    for number, reason in space.records.reasons() if only_here else ():
        if any(stem(word) in only_here for word in words(reason)):
            space.records.blank_reason(write.execute, number)
            blanked += 1
    for number, reason in space.collapses.reasons() if only_here else ():
        if any(stem(word) in only_here for word in words(reason)):
            blank_reason(write.execute, number)
            blanked += 1
    for number, query in space.reads.queries() if only_here else ():
        if any(stem(word) in only_here for word in words(query)):
            space.reads.blank(write.execute, number)
            blanked += 1
    return blanked
