"""Reversals, calls of unknown outcome and undo records: the words for their state, and the cells of their lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from sb.base.fitting import Cut
from sb.base.secrets.redaction import Masking, redact_json, redact_text
from sb.base.sources import MICROSECONDS
from sb.base.text import revealed_line, shorten
from sb.base.values.frozen import frozen
from sb.kernel.approvals.disclosure import Argument
from sb.kernel.calls.intents import Intent
from sb.kernel.recovery_loop.escalations import Escalation, EscalationState
from sb.kernel.recovery_loop.variants import paths_of
from sb.kernel.results import ToolResult
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.kernel.review.needs import call_args
from sb.log.event_log import EventLog
from sb.present.calls import call_object
from sb.present.kind import Cell, Column, Field, Kind
from sb.present.states import DANGER, SOFT, WARN, State, state
from sb.present.times import ago, date_and_time, left

if TYPE_CHECKING:
    from sb.kernel.recovery_loop.answers import Undone

REVERSAL = "reversal"  # one that waits for a decision
SOON_S = 600  # what runs out within so many seconds is in danger
UNKNOWN, NO_UNDO, UNDER_WAY = "unknown", "no undo", "running"  # of an outcome, of a call, of a reversal
_WORDS = {EscalationState.IN_DOUBT: UNKNOWN, EscalationState.NO_WAY_BACK: NO_UNDO}


@frozen
class CallFacts:
    """The log's facts on the call of an item.

    Args:
        object: the command, file or amount. at: microseconds since the epoch; 0 where it is not in the log.
    """

    object: str
    at: int = 0


@frozen
class Item:
    """One line: an escalation, a call in doubt, or what a call changed.

    Args:
        key: names it in a list of all three kinds.
        under_way: its reversal is being performed now.
        call: the one it is about. project: in which that was made, or "".
    """

    about: Escalation | Intent | MutationRef
    key: int = 0
    under_way: bool = False
    call: CallFacts = CallFacts("")
    project: str = ""

    @property
    def name(self) -> str:
        """Its id."""
        about = self.about
        if isinstance(about, Escalation):
            return about.id
        return about.call_id if isinstance(about, Intent) else about.mutation_id

    @property
    def mutation_id(self) -> str:
        """Of what could be undone; "" for none."""
        return "" if isinstance(self.about, Intent) else self.about.mutation_id

    @property
    def decidable(self) -> Escalation | None:
        """The escalation, while a person may agree to its reversal or has and it was not performed."""
        about = self.about
        return about if isinstance(about, Escalation) and about.undecided else None

    @property
    def who(self) -> str:
        """The agent and its project."""
        return " · ".join(filter(None, (revealed_line(self.about.agent), self.project)))

    @property
    def ends_at(self) -> int | None:
        """When it is too late, in microseconds since the epoch; None where nothing runs out."""
        about = self.about
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
    if not about.reversal_tool or about.is_empty:
        return NO_UNDO
    return "undoable" if about.undoable(now) else "too late"


def why(about: Escalation | Intent | MutationRef, now: int) -> str:
    """The reason why it is listed, or of an undo record what reverses it."""
    if isinstance(about, Escalation):
        return about.why or about.cause
    if isinstance(about, MutationRef):
        if about.no_way_back or about.is_empty:
            return about.no_way_back or "it changed nothing that was stored"
        over = "" if about.in_window(now) else f"until {date_and_time(about.window_ends_at or 0)}: "
        paths = paths_of(about)
        if paths:
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            return f"{over}restores {paths[0]}{more}"
        return f"{over}{about.reversal_tool} {redact_json(about.shown_args())}"
    if about.workflow:
        return f"the outcome of step {about.step!r} of workflow {about.workflow!r} is unknown"
    return "the outcome of the reversal is unknown" if about.reverses else "the outcome is unknown"


def argument_text(argument: Argument, *, reveal: bool) -> str:
    """An argument of a reversal, on one line; whatever may be a secret is masked until it is revealed."""
    text = argument.text(reveal=reveal)
    if reveal:
        return text
    try:
        value = json.loads(text)
    except ValueError:  # a part of it is hidden already
        return redact_text(text)
    (masked,) = Masking(personal=False).value({argument.name: value}).values()
    return text if masked == value else revealed_line(json.dumps(masked, ensure_ascii=False))


def shown_state(item: Item, now: int) -> State:
    """Its state word as lists show it: filled while somebody has to act; of what only happened quiet."""
    word = state_word(item.about, now, under_way=item.under_way)
    if isinstance(item.about, MutationRef):
        return state(word) if word == UNKNOWN else State(word)
    if word == EscalationState.WAITING:
        return state(REVERSAL)
    return State(word, WARN) if word == NO_UNDO else state(word)


def _when(item: Item, now: int) -> Cell:
    """The time left, else since when."""
    about, ends = item.about, item.ends_at
    if ends is not None and ends > now and not isinstance(about, MutationRef):
        return Cell(f"{left(ends, now)} left", DANGER if ends - now < SOON_S * MICROSECONDS else "")
    since = about.opened_at if isinstance(about, Escalation) else item.call.at
    return Cell(ago((about.bound_at if isinstance(about, MutationRef) else since) or None, now), SOFT)


RECOVERY = Kind[Item](
    Field("state", lambda it, now: state_word(it.about, now, under_way=it.under_way)),
    Field("left", lambda it, now: left(it.ends_at, now)),
    Field("agent", lambda it, now: revealed_line(it.about.agent)),
    Field("tool", lambda it, now: it.about.tool_id),
    Field("why", lambda it, now: why(it.about, now)),
    Field("id", lambda it, now: it.name),
    Field("badge", shown_state, Column(10, badges=True), title="state"),
    Field("call", lambda it, now: Cell(it.call.object), Column(cut=Cut.MIDDLE)),
    Field("who", lambda it, now: it.who, Column(14, 40, SOFT, most=22), title="agent"),
    Field("when", _when, Column(9, right=True)),
    faces={
        "table": "state,left,agent,tool,why,id",
        "list": "badge,call,who,when",
        "plain": "id,badge,call,who,when,why",
    },
)


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
    return (
        restored_names([file for file in files if isinstance(file, dict)]) if isinstance(files, list) else ""
    )


def restored_names(rows: Sequence[Mapping[str, Any]], most: int = 5) -> str:
    """One line: the files that a reversal restored or removed."""
    words: dict[str, list[str]] = {"restored": [], "removed": []}
    top = "/"  # of what was named last: what is below it goes without saying
    for row in rows:
        path = row.get("path")
        if isinstance(path, str) and "existed" in row and not path.startswith(f"{top}/"):
            words["restored" if row["existed"] else "removed"].append(revealed_line(PurePath(path).name))
            top = path
    return "; ".join(
        f"{word} {', '.join(names[:most])}" + (f" and {len(names) - most} more" if len(names) > most else "")
        for word, names in words.items()
        if names
    )
