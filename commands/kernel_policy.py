"""`sb kernel policy`: check the written rules, explain a decision, and try rules on the calls on record."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import choice, read_arguments
from sb.commands.diagnostics import note, progress
from sb.commands.session import configuration

from sb.duration import parse_duration
from sb.errors import ExitCode, NotFoundError, UsageError
from sb.text import nearest, plain, shorten

if TYPE_CHECKING:
    from sb.config import Config
    from sb.config.rules import PolicyRule
    from sb.kernel.contracts import ToolSpec
    from sb.kernel.policy.explain import Explanation
    from sb.kernel.tooling.permissions import ToolPolicy
    from sb.kernel.tooling.registry import ToolRegistry

app = typer.Typer(
    help="Check the written rules, explain a decision, and try rules on the calls on record.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
File = Annotated[
    Path | None, typer.Option(help="Use the policy: of this YAML file in place of the configured one.")
]
WIDEST = 60  # characters of a reason in a table


def _policy(config: Config, file: Path | None) -> tuple[ToolPolicy, tuple[PolicyRule, ...]]:
    from sb.config.sources import read_rules
    from sb.kernel.policy.rules import WrittenPolicy
    from sb.kernel.run_context import SafetyMode
    from sb.kernel.tooling.permissions import ToolPolicy

    rules = config.policy if file is None else read_rules(file, os.environ)
    return ToolPolicy(SafetyMode(config.safety_mode), rules=WrittenPolicy(rules)), rules


def _registry(config: Config) -> ToolRegistry:
    from sb.runtime import open_registry

    registry, failures = open_registry(config)
    for failure in failures:
        note(f"warning: tools of {failure.source} were not loaded: {failure.message}")
    return registry


@app.command()
def check(
    ctx: typer.Context,
    file: File = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if there are warnings.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say the rules in words, and what is odd about them."""
    from sb.kernel.policy.explain import oddities
    from sb.kernel.policy.rules import ALLOW, in_words

    config = configuration(ctx)
    _, rules = _policy(config, file)
    odd = oddities(rules, _registry(config).list_ids(), list(config.agents))
    if as_json:
        items = [vars(rule) | {"args": dict(rule.args), "words": in_words(rule)} for rule in rules]
        output.emit_json({"items": items, "warnings": odd})
    else:
        for rule in rules:
            output.line(f"{rule.name}: {in_words(rule)}" + (f" ({rule.reason})" if rule.reason else ""))
        for warning in odd:
            note(f"warning: {warning}")
        if any(rule.effect == ALLOW for rule in rules):
            note("some rules allow, so whatever no rule allows or sends to a person is denied")
        elif not rules:
            note("no rules are written: allowlists, ceilings and safety modes decide")
    if odd and strict:
        raise typer.Exit(ExitCode.FAILED)


@app.command()
def explain(
    ctx: typer.Context,
    call: Annotated[str, typer.Argument(help="A tool's id, or the id of a call on record.")],
    args: Annotated[
        str, typer.Option(help="Arguments as a JSON object; @FILE reads them from a file, - from stdin.")
    ] = "{}",
    agent: Annotated[str, typer.Option(help="Who calls.")] = "operator",
    mode: Annotated[str, typer.Option(help="Safety mode of the run: normal, safe or strict.")] = "normal",
    file: File = None,
    as_json: AsJson = False,
) -> None:
    """Say what the policy decides about one call, and why; exit 4 if it may not simply run."""
    from sb.kernel.policy.explain import explain as explained
    from sb.kernel.run_context import SafetyMode
    from sb.kernel.tooling.permissions import PolicyAction

    config = configuration(ctx)
    registry, (policy, _) = _registry(config), _policy(config, file)
    given = read_arguments(args)
    if call.startswith("call_"):
        spec, agent, given = _on_record(config, registry, policy, call)
    else:
        found = registry.get(call)
        if found is None:
            shown = plain(shorten(call, 60), one_line=True)
            raise NotFoundError(f"no tool {shown!r}{nearest(call, registry.list_ids())}", "sb kernel tools")
        spec = found
    result = explained(policy.bound_by(choice("--mode", mode, SafetyMode)), registry, spec, agent, given)
    if as_json:
        output.emit_json(result.to_dict())
    else:
        _print(result)
    raise typer.Exit(ExitCode.OK if result.decision.action is PolicyAction.ALLOW else ExitCode.DENIED)


def _on_record(
    config: Config, registry: ToolRegistry, policy: ToolPolicy, call_id: str
) -> tuple[ToolSpec, str, dict[str, Any]]:
    from sb.kernel.policy.replay import doubtful_arguments, spec_on_record
    from sb.runtime import open_log

    event = next(open_log(config).events(call_id=call_id, limit=1), None)
    if event is None:
        raise NotFoundError(
            f"no call {plain(shorten(call_id, 40), one_line=True)!r} is on record", "sb audit tail"
        )
    spec = spec_on_record(event, registry)
    args = (event.payload or {}).get("args")
    if spec is None:
        raise UsageError(
            f"the tool {event.subject.tool_id} is not registered, and its class is not on record"
        )
    doubtful = doubtful_arguments(policy, spec, event.subject.agent, args)
    if doubtful:
        note(f"warning: {doubtful} is not on record as it was, so this may be wrong")
    return spec, event.subject.agent, args if isinstance(args, dict) else {}


def _print(result: Explanation) -> None:
    decision = result.decision
    why = f" ({decision.rule})" if decision.rule else ""
    output.line(f"{result.tool_id} by {result.agent}: {decision.action}{why}")
    for rule, reason in decision.reasons or ((decision.rule, decision.reason),):
        if reason:
            output.line(f"  because {reason} ({rule})")
    for hit in result.hits:
        output.line(f"  fits {hit.rule}, which would {hit.effect}")
    for name in result.misses:
        output.line(f"  does not fit the arguments of {name}")
    if result.remedy:
        output.line(f"  what would change it: {result.remedy}")


@app.command()
def replay(
    ctx: typer.Context,
    since: Annotated[str, typer.Option(help="Calls of so long ago until now: 1h, 1d, 4w.")] = "1d",
    agent: Annotated[str, typer.Option(help="Only this agent's.")] = "",
    tool: Annotated[str, typer.Option(help="Only this tool's.")] = "",
    file: File = None,
    limit: Annotated[int, typer.Option(min=0, help="Show at most so many changed calls; 0 for all.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Say what the policy would have done to the calls on record."""
    from sb.kernel.policy.replay import replay as replayed
    from sb.runtime import open_log

    config = configuration(ctx)
    policy, _ = _policy(config, file)
    start = int((time.time() - parse_duration(since)) * 1e6)
    found = replayed(
        open_log(config),
        policy,
        _registry(config),
        since=start,
        agent=agent,
        tool_id=tool,
        limit=limit,
        progress=progress("judging"),
    )
    differing = sum(count for (then, now), count in found.calls.items() if then != now)
    if as_json:
        counts = [{"then": then, "now": now, "calls": n} for (then, now), n in sorted(found.calls.items())]
        output.emit_json(
            {"counts": counts, "skipped": found.skipped, "items": [call.to_dict() for call in found.changed]}
        )
        return
    if found.calls:
        rows = [(then, now, n) for (then, now), n in sorted(found.calls.items())]
        output.table(["then", "now", "calls"], rows)
    for call in found.changed:
        why = shorten(call.reason, WIDEST) or call.rule
        output.line(f"{call.call_id} {call.agent} {call.tool_id}: {call.then} -> {call.now}: {why}")
    total = sum(found.calls.values())
    note(
        f"{differing} of {total} calls would have ended otherwise; {found.skipped} were refused for other reasons"
    )
    if len(found.changed) < differing:
        note(f"showing {len(found.changed)} of {differing}; --limit 0 shows all")
