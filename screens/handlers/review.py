"""The handler of what waits in memory: conflicts, quarantined memories, and suggestions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sb.screens.deciding import Deciding
from sb.screens.handlers.handler import Act, Handler
from sb.screens.state.document import Document
from sb.screens.state.memory import change, question
from sb.screens.state.review import (
    Reviewed,
    conflict_question,
    decide_quarantine,
    ignored_question,
    quarantine_question,
    resolve,
    reviewed,
    settle_ignored,
    versions,
)

from sb.kernel.authority.signing import Decider
from sb.log.event import Subject
from sb.present.memories import Record
from sb.stack.review_queue import ReviewItem, ReviewKind

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

_LABELS = {
    ReviewKind.CONFLICT: {"approve": "keep this", "deny": "keep both"},
    ReviewKind.QUARANTINE: {"approve": "release", "deny": "purge"},
    ReviewKind.SUGGESTED: {"approve": "accept", "deny": "dismiss"},
    ReviewKind.IGNORED: {"approve": "retire", "deny": "keep"},
}
_CORRECTION = {"approve": "accept", "deny": "dismiss"}  # of a quarantined memory that would replace another
DECIDED = (ReviewKind.CONFLICT, ReviewKind.QUARANTINE, ReviewKind.SUGGESTED, ReviewKind.IGNORED)


class ReviewHandler(Handler[Reviewed]):
    """Accepts, dismisses, releases, purges, and chooses between the sides of a conflict."""

    title = "Memory"
    several = True

    @property
    def labels(self) -> Mapping[str, str]:
        if self.item is None:
            return {}
        return _CORRECTION if self.item.item.held else _LABELS.get(self.item.item.kind, {})

    def __init__(self, screen: Deciding, changed: Callable[[], None]) -> None:
        super().__init__(screen, changed)
        self._keeps = 0  # of a conflict's sides

    def point_at(self, reference: str) -> None:
        if reference != self.reference:
            self._keeps = 0
        super().point_at(reference)

    def load(self, reference: str) -> Reviewed | None:
        with self.records.review() as queue:
            items = queue.items()
        item = next((item for item in items if item.reference == reference), None)
        return None if item is None else reviewed(self.records, item)

    def document(self) -> Document:
        return [] if self.item is None else versions(self.item, self._keeps)

    def possible(self, action: str) -> bool:
        if self.item is None:
            return False
        if action == "choose":
            return self.item.item.kind is ReviewKind.CONFLICT
        return action in ("approve", "deny") and self.item.item.kind in DECIDED

    def pointed_at(self) -> Pointed:
        return Subject(agent=self.item.item.record["agent"]) if self.item else None

    def choose(self) -> None:
        """Choose the next side of a conflict."""
        if self.item is not None and self.item.conflict is not None:
            self._keeps += 1
            self.changed()

    def approve(self, references: Sequence[str] = ()) -> None:
        self.chosen(references, partial(self._answer, "accept", self._keeps))

    def deny(self, references: Sequence[str] = ()) -> None:
        self.chosen(references, partial(self._answer, "dismiss", None))

    def _answer(self, verb: str, keep: int | None, found: Sequence[Reviewed]) -> None:
        """Accept or dismiss suggestions, release or purge what is quarantined, or resolve a conflict."""
        by_kind = {kind: [read for read in found if read.item.kind is kind] for kind in DECIDED}
        suggested = [read.item.record for read in by_kind[ReviewKind.SUGGESTED]]
        quarantined = [read.item for read in by_kind[ReviewKind.QUARANTINE]]
        conflicts = [read for read in by_kind[ReviewKind.CONFLICT] if read.conflict is not None]
        if quarantined and not suggested:
            which = "release" if verb == "accept" else "purge"
            asked = quarantine_question(quarantined, which)
            act: Act = partial(self._review_quarantined, which)
            self.screen.ask(asked, quarantined, self.noting(act, _reference))
        elif suggested:
            act = partial(self._change, verb)
            self.screen.ask(
                question(verb, suggested), suggested, self.noting(act, lambda record: str(record["uid"]))
            )
        elif unheeded := [read.item for read in by_kind[ReviewKind.IGNORED]]:
            which = "retire" if verb == "accept" else "keep"
            asked = ignored_question(unheeded, which)
            self.screen.ask(asked, unheeded, self.noting(partial(self._settle_ignored, which), _reference))
        elif conflicts:
            asked = conflict_question(conflicts[0], keep)
            act = partial(self._resolve, keep)
            self.screen.ask(asked, [conflicts[0]], self.noting(act, lambda found: str(found.item.reference)))
        else:
            self.say(f"nothing to {verb} here")

    def _change(self, verb: str, record: Record, by: Decider, reason: str) -> str:
        return change(self.records, verb, record, by, reason)

    def _review_quarantined(self, verb: str, item: ReviewItem, by: Decider, reason: str) -> str:
        return decide_quarantine(self.records, verb, item, by, reason)

    def _settle_ignored(self, verb: str, item: ReviewItem, by: Decider, reason: str) -> str:
        return settle_ignored(self.records, verb, item, by, reason)

    def _resolve(self, keep: int | None, found: Reviewed, by: Decider, reason: str) -> str:
        return resolve(self.records, found, keep, by, reason)


def _reference(item: ReviewItem) -> str:
    return item.reference
