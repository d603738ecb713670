"""Claims of a run's last message: judged by the calls that the log has of it, and put on record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.kernel.claims.model import Claim, ClaimCall, ClaimFinding, Verdict, grounded
from sb.kernel.run_context import CONTINUES, SUBAGENT, RunContext
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import CLAIMS_JUDGED, RUN_STARTED, SESSION_TURN, TOOL_DISPATCH

PRINTED = "printed"  # in a result: the end of what a command line gave, where the result is about files
MOST_EVENTS = 10_000  # of a run that are read, the newest
MOST_PRINTED = 2_000  # characters of what a call gave
_LONGEST = 240  # characters of a sentence or a reason on record
_AGENTS = ("host.agent",)
_EDITS = ("host.write", "host.write_config")
_FIELDS = ", ".join(
    f"'$.{name}'"
    for name in (
        "phase",
        "state",
        "args",
        "result",
        "error",
        "safety_class",
        "code",
        SUBAGENT,
        "project",
        CONTINUES,
    )
)
_EVENTS = f"""SELECT kind, call_id, tool_id, CASE WHEN json_valid(payload) THEN json_extract(payload, {_FIELDS}) END
FROM (SELECT id, kind, call_id, tool_id, payload FROM events WHERE run_id = ? AND kind IN ('{TOOL_DISPATCH}', '{SESSION_TURN}', '{RUN_STARTED}')
ORDER BY id DESC LIMIT {MOST_EVENTS}) ORDER BY id"""


def judge_message(
    log: EventLog,
    ctx: RunContext,
    message: str,
    *,
    action: str = "",
    exists: Callable[[str], bool] = lambda path: False,
) -> list[ClaimFinding]:
    """Judge the last message of a run, and put on record what it claims; nothing where it claims nothing.

    Args:
        action: what becomes of a disputed claim: hold, tell or "".
        exists: whether a file is there; only asked in an agent's favour.

    Raises:
        SBError: the log cannot be read or written.
    """
    from sb.kernel.claims.judge import judge, made_claims

    made = made_claims(message)
    if not made:
        return []
    findings = judge(made, recorded_calls(log, ctx.run_id), message, exists)
    rows = [
        {
            "kind": item.claim.kind,
            "verdict": str(item.verdict),
            "claim": one_line(item.claim.sentence, _LONGEST),
            "reason": one_line(item.reason, _LONGEST),
        }
        for item in findings
    ]
    facts = {"grounded": grounded(findings), "action": action if any(map(_disputed, findings)) else ""}
    log.append(CLAIMS_JUDGED, {"claims": rows}, Subject(ctx.run_id, ctx.trace_id, ctx.agent_name), facts)
    return findings


def _disputed(finding: ClaimFinding) -> bool:
    return finding.is_disputed


def last_claims(log: EventLog, run_id: str) -> list[ClaimFinding]:
    """The claims of a run's last message that made some, with the verdicts on record."""
    event = next(log.events(run_id=run_id, kind=CLAIMS_JUDGED, newest_first=True, limit=1), None)
    return _findings(event.payload if event else None)


def is_grounded(log: EventLog, run_id: str) -> bool | None:
    """True if each claim of a run's last message is supported, False if one is contradicted, None if that is not known."""
    return grounded(last_claims(log, run_id))


def untold_claims(log: EventLog, run_id: str) -> list[ClaimFinding]:
    """Disputed claims that the agent is to be told of when its user writes next; none once that turn has begun."""
    rows = log.database.query(
        "SELECT kind, payload FROM events WHERE run_id = ? AND kind IN (?, ?) ORDER BY id DESC LIMIT 1",
        (run_id, CLAIMS_JUDGED, SESSION_TURN),
    )
    if not rows or rows[0][0] != CLAIMS_JUDGED or not rows[0][1]:
        return []
    payload = json.loads(rows[0][1])
    return list(filter(_disputed, _findings(payload))) if payload.get("action") == "tell" else []


def _findings(payload: dict[str, Any] | None) -> list[ClaimFinding]:
    return [
        ClaimFinding(Claim(row["kind"], row["claim"]), Verdict(row["verdict"]), row["reason"])
        for row in (payload or {}).get("claims", ())
    ]


def recorded_calls(log: EventLog, run_id: str) -> list[ClaimCall]:
    """The calls that a run made, in order, as far as a claim needs them."""
    return list(_calls(log.database.query(_EVENTS, (run_id,))))


def _calls(rows: Sequence[Sequence[Any]]) -> Iterator[ClaimCall]:
    last_turn = max((number for number, row in enumerate(rows) if row[0] == SESSION_TURN), default=-1)
    announced: dict[str, tuple[int, Any, Any]] = {}
    found: dict[int, ClaimCall] = {}
    reported, project = False, ""
    for number, (kind, call_id, tool_id, fields) in enumerate(rows):
        if kind == SESSION_TURN or not fields:
            continue
        phase, state, args, result, error, safety, code, subagent, folder, continues = json.loads(fields)
        if kind == RUN_STARTED:
            project = str(folder or "")
            if continues:  # what was made before is on record elsewhere
                yield ClaimCall(f"({continues})", False, read_only=True, delegated=True, this_turn=False)
            continue
        reported = reported or bool(subagent)
        if phase == "intent":
            announced[call_id] = number, args, safety
            found[number] = _call(tool_id, args, safety, None, None, "", number > last_turn)
        elif phase == "outcome" and state != "unreported":  # its host may have made it all the same
            place, args, safety = announced.get(call_id, (number, args, safety))
            if code == "PERMISSION_DENIED":
                found.pop(place, None)
            else:
                ok = state == "done" and not (isinstance(result, dict) and result.get("failed"))
                found[place] = _call(tool_id, args, safety, ok, result, error, place > last_turn)
    for number in sorted(found):
        call = found[number]
        # Where one call of a subagent is on record, all are: it is judged by the same hooks.
        inside = tuple(path.removeprefix(f"{project}/") if project else path for path in call.writes)
        yield call._replace(writes=inside, delegated=call.delegated and not reported)


def _call(
    tool_id: str, args: Any, safety: Any, ok: bool | None, result: Any, error: Any, this_turn: bool
) -> ClaimCall:
    args = args if isinstance(args, dict) else {}
    given = args.get("input") if isinstance(args.get("input"), dict) else {}
    line = args.get("command")
    is_line = isinstance(line, str)
    if ok and given and (given.get("run_in_background") or given.get("is_background")):
        ok = None
    name = str(args.get("tool") or tool_id)
    paths = [str(path) for path in args.get("paths", ()) if isinstance(path, str)]
    path = args.get("path")
    one_path = [path] if isinstance(path, str) and safety == "local_write" and not is_line else []
    edits = tool_id in _EDITS or bool(one_path)
    rows = result.get("files", ()) if isinstance(result, dict) else ()
    changed = [str(row["path"]) for row in rows if isinstance(row, dict) and "path" in row]
    about = "" if is_line else " ".join(paths) or json.dumps(given or args, ensure_ascii=False)[:2_000]
    return ClaimCall(
        str(line) if is_line else f"{name} {about}",
        is_line,
        ok,
        printed(result, str(error or "")),
        tuple(dict.fromkeys((*changed, *(paths if edits else ()), *one_path))) if ok is not False else (),
        edits,
        safety == "read_only",
        tool_id in _AGENTS,
        this_turn,
        isinstance(result, dict) and result.get("tree") is True,
    )


def printed(result: Any, error: str = "", *, most: int = MOST_PRINTED) -> str:
    """The end of what a call gave, as text.

    Args:
        most: characters.
    """
    if isinstance(result, dict):
        shown = result.get(PRINTED) or result.get("ends") or result.get("begins")
        named = [result.get(name) for name in ("stdout", "stderr", "output", "failed")]
        texts = [shown] if shown else [item for item in named if isinstance(item, str) and item]
        about_files = "files" in result or "tree" in result
        text = "\n".join(map(str, texts)) or ("" if about_files else json.dumps(result, ensure_ascii=False))
    else:
        text = result if isinstance(result, str) else "" if result is None else json.dumps(result)
    return "\n".join(filter(None, (error, text)))[-most:]
