"""The event log: append-only, hash-chained, redacted; in memory, or durable over the store.

Each event is one link: its hash covers its position, who and what it is about, the digest of its payload and the
hash before it. Payloads are separate rows that pruning may remove. Algorithm and file formats: docs/reference/event-log.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b, sha256
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sb.base.secrets.redaction import redact_json
from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids, iso, micros
from sb.base.values.canonical import encode
from sb.errors import StoreCorrupt, UsageError
from sb.log.event import (
    EVENT_COLUMNS,
    KERNEL_STREAM,
    NOBODY,
    SEQ_MASK,
    STREAM_BITS,
    Head,
    Subject,
    genesis,
    link_hash,
)
from sb.log.kinds import require
from sb.log.reader import EventReader
from sb.store import driver
from sb.store.anchor import Anchor, Anchored, AnchoredHead
from sb.store.database import MEMORY, Database, open_database
from sb.store.open_requests import OpenRequests
from sb.store.secret import home_secret

if TYPE_CHECKING:
    from sb.config.home import Home

_INSERT = f"INSERT INTO events ({EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class LogWrite:
    """One transaction that appends events and may change other tables with them."""

    def __init__(self, log: EventLog, power: bool) -> None:
        self._log = log
        self._power = power
        self._transaction = log.database.write(power=power)
        self.head = Head(0, "")  # what was appended last, or was there before
        self.last_at = 0  # when, in microseconds since the epoch
        self.undo: list[Callable[[], object]] = []  # what to take back if the transaction is
        self.committed: list[Callable[[], object]] = []  # what to do once it is committed
        self.execute: Callable[..., driver.Cursor]

    def __enter__(self) -> Self:
        try:
            self.execute = self._transaction.__enter__()
            self.head = self._log.head_for_writing(self.execute)
        except BaseException as error:
            self._transaction.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    @property
    def next_seq(self) -> int:
        """The number of the event that is appended next."""
        return self.head.seq + 1

    def append(
        self,
        kind: str,
        untrusted: dict[str, Any],
        subject: Subject = NOBODY,
        trusted: dict[str, Any] | None = None,
    ) -> int:
        """Add one event and return its id.

        Args:
            kind: a registered decision key.
            untrusted: what agents, tools and people put in; redacted before it is written.
            trusted: what the kernel itself determined, such as digests and counts; written as it is.

        Raises:
            NotFoundError: the kind is not registered.
            UsageError: it holds text that cannot be stored.
        """
        require(kind)
        log, head = self._log, self.head
        if kind[:7] != "kernel.":
            log.turn += 1
        try:
            body = redact_json(untrusted)
            if trusted:
                body = encode(trusted).decode()[:-1] + ("," + body[1:] if untrusted else "}")
            "".join(subject).encode()  # the hash is over text, and the column would turn a number into one
        except (TypeError, UnicodeEncodeError) as error:
            raise UsageError(f"an event cannot be recorded: {error}") from None
        salt = log.ids.token(16)
        payload_digest = sha256((salt + body).encode()).hexdigest()
        at = self.last_at = micros(log.clock.now())
        seq = head.seq + 1
        hashed = link_hash(log.stream, seq, at, kind, subject, payload_digest, head.hash)
        row_id = log.first_id + seq
        self.execute(
            _INSERT,
            (
                row_id,
                at,
                kind,
                *subject,
                payload_digest,
                head.hash,
                hashed,
                salt,
                body,
            ),
        )
        self.head = Head(seq, hashed)
        return row_id

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._log.database.lock:  # until a log in memory has its new head
                self._transaction.__exit__(kind, error, trace)
                if kind is None:
                    self._log.remember(self.head)
        except BaseException:
            self._take_back()
            raise
        if kind is None:
            for action in self.committed:
                action()
            self._log.wrote(self.head, self._power)
        else:
            self._take_back()

    def _take_back(self) -> None:
        for action in self.undo:
            action()


class EventLog(EventReader):
    """The log of one stream.

    Args:
        database: an open database; None keeps the log in memory, for as long as this object lives.
        anchor: where the head is written outside the database: after every FULL commit, when this log is closed,
            and after every `anchor_every` transactions of this process.
        digest_key: at most 64 bytes that are not in the database; by default the database's id, with which the digests
            that others made cannot be checked (`keyed` is False).
        open_requests: the whole arguments of the requests that wait for a person; by default in memory.
    """

    def __init__(
        self,
        database: Database | None = None,
        *,
        stream: str = KERNEL_STREAM,
        anchor: Anchor | None = None,
        anchor_every: int = 1000,
        digest_key: bytes = b"",
        open_requests: OpenRequests | None = None,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        self.open_requests = open_requests or OpenRequests()
        self.alone = database is None
        # Changes when people decided something here, and when a transaction finds that others have written: what was
        # read of their decisions still holds, inside a transaction, while this stays the same.
        self.turn = 0
        self._left_at = 0
        self.database = database or open_database(MEMORY, clock=clock, ids=ids)
        self.stream = stream
        self.anchor = anchor
        self.clock = clock
        self.ids = ids
        self._anchor_every = anchor_every
        self._unanchored = 0
        self._memory_head: Head | None = None
        self.database_id = self._database_id()
        self.place = os.path.realpath(self.database.path)
        self.keyed = bool(digest_key)
        self._keyed = blake2b(key=digest_key or self.database_id.encode(), digest_size=32)
        self.genesis = genesis(self.database_id, stream)
        self.first_id = self._stream_number() << STREAM_BITS
        if self.alone:
            with self.database.write() as execute:
                execute(
                    "DROP INDEX events_by_run"
                )  # a log in memory is short, and each call would pay for it

    @classmethod
    def of_home(
        cls,
        database: Database,
        home: Home,
        *,
        anchor_every: int = 1000,
        make_key: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> EventLog:
        """The durable log of an installation, with all that belongs to it outside the database.

        Args:
            make_key: make the key of digests where there is none; who only reads leaves that to others.

        Raises:
            ConfigError: the key can neither be read nor made.
        """
        key = home.digest_key
        return cls(
            database,
            anchor=Anchor(home.anchors),
            anchor_every=anchor_every,
            digest_key=home_secret(key) if make_key or key.exists() else b"",
            open_requests=OpenRequests(home.open_requests),
            clock=clock,
            ids=ids,
        )

    def _database_id(self) -> str:
        rows = self.database.query("SELECT value FROM meta WHERE key = 'database_id'")
        if not rows:
            raise StoreCorrupt(f"database {self.database.path} has lost its id", "restore a backup")
        return str(rows[0][0])

    def digest(self, data: bytes) -> str:
        """A keyed digest of what a call was given or gave, in hex: equal data has equal digests, and who has only
        the database cannot try out short secrets against it."""
        hasher = self._keyed.copy()
        hasher.update(data)
        return hasher.hexdigest()

    def tag(self, data: bytes) -> str:
        """Half of `digest`: enough to tell that something was changed, in rows that should stay small."""
        return self.digest(data)[:32]

    def _stream_number(self) -> int:
        found = self.database.query("SELECT number FROM streams WHERE name = ?", (self.stream,))
        if not found:
            with self.database.write() as execute:
                execute("INSERT OR IGNORE INTO streams (name) VALUES (?)", (self.stream,))
            return self._stream_number()
        number = int(found[0][0])
        if not 0 < number < 1 << (63 - STREAM_BITS):
            raise StoreCorrupt(
                f"stream {self.stream!r} has the impossible number {number}", "restore a backup"
            )
        return number

    def head_with(self, execute: Callable[..., driver.Cursor]) -> Head:
        row = execute(
            "SELECT id, hash FROM events WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
            (self.first_id, self.first_id + SEQ_MASK),
        ).fetchone()
        return Head(row[0] - self.first_id, row[1]) if row else Head(0, self.genesis)

    def head_for_writing(self, execute: Callable[..., driver.Cursor]) -> Head:
        """The last event, inside a write transaction; a log in memory has no other writer and remembers it."""
        head = self._memory_head or self.head_with(execute)
        if head.seq != self._left_at:
            self.turn += 1
        return head

    def head(self) -> Head:
        """The last event."""
        with self.database.snapshot() as connection:
            return self.head_with(connection.execute)

    def remember(self, head: Head) -> None:
        """Note where a transaction left the log; the caller holds the lock."""
        self._left_at = head.seq
        if self.alone:
            self._memory_head = head

    def wrote(self, head: Head, power: bool) -> None:
        """A transaction up to `head` was committed; anchor it when it survives power loss, or when it is time."""
        self._unanchored += 1
        if power or self._unanchored >= self._anchor_every:
            self.anchor_head(head, durable=power)

    def anchored(self) -> Anchored:
        """The anchors of this stream outside the database; raises StoreError when they cannot be read."""
        if self.anchor is None:
            return Anchored()
        return self.anchor.read(self.database_id, self.database.path, self.stream)

    def was_put_back(self, execute: Callable[..., driver.Cursor], since: int) -> bool:
        """True if a row that was anchored is not there, or is another one: an older copy of the database, which may go on.

        Args:
            since: the number of the first row that matters.

        Raises:
            StoreError: the anchor file cannot be read.
        """
        heads = {(head.seq, head.hash) for head in self.anchored().heads if head.seq >= since}
        return any(
            execute("SELECT hash FROM events WHERE id = ?", (self.first_id + seq,)).fetchone() != (stored,)
            for seq, stored in heads
        )

    def anchor_head(self, head: Head | None = None, *, durable: bool = False, anyway: bool = False) -> None:
        """Write the head outside the database, once it is sure to survive power loss: an anchor that is newer than
        the database would look like a cut.

        Args:
            head: by default the current one.
            durable: whether it is known to have reached the disk.
            anyway: also if this process has written nothing since it last did so.
        """
        if self.anchor is None or not (self._unanchored or anyway):
            return
        head = head or self.head()
        if not durable:
            self.database.sync()
        anchored = AnchoredHead(head.seq, head.hash, iso(self.clock.now()))
        self.anchor.write(self.database_id, self.place, self.stream, anchored)
        self._unanchored = 0

    def write(self, *, power: bool = False) -> LogWrite:
        """A transaction over the log and the tables beside it.

        Args:
            power: the commit also survives power loss, and the head is anchored.

        Raises:
            StoreError: the database cannot be written; nothing was.
        """
        return LogWrite(self, power)

    def append(
        self,
        kind: str,
        untrusted: dict[str, Any],
        subject: Subject = NOBODY,
        trusted: dict[str, Any] | None = None,
    ) -> int:
        """Add one event in a transaction of its own; see `LogWrite.append`."""
        with self.write() as write:
            return write.append(kind, untrusted, subject, trusted)

    def close(self) -> None:
        """Anchor what is not anchored yet, and close the database."""
        self.anchor_head()
        self.database.close()
