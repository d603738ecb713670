"""Consent: whether everybody whom a record is about has agreed that it is read. The same rule for one record and in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from sb.store.records.columns import Row

SUBJECTS, GRANTS = "subject_ids", ("access_grants", "consent_grants")
PEOPLE = (SUBJECTS, *GRANTS)  # the fields that name people and agents
NOT_AGREED = "somebody whom it is about has not agreed"
# A condition over `r`, the table of records; the first part is that of an index.
LACKS_CONSENT = """instr(r.fields, '"subject_ids"') > 0 AND EXISTS (
    SELECT 1 FROM json_each(r.fields, '$.subject_ids') AS s WHERE s.value IS NOT NULL AND s.value NOT IN (
        SELECT g.value FROM json_each(r.fields, '$.consent_grants') AS g WHERE g.value IS NOT NULL))"""


def lacks_consent(fields: Mapping[str, Any]) -> bool:
    """True if somebody in `subject_ids` is not in `consent_grants`."""
    return bool(set(fields.get("subject_ids") or ()) - set(fields.get("consent_grants") or ()))


def row_lacks_consent(row: Row) -> bool:
    """`lacks_consent` of a row; those that are about nobody, nearly all, are not decoded."""
    return '"subject_ids"' in row["fields"] and lacks_consent(orjson.loads(row["fields"]))


def difference(fields: str, others: str) -> str:
    """Whom a memory is about or for, where a record that says the same is not: `subject` or `reader`, else "".

    A record about more people will do: whoever is named can still have it erased.

    Args:
        fields: of the memory. others: of the record. Both as rows have them, in JSON.
    """
    if not (names_people(fields) or names_people(others)):
        return ""
    own, there = orjson.loads(fields), orjson.loads(others)
    if set(own.get(SUBJECTS) or ()) - set(there.get(SUBJECTS) or ()):
        return "subject"
    return "reader" if any(_names(own.get(name)) != _names(there.get(name)) for name in GRANTS) else ""


def names_people(fields: str) -> bool:
    """True if the fields of a row say whom it is about, who may read it, or who agreed; nearly none do."""
    return any(f'"{name}"' in fields for name in PEOPLE)


def inherited(sources: Iterable[Row], writer: str = "") -> dict[str, Any]:
    """Whom a record is about that is made of others, and who may read it: nobody who may not read each of them.

    It is agreed to by those who agreed in every source that names them.

    Args:
        writer: of the record, who may read it anyway.
    """
    rows = [(row["agent"], orjson.loads(row["fields"])) for row in sources if names_people(row["fields"])]
    about = list(dict.fromkeys(who for _, fields in rows for who in fields.get(SUBJECTS) or ()))
    readers = [
        {agent, *fields["access_grants"]} for agent, fields in rows if fields.get("access_grants") is not None
    ]
    found: dict[str, Any] = {SUBJECTS: about} if about else {}
    if readers:
        found["access_grants"] = sorted(set.intersection(*readers) - {"", writer})
    if any(fields.get("consent_grants") is not None for _, fields in rows):
        lacking = {
            who
            for _, fields in rows
            for who in set(fields.get(SUBJECTS) or ()) - set(fields.get("consent_grants") or ())
        }
        found["consent_grants"] = [who for who in about if who not in lacking]
    return found


def _names(granted: Iterable[str] | None) -> frozenset[str] | None:
    return None if granted is None else frozenset(granted)
