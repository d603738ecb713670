"""`sb kernel`: show the kernel's tools and run one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import choice, read_arguments
from sb.commands.diagnostics import note
from sb.commands.kernel_policy import app as policy_app
from sb.commands.options import Args, AsJson, Limit, Mode, ToolId, group
from sb.commands.session import configuration, registry, runtime

from sb.errors import ExitCode, UsageError
from sb.kernel.contracts import SafetyClass, ToolErrorCode, ToolResult, ToolSpec
from sb.kernel.run_context import INTENT_UNSTATED, RunContext, SafetyMode

if TYPE_CHECKING:
    from sb.runtime import Runtime

app = group()
app.add_typer(policy_app, name="policy")


@app.command(epilog="Example: sb kernel info")
def info(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show what the kernel consists of, and its settings."""
    from sb import __version__
    from sb.log.kinds import namespaces
    from sb.runtime.parts import open_registry

    config = configuration(ctx)
    tools_here, _ = open_registry(config)
    facts: dict[str, Any] = {
        "version": __version__,
        "database": str(config.database),
        "contract_enforcement": config.contract_enforcement,
        "safety_mode": config.safety_mode,
        "durability": config.durability,
        "tools": len(tools_here),
        "agents": sorted(config.agents),
        "decision_namespaces": len(namespaces("kernel")),
        "safety_classes": [str(safety_class) for safety_class in SafetyClass],
        "safety_modes": [str(mode) for mode in SafetyMode],
        "error_codes": [str(code) for code in ToolErrorCode],
        "memory_tiers": ["working", "episodic", "durable"],
    }
    if as_json:
        output.emit_json(facts)
        return
    output.table(
        ["", ""],
        [(name, ", ".join(value) if isinstance(value, list) else value) for name, value in facts.items()],
    )


@app.command(name="namespaces", epilog="Example: sb kernel namespaces")
def list_namespaces(as_json: AsJson = False) -> None:
    """List the kernel's decision keys and their meaning."""
    from sb.log.kinds import namespaces

    keys = namespaces("kernel")
    if as_json:
        output.emit_json({"items": [{"key": key, "meaning": meaning} for key, meaning in keys.items()]})
        return
    output.table(["key", "meaning"], list(keys.items()))


@app.command(epilog="Example: sb kernel tools --safety read_only")
def tools(
    ctx: typer.Context,
    safety: Annotated[str, typer.Option(help="Only tools at or below this safety class.")] = "",
    agent: Annotated[str, typer.Option(help="Only tools this agent may call.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the tools, and where each came from."""
    known = registry(configuration(ctx))
    wanted = known.list_all()
    if safety:
        ceiling = choice("--safety", safety, SafetyClass)
        wanted = [spec for spec in wanted if spec in known.filter_by_safety(ceiling)]
    if agent:
        wanted = [spec for spec in wanted if spec in known.filter_for_agent(agent)]
    sources = {listing.spec.tool_id: listing.source for listing in known.listing()}
    if as_json:
        output.emit_json({"items": [_tool(spec, sources[spec.tool_id]) for spec in wanted]})
    elif wanted:
        rows = [(spec.tool_id, spec.safety_class, sources[spec.tool_id], spec.description) for spec in wanted]
        output.table(["tool", "safety", "from", "description"], rows)
    else:
        note("no tool fits")


def _tool(spec: ToolSpec, source: str) -> dict[str, Any]:
    limits = {"max_retries": spec.max_retries, "timeout_ms": spec.timeout_ms}
    return {
        **spec.contract_document(),
        **limits,
        "source": source,
        "fingerprint": spec.contract_fingerprint(),
    }


@app.command(epilog="Example: sb kernel runs --limit 5")
def runs(ctx: typer.Context, limit: Limit = 20, as_json: AsJson = False) -> None:
    """List runs, with the tokens and cost of agents' sessions.

    Tokens come from transcripts, cost from `prices` in the configuration; unknown where either is missing.
    """
    from sb.kernel.review.runs import first_events, runs_at
    from sb.present.runs import RUN, UsedRun
    from sb.present.usage import session_cost
    from sb.runtime.parts import open_log

    config = configuration(ctx)
    log = open_log(config)
    firsts = first_events(log)
    chosen = firsts[:limit] if limit else firsts
    found = runs_at(log, chosen)
    used = [UsedRun(found[first], *session_cost(config, found[first].run_id)) for first in chosen]
    output.listing(RUN, used, "no runs yet", as_json=as_json)
    if len(firsts) > len(chosen):
        note(f"showing the last {len(chosen)} of {len(firsts)} runs; --limit 0 shows all")


@app.command(epilog='Example: sb kernel run files.read --args \'{"path": "notes.md"}\'')
def run(
    ctx: typer.Context,
    tool: ToolId,
    args: Args = "{}",
    agent: Annotated[str, typer.Option(help="The calling agent, whose permissions apply.")] = "operator",
    mode: Mode = "normal",
    intent: Annotated[str, typer.Option(help="What for, by its registered name.")] = "",
    step: Annotated[str, typer.Option(help="Step name; with --run, the same step runs once.")] = "",
    run_id: Annotated[
        str, typer.Option("--run", help="Continue this run, with a new budget and trace.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Run one tool through the kernel, and print its result."""
    arguments = read_arguments(args)
    if run_id and not re.fullmatch(r"run_[0-9a-f]{16}", run_id):
        raise UsageError(f"--run: {run_id!r} is not a run", "sb log tail shows them")
    if step and not run_id:
        raise UsageError("--step needs --run: each command is its own run", "add --run RUN")
    if not agent:
        raise UsageError("--agent is empty: every call needs an agent")
    safety_mode = choice("--mode", mode, SafetyMode)
    with runtime(ctx) as opened:
        if opened.config.agents and agent not in opened.config.agents:
            note(f"note: agent {agent} is not in the configuration: only tool allowlists and policy limit it")
        context = RunContext.create(
            agent_name=agent,
            intent=intent or f"sb kernel run {tool}",
            safety_mode=safety_mode,
            budget=opened.budget(),
            metadata={} if intent else {INTENT_UNSTATED: True},
        )
        if run_id:
            context.run_id = run_id
        with opened.executor.run(context):
            result = opened.executor.execute(context, tool, arguments, step=step)
        undo = _undo_of(opened, result)
    if as_json:
        output.emit_json(_result(result, context))
    elif result.success:
        output.line(
            result.data
            if isinstance(result.data, str)
            else json.dumps(result.data, ensure_ascii=False, indent=2),
            one_line=False,
        )
    else:
        note(f"{result.error_code}: {result.error_message}")
        if isinstance(result.data, dict) and "approval_id" in result.data:
            note(f"sb approvals show {result.data['approval_id']}; once it is approved, run this again")
    if not as_json:
        note(f"run {context.run_id}, call {result.call_id}: sb log show {context.run_id}")
        if undo:
            note(undo)
    raise typer.Exit(_exit_code(result))


def _undo_of(opened: Runtime, result: ToolResult) -> str:
    """The undo of a call, or why there is none; "" for a call that changed nothing."""
    if not result.mutation_id:
        return ""
    left = opened.executor.mutations.get(result.mutation_id)
    how = f"no undo: {left.no_way_back}" if left.no_way_back else f"sb undo {result.mutation_id}"
    return f"changed as {result.mutation_id}: {how}"


def _exit_code(result: ToolResult) -> int:
    if result.success:
        return ExitCode.OK
    return ExitCode.DENIED if result.refused else ExitCode.FAILED


def _result(result: ToolResult, context: RunContext) -> dict[str, Any]:
    provenance = None if result.provenance is None else vars(result.provenance)
    return {"run_id": context.run_id, **vars(result), "provenance": provenance}
