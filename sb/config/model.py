"""Settings and what they mean.

The fields here and in `sb.config.groups` are the one table of settings. To add one, add a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sb.base.reading import choice, listing, matching
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.config import kinds, rules
from sb.config.credentials import CredentialSource, credentials_kind
from sb.config.database_key import NONE, REFERENCE
from sb.config.groups import (
    MIB,
    Approvals,
    Audit,
    Autonomy,
    Budget,
    Console,
    Entity,
    Files,
    Hooks,
    Http,
    Irreversibility,
    Kill,
    Operators,
    Release,
    Replay,
    Shell,
    Telemetry,
    Undo,
)
from sb.config.guards import OutputGate, RedTeam
from sb.config.home import Home
from sb.config.kinds import AgentSettings, ModelPrice
from sb.config.memory import MOVED, Memory
from sb.config.narrowing import registered, smaller, stricter
from sb.config.rules import PolicyRule
from sb.config.setting import Setting, groups_of, setting, settings_of
from sb.errors import ConfigError

DURABILITIES = ("process", "power")
DEFAULT = "default"  # the origin of what nothing sets
ENFORCEMENTS = ("off", "observe", "enforce")
INTENT = r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*"
SAFETY_MODES = ("normal", "safe", "strict")


@frozen
class Config:
    """Every setting in force, and where each came from; made by `load_config`.

    Args:
        origins: key to origin, for the settings that are not at their default.
        notes: what was ignored and why, one line each.
        organization: name, version and digest of each file of the organization that is in force.
    """

    home: Home
    database: Path = setting(
        Path("brain.db"),
        kinds.path(),
        "The database file, relative to the configuration file.",
        env="SB_DB",
        flag="--db",
    )
    database_key: str = setting(
        NONE,
        matching("env:NAME, file:/PATH, command:COMMAND or none", f"{NONE}|{REFERENCE}"),
        "Where the key of the database is, 64 hexadecimal digits, once it is encrypted (`sb store encrypt`). Never the key "
        "itself.",
        example='"file:/run/secrets/sb.key"',
    )
    durability: str = setting(
        DURABILITIES[0],
        choice(*DURABILITIES),
        "What a committed record survives: the end of the process, or a power failure too (slower).",
        narrow=stricter(*DURABILITIES),
    )
    contract_enforcement: str = setting(
        ENFORCEMENTS[-1],
        choice(*ENFORCEMENTS),
        "off compares no contracts; observe logs a contract that changed since it was registered; enforce also refuses "
        "the call, unless it only reads.",
        narrow=stricter(*ENFORCEMENTS),
    )
    reversibility: str = setting(
        ENFORCEMENTS[-1],
        choice(*ENFORCEMENTS),
        "observe keeps an undo record of each call that changed something; enforce also asks a person before what cannot "
        "be undone, and holds runs to the blast radius of tools and to the ceilings of irreversibility.",
        narrow=stricter(*ENFORCEMENTS),
    )
    safety_mode: str = setting(
        SAFETY_MODES[0],
        choice(*SAFETY_MODES),
        "normal allows every safety class, safe and strict only read_only, and strict redacts results as well. "
        "The stricter of this and the run's own mode counts.",
        narrow=stricter(*SAFETY_MODES),
    )
    agent_charters: str = setting(
        ENFORCEMENTS[0],
        choice(*ENFORCEMENTS),
        "Whether agents are held to their charters, the files in SB_HOME/charters: observe records what a charter would "
        "refuse; enforce refuses it, and every run of an agent without an approved charter.",
        narrow=stricter(*ENFORCEMENTS),
    )
    intents: tuple[str, ...] = setting(
        (),
        listing(matching("a name such as refund.issue", INTENT)),
        "The registered intents. Once there is one, a run or call for any other is refused, and each outcome records "
        "its intent, which is unstated where none is named.",
        narrow=registered(),
        example="[refund.issue, refund.review]",
    )
    context_sources: str = setting(
        ENFORCEMENTS[0],
        choice(*ENFORCEMENTS),
        "Whether context comes only from registered sources, those of SB_HOME/sources.yaml: observe records where it "
        "comes from; enforce refuses sources that are unregistered, stale or whose owner left.",
        narrow=stricter(*ENFORCEMENTS),
    )
    max_args_bytes: int = setting(1 * MIB, kinds.size(), "The largest arguments of a call.", narrow=smaller())
    max_result_bytes: int = setting(8 * MIB, kinds.size(), "The largest result of a call.", narrow=smaller())
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
        listing(kinds.function()),
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
        within=rules.more_rules(),
    )
    credentials: Mapping[str, CredentialSource] = setting(
        MappingProxyType({}),
        credentials_kind(),
        "Where the credentials are that tools get by reference: names, each with env:VARIABLE, file:PATH (readable by you "
        "alone), keyring:SERVICE/USER or command:LINE, which prints one line. A value is fetched when its tool is called, "
        "and is never stored.",
        example='{billing: "env:BILLING_TOKEN", deploy: "command:pass show deploy"}',
    )
    prices: Mapping[str, ModelPrice] = setting(
        MappingProxyType({}),
        kinds.prices(),
        "US dollars for a million tokens of each model, by its name or a pattern of names, from which the cost of coding "
        "agents' sessions is made: input, output, cache_read, cache_write and cache_write_1h (put there for an hour). A cost that a price is missing for is "
        "unknown.",
        example='{"model-name-*": {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6}}',
    )
    files: Files = field(default_factory=Files)
    undo: Undo = field(default_factory=Undo)
    http: Http = field(default_factory=Http)
    shell: Shell = field(default_factory=Shell)
    approvals: Approvals = field(default_factory=Approvals)
    irreversibility: Irreversibility = field(default_factory=Irreversibility)
    kill: Kill = field(default_factory=Kill)
    autonomy: Autonomy = field(default_factory=Autonomy)
    hooks: Hooks = field(default_factory=Hooks)
    memory: Memory = field(default_factory=Memory)
    red_team: RedTeam = field(default_factory=RedTeam)
    output_gate: OutputGate = field(default_factory=OutputGate)
    entity: Entity = field(default_factory=Entity)
    operators: Operators = field(default_factory=Operators)
    audit: Audit = field(default_factory=Audit)
    replay: Replay = field(default_factory=Replay)
    telemetry: Telemetry = field(default_factory=Telemetry)
    release: Release = field(default_factory=Release)
    console: Console = field(default_factory=Console)
    origins: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    organization: tuple[str, ...] = ()

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
        return self.origins.get(known_setting(key).key, DEFAULT)


SETTINGS: tuple[Setting, ...] = tuple(settings_of(Config))
BY_KEY: Mapping[str, Setting] = MappingProxyType({row.key: row for row in SETTINGS})
GROUPS: Mapping[str, type] = MappingProxyType(groups_of(Config))


def moved(key: str) -> tuple[str, str]:
    """Where a former setting went, as what is wrong with it and what to write."""
    return "is now part of memory.scopes", f"under the scope or pattern, write {MOVED[key]}"


def known_setting(key: str) -> Setting:
    """The row of a key; raises ConfigError with the nearest one for an unknown key."""
    row = BY_KEY.get(key)
    if key in MOVED:
        raise ConfigError(f"{key}: {moved(key)[0]}", moved(key)[1])
    if row is None:
        raise ConfigError(f"no setting {key!r}{nearest(key, BY_KEY)}", "sb config show lists them")
    return row


def assemble(
    home: Home,
    values: Mapping[str, Any],
    origins: Mapping[str, str],
    notes: tuple[str, ...],
    start: Path | None = None,
    organization: tuple[str, ...] = (),
) -> Config:
    """A Config of the values by key; settings that are not among them keep their defaults.

    Args:
        start: as in `Files`. organization: as in `Config`.
    """
    parts: dict[str, Any] = {name: {} for name in GROUPS}
    for key, value in values.items():
        row = BY_KEY[key]
        (parts[row.group] if row.group else parts)[row.name] = value
    parts["files"]["start"] = start
    parts |= {name: cls(**parts[name]) for name, cls in GROUPS.items()}
    origins = MappingProxyType(dict(origins))
    return Config(home, **parts, origins=origins, notes=notes, organization=organization)
