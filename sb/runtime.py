"""The composition root: every face, and the harness audit, opens this.

It turns everything on: durable log with its anchor, contract enforcement, the agents' capabilities and permissions,
the shipped tools and those of others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sb.config import Config, current_config
from sb.errors import SBError, StoreError
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.approvals.gate import ApprovalSettings
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.seeding import seed_shipped
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE, AgentCapabilities, SafetyClass
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.execution.telemetry import Telemetry
from sb.kernel.incidents.kill_switch import KillSwitch
from sb.kernel.policy.permissions import ToolPolicy
from sb.kernel.policy.rules import WrittenPolicy
from sb.kernel.registry.registry import SHIPPED, ToolRegistry
from sb.kernel.review.log_pruning import adopt_prunes
from sb.kernel.run_context import RunBudget, RunContext, SafetyMode
from sb.log.event_log import EventLog
from sb.repository import project_folder
from sb.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.store.database import Database, database_files, open_database
from sb.store.snapshots import SnapshotStore
from sb.tools import register_builtin
from sb.tools.hosted.contracts import register_hosted
from sb.tools.hosted.files import HostedFiles
from sb.tools.hosted.guarding import guarded

if TYPE_CHECKING:  # a process that judges one call has no need of them
    from sb.entity import Entity
    from sb.kernel.events import AssumptionInvalidated, EventBus
    from sb.kernel.memory import MemoryStore
    from sb.kernel.recovery.compensation import CompensationDispatcher
    from sb.kernel.recovery.loop import RecoveryLoop, RuntimeDecisionRecord
    from sb.kernel.recovery.service import Recovery
    from sb.kernel.recovery.watching import Looked
    from sb.kernel.workflows.journal import WorkflowJournal
    from sb.memory import Brain
    from sb.stack import SQLiteStack
    from sb.tools.discovery import LoadFailure


@dataclass
class Runtime:
    """An open SecondBrain; close it, or use it as a context manager.

    Args:
        baselines, reversals: the contracts, and the ways back, that an operator approved.
        load_failures: third-party tools that could not be loaded.
        orphans: calls of dead processes that were found unfinished and are now in doubt.
    """

    config: Config
    database: Database
    log: EventLog
    registry: ToolRegistry
    executor: ToolExecutor
    baselines: ContractBaselineStore
    reversals: ContractBaselineStore
    load_failures: tuple[LoadFailure, ...] = ()
    orphans: int = field(default=0)

    def memory_store(self, agent_name: str) -> MemoryStore:
        """The durable memory of one agent."""
        from sb.kernel.memory import MemoryStore

        return MemoryStore(self.database, agent_name)

    def brain(self, agent_id: str, **more: Any) -> Brain:
        """What an agent remembers from session to session.

        Args:
            more: other arguments of `sb.memory.Brain`, such as `scope` and `session`.

        Raises:
            ValueError: a name is empty, or the scope is none.
        """
        from sb.memory import Brain

        return Brain(
            agent_id,
            database=self.database,
            config=self.config,
            clock=self.log.clock,
            ids=self.log.ids,
            **more,
        )

    def stack(self, stack_id: str = "default", **more: Any) -> SQLiteStack:
        """A container of memories in this database; it need not be closed.

        Args:
            more: other arguments of `sb.stack.SQLiteStack`, such as `components`.

        Raises:
            ValueError: the name is empty.
        """
        from sb.stack import SQLiteStack

        return SQLiteStack(
            stack_id,
            database=self.database,
            config=self.config,
            clock=self.log.clock,
            ids=self.log.ids,
            **more,
        )

    def entity(self, core_id: str, *, stack_id: str = "default", **more: Any) -> Entity:
        """A core whose plugins' tools this runtime runs, with a stack of this database attached.

        Args:
            stack_id: of the stack; a Brain keeps what it remembers in `default`.
            more: other arguments of `sb.entity.Entity`, such as `plugin_fail_fast`.

        Raises:
            ValueError: a name is empty.
        """
        from sb.entity import Entity

        entity = Entity(
            core_id,
            registry=self.registry,
            config=self.config,
            clock=self.log.clock,
            ids=self.log.ids,
            **more,
        )
        entity.attach_stack(self.stack(stack_id))
        return entity

    @cached_property
    def recovery(self) -> Recovery:
        """Takes back what calls did."""
        from sb.kernel.recovery.service import Recovery

        return Recovery(self.executor, self.reversals)

    @cached_property
    def workflows(self) -> WorkflowJournal:
        """Work of several steps that survives this process."""
        from sb.kernel.workflows.journal import WorkflowJournal

        power = self.config.durability == "power"
        return WorkflowJournal(self.log, power=power, kill_switch=self.kill)

    @cached_property
    def compensation(self) -> CompensationDispatcher:
        """Decides what is done about failed calls, and repeats them where that is safe."""
        from sb.kernel.recovery.compensation_wiring import executor_dispatcher

        return executor_dispatcher(self.executor, reverse=self.recovery.reverse, ids=self.log.ids)

    @cached_property
    def events(self) -> EventBus:
        """Tells the recovery loop of what turned false."""
        from sb.kernel.events import EventBus

        bus = EventBus()
        self.loop.subscribe(bus)
        return bus

    @cached_property
    def loop(self) -> RecoveryLoop:
        """Recovers from what lost its reason, once something is emitted on `events`."""
        from sb.kernel.recovery.compensation import CompensationDispatcher
        from sb.kernel.recovery.loop import RecoveryLoop

        recovery = self.recovery
        return RecoveryLoop(
            recovery.mutations,
            CompensationDispatcher(recovery.mutations, clock=self.log.clock, ids=self.log.ids),
            recovery.fire,
            recovery.resolver(),
            recovery,
            escalate=recovery.escalate,
        )

    def invalidate(self, event: AssumptionInvalidated) -> list[RuntimeDecisionRecord]:
        """Put on record that an assumption turned false, and recover from what it justified."""
        self.recovery.note(event)
        return self.loop.handle(event)

    def watch(self) -> tuple[Looked, list[RuntimeDecisionRecord]]:
        """Look at every assumption that can be looked at, and recover from those that do not hold; what people have
        agreed to meanwhile is performed first."""
        from sb.kernel.recovery.watching import Watch

        performed = self.recovery.perform_approved()
        looked = replace(Watch(self.recovery).look(), performed=performed)
        return looked, [decision for event in looked.false for decision in self.invalidate(event)]

    @property
    def approvals(self) -> Approvals:
        """Calls that wait for a person."""
        return self.executor.approvals

    @property
    def kill(self) -> KillSwitch:
        """Stops calls."""
        return self.executor.kill

    def budget(self) -> RunBudget:
        """A fresh budget with the configured limits."""
        return RunBudget(**vars(self.config.budget))

    def context(self, agent_name: str = "default", intent: str = "", **envelope: Any) -> RunContext:
        """A new run with the configured budget, of this program and the project that it is in.

        Args:
            envelope: other arguments of `RunContext.create`.
        """
        said = {"host": "python", "project": project_folder(Path.cwd())}
        envelope["metadata"] = said | (envelope.get("metadata") or {})
        made: dict[str, Any] = {"budget": self.budget(), "clock": self.log.clock, "ids": self.log.ids}
        return RunContext.create(agent_name, intent, **(made | envelope))

    def run(
        self, agent_name: str = "default", intent: str = "", **envelope: Any
    ) -> contextlib.AbstractContextManager[RunContext]:
        """`context`, with its start and end on record; calls of `governed` functions inside belong to it."""
        return self.executor.run(self.context(agent_name, intent, **envelope))

    def close(self) -> None:
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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


def shipped_registry(config: Config) -> ToolRegistry:
    """The tools that come with this version, and no others."""
    registry = hosted_registry(config)
    kept = SnapshotStore(config.home.kept, config.files.keep_max_bytes)
    untouched = [*protected(config), *_guarded_below(config.files.roots, config)]
    register_builtin(registry, config.files, config.http, config.shell, kept, untouched)
    return registry


def hosted_registry(config: Config) -> ToolRegistry:
    """What hosts of coding agents do, and what puts their files back."""
    registry = ToolRegistry(config.home.folder)
    with registry.source(SHIPPED):
        register_hosted(registry, hosted_files(config))
    return registry


def hosted_files(config: Config) -> HostedFiles:
    """The files that hosts of coding agents change."""
    return HostedFiles(SnapshotStore(config.home.kept, config.files.keep_max_bytes), protected(config))


def protected(config: Config) -> list[Path]:
    """What no tool and no host may touch, wherever it is."""
    return [config.home.folder, *database_files(config.database), config.operators.file]


def _guarded_below(roots: Sequence[Path], config: Config) -> Iterator[Path]:
    """What decides how calls are judged and lies in a folder that is open to tools."""
    folders = [os.path.realpath(root) for root in roots]
    for place in guarded(config.home, os.environ).places if folders else ():
        if any(os.path.realpath(place.path).startswith(folder.rstrip("/") + "/") for folder in folders):
            yield Path(place.path)


def open_approvals(config: Config, log: EventLog) -> Approvals:
    """The queue of a log, for faces that only decide and never call a tool."""
    return Approvals(log, open_authority(config, log))


def open_authority(config: Config, log: EventLog) -> Authority:
    """Who may decide, as this home and this log know it."""
    return Authority(config.operators.file, log)


def open_kill_switch(config: Config, log: EventLog) -> KillSwitch:
    """What is stopped, for faces that only stop and lift."""
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
    return _baselines(log, authority, surface, lambda: shipped_registry(config))


def _baselines(
    log: EventLog, authority: Authority, surface: str, shipped: Callable[[], ToolRegistry]
) -> ContractBaselineStore:
    store = ContractBaselineStore(log, authority, surface)
    seed_shipped(store, authority, shipped)
    return store


def open_policy(config: Config) -> ToolPolicy:
    """The policy of a configuration."""
    return ToolPolicy(SafetyMode(config.safety_mode), rules=WrittenPolicy(config.policy))


def granted_permissions(config: Config) -> dict[str, tuple[str, ...]]:
    """Agent name to the permissions that the configuration grants."""
    return {name: agent.permissions for name, agent in config.agents.items()}


def _approval_settings(config: Config) -> ApprovalSettings:
    limits = config.approvals
    return ApprovalSettings(
        limits.overdue_after_minutes * 60, limits.expire_after_minutes * 60, limits.dual_control
    )


def open_runtime(
    config: Config | None = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
    ids: Ids = SYSTEM_IDS,
    tracer_provider: Any = None,
    hosted: bool = False,
) -> Runtime:
    """Everything, wired; database and folders are made where they are missing.

    Args:
        config: by default that of this process.
        tracer_provider: an OpenTelemetry provider of spans; by default the one of the process.
        hosted: as for open_registry.

    Raises:
        ConfigError: the configuration is wrong.
        StoreError: the database cannot be used.
    """
    config = config or current_config()
    config.home.create()
    database = open_database(config.database, clock=clock, ids=ids)
    try:
        every = config.audit.anchor_every
        log = EventLog.of_home(database, config.home, anchor_every=every, make_key=True, clock=clock, ids=ids)
        authority = open_authority(config, log)
        kill_switch = open_kill_switch(config, log)
        with contextlib.suppress(SBError):  # what cannot be read there denies every call
            kill_switch.adopt()
        shipped = cache(lambda: shipped_registry(config))
        baselines = _baselines(log, authority, KERNEL_SURFACE, shipped)
        reversals = _baselines(log, authority, REVERSAL_SURFACE, shipped)
        # Only now may others touch the shipped tools: what counts as approved was taken from them as they are shipped.
        registry, failures = open_registry(config, hosted=hosted, shipped=shipped)
        executor = ToolExecutor(
            registry,
            open_policy(config),
            log,
            contract_enforcement=config.contract_enforcement,
            permissions=granted_permissions(config),
            contract_baseline_store=baselines,
            authority=authority,
            kill_switch=kill_switch,
            approvals=_approval_settings(config),
            reversibility=config.reversibility,
            irreversibility_ceilings=config.irreversibility.ceilings(),
            power=config.durability == "power",
            max_args_bytes=config.max_args_bytes,
            max_result_bytes=config.max_result_bytes,
            telemetry=Telemetry(arguments=config.telemetry.arguments, tracer_provider=tracer_provider),
            clock=clock,
            ids=ids,
        )
        orphans = executor.settle_orphans()
        with contextlib.suppress(StoreError):  # the next process tries again
            executor.approvals.sweep()
    except BaseException:
        database.close()
        raise
    return Runtime(config, database, log, registry, executor, baselines, reversals, failures, orphans)
