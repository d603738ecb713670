"""Kinds of values that only settings have: paths, hosts, agents, scopes, prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sb.base.reading import (
    Field,
    Kind,
    Place,
    choice,
    describe,
    integer,
    leaf,
    listing,
    mapping,
    matching,
    number,
    record,
    text,
)
from sb.base.text import human_bytes
from sb.base.values.frozen import frozen
from sb.config.home import expand
from sb.config.host_patterns import HostPattern
from sb.errors import ConfigError

CEILINGS = ("read_only", "local_write", "network", "destructive")
TOOL_ID = re.compile(r"[a-z][a-z0-9_\-.]+")
SCOPE = re.compile(r"global|[a-z][a-z0-9_]*:[^\s\x00-\x1f\x7f]+")
_MAX_SIZE = 1 << 30
_MOST_USD = 1_000_000.0
_TEXT = {"type": "string"}


def size(most: int = _MAX_SIZE) -> Kind[int]:
    """A number of bytes."""
    return integer(1, most, f"a number of bytes from 1 to {most:,} ({human_bytes(most)})")


def function() -> Kind[str]:
    """`module:function`, as it would be imported."""

    def meaning(value: Any) -> str | None:
        module, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
        parts = [*module.split("."), name]
        return str(value) if all(part.isidentifier() for part in parts) else None

    return leaf("module:function", meaning, _TEXT)


def host() -> Kind[HostPattern]:
    """A host, with `*.` before it or a port behind it."""
    hint = (
        "only the host, without http:// or a path; international names in their xn-- form; "
        'an IPv6 address as "[::1]"; after *. a domain with a dot'
    )

    def meaning(value: Any) -> HostPattern | None:
        return HostPattern.parse(str(value)) if isinstance(value, str) else None

    return leaf("host, *.host or host:port", meaning, _TEXT, hint)


def path() -> Kind[Path]:
    """A path; see `expand` for `~`, `..` and relative ones."""

    def read(value: Any, place: Place) -> Path:
        if not isinstance(value, str) or not value:
            raise place.refuse(f"must be a path, not {describe(value)}")
        try:
            return expand(str(value), place.report.base, place.report.env)
        except ConfigError as error:
            raise place.refuse(error.message, error.hint) from None

    return Kind(read, _TEXT, "a path")


@frozen
class AgentSettings:
    """Settings of one agent.

    Args:
        tools: ids of the tools that it may call; empty means any, up to the ceiling.
        ceiling: one of CEILINGS, the highest safety class that it may call.
        permissions: names that a tool's `requires_permission` asks for.
    """

    tools: tuple[str, ...] = ()
    ceiling: str = CEILINGS[0]
    permissions: tuple[str, ...] = ()


# The kernel reads an empty allowlist as "any tool", the opposite of what it looks like.
_ANY_TOOL = "an empty list would allow every tool: remove the key to mean that"
_AGENT_FIELDS = (
    Field("tools", listing(matching("a tool id", TOOL_ID), _ANY_TOOL)),
    Field("ceiling", choice(*CEILINGS)),
    Field("permissions", listing(text("a name"))),
)


def agents() -> Kind[Mapping[str, AgentSettings]]:
    """Agents by name."""
    agent = record(_AGENT_FIELDS, lambda values, place: AgentSettings(**values))
    return mapping(agent, "a mapping of agents by name")


@frozen
class ModelPrice:
    """US dollars for a million tokens; None where the configuration gives no price.

    Args:
        input: of prompts that no cache gave. output: of what the model writes, reasoning included.
        cache_read: of prompts taken from a cache. cache_write, cache_write_1h: put there, for five minutes or an hour.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None


def prices() -> Kind[Mapping[str, ModelPrice]]:
    """Prices by the name of a model, or a pattern of names."""
    price = number(0, _MOST_USD)
    names = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
    model = record([Field(name, price) for name in names], lambda values, place: ModelPrice(**values))
    return mapping(model, "a mapping of models, by name or pattern, to prices")
