"""Lint beliefs and values: anything but a statement becomes a rejected suggestion for a person to review.

Source: the stack protocol's reference implementation; which words and marks count is ours.
"""

from __future__ import annotations

import re
from typing import Any

from sb.protocols.types import Belief, MemorySuggestion, StackState, Value
from sb.stack.container import Container
from sb.store.records.descriptors import KIND_OF
from sb.store.records.rows import to_moment

_LEAST, _LEAST_NAME, _MOST = 10, 3, 2000  # characters
_LABEL = re.compile(r"\s*(?:belief|value|title|name|statement|content|goal|note|lesson)\s*:", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"[\W_]*|(.)\1*|\W*(?:todo|tbd|fixme|n/?a|none|null|worked on)\b.*", re.IGNORECASE | re.DOTALL
)
_ENDINGS = frozenset(
    "a an and although as because but if into its my of or our than that the their unless whose with your".split()
)


def linted(container: Container, record: Any) -> Any:
    """The record, or the rejected suggestion that takes its place; a stack that belongs to nobody takes everything."""
    fault = objection(container, record)
    if not fault:
        return record
    content = {"statement": record.statement} | ({"name": record.name} if isinstance(record, Value) else {})
    now = to_moment(container.space.clock.now())
    return MemorySuggestion(
        "",
        container.stack_id,
        KIND_OF[type(record)],
        content,
        confidence=0.0,
        source_raw_ids=list(record.derived_from or ()),
        status="rejected",
        created_at=now,
        resolved_at=now,
        resolution_reason=f"lint_failed: {fault}",
    )


def objection(container: Container, record: Any) -> str:
    """Returns what is wrong with the wording of a belief or value; "" if nothing is."""
    if container.state is not StackState.ACTIVE or not isinstance(record, Belief | Value):
        return ""
    name = _fault("name", record.name, _LEAST_NAME) if isinstance(record, Value) else ""
    return name or _fault("statement", record.statement, _LEAST)


def _fault(name: str, text: Any, least: int) -> str:
    if not isinstance(text, str) or not text.strip():  # which is no wording: it is refused
        return ""
    text = text.strip()
    if not least <= len(text) <= _MOST:
        return f"{name} has {len(text)} characters, not {least} to {_MOST}"
    if _LABEL.match(text):
        return f"{name} begins with a label"
    if _TEMPLATE.fullmatch(text):
        return f"{name} is a template's, and says nothing"
    if text.rstrip(".!?").rpartition(" ")[2].lower() in _ENDINGS:
        return f"{name} breaks off"
    return ""
