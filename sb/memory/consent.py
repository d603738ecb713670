"""Consent: whom a memory is about, who may read it, and every memory about one person."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import orjson

from sb.store.database import Database
from sb.store.records.columns import Row
from sb.store.records.consent import NOT_AGREED, lacks_consent

_GRANTS = (
    "instr(fields, '\"access_grants\"') > 0 OR instr(fields, '\"consent_grants\"') > 0"  # as its index says
)


def has_grants(row: Row) -> bool:
    """True if a record says who may read it, or who agreed to it."""
    return '"access_grants"' in row["fields"] or '"consent_grants"' in row["fields"]


def refusal(row: Row, agent: str) -> str:
    """The reason why an agent may not read a record; "" if it may.

    `access_grants` names the agents that may; its writer always may. `consent_grants` names the people who agreed: where
    it is given, everybody in `subject_ids` has to be in it.
    """
    if not has_grants(row):
        return ""
    fields: dict[str, Any] = orjson.loads(row["fields"])
    granted, agreed = fields.get("access_grants"), fields.get("consent_grants")
    if granted is not None and agent not in (row["agent"], *granted):
        return "access was not granted to you"
    return NOT_AGREED if agreed is not None and lacks_consent(fields) else ""


def ungranted(database: Database, places: Collection[int], agents: Iterable[str]) -> list[int]:
    """The numbers of the records in these places that one of these agents may not read."""
    rows = database.query(f"SELECT id, place, agent, fields FROM records WHERE {_GRANTS}")
    named = [dict(zip(("id", "place", "agent", "fields"), row, strict=True)) for row in rows]
    agents = tuple(agents)
    return [
        row["id"] for row in named if row["place"] in places and any(refusal(row, agent) for agent in agents)
    ]


def about(database: Database, subject: str) -> list[str]:
    """The ids of all memories whose `subject_ids` name somebody, in every state but erased."""
    rows = database.query(
        "SELECT uid FROM records WHERE instr(fields, '\"subject_ids\"') > 0 AND state <> 'erased'"
        " AND EXISTS (SELECT 1 FROM json_each(fields, '$.subject_ids') WHERE value = ?) ORDER BY id",
        (subject,),
    )
    return [uid for (uid,) in rows]
