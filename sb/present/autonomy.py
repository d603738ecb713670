"""Levels of autonomy and proposals of higher ones, as commands and the console show them."""

from __future__ import annotations

from sb.base.sources import iso_micros
from sb.kernel.autonomy.levels import LevelRow
from sb.kernel.autonomy.proposals import Proposal
from sb.present.kind import Cell, Field, Kind, time_cell

EVERY_INTENT, EVERY_TOOL = "every intent", "every tool"


def _at(at: int) -> Cell:
    return time_cell(f"{iso_micros(at)[:19]}Z", iso_micros(at)) if at else Cell("-")


def _why(it: LevelRow) -> str:
    return "; ".join(filter(None, (it.why, it.frozen and f"frozen: {it.frozen}")))


LEVEL = Kind[LevelRow](
    Field("agent", lambda it, now: it.agent),
    Field("tool", lambda it, now: it.tool_id or EVERY_TOOL),
    Field("intent", lambda it, now: it.intent or EVERY_INTENT),
    Field("level", lambda it, now: it.level),
    Field("since", lambda it, now: _at(it.at)),
    Field("by", lambda it, now: it.by or "-"),
    Field("why", lambda it, now: _why(it)),
    faces={"table": "agent,tool,intent,level,since,by,why"},
    json={"agent tool_id intent level by why frozen": "string", "at": "time|null"},
    computed={"at": lambda it, now: iso_micros(it.at) if it.at else None},
)
PROPOSAL = Kind[Proposal](
    Field("proposal", lambda it, now: it.id),
    Field("agent", lambda it, now: it.agent),
    Field("tool", lambda it, now: it.tool_id),
    Field("intent", lambda it, now: it.intent or EVERY_INTENT),
    Field("from", lambda it, now: str(it.before)),
    Field("to", lambda it, now: str(it.to)),
    Field("why", lambda it, now: it.why),
    Field("lacks", lambda it, now: it.lacks or "-"),
    faces={
        "table": "proposal,agent,tool,intent,from,to,why",
        "all": "agent,tool,intent,from,to,why,lacks",
        "document": "agent,tool,intent,from,to,why",
    },
    json={
        "id agent tool_id intent fingerprint before to why lacks": "string",
        "score": "number|null",
        "at": "time",
    },
    computed={"at": lambda it, now: iso_micros(it.at)},
)


def level_line(rows: list[LevelRow]) -> str:
    """The levels of one agent that differ from the one without evidence, in a line; "" for none."""
    return ", ".join(
        f"{it.tool_id or EVERY_TOOL} {it.level}{f' for {it.intent}' if it.intent else ''}"
        f"{' (frozen)' if it.frozen else ''}"
        for it in rows
    )
