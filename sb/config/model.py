"""The settings and what they mean.

The fields below are the one table of settings. To add one, add a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sb.config import kinds, rules
from sb.config.home import Home
from sb.config.host_patterns import HostPattern
from sb.config.kinds import AgentSettings
from sb.config.narrowing import (
    inner_folders,
    lower_than_set,
    only_off,
    same,
    shared,
    shared_hosts,
    smaller,
    stricter,
)
from sb.config.rules import PolicyRule
from sb.config.setting import Setting, groups_of, setting, settings_of
from sb.errors import ConfigError
from sb.text import nearest

_MIB = 1 << 20
_KIB = 1 << 10
_MANY = 1_000_000_000

DURABILITIES = ("process", "power")
EMBEDDERS = ("static", "ollama", "transformers", "none")
ENFORCEMENTS = ("off", "observe", "enforce")
SAFETY_MODES = ("normal", "safe", "strict")


@dataclass(frozen=True)
class Budget:
    """Limits of a run that `sb` starts."""

    max_tool_calls: int = setting(20, kinds.integer(1, _MANY), "Tool calls that may run.", narrow=smaller())
    max_retries_per_tool: int = setting(
        3, kinds.integer(0, 100), "Retries of one call, whatever its contract allows.", narrow=smaller()
    )
    max_prompt_tokens: int = setting(
        4000, kinds.integer(1, _MANY), "Prompt tokens, as far as callers report them.", narrow=smaller()
    )
    max_latency_ms: int = setting(
        30_000,
        kinds.integer(1, _MANY),
        "Milliseconds inside tools; waiting for a person does not count.",
        narrow=smaller(),
    )
    max_cost_usd_cents: float = setting(
        10.0, kinds.number(0.01, _MANY), "US cents, as far as callers report them.", narrow=smaller()
    )


@dataclass(frozen=True)
class Files:
    """The file tools."""

    roots: tuple[Path, ...] = setting(
        (),
        kinds.listing(kinds.path()),
        "Folders whose files agents may use, with everything below; none by default. Relative to the "
        "configuration file.",
        narrow=inner_folders(),
        example="[~/projects/site]",
    )
    keep_max_bytes: int = setting(
        5 * _MIB,
        kinds.size(),
        "The largest file that tools may overwrite or delete, since its content is kept for undo.",
        narrow=smaller(),
    )
    max_read_bytes: int = setting(1 * _MIB, kinds.size(), "The most that one read returns.", narrow=smaller())
    # Where relative paths start, if not at the first root: a file that only narrows gives no path another meaning.
    start: Path | None = None


@dataclass(frozen=True)
class Http:
    """The HTTP tools."""

    allow: tuple[HostPattern, ...] = setting(
        (),
        kinds.listing(kinds.host()),
        "Hosts that agents may reach; none by default. *.host means every host below it, not itself (in "
        "quotes: YAML reads a bare * as something else). Without a port only 80 and 443 are meant.",
        narrow=shared("hosts inside the configured ones", shared_hosts),
        example='[example.org, "*.example.org", "localhost:8080"]',
    )
    max_bytes: int = setting(1 * _MIB, kinds.size(), "The most that one response may hold.", narrow=smaller())


@dataclass(frozen=True)
class Shell:
    """The shell tool."""

    env: tuple[str, ...] = setting(
        ("PATH", "LANG", "LC_ALL", "TZ"),
        kinds.listing(kinds.matching("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*")),
        "Environment variables that a command is given; it sees no others.",
        narrow=shared("some of the configured ones, and PATH", same, fixed=("PATH",)),
    )
    max_output_bytes: int = setting(
        256 * _KIB, kinds.size(), "The most that is kept of a command's output.", narrow=smaller()
    )


@dataclass(frozen=True)
class Approvals:
    """Calls that wait for a person."""

    overdue_after_minutes: int = setting(
        30, kinds.integer(1, 43_200), "Minutes after which a request is shown as overdue.", narrow=smaller()
    )
    expire_after_minutes: int = setting(
        240,
        kinds.integer(1, 43_200),
        "Minutes after which a request counts as denied, and an approval that was not used is worth nothing.",
        narrow=smaller(),
    )
    dual_control: tuple[str, ...] = setting(
        (),
        kinds.listing(kinds.text("a pattern of tool ids, such as payments.*")),
        "Tools of which two people have to approve each call, as patterns of their ids; both have to be enrolled "
        "operators.",
        example='["payments.*"]',
    )


def _ceiling(what: str) -> float:
    """The most of one dimension; at its default there is none."""
    meaning = f"The most {what} that one run may do without a person's agreement; {_MANY} is no limit."
    # Without a ceiling, what cannot be undone asks a person; a ceiling says how much of it is fine without one.
    return setting(float(_MANY), kinds.number(0, _MANY), meaning, narrow=lower_than_set(float(_MANY)))


@dataclass(frozen=True)
class Irreversibility:
    """What a run may do that stays. Reversible calls count nothing, compensable ones a tenth, irreversible ones all."""

    money: float = _ceiling("money")
    comms: float = _ceiling("communication")
    commitments: float = _ceiling("commitment")
    exposure: float = _ceiling("exposure")
    regulatory: float = _ceiling("regulated consequence")

    def ceilings(self) -> dict[str, float]:
        """Dimension to its ceiling, for those that have one."""
        return {name: limit for name, limit in vars(self).items() if limit < _MANY}


@dataclass(frozen=True)
class Kill:
    """Stopping agents, tools and runs."""

    dual_control: bool = setting(
        False,
        kinds.boolean(),
        "Once two operators are enrolled, what is killed from then on needs two of them to lift it.",
    )


@dataclass(frozen=True)
class Hooks:
    """Coding agents whose hosts ask before each call (`sb install`)."""

    approval: str = setting(
        "queue",
        kinds.choice("queue", "ask"),
        "What becomes of a call that needs a person: queue refuses it until somebody has approved it here, ask lets "
        "hosts that can ask their own person at once, until an operator is enrolled (others queue).",
        narrow=stricter("ask", "queue"),
    )
    unjudged: str = setting(
        "reads",
        kinds.choice("all", "reads", "none"),
        "Which calls go on when they cannot be judged, because the database or the configuration cannot be used.",
        narrow=stricter("all", "reads", "none"),
    )
    deadline_seconds: int = setting(
        20,
        kinds.integer(1, 25),
        "Seconds after which a call that is not judged yet counts as one that cannot be; hosts wait 30.",
    )
    read_only: tuple[str, ...] = setting(
        (),
        kinds.listing(kinds.text("a pattern of a host's tool names, such as mcp__github__get_*")),
        "Tools of hosts, and of MCP servers, that only read, as patterns of their names.",
        example='["mcp__github__get_*"]',
    )


@dataclass(frozen=True)
class Memory:
    """What agents remember, and how it is found again."""

    embedder: str = setting(
        EMBEDDERS[0],
        kinds.choice(*EMBEDDERS),
        "What makes vectors of texts, so that a memory is found by what it means: static is installed with `sb` and uses "
        "no network, ollama asks a server, transformers runs a model inside `sb` (sb[transformers]), none leaves "
        "search to words alone. After a change, vectors are made again as housekeeping comes to them.",
    )
    ollama_url: str = setting(
        "http://127.0.0.1:11434",
        kinds.matching("http://host:port or https://host:port", r"https?://[A-Za-z0-9.\-\[\]:]+"),
        "The Ollama server. It is sent the texts that are remembered.",
    )
    ollama_model: str = setting(
        "nomic-embed-text",
        kinds.text("the name of a model"),
        "Its embedding model; fetch it with `ollama pull`.",
    )
    transformers_model: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2",
        kinds.text("the name of a model, or its folder"),
        "The model of sentence-transformers. It is never fetched by `sb`: it has to be on this machine.",
    )
    includes: Mapping[str, tuple[str, ...]] = setting(
        MappingProxyType({}),
        kinds.inclusions(),
        "Which scopes a session reads beside its own and global, by its scope or by TYPE:* for every scope of a type; "
        "what an included scope includes is read too.",
        example='{"project:*": ["team:web"], "project:shop": ["customer:acme"]}',
    )
    sync_scopes: tuple[str, ...] = setting(
        ("*",),
        kinds.listing(kinds.text("a pattern of scopes, such as project:*")),
        "Scopes whose memories a stack gives to another database and takes from it, as patterns. What an agent keeps for "
        "itself only goes with that agent's own core.",
        example='["global", "project:*"]',
    )
    hooks: bool = setting(
        True,
        kinds.boolean(),
        "Tell coding agents what is remembered of a project when their session starts, and keep what it leaves behind "
        "when it ends (`sb install`).",
        narrow=only_off(),
    )
    orient_tokens: int = setting(
        2000,
        kinds.integer(100, 10_000),
        "Tokens, estimated, that a coding agent is told of it at most.",
        narrow=smaller(),
    )


@dataclass(frozen=True)
class Entity:
    """Entities and their plugins."""

    plugin_fail_fast: bool = setting(
        False,
        kinds.boolean(),
        "Load a plugin not at all if its tools or commands cannot be registered, instead of without them.",
        env="SB_PLUGIN_FAIL_FAST",
    )


@dataclass(frozen=True)
class Operators:
    """Who may decide."""

    file: Path = setting(  # noqa: RUF009 (what it returns is a field)
        Path("operators.json"),
        kinds.path(),
        "The file that pins the public keys of operators, relative to the configuration file. Where the user who runs "
        "agents cannot write it and its folder, no process of that user can enrol itself.",
    )


@dataclass(frozen=True)
class Audit:
    """The log."""

    anchor_every: int = setting(
        1000,
        kinds.integer(1, 1_000_000),
        "Transactions of one process after which the head of the log is written outside the database; it also is "
        "when the process ends, and with each commit that survives power loss.",
        narrow=smaller(),
    )
    retention_days: int = setting(
        0,
        kinds.integer(0, 36_500),
        "Days after which `sb audit prune` removes payloads; 0 keeps them for ever.",
    )


@dataclass(frozen=True)
class Telemetry:
    """Traces and metrics."""

    arguments: bool = setting(False, kinds.boolean(), "Put redacted arguments on spans.", narrow=only_off())


@dataclass(frozen=True)
class Config:
    """Every setting in force, and where each came from; made by `load_config`.

    Args:
        origins: key to origin, for the settings that are not at their default.
        notes: what was ignored and why, one line each.
    """

    home: Home
    database: Path = setting(  # noqa: RUF009 (what it returns is a field)
        Path("brain.db"),
        kinds.path(),
        "The database file, relative to the configuration file.",
        env="SB_DB",
        flag="--db",
    )
    durability: str = setting(
        DURABILITIES[0],
        kinds.choice(*DURABILITIES),
        "What a committed record survives: the end of the process, or a power failure too (slower).",
        narrow=stricter(*DURABILITIES),
    )
    contract_enforcement: str = setting(
        ENFORCEMENTS[-1],
        kinds.choice(*ENFORCEMENTS),
        "off compares no contracts; observe logs a contract that changed since it was registered; enforce also refuses "
        "the call, unless it only reads.",
        narrow=stricter(*ENFORCEMENTS),
    )
    reversibility: str = setting(
        ENFORCEMENTS[-1],
        kinds.choice(*ENFORCEMENTS),
        "observe keeps a way back from each call that changed something; enforce also asks a person before what cannot "
        "be undone, and holds runs to the blast radius of tools and to the ceilings of irreversibility.",
        narrow=stricter(*ENFORCEMENTS),
    )
    safety_mode: str = setting(
        SAFETY_MODES[0],
        kinds.choice(*SAFETY_MODES),
        "normal allows every safety class, safe and strict only read_only, and strict redacts results as well. "
        "The stricter of this and the run's own mode counts.",
        narrow=stricter(*SAFETY_MODES),
    )
    max_args_bytes: int = setting(
        1 * _MIB, kinds.size(), "The largest arguments of a call.", narrow=smaller()
    )
    max_result_bytes: int = setting(8 * _MIB, kinds.size(), "The largest result of a call.", narrow=smaller())
    budget: Budget = field(default_factory=Budget)
    agents: Mapping[str, AgentSettings] = setting(
        MappingProxyType({}),
        kinds.agents(),
        "What each agent may do, by its name: the ids of its tools (without the key, any up to the ceiling), "
        f"the highest safety class ({', '.join(kinds.CEILINGS)}; by default the first) and the permissions "
        "it holds.",
        example="{reviewer: {tools: [files.read], ceiling: read_only, permissions: [source.read]}}",
    )
    tools: tuple[str, ...] = setting(
        (),
        kinds.listing(kinds.function()),
        "Functions that register tools of your own, as module:function. Their code runs inside `sb`.",
        example='["my_tools:register"]',
    )
    policy: tuple[PolicyRule, ...] = setting(
        (),
        rules.policy(),
        "Rules about calls, in any order: deny beats approve (a person has to agree), approve beats allow. As soon as "
        "one rule allows, what no rule names is denied. Patterns of tools, agents, classes and arguments; "
        "docs/guides/policy.md.",
        example="[{deny: http.*, args: {url: '*internal*'}, reason: internal hosts are off limits}]",
    )
    files: Files = field(default_factory=Files)
    http: Http = field(default_factory=Http)
    shell: Shell = field(default_factory=Shell)
    approvals: Approvals = field(default_factory=Approvals)
    irreversibility: Irreversibility = field(default_factory=Irreversibility)
    kill: Kill = field(default_factory=Kill)
    hooks: Hooks = field(default_factory=Hooks)
    memory: Memory = field(default_factory=Memory)
    entity: Entity = field(default_factory=Entity)
    operators: Operators = field(default_factory=Operators)
    audit: Audit = field(default_factory=Audit)
    telemetry: Telemetry = field(default_factory=Telemetry)
    origins: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "database", self.home.folder / self.database)  # the defaults are relative
        object.__setattr__(self, "operators", Operators(self.home.folder / self.operators.file))

    def get(self, key: str) -> Any:
        """The value of a setting by its key; raises ConfigError for a key that is none."""
        known_setting(key)
        value: Any = self
        for name in key.split("."):
            value = getattr(value, name)
        return value

    def origin(self, key: str) -> str:
        """Where a value came from: "default", "/path/config.yaml:12", "SB_DB" or "--db".

        Raises:
            ConfigError: no setting has this key.
        """
        return self.origins.get(known_setting(key).key, "default")


SETTINGS: tuple[Setting, ...] = tuple(settings_of(Config))
BY_KEY: Mapping[str, Setting] = MappingProxyType({row.key: row for row in SETTINGS})
GROUPS: Mapping[str, type] = MappingProxyType(groups_of(Config))


def known_setting(key: str) -> Setting:
    """The row of a key; raises ConfigError with the nearest one for an unknown key."""
    row = BY_KEY.get(key)
    if row is None:
        raise ConfigError(f"no setting {key!r}{nearest(key, BY_KEY)}", "sb config show lists them")
    return row


def assemble(
    home: Home,
    values: Mapping[str, Any],
    origins: Mapping[str, str],
    notes: tuple[str, ...],
    start: Path | None = None,
) -> Config:
    """A Config of the values by key; settings that are not among them keep their defaults.

    Args:
        start: as in `Files`.
    """
    parts: dict[str, Any] = {name: {} for name in GROUPS}
    for key, value in values.items():
        row = BY_KEY[key]
        (parts[row.group] if row.group else parts)[row.name] = value
    parts["files"]["start"] = start
    parts |= {name: cls(**parts[name]) for name, cls in GROUPS.items()}
    return Config(home, **parts, origins=MappingProxyType(dict(origins)), notes=notes)
