"""Take in memories of other programs: quarantined unless told, and each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from sb.base.secrets.redaction import one_line
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.log.event_log import EventLog
from sb.memory.brain import Brain
from sb.memory.bundle_import import MEMORY_IMPORTED
from sb.memory.foreign import tables, texts
from sb.memory.foreign.record import ForeignMemory, moment
from sb.memory.foreign.texts import Reader
from sb.memory.views import View
from sb.store.records.places import Execute, Place, checked_scope
from sb.store.records.sessions import Session

SOURCES = ("mem0", "brainctl", "kernle", "claude-memory", "basic-memory", "json", "csv", "markdown")
UNTRUSTED, TRUSTED = "import", "ingested-document"  # source types: the first is quarantined as configured
MOST_TOLD = 20
_AT_ONCE = 500  # records in a transaction: others wait for some 100 ms
_FOLDERS = ("basic-memory", "markdown")
_DATABASES = (".db", ".sqlite", ".sqlite3")


@frozen
class TakenIn(View):
    """Result of an import.

    Args:
        read: memories in the file. added: that are new here. same: that came before.
        left_out: how many could not be taken in; reasons: the first of them.
        quarantined: how many of those added wait for an operator's release. kinds: how many of each kind.
        masked: labels of the secrets and personal data that were masked.
    """

    read: int
    added: int
    same: int
    left_out: int
    reasons: tuple[tuple[str, str], ...]
    quarantined: int
    kinds: dict[str, int]
    masked: tuple[str, ...] = ()


def reader_of(source: str, path: Path) -> Reader:
    """The reader for files of a program.

    Raises:
        UsageError: there is no such program, or no such file.
    """
    if source not in SOURCES:
        raise UsageError(f"no importer {source!r}{nearest(source, SOURCES)}", f"one of {', '.join(SOURCES)}")
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if not path.is_file() and not (path.is_dir() and source in _FOLDERS):
        raise UsageError(f"{path}: is no regular file")
    readers: dict[str, Reader] = {
        "mem0": tables.mem0_history
        if path.suffix in _DATABASES
        else partial(texts.json_memories, ids_last=True),
        "brainctl": tables.brainctl,
        "kernle": tables.kernle,
        "claude-memory": texts.claude_memories,
        "basic-memory": texts.basic_memories,
        "json": texts.json_memories,
        "csv": texts.csv_memories,
        "markdown": texts.markdown_memories,
    }
    return readers[source]


def take_in(
    brain: Brain,
    log: EventLog,
    source: str,
    memories: Iterable[ForeignMemory],
    *,
    actor: str,
    into: str = "",
    trusted: bool = False,
    dry_run: bool = False,
    progress: Callable[[int], object] = lambda done: None,
) -> TakenIn:
    """Take in what a program has remembered. What came before stays as it is, so that it can be done again.

    Args:
        brain: of the agent whose memories they become. log: of the same database.
        source: the program. memories: such as `memories_of` reads.
        actor: the operator who does it.
        into: a scope for everything; by default each memory's own project, or `global`.
        trusted: do not quarantine them.
        dry_run: only say what would come.
        progress: called with how many were read.

    Raises:
        UsageError: the file cannot be read; what came before the place is kept. ValueError: `into` is no scope.
    """
    if into:
        checked_scope(into)
    run = _Run(brain, source, into, TRUSTED if trusted else UNTRUSTED, dry_run)
    waiting = iter(memories)
    while batch := list(islice(waiting, _AT_ONCE)):
        run.take(batch)
        progress(run.read)
    if run.added and not dry_run:
        with log.write() as write:
            facts = {"records": run.added, "quarantined": run.quarantined}
            write.append(MEMORY_IMPORTED, {"by": actor, "from": source, "into": into}, trusted=facts)
    return run.result()


def memories_of(source: str, path: Path) -> Iterator[ForeignMemory]:
    """The memories in a file of that program.

    Raises:
        UsageError: there is no such program or file, or it cannot be read.
    """
    try:
        yield from reader_of(source, path)(path)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
    except (OSError, RuntimeError) as error:  # the latter for a loop of links
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or one_line(error, 100)}") from None


class _Run:
    def __init__(self, brain: Brain, source: str, into: str, source_type: str, dry_run: bool) -> None:
        self._brain, self._source, self._into = brain, source, into
        self._source_type, self._dry_run = source_type, dry_run
        self.read = self.added = self.same = self.left_out = self.quarantined = 0
        self._reasons: list[tuple[str, str]] = []
        self._kinds: dict[str, int] = {}
        self._masked: dict[str, None] = {}
        self._seen: set[str] = set()

    def take(self, batch: list[ForeignMemory]) -> None:
        """Take in these, a transaction for each scope."""
        self.read += len(batch)
        known = self._brain.space.records.known([item.id(self._source) for item in batch])
        places: dict[tuple[str, str], list[tuple[ForeignMemory, object]]] = {}
        for memory in batch:
            uid = memory.id(self._source)
            if uid in known or uid in self._seen:
                self.same += 1
                continue
            self._seen.add(uid)
            scope = self._into or (f"project:{memory.project}" if memory.project else "global")
            try:
                record = memory.record(self._source, self._source_type)
                checked_scope(scope)
            except ValueError as error:
                self._leave_out(memory, str(error))
            else:
                places.setdefault((scope, memory.session), []).append((memory, record))
        for (scope, session), pairs in places.items():
            self._keep(scope, session, pairs)

    def _keep(self, scope: str, session: str, pairs: list[tuple[ForeignMemory, object]]) -> None:
        writer = self._brain.writer
        place = Place(writer.stack, scope)
        if not self._dry_run:
            try:
                if session:
                    writer.begin(scope, session)
                times = [found.timestamp() for item, _ in pairs if (found := moment(item.at))]
                writer.keep_all(
                    [record for _, record in pairs],
                    place,
                    also=partial(self._date, min(times), max(times)) if session and times else None,
                )
            except ValueError as error:
                if len(pairs) == 1:
                    self._leave_out(pairs[0][0], str(error))
                    return
                for pair in pairs:  # one of them is to blame
                    self._keep(scope, session, [pair])
                return
            self.quarantined += len(writer.record_writer.held)
            self._masked |= dict.fromkeys(writer.masked)
        self.added += len(pairs)
        for memory, _ in pairs:
            self._kinds[memory.kind] = self._kinds.get(memory.kind, 0) + 1

    def _date(self, first: float, last: float, execute: Execute, session: Session) -> None:
        self._brain.space.sessions.past(execute, session, first, last)

    def _leave_out(self, memory: ForeignMemory, reason: str) -> None:
        self.left_out += 1
        if len(self._reasons) < MOST_TOLD:
            self._reasons.append((one_line(memory.reference, 60), one_line(reason, 200)))

    def result(self) -> TakenIn:
        return TakenIn(
            self.read,
            self.added,
            self.same,
            self.left_out,
            tuple(self._reasons),
            self.quarantined,
            dict(sorted(self._kinds.items())),
            tuple(self._masked),
        )
