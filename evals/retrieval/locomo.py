"""Which turns answer which questions? LoCoMo's conversations; the data is not ours to ship."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True)
class Turn:
    """One thing said; `id` is unique over all conversations."""

    id: str
    speaker: str
    text: str
    session: str
    happened_at: float


@dataclass(frozen=True)
class Question:
    """A question with the ids of the turns that hold its answer."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    """What two people said to each other, in order, and what may be asked about it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def load(path: Path) -> list[Conversation]:
    """Read conversations; questions without evidence cannot be scored and are left out.

    Raises:
        OSError: the file cannot be read.
    """
    return [_conversation(stored) for stored in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(stored: dict[str, object]) -> Conversation:
    name = str(stored["id"])
    sessions: list[dict[str, object]] = stored["sessions"]  # type: ignore[assignment]
    questions: list[dict[str, object]] = stored["qa"]  # type: ignore[assignment]
    turns = [
        Turn(
            f"{name}/{turn['id']}",
            turn["speaker"],
            turn["text"],
            f"{name}/{session['session']}",
            _seconds(str(session["date"])),
        )
        for session in sessions
        for turn in session["turns"]  # type: ignore[attr-defined]
    ]
    asked = [
        Question(
            str(question["question"]),
            CATEGORIES[int(str(question["category"]))],
            frozenset(f"{name}/{turn}" for turn in question["evidence"]),  # type: ignore[attr-defined]
        )
        for question in questions
    ]
    return Conversation(name, tuple(turns), tuple(question for question in asked if question.evidence))


def _seconds(written: str) -> float:
    """As LoCoMo writes it: "1:56 pm on 8 May, 2023"."""
    return datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
