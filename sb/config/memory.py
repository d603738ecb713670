"""The settings of memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sb.base.reading import (
    Field,
    Kind,
    choice,
    duration,
    flag,
    integer,
    listing,
    mapping,
    matching,
    number,
    record,
    text,
)
from sb.base.values.frozen import frozen
from sb.config import kinds
from sb.config.access import Access, ReadRule, access_kind, fewer_agents, read_rules_kind
from sb.config.guards import ATTACKS_IN_MEMORY
from sb.config.memory_gate import gate_kind
from sb.config.narrowing import (
    larger,
    only_off,
    smaller,
    stricter,
)
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
    includes: Mapping[str, tuple[str, ...]] = setting(
        MappingProxyType({}),
        kinds.inclusions(),
        "Which scopes a session reads beside its own and global, by scope or pattern of scopes, as all that fit say; "
        "what an included scope includes is read too.",
        example='{"project:*": ["team:web"], "project:shop": ["customer:acme"]}',
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
    gate: Mapping[str, Mapping[str, Mapping[str, float]]] = setting(
        MappingProxyType({}),
        gate_kind(),
        "What a memory has to be worth to be saved as one of its own, by scope or pattern of scopes (a longer "
        "one changes what a shorter one sets) and category (or *): numbers by the names of "
        "`sb.config.memory_gate.GateSettings`. threshold: 0 admits every memory.",
        example='{"*": {lesson: {threshold: 0.4}}, "project:notes": {"*": {threshold: 0}}}',
    )
    trust_floor: float = setting(
        0.0,
        number(0, 1),
        "The least trust of what agents find and are told, with all that it was derived from; 0 for any (`sb trust`, "
        "docs/reference/memory-trust.md).",
        narrow=larger(),
        example="0.45",
    )
    planning_floor: float = setting(
        0.6,
        number(0, 1),
        "The least confidence of what a search for planning finds (`sb memory search --planning`); what has no confidence, "
        "such as a decision, is found.",
        narrow=larger(),
    )
    spreading: float = setting(
        0.0,
        number(0, 1),
        "How much it counts in a search that the best hits are related to a memory (spreading activation): the share of the "
        "best hit's score that an activation of 1 adds, such as 0.3; 0 for not at all.",
        example="0.3",
    )
    salience: Mapping[str, float] = setting(
        MappingProxyType({}),
        _weights("recency", "frequency", "confidence", "strength", "protected", "trust"),
        "Weights of what moves a hit regardless of the query, where they are not the built-in ones (`sb memory calibrate`).",
        example="{confidence: 2, trust: 3}",
    )
    access: Access = setting(
        MappingProxyType({}),
        access_kind(),
        "Who may read, write, promote and share the memories of a scope, by scope or pattern: agents by right, as names "
        "or beginnings of names. A scope with a rule is closed to all others, one without is open "
        "(docs/reference/memory-access.md).",
        narrow=fewer_agents(),
        example='{"customer:*": {read: ["support-*"], write: [support-lead]}, "project:shop": {read: ["*"]}}',
    )
    personal_data: Mapping[str, str] = setting(
        MappingProxyType({}),
        mapping(
            choice("keep", "redact", "drop", "escalate"),
            "a mapping of scopes, such as project:*, to keep, redact, drop or escalate",
        ),
        "What is done about personal data in what agents write, by scope or pattern of scopes, the longest first: keep "
        "(the default), redact the values, drop the memory, or escalate: keep it out of every search until an operator "
        "releases it.",
        example='{"project:*": "redact", "customer:acme": "drop"}',
    )
    personal_data_readers: tuple[str, ...] = setting(
        ("*",),
        listing(text("a pattern of agents' names, such as support-*")),
        "Agents that read personal data as it is; others read [redacted:phone] in its place. Operators read all of it.",
        example='["support-*"]',
    )
    reading: Mapping[str, ReadRule] = setting(
        MappingProxyType({}),
        read_rules_kind(),
        "Who reads the memories of a scope, by scope or pattern, the longest first: purpose (in the log of each read), "
        "readers (patterns of agents), consent (everybody whom a memory is about has agreed) and max_age (older ones are "
        "withheld). Operators read all; `sb memory denied` lists what agents were not given.",
        example='{"customer:*": {purpose: support, readers: ["support-*"], consent: true, max_age: 365d}}',
    )
    retention: Mapping[str, int] = setting(
        MappingProxyType({}),
        mapping(
            duration(), "a mapping of scopes, such as project:*, or SCOPE/CATEGORY, to durations such as 90d"
        ),
        "How long memories are kept, by scope or pattern of scopes, and by SCOPE/CATEGORY or SCOPE/KIND, the longest name "
        "first. `sb memory retention` lists what is past that, and erases it when told; nothing goes by itself.",
        example='{"project:*": 365d, "project:*/event": 30d}',
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
