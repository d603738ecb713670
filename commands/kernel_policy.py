"""`sb kernel policy`: check rules, explain a verdict, try rules on recorded calls."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import choice, read_arguments
from sb.commands.diagnostics import note, progress
from sb.commands.options import Args, AsJson, Limit, Mode, group
from sb.commands.session import configuration, registry

from sb.base.duration import parse_duration
from sb.base.secrets.redaction import one_line
from sb.base.sources import SYSTEM_CLOCK, iso
from sb.base.text import counted, nearest, shorten
from sb.errors import ExitCode, NotFoundError, UsageError

if TYPE_CHECKING:
    from sb.config import Config
    from sb.config.rules import PolicyRule
    from sb.kernel.contracts import ToolSpec
    from sb.kernel.registry.registry import ToolRegistry
    from sb.kernel.review.explain import Explanation, Judge
    from sb.kernel.review.policy_replay import Replay

app = group("Check policy rules, explain a verdict, and try rules.")
File = Annotated[Path | None, typer.Option(help="Use the `policy:` of this YAML file instead.")]
WIDEST = 60  # characters of a reason in a table


def _rules(config: Config, file: Path | None) -> tuple[PolicyRule, ...]:
    from sb.config.sources import read_rules

    return config.policy if file is None else read_rules(file, os.environ)


def _judge(config: Config, file: Path | None) -> Judge:
    from sb.kernel.review.explain import Judge
    from sb.runtime.parts import granted_permissions, open_policy

    config = replace(config, policy=_rules(config, file))
    return Judge(open_policy(config), registry(config), granted_permissions(config))


@app.command(epilog="Example: sb kernel policy check --strict")
def check(
    ctx: typer.Context,
    file: File = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if there are warnings.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the rules in words, and warn of odd ones."""
    from sb.kernel.policy.lint import oddities
    from sb.kernel.policy.rules import ALLOW, in_words

    config = configuration(ctx)
    rules = _rules(config, file)
    odd = oddities(rules, registry(config).list_ids(), list(config.agents))
    notes = []
    if any(rule.effect == ALLOW for rule in rules):
        notes.append("some rules allow, so calls that no rule allows or asks about are denied")
    if not rules:
        notes.append("no rules: allowlists, ceilings and safety modes decide")
    if as_json:
        items = [vars(rule) | {"args": dict(rule.args), "words": in_words(rule)} for rule in rules]
        output.emit_json({"items": items, "warnings": odd, "notes": notes})
    else:
        for rule in rules:
            output.line(f"{rule.name}: {in_words(rule)}" + (f" ({rule.reason})" if rule.reason else ""))
        for line in [*(f"warning: {warning}" for warning in odd), *notes]:
            note(line)
    if odd and strict:
        raise typer.Exit(ExitCode.FAILED)


@app.command(epilog='Example: sb kernel policy explain http.get --args \'{"url": "https://example.com"}\'')
def explain(
    ctx: typer.Context,
    call: Annotated[str, typer.Argument(help="A tool id, or the id of a recorded call.")],
    args: Args = "",
    agent: Annotated[str, typer.Option(help="The calling agent; by default operator.")] = "",
    mode: Mode = "normal",
    file: File = None,
    as_json: AsJson = False,
) -> None:
    """Explain the verdict on a call; exit 4 unless allowed."""
    from sb.kernel.policy.permissions import PolicyAction
    from sb.kernel.run_context import SafetyMode

    config = configuration(ctx)
    judge = _judge(config, file).under(choice("--mode", mode, SafetyMode))
    if not call.startswith("call_"):
        spec, who, given = (
            _registered(judge.registry, call),
            agent or "operator",
            read_arguments(args or "{}"),
        )
    elif args or agent:
        raise UsageError("a recorded call has its own agent and arguments: omit --agent and --args")
    else:
        spec, who, given = _on_record(config, judge, call)
    result = judge.explain(spec, who, given)
    if as_json:
        output.emit_json(result.to_dict())
    else:
        _print(result)
    raise typer.Exit(ExitCode.OK if result.decision.action is PolicyAction.ALLOW else ExitCode.DENIED)


def _registered(registry: ToolRegistry, tool_id: str) -> ToolSpec:
    spec = registry.get(tool_id)
    if spec is None:
        shown = one_line(tool_id, 60)
        raise NotFoundError(f"no tool {shown!r}{nearest(tool_id, registry.list_ids())}", "sb kernel tools")
    return spec


def _on_record(config: Config, judge: Judge, call_id: str) -> tuple[ToolSpec, str, dict[str, Any]]:
    from sb.kernel.review.recorded_calls import spec_on_record, untold
    from sb.runtime.parts import open_log

    event = next(open_log(config).events(call_id=call_id, limit=1), None)
    if event is None:
        shown = one_line(call_id, 40)
        raise NotFoundError(f"no call {shown!r} is on record", "sb log tail")
    spec, agent = spec_on_record(event, judge.registry), event.subject.agent
    if spec is None:
        raise UsageError(f"the tool {event.subject.tool_id} is not registered, and its class is not recorded")
    recorded = (event.payload or {}).get("args")
    args = recorded if isinstance(recorded, dict) else {}
    doubt = untold(judge.policy, spec, agent, recorded, judge.decide(spec, agent, args))
    if doubt:
        note(f"warning: {doubt} was not recorded in full, so this may be wrong")
    return spec, agent, args


def _print(result: Explanation) -> None:
    decision = result.decision
    output.line(f"{result.tool_id} by {result.agent}: {decision.action} ({decision.rule})")
    if decision.reason:
        output.line(f"  because {decision.reason}")
    for hit in result.hits:
        output.line(f"  fits {hit.rule} ({hit.effect}): {hit.reason}")
    for name in result.misses:
        output.line(f"  does not fit the arguments of {name}")
    if result.remedy:
        output.line(f"  what would change it: {result.remedy}")


@app.command(epilog="Example: sb kernel policy replay --since 1d --file policy.yaml")
def replay(
    ctx: typer.Context,
    since: Annotated[str, typer.Option(help="Only calls from the last 1h, 1d, 4w…")] = "1d",
    agent: Annotated[str, typer.Option(help="Only calls of this agent.")] = "",
    tool: Annotated[str, typer.Option(help="Only calls of this tool.")] = "",
    file: File = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show how the rules would judge recorded calls."""
    from sb.kernel.review.policy_replay import replay as replayed
    from sb.runtime.parts import open_log

    config = configuration(ctx)
    judge = _judge(config, file)
    start = int((SYSTEM_CLOCK.now() - parse_duration(since)) * 1e6)
    found = replayed(
        open_log(config),
        judge,
        since=start,
        agent=agent,
        tool_id=tool,
        limit=limit,
        progress=progress("judging"),
    )
    counts = [{"then": then, "now": now, "calls": n} for (then, now), n in sorted(found.calls.items())]
    if as_json:
        totals = {"differing": found.differing, "untold": found.untold, "skipped": found.skipped}
        output.emit_json(
            {
                "items": [call.to_dict() for call in found.changed],
                "counts": counts,
                **totals,
                "pruned": found.pruned,
            }
        )
        return
    _print_replay(found, counts)


def _print_replay(found: Replay, counts: list[dict[str, Any]]) -> None:
    if counts:
        output.table(["then", "now", "calls"], [tuple(row.values()) for row in counts])
    for call in found.changed:
        when, why = iso(call.at / 1e6)[:19], shorten(call.reason, WIDEST)
        rule = f" ({call.rule})" if call.rule else ""
        output.line(
            f"{call.call_id} {when}Z {call.agent} {call.tool_id}: {call.then} -> {call.now}{rule}: {why}"
        )
    note(f"{found.differing} of {found.total} calls would end differently; {found.untold} cannot be judged")
    if found.skipped:
        note(f"{counted(found.skipped, 'call')} refused for other reasons than policy")
    if found.pruned:
        note(f"{found.pruned} rows were pruned, so their calls' outcomes are unknown")
    hidden = found.differing + found.untold - len(found.changed)
    if hidden:
        note(f"{hidden} more are not shown: --limit 0 shows all")
