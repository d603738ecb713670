"""The composition root: every face, and the harness audit, opens this.

It turns everything on: durable log with its anchor, contract enforcement, the agents' capabilities and permissions,
the shipped tools and those of others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sb.base.repository import project_folder
from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.values.frozen import mutable
from sb.config import Config, current_config
from sb.errors import ConfigError, SBError, StoreError
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.kernel.execution.executor import Person, ToolExecutor
from sb.kernel.execution.telemetry import Telemetry
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.kernel.registry.credentials import Credentials
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.run_context import OWN_PROGRAM, RunBudget, RunContext
from sb.log.event_log import EventLog
from sb.runtime.parts import (
    baselines_of,
    granted_permissions,
    open_authority,
    open_autonomy,
    open_boundaries,
    open_capture,
    open_kill_switch,
    open_policy,
    open_registry,
    result_guards,
    shipped_registry,
)
from sb.store.database import Database, open_database

if TYPE_CHECKING:  # a process that judges one call has no need of them
    from sb.context_packs import ContextInjector
    from sb.entity import Entity
    from sb.kernel.claims.model import ClaimFinding
    from sb.kernel.compensation.dispatcher import CompensationDispatcher
    from sb.kernel.durable_execution.journal import WorkflowJournal
    from sb.kernel.events import AssumptionInvalidated, EventBus
    from sb.kernel.execution.attempts import Attempts
    from sb.kernel.execution.capturing import Capturing
    from sb.kernel.memory import MemoryStore
    from sb.kernel.recovery_loop.loop import RecoveryLoop, RuntimeDecisionRecord
    from sb.kernel.recovery_loop.service import Recovery
    from sb.kernel.recovery_loop.watching import AssumptionReport
    from sb.memory import Brain
    from sb.memory.access import ScopeRefusal
    from sb.protocols import StackComponentProtocol
    from sb.stack import SQLiteStack
    from sb.tools.discovery import LoadFailure


@mutable
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

    def brain(
        self,
        agent_id: str,
        *,
        stack: str = "default",
        scope: str | None = None,
        session: str | None = None,
        threads: bool = True,
    ) -> Brain:
        """The memory of an agent, from session to session; the arguments are those of `sb.memory.Brain`.

        Raises:
            ValueError: a name is empty, or the scope is none.
            DeniedError: the agent's charter does not let it use that scope.
        """
        from sb.memory import Brain

        return Brain(
            agent_id,
            database=self.database,
            config=self.config,
            stack=stack,
            scope=scope,
            session=session,
            threads=threads,
            scope_refusal=self._scope_refusal,
            clock=self.log.clock,
            ids=self.log.ids,
        )

    def stack(
        self,
        stack_id: str = "default",
        *,
        components: Iterable[StackComponentProtocol] | None = None,
        enforce_provenance: bool = True,
        remote: str | Path | None = None,
    ) -> SQLiteStack:
        """A container of memories in this database; it need not be closed. The arguments are those of `SQLiteStack`.

        Raises:
            ValueError: the name is empty.
        """
        from sb.stack import SQLiteStack

        return SQLiteStack(
            stack_id,
            components=components,
            enforce_provenance=enforce_provenance,
            database=self.database,
            remote=remote,
            config=self.config,
            scope_refusal=self._scope_refusal,
            clock=self.log.clock,
            ids=self.log.ids,
        )

    @property
    def _scope_refusal(self) -> ScopeRefusal | None:
        boundaries = self.executor.boundaries
        return None if boundaries is None else boundaries.scope_refusal

    def entity(
        self, core_id: str, *, stack_id: str = "default", plugin_fail_fast: bool | None = None
    ) -> Entity:
        """A core whose plugins' tools this runtime runs, with a stack of this database attached.

        Args:
            stack_id: of the stack; a Brain keeps what it remembers in `default`.
            plugin_fail_fast: a plugin that fails stops it; by default as configured.

        Raises:
            ValueError: a name is empty.
        """
        from sb.entity import Entity

        entity = Entity(
            core_id,
            plugin_fail_fast=plugin_fail_fast,
            registry=self.registry,
            config=self.config,
            clock=self.log.clock,
            ids=self.log.ids,
        )
        entity.attach_stack(self.stack(stack_id))
        return entity

    def context_injector(self, agent: str) -> ContextInjector:
        """The compiler of an agent's prompts, held to sources, and to its charter's and capabilities' packs.

        Raises:
            DeniedError: the agent's charter does not count, and charters are enforced.
            ConfigError: the file of sources breaks a rule.
        """
        from sb.context_packs import ContextInjector

        registered, boundaries = self.registry.capabilities_of(agent), self.executor.boundaries
        chartered = None if boundaries is None else boundaries.capabilities_of(agent)
        return ContextInjector(
            capabilities=[caps for caps in (chartered, registered) if caps is not None],
            sources=None if boundaries is None else boundaries.registered_sources(),
        )

    @cached_property
    def recovery(self) -> Recovery:
        """Takes back what calls did."""
        from sb.kernel.recovery_loop.service import Recovery

        return Recovery(self.executor, self.reversals)

    @cached_property
    def workflows(self) -> WorkflowJournal:
        """Work of several steps that survives this process."""
        from sb.kernel.durable_execution.journal import WorkflowJournal

        power = self.config.durability == "power"
        return WorkflowJournal(self.log, power=power, kill_switch=self.kill)

    @cached_property
    def compensation(self) -> CompensationDispatcher:
        """Decides what is done about failed calls, and repeats them where that is safe."""
        from sb.kernel.compensation.wiring import executor_dispatcher

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
        from sb.kernel.compensation.dispatcher import CompensationDispatcher
        from sb.kernel.recovery_loop.loop import RecoveryLoop

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

    def watch(self) -> tuple[AssumptionReport, list[RuntimeDecisionRecord]]:
        """Perform the reversals that people have approved, check every assumption that can be checked, and recover from
        those that do not hold."""
        from sb.kernel.recovery_loop.watching import AssumptionCheck

        performed = self.recovery.perform_approved()
        report = replace(AssumptionCheck(self.recovery).run(), performed=performed)
        return report, [decision for event in report.false for decision in self.invalidate(event)]

    def check_claims(self, ctx: RunContext, message: str) -> list[ClaimFinding]:
        """Judge what the last message of a run claims by the calls of that run, and put it on record.

        Raises:
            SBError: the log cannot be read or written.
        """
        from sb.kernel.review.claimed import judge_message

        return judge_message(self.log, ctx, message)

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
        return RunBudget(**self.config.budget.of_runs())

    def context(self, agent_name: str = "default", intent: str = "", **envelope: Any) -> RunContext:
        """A new run with the configured budget, of this program and the project that it is in.

        Args:
            envelope: other arguments of `RunContext.create`.
        """
        metadata = {"host": OWN_PROGRAM, "project": project_folder(Path.cwd())}
        envelope["metadata"] = metadata | (envelope.get("metadata") or {})
        made: dict[str, Any] = {"budget": self.budget(), "clock": self.log.clock, "ids": self.log.ids}
        return RunContext.create(agent_name, intent, **(made | envelope))

    def run(
        self, agent_name: str = "default", intent: str = "", **envelope: Any
    ) -> contextlib.AbstractContextManager[RunContext]:
        """`context`, with its start and end on record; calls of `governed` functions inside belong to it."""
        return self.executor.run(self.context(agent_name, intent, **envelope))

    def close(self) -> None:
        if "recovery" in self.__dict__:  # it was asked for
            with contextlib.suppress(SBError):  # the end of a run is no reason to stay open
                self.recovery.close()
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create_home(config: Config) -> list[Path]:
    """Make what a home lacks: its folder, the configuration file, the database; what exists stays as it is.

    Returns:
        The files made.

    Raises:
        ConfigError: a file cannot be written, or the configuration is wrong.
        StoreError: the database cannot be used.
    """
    config.home.create()
    made = [config.home.config_file] if _written_new(config.home.config_file) else []
    if not config.database.exists():
        made.append(config.database)
    open_runtime(config).close()
    return made


def _written_new(path: Path) -> bool:
    from sb.base.files import write_atomic
    from sb.config import render_example

    try:
        write_atomic(path, render_example().encode(), replace=False)
    except FileExistsError:
        return False
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None
    return True


def open_runtime(
    config: Config | None = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
    ids: Ids = SYSTEM_IDS,
    tracer_provider: Any = None,
    hosted: bool = False,
    capture: Capturing | None = None,
    attempts: Attempts | None = None,
    person: Person | None = None,
) -> Runtime:
    """Everything, wired; database and folders are made where they are missing.

    Args:
        config: by default that of this process.
        tracer_provider: an OpenTelemetry provider of spans; by default the one of the process.
        hosted: as for open_registry.
        capture, attempts: as for ToolExecutor; by default what the home captures, and the tools themselves.
        person: as for ToolExecutor.

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
        baselines = baselines_of(log, authority, KERNEL_SURFACE, shipped)
        reversals = baselines_of(log, authority, REVERSAL_SURFACE, shipped)
        # Only now may others touch the shipped tools: what counts as approved was taken from them as they are shipped.
        registry, failures = open_registry(config, hosted=hosted, shipped=shipped)
        boundaries = open_boundaries(config, log, authority, registry)
        executor = ToolExecutor(
            registry,
            open_policy(config),
            log,
            contract_enforcement=config.contract_enforcement,
            permissions=granted_permissions(config),
            contract_baseline_store=baselines,
            authority=authority,
            kill_switch=kill_switch,
            approvals=config.approvals,
            reversibility=config.reversibility,
            undeclared_undo=True,
            irreversibility_ceilings=config.irreversibility.ceilings(),
            boundaries=boundaries,
            autonomy=open_autonomy(config, log, authority),
            power=config.durability == "power",
            capture=capture or open_capture(config, clock),
            attempts=attempts,
            run_facts={"organization": list(config.organization)} if config.organization else {},
            max_args_bytes=config.max_args_bytes,
            max_result_bytes=config.max_result_bytes,
            result_guards=result_guards(config, log, boundaries.scope_refusal if boundaries else None),
            credentials=Credentials(config.credentials, config.home.folder),
            person=person,
            telemetry=Telemetry(arguments=config.telemetry.arguments, tracer_provider=tracer_provider),
            clock=clock,
            ids=ids,
        )
        orphans = executor.settle_orphans()
        if database.query("SELECT 1 FROM workflows WHERE result IS NULL LIMIT 1"):
            # Few homes have workflows, and hooks load no part for them.
            from sb.kernel.durable_execution.doubt import log_doubts

            log_doubts(log, "the process that ran it ended without an outcome")
        with contextlib.suppress(StoreError):  # the next process tries again
            executor.approvals.sweep()
    except BaseException:
        database.close()
        raise
    return Runtime(config, database, log, registry, executor, baselines, reversals, failures, orphans)
