"""Reversals, calls of unknown outcome and undo records: the words for their state, and the cells of their lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from sb.base.secrets.redaction import redact_json
from sb.base.text import revealed_line, shorten
from sb.base.values.frozen import frozen
from sb.kernel.calls.intents import Intent
from sb.kernel.recovery_loop.escalations import Escalation, EscalationState
from sb.kernel.recovery_loop.variants import paths_of
from sb.kernel.results import ToolResult
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.kernel.review.needs import call_args
from sb.log.event_log import EventLog
from sb.present.calls import call_object
from sb.present.times import date_and_time, left, moment

if TYPE_CHECKING:
    from sb.kernel.recovery_loop.answers import Undone

UNKNOWN, NO_UNDO, UNDER_WAY = "unknown", "no undo", "running"  # of an outcome, of a call, of a reversal
_WORDS = {EscalationState.IN_DOUBT: UNKNOWN, EscalationState.NO_WAY_BACK: NO_UNDO}


@frozen
class RecoveryLine:
    """One line, cell by cell.

    Args:
        left: until it is too late. since: when it was opened or done.
    """

    id: str
    state: str
    left: str
    agent: str
    tool: str
    since: str
    why: str


def recovery_line(
    about: Escalation | Intent | MutationRef, now: int, *, under_way: bool = False
) -> RecoveryLine:
    """A reversal, a call or an undo record as lists show it.

    Args:
        now: microseconds since the epoch.
        under_way: its reversal is being performed now.
    """
    since = since_of(about)
    return RecoveryLine(
        name_of(about),
        state_word(about, now, under_way=under_way),
        left(ends_at(about), now),
        revealed_line(about.agent),
        revealed_line(about.tool_id),
        "-" if since is None else moment(since),
        revealed_line(why(about, now)),
    )


def name_of(about: Escalation | Intent | MutationRef) -> str:
    """Its id."""
    if isinstance(about, Escalation):
        return about.id
    return about.call_id if isinstance(about, Intent) else about.mutation_id


def since_of(about: Escalation | Intent | MutationRef) -> int | None:
    """When it was opened or done, in microseconds since the epoch, as far as that is at hand."""
    if isinstance(about, Escalation):
        return about.opened_at
    return about.bound_at if isinstance(about, MutationRef) else None


def ends_at(about: Escalation | Intent | MutationRef) -> int | None:
    """When it is too late, in microseconds since the epoch; None where nothing runs out."""
    if isinstance(about, Escalation):
        return about.expires_at if about.undecided else None
    if isinstance(about, MutationRef) and about.state is MutationState.COMMITTED:
        return about.window_ends_at
    return None


def state_word(about: Escalation | Intent | MutationRef, now: int, *, under_way: bool = False) -> str:
    """Its state; `now` in microseconds since the epoch."""
    if under_way:
        return UNDER_WAY
    if isinstance(about, Escalation):
        return _WORDS.get(about.state, str(about.state))
    if isinstance(about, Intent):
        return UNKNOWN
    if about.state is not MutationState.COMMITTED:
        return "reversed" if about.state is MutationState.REVERSED else UNKNOWN
    if not about.reversal_tool:
        return NO_UNDO
    return "undoable" if about.undoable(now) else "too late"


def why(about: Escalation | Intent | MutationRef, now: int) -> str:
    """The reason why it is listed, or of an undo record what reverses it."""
    if isinstance(about, Escalation):
        return about.why or about.cause
    if isinstance(about, MutationRef):
        if about.no_way_back:
            return about.no_way_back
        over = "" if about.in_window(now) else f"until {date_and_time(about.window_ends_at or 0)}: "
        paths = paths_of(about)
        if paths:
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            return f"{over}restores {paths[0]}{more}"
        return f"{over}{about.reversal_tool} {redact_json(about.shown_args())}"
    if about.workflow:
        return f"the outcome of step {about.step!r} of workflow {about.workflow!r} is unknown"
    return "the outcome of the reversal is unknown" if about.reverses else "the outcome is unknown"


def undone_sentence(undone: Undone) -> str:
    """One sentence: the end of a reversal, with the files that it restored or removed."""
    if undone.state == "reversed":
        return f"{_restored(undone.result) or undone.detail} ({undone.mutation_id})"
    return f"{undone.state}: {undone.detail} ({undone.mutation_id})"


def logged_object(log: EventLog, about: Escalation | Intent | MutationRef) -> str:
    """The object of the call that this is about, as the log has it."""
    named = about.named if isinstance(about, Intent) else None
    return call_object(about.tool_id, named or call_args(log, about.run_id, about.call_id))


def dismissed_sentence(about: str, again: str, escalation_id: str) -> str:
    """One sentence: the consequence of a dismissed reversal.

    Args:
        about: the object of the call. again: what still undoes it.
    """
    return f"Left as it is: {shorten(revealed_line(about), 80)}. {again} can still undo it ({escalation_id})"


def settled_sentence(about: str, verdict: str, by: str, call_id: str) -> str:
    """One sentence: the recorded settlement of a call with unknown outcome.

    Args:
        about: the object of the call. by: the operator's name, or the tool's probe.
    """
    return f"Recorded as {verdict.replace('-', ' ')} by {by}: {revealed_line(about)} ({call_id})"


def _restored(result: ToolResult | None) -> str:
    """Of a reversal that put files back; "" for any other."""
    data = result.data if result is not None and isinstance(result.data, dict) else {}
    files = data.get("restored", data.get("files", [data]))
    return restored_names([one for one in files if isinstance(one, dict)]) if isinstance(files, list) else ""


def restored_names(rows: Sequence[Mapping[str, Any]], most: int = 5) -> str:
    """One line: the files that a reversal restored or removed."""
    words: dict[str, list[str]] = {"restored": [], "removed": []}
    top = "/"  # of what was named last: what is below it goes without saying
    for one in rows:
        path = one.get("path")
        if isinstance(path, str) and "existed" in one and not path.startswith(f"{top}/"):
            words["restored" if one["existed"] else "removed"].append(revealed_line(PurePath(path).name))
            top = path
    return "; ".join(
        f"{word} {', '.join(names[:most])}" + (f" and {len(names) - most} more" if len(names) > most else "")
        for word, names in words.items()
        if names
    )
