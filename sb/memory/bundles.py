"""Bundles: memory in one file that says what it holds and whose key sealed it.

The format is in docs/guides/memory-upkeep.md. Lines of JSON: a heading, places, sessions, records, relations, and last the
seal, a statement with the digest of every byte before it, signed like an operator's decision.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from sb.base.files import atomic_file
from sb.base.sources import iso
from sb.base.text import counted
from sb.base.values.canonical import canonical_bytes
from sb.base.values.frozen import frozen
from sb.base.values.signatures import key_id_of, signature_fits
from sb.errors import CheckFailed, NotFoundError, UsageError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, Operator, signed_statement
from sb.log import kinds
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.memory.access import READ, SHARE
from sb.memory.conditions import Condition
from sb.memory.space import Space
from sb.memory.views import View
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import RESERVED, Place

FORMAT = "secondbrain-memory"
VERSION = 1
MEMORY_EXPORTED = "memory.exported"
kinds.register(MEMORY_EXPORTED, "Memories were written into a bundle")
_PAGE = 500
_LONGEST = 1 << 28  # bytes in one line: a memory may have megabytes, no computer runs out of room by a line
SORTS = ("place", "session", "record", "relation")  # of lines between the heading and the seal
_SORTS = tuple(f'{{"{sort}":'.encode() for sort in SORTS)
_RECORD = b'{"record":'
_CARRIED = (
    "uid", "kind", "state", "agent", "source_type", "strength", "protected", "created_at", "updated_at", "version",
    "category", "speaker", "confidence", "evidence_n", "happened_at", "text",
)  # fmt: skip

Progress = Callable[[int, int], object]


@frozen
class Seal(View):
    """The contents and the signer of a bundle.

    Args:
        by, key: the name of who made it, and the id of their key; "" for an unsigned bundle.
        standing: `operator` if the key is one of this home's operators, `stranger` if it is another, `unsigned`.
        at: in ISO 8601. digest: of every byte before the seal. counts: of records, by kind.
    """

    by: str
    key: str
    standing: str
    at: str
    digest: str
    stack: str
    scopes: tuple[str, ...]
    counts: Mapping[str, int]
    sessions: int
    relations: int

    @property
    def records(self) -> int:
        return sum(self.counts.values())


def export(
    space: Space,
    log: EventLog,
    path: Path,
    *,
    by: Decider,
    stack: str,
    scopes: Sequence[str] = (),
    agent: str = "",
    progress: Progress | None = None,
) -> Seal:
    """Write the memories of a stack into one new file, whole or not at all; forgotten ones too, erased ones not.

    Args:
        log: of the same database; it records what left.
        by: whose key signs; a mere label leaves the bundle unsigned.
        scopes: only these; all of them if there are none.
        agent: only what this agent may read; "" for operators, who may read everything.
        progress: called with the records written and those there are.

    Raises:
        NotFoundError: nothing is kept there. UsageError: the file is there already, or cannot be written.
    """
    space = space.seen_by(agent, stack)
    places = chosen(space, stack, scopes, agent)
    with new_file(path) as file:
        seal = _Export(space, places, file, progress).write(by, stack)
    with log.write() as write:
        untrusted = {"by": by.name, "scopes": list(seal.scopes), "agent": agent}
        write.append(
            MEMORY_EXPORTED, untrusted, Subject(agent=agent), {"digest": seal.digest, "records": seal.records}
        )
    return seal


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that nobody else can read, and that gets its name once it is complete.

    Raises:
        UsageError: it is there already, or cannot be written.
    """
    try:
        with atomic_file(path, replace=False) as file:
            yield file
    except FileExistsError:
        raise UsageError(
            f"{path} exists already", "choose another name; an export never overwrites"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def chosen(space: Space, stack: str, scopes: Sequence[str], agent: str) -> dict[int, Place]:
    """The places of a stack that somebody may carry away.

    Args:
        space: as the agent reads it, see `Space.seen_by`.
        scopes: only these; all of them if there are none. agent: who; "" for operators, who may read everything.

    Raises:
        NotFoundError: nothing is kept there. DeniedError: the agent may not read or share one of these scopes.
    """
    places = {
        number: place
        for number, place in space.places.all().items()
        if place.stack == stack
        and (not scopes or place.scope in scopes)
        and (not agent or place.owner in ("", agent))
        and not place.owner.startswith(RESERVED)
    }
    if agent:
        for scope, right in ((scope, right) for scope in scopes for right in (READ, SHARE)):
            space.rights.check(agent, right, scope)
        carried = {
            scope
            for scope in space.reader.scopes({place.scope for place in places.values()})
            if space.rights.may(agent, SHARE, scope)
        }
        places = {number: place for number, place in places.items() if place.scope in carried}
    for scope in scopes:
        if not any(place.scope == scope for place in places.values()):
            raise NotFoundError(f"no memories in {scope} of stack {stack!r}", "sb memory stats")
    if not places:
        space.reader.note_unread()
        space.reader.note_denied()
        raise NotFoundError(f"no memories in stack {stack!r}", "sb memory stats")
    return places


def exported(space: Space, places: Sequence[int]) -> Condition:
    """Returns the condition over `r` for the records of these places that leave: nothing quarantined, and nothing that
    who reads the space may not read, which is put on record."""
    withheld, parameters = space.reader.withheld(places)
    space.reader.note_denied()
    return f"r.state <> '{QUARANTINED}' AND NOT ({withheld or 0})", parameters


class _Export:
    """Writes one bundle, page by page: nobody waits for it, and what is written meanwhile is not in it."""

    def __init__(
        self,
        space: Space,
        places: Mapping[int, Place],
        file: BinaryIO,
        progress: Progress | None,
    ) -> None:
        self._space, self._places, self._file, self._progress = space, places, file, progress
        self._digest = sha256()
        self._last = space.records.last()
        self._leaves, self._named = exported(space, tuple(places))

    def write(self, by: Decider, stack: str) -> Seal:
        self._line({"format": FORMAT, "version": VERSION})
        for number, place in self._places.items():
            self._line({"place": {"number": number, "scope": place.scope, "owner": place.owner}})
        sessions = self._sessions()
        counts = self._records()
        relations = self._relations()
        facts = {
            "format": FORMAT,
            "version": VERSION,
            "at": iso(self._space.clock.now()),
            "digest": f"sha256:{self._digest.hexdigest()}",
            "stack": stack,
            "scopes": sorted({place.scope for place in self._places.values()}),
            "counts": dict(sorted(counts.items())),
            "sessions": sessions,
            "relations": relations,
            "public_key": by.public_key if isinstance(by, Operator) else "",
        }
        sealed = signed_statement(by, facts)
        self._file.write(canonical_bytes(sealed) + b"\n")
        return _seal(sealed, "operator" if by.key_id else "unsigned")

    def _line(self, value: Mapping[str, Any]) -> None:
        line = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
        self._digest.update(line)
        self._file.write(line)

    def _sessions(self) -> int:
        count = 0
        for place in self._space.sessions.of_places(tuple(self._places), self._last):
            session = {"number": place.number, "name": place.name, "agent": place.agent, "scope": place.scope}
            self._line({"session": {**session, "started_at": place.started_at, "ended_at": place.ended_at}})
            count += 1
        return count

    def _records(self) -> Counter[str]:
        marks = ", ".join("?" * len(self._places))
        where = f"r.place IN ({marks}) AND r.id <= ? AND r.state <> 'erased' AND {self._leaves}"
        wanted = (*self._places, self._last, *self._named)
        total = self._space.records.number_of(where, wanted)
        counts: Counter[str] = Counter()
        after = 0
        while rows := list(
            self._space.records.select(f"{where} AND r.id > ?", (*wanted, after), limit=_PAGE)
        ):
            reads = self._space.reads.stats([row["id"] for row in rows])
            for row in rows:
                carried = _carried(row, reads.get(row["id"]))
                self._line({"record": carried | self._space.reader.mask(_texts(carried))})
                counts[row["kind"]] += 1
            after = rows[-1]["id"]
            if self._progress:
                self._progress(counts.total(), total)
        return counts

    def _relations(self) -> int:
        count = 0
        for relation in self._space.edges.within(tuple(self._places), self._last):
            self._line({"relation": relation})
            count += 1
        return count


def _carried(row: Row, reads: tuple[int, float] | None) -> dict[str, Any]:
    """A row as a bundle has it; what is None or can be made of the rest is left out."""
    found = {name: row[name] for name in _CARRIED if row[name] is not None}
    found |= {"place": row["place"], "fields": orjson.loads(row["fields"])}
    if row["session"] is not None:
        found["session"] = row["session"]
    if row["tags"] is not None:
        found["tags"] = orjson.loads(row["tags"])
    if reads is not None:
        found["accessed"] = reads[0]
        found |= {"last_accessed": reads[1]} if reads[1] > 0 else {}
    return found


def _texts(carried: Mapping[str, Any]) -> dict[str, Any]:
    return {name: carried[name] for name in ("text", "speaker", "tags", "fields") if name in carried}


def verify(path: Path, authority: Authority, progress: Progress | None = None) -> Seal:
    """Read a whole bundle and say what it holds; nothing is imported.

    Args:
        authority: who this home's operators are.
        progress: called with the bytes read and those there are.

    Raises:
        CheckFailed: it is damaged, was changed, or is no bundle that this version can read.
        Unauthorised: it is signed with a key that was shut out.
        UsageError: the file cannot be read.
    """
    with opened(path) as file:
        return verified(file, authority, progress)


def opened(path: Path) -> BinaryIO:
    """The file; raises UsageError if it cannot be read."""
    try:
        return path.open("rb")
    except OSError as error:
        hint = "name a file that `sb memory export` wrote"
        raise UsageError(f"cannot read {path}: {error.strerror}", hint) from None


def verified(file: BinaryIO, authority: Authority, progress: Progress | None = None) -> Seal:
    """As `verify`, from the beginning of an open file."""
    size = os.fstat(file.fileno()).st_size
    digest = sha256()
    records = 0
    last = b""
    for number, line in enumerate(lines(file)):
        if number == 0:
            _check_heading(line)
        elif number > 1:
            if not last.startswith(_SORTS):
                raise CheckFailed(f"this version cannot read the bundle, line {number}", _NEWER)
            records += last.startswith(_RECORD)
        digest.update(last)
        last = line
        if progress and number % 1000 == 0:
            progress(file.tell(), size)
    sealed = _parsed(last)
    statement = sealed.get("statement")
    if not isinstance(statement, dict) or not isinstance(sealed.get("signature"), str):
        raise CheckFailed("the bundle has no seal: it is truncated", "ask for it again")
    if statement.get("digest") != f"sha256:{digest.hexdigest()}":
        raise CheckFailed("the bundle was changed after it was sealed", "ask for it again")
    seal = _seal(sealed, seal_status(sealed, authority))
    unknown = sorted(set(seal.counts) - set(DESCRIPTORS))
    if unknown:
        raise CheckFailed(
            f"the bundle holds kinds that this version does not know: {', '.join(unknown)}", _NEWER
        )
    if records != seal.records:
        raise CheckFailed(
            f"the bundle holds {counted(records, 'memory')} and declares {seal.records:,}",
            "ask for it again",
        )
    return seal


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines from the beginning of a file; raises CheckFailed at one that is too long."""
    file.seek(0)
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise CheckFailed("not a bundle: a line has no end")
        yield line


_NEWER = "import it with a newer version of sb"


def _check_heading(line: bytes) -> None:
    heading = _parsed(line)
    if heading.get("format") != FORMAT:
        raise CheckFailed("not a bundle of memories", "sb memory export makes one")
    if heading.get("version") != VERSION:
        raise CheckFailed(
            f"the bundle has format {heading.get('version')}, this version reads {VERSION}", _NEWER
        )


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        found = None
    return found if isinstance(found, dict) else {}


def seal_status(sealed: Mapping[str, Any], authority: Authority) -> str:
    """Whose a seal is: `operator` if its key is one of this home's operators, `stranger` if it is another, `unsigned`.

    Args:
        sealed: made by `signed_statement`, with the `public_key` in the statement.

    Raises:
        CheckFailed: its signature does not fit. Unauthorised: it is one of a key that was shut out.
    """
    statement, signature = sealed["statement"], sealed["signature"]
    key, public_key = str(statement.get("key", "")), str(statement.get("public_key", ""))
    if not key:
        return "unsigned"
    if key_id_of(public_key) != key or not signature_fits(public_key, canonical_bytes(statement), signature):
        raise CheckFailed("changed after it was sealed: the signature does not match", "ask for it again")
    if authority.roster().with_key(key) is None:
        return "stranger"
    authority.verify(sealed, made_elsewhere=True)
    return "operator"


def _seal(sealed: dict[str, Any], standing: str) -> Seal:
    statement = sealed["statement"]
    try:
        return Seal(
            by=str(statement["by"]),
            key=str(statement["key"]),
            standing=standing,
            at=str(statement["at"]),
            digest=str(statement["digest"]),
            stack=str(statement["stack"]),
            scopes=tuple(map(str, statement["scopes"])),
            counts={str(kind): int(count) for kind, count in statement["counts"].items()},
            sessions=int(statement["sessions"]),
            relations=int(statement["relations"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CheckFailed("the bundle's seal is damaged", "ask for it again") from None
