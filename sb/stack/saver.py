"""Save records to a stack: checked, written in one transaction, then shown to its components.

Source: the stack protocol, "Write operations" and "Component hooks".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from sb.base.text import with_article
from sb.errors import StoreError, VersionConflictError
from sb.memory.access import WRITE
from sb.memory.beliefs.revision import Revision
from sb.memory.decay import recovered, state_of
from sb.memory.masking import Labels, masked_row
from sb.memory.personal_data import ESCALATE, note
from sb.memory.quarantine.refusals import attacks_on_record
from sb.memory.record_writer import RecordWriter, count_words
from sb.memory.trust.scores import believed
from sb.memory.writer import Writer
from sb.protocols.types import MemorySuggestion, Remembered
from sb.stack.checks import check_words, checked_share
from sb.stack.container import SYSTEM, Container
from sb.stack.lint import linted
from sb.stack.provenance import check_provenance, check_writable
from sb.stack.registry import Components
from sb.stack.views import CORE, from_view, kinds_viewed_as, to_view
from sb.store.records.columns import ACTIVE, CONTENT, ERASED, FORGOTTEN, QUARANTINED, SUPERSEDED, Row
from sb.store.records.descriptor import READ
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF
from sb.store.records.places import Execute, Place
from sb.store.records.rows import to_moment

Also = Callable[[Execute, Sequence[str]], object]
_FIXED = frozenset(
    {"id", "stack_id", "version", "created_at", "deleted", "local_updated_at", "cloud_synced_at", *READ}
)  # what no component may say of a record
_OF_A_CORRECTION = frozenset(
    {"is_active", "superseded_by"}
)  # as a stack shows what fell, which the record does not say
_CHANGED = (*CONTENT, "source_type", "strength", "protected", "state", "terms", "length")


class Saver:
    """Writes the records of a stack."""

    def __init__(self, container: Container, components: Components, *, enforce: bool) -> None:
        self._container = container
        self._components = components
        self._enforce = enforce
        self.masked: Labels = {}  # by the last write

    def save(
        self,
        kind: str,
        records: Sequence[Any],
        *,
        also: Also | None = None,
        beside: Sequence[str] = (),
        revision: Revision | None = None,
        place: Place | None = None,
    ) -> list[str]:
        """Saves records of one kind, replacing those that exist; returns their ids.

        Args:
            also: does what has to be committed with them; it gets their ids.
            beside: ids of memories besides their sources that whoever sees what the stack itself made has to see.
            revision: in which the only one takes another record's place. place: where they stand, by default by their sources.

        Returns:
            For a belief or value that `sb.stack.lint` objects to, `suggestion:` and the id of what was kept instead.

        Raises:
            ValueError: something cannot be kept as it is. ProvenanceError, MaintenanceModeError: it may not be kept.
                Nothing was written then.
        """
        container = self._container
        self.masked = {}
        check_writable(container)
        for record in records:
            check_kind(kind, record)
            if record.stack_id not in ("", container.stack_id):
                raise ValueError(
                    f"this {kind} belongs to stack {record.stack_id!r}, not {container.stack_id!r}"
                )
        keeper = _StackRecordWriter(container)
        for record in records:  # before provenance is checked, which goes by it
            keeper.believe(record)
        check_provenance(container, records, enforce=self._enforce)
        accepted = records if revision else [linted(container, record) for record in records]
        pairs = self._kept(accepted, keeper, also, beside, revision, place)
        for row, record in pairs:
            self._write_back(record, row)
        self._offer(kind, [record for row, record in pairs if row["kind"] == kind])
        return [row["uid"] if row["kind"] == kind else f"{row['kind']}:{row['uid']}" for row, _ in pairs]

    def restore(self, records: Sequence[Any], door: str = "") -> None:
        """Saves records of any kinds exactly as they were elsewhere, all or none; no component is called.

        Args:
            door: their source type for quarantine, whatever they say of themselves; "" for what each says.

        Raises:
            ValueError: something cannot be kept as it is; nothing was written then.
        """
        self.masked = {}
        check_writable(self._container)
        self._kept(records, _Restorer(self._container, door))

    def _kept(
        self,
        records: Sequence[Any],
        record_writer: _StackRecordWriter,
        also: Also | None = None,
        beside: Sequence[str] = (),
        revision: Revision | None = None,
        only: Place | None = None,
    ) -> list[tuple[Row, Any]]:
        """Records with the rows that they are now, written in one transaction."""
        space, writer = self._container.space, Writer(record_writer)
        batch = writer.prepare(records, self._container.place.scope)
        with attacks_on_record(space, record_writer.agent), space.database.write() as execute:
            space.check_open(execute, self._container.stack_id)
            places = dict[Place, int]()  # most of a batch stand in the same one
            for row, record in batch.pairs:
                place = only or self._place(record, beside)
                if place not in places:
                    self._container.check_right(WRITE, place.scope)
                    places[place] = space.places.make(execute, place)
                row["place"] = places[place]
            writer.hold(batch)
            if revision is None:
                writer.keep(execute, batch)
            else:
                writer.revise(execute, batch, revision)
            if also is not None:
                also(execute, [row["uid"] for row in batch.rows])
        self.masked |= record_writer.masked
        return batch.pairs

    def _place(self, record: Any, beside: Sequence[str]) -> Place:
        """Returns the place of a record; what the stack derives from restricted memories stays as restricted.

        Raises:
            ValueError: nobody may see all that it was made from.
        """
        suggested = isinstance(record, MemorySuggestion) and record.status != "rejected"
        sources = record.source_raw_ids if suggested else getattr(record, "derived_from", None)
        if not suggested and not (getattr(record, "source_entity", None) or "").startswith(SYSTEM):
            return self._container.place
        named = [source.rpartition(":")[2] for source in sources or ()]
        place = self._container.place_of([*named, *beside]) if named or beside else self._container.place
        if place is None:
            raise ValueError("no one may see all of the memories this was derived from")
        return place

    def update(self, kind: str, record: Any, expected_version: int | None = None) -> bool:
        """Change a record unless somebody else did; False if it is gone.

        Args:
            expected_version: the version it has to be at, by default the record's own.

        Raises:
            VersionConflictError: it is at another version. ValueError: it holds personal data now, which its scope
                escalates. Otherwise as `save` does.
        """
        container = self._container
        self.masked = {}
        check_writable(container)
        check_kind(kind, record)
        record_writer = _StackRecordWriter(container)
        record_writer.believe(record)
        check_provenance(container, [record], enforce=self._enforce)
        scope, agent = container.place.scope, container.reader
        screened = container.space.screening.screen([record], scope, agent)
        if any(item.labels and item.action == ESCALATE for item in screened):
            raise ValueError(f"personal data cannot be added to {record.id}: save it as a new record")
        expected = record.version if expected_version is None else expected_version
        with attacks_on_record(container.space, agent), container.space.database.write() as execute:
            container.space.check_open(execute, container.stack_id)
            former = container.space.records.find(record.id)
            gone = former is None or former["state"] in (ERASED, QUARANTINED)
            if former is None or gone or former["place"] not in container.places():
                return False
            if not container.space.reader.allows(former):
                return False
            if former["version"] != expected:
                raise VersionConflictError(kind, record.id, expected, former["version"])
            record_writer.check_trusted(former)
            record.version = record_writer.replace(execute, former, record)["version"]
            self.masked |= record_writer.masked
            note(execute, former["id"], screened[0], agent, scope, container.space.clock.now())
            container.space.embed(execute, [former["id"]])
        self._offer(kind, [record])
        return True

    def update_meta(
        self,
        memory_type: str,
        memory_id: str,
        *,
        confidence: float | None = None,
        tags: list[str] | None = None,
    ) -> bool:
        """Set how sure a memory is, or its tags; False if there is none, or nothing is given.

        Raises:
            ValueError: the confidence is not from 0 to 1, or its kind has no tags.
        """
        changes: dict[str, Any] = {}
        if confidence is not None:
            changes["confidence"] = checked_share("confidence", confidence)
        if tags is not None:
            check_words("tags", tags)
            changes["tags"] = list(tags)
        return bool(changes) and bool(self.amend(memory_type, memory_id, changes, operation="meta"))

    def amend(self, kind: str, uid: str, changes: dict[str, Any], *, actor: str = "", operation: str) -> int:
        """Change some attributes of a record; returns the version that it has then, 0 if there is none.

        Raises:
            ValueError: it cannot have such a value.
        """
        with self._container.space.database.write() as execute:
            found = self._in_view([uid], kind).get(uid)
            return self._amend(execute, kind, found, changes, actor, operation)[0] if found else 0

    def _in_view(self, uids: Sequence[str], kind: str) -> dict[str, tuple[Row, Any]]:
        """Rows, and the records that they hold, by id; read at once."""
        rows = self._container.find_all(uids, kinds_viewed_as(kind))
        return dict(
            zip(
                rows,
                zip(rows.values(), self._container.space.all_records([*rows.values()]), strict=True),
                strict=True,
            )
        )

    def _amend(
        self,
        execute: Execute,
        kind: str,
        pair: tuple[Row, Any],
        changes: dict[str, Any],
        actor: str,
        operation: str,
    ) -> tuple[int, dict[str, Any]]:
        """Changes a record; returns its version, and the changes as they were written."""
        row, before = pair
        space = self._container.space
        scope = space.places.numbered(row["place"]).scope
        changes, screened = space.screening.changes(changes, scope)
        former = to_view(before)
        for name in changes.keys() - vars(former).keys():
            raise ValueError(f"{with_article(kind)} has no {name}")
        record = dataclasses.replace(former, **changes)
        new = self.change(execute, row, record, actor=actor, operation=operation, before=before)
        note(execute, row["id"], screened, actor or self._container.reader, scope, space.clock.now())
        return int(new["version"]), changes

    def change(
        self, execute: Execute, row: Row, record: Any, *, actor: str, operation: str, before: Any = None
    ) -> Row:
        """Updates an existing record within a transaction; returns its row.

        Args:
            before: the record that the row holds, if this transaction has read both already.

        Raises:
            ValueError: it cannot be changed so.
        """
        record_writer = _StackRecordWriter(self._container)
        new = record_writer.replace(execute, row, record, actor=actor, operation=operation, before=before)
        self.masked |= record_writer.masked
        if (new["text"], new["state"]) != (row["text"], row["state"]):
            self._container.space.embed(execute, [row["id"]])
        return new

    def _write_back(self, record: Any, row: Row) -> None:
        """Sets the id and version under which a record was saved."""
        record.id, record.stack_id = row["uid"], self._container.stack_id
        if hasattr(record, "version"):
            record.version = row["version"]
        if hasattr(record, "local_updated_at"):
            record.local_updated_at = to_moment(row["updated_at"])
        if getattr(record, "created_at", row) is None:
            record.created_at = to_moment(row["happened_at"])

    def _offer(self, kind: str, records: Sequence[Any]) -> None:
        """Show records to the components, and keep what they say of them in one transaction."""
        attributes = set(DESCRIPTORS[kind].attributes) - _FIXED
        answers = [
            (record, name, known)
            for record, name, answer in self._components.on_save(kind, records)
            if (known := {key: value for key, value in answer.items() if key in attributes})
        ]
        if not answers:
            return
        try:
            with self._container.space.database.write() as execute:
                self._keep_said(execute, kind, answers)
        except StoreError as error:  # the records are kept; it is what components say of them that is not
            for name in dict.fromkeys(name for _, name, _ in answers):
                self._components.failed(name, "on_save", error)

    def _keep_said(
        self, execute: Execute, kind: str, answers: Sequence[tuple[Any, str, dict[str, Any]]]
    ) -> None:
        found = self._in_view([record.id for record, _, _ in answers], kind)
        for record, name, known in answers:
            # what another component said of it has changed it
            pair = found.pop(record.id, None) or self._in_view([record.id], kind).get(record.id)
            version = 0
            try:
                if pair:
                    version, known = self._amend(execute, kind, pair, known, f"{SYSTEM}{name}", "component")
            except ValueError as error:
                self._components.failed(name, "on_save", error)
                continue
            for key, value in known.items():
                setattr(record, key, value)
            if hasattr(record, "version"):
                record.version = version


class _StackRecordWriter(RecordWriter):
    """Saves records with a given id, in place of those that have it."""

    def __init__(self, container: Container, door: str = "") -> None:
        super().__init__(container.space, container.reader, door)
        self.is_operator = container.is_operators
        self._container = container
        self._there: set[str] = set()  # ids that are taken, as far as this one was told to keep them

    def believe(self, record: Any) -> None:
        """No core and no plugin is a person; but one may write back what a person saved."""
        given = getattr(record, "source_type", "")
        if believed(given) != given:
            known = self.space.records.find(record.id) if record.id else None
            if known is None or known["source_type"] != given:
                record.source_type = believed(given)

    def keep(self, execute: Execute, pairs: Sequence[tuple[Row, Any]]) -> None:
        self._there.update(self.space.records.known([row["uid"] for row, _ in pairs]))
        super().keep(execute, pairs)

    def completed(self, row: Row, record: Any) -> Row:
        row = super().completed(row, record)
        row["agent"] = _writer(record)
        row["state"] = _state(record, row)
        return row

    def sees(self, row: Row, other: Row) -> bool:
        return other["place"] in self._container.places()

    def former(self, row: Row, record: Any) -> Row | None:
        found = super().former(row, record)
        if found is None and row["uid"] in self._there:
            found = self.space.records.find(row["uid"])
        self._there.add(row["uid"])
        if found is not None and row["state"] == QUARANTINED:
            raise ValueError(f"an untrusted source cannot replace {found['uid']}: save it as a new record")
        if found is not None and (
            found["state"] in (ERASED, QUARANTINED)
            or found["place"] not in self._container.places()
            or not self.space.reader.allows(found)
        ):
            raise ValueError(f"{row['uid']} is another record's id: leave it empty for a new record")
        return found

    def update(self, execute: Execute, row: Row, former: Row, record: Any) -> None:
        if row["key"] and former["key"] == DESCRIPTORS[former["kind"]].normal(row["key"]):
            known = self.space.record(former)
            if former["kind"] != row["kind"]:
                known = to_view(known)
            record = DESCRIPTORS[row["kind"]].merged(known, record)
            if former["state"] == FORGOTTEN:  # what is said again is present again
                former = {**former, **recovered(self.space.records.history(former["id"]))}
                if hasattr(record, "strength"):
                    record.strength = former["strength"]
        row["version"] = self.replace(execute, former, record, actor=row["agent"])["version"]

    def replace(
        self,
        execute: Execute,
        former: Row,
        record: Any,
        *,
        actor: str = "",
        operation: str = "update",
        before: Any = None,
    ) -> Row:
        """Updates a row from a record; returns the new row. The caller makes its vector again.

        Raises:
            ValueError: it is of another kind, or cannot be changed so.
        """
        if not actor.startswith(SYSTEM):
            self.check_right(former["place"])
        as_it_is = None if before is None else former
        before = before if before is not None else self.space.record(former)
        fell = self.space.superseded_by(former)
        if fell and type(to_view(before)) is type(record) and hasattr(record, "is_active"):
            as_before = {
                name: getattr(to_view(before), name) for name in _OF_A_CORRECTION & vars(record).keys()
            }
            record = dataclasses.replace(record, **as_before)
        if self.space.reader.masks and type(to_view(before)) is type(record):
            record = self._container.masks.restored(record, to_view(before))
        if isinstance(before, Remembered) and type(to_view(before)) is type(record):
            record = from_view(record, before)
        if KIND_OF[type(record)] != former["kind"]:
            raise ValueError(f"{former['uid']} is {with_article(former['kind'])}")
        new = masked_row(record, self.masked, former)
        if new["text"] == former["text"]:
            new["terms"], new["length"] = former["terms"], former["length"]
        else:
            count_words(new)
        new["state"] = SUPERSEDED if fell else _state(record, former)
        attack = self.holding.attack_in_change(new, former)
        if attack or self.holding.names_held(new, former):
            new.update(state=QUARANTINED, key=None)
        changes = {name: new[name] for name in _CHANGED}
        if new["happened_at"] is None:
            del changes["happened_at"]
        if former["state"] != new["state"]:
            self.space.vectors.drop(execute, former["id"])
        new["version"] = self.space.records.update(
            execute,
            former["id"],
            changes,
            actor=actor or _writer(record),
            operation=operation,
            former=as_it_is,
        )
        return new


class _Restorer(_StackRecordWriter):
    """Keeps what stood side by side as it was, and what it says of its source."""

    def believe(self, record: Any) -> None:
        pass

    def twin(self, row: Row, record: Any) -> Row | None:
        return None


def check_kind(kind: str, record: Any) -> None:
    """Refuse what is of another kind.

    Raises:
        ValueError: it is.
    """
    if KIND_OF.get(type(record)) != kind:
        raise ValueError(f"{type(record).__name__} is not {with_article(kind)}")


def _state(record: Any, row: Row) -> str:
    """The state of a record: one that has stopped being true, or is too weak to be found, is not active."""
    if not getattr(record, "is_active", True):
        return SUPERSEDED
    if isinstance(record, MemorySuggestion) and record.status != "pending":
        return SUPERSEDED
    says_so = hasattr(record, "is_active") or isinstance(record, MemorySuggestion)
    current = ACTIVE if row["state"] == SUPERSEDED and says_so else row["state"]
    strength = getattr(record, "strength", None)
    return state_of(row["strength"] if strength is None else strength, current)


def _writer(record: Any) -> str:
    """Whose memory it is: an agent, and the core of that id, are one."""
    return (getattr(record, "source_entity", None) or "").removeprefix(CORE)
