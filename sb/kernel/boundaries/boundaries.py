"""Judging runs and calls by charter and registered intents, and stamping both on their records."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from sb import __version__
from sb.base.secrets.redaction import one_line
from sb.base.text import nearest
from sb.config.model import INTENT
from sb.errors import DeniedError
from sb.kernel.agent_charter.charter import UNSTATED, AgentCharter
from sb.kernel.agent_charter.charters import CharteredScopes, Charters
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.context_sources.reading import SourceGuard
from sb.kernel.context_sources.sources import ContextSourceRegistry
from sb.kernel.contracts import AgentCapabilities, ToolErrorCode, ToolProvenance
from sb.kernel.release_tuple.releases import Releases
from sb.kernel.run_context import INTENT_UNSTATED, RECOVERY_AGENT, RunContext
from sb.log.event_log import LogWrite

ENFORCE = "enforce"
_NAME = re.compile(INTENT)
_SHOWN = 80  # characters of an intent in a reason


class _Ruling(NamedTuple):
    """The facts recorded of a run or call, and its charter's reason for a refusal.

    Args:
        charter: the agent's, if it is approved. rule, reason: "" where it does not refuse.
    """

    facts: dict[str, Any]
    charter: AgentCharter | None = None
    rule: str = ""
    reason: str = ""


class Boundaries:
    """Charters and registered intents, as limits of runs and their calls.

    Args:
        intents: the registered ones; empty where any is fine.
        charters: None where they are off. enforce: whether they refuse, rather than only record that they would.
        releases: None where they are off. pinned: whether a run that drifted from the pinned release is refused.
        sources: None where context may come from anywhere.
    """

    def __init__(
        self,
        *,
        intents: Collection[str] = (),
        charters: Charters | None = None,
        enforce: bool = True,
        releases: Releases | None = None,
        pinned: bool = False,
        sources: SourceGuard | None = None,
    ) -> None:
        self._intents = frozenset(intents)
        self.charters = charters
        self._enforce = enforce
        self.releases = releases
        self._pinned = pinned
        self.sources = sources

    def judge_run(self, ctx: RunContext) -> dict[str, Any]:
        """Facts for the run's first event; raises Refused where the run may not start."""
        if ctx.agent_name == RECOVERY_AGENT:
            return {}
        facts = self._decide(self._ruling(ctx, stated_intent(ctx), exact=True))
        self._refuse_drift(ctx)
        return facts

    def judge_call(self, call: ToolCall) -> None:
        """Put intent and charter on the call's record; raises Refused where it may not run."""
        ruling = self._ruling(call.ctx, call.intent or stated_intent(call.ctx), exact=False)
        call.boundary = ruling.facts
        if not ruling.reason and ruling.charter is not None:
            reason = ruling.charter.tool_refusal(call.spec)
            ruling = ruling._replace(rule="charter_capabilities" if reason else "", reason=reason)
        call.boundary = self._decide(ruling)
        self._refuse_drift(call.ctx)
        if self.sources is not None:
            call.boundary |= self.sources.judge_call(call)

    def judge_result(self, call: ToolCall, provenance: ToolProvenance | None) -> str:
        """Put the source of a call's result on its record; why the result may not be used, or ""."""
        if self.sources is None or provenance is None:
            return ""
        try:
            call.boundary |= self.sources.judge_result(provenance)
        except Refused as refused:
            call.boundary |= {"source_refused": refused.rule}
            return refused.reason
        return ""

    def describe_call(self, call: ToolCall) -> None:
        """Put intent and source on the record of a call that was judged elsewhere, or made without a verdict."""
        charter = None if self.charters is None else self._charter(call.ctx.agent_name)
        self.name_intent(call, "" if charter is None else charter.default_intent)
        if self.sources is not None:
            call.boundary |= self.sources.describe_call(call)

    def name_intent(self, call: ToolCall, default: str = "") -> None:
        """Put the intent on the record of a call that is not judged, such as one that was refused before.

        Args:
            default: that of the agent's charter, where neither call nor run names one.
        """
        intent = call.intent or stated_intent(call.ctx) or default
        unregistered = self._intents and intent and intent not in self._intents
        call.boundary = {"intent_name": "unregistered" if unregistered else intent_name(intent)}

    def run_facts(self, write: LogWrite, ctx: RunContext) -> dict[str, Any]:
        """Facts for the first event of a run, whether or not it may start; its release is kept beside them."""
        try:
            facts = self.judge_run(ctx)
        except Refused as refused:
            facts = {"boundary_refused": refused.rule}
        if self.releases is not None and ctx.agent_name != RECOVERY_AGENT:
            drift = self.releases.drift(ctx)
            facts |= {"release": self.releases.keep(write, ctx), "code_version": __version__}
            if drift.parts or drift.problem:
                facts["release_drift"] = list(drift.parts) or ["unreadable"]
        return facts

    def prepare(self, ctx: RunContext) -> None:
        """Make what `run_facts` needs from files, before the log is locked for writing."""
        if self.releases is not None and ctx.agent_name != RECOVERY_AGENT:
            self.releases.of_run(ctx)

    def _refuse_drift(self, ctx: RunContext) -> None:
        self.prepare(ctx)
        if self.releases is None or not self._pinned:
            return
        drift = self.releases.drift(ctx)
        reason = drift.problem
        if drift.parts:
            agent = ctx.agent_name
            parts = f"{', '.join(drift.parts)} {'differ' if len(drift.parts) > 1 else 'differs'}"
            reason = f"the release of {agent} is not the pinned one: {parts}; an operator can pin it: sb release pin {agent}"
        if reason:
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, "release_drift")

    @property
    def scope_refusal(self) -> CharteredScopes | None:
        """The charters' rules for memory scopes, read anew at each question; None where none is enforced."""
        return CharteredScopes(self.charters) if self.charters is not None and self._enforce else None

    def capabilities_of(self, agent: str) -> AgentCapabilities | None:
        """The capabilities that compilers of prompts hold an agent to; None where charters do not limit it.

        Raises:
            DeniedError: its charter does not count.
        """
        if self.charters is None or not self._enforce:
            return None
        entry = self.charters.entry(agent)
        if entry.problem or entry.charter is None:
            raise DeniedError(entry.problem, "sb agent charter check")
        return entry.charter.capabilities()

    def registered_sources(self) -> ContextSourceRegistry | None:
        """The sources that context has to come from; None where it may come from anywhere; raises ConfigError."""
        return self.sources.load() if self.sources is not None and self.sources.enforce else None

    def _charter(self, agent: str) -> AgentCharter | None:
        """The approved charter of an agent."""
        entry = None if self.charters is None else self.charters.entry(agent, exact=False)
        return None if entry is None or entry.problem else entry.charter

    def _decide(self, ruling: _Ruling) -> dict[str, Any]:
        if not ruling.reason:
            return ruling.facts
        if self._enforce:
            raise Refused(ToolErrorCode.PERMISSION_DENIED, ruling.reason, ruling.rule)
        return ruling.facts | {"charter_would_refuse": ruling.rule}

    def _ruling(self, ctx: RunContext, intent: str, *, exact: bool) -> _Ruling:
        entry = None if self.charters is None else self.charters.entry(ctx.agent_name, exact=exact)
        charter = entry.charter if entry is not None else None
        intent = intent or (charter.default_intent if charter else "")
        if self._intents and intent and intent not in self._intents:
            shown = one_line(intent, _SHOWN)
            reason = f"intent {shown!r} is not registered{nearest(intent, self._intents)}"
            raise Refused(ToolErrorCode.VALIDATION_ERROR, reason, "intent_unregistered")
        facts: dict[str, Any] = {"intent_name": intent_name(intent)}
        if entry is None:
            return _Ruling(facts)
        if charter is not None:
            facts |= {"charter": charter.fingerprint, "charter_version": charter.version}
        if entry.problem:
            return _Ruling(facts, None, "charter_" + entry.state.replace(" ", "_"), entry.problem)
        reason = "" if charter is None else charter.intent_refusal(intent or UNSTATED)
        if (
            intent and intent_name(intent) != intent
        ):  # what is cut or spelled otherwise could pass by a denial
            reason = f"intent {one_line(intent, _SHOWN)!r} is no name such as refund.issue"
        return _Ruling(facts, charter, "charter_intent" if reason else "", reason)


def stated_intent(ctx: RunContext) -> str:
    """The intent that a program or person named for a run; "" where its host made one up."""
    return "" if ctx.metadata.get(INTENT_UNSTATED) else ctx.intent


def intent_name(intent: str) -> str:
    """An intent as it is recorded beside outcomes: its name, or one fixed word where it has none."""
    if not intent:
        return UNSTATED
    return intent if _NAME.fullmatch(intent) and len(intent) <= _SHOWN else "unnamed"
