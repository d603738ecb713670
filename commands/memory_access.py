"""`sb memory access`: what holds for the memories of a scope, and which pattern of `memory.scopes` says so."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import Scope, memory, not_blank
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.base.duration import human_duration
from sb.errors import DeniedError, UsageError

app = single()
_KEYS = ("scope", "answer", "value", "patterns")
_NOTHING = {"max_age": "never", "retention": "for ever", "gate": "as built in", "trust_floor": "0"}


@app.command(epilog="Example: sb memory access --scope customer:acme --agent support-7")
def access(
    ctx: typer.Context,
    scope: Scope = "",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="Only what this agent may do.", callback=not_blank)
    ] = "",
    json_: AsJson = False,
) -> None:
    """Show what holds in scopes, and which rule says so."""
    from sb.config.kinds import SCOPE
    from sb.memory.access import answers

    if scope and not SCOPE.fullmatch(scope):
        raise UsageError(f"{scope!r} is not a scope", "use global, or TYPE:NAME such as project:api-v2")
    config = configuration(ctx)
    layers = config.memory.scopes.layers
    named = (scope,) if scope else dict.fromkeys(pattern for layer in layers for pattern in layer)
    found = [(name, *answer) for name in named for answer in answers(config.memory, name, agent)]
    if scope and agent and config.agent_charters == "enforce" and config.database.exists():
        try:
            with memory(ctx, agent, scope=scope):
                found.append((scope, "charter", True, ()))
        except DeniedError as error:
            found.append((scope, "charter", False, (error.message,)))
    if json_:
        output.emit_json({"items": [dict(zip(_KEYS, row, strict=True)) for row in found]})
    elif found:
        rows = [(at, name, _worded(name, value), ", ".join(by) or "-") for at, name, value, by in found]
        output.table(("scope", "answer", "is", "by"), rows)
    else:
        note("every agent may do everything: memory.scopes has no rules")


def _worded(answer: str, value: Any) -> str:
    name = answer.partition(" ")[0]
    if isinstance(value, tuple):
        return ", ".join(value) or ("-" if name == "includes" else "nobody")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "" or (value == 0 and name in ("max_age", "trust_floor")):
        return _NOTHING.get(name, "-")
    if name in ("max_age", "retention"):
        return human_duration(value) if value else "0s"
    return str(value)
