"""Judgements of runs: the cells of their lines."""

from __future__ import annotations

from sb.kernel.outcomes.judgements import Judgement
from sb.present.kind import Field, Kind, time_cell


def verdict(it: Judgement) -> str:
    """The verdict in a word, with why where it does not count."""
    word = "accepted" if it.accepted else "rejected"
    return f"{word}, does not count: {it.doubt}" if it.doubt else word


JUDGEMENT = Kind[Judgement](
    Field("run", lambda it, now: it.run_id),
    Field("agent", lambda it, now: it.agent),
    Field("verdict", lambda it, now: verdict(it)),
    Field("workflow", lambda it, now: it.workflow or "-"),
    Field("intent", lambda it, now: it.intent or "-"),
    Field("at", lambda it, now: time_cell(f"{it.at[:19]}Z", it.at)),
    Field("by", lambda it, now: it.by),
    Field("signed", lambda it, now: "yes" if it.signed else "no"),
    Field("reason", lambda it, now: it.reason or "-"),
    faces={"table": "run,agent,verdict,workflow,intent,at,by,signed,reason"},
    json={
        "run_id agent by reason workflow intent doubt": "string",
        "seq": "integer",
        "accepted signed": "boolean",
        "at": "time",
    },
)
