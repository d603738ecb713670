"""Reasons for which calls failed, read from the log when a lesson is shown.

They are the words of tools, so memory does not store them: a tool's words enter memory by a person's release alone.
"""

from __future__ import annotations

import re

from sb.base.text import plain, shorten
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.review.activity import ASKS
from sb.kernel.review.calls import CallRecord, calls_at
from sb.log.event_log import EventLog
from sb.memory.space import Space

_LONGEST = 160
_TELLING = re.compile(
    r"(?i)error|fatal|not found|no such|denied|cannot|can't|could not|fail|missing|unknown|invalid|unrecognized|undefined"
)
_EXIT = re.compile(r"(?i)(?:command failed(?: with)?:? ?)?exit (?:code|status):? ?\d+\.?")


def reason_of(space: Space, record: int) -> str:
    """The reason of the newest failure of a lesson, in one line; "" if the log has it no more or it reads like an attack."""
    newest = space.database.query("SELECT max(at) FROM lesson_failures WHERE record = ?", (record,))[0][0]
    if newest is None:
        return ""
    from sb.kernel.red_team.detector import check  # not for who only lists

    log = EventLog(space.database, clock=space.clock, ids=space.ids)
    call = calls_at(log, [newest]).get(newest)
    reason = telling(str(error_of(call))) if call is not None else ""
    return "" if not reason or check(reason).flagged else reason


def error_of(call: CallRecord) -> object:
    """The error of a call that failed, or the reason for which it was refused or denied."""
    if call.payload.get("phase") != "refused":
        return call.payload.get("error", "")
    return call.request.reason if is_denied(call) and call.request else call.payload.get("reason", "")


def is_denied(call: CallRecord) -> bool:
    """True for a call that a person denied."""
    asked = call.payload.get("rule") == ASKS and call.request is not None
    return asked and call.request is not None and call.request.state is ApprovalState.DENIED


def telling(error: str) -> str:
    """The line of an error that tells most: the first that names a problem, else the last."""
    texts = [" ".join(plain(line, one_line=True).split()) for line in error[:20_000].splitlines()]
    lines = [text for text in texts if text and not _EXIT.fullmatch(text)]
    named = next((text for text in lines if _TELLING.search(text)), lines[-1] if lines else "")
    return shorten(named or " ".join(filter(None, texts)), _LONGEST)
