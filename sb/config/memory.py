"""The settings of memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sb.base.reading import Field, Kind, choice, flag, integer, listing, matching, number, record, text
from sb.base.values.frozen import frozen
from sb.config.guards import ATTACKS_IN_MEMORY
from sb.config.narrowing import larger, only_off, smaller, stricter
from sb.config.scopes import QUESTIONS, RIGHTS, Scopes, scopes_kind, stricter_scopes
from sb.config.setting import setting

# Of the source types of memories, those of which anything may be untrusted.
SOURCES = (
    "tool-output",
    "web-page",
    "mcp-result",
    "import",
    "ingested-document",
    "external",
    "observation",
    "unknown",
)
# Former settings whose place rules of `memory.scopes` took: the keys of a rule.
MOVED = {
    "memory.access": "read, write, promote and share (a right that a longer pattern leaves out is the shorter one's: [] is nobody)",
    "memory.reading": "read (in the place of readers), purpose, consent and max_age",
    "memory.personal_data": "personal_data",
    "memory.retention": "retention: a duration, or a mapping of categories and kinds (* for all) to durations",
    "memory.gate": "gate",
    "memory.includes": "includes (the longest pattern's alone)",
    "memory.trust_floor": 'trust_floor, under "*" for every scope',
}
SIGNALS = tuple(
    "affect neuromodulation replay expertise uncertainty perspectives decoherence recovery phi".split()
)
_SIGNALS = f"a mapping of {', '.join(SIGNALS)} to true or false"
EMBEDDERS = ("static", "ollama", "transformers", "none")


def _weights(*names: str) -> Kind[Mapping[str, float]]:
    label = f"a mapping of {', '.join(names)} to numbers"
    return record([Field(name, number(0, 10)) for name in names], lambda values, place: values, label)


@frozen
class Memory:
    """Settings of memory and its search."""

    embedder: str = setting(
        EMBEDDERS[0],
        choice(*EMBEDDERS),
        "What makes vectors of texts, so that a memory is found by what it means: static is installed with `sb` and uses "
        "no network, ollama asks a server, transformers runs a model inside `sb` (the extra transformers), none leaves "
        "search to words alone. After a change, vectors are made again as housekeeping comes to them.",
    )
    ollama_url: str = setting(
        "http://127.0.0.1:11434",
        matching("http://host:port or https://host:port", r"https?://[A-Za-z0-9.\-\[\]:]+"),
        "The Ollama server. It is sent the texts that are remembered.",
    )
    ollama_model: str = setting(
        "nomic-embed-text",
        text("the name of a model"),
        "Its embedding model; fetch it with `ollama pull`.",
    )
    transformers_model: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2",
        text("the name of a model, or its folder"),
        "The model of sentence-transformers. It is never fetched by `sb`: it has to be on this machine.",
    )
    quarantine: tuple[str, ...] = setting(
        ("tool-output", "web-page", "mcp-result", "import"),
        listing(choice(*SOURCES)),
        "Source types whose memories are quarantined, with what is derived from them: no search, session or prompt has them "
        "until a person releases them (`sb quarantine`).",
        example='["tool-output", "web-page", "mcp-result", "import", "ingested-document"]',
    )
    attacks: str = setting(
        ATTACKS_IN_MEMORY[0],
        choice(*ATTACKS_IN_MEMORY),
        "What becomes of what is remembered, imported or synced and reads like an attack on the model: mark gives it the tag "
        "attack, quarantine keeps it out of every search until a person releases it, refuse refuses the write.",
        narrow=stricter(*ATTACKS_IN_MEMORY),
    )
    sync_scopes: tuple[str, ...] = setting(
        ("*",),
        listing(text("a pattern of scopes, such as project:*")),
        "Scopes whose memories a stack gives to another database and takes from it, as patterns. What an agent keeps for "
        "itself only goes with that agent's own core.",
        example='["global", "project:*"]',
    )
    planning_floor: float = setting(
        0.6,
        number(0, 1),
        "The least confidence of what a search for planning finds (`sb memory search --planning`); what has no confidence, "
        "such as a decision, is found.",
        narrow=larger(),
    )
    interference: float = setting(
        3.0,
        number(0, 1_000),
        "How many fresh recalls of a memory hold back a correction that would take its support: such a correction by an "
        "agent waits for a person (`sb memory pending`). Recalls count for half after each half-life; 0 holds back none.",
    )
    spreading: float = setting(
        0.0,
        number(0, 1),
        "How much it counts in a search that the best hits are related to a memory (spreading activation): the share of the "
        "best hit's score that an activation of 1 adds, such as 0.3; 0 for not at all.",
        example="0.3",
    )
    signals: Mapping[str, bool] = setting(
        MappingProxyType({}),
        record([Field(name, flag()) for name in SIGNALS], lambda values, place: values, _SIGNALS),
        "Signals of the whitepaper that are on, each of which is off by default (docs/reference/memory-signals.md). affect, "
        "neuromodulation and replay move the hits of an agent's search by at most 0.02 of the best hit's score each, and "
        "what they move is logged; the others are computed when they are asked for (`sb memory signals`).",
        example="{replay: true, uncertainty: true}",
    )
    salience: Mapping[str, float] = setting(
        MappingProxyType({}),
        _weights("recency", "frequency", "confidence", "strength", "protected", "importance", "trust"),
        "Weights of what moves a hit regardless of the query, where they are not the built-in ones (`sb memory calibrate`).",
        example="{confidence: 2, trust: 3}",
    )
    scopes: Scopes = setting(
        Scopes(),
        scopes_kind(),
        "What holds for the memories of a scope, by scope or pattern of scopes (docs/reference/memory-access.md). The "
        "longest pattern counts, and changes only what it names; of patterns of one length the strictest. A scope with a rule "
        "about read, write, promote or share is closed to agents that it does not name, one without is open. `sb memory "
        "access --scope SCOPE` shows what holds, and why.",
        narrow=stricter_scopes(*RIGHTS, "trust_floor"),
        within=stricter_scopes(*QUESTIONS),
        example='{"customer:*": {read: ["support-*"], write: [support-lead], consent: true, retention: 365d}}',
    )
    personal_data_readers: tuple[str, ...] = setting(
        ("*",),
        listing(text("a pattern of agents' names, such as support-*")),
        "Agents that read personal data as it is; others read [redacted:phone] in its place. Operators read all of it.",
        example='["support-*"]',
    )
    hooks: bool = setting(
        True,
        flag(),
        "Tell coding agents what is remembered of a project when their session starts, and keep what it leaves behind "
        "when it ends (`sb install`).",
        narrow=only_off(),
    )
    orient_tokens: int = setting(
        2000,
        integer(100, 10_000),
        "Tokens, estimated, that a coding agent is told of it at most.",
        narrow=smaller(),
    )
