"""Types of settings: parse and check a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from sb.config.document import SHOWN, Entry, Listing, Node, Report, Scalar, Table, describe
from sb.config.home import expand
from sb.config.host_patterns import HostPattern
from sb.duration import parse_duration
from sb.errors import ConfigError, UsageError
from sb.frozen import frozen
from sb.text import human_bytes, nearest, shorten

T = TypeVar("T")

CEILINGS = ("read_only", "local_write", "network", "destructive")
TOOL_ID = re.compile(r"[a-z][a-z0-9_\-.]+")
SCOPE = re.compile(r"global|[a-z][a-z0-9_]*:[^\s\x00-\x1f\x7f]+")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*(?:_[0-9]+)*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_MAX_SIZE = 1 << 30


class Reading(NamedTuple):
    """One source being read.

    Args:
        base: the folder where its relative paths start.
        env: for `~`.
    """

    report: Report
    base: Path
    env: Mapping[str, str]

    def wrong(self, node: Node | Entry, key: str, message: str, hint: str = "") -> None:
        self.report.add(node.line, key, message, hint)


class Kind(NamedTuple, Generic[T]):
    """One kind of value.

    Args:
        label: says it in messages and in the reference, as in "must be …".
        parse: the value of a node, or None once a problem has been reported.
    """

    label: str
    parse: Callable[[Node, str, Reading], T | None]


def _worded(label: str, meaning: Callable[[Scalar], T | None], hint: str = "") -> Kind[T]:
    """A kind written as one word; `meaning` gives None for a word that is none."""

    def parse(node: Node, key: str, reading: Reading) -> T | None:
        value = meaning(node) if isinstance(node, Scalar) and not node.missing else None
        if value is None:
            quoted = (
                isinstance(node, Scalar) and not node.bare and meaning(node._replace(bare=True)) is not None
            )
            why = " in quotes" if quoted else ""
            reading.wrong(node, key, f"must be {label}, not {describe(node)}{why}", hint)
        return value

    return Kind(label, parse)


def integer(low: int, high: int) -> Kind[int]:
    return _integer(f"an integer from {low} to {high}", low, high)


def size(most: int = _MAX_SIZE) -> Kind[int]:
    """A number of bytes."""
    return _integer(f"a number of bytes from 1 to {most} ({human_bytes(most)})", 1, most)


def _integer(label: str, low: int, high: int) -> Kind[int]:
    def meaning(word: Scalar) -> int | None:
        # 18 digits: int() refuses thousands of them with an error of its own.
        if not word.bare or len(word.text) > 18 or not _INTEGER.fullmatch(word.text):
            return None
        value = int(word.text)
        return value if low <= value <= high else None

    return _worded(label, meaning)


def number(low: float, high: float) -> Kind[float]:
    def meaning(word: Scalar) -> float | None:
        if not word.bare or not _NUMBER.fullmatch(word.text):
            return None
        value = float(word.text)
        return value if low <= value <= high else None

    return _worded(f"a number from {low:g} to {high:.0f}", meaning)


def boolean() -> Kind[bool]:
    def meaning(word: Scalar) -> bool | None:
        return {"true": True, "false": False}.get(word.text) if word.bare else None

    return _worded("true or false", meaning)


def choice(*names: str) -> Kind[str]:
    label = f"{', '.join(names[:-1])} or {names[-1]}"
    return _worded(label, lambda word: word.text if word.text in names else None)


def text(label: str) -> Kind[str]:
    return _worded(label, lambda word: word.text or None)


def matching(label: str, pattern: str | re.Pattern[str]) -> Kind[str]:
    shape = re.compile(pattern)
    return _worded(label, lambda word: word.text if shape.fullmatch(word.text) else None)


def function() -> Kind[str]:
    """`module:function`, as it would be imported."""

    def meaning(word: Scalar) -> str | None:
        module, _, name = word.text.partition(":")
        parts = [*module.split("."), name]
        return word.text if all(part.isidentifier() for part in parts) else None

    return _worded("module:function", meaning)


def host() -> Kind[HostPattern]:
    hint = (
        "only the host, without http:// or a path; international names in their xn-- form; "
        'an IPv6 address as "[::1]"; after *. a domain with a dot'
    )
    return _worded("host, *.host or host:port", lambda word: HostPattern.parse(word.text), hint)


def path() -> Kind[Path]:
    """A path; see `expand` for `~`, `..` and relative ones."""

    def parse(node: Node, key: str, reading: Reading) -> Path | None:
        if not isinstance(node, Scalar) or not node.text:
            reading.wrong(node, key, f"must be a path, not {describe(node)}")
            return None
        try:
            return expand(node.text, reading.base, reading.env)
        except ConfigError as error:
            reading.wrong(node, key, error.message, error.hint)
            return None

    return Kind("a path", parse)


def listing(item: Kind[T]) -> Kind[tuple[T, ...]]:
    """A list without repetitions."""

    def parse(node: Node, key: str, reading: Reading) -> tuple[T, ...] | None:
        if not isinstance(node, Listing):
            hint = "write it as [one, other]" if isinstance(node, Scalar) else ""
            reading.wrong(node, key, f"must be a list, not {describe(node)}", hint)
            return None
        values: dict[T, None] = {}
        for entry in node.items:
            value = item.parse(entry, key, reading)
            if value is not None and value in values:
                reading.wrong(entry, key, f"{describe(entry)} is listed twice")
            elif value is not None:
                values[value] = None
        return tuple(values)

    return Kind(f"a list, each {item.label}", parse)


@frozen
class AgentSettings:
    """What one agent may do.

    Args:
        tools: ids of the tools that it may call; empty means any, up to the ceiling.
        ceiling: one of CEILINGS, the highest safety class that it may call.
        permissions: names that a tool's `requires_permission` asks for.
    """

    tools: tuple[str, ...] = ()
    ceiling: str = CEILINGS[0]
    permissions: tuple[str, ...] = ()


_AGENT_KEYS: Mapping[str, Kind[Any]] = {
    "tools": listing(matching("a tool id", TOOL_ID)),
    "ceiling": choice(*CEILINGS),
    "permissions": listing(text("a name")),
}


def agents() -> Kind[Mapping[str, AgentSettings]]:
    """Agents by name."""

    def parse(node: Node, key: str, reading: Reading) -> Mapping[str, AgentSettings] | None:
        if not isinstance(node, Table):
            reading.wrong(node, key, f"must be a mapping of agents by name, not {describe(node)}")
            return None
        found = {
            entry.key: _agent(entry, f"{key}.{shorten(entry.key, SHOWN)}", reading) for entry in node.entries
        }
        return MappingProxyType(found)

    return Kind("a mapping of agents by name", parse)


def mapping(label: str, parse_entry: Callable[[Entry, str, Reading], T | None]) -> Kind[Mapping[str, T]]:
    """A mapping by names.

    Args:
        parse_entry: called with an entry and its whole key; gives its value, or None after saying what is wrong.
    """

    def parse(node: Node, key: str, reading: Reading) -> Mapping[str, T] | None:
        if not isinstance(node, Table):
            reading.wrong(node, key, f"must be {label}, not {describe(node)}")
            return None
        values = {
            entry.key: parse_entry(entry, f"{key}.{shorten(entry.key, SHOWN)}", reading)
            for entry in node.entries
        }
        return MappingProxyType({name: value for name, value in values.items() if value is not None})

    return Kind(label, parse)


def inclusions() -> Kind[Mapping[str, tuple[str, ...]]]:
    """Scopes, or patterns such as `project:*`, with the scopes that each includes."""
    included = listing(matching("global, or TYPE:NAME such as team:web", SCOPE))

    def parse(entry: Entry, key: str, reading: Reading) -> tuple[str, ...] | None:
        scopes = included.parse(entry.value, key, reading)
        if not SCOPE.fullmatch(entry.key):
            reading.wrong(entry, key, "is no scope, and no pattern such as project:*")
            return None
        return scopes

    return mapping(
        "a mapping of scopes or patterns, such as project:shop or project:*, to lists of scopes", parse
    )


def choices(label: str, *names: str) -> Kind[Mapping[str, str]]:
    """Patterns, each with one of these names."""
    one = choice(*names)
    return mapping(label, lambda entry, key, reading: one.parse(entry.value, key, reading))


def numbers(low: float, high: float, *names: str) -> Kind[Mapping[str, float]]:
    """Numbers by these names."""
    one = number(low, high)

    def parse(entry: Entry, key: str, reading: Reading) -> float | None:
        if entry.key not in names:
            reading.wrong(entry, key, "is no name of these" + nearest(entry.key, names))
            return None
        return one.parse(entry.value, key, reading)

    return mapping(f"a mapping of {', '.join(names)} to numbers", parse)


def durations(label: str) -> Kind[Mapping[str, int]]:
    """Patterns, each with a duration such as 90d, in seconds."""

    def parse(entry: Entry, key: str, reading: Reading) -> int | None:
        written = text("a duration such as 90d").parse(entry.value, key, reading)
        try:
            return None if written is None else parse_duration(written)
        except UsageError as error:
            reading.wrong(entry, key, error.message)
            return None

    return mapping(label, parse)


def _agent(agent: Entry, key: str, reading: Reading) -> AgentSettings:
    if not isinstance(agent.value, Table):
        message = f"must be a mapping, not {describe(agent.value)}"
        reading.wrong(agent, key, message, f"its keys: {', '.join(_AGENT_KEYS)}")
        return AgentSettings()
    given = {}
    for entry in agent.value.entries:
        inner = f"{key}.{shorten(entry.key, SHOWN)}"
        kind = _AGENT_KEYS.get(entry.key)
        if kind is None:
            reading.wrong(entry, inner, f"unknown key{nearest(entry.key, _AGENT_KEYS)}")
        elif entry.key == "tools" and isinstance(entry.value, Listing) and not entry.value.items:
            # The kernel reads an empty allowlist as "any tool", the opposite of what it looks like.
            reading.wrong(entry, inner, "an empty list would allow every tool", "remove the key to mean that")
        elif (value := kind.parse(entry.value, inner, reading)) is not None:
            given[entry.key] = value
    return AgentSettings(**given)
