"""`sb memory access`: who may do what with the memories of a scope."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import Scope, not_blank
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.errors import UsageError

app = single()


@app.command(epilog="Example: sb memory access --scope customer:acme --agent support-7")
def access(
    ctx: typer.Context,
    scope: Scope = "",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="Only what this agent may do.", callback=not_blank)
    ] = "",
    json_: AsJson = False,
) -> None:
    """Show who may read, write, promote and share memories."""
    from sb.config.kinds import SCOPE
    from sb.config.scopes import RIGHTS

    if scope and not SCOPE.fullmatch(scope):
        raise UsageError(f"{scope!r} is not a scope", "use global, or TYPE:NAME such as project:api-v2")
    scopes = configuration(ctx).memory.scopes
    items: list[dict[str, Any]] = []
    for name in (scope,) if scope else scopes.patterns:
        rights = {right: list(scopes.answer(right, name)) for right in RIGHTS}
        if agent:
            rights = {right: [agent] if scopes.allows(right, name, agent) else [] for right in rights}
        items.append({"scope": name, "ruled": bool(scopes.explain(RIGHTS[0], name).patterns), **rights})
    if json_:
        output.emit_json({"items": items})
    elif items:
        rows = [(one["scope"], *(", ".join(one[right]) or "nobody" for right in RIGHTS)) for one in items]
        output.table(("scope", *RIGHTS), rows)
    else:
        note("every agent may do everything: memory.scopes has no rules")
