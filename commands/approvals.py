"""`sb approvals`: list, show and decide approval requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.approvals_servers import app as servers_app
from sb.commands.arguments import require_reason
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, DecisionReason, Interval, Limit, Reveal, Saved, group
from sb.commands.session import approval_queue, baselines, configuration, decider
from sb.commands.terminal import fits_terminal

from sb.base.duration import parse_duration
from sb.base.text import plain
from sb.errors import NotFoundError, SBError, UsageError
from sb.log.references import full_id
from sb.present.approvals import (
    GRANT,
    REQUEST,
    Request,
    decided_sentence,
    granted_sentence,
    object_first,
    short_call,
)

if TYPE_CHECKING:
    from sb.kernel.approvals.decisions import Approvals
    from sb.kernel.approvals.disclosure import Disclosure
    from sb.kernel.approvals.watching import Notice
    from sb.kernel.authority.signing import Decider
    from sb.kernel.calls.approval import Approval, Grant

app = group()
Ids = Annotated[list[str], typer.Argument(help="Ids of requests; each is decided on its own.")]


@app.command(name="list", epilog="Example: sb approvals list --by ada --since 7d --state approved")
def list_approvals(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILTER", help='Only requests that fit, as agent:clerk amount>1000 "rm -rf".'),
    ] = None,
    state: Annotated[
        str, typer.Option(help="Only this state: waiting, approved, denied, expired, used…")
    ] = "",
    by: Annotated[str, typer.Option(help="Only requests that this operator decided.")] = "",
    since: Annotated[str, typer.Option(help="Only decided or asked since: 7d, 2h, 2026-11-20.")] = "",
    agent: Annotated[str, typer.Option(help="Only requests of this agent.")] = "",
    tool: Annotated[str, typer.Option(help="Only requests for this tool; * for any part.")] = "",
    amount: Annotated[str, typer.Option(help="Only amounts as >1000 or <=50.")] = "",
    filtered: Annotated[str, typer.Option("--filter", help="Filter terms in one text; see FILTER.")] = "",
    saved: Saved = "",
    everything: Annotated[bool, typer.Option("--all", help="Also decided and used requests.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List open requests, or those that fit, by stake."""
    from sb.kernel.approvals.disclosure import LONGEST_UNOPENED
    from sb.kernel.calls.approval import OPEN
    from sb.operator.attention.inbox import InboxReader
    from sb.operator.attention.stake import request_stake
    from sb.operator.filters import APPROVALS, filter_of
    from sb.operator.saved_filters import SavedFilters

    options = {"state": state, "by": by, "since": since, "agent": agent, "tool": tool, "amount": amount}
    known = SavedFilters(configuration(ctx).home).text(saved)
    wanted = filter_of(f"{known} {filtered}", words or (), options, APPROVALS)
    queue = approval_queue(ctx)
    past = everything or wanted.has("state", "by", "since", "until")
    numbers = queue.numbers(states=() if past else OPEN, also=wanted.approvals(queue.now()))
    if wanted.has("effect"):
        fits = {it.number for it in queue.facts_of(numbers) if wanted.effect_fits(request_stake(it).effect)}
        numbers = [number for number in numbers if number in fits]
    numbers = InboxReader(queue.log).by_stake(numbers)
    found, total = queue.listed(numbers[: limit or None]), len(numbers)
    now, piped = queue.now(), not fits_terminal()
    shown = [Request(queue.disclose(item), exact=piped) for item in found]
    if as_json:
        items = [
            REQUEST.to_dict(it, now) | {"disclosure": it.disclosed.to_dict(limit=LONGEST_UNOPENED)}
            for it in shown
        ]
        output.emit_json({"items": items, "total": total})
    elif found:
        output.records(REQUEST, shown, now, "piped" if piped else "table")
    else:
        note("no requests fit" if wanted else "no pending requests")
    if len(found) < total:
        note(f"showing {len(found)} of {total:,}; --limit 0 shows all")


@app.command(epilog="Example: sb approvals show apr_820e --full")
def show(
    ctx: typer.Context,
    approval_id: Annotated[str, typer.Argument(metavar="ID", help="The request's id.")],
    full: Annotated[
        bool, typer.Option("--full", help="Print all arguments, and the digest for approve --shown.")
    ] = False,
    reveal: Reveal = False,
    as_json: AsJson = False,
) -> None:
    """Show one request with everything that would run."""
    from sb.kernel.approvals.disclosure import LONGEST_UNOPENED
    from sb.present.effects import request_reasons

    queue = approval_queue(ctx)
    disclosed = queue.disclose(queue.get(full_id(queue.log.database, approval_id)))
    limit = 0 if full or not disclosed.long else LONGEST_UNOPENED
    if as_json:
        shown = disclosed.to_dict(reveal=reveal, limit=limit)
        output.emit_json(REQUEST.to_dict(Request(disclosed), queue.now()) | {"disclosure": shown})
        return
    output.line(f"call: {short_call(disclosed, reveal=reveal)}")
    reasons = [f"{text} ({rule})" if rule else text for rule, text in request_reasons(disclosed)]
    for heading, lines in disclosed.sections(queue.now(), reasons, reveal=reveal, limit=limit):
        output.line(f"{heading}:" if len(lines) != 1 else f"{heading}: {lines[0]}")
        for text in lines if len(lines) != 1 else ():
            output.line(f"  {text}")
    if full and disclosed.digest:
        output.line(f"digest: {disclosed.code}")
    if limit:
        note(f"shortened: sb approvals show --full {disclosed.approval.id} shows all of it")
    if disclosed.hides and not reveal:
        note("hidden parts are secrets in data; --reveal shows them")


@app.command(epilog='Example: sb approvals approve apr_820e --reason "checked the paths"')
def approve(
    ctx: typer.Context,
    ids: Ids,
    reason: DecisionReason = "",
    who: As = "",
    this_run: Annotated[
        bool,
        typer.Option("--for-run", help="Also approve matching calls until this run ends."),
    ] = False,
    until: Annotated[str, typer.Option(help="Also approve matching calls for this long: 30m, 2h, 30d.")] = "",
    arg: Annotated[
        list[str] | None,
        typer.Option(help="Which calls match, as NAME=PATTERN; may be repeated."),
    ] = None,
    shown: Annotated[
        list[str] | None,
        typer.Option(metavar="DIGEST", help="Digest from `show --full`, for a long request."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Approve pending calls; each runs once.

    A destructive tool is never approved in advance.
    """
    patterns = dict(_pattern(text) for text in arg or ())
    if patterns and not (until or this_run):
        raise UsageError("--arg limits a grant", "add --until 2h or --for-run")
    lasting_s = parse_duration(until or "1d")

    def confirm(queue: Approvals, ids: list[str]) -> None:
        if len(ids) == 1:
            opened = _opened(queue, ids[0], shown or [], alone=True)
            queue.disclose(queue.get(ids[0])).confirm(opened)
        for item in ids:
            with suppress(NotFoundError):  # is said when its turn comes
                note(
                    f"approving {object_first(queue.disclose(queue.get(item)), output.LONGEST_NOTED)} ({item})"
                )

    def decide(queue: Approvals, approval_id: str, by: Decider) -> Approval | Grant:
        opened = _opened(queue, approval_id, shown or [], alone=len(ids) == 1)
        if until or this_run:
            return queue.grant(
                approval_id,
                by,
                reason,
                lasting_s=lasting_s,
                this_run=this_run,
                args=patterns,
                displayed=opened,
            )
        return queue.approve(approval_id, by, reason, displayed=opened)

    _decide(ctx, ids, who, reason, decide, as_json, confirm)


def _opened(queue: Approvals, approval_id: str, digests: list[str], *, alone: bool) -> str:
    """The digest that was typed for this request: of several requests each takes its own."""
    disclosed = queue.disclose(queue.get(approval_id))
    own = [typed for typed in digests if typed in (disclosed.code, disclosed.digest)]
    return next(iter(own), digests[0] if alone and digests else "")


def _pattern(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise UsageError(
            f"--arg {plain(text, one_line=True)!r} is not NAME=PATTERN", "--arg 'path=reports/*'"
        )
    return name, pattern


@app.command(epilog='Example: sb approvals deny apr_820e --reason "use the staging host"')
def deny(
    ctx: typer.Context, ids: Ids, reason: DecisionReason = "", who: As = "", as_json: AsJson = False
) -> None:
    """Deny pending calls, and tell the agent why."""
    _decide(ctx, ids, who, reason, lambda queue, item, by: queue.deny(item, by, reason), as_json)


@app.command(epilog='Example: sb approvals revoke grant_51c0 --reason "the release is over"')
def revoke(
    ctx: typer.Context, ids: Ids, reason: DecisionReason = "", who: As = "", as_json: AsJson = False
) -> None:
    """Revoke unused approvals, or grants."""
    _decide(ctx, ids, who, reason, lambda queue, item, by: queue.revoke(item, by, reason), as_json)


def _decide(
    ctx: typer.Context,
    ids: list[str],
    who: str,
    reason: str,
    decide: Callable[[Approvals, str, Decider], Approval | Grant],
    as_json: bool,
    confirm: Callable[[Approvals, list[str]], None] = lambda queue, ids: None,
) -> None:
    """Decide each; with several, one that cannot be decided does not stop those after it.

    Args:
        confirm: before a passphrase is asked for, says what is decided; raises for one that alone cannot be decided so.
    """
    from sb.kernel.baselines.seeding import sign_added
    from sb.kernel.baselines.seen import SURFACES
    from sb.runtime.parts import shipped_registry

    require_reason(reason)
    queue = approval_queue(ctx)
    ids = [full_id(queue.log.database, item) for item in ids]
    if len(ids) == 1:
        queue.expect(ids[0])
    confirm(queue, ids)
    by = decider(ctx, queue.authority, who)
    stores = (baselines(ctx, surface)[0] for surface in SURFACES)
    if trouble := sign_added(stores, by, lambda: shipped_registry(configuration(ctx))):
        note(f"warning: {trouble}")
    done: list[Approval | Grant] = []
    failed: SBError | None = None
    for item in ids:
        try:
            done.append(decide(queue, item, by))
        except SBError as error:
            if len(ids) == 1:
                raise
            note(f"{item}: {error.message}")
            failed = error
    if as_json:
        output.emit_json({"items": [_as_dict(queue, item) for item in done]})
    else:
        for decided in done:
            output.line(_sentence(queue, decided))
            if (decided.agent, decided.state) == ("recovery", "approved"):
                note(
                    f"sb recovery approve {decided.id} --reason TEXT runs it now; sb recovery watch, at its next check"
                )
    if failed is not None:
        raise typer.Exit(failed.exit_code)


def _as_dict(queue: Approvals, item: Approval | Grant) -> dict[str, Any]:
    from sb.kernel.calls.approval import Grant

    if isinstance(item, Grant):
        return GRANT.to_dict(item)
    return REQUEST.to_dict(Request(queue.disclose(item)), queue.now())


def _sentence(queue: Approvals, item: Approval | Grant) -> str:
    from sb.kernel.calls.approval import Grant

    return granted_sentence(item) if isinstance(item, Grant) else decided_sentence(queue.disclose(item))


@app.command(epilog="Example: sb approvals grants --all")
def grants(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also grants that ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """List grants, and how often each was used."""
    queue = approval_queue(ctx)
    found = queue.grants(active=not everything)
    output.listing(GRANT, found, "no grants", as_json=as_json, now=queue.now())


@app.command(epilog="Example: sb approvals watch --exec notify-me")
def watch(
    ctx: typer.Context,
    command: Annotated[
        str,
        typer.Option("--exec", metavar="CMD", help="Run this command per item; it gets JSON on stdin."),
    ] = "",
    once: Annotated[bool, typer.Option("--once", help="Print what is pending now, and exit.")] = False,
    interval: Interval = 1.0,
    as_json: AsJson = False,
) -> None:
    """Print requests as they arrive, expire or are decided."""
    from sb.kernel.approvals.watching import Watcher
    from sb.operator.attention.notifying import command_words, hand_over

    arguments = command_words("--exec", command) if command else []
    queue = approval_queue(ctx)
    watcher = Watcher(queue)
    while True:
        for notice in watcher.news():
            payload = {"change": str(notice.change), "approval": _as_dict(queue, notice.approval)}
            if as_json:
                output.emit_json_line(payload)
            else:
                output.line(_notice_line(queue.disclose(notice.approval), notice), one_line=True)
            if arguments and (problem := hand_over(arguments, payload)):
                note(f"warning: {problem}")
        output.flush()
        if once:
            return
        time.sleep(interval)


def _notice_line(disclosed: Disclosure, notice: Notice) -> str:
    item, call = notice.approval, short_call(disclosed)
    if notice.change == "decided":
        by = f" · by {item.decided_by}: {item.reason}" if item.decided_by else ""
        return f"{item.state:<9} {call}{by} · {item.id}"
    return f"{notice.change:<9} {call} · {item.agent} · {item.id}"


app.add_typer(servers_app)
