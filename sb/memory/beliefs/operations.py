"""The operations of a Brain on what is believed: correct, list collapses, revert."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import Any

from sb.base.values.references import full_one, is_prefix
from sb.errors import DeniedError, NotFoundError
from sb.memory.beliefs.closure import Lineage
from sb.memory.beliefs.collapses import Collapse, Reverted, collapses, revert
from sb.memory.beliefs.conflicts import Conflict, conflicts, find_conflict, resolve, take_back
from sb.memory.beliefs.revision import Revision, check_correctable, replace
from sb.memory.beliefs.settling import relate_contradiction
from sb.memory.operations import Operations
from sb.memory.space import ID_PREFIX
from sb.memory.views import Memory
from sb.store.records.claims import OPEN
from sb.store.records.collapses import PENDING, STANDING
from sb.store.records.columns import Row
from sb.store.records.consent import PEOPLE
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF

_TWO_TEXTS = {"decision": "rationale", "lesson": None}  # whose second text is the reason, or stays
# What a new record does not take over from the one whose place it takes.
_OWN = {
    "id": "", "strength": 1.0, "is_protected": False, "times_accessed": 0, "last_accessed": None, "happened_at": None,
    "created_at": None, "updated_at": None, "local_updated_at": None, "version": 1, "speaker": None,
    "verification_count": 0, "last_verified": None, "confidence_history": None, "times_reinforced": 0,
}  # fmt: skip


def successor(record: Any, text: str, reason: str) -> Any:
    """A record of the same kind that says something else, for the same readers.

    Raises:
        ValueError: its kind says more than one text has, or a decision would have no reason.
    """
    about = DESCRIPTORS[KIND_OF[type(record)]]
    if len(about.text) > 1 and about.kind not in _TWO_TEXTS:
        raise ValueError(f"a {about.kind} says more than one text: give the id of the one that replaces it")
    changes: dict[str, Any] = {about.text[0]: text}
    if second := _TWO_TEXTS.get(about.kind):
        if not reason.strip():
            raise ValueError("a decision needs a reason, which is its rationale")
        changes[second] = reason
    names = {field.name for field in dataclasses.fields(record)}
    if about.kind == "belief":
        changes["supersedes"] = record.id
    return dataclasses.replace(record, **{name: _OWN[name] for name in _OWN.keys() & names}, **changes)


class Beliefs(Operations):
    """The revising operations of a Brain."""

    def correct(self, old: str, new: str, reason: str = "") -> str:
        """Let a memory take the place of another one; returns its id.

        The old one, and what was derived from it alone, is superseded: out of every search, marked by `history=True`, and
        found again after `revert`. What trust, protection or the number of what would fall holds back is quarantined until
        a person releases it (`quarantined` has its id then).

        Args:
            old: the id of an active memory.
            new: the text that is true instead, or the id of a memory that says it.

        Raises:
            NotFoundError: one of them is not there, or was superseded meanwhile. DeniedError: this agent may not write
                there, or a person has to decide about an id. ValueError: it is of a kind that has no correction, or not
                everybody who sees the old one would see the new one.
        """
        row = self._changeable_row(old)
        check_correctable(row)
        self.writer.record_writer.check_right(row["place"])
        place = self.space.places.numbered(row["place"])
        if new.startswith(ID_PREFIX) and is_prefix(new) and " " not in new:
            return self._replaced(row, self._changeable_row(new), reason)
        equal = self.space.records.proposed([], row["place"], new)[1]
        for winner in self.space.records.rows([number for number in equal[:1] if number != row["id"]]):
            with suppress(DeniedError):  # the new one waits for a person instead
                return self._replaced(row, winner, reason)
        known = self.space.record(row)
        record: Any = successor(known, new, reason)
        if row["kind"] == "fact":
            record = self._fact(new, row["category"], place, {"tags": known.tags, "claim": known.claim})
            record = dataclasses.replace(record, **{name: getattr(known, name) for name in PEOPLE})
        elif hasattr(record, "agent_id"):
            record = dataclasses.replace(record, derived_from=None, source_type="agent-written")
        return self.writer.keep_all([record], place, revision=self._revision(row, reason))[0]

    def resting_on(self, record: str) -> list[Memory]:
        """The memories in view that would fall with one, since they rest on it alone.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        row, places = self._changeable_row(record), self.writer.places()
        derived, _ = Lineage(self.space).falling([row["id"]])
        return [self.space.memory(item) for item in derived if item["place"] in places]

    def _revision(self, row: Row, reason: str) -> Revision:
        """The revision by which the record that is written next takes the place of one."""
        self.writer.masked.clear()
        scope = self.space.places.numbered(row["place"]).scope
        return Revision(self.writer.record_writer, row, self.space.screening.text(reason, scope))

    def _replaced(self, loser: Row, winner: Row, reason: str) -> str:
        self.writer.masked.clear()
        scope = self.space.places.numbered(loser["place"]).scope
        replace(self.writer.record_writer, loser, winner, self.space.screening.text(reason, scope))
        return str(winner["uid"])

    def collapses(self, limit: int = -1, status: str = "") -> list[Collapse]:
        """List what was corrected, the newest first, as far as this agent sees both sides.

        Args:
            limit: the most that are listed; -1 for all. status: only pending, standing, reverted or dismissed ones.
        """
        return collapses(self.space, self.writer.places(), limit, status)

    def pending_corrections(self, *references: str) -> list[Collapse]:
        """The corrections that wait for a person, by their ids or those of the new memories, or how these begin.

        Args:
            references: none for all.

        Raises:
            NotFoundError: none of that id waits, or none at all. UsageError: several begin so.
        """
        waiting = self.collapses(status=PENDING)
        if not waiting:
            raise NotFoundError("no correction is pending")
        known = {uid: item for item in waiting for uid in (item.winner, item.id)}
        wanted = [full_one(reference, known) for reference in references]
        if missing := next((uid for uid in wanted if uid not in known), ""):
            raise NotFoundError(f"no pending correction {missing!r}", "sb memory pending list")
        return [known[uid] for uid in wanted] or waiting

    def revert(self, collapse: str, reason: str = "") -> Reverted:
        """Take a correction back: what fell is found again, and what it brought is superseded in turn.

        Raises:
            NotFoundError: there is none in view, or what it replaced was erased. CheckFailed: it was taken back already, or
                rests on something superseded. DeniedError: this agent may not write there, or is trusted less than who
                corrected it. ValueError: the new memory is protected.
        """
        self.writer.masked.clear()
        return revert(self.writer.record_writer, collapse, self.writer.places(), reason)

    def conflicts(self, *statuses: str) -> list[Conflict]:
        """List what contradicts each other, the newest first, as far as this agent sees it.

        Args:
            statuses: open, marked, superseded, resolved, reverted or dismissed; by default `open`.
        """
        ledger = self.writer.record_writer.is_operator
        return conflicts(self.space, self.writer.places(), statuses or (OPEN,), ledger=ledger)

    def consequences(self, record: str) -> list[str]:
        """Say what a memory superseded by what it claims, and in which conflict it is, one line each."""
        row = self.space.records.find(record)
        if row is None:
            return []
        events = [event for event in self.space.collapses.of_winner(row["id"], STANDING) if not event.brought]
        fallen = {
            item["id"]: item["uid"] for item in self.space.records.rows([event.loser for event in events])
        }
        lines = [
            f"{fallen[event.loser]} is superseded: sb memory revert {event.uid} takes that back"
            for event in events
        ]
        conflict = self.space.claims.contested(row["id"])
        return [
            *lines,
            *([f"another memory contradicts it: sb memory conflicts show {conflict}"] if conflict else []),
        ]

    def conflict(self, conflict: str) -> Conflict:
        """Show one conflict with both sides; raises NotFoundError if none of that id is in view."""
        ledger = self.writer.record_writer.is_operator
        return find_conflict(self.space, conflict, self.writer.places(), ledger=ledger)

    def report_conflict(self, first: str, second: str) -> Conflict:
        """Open a conflict between two memories, as a person or a model judges; neither is superseded by that.

        Raises:
            NotFoundError: one of them is not there. DeniedError: this agent may not write there. ValueError: they do not stand
                in one scope, for the same readers.
        """
        earlier, later = self._changeable_row(first), self._changeable_row(second)
        if earlier["id"] == later["id"] or earlier["place"] != later["place"]:
            raise ValueError(f"{first} and {second} are not two memories of one scope")
        keeper = self.writer.record_writer
        keeper.check_right(later["place"])
        with self.space.database.write() as execute:
            uid = relate_contradiction(keeper, execute, earlier, later, OPEN)
        return self.conflict(uid)

    def resolve_conflict(self, conflict: str, winner: str, reason: str) -> Conflict:
        """Settle a conflict: one side stands, and the others are superseded as by `correct`.

        Args:
            winner: the id of the side that holds, or `both` if they do not exclude each other.

        Raises:
            NotFoundError: no such conflict is in view. CheckFailed: it is settled already. DeniedError: this agent is not
                trusted more than who wrote what would fall. ValueError: no such side, or no reason.
        """
        self.writer.masked.clear()
        found = resolve(self.writer.record_writer, conflict, winner, reason, self.writer.places())
        return self.conflict(found.uid)

    def revert_conflict(self, conflict: str, reason: str = "") -> Conflict:
        """Take the settlement of a conflict back, so that it is open again; raises as `revert` does."""
        self.writer.masked.clear()
        found = take_back(self.writer.record_writer, conflict, reason, self.writer.places())
        return self.conflict(found.uid)
