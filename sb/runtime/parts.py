"""Parts of an installation, opened alone as its configuration says: log, registry, operators, baselines, policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.config import Config
from sb.config.guards import OFF
from sb.config.organization import FOLDER as ORGANIZATION_FOLDER
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.seeding import seed_shipped
from sb.kernel.baselines.seen import SURFACES
from sb.kernel.baselines.store import ContractBaselineStore, require_surface
from sb.kernel.contracts import (
    CHARTER_SURFACE,
    KERNEL_SURFACE,
    RELEASE_SURFACE,
    AgentCapabilities,
    SafetyClass,
)
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.kernel.policy.permissions import ToolPolicy
from sb.kernel.policy.rules import WrittenPolicy
from sb.kernel.registry.registry import SHIPPED, ToolRegistry
from sb.kernel.review.log_pruning import adopt_prunes
from sb.kernel.run_context import SafetyMode
from sb.log.event_log import EventLog
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset, judged_by
from sb.store.armed_triggers import any_armed, learns_from, unreadable
from sb.store.database import database_files, open_database
from sb.tools import register_builtin
from sb.tools.hosted.contracts import register_hosted
from sb.tools.hosted.files import CallLimits, HostedFiles
from sb.tools.hosted.guarding import guarded
from sb.tools.hosted.trees import HostedTrees

if TYPE_CHECKING:  # a process that judges one call has no need of them
    from sb.kernel.agent_charter.charters import Charters
    from sb.kernel.autonomy.judging import Autonomy
    from sb.kernel.autonomy.proposals import Proposals
    from sb.kernel.boundaries.boundaries import Boundaries
    from sb.kernel.calls.call import ToolCall
    from sb.kernel.context_sources.reading import SourceGuard
    from sb.kernel.context_sources.source_files import SourceFile
    from sb.kernel.execution.capturing import Capturing
    from sb.kernel.execution.outcome import Outcome
    from sb.kernel.execution.output_guard import OutputGate
    from sb.kernel.execution.result_guards import ResultGuard
    from sb.kernel.release_tuple.releases import Releases
    from sb.kernel.replay.shelf import PacketShelf
    from sb.kernel.review.findings import Finding
    from sb.kernel.run_context import RunContext
    from sb.memory.access import ScopeRefusal
    from sb.store.snapshots import SnapshotStore
    from sb.store.trees.store import TreeStore
    from sb.tools.discovery import LoadFailure

_DATABASE = b"SQLite format 3\0"  # how the file of one begins that is not encrypted


def open_log(config: Config, *, clock: Clock = SYSTEM_CLOCK, ids: Ids = SYSTEM_IDS) -> EventLog:
    """The durable log alone, for what only reads it; the database must exist.

    Raises:
        StoreError: there is no database, or it cannot be used.
    """
    database = open_database(config.database, create=False, clock=clock, ids=ids)
    every = config.audit.anchor_every
    return EventLog.of_home(database, config.home, anchor_every=every, clock=clock, ids=ids)


def open_registry(
    config: Config, *, hosted: bool = False, shipped: Callable[[], ToolRegistry] | None = None
) -> tuple[ToolRegistry, tuple[LoadFailure, ...]]:
    """The shipped tools, those of others, and the agents of the configuration; needs no database.

    Args:
        hosted: of the tools only what hosts of coding agents do, for a process that judges one call.
        shipped: makes the registry that the others are added to; by default `shipped_registry`.
    """
    registry = hosted_registry(config) if hosted else shipped() if shipped else shipped_registry(config)
    failures: Sequence[LoadFailure] = ()
    if not hosted:
        from sb.tools.discovery import load_third_party

        failures = load_third_party(registry, config.tools)
    for name, agent in config.agents.items():
        registry.register_agent(
            AgentCapabilities(
                name,
                tool_allowlist=list(agent.tools),
                safety_class_ceiling=SafetyClass(agent.ceiling),
            )
        )
    return registry, tuple(failures)


def unknown_names(config: Config) -> list[str]:
    """Lists the tools, patterns and modules of a configuration that name nothing here; one line for each."""
    from sb.kernel.policy.lint import unknown_names

    registry, failures = open_registry(config)
    return [*map(str, failures), *unknown_names(config, registry.list_ids())]


def shipped_registry(config: Config) -> ToolRegistry:
    """The tools that come with this version, and no others."""
    registry = hosted_registry(config)
    store = open_snapshots(config)
    untouched = [*protected(config), *_guarded_below(config.files.roots, config)]
    register_builtin(registry, config.files, config.http, config.shell, store, untouched)
    return registry


def hosted_registry(config: Config) -> ToolRegistry:
    """The registry of hosts' tools, and of those that put their files back."""
    registry = ToolRegistry(config.home.folder)
    with registry.source(SHIPPED):
        register_hosted(registry, hosted_files(config))
    return registry


def hosted_files(config: Config) -> HostedFiles:
    """The files that hosts of coding agents change."""
    limits = CallLimits(config.undo.call_max_bytes, config.undo.call_max_files)
    return HostedFiles(partial(open_snapshots, config), protected(config), limits, hosted_trees(config))


def hosted_trees(config: Config) -> HostedTrees:
    """The trees of projects around the calls of coding agents."""
    return HostedTrees(
        partial(open_trees, config),
        lambda: open_snapshots(config).packs,
        seconds=config.undo.tree_ms / 1000,
        bounds=(config.undo.call_max_bytes, config.undo.call_max_files),
        home=str(config.home.folder),
    )


def trees_off(config: Config) -> str:
    """The reason to store no trees of projects; "" for none."""
    if not config.hooks.keep:
        return "hooks.keep is false"
    if not config.undo.tree_ms:
        return "undo.tree_ms is 0"
    if _is_encrypted(config.database):
        return "the database is encrypted, and trees are not"
    from sb.store.trees.git_program import git_path

    return "" if git_path() else "no git of the system is installed"


def _is_encrypted(database: Path) -> bool:
    """True for an encrypted database file, told by its first bytes."""
    try:
        with database.open("rb") as file:
            begins = file.read(len(_DATABASE))
    except OSError:
        return False
    return bool(begins) and begins != _DATABASE


def open_trees(config: Config) -> TreeStore:
    """The trees of projects, as they were before calls."""
    from sb.shell.credentials.files import PRIVATE, secret_path
    from sb.shell.places.sensitive import folded
    from sb.store.trees.part import Rules
    from sb.store.trees.store import TreeStore

    ruleset = shell_rules(config)

    def is_secret(path: str) -> bool:
        with judged_by(ruleset):  # packs of one's own add files to the table
            secret = secret_path(folded(path))
        return secret is not None and secret.kind != PRIVATE

    rules = Rules(
        is_secret, [os.path.realpath(path) for path in protected(config)], config.undo.call_max_bytes
    )
    return TreeStore(
        config.home.trees, rules, cap_bytes=config.undo.store_max_bytes, keep_days=config.undo.keep_days
    )


def open_snapshots(config: Config) -> SnapshotStore:
    """The snapshots of files that calls changed."""
    from sb.store.snapshots import SnapshotStore

    return SnapshotStore(
        config.home.snapshots,
        config.files.keep_max_bytes,
        cap_bytes=config.undo.store_max_bytes,
        keep_days=config.undo.keep_days,
    )


def protected(config: Config) -> list[Path]:
    """Paths that no tool and no host may touch."""
    return [config.home.folder, *database_files(config.database), config.operators.file, ORGANIZATION_FOLDER]


def shell_rules(config: Config) -> Ruleset:
    """The rules that command lines are judged by: shipped packs, and those of the configuration.

    Raises:
        ConfigError: a pack cannot be used; with file, line and rule.
    """
    if not config.hooks.packs and not config.hooks.packs_disabled:
        return SHIPPED_RULES
    from sb.shell.packs.custom_packs import ruleset

    return ruleset(config.hooks.packs_disabled, config.hooks.packs, config.home.compiled_packs)


def judging_files(config: Config) -> list[Path]:
    """Files and folders outside of the home by which agents are judged: rules for their calls, and their evals."""
    return [*(pack.path for pack in config.hooks.packs), *config.release.eval]


def _guarded_below(roots: Sequence[Path], config: Config) -> Iterator[Path]:
    """Files that decide how calls are judged, in folders that are open to tools."""
    folders = [os.path.realpath(root) for root in roots]
    for place in guarded(config.home, os.environ, judging_files(config)).places if folders else ():
        if any(os.path.realpath(place.path).startswith(folder.rstrip("/") + "/") for folder in folders):
            yield Path(place.path)


def open_packets(config: Config, clock: Clock = SYSTEM_CLOCK) -> PacketShelf:
    """The captured runs of a home."""
    from sb.kernel.replay.shelf import PacketShelf

    settings = config.replay
    return PacketShelf(
        config.home.packets,
        config.home.digest_key,
        clock,
        keep_days=settings.keep_days,
        max_bytes=settings.max_bytes,
    )


def open_capture(config: Config, clock: Clock) -> Capturing | None:
    """The capture of runs for a replay; None where no agent is captured.

    Raises:
        ConfigError: which ones are cannot be read.
    """
    if not config.home.packets.exists():
        return None
    from sb.kernel.replay.shelf import Capture

    shelf = open_packets(config, clock)
    agents = shelf.agents()
    return Capture(shelf, frozenset(agents), clock) if agents else None


def open_approvals(config: Config, log: EventLog) -> Approvals:
    """The queue of a log, for faces that only decide and never call a tool."""
    return Approvals(log, open_authority(config, log))


def open_authority(config: Config, log: EventLog) -> Authority:
    """The authority of this home and log."""
    return Authority(config.operators.file, log)


def open_kill_switch(config: Config, log: EventLog) -> KillSwitch:
    """The kill switch, for faces that only stop and lift."""
    return KillSwitch(log, open_authority(config, log), dual_control=config.kill.dual_control)


def adopt_log(config: Config, log: EventLog) -> None:
    """Record outside the database what counts on a log from before that was done; raises SBError.

    Once only: of a database that the home knows, what is missing there was put into it by something else.
    """
    if log.anchor is None or log.anchor.statements.read(log.database_id, log.place).known:
        return
    open_kill_switch(config, log).adopt()
    adopt_prunes(log)


def open_baselines(
    config: Config, log: EventLog, authority: Authority, surface: str = KERNEL_SURFACE
) -> ContractBaselineStore:
    """The approved contracts of a surface; in a new database those that this version ships are."""
    return baselines_of(log, authority, surface, lambda: shipped_registry(config))


def open_surfaces(config: Config, log: EventLog) -> list[ContractBaselineStore]:
    """`open_baselines` of every surface."""
    authority = open_authority(config, log)
    return [open_baselines(config, log, authority, surface) for surface in SURFACES]


def baselines_of(
    log: EventLog, authority: Authority, surface: str, shipped: Callable[[], ToolRegistry]
) -> ContractBaselineStore:
    """`open_baselines` of a registry that is made only when nothing is approved yet."""
    require_surface(surface)
    store = ContractBaselineStore(log, authority, surface)
    seed_shipped(store, authority, shipped)
    return store


def open_policy(config: Config) -> ToolPolicy:
    """The policy of a configuration."""
    return ToolPolicy(SafetyMode(config.safety_mode), rules=WrittenPolicy(config.policy))


def result_guards(config: Config, log: EventLog, refusal: ScopeRefusal | None = None) -> list[ResultGuard]:
    """The guards of results before callers get them, and last what reminds of triggers and lessons.

    Args:
        refusal: why an agent may not use a scope of memory, by its charter.
    """
    guards: list[ResultGuard] = []
    if config.red_team.tool_results != OFF:
        from sb.kernel.execution.attack_guard import attack_guard

        guards.append(attack_guard(log, config.red_team.tool_results))
    if config.output_gate.results:
        from sb.kernel.execution.output_guard import output_guard

        guards.append(output_guard(output_gate(log), config.output_gate.results, config.output_gate.action))

    def remind(call: ToolCall, outcome: Outcome) -> None:
        try:
            failed = outcome.code is not None
            if failed or any_armed(log.database) or learns_from(log.database, call.ctx.run_id):
                from sb.memory.triggers import results  # most homes have none

                results.remind(config, log, refusal, call, outcome)
        except Exception as error:  # noqa: BLE001 - whatever it is, the result goes out, and says so
            outcome.warning = "\n".join(filter(None, (outcome.warning, unreadable(error))))

    return [*guards, remind]


def output_gate(log: EventLog) -> OutputGate:
    """The gate of what leaves runs, with what this log's memory says of personal values."""
    from sb.kernel.execution.output_guard import OutputGate
    from sb.memory.scoped_values import belongs_elsewhere, scope_of_project

    def elsewhere(value: str, ctx: RunContext) -> bool:
        scope = str(ctx.metadata.get("scope") or scope_of_project(str(ctx.metadata.get("project", ""))))
        return belongs_elsewhere(log.database, value, scope)

    return OutputGate(log, elsewhere)


def granted_permissions(config: Config) -> dict[str, tuple[str, ...]]:
    """Agent name to the permissions that the configuration grants."""
    return {name: agent.permissions for name, agent in config.agents.items()}


def open_charters(config: Config, log: EventLog, authority: Authority) -> Charters:
    """The charters of agents, whether or not they are enforced."""
    from sb.kernel.agent_charter.charters import Charters

    store = ContractBaselineStore(log, authority, CHARTER_SURFACE)
    return Charters(config.home.charters, log, store)


def open_boundaries(
    config: Config, log: EventLog, authority: Authority, registry: ToolRegistry
) -> Boundaries | None:
    """The boundaries of runs and calls; None where the configuration sets none."""
    released, sourced = config.release.check != "off", config.context_sources != "off"
    if not (config.agent_charters != "off" or config.intents or released or sourced):
        return None
    from sb.kernel.boundaries.boundaries import Boundaries

    on = config.agent_charters != "off"
    charters = open_charters(config, log, authority) if on else None
    return Boundaries(
        intents=config.intents,
        charters=charters,
        enforce=config.agent_charters == "enforce",
        releases=open_releases(config, log, authority, registry, charters) if released else None,
        pinned=config.release.check == "enforce",
        sources=open_source_guard(config, log, authority) if sourced else None,
    )


def open_autonomy(config: Config, log: EventLog, authority: Authority) -> Autonomy | None:
    """The levels that calls are held to; None where autonomy is off."""
    if config.autonomy.mode == OFF:
        return None
    from sb.kernel.autonomy.judging import Autonomy
    from sb.kernel.autonomy.levels import Levels

    return Autonomy(Levels(log, authority), enforced=config.autonomy.mode == "enforce")


def open_proposals(config: Config, log: EventLog) -> Proposals:
    """The levels of autonomy of a log, with their proposals."""
    from sb.kernel.autonomy.levels import Levels
    from sb.kernel.autonomy.proposals import Proposals

    return Proposals(Levels(log, open_authority(config, log)))


def open_source_guard(config: Config, log: EventLog, authority: Authority) -> SourceGuard:
    """The guard that holds context to the registered sources, read anew at each call."""
    from sb.kernel.context_sources.reading import SourceGuard

    file = open_sources(config, log, authority)
    return SourceGuard(file.load, enforce=config.context_sources == "enforce")


def open_sources(config: Config, log: EventLog, authority: Authority) -> SourceFile:
    """The file of registered sources of context."""
    from sb.kernel.boundaries.owners import Owners
    from sb.kernel.context_sources.source_files import SourceFile

    return SourceFile(config.home.context_sources, clock=log.clock, owner_refusal=Owners(authority).refusal)


def boundary_findings(config: Config, log: EventLog, authority: Authority) -> Iterator[Finding]:
    """True if the charters and context sources that are switched on can be relied on; one finding each."""
    charters, sources = config.agent_charters, config.context_sources
    if charters != "off" or sources != "off":
        from sb.kernel.review.boundary_findings import charters_finding, sources_finding

        if charters != "off":
            yield charters_finding(open_charters(config, log, authority), enforced=charters == "enforce")
        if sources != "off":
            yield sources_finding(open_sources(config, log, authority), enforced=sources == "enforce")


def open_releases(
    config: Config,
    log: EventLog,
    authority: Authority,
    registry: ToolRegistry | None = None,
    charters: Charters | None = None,
) -> Releases:
    """The releases of agents; arguments as for the class."""
    from sb.kernel.release_tuple.releases import Releases

    return Releases(config, log, ContractBaselineStore(log, authority, RELEASE_SURFACE), registry, charters)
