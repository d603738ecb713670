"""Screen the changes that come from another database: for secrets, for personal data, and for who sealed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sb.base.secrets.redaction import Masking
from sb.base.secrets.shapes import may_hold_secret
from sb.memory.masking import Labels
from sb.memory.personal_data import APART, ESCALATE, REDACT, Screened, note, redacted
from sb.memory.personal_values import labels_in, masked
from sb.stack.sync.change_log import StoredChange
from sb.stack.sync.changes import KEYED, STANDING, TRUST, Change
from sb.stack.sync.feed import Feed
from sb.stack.sync.seals import OURS
from sb.store.records.places import Execute

_FIELD = "fields."
_SAYS_NO_TEXT = frozenset({STANDING, TRUST, KEYED, "category", "happened_at"})


class Arrivals:
    """Changes that came from one database, screened by this one's settings.

    Args:
        screens: whether personal data is looked for; what this home gives to another database was screened here.
    """

    def __init__(self, feed: Feed, *, screens: bool) -> None:
        self._feed, self._screens = feed, screens
        self._screening = feed.space.screening
        self._seen: dict[str, Screened] = {}
        self._strangers: set[str] = set()
        self.masked: Labels = {}  # of what was masked
        self.refused: dict[str, None] = {}  # ids of what was left out

    def is_strange(self, stored: StoredChange) -> bool:
        """True if neither this home nor an operator of it sealed a change; asked before it is sealed anew here."""
        uid = stored.change.uid
        if self._feed.sealer.status(stored.document, stored.seal) not in (OURS, "operator"):
            self._strangers.add(uid)
        return uid in self._strangers

    def screened(self, stored: StoredChange) -> StoredChange:
        """A change as it may be kept, sealed anew where something was masked."""
        if self._screens:
            self.is_strange(stored)
        if stored.change.erased:
            return stored
        change = self._without_personal_data(self._without_secrets(stored))
        if change == stored.change:
            return stored
        document = change.document()
        return replace(stored, document=document, seal=self._feed.sealer.seal(document))

    def _without_secrets(self, stored: StoredChange) -> Change:
        """The other side may be of an older version, or a stranger."""
        change = stored.change
        if not may_hold_secret(stored.document.decode()):
            return change
        masking = Masking(personal=False)
        # A number stays one, as where it was written: a priority may have the digits of a card.
        numbers = {name: part for name, part in change.parts.items() if isinstance(part, int)}
        parts = masking.value({**change.parts, **dict.fromkeys(numbers, 0)}) | numbers
        relations = tuple(
            replace(relation, relation=masking.text(relation.relation)) for relation in change.relations
        )
        self.masked |= masking.found
        return replace(change, parts=parts, relations=relations) if masking.found else change

    def _without_personal_data(self, change: Change) -> Change:
        if not self._screens:
            return change
        screened = self.look(change)
        self.masked |= redacted([screened])
        if screened.refused:
            self.refused[change.uid] = None
        if screened.action != REDACT:
            return change
        texts = _texts(change)
        parts = zip(texts, masked(list(texts.values())), strict=True)
        relations = tuple(
            replace(relation, relation=masked(relation.relation)) for relation in change.relations
        )
        return replace(change, parts={**change.parts, **dict(parts)}, relations=relations)

    def look(self, change: Change) -> Screened:
        """The personal data of a change, and the action for it."""
        if change.uid not in self._seen:
            self._seen[change.uid] = self._looked(change)
        return self._seen[change.uid]

    def _looked(self, change: Change) -> Screened:
        found = labels_in(list(_texts(change).values())) if self._screens else ()
        return self._screening.decided(found, change.place.scope, is_handoff=change.kind == "handoff")

    def strange(self, uid: str) -> bool:
        """True if a change that came was sealed by nobody who counts here."""
        return uid in self._strangers

    def escalated(self, change: Change) -> str:
        """The reason why what a change says has to wait for an operator; "" if it has not."""
        screened = self.look(change)
        waits = screened.labels and screened.action == ESCALATE
        return f"personal data ({', '.join(screened.labels)})" if waits else ""

    def log(self, execute: Execute, number: int, change: Change) -> None:
        """Log what a change that is kept now holds of personal data."""
        agent, now = change.agent, self._feed.space.clock.now()
        note(execute, number, self.look(change), agent, change.place.scope, now)


def _texts(change: Change) -> Mapping[str, Any]:
    """The parts of a change in which people write."""
    return {
        name: part
        for name, part in change.parts.items()
        if name not in _SAYS_NO_TEXT
        and name.removeprefix(_FIELD) not in APART
        and isinstance(part, str | list | dict)
    }
