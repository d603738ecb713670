"""`sb serve token`: tokens of agents that connect over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.arguments import require_reason
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, DecisionReason, group
from sb.commands.session import configuration, decider

from sb.base.duration import parse_duration
from sb.base.sources import MICROSECONDS
from sb.present.rules import TOKEN

if TYPE_CHECKING:
    from sb.kernel.authority.authority import Authority
    from sb.kernel.boundaries.tokens import AccessTokens

app = group("Create, list and revoke tokens for HTTP.")


@app.command(
    epilog='Example: sb serve token create scribe --toolset core --expires 90d --reason "the scribe\'s laptop"'
)
def create(
    ctx: typer.Context,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Who connects with it.")],
    toolset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="What it is for; may be repeated.")
    ] = None,
    expires: Annotated[
        str, typer.Option(metavar="DURATION", help="How long it is valid, such as 90d.")
    ] = "90d",
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Create a token; it is shown once, its digest stored."""
    from sb.mcp.toolsets import toolsets

    require_reason(reason)
    offered = [str(item) for item in toolsets(toolset or ())]
    lifetime = parse_duration(expires)
    authority, tokens = _opened(ctx)
    secret, token = tokens.create(agent, offered, decider(ctx, authority, who), reason, lifetime_s=lifetime)
    if as_json:
        output.emit_json({"token": secret, **TOKEN.to_dict(token)})
        return
    output.line(secret)
    note(f"{token.id} lets {token.agent} use {', '.join(token.toolsets)}. It is not shown again.")


@app.command(name="list", epilog="Example: sb serve token list")
def list_(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List tokens; never their secrets."""
    _, tokens = _opened(ctx)
    known = tokens.all()
    now = round(tokens.clock.now() * MICROSECONDS)
    nothing = "no tokens; sb serve token create AGENT makes one"
    output.listing(TOKEN, known, nothing, as_json=as_json, now=now)


@app.command(epilog='Example: sb serve token revoke sbt_4f2a --reason "the laptop is gone"')
def revoke(
    ctx: typer.Context,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, or the beginning of it.")],
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Revoke a token; from then on it is refused."""
    require_reason(reason)
    authority, tokens = _opened(ctx)
    known = tokens.get(token)  # before a passphrase is asked for
    revoked = tokens.revoke(known.id, decider(ctx, authority, who), reason)
    if as_json:
        output.emit_json(TOKEN.to_dict(revoked))
    else:
        output.line(f"{revoked.id} of {revoked.agent} is revoked by {revoked.revoked_by}")


def _opened(ctx: typer.Context) -> tuple[Authority, AccessTokens]:
    from sb.kernel.boundaries.tokens import AccessTokens
    from sb.runtime.parts import open_authority, open_log

    config = configuration(ctx)
    log = open_log(config)
    authority = open_authority(config, log)
    return authority, AccessTokens(log, authority)
