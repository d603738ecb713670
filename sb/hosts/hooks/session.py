"""The session of one event of a host, which is one run: what guards read of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from sb.config import Config
from sb.errors import ConfigError
from sb.hosts.hooks.adapter import Adapter
from sb.hosts.hooks.calls.context import judging_context, may_be_confined
from sb.hosts.hooks.event import HookEvent
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.project import context_of, recorded_project
from sb.kernel.calls.intents import Intent
from sb.kernel.review.session_conflicts import SessionConflicts
from sb.log.kinds import RUN_STARTED
from sb.runtime import Runtime
from sb.runtime.parts import hosted_files, shell_rules
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset
from sb.tools.hosted.contracts import KEPT, KEPT_NETWORK

if TYPE_CHECKING:  # only where it is switched on
    from sb.hosts.hooks.confined.confining import Confining


class HookSession:
    """One session at one event; made for each.

    Attributes:
        run: the run that the session is.
        calls: the kernel's record of its calls. files: their snapshots.
        context: what its calls are judged against.
    """

    def __init__(self, runtime: Runtime, adapter: Adapter, event: HookEvent) -> None:
        self.runtime, self.config = runtime, runtime.config
        self.adapter, self.event = adapter, event
        self.run = context_of(event)
        self.calls = runtime.executor.external
        self.files = hosted_files(self.config)
        self.context = judging_context(self.config, event, self.files, _rules(self.config))
        self._started: tuple[dict[str, Any], float] | None = None

    @property
    def project(self) -> str:
        """The project that the event is in."""
        return str(self.run.metadata.get("project", ""))

    @property
    def started(self) -> tuple[dict[str, Any], float] | None:
        """The facts of the session's first event and its time (seconds since the epoch); None before there is one.

        An agent can make its folder part of another repository later, so that later events do not count.
        """
        if self._started is None:
            events = self.runtime.log.events(run_id=self.run.run_id, kind=RUN_STARTED, limit=1)
            if (first := next(events, None)) is not None:
                self._started = first.payload or {}, first.at / 1_000_000
        return self._started

    @cached_property
    def conflicts(self) -> SessionConflicts:
        """The files that this session and others change."""
        return SessionConflicts(self.runtime.log, self.run.run_id, self.event.host, self.event.session_id)

    @property
    def confines(self) -> bool:
        """True where confinement has a say in the event."""
        return may_be_confined(self.config, self.event)

    @cached_property
    def confining(self) -> Confining:
        """The confinement of the session's commands."""
        from sb.hosts.hooks.confined.confining import Confining

        project = recorded_project(self.started[0] if self.started else {}, self.event.cwd)
        return Confining(self.config, self.event, self.context, project, self.runtime.log.clock)

    def disclosed(self, call: JudgedCall) -> bool:
        """True if a call may read credentials that are there; in confinement, where it may open them."""
        files = call.effects.disclosed
        confined = self.confining.rights(call) if files and self.confines else None
        return bool(files if confined is None else confined.disclosed)

    def is_in_background(self, intent: Intent) -> bool:
        """True for a call that goes on in the background, with the tree of its project stored."""
        trees = self.files.trees
        if trees is None or intent.tool_id not in (KEPT, KEPT_NETWORK):
            return False
        tree = self.calls.announced_args(intent).get("tree")
        return bool(tree and trees.in_background(str(tree), intent.idempotency_key))


def _rules(config: Config) -> Ruleset:
    """The rules of programs; without packs of one's own if these cannot be read and calls would run unjudged.

    Raises:
        ConfigError: a pack cannot be used.
    """
    try:
        return shell_rules(config)
    except ConfigError:
        if config.hooks.unjudged != "all":
            raise
        return SHIPPED_RULES
