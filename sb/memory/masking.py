"""Mask secrets in everything that memory stores, and report which kinds were found.

E-mail addresses stay, since memories about people need them; payment cards do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sb.base.secrets.redaction import CARD, Masking
from sb.base.secrets.shapes import may_hold_secret
from sb.store.records.columns import Row
from sb.store.records.rows import to_row

Labels = dict[str, None]  # of what was masked, in the order in which it was met
_TOGETHER = 16  # records of a batch that are looked at as one text: a look at each costs twice as much
_NAMES = frozenset({"id", "stack_id", "scope", "agent_id", "session"})  # of which two, masked, would be one


def masked_row(record: Any, labels: Labels, former: Row | None = None) -> Row:
    """The row of a record, as `to_row` has it, once the secrets in the record are masked.

    Args:
        record: its attributes are masked in place.
        labels: the labels of what was masked are added to it.

    Raises:
        ValueError: as `to_row`, or a name holds a secret.
    """
    row = to_row(record, former)
    return to_row(record, former) if may_hold_secret(_searched(row)) and mask(record, labels) else row


def masked_rows(records: Sequence[Any], labels: Labels) -> list[Row]:
    """The rows of new records, as `masked_row` has each; raises like it."""
    rows = [to_row(record) for record in records]
    for first in range(0, len(rows), _TOGETHER):
        texts = [_searched(row) for row in rows[first : first + _TOGETHER]]
        for number in _suspects(texts, first):
            if mask(records[number], labels):
                rows[number] = to_row(records[number])
    return rows


def _suspects(texts: Sequence[str], first: int) -> Iterator[int]:
    """The numbers of texts that may hold a secret, counted from `first`: by halves, since few do."""
    if not may_hold_secret("\n".join(texts)):
        return
    if len(texts) == 1:
        yield first
        return
    half = len(texts) // 2
    yield from _suspects(texts[:half], first)
    yield from _suspects(texts[half:], first + half)


def _searched(row: Row) -> str:
    """All that a record says, in one text."""
    text, fields, tags, speaker = row["text"], row["fields"], row["tags"], row["speaker"]
    if fields == "{}" and not tags and not speaker:
        return str(text)
    return f"{text}\n{fields}\n{tags or ''}\n{speaker or ''}"


def mask(record: Any, labels: Labels) -> bool:
    """Mask secrets in the attributes of a record; whether there were any.

    Raises:
        ValueError: a name holds one.
    """
    masking = Masking(personal=False)
    for name, value in vars(record).items():
        if not isinstance(value, str | list | tuple | dict) or (masked := masking.value(value)) == value:
            continue
        if name in _NAMES:
            refuse_secret(name, str(value))
            continue
        setattr(record, name, masked)
    labels |= masking.found
    return bool(masking.found)


def masked_text(text: str, labels: Labels) -> str:
    """A text without secrets; the labels of what was masked are added to `found`."""
    masking = Masking(personal=False)
    masked = masking.text(text)
    labels |= masking.found
    return masked


def refuse_secret(what: str, name: str) -> str:
    """The name as given: one that holds a secret cannot be masked, since it would be somebody else's.

    Raises:
        ValueError: it holds one.
    """
    found: Labels = {}
    masked_text(name, found)
    if found.keys() - {CARD}:  # digits of an id may look like one
        raise ValueError(f"{what} holds a secret ({', '.join(found)}): choose another name")
    return name
