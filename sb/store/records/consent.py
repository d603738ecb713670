"""Consent: whether everybody whom a record is about has agreed that it is read. The same rule for one record and in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sb.store.records.columns import Row

NOT_AGREED = "somebody whom it is about has not agreed"
# A condition over `r`, the table of records; the first part is that of an index.
LACKS_CONSENT = """instr(r.fields, '"subject_ids"') > 0 AND EXISTS (
    SELECT 1 FROM json_each(r.fields, '$.subject_ids') AS s WHERE s.value IS NOT NULL AND s.value NOT IN (
        SELECT g.value FROM json_each(r.fields, '$.consent_grants') AS g WHERE g.value IS NOT NULL))"""


def lacks_consent(fields: Mapping[str, Any]) -> bool:
    """Whether somebody in `subject_ids` is not in `consent_grants`."""
    return bool(set(fields.get("subject_ids") or ()) - set(fields.get("consent_grants") or ()))


def row_lacks_consent(row: Row) -> bool:
    """`lacks_consent` of a row; those that are about nobody, nearly all, are not decoded."""
    return '"subject_ids"' in row["fields"] and lacks_consent(orjson.loads(row["fields"]))
