"""The objects that memory returns, which are mappings and JSON too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from typing import Any

from sb.base.values.frozen import frozen
from sb.protocols.types.vocabulary import CHARACTERS_PER_TOKEN, TOKEN_MARGIN

# Sources whose words are not the writing agent's own.
_VOICES: Mapping[str, str] = {
    "user-written": "a person",
    "tool-output": "a tool",
    "mcp-result": "a tool",
    "web-page": "a web page",
    "ingested-document": "a document",
    "import": "an import",
}


class View(Mapping[str, Any]):
    """A dataclass whose fields are also the keys of a mapping."""

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        return tuple(item.name for item in fields(cls))  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """Converts to plain dicts and lists."""
        return {name: plain_json(self[name]) for name in self}


def plain_json(value: Any) -> Any:
    """A value as JSON has it: views become dicts, tuples lists."""
    if isinstance(value, View):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(name): plain_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return value


@frozen
class Memory(View):
    """One memory as an agent sees it.

    Args:
        content: its text, as it is found by.
        details: what its kind has beyond that, such as a decision's rationale or an entity's observations.
        happened_at, created_at: seconds since the epoch.
        restated: texts that were merged into it, and say more or the same; of a hit the one by which it was found.
        superseded_by: the id of the memory that replaced it, or "". corrected_by: of one that replaced something that this
            was made from, or that was made from this; it stands, but part of what it says may no longer hold.
        conflict: the id of the conflict in which another memory contradicts it, or "".
        review_at, fades_at: of one looked at alone, when it is marked for review and when it has faded unless it is recalled
            before, in seconds since the epoch; 0 if it never fades.
    """

    id: str
    kind: str
    content: str
    category: str | None
    scope: str
    agent_id: str
    private: bool
    source_type: str
    confidence: float | None
    strength: float
    happened_at: float
    created_at: float
    session: str | None = None
    speaker: str | None = None
    tags: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    restated: tuple[str, ...] = ()
    superseded_by: str = ""
    corrected_by: str = ""
    conflict: str = ""
    review_at: float = 0.0
    fades_at: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """As any view, without the marks of corrections, conflicts and decay where there are none."""
        marks = ("superseded_by", "corrected_by", "conflict", "review_at", "fades_at")
        return {name: value for name, value in super().as_json().items() if value or name not in marks}

    @property
    def title(self) -> str:
        """The title of a decision, the name of an entity, else the first line."""
        named = self.details.get("title") or self.details.get("name")
        return str(named or self.content.partition("\n")[0])

    @property
    def voice(self) -> str:
        """Whose words these are: a person's, a tool's or another source's, else those of the agent, by name."""
        return _VOICES.get(self.source_type) or (f"agent {self.agent_id}" if self.agent_id else "an agent")

    def __str__(self) -> str:
        return self.title


@frozen
class Hit(Memory):
    """A memory that a search found.

    Args:
        score: the larger the better; it compares hits of one search, nothing else.
        explanation: stage to (value, weight, what it added), if that was asked for.
        before, after: its neighbours in its session, oldest first, if they were asked for.
    """

    score: float = 0.0
    explanation: Mapping[str, Any] | None = None
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()


def estimated_tokens(text: str) -> int:
    """Estimates the tokens of a text: a quarter of its characters, plus 30 %.

    Source: the stack protocol, "Token budget".
    """
    return tokens_of(len(text))


def tokens_of(characters: int) -> int:
    """Estimates the tokens of a text of that length."""
    return int(characters // CHARACTERS_PER_TOKEN * TOKEN_MARGIN)
