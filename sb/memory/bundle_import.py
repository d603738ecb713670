"""Import a bundle after verifying it; what is here already stays as it is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from sb.base.secrets.redaction import one_line
from sb.base.text import with_article
from sb.base.values.canonical import MAX_INTEGER
from sb.base.values.frozen import frozen
from sb.errors import CheckFailed, DeniedError
from sb.kernel.authority.authority import Authority
from sb.log import kinds
from sb.log.event_log import EventLog
from sb.memory.bundles import SORTS, Progress, Seal, lines, opened, verified
from sb.memory.masking import Labels, masked_row, masked_text
from sb.memory.personal_data import Screened, redacted
from sb.memory.quarantine.refusals import attacks_on_record
from sb.memory.record_writer import count_words
from sb.memory.space import Space
from sb.memory.views import View
from sb.memory.writer import Batch, Inserter, Writer
from sb.store.records.columns import (
    ACTIVE,
    CONTENT,
    DEFAULTS,
    ERASED,
    FORGOTTEN,
    QUARANTINED,
    SUPERSEDED,
    Row,
)
from sb.store.records.edges import Edge
from sb.store.records.places import Execute, Place, check_not_reserved, checked_scope
from sb.store.records.rows import from_row
from sb.store.records.sessions import Session

MEMORY_IMPORTED = "memory.imported"
kinds.register(MEMORY_IMPORTED, "Memories were read from a bundle")
MOST_TOLD = 100
IMPORT = "import"  # the source type of what comes in a file
_AT_ONCE = 500  # records in a transaction: others wait for some 20 ms
_TIMES = ("created_at", "updated_at", "happened_at")
_MAY_BE_EMPTY = ("text", "agent")  # a stack's memories are of no agent
_NAMES = ("uid", "agent", "text")
_UID = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,200}")
_KEPT = ("uid", "state", "agent", "version", *_TIMES)  # exactly as they came
_JSON = ("tags", "fields")
_STATES = (ACTIVE, FORGOTTEN, QUARANTINED, SUPERSEDED)


@frozen
class Imported(View):
    """The result of an import.

    Args:
        added, same: records that are new, and that were here with the same content.
        conflicting: how many were left out, since something else is here or their scope keeps no personal data;
            conflicts: the first of them with the reason.
        relations: how many are new or were here. quarantined: how many of those added wait for an operator's release.
        masked: the labels of the secrets, and of the redacted personal data, that were masked in what came.
    """

    seal: Seal
    added: int
    same: int
    conflicting: int
    conflicts: tuple[tuple[str, str], ...]
    relations: int
    masked: tuple[str, ...] = ()
    quarantined: int = 0


def load(
    space: Space,
    log: EventLog,
    path: Path,
    authority: Authority,
    *,
    actor: str,
    into: str | None = None,
    from_anybody: bool = False,
    embed: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Take in a bundle. Nothing that is here is changed, so that it can be done again, also after it was cut short.

    What no operator of this home signed is quarantined, as `memory.quarantine` says.

    Args:
        log: of the same database; it records what came, and from whom. authority: who this home's operators are.
        actor: the operator who does it.
        into: a scope that takes in everything, whatever its scope was.
        from_anybody: also take what no operator of this home signed, though there are operators.
        embed: also make vectors; otherwise housekeeping does.
        progress: called with the records read and those there are.

    Raises:
        CheckFailed: the bundle is damaged or cannot be read by this version; if a single record is to blame, what
            came before it is kept. DeniedError: no operator of this home signed it. UsageError: no such file.
        ValueError: `into` is no scope. MaintenanceModeError: its stack is being maintained.
    """
    if into is not None:
        checked_scope(into)
    with opened(path) as file:
        seal = verified(file, authority)
        if seal.standing != "operator" and authority.enrolled() and not from_anybody:
            who = "is unsigned" if seal.standing == "unsigned" else f"was signed by a stranger ({seal.key})"
            raise DeniedError(f"the bundle {who}", "inspect it, then import it with --from-anybody")
        with attacks_on_record(space):
            found = _Import(space, seal, actor, into, embed).read(file, progress)
    with log.write() as write:
        facts = {"digest": seal.digest, "standing": seal.standing, "key": seal.key, "records": found.added}
        write.append(MEMORY_IMPORTED, {"by": actor, "from": seal.by, "into": into or ""}, trusted=facts)
    return found


class _Import:
    """Reads one bundle into a space."""

    def __init__(self, space: Space, seal: Seal, actor: str, into: str | None, embed: bool) -> None:
        self._space, self._seal, self._actor, self._into, self._embed = space, seal, actor, into, embed
        self._places: dict[int, Place] = {}
        self._sessions: dict[int, Session] = {}
        self._place_numbers: dict[Place, int] = {}
        self._session_numbers: dict[str, int] = {}
        self._elsewhere: dict[str, str] = {}  # what was left out to what is here of the same name
        self._left_out: set[str] = set()
        self._trusted = seal.standing == "operator"
        self._writer = Writer(Inserter(space, actor, "" if self._trusted else IMPORT))
        self._holds = not self._trusted and IMPORT in space.untrusted_sources
        self._quarantined = 0
        self._added = self._same = self._relations = 0
        self._conflicts: list[tuple[str, str]] = []
        self._conflicting = 0
        self._masked: Labels = {}
        self._screened: dict[str, Screened] = {}  # what records hold of personal data, by public id

    def read(self, file: BinaryIO, progress: Progress | None) -> Imported:
        done = 0
        for kind, batch in _batches(lines(file)):
            if kind == "place":
                self._places |= {number: self._place(item) for number, item in _numbered(batch)}
            elif kind == "session":
                self._sessions |= {number: self._session(item) for number, item in _numbered(batch)}
            elif kind == "record":
                self._keep([self._row(item) for item in batch])
                done += len(batch)
                if progress:
                    progress(done, self._seal.records)
            elif kind == "relation":
                self._relate(batch)
        return Imported(
            self._seal,
            self._added,
            self._same,
            self._conflicting,
            tuple(self._conflicts),
            self._relations,
            tuple(self._masked),
            self._quarantined,
        )

    def _place(self, document: Mapping[str, Any]) -> Place:
        place = Place(
            self._seal.stack, self._into or _text(document, "scope"), _text(document, "owner", empty=True)
        )
        try:
            check_not_reserved(place.owner)
            checked_scope(place.scope)
        except ValueError as error:
            raise _damaged(str(error)) from None
        if not self._into and place.scope not in self._seal.scopes:
            raise _damaged(f"the scope {place.scope}, which its seal does not name")
        return place

    def _session(self, document: Mapping[str, Any]) -> Session:
        started, ended = _number(document, "started_at"), document.get("ended_at")
        scope = self._into or _text(document, "scope")
        return Session(
            0,
            _text(document, "name"),
            _text(document, "agent"),
            self._seal.stack,
            scope,
            started,
            None if ended is None else _number(document, "ended_at"),
        )

    def _row(self, document: Mapping[str, Any]) -> Row:
        """The row of a record as this version would have written it; raises CheckFailed if it would not have."""
        place = self._places.get(_whole(document, "place", 0))
        if place is None:
            raise _damaged(f"record {document.get('uid')} has no place")
        columns: Row = {**DEFAULTS, **document}
        for name in _NAMES:
            if not isinstance(document.get(name), str) or not (document[name] or name in _MAY_BE_EMPTY):
                raise _damaged(f"{name} is not a string")
        if not _UID.fullmatch(document["uid"]):
            raise _damaged(f"{one_line(document['uid'], 40)!r} is not an id")
        for name in _TIMES:
            columns[name] = _number(document, name)
        if columns["state"] not in _STATES or not _whole(document, "version"):
            raise _damaged(f"record {columns['uid']} has an impossible state or version")
        try:
            columns["fields"] = orjson.dumps(document["fields"]).decode()
            columns["tags"] = orjson.dumps(document["tags"]).decode() if "tags" in document else None
            reads = (document.get("accessed", 0), document.get("last_accessed", -math.inf))
            record = from_row(columns, place, reads)
            self._screened[columns["uid"]] = screened = self._space.screening.look(
                record, place.scope, signed_too=True
            )
            row = masked_row(record, self._masked, columns)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise _damaged(f"record {columns['uid']} cannot be read: {error}") from None
        self._masked |= redacted([screened])
        row["place"], row["session"] = place, self._sessions.get(_whole(document, "session", 0))
        for name in _KEPT:
            row[name] = columns[name]
        count_words(row)
        return row

    def _keep(self, rows: list[Row]) -> None:
        """Write those of the records that are new, and note how they came."""
        space, new = self._space, list[Row]()
        with space.database.write() as execute:
            space.check_open(execute, self._seal.stack)
            here = space.records.known([row["uid"] for row in rows])
            keys: set[tuple[int, str, str]] = set()
            for row in rows:
                row["place"] = self._place_number(execute, row["place"])
                if self._is_here(row, here, keys) or self._is_refused(row):
                    continue
                if row["session"] is not None:
                    row["session"] = self._session_number(execute, row["session"])
                here[row["uid"]] = row
                keys.add((row["place"], row["kind"], row["key"]))
                new.append(row)
            batch = Batch(
                pairs=[(row, None) for row in new],
                screened=[self._screened.pop(row["uid"]) for row in new],
                by_source=not self._trusted,
            )
            self._writer.hold(batch)
            self._writer.keep(execute, batch)
            numbers = [row["id"] for row in new]
            reason = f"bundle of {self._seal.by or 'nobody'}, {self._seal.digest[:19]}"
            space.records.note(execute, numbers, actor=self._actor, operation="import", reason=reason)
            if self._embed:
                space.embed(execute, numbers)
        self._added += len(new)
        self._quarantined += sum(row["state"] == QUARANTINED for row in new)
        self._screened.clear()

    def _is_here(self, row: Row, here: Mapping[str, Row], keys: set[tuple[int, str, str]]) -> bool:
        """True if the record, or another one in its stead, is here, which is noted."""
        former = here.get(row["uid"])
        if former is not None:
            why = _difference(former, row)
            if why:
                self._conflict(row["uid"], why)
            else:
                self._same += 1
            return True
        if row["key"] is None:
            return False
        same_key = self._space.records.keyed(row["place"], row["kind"], row["key"])
        if same_key is None and (row["place"], row["kind"], row["key"]) not in keys:
            return False
        if same_key is not None:
            self._elsewhere[row["uid"]] = same_key["uid"]
        self._conflict(row["uid"], f"another {row['kind']} of that name is here")
        return True

    def _is_refused(self, row: Row) -> bool:
        """True if the scope of a record keeps no personal data and it holds some, which is noted for who imports."""
        screened = self._screened[row["uid"]]
        if screened.refused:
            scope, labels = self._space.places.numbered(row["place"]).scope, ", ".join(screened.labels)
            self._conflict(row["uid"], f"it holds personal data ({labels}), which {scope} does not keep")
        return screened.refused

    def _conflict(self, uid: str, why: str) -> None:
        self._conflicting += 1
        self._left_out.add(uid)
        if len(self._conflicts) < MOST_TOLD:
            self._conflicts.append((uid, why))

    def _place_number(self, execute: Execute, place: Place) -> int:
        if place not in self._place_numbers:
            self._place_numbers[place] = self._space.places.make(execute, place)
        return self._place_numbers[place]

    def _session_number(self, execute: Execute, session: Session) -> int:
        if session.name not in self._session_numbers:
            try:
                brought = self._space.sessions.bring(execute, session)
            except ValueError as error:
                raise CheckFailed(f"the bundle's sessions do not fit: {error}") from None
            self._session_numbers[session.name] = brought.number
        return self._session_numbers[session.name]

    def _relate(self, batch: Sequence[Mapping[str, Any]]) -> None:
        """Relate what came, also to what is here of the same name; nothing is related to what was left out."""
        space = self._space
        ends = [(self._end(entry, "source"), self._end(entry, "target")) for entry in batch]
        with space.database.write() as execute:
            here = space.records.known(sorted({uid for pair in ends for uid in pair}))
            for item, (source, target) in zip(batch, ends, strict=True):
                if source == target or not {source, target} <= here.keys():
                    continue
                if any(here[uid]["state"] == ERASED or uid in self._left_out for uid in (source, target)):
                    continue
                if self._holds and here[source]["state"] != QUARANTINED:
                    continue  # a stranger relates nothing of what is here
                weight = _number(item, "weight")
                if weight < 0:
                    raise _damaged("a relation has a weight below 0")
                place = here[target]["place"]
                place = place if space.places.numbered(place).owner else here[source]["place"]
                relation = masked_text(_text(item, "relation"), self._masked)
                edge = Edge(here[source]["id"], relation, here[target]["id"], weight)
                at, agent = _number(item, "created_at"), _text(item, "agent")
                space.edges.add(execute, edge, place=place, agent=agent, at=at)
                self._relations += 1

    def _end(self, relation: Mapping[str, Any], name: str) -> str:
        uid = _text(relation, name)
        return self._elsewhere.get(uid, uid)


def _difference(former: Row, row: Row) -> str:
    """Describes how a local record differs from the received one of the same id; "" if it does not."""
    if former["state"] == ERASED:
        return "it was erased here"
    if former["kind"] != row["kind"]:
        return f"{with_article(former['kind'])} has that id already"
    if former["place"] != row["place"]:
        return "it stands elsewhere here"
    row = {**row, "text": row["text"].replace("\0", " ")}  # as it is stored
    differing = [name for name in CONTENT if name not in _JSON and former[name] != row[name]]
    differing += [
        name for name in _JSON if orjson.loads(former[name] or "null") != orjson.loads(row[name] or "null")
    ]
    return f"it differs in {', '.join(differing)}" if differing else ""


def _batches(lines: Iterable[bytes]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields the lines between heading and seal, in batches of one sort."""
    sort = ""
    batch: list[dict[str, Any]] = []
    for name, line in filter(None, map(_held, lines)):
        if batch and (name != sort or len(batch) == _AT_ONCE):
            yield sort, batch
            batch = []
        sort = name
        batch.append(line)
    if batch:
        yield sort, batch


def _held(line: bytes) -> tuple[str, dict[str, Any]] | None:
    """The sort of a line and what it says; None for the heading and the seal, which `verified` has read."""
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _damaged(f"a line is not JSON: {error}") from None
    if "format" in parsed or "statement" in parsed:
        return None
    ((sort, document), *more) = parsed.items()
    if more or sort not in SORTS or not isinstance(document, dict):
        raise _damaged(f"a line of the sort {one_line(sort, 40)!r} that does not exist")
    return sort, document


def _numbered(batch: Iterable[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    for item in batch:
        yield _whole(item, "number"), item


def _text(document: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = document.get(name)
    if not isinstance(value, str) or (not value and not empty):
        raise _damaged(f"{name} is not a string")
    return value


def _number(document: Mapping[str, Any], name: str) -> float:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _damaged(f"{name} is not a number")
    return float(value)


def _whole(document: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = document.get(name, default)
    if type(value) is not int or not 0 <= value <= MAX_INTEGER:
        raise _damaged(f"{name} is not a whole number")
    return value


def _damaged(what: str) -> CheckFailed:
    return CheckFailed(f"the bundle cannot be imported: {what}", "it was not made by sb memory export")
