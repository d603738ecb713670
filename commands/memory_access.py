"""`sb memory access`: what holds for the memories of a scope, and which pattern of `memory.scopes` says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import Scope, memory, not_blank
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.base.duration import human_duration
from sb.errors import DeniedError, UsageError

if TYPE_CHECKING:
    from sb.config.memory import Memory

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

    if scope and not SCOPE.fullmatch(scope):
        raise UsageError(f"{scope!r} is not a scope", "use global, or TYPE:NAME such as project:api-v2")
    config = configuration(ctx)
    layers = config.memory.scopes.layers
    named = (scope,) if scope else dict.fromkeys(pattern for layer in layers for pattern in layer)
    found = [(name, *answer) for name in named for answer in _answers(config.memory, name, agent)]
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


def _answers(settings: Memory, scope: str, agent: str) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Each answer about a scope and the patterns that give it; one with parts for each part that a rule names."""
    from sb.config.scope_patterns import any_matches
    from sb.config.scopes import QUESTIONS, RIGHTS

    for name in QUESTIONS:
        for part in settings.scopes.parts(name, scope) or ((),):
            value, patterns = settings.scopes.explain(name, scope, part)
            value = value[0] if name == "retention" and value else value
            value = any_matches(value, agent) if name in RIGHTS and agent else value
            yield " ".join((name, *part)), value, patterns
    readers = settings.personal_data_readers
    seen = any_matches(readers, agent) if agent else readers
    yield "personal_data_readers", seen, ("memory.personal_data_readers",)


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
