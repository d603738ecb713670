"""Personal data in memories: what is done about it on write, by scope, what a reader is shown, and the audit of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sb.base.values.frozen import frozen
from sb.config.memory import Memory as Settings
from sb.memory.personal_values import TOO_LONG, labels_in, labels_of_each, masked
from sb.memory.views import View
from sb.protocols.types import Handoff
from sb.store.database import Database
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.places import Execute

KEEP, REDACT, DROP, ESCALATE = ACTIONS = ("keep", "redact", "drop", "escalate")
# Names, of which two, redacted, would be one; and what `sb` itself writes.
APART = frozenset(
    {"id", "stack_id", "scope", "agent_id", "session", "derived_from", "source_type", "knows", "signature"}
)


class PersonalDataRefused(ValueError):
    """A text holds personal data that its scope does not keep.

    Args:
        labels: of what it holds.
    """

    def __init__(self, labels: Sequence[str], scope: str) -> None:
        self.labels = tuple(labels)
        super().__init__(
            f"not saved: it holds personal data ({', '.join(labels)}), which {scope} does not keep"
            " (memory.scopes, personal_data). Save it without"
        )


@frozen
class Met(View):
    """Personal data that was met in a write.

    Args:
        record: the id of the memory, or "" where nothing was kept. at: seconds since the epoch.
        action: what was done about it: keep, redact, drop or escalate.
    """

    record: str
    label: str
    action: str
    agent: str
    scope: str
    at: float


@frozen
class Screened:
    """Personal data of one record, and the action for it."""

    labels: tuple[str, ...]
    action: str

    @property
    def refused(self) -> bool:
        """True if it must not be written."""
        return bool(self.labels) and self.action == DROP


class Screening:
    """Screens records before they are written.

    Args:
        now: seconds since the epoch.
    """

    def __init__(self, database: Database, settings: Settings, now: Callable[[], float]) -> None:
        self._database, self._settings, self._now = database, settings, now

    def screen(self, records: Sequence[Any], scope: str, agent: str) -> list[Screened]:
        """Screen records; values are redacted in the record itself where its scope asks for that.

        Raises:
            PersonalDataRefused: the scope keeps none, or a text is too long to be searched for it; that was logged.
        """
        values = [list(_values(record).values()) for record in records]
        found = [
            self._screened(record, labels, scope)
            for record, labels in zip(records, labels_of_each(values), strict=True)
        ]
        for screened in found:
            if screened.refused:
                with self._database.write() as execute:
                    note(execute, None, screened, agent, scope, self._now())
                raise PersonalDataRefused(screened.labels, scope)
        return found

    def look(self, record: Any, scope: str, *, signed_too: bool = False) -> Screened:
        """Screen one record without logging; a refusal is returned, not raised.

        Args:
            signed_too: redact signed handoffs as well, which nobody can verify then.
        """
        found = labels_in(list(_values(record).values()))
        return self._screened(record, found, scope, signed_too=signed_too)

    def _screened(
        self, record: Any, found: tuple[str, ...], scope: str, *, signed_too: bool = False
    ) -> Screened:
        screened = self.decided(found, scope, is_handoff=isinstance(record, Handoff))
        signed = isinstance(record, Handoff) and record.signature
        if screened.action == REDACT and (signed_too or not signed):
            fields = _values(record).items()
            texts = {name: value for name, value in fields if isinstance(value, str | list | tuple | dict)}
            for name, value in zip(texts, masked(list(texts.values())), strict=True):
                setattr(record, name, value)
        return screened

    def changes(self, changes: Mapping[str, Any], scope: str) -> tuple[dict[str, Any], Screened]:
        """Changes of some attributes of a record as they may be written, and what they hold; nothing is logged.

        Raises:
            PersonalDataRefused: the scope keeps none. ValueError: it escalates what holds some, which a change cannot be.
        """
        screened = self.decided(labels_in(list(changes.values())), scope, is_handoff=False)
        if screened.refused:
            raise PersonalDataRefused(screened.labels, scope)
        if screened.action == ESCALATE:
            raise ValueError("personal data cannot be added to a memory: save it as a new one")
        if screened.action != REDACT:
            return dict(changes), screened
        texts = {
            name: value for name, value in changes.items() if isinstance(value, str | list | tuple | dict)
        }
        return {**changes, **dict(zip(texts, masked(list(texts.values())), strict=True))}, screened

    def decided(self, labels: tuple[str, ...], scope: str, *, is_handoff: bool) -> Screened:
        """The action for a record of a scope that holds this personal data."""
        action = self.action(scope)
        if not labels:
            return Screened((), KEEP)
        if is_handoff and action == ESCALATE:
            action = REDACT  # a handoff that waits reaches nobody
        if action == REDACT and TOO_LONG in labels:  # what was not searched cannot be redacted
            action = DROP
        return Screened(labels, action)

    def action(self, scope: str) -> str:
        """The action for personal data in a scope."""
        return str(self._settings.scopes.answer("personal_data", scope))

    def text(self, text: str, scope: str) -> str:
        """A query or a reason, as it is logged: redacted wherever the scope does not keep personal data."""
        return text if self.action(scope) == KEEP else str(masked(text))


def _values(record: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in APART}


def note(execute: Execute, number: int | None, screened: Screened, agent: str, scope: str, at: float) -> None:
    """Log what was met in one write, in the transaction that keeps the record."""
    for label in screened.labels:
        execute(
            "INSERT INTO personal_data (record, label, action, agent, scope, at) VALUES (?, ?, ?, ?, ?, ?)",
            (number, label, screened.action, agent, scope, at),
        )


def redacted(screened: Sequence[Screened]) -> dict[str, None]:
    """The labels of what was redacted."""
    return dict.fromkeys(label for item in screened if item.action == REDACT for label in item.labels)


def hold_back(rows: Sequence[Row], screened: Sequence[Screened]) -> dict[str, str]:
    """Quarantine new rows that are to be escalated; returns the reasons by public id."""
    reasons = {}
    for row, item in zip(rows, screened, strict=True):
        if item.labels and item.action == ESCALATE:
            row["state"] = QUARANTINED
            reasons[row["uid"]] = f"personal data ({', '.join(item.labels)})"
    return reasons


def detections(
    database: Database, *, label: str = "", action: str = "", scope: str = "", limit: int = 0
) -> list[Met]:
    """Personal data met so far, the latest first, in memories that were not erased.

    Args:
        label, action, scope: only these; scope as a pattern. limit: the most that are listed, 0 for all.
    """
    rows = database.query(
        "SELECT coalesce(r.uid, ''), p.label, p.action, p.agent, p.scope, p.at"
        " FROM personal_data p LEFT JOIN records r ON r.id = p.record"
        " WHERE (? = '' OR p.label = ?) AND (? = '' OR p.action = ?) AND (? = '' OR p.scope GLOB ?)"
        " AND coalesce(r.state, '') <> 'erased' ORDER BY p.id DESC LIMIT ?",
        (label, label, action, action, scope, scope, limit or -1),
    )
    return [Met(*row) for row in rows]


def holders(database: Database, *, label: str = "", scope: str = "") -> list[str]:
    """The ids of the memories that still hold such values; arguments as in `met`."""
    writes = detections(database, label=label, scope=scope)
    return [write.record for write in writes if write.action != REDACT and write.record]
