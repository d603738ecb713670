"""Probes of the controls under "observable"."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from sb.base.sources import MICROSECONDS
from sb.config import Config
from sb.harness.harness import Harness, saw
from sb.harness.probes.composition import checkpoints
from sb.harness.probes.quarantine import moves
from sb.harness.probes.spans import Spans
from sb.kernel.approvals.decisions import AlreadyDecided
from sb.kernel.authority.signing import Label
from sb.kernel.calls.approval import Approval, ApprovalState
from sb.kernel.contracts import SafetyClass, ToolErrorCode, ToolResult
from sb.kernel.harness_audit import Check
from sb.kernel.review.log_verification import verify
from sb.kernel.run_context import RunBudget, RunContext, SafetyMode
from sb.log.event import Event
from sb.runtime import Runtime
from sb.runtime.parts import open_authority, open_log
from sb.store import driver

DENIED = ToolErrorCode.PERMISSION_DENIED
ADA = Label("ada")


def observability(h: Harness) -> Iterator[Check]:
    """HA-21."""
    with h.open() as runtime:
        h.tool(runtime, "probe.write", safety_class=SafetyClass.LOCAL_WRITE)
        h.tool(runtime, "probe.read")
        ctx = h.context()
        with runtime.executor.run(ctx):
            runtime.executor.execute(ctx, "probe.write")
            runtime.executor.execute(ctx, "probe.read")
        phases = [_phase(event) for event in runtime.log.events(run_id=ctx.run_id)]
        ok = phases == ["kernel.run.started", "intent", "outcome", "outcome", "kernel.run.finished"]
        yield Check("order", ok, f"EventLog.events: {', '.join(phases)}")
        yield _denied(h, runtime)
        for _ in range(6):
            runtime.executor.execute(h.context(), "probe.write")
        config, rows = runtime.config, runtime.log.head().seq
    whole = _problems(config)
    _tamper(str(config.database), rows)
    problems = _problems(config)
    edited = [f"row {rows - 6} was edited", f"the payload of row {rows - 7} was edited"]
    edited.append(f"the payload of row {rows - 8} is missing")
    yield _named("edited", edited, whole, problems)
    yield _named("swapped", [f"row {rows - 3} does not follow row {rows - 4}"], whole, problems)
    cut = [f"rows {rows - 10} to {rows - 10} are missing", f"rows {rows} to {rows}, anchored"]
    yield _named("cut", cut, whole, problems)


def _denied(h: Harness, runtime: Runtime) -> Check:
    """Calls that are refused by the look-up, by the policy, and by the budget."""
    denied = {
        "probe.missing": h.context(),
        "probe.write": h.context(safety_mode=SafetyMode.SAFE),
        "probe.read": h.context(budget=RunBudget(max_tool_calls=0)),
    }
    seen, ok = [], True
    for tool_id, ctx in denied.items():
        result = runtime.executor.execute(ctx, tool_id)
        phases = [_phase(event) for event in runtime.log.events(run_id=ctx.run_id, tool_id=tool_id)]
        ok = ok and (result.success or phases == ["refused"])  # that it is refused, other controls ask
        seen.append(f"{saw(result)}: {', '.join(phases) or 'nothing'}")
    return Check("denied", ok, f"EventLog.events: {'; '.join(seen)}")


def _phase(event: Event) -> str:
    return str((event.payload or {}).get("phase", event.kind))


def _problems(config: Config) -> list[str]:
    with closing(open_log(config)) as log:
        return verify(log, open_authority(config, log)).problems


def _tamper(path: str, rows: int) -> None:
    """Edit three rows, swap two, cut one out and the last off, as somebody could who owns the file."""
    connection = driver.connect(path)
    try:
        for trigger in ("events_are_kept", "events_are_final"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("UPDATE events SET agent = 'somebody else' WHERE seq = ?", (rows - 6,))
        (first,) = connection.execute("SELECT id FROM events WHERE seq = ?", (rows - 4,)).fetchone()
        for before, after in ((first, first + 1000), (first + 1, first), (first + 1000, first + 1)):
            connection.execute("UPDATE events SET id = ? WHERE id = ?", (after, before))
        edits = (("payload = '{}'", rows - 7), ("payload = NULL, salt = NULL", rows - 8))
        for change, row in edits:
            connection.execute(f"UPDATE events SET {change} WHERE seq = ?", (row,))
        connection.execute("DELETE FROM events WHERE seq IN (?, ?)", (rows - 10, rows))
    finally:
        connection.close()


def _named(name: str, wanted: list[str], whole: list[str], problems: list[str]) -> Check:
    """Check that the verification names everything that was done, and found nothing before."""
    found = [next((line for line in problems if part in line), f"not named: {part}") for part in wanted]
    named = all(any(part in line for line in problems) for part in wanted)
    evidence = f"log_verification.verify: before {len(whole)} problems, then {'; '.join(found)}"
    return Check(name, not whole and named, evidence)


def telemetry(h: Harness) -> Iterator[Check]:
    """HA-22."""
    spans = Spans()
    with h.open(tracer_provider=spans.provider) as runtime:
        h.tool(runtime, "probe.write", safety_class=SafetyClass.LOCAL_WRITE)
        muted = h.tool(runtime, "probe.muted", emit_trace=False)
        ctx = h.context(session_id="session")
        result = runtime.executor.execute(ctx, "probe.write")
        yield _joined(runtime, ctx, result)
        yield _on_span(spans, ctx, result)

        runtime.executor.execute(h.context(), "probe.muted")
        seen = len(spans.of("probe.muted"))
        ok = spans.installed and muted.called == 1 and not seen
        yield Check("muted", ok, spans.evidence(f"{seen} spans of a tool that has none"))

        runtime.executor.execute(h.context(), "probe.write", {"unknown": 1})
        runtime.executor.execute(h.context(safety_mode=SafetyMode.SAFE), "probe.write")
        statuses = [span.status.status_code.name for span in spans.of("probe.write")]
        evidence = f"span statuses {statuses}, the last one of a call that was refused"
        yield Check("failed", statuses == ["UNSET", "ERROR", "ERROR"], spans.evidence(evidence))
        yield _apart(h, runtime)


def _joined(runtime: Runtime, ctx: RunContext, result: ToolResult) -> Check:
    events = list(runtime.log.events(call_id=result.call_id))
    started = next(runtime.log.events(run_id=ctx.run_id)).payload or {}
    ref = runtime.executor.mutations.get(result.mutation_id)
    agree = {
        "log": {event.subject[:2] + event.subject[3:] for event in events}
        == {(ctx.run_id, ctx.trace_id, "probe.write", result.call_id)},
        "session": started.get("session_id") == ctx.session_id,
        "result": (result.trace_id, result.tool_id) == (ctx.trace_id, "probe.write"),
        "MutationRef": (ref.run_id, ref.call_id, ref.tool_id) == (ctx.run_id, result.call_id, "probe.write"),
    }
    differing = [name for name, same in agree.items() if not same]
    evidence = (
        f"EventLog.events, MutationStore.get: {'differ in ' + ', '.join(differing) if differing else 'agree'}"
    )
    return Check("joined", not differing, evidence)


def _on_span(spans: Spans, ctx: RunContext, result: ToolResult) -> Check:
    ids = {
        "sb.run.id": ctx.run_id,
        "sb.trace.id": ctx.trace_id,
        "sb.session.id": ctx.session_id,
        "gen_ai.tool.call.id": result.call_id,
        "gen_ai.tool.name": result.tool_id,
    }
    found = [{name: (span.attributes or {}).get(name) for name in ids} for span in spans.of("probe.write")]
    own = [(f"{place.trace_id:032x}", f"{place.span_id:016x}") for place in spans.places("probe.write")]
    agree = found == [ids] and own == [(ctx.trace_id, result.span_id)]
    return Check("span", agree, spans.evidence("agrees" if agree else f"{len(found)} spans, or other ids"))


def _apart(h: Harness, runtime: Runtime) -> Check:
    """Two runs at the same time, and what each left on the log."""
    contexts = [h.context(), h.context()]

    def work(ctx: RunContext) -> set[str]:
        return {runtime.executor.execute(ctx, "probe.write").call_id for _ in range(3)}

    with ThreadPoolExecutor(2) as pool:
        calls = list(pool.map(work, contexts))
    logged = [
        {(event.subject.trace_id, event.subject.call_id) for event in runtime.log.events(run_id=ctx.run_id)}
        for ctx in contexts
    ]
    own = all(
        {(ctx.trace_id, call_id) for call_id in mine}
        <= seen
        <= {(ctx.trace_id, item) for item in mine | {""}}
        for ctx, mine, seen in zip(contexts, calls, logged, strict=True)
    )
    ok = own and not calls[0] & calls[1] and len({ctx.trace_id for ctx in contexts}) == 2
    return Check("shared", ok, f"EventLog.events: two runs at once share {'none' if ok else 'some'}")


def state_machine(h: Harness) -> Iterator[Check]:
    """HA-25."""
    with h.open() as runtime:
        drop = h.tool(runtime, "probe.drop", lambda what: what, SafetyClass.DESTRUCTIVE)
        ctx, approvals = h.context(), runtime.approvals
        states = [_ask(runtime, ctx, "one")]
        approvals.approve(states[0].id, ADA, "the probe")
        states.append(approvals.get(states[0].id))
        changed = runtime.executor.execute(ctx, "probe.drop", {"what": "two"}, approval_id=states[0].id)
        ok = changed.error_code == DENIED and not drop.called
        yield Check("changed", ok, saw(changed, drop))

        done = runtime.executor.execute(ctx, "probe.drop", {"what": "one"})
        states.append(approvals.get(states[0].id))
        named = [str(approval.state) for approval in states]
        ok = done.success and drop.called == 1 and named == ["waiting", "approved", "used"]
        yield Check("lifecycle", ok, f"Approvals.get: {', '.join(named)}; {saw(done, drop)}")

        again = runtime.executor.execute(ctx, "probe.drop", {"what": "one"}, approval_id=states[0].id)
        decided = _decides(runtime, states[0].id)
        ok = again.error_code == DENIED and drop.called == 1 and not decided
        yield Check("twice", ok, f"{saw(again, drop)}; Approvals.approve: {_verdict(decided)}")

        late = _ask(runtime, ctx, "late")
        h.clock.sleep(late.expires_at / MICROSECONDS - h.clock.now() + 1)
        state, decided = approvals.get(late.id).at(approvals.now()).state, _decides(runtime, late.id)
        ok = state is ApprovalState.EXPIRED and not decided
        yield Check("expired", ok, f"Approval.at: {state}; Approvals.approve: {_verdict(decided)}")
        yield checkpoints(h, runtime)
        yield moves(runtime)


def _ask(runtime: Runtime, ctx: RunContext, what: str) -> Approval:
    result = runtime.executor.execute(ctx, "probe.drop", {"what": what})
    return runtime.approvals.get(result.data["approval_id"])


def _decides(runtime: Runtime, approval_id: str) -> bool:
    try:
        runtime.approvals.approve(approval_id, ADA, "once more")
    except AlreadyDecided:
        return False
    return True


def _verdict(decided: bool) -> str:
    return "accepted" if decided else "refused"
