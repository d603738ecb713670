"""Summarize a session at its end: goal, state, open loops and next step.

Source: the memory whitepaper, "wrap-up retrieval". How each is derived: docs/guides/memory.md, "How a session ends". Only what the
session itself wrote, where everybody may read it, is looked at: no other session's, no other scope's, nothing private, and
nothing that names whom it is about or who may read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sb.base.text import shorten
from sb.base.values.frozen import frozen
from sb.memory.handoffs import HandoffPacket, Handoffs, loops, packet
from sb.memory.masking import masked_text
from sb.memory.ranking.terms import STOP_WORDS, stem, words
from sb.memory.session_writer import SessionWriter
from sb.memory.views import Memory
from sb.protocols.types import Event, Handoff
from sb.protocols.types.vocabulary import CONTINUE
from sb.store.records.consent import names_people
from sb.store.records.places import Execute, Place
from sb.store.records.sessions import Session

MOST_LOOPS = 10
_MOST_WRITES = 500  # of one session that are looked at: the latest
_LONGEST = 300  # characters of what is taken from a memory
_READ = 2_000  # characters of a memory that say what it is about
_SAME = 0.5  # of the shorter text's words that two texts share if they are about the same thing
_RAISES = ("error", "warning", "task_update")
_SETTLES = ("result", "artifact")
_OPEN = re.compile(
    r"\b(?:to[- ]?do|fixme|tbd|not yet|yet to|pending|unresolved|unfinished|blocked|remaining|still (?:to|open|missing)"
    r"|open (?:question|issue|point)s?|needs? to be)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"(?<!not )(?<!n't )\b(?:done|finished|completed?|fixed|resolved|closed|solved)\b", re.IGNORECASE
)


@frozen
class Derived:
    """The parts of a handoff derived from a session's own writes; "" and empty where nothing was found."""

    goal: str = ""
    open_loops: tuple[str, ...] = ()


def wrap_up(
    writer: SessionWriter, handoffs: Handoffs, summary: str, scope: str, given: dict[str, Any], recipient: str
) -> HandoffPacket:
    """End the session: its last event and its packet, in one transaction.

    Args:
        given: goal, open_loops and next_step, each None where it is to be derived.

    Raises:
        ValueError: the summary is empty. ConfigError: the home's secret cannot be used.
    """
    if not summary.strip():
        raise ValueError("the summary must not be blank")
    writer.masked.clear()
    summary = masked_text(summary, writer.masked)  # before any of it is cut
    found = derived(own_writes(writer, scope))
    open_loops = loops(given["open_loops"]) if given["open_loops"] is not None else list(found.open_loops)
    handoff = Handoff(
        goal=given["goal"] or found.goal or shorten(summary, _LONGEST),
        current_state=summary,
        open_loops=open_loops,
        next_step=given["next_step"] or (open_loops[0] if open_loops else f"{CONTINUE}{shorten(summary, _LONGEST)}"),
        recipient=recipient,
    )  # fmt: skip
    known = handoffs.known()
    made = handoffs.signed(handoff, scope, known)

    def also(execute: Execute, session: Session) -> None:
        handoffs.stand_for(execute, known)
        writer.space.sessions.end(execute, session, writer.space.clock.now())

    ended = Event(
        f"handed over to {recipient}" if recipient else summary, "session_end"
    )  # which everybody reads
    writer.keep_all([ended, made], Place(writer.stack, scope), also=also)
    writer.begin(writer.scope)
    return packet(made)


def own_writes(writer: SessionWriter, scope: str) -> list[Memory]:
    """Lists what the session wrote in a scope for everyone, oldest first."""
    session = writer.begun()
    place = writer.space.places.find(Place(writer.stack, scope))
    if session is None or place is None:
        return []
    rows = writer.space.records.select(
        "r.session = ? AND r.place = ? AND r.state = 'active' AND r.kind <> 'handoff'",
        (session.number, place),
        order="r.id DESC",
        limit=_MOST_WRITES,
    )
    return [writer.space.memory(row) for row in rows if not names_people(row["fields"])][::-1]


def derived(writes: Sequence[Memory]) -> Derived:
    """The goal and the open loops of a session, from what it wrote, oldest first."""
    settling: list[Memory] = []  # later events that close, or go on with, what was open
    settled: list[frozenset[str]] = []  # what those are about, once something open is compared with them
    found: dict[str, None] = {}
    for memory in reversed(writes):
        if _is_open(memory):
            about = _stems(memory)
            settled += map(_stems, settling)
            settling.clear()
            if not any(_alike(about, later) for later in settled):
                found[shorten(" ".join(memory.content.split()), _LONGEST)] = None
        if memory.kind == "event" and memory.category in (*_SETTLES, "task_update"):
            settling.append(memory)
    goal = _goal(writes)
    open_loops = [loop for loop in found if loop != goal]  # the goal itself is no loop beside it
    return Derived(goal, tuple(open_loops[:MOST_LOOPS][::-1]))


def _goal(writes: Sequence[Memory]) -> str:
    """Returns the stated goal, else the first closed task update, else the first decision."""
    for kind, category in (("event", "session_start"), ("event", "task_update"), ("decision", None)):
        for memory in writes:
            says_open = category == "task_update" and _OPEN.search(memory.content)
            if memory.kind == kind and category in (None, memory.category) and not says_open:
                return shorten(memory.title, _LONGEST)
    return ""


def _is_open(memory: Memory) -> bool:
    """True if a memory, by itself, says that something is not settled."""
    if memory.kind == "event":
        if memory.category in ("session_start", "session_end", *_SETTLES):
            return False
        if memory.category in _RAISES and not _DONE.search(memory.content):
            return True
    return _OPEN.search(memory.content) is not None


def _stems(memory: Memory) -> frozenset[str]:
    return frozenset(stem(word) for word in words(memory.content[:_READ]) if word not in STOP_WORDS)


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(left and right) and len(left & right) >= _SAME * min(len(left), len(right))
