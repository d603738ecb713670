"""The groups of settings: budgets, files, approvals, memory and the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sb.base.reading import choice, flag, integer, listing, mapping, matching, number, text
from sb.base.values.frozen import frozen
from sb.config import kinds
from sb.config.host_patterns import HostPattern
from sb.config.narrowing import (
    inner_folders,
    lower_than_set,
    only_longer,
    only_off,
    only_on,
    same,
    shared,
    shared_hosts,
    smaller,
    stricter,
)
from sb.config.pack_files import PackFile, more_packs, pack_file
from sb.config.setting import setting

MIB = 1 << 20
KIB = 1 << 10
_MANY = 1_000_000_000


@frozen
class Budget:
    """Limits of a run that `sb` starts."""

    max_tool_calls: int = setting(20, integer(1, _MANY), "Tool calls that may run.", narrow=smaller())
    max_retries_per_tool: int = setting(
        3, integer(0, 100), "Retries of one call, whatever its contract allows.", narrow=smaller()
    )
    max_prompt_tokens: int = setting(
        4000, integer(1, _MANY), "Prompt tokens, as far as callers report them.", narrow=smaller()
    )
    max_latency_ms: int = setting(
        30_000,
        integer(1, _MANY),
        "Milliseconds inside tools; waiting for a person does not count.",
        narrow=smaller(),
    )
    max_cost_usd_cents: float = setting(
        10.0, number(0.01, _MANY), "US cents, as far as callers report them.", narrow=smaller()
    )
    session_cost_usd: float = setting(
        float(_MANY),
        number(0.01, _MANY),
        "US dollars after which new calls of a coding agent's session are refused, as its transcript and `prices` tell; "
        f"that lags behind, and is no security boundary. {_MANY} is no limit.",
        narrow=smaller(),
    )

    daily_cost_usd: float = setting(
        float(_MANY),
        number(0.01, _MANY),
        "US dollars that the sessions of a day may cost, which the console's Home shows beside what they did cost, as their "
        f"transcripts and `prices` tell; nothing is refused. {_MANY} is no limit.",
        narrow=smaller(),
    )

    def of_runs(self) -> dict[str, Any]:
        """The limits that the kernel holds runs to."""
        return {name: limit for name, limit in vars(self).items() if not name.endswith("_cost_usd")}

    @property
    def caps_sessions(self) -> bool:
        """True if a coding agent's session has a limit of its cost."""
        return self.session_cost_usd < _MANY

    @property
    def has_daily(self) -> bool:
        """True if the sessions of a day have a budget."""
        return self.daily_cost_usd < _MANY


@frozen
class Files:
    """The file tools."""

    roots: tuple[Path, ...] = setting(
        (),
        listing(kinds.path()),
        "Folders whose files agents may use, with everything below; none by default. Relative to the "
        "configuration file.",
        narrow=inner_folders(),
        example="[~/projects/site]",
    )
    keep_max_bytes: int = setting(
        5 * MIB,
        kinds.size(),
        "The largest file that tools may overwrite or delete, since its content is kept for undo.",
        narrow=smaller(),
    )
    max_read_bytes: int = setting(1 * MIB, kinds.size(), "The most that one read returns.", narrow=smaller())
    # Where relative paths start, if not at the first root: a file that only narrows gives no path another meaning.
    start: Path | None = None


@frozen
class Undo:
    """Snapshots of what calls change."""

    keep_days: int = setting(
        14, integer(1, 3650), "Days for which a snapshot is kept, at least; older ones are removed."
    )
    store_max_bytes: int = setting(
        1024 * MIB,
        kinds.size(1024 * 1024 * MIB),
        "The most that all snapshots take on disk, of which one session uses a quarter at most. Without room for a "
        "snapshot, a call that changes files asks a person first.",
    )
    call_max_bytes: int = setting(
        64 * MIB,
        kinds.size(),
        "The most that one call may overwrite or delete with a snapshot, in all files together.",
        narrow=smaller(),
    )
    call_max_files: int = setting(
        2000,
        integer(1, 100_000),
        "The most files, links and folders in the snapshot of one call.",
        narrow=smaller(),
    )
    tree_ms: int = setting(
        150,
        integer(0, 60_000),
        "Milliseconds in which the project's tree is stored before a command line whose changes are not all known; 0 "
        "for never. A tree that takes longer is stored in the background, and only files that the line names are kept.",
    )


@frozen
class Http:
    """The HTTP tools."""

    allow: tuple[HostPattern, ...] = setting(
        (),
        listing(kinds.host()),
        "Hosts that agents may reach; none by default. *.host means every host below it, not itself (in "
        "quotes: YAML reads a bare * as something else). Without a port only 80 and 443 are meant.",
        narrow=shared("hosts inside the configured ones", shared_hosts),
        example='[example.org, "*.example.org", "localhost:8080"]',
    )
    max_bytes: int = setting(1 * MIB, kinds.size(), "The most that one response may hold.", narrow=smaller())


@frozen
class Shell:
    """The shell tool."""

    env: tuple[str, ...] = setting(
        ("PATH", "LANG", "LC_ALL", "TZ"),
        listing(matching("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*")),
        "Environment variables that a command is given; it sees no others.",
        narrow=shared("some of the configured ones, and PATH", same, fixed=("PATH",)),
    )
    max_output_bytes: int = setting(
        256 * KIB, kinds.size(), "The most that is kept of a command's output.", narrow=smaller()
    )


@frozen
class Approvals:
    """Calls that wait for a person."""

    overdue_after_minutes: int = setting(
        30, integer(1, 43_200), "Minutes after which a request is shown as overdue.", narrow=smaller()
    )
    expire_after_minutes: int = setting(
        240,
        integer(1, 43_200),
        "Minutes after which a request counts as denied, and an approval that was not used is worth nothing.",
        narrow=smaller(),
    )
    dual_control: tuple[str, ...] = setting(
        (),
        listing(text("a pattern of tool ids, such as payments.*")),
        "Tools of which two people have to approve each call, as patterns of their ids; both have to be enrolled "
        "operators.",
        example='["payments.*"]',
        within=only_longer(),
    )


def _ceiling(what: str) -> float:
    """The most of one dimension; at its default there is none."""
    meaning = f"The most {what} that one run may do without a person's agreement; {_MANY} is no limit."
    # Without a ceiling, what cannot be undone asks a person; a ceiling says how much of it is fine without one.
    return setting(float(_MANY), number(0, _MANY), meaning, narrow=lower_than_set(float(_MANY)))


@frozen
class Irreversibility:
    """Limits of lasting effects in a run: reversible calls count 0, compensable ones a tenth, irreversible ones 1."""

    money: float = _ceiling("money")
    comms: float = _ceiling("communication")
    commitments: float = _ceiling("commitment")
    exposure: float = _ceiling("exposure")
    regulatory: float = _ceiling("regulated consequence")

    def ceilings(self) -> dict[str, float]:
        """Dimension to its ceiling, for those that have one."""
        return {name: limit for name, limit in vars(self).items() if limit < _MANY}


@frozen
class Autonomy:
    """Autonomy that agents earn."""

    mode: str = setting(
        "off",
        choice("off", "observe", "enforce"),
        "Whether agents are held to the autonomy that they have earned, by tool: observe records what their level would "
        "have done; enforce refuses or asks about calls that change something, until an operator signs for more "
        "(docs/reference/judgement.md).",
        narrow=stricter("off", "observe", "enforce"),
    )


@frozen
class Kill:
    """Stopping agents, tools and runs."""

    dual_control: bool = setting(
        False,
        flag(),
        "Once two operators are enrolled, what is killed from then on needs two of them to lift it.",
        within=only_on(),
    )


@frozen
class Hooks:
    """Coding agents whose hosts ask before each call (`sb install`)."""

    approval: str = setting(
        "ask",
        choice("queue", "ask"),
        "Who decides about a call that needs a person: ask has a host that can do so ask its own user at once, whose yes is "
        "a permission and no approval; once operators are enrolled, a call that destroys or cannot be undone is queued for "
        "their signature. queue denies every such call until it is approved here. Queued under both: where no user is there, "
        "what sends credentials away, and dual control.",
        narrow=stricter("ask", "queue"),
    )
    secrets: str = setting(
        "ask",
        choice("allow", "ask", "queue", "deny"),
        "What becomes of a call that reads credentials: ask has the host ask its own user where one is there, and queues "
        "the call elsewhere, queue needs an operator's approval, deny refuses, allow lets it go. What would send "
        "credentials over the network is queued under each of them but deny.",
        narrow=stricter("allow", "ask", "queue", "deny"),
    )
    uploads: str = setting(
        "ask",
        choice("allow", "ask"),
        "What becomes of a call that sends a file or a body to a host by its name, or pushes to an address that is no remote: "
        "ask asks once a session for each destination, allow lets it go. Hosts of this machine and names without a dot go.",
        narrow=stricter("allow", "ask"),
    )
    unjudged: str = setting(
        "reads",
        choice("all", "reads", "none"),
        "Which calls go on when they cannot be judged, because the database or the configuration cannot be used.",
        narrow=stricter("all", "reads", "none"),
    )
    deadline_seconds: int = setting(
        20,
        integer(1, 25),
        "Seconds after which a call that is not judged yet counts as one that cannot be; hosts wait 30.",
    )
    read_only: tuple[str, ...] = setting(
        (),
        listing(text("a pattern of a host's tool names, such as mcp__github__get_*")),
        "Tools of hosts, and of MCP servers, that only read, as patterns of their names.",
        example='["mcp__github__get_*"]',
    )
    keep: bool = setting(
        True,
        flag(),
        "Take a snapshot of what a command line deletes or overwrites in the project, instead of asking a person; `sb undo` "
        "restores it.",
        narrow=only_off(),
    )
    confine: str = setting(
        "on",
        choice("off", "on", "require"),
        "Whether agents' commands run in confinement, where the host can start them so and an engine is found (bubblewrap, Landlock, on macOS sandbox-exec): "
        "they then write to the project, temporary folders and caches alone. on goes by the text of a command where that "
        "does not hold, require refuses it.",
        narrow=stricter("off", "on", "require"),
    )
    writable: tuple[Path, ...] = setting(
        (),
        listing(kinds.path()),
        "Folders outside of the project that confined commands may write to without a question.",
        narrow=inner_folders(),
        example="[~/projects/shared]",
    )
    packs: tuple[PackFile, ...] = setting(
        (),
        listing(pack_file()),
        "Files of rules about programs, beside the shipped packs: what a command does, with examples "
        "(docs/reference/shell-classes.md). Relative to the configuration file.",
        narrow=more_packs(),
        example="[packs/our-tools.yaml]",
    )
    packs_disabled: tuple[str, ...] = setting(
        (),
        listing(text("the name of a shipped pack")),
        "Shipped packs that are switched off, so that their programs are unknown ones, which are network.",
        example="[clouds, migrations]",
    )
    resident: bool = setting(
        True,
        flag(),
        "Whether a resident helper judges, a process that stays for 15 minutes and answers many times faster than one "
        "that starts for each call.",
        env="SB_RESIDENT",
    )
    conflicts: str = setting(
        "warn",
        choice("off", "warn", "refuse"),
        "What becomes of a change to a file that another live session has changed in the last 30 minutes: warn names "
        "each session to the other, refuse also refuses the change.",
        narrow=stricter("off", "warn", "refuse"),
    )
    claims: str = setting(
        "tell",
        choice("off", "tell", "hold"),
        "What becomes of a claim in an agent's last message (tests pass, committed, deployed) that its calls and their results "
        "do not support: tell puts it on record and tells the agent when its user writes next, hold also keeps the agent from "
        "stopping, once.",
        narrow=stricter("off", "tell", "hold"),
    )
    mcp: Mapping[str, str] = setting(
        MappingProxyType({}),
        mapping(choice("read", "server", "ask"), "a mapping of patterns of MCP tools to read, server or ask"),
        "Tools of MCP servers, as patterns of their names: read lets one go on, server has it approved once for each "
        "server, ask each time; of several that fit, the strictest counts. Else the tool's name decides.",
        example='{"mcp__postgres__execute_sql": read}',
    )


@frozen
class Entity:
    """Entities and their plugins."""

    plugin_fail_fast: bool = setting(
        False,
        flag(),
        "Load a plugin not at all if its tools or commands cannot be registered, instead of without them.",
        env="SB_PLUGIN_FAIL_FAST",
    )


@frozen
class Operators:
    """The authority that says who may decide."""

    file: Path = setting(
        Path("operators.json"),
        kinds.path(),
        "The file that pins the public keys of operators, relative to the configuration file. Where the user who runs "
        "agents cannot write it and its folder, no process of that user can enrol itself.",
    )


@frozen
class Audit:
    """The log."""

    anchor_every: int = setting(
        1000,
        integer(1, 1_000_000),
        "Transactions of one process after which the head of the log is written outside the database; it also is "
        "when the process ends, and with each commit that survives power loss.",
        narrow=smaller(),
    )
    retention_days: int = setting(
        0,
        integer(0, 36_500),
        "Days after which `sb log prune` removes payloads; 0 keeps them for ever.",
    )


@frozen
class Replay:
    """Packets of captured runs (`sb replay`)."""

    keep_days: int = setting(
        30,
        integer(0, 36_500),
        "Days after which a packet that nothing was added to is removed; 0 keeps it for ever.",
    )
    max_bytes: int = setting(
        64 * MIB, kinds.size(), "The largest packet; later calls of its run are missing."
    )


@frozen
class Telemetry:
    """Traces and metrics."""

    arguments: bool = setting(False, flag(), "Put redacted arguments on spans.", narrow=only_off())


@frozen
class Release:
    """The parts that make agents' runs what they are (`sb release`)."""

    check: str = setting(
        "off",
        choice("off", "observe", "enforce"),
        "observe records the release of each run, and what differs from the one that is pinned; enforce also refuses "
        "runs and calls that differ.",
        narrow=stricter("off", "observe", "enforce"),
    )
    prompt: tuple[Path, ...] = setting(
        (),
        listing(kinds.path()),
        "Files and folders of prompts, which are the prompt of the release. Relative to the configuration file.",
        example="[prompts/refund.md]",
    )
    eval: tuple[Path, ...] = setting(
        (),
        listing(kinds.path()),
        "Files and folders of evaluations, which are the evaluation of the release; no agent may change them. Relative to "
        "the configuration file.",
        example="[evals]",
    )
    model: str = setting(
        "unstated",
        text("the name of a model"),
        "The model of the release, where a run does not say it in `metadata`.",
        example="model-name-2026-11",
    )


@frozen
class Console:
    """The operator's console."""

    lock_after_min: int = setting(
        15,
        integer(0, 1440),
        "Minutes without a key pressed, after which the console forgets the passphrase of the operator's key; 0 for never.",
    )
