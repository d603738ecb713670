"""Scopes that a personal value belongs to, as memory knows it."""

from __future__ import annotations

import os
import re

from sb.memory.masking import masked_text
from sb.store.database import Database
from sb.store.records.places import GLOBAL

_HOLDING = (
    "SELECT DISTINCT p.scope FROM records r JOIN places p ON p.id = r.place"
    " WHERE r.state <> 'erased' AND (instr(r.text, ?) > 0 OR instr(r.fields, ?) > 0) LIMIT 100"
)


def scope_of_project(folder: str) -> str:
    """The scope of a project by its folder; `global` for none."""
    name = masked_text(os.path.basename(folder), {})  # before it is cut
    name = re.sub(r"[\s\x00-\x1f\x7f]+", "-", name)[:150]
    return f"project:{name}" if name else GLOBAL


def belongs_elsewhere(database: Database, value: str, scope: str) -> bool:
    """True if a value is in memories, and in none of this scope or of all."""
    scopes = {row[0] for row in database.query(_HOLDING, (value, value))}
    return bool(scopes) and not scopes & {scope, GLOBAL}
