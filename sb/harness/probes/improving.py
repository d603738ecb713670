"""Probes of the "continuously improving" controls."""

from __future__ import annotations

from collections.abc import Iterator

from sb.harness.harness import Harness, saw
from sb.harness.probes.beliefs import confidence
from sb.harness.probes.earned import signed_levels
from sb.harness.probes.failures import refusal
from sb.harness.probes.judgement import promotion
from sb.harness.probes.offline_evals import evaluated_changes
from sb.harness.probes.operators import enrolled
from sb.harness.probes.quarantine import compromised
from sb.harness.probes.stacks import suggested
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import SafetyClass, ToolErrorCode, ToolResult
from sb.kernel.harness_audit import Check
from sb.kernel.incident_response.incidents import Incidents
from sb.kernel.incident_response.kill import KillScope
from sb.kernel.incident_response.runbooks import runbook
from sb.kernel.incident_response.severity import Impact, Reach, Severity, severity_of
from sb.runtime import Runtime

GRACE = Label("grace")
WHY = "it went wrong"
# One of each severity.
EXAMPLES = {
    Severity.SEV4: (Impact.STOPPED, Reach.RUN),
    Severity.SEV3: (Impact.REVERSIBLE, Reach.AGENT),
    Severity.SEV2: (Impact.IRREVERSIBLE, Reach.AGENT),
    Severity.SEV1: (Impact.EXPOSED, Reach.FLEET),
}


CALLS = CLERK_READS, CLERK_WRITES, CLERK_SENDS, SCOUT_READS, SCOUT_WRITES, SCOUT_SENDS = tuple(
    (agent, f"plant.{verb}") for agent in ("clerk", "scout") for verb in ("read", "write", "send")
)


class _Plant:
    """Three tools, and calls of each by two agents."""

    def __init__(self, h: Harness, runtime: Runtime) -> None:
        self.h, self.runtime = h, runtime
        self.read = h.tool(runtime, "plant.read")
        self.write = h.tool(runtime, "plant.write", safety_class=SafetyClass.LOCAL_WRITE)
        self.send = h.tool(runtime, "plant.send", safety_class=SafetyClass.NETWORK)

    def call(self, agent: str, tool_id: str) -> ToolResult:
        return self.runtime.executor.execute(self.h.context(agent), tool_id)

    def stopped(self) -> list[tuple[str, str]]:
        """The calls that are refused, once each was tried."""
        for tool in (self.read, self.write, self.send):
            tool.calls.clear()
        return [item for item in CALLS if self.call(*item).error_code is ToolErrorCode.PERMISSION_DENIED]


def incident_response(h: Harness) -> Iterator[Check]:
    """HA-36."""
    with h.open() as runtime:
        yield _matrix(runtime)
        plant = _Plant(h, runtime)
        wider = _wider(plant)
        runtime.kill.throw(KillScope.AGENT, "clerk", GRACE, WHY)
        agent = plant.stopped()
        runtime.kill.throw(KillScope.TOOL, "plant.send", GRACE, WHY)
        both = plant.stopped()
        ran = plant.read.called, plant.write.called, plant.send.called
        clerk = [CLERK_READS, CLERK_WRITES, CLERK_SENDS]
        right = agent == clerk and both == [*clerk, SCOUT_SENDS] and ran == (1, 1, 0)
        right = right and wider == [[CLERK_SENDS, SCOUT_SENDS], list(CALLS)]
        seen = f"stopped {_said(agent)}; with the tool {_said(both)}; its class {_said(wider[0])}"
        yield Check("scoped", right, f"KillSwitch.check: {seen}; a global one {_said(wider[1])}")
    with h.open() as runtime:
        plant = _Plant(h, runtime)
        again = plant.stopped()
        ran = plant.read.called, plant.write.called, plant.send.called
        yield Check(
            "restart", again == both and ran == (1, 1, 0), f"KillSwitch.check: stopped {_said(again)}"
        )
        yield compromised(runtime)
        yield _lifting(plant)


def _wider(plant: _Plant) -> list[list[tuple[str, str]]]:
    """The calls that a kill of a class stops, and one of everything; both are lifted again."""
    kill, stopped = plant.runtime.kill, []
    for scope, target in ((KillScope.CLASS, SafetyClass.NETWORK), (KillScope.GLOBAL, "")):
        kill.throw(scope, target, GRACE, WHY)
        stopped.append(plant.stopped())
        kill.lift(scope, target, GRACE, WHY)
    return stopped


def _said(calls: list[tuple[str, str]]) -> str:
    return "everything" if calls == list(CALLS) else ", ".join(map(" ".join, calls)) or "nothing"


def _matrix(runtime: Runtime) -> Check:
    """Each severity has a runbook, a time to answer, and a record of who declared it; a worse case is never milder."""
    incidents = Incidents(runtime.log, runtime.kill.authority)
    seen, right = [], True
    for severity, (impact, reach) in EXAMPLES.items():
        incident = incidents.open("a refund too many", GRACE, WHY, impact=impact, reach=reach)
        steps = runbook(incident)
        right &= incident.severity is severity and incident.open and incident.by == "grace"
        stops_all = steps[0].command.startswith("sb kill global")
        right &= stops_all == (severity is Severity.SEV1) and severity.answer_within_min > 0
        right &= steps[-1].command.startswith(f"sb incident close {incident.id}")
        within = f"answered within {severity.answer_within_min} min"
        seen.append(f"{impact} {reach} {incident.severity}, {len(steps)} steps, {within}")
    ranks = [[severity_of(impact, reach) for reach in Reach] for impact in Impact]
    rows = [*ranks, *map(list, zip(*ranks, strict=True))]
    right &= all(row == sorted(row, reverse=True) for row in rows)
    minutes = [severity.answer_within_min for severity in Severity]  # the worst comes first
    right &= minutes == sorted(set(minutes))
    return Check("matrix", right, f"Incidents.open by {GRACE.name}: {'; '.join(seen)}")


def _lifting(plant: _Plant) -> Check:
    kill = plant.runtime.kill
    ada = enrolled(plant.runtime)
    reasonless = refusal(lambda: kill.lift(KillScope.AGENT, "clerk", ada, " "))
    nobody = refusal(lambda: kill.lift(KillScope.AGENT, "clerk", GRACE, "the cause is gone"))
    still = plant.call(*CLERK_WRITES)
    by_ada = refusal(lambda: kill.lift(KillScope.AGENT, "clerk", ada, "the cause is gone"))
    lifted = plant.call(*CLERK_WRITES)
    refused = (reasonless, nobody) == ("UsageError", "Unauthorised") and not still.success
    seen = f"without a reason {reasonless}, by nobody {nobody}, {saw(still)}; by an operator {by_ada}, {saw(lifted)}"
    return Check("lifting", refused and lifted.success, f"KillSwitch.lift: {seen}")


def continuous_improvement(h: Harness) -> Iterator[Check]:
    """HA-37."""
    with h.open() as runtime:
        yield suggested(runtime)
        yield confidence(runtime)
    yield from evaluated_changes(h)
    yield from promotion(h)
    yield from signed_levels(h)
