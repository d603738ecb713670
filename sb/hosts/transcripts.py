"""Transcripts: what hosts write down of their sessions, read as a stream.

Any program of the user can write such a file, so what it says is a hint to a person and decides nothing else. One line
is in memory at a time, and only regular files are opened.
"""

from __future__ import annotations

import json
import os
import stat
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple

from sb.base.values.frozen import mutable
from sb.hosts.hooks.event import NativeCall
from sb.kernel.review.session_usage import Used

if TYPE_CHECKING:
    from sb.hosts.install.host import Places

LONGEST_LINE = 4 << 20  # bytes; a longer line is skipped and counted
LONGEST_DOCUMENT = 32 << 20  # bytes of a transcript that is a single JSON document
MOST_FILES = 100_000  # of one host
MOST_PENDING = 256  # calls that wait to be told how they ended
MOST_REMEMBERED = 4_096  # ids of calls, so that one that was copied is read once
LONGEST_PATH = 4_096  # characters
_MOST_TOKENS = 1e15  # of one number; more is nonsense
_MOST_DOLLARS = 1e9  # of one response
_LATEST = 1e11  # seconds since the epoch


@mutable
class Session:
    """One session as far as its transcript has been read.

    Args:
        id: the host's own. cwd: the folder of the newest record.
        started: time of its first record, in seconds since the epoch; None if there is none.
        model: of the newest turn.
        skipped: lines that are too long, cut short or no JSON objects.
    """

    host: str
    file: str
    id: str = ""
    cwd: str = ""
    started: float | None = None
    model: str = ""
    skipped: int = 0

    def note(self, *, id: str = "", cwd: str = "", at: float | None = None, model: str = "") -> None:
        """Take over what a record says of its session; a folder that can be none is left out."""
        self.id = self.id or id
        self.cwd, self.model = cwd if cwd and is_path(cwd) else self.cwd, model or self.model
        if self.started is None:
            self.started = at


class RecordedCall(NamedTuple):
    """A call in a transcript.

    Args:
        cwd: the session's folder at that time.
        at: seconds since the epoch; None if the host does not write it.
        ok: whether it succeeded; None if that is not written.
    """

    call: NativeCall
    cwd: str
    at: float | None = None
    ok: bool | None = None


class CallEnded(NamedTuple):
    """The end of a call, by the host's id of it."""

    use_id: str
    ok: bool


class Prompt(NamedTuple):
    """Prompt to an agent; a new turn of the session begins.

    Args:
        at: seconds since the epoch; None if the host does not write it.
        of_subagent: an agent asked, not the user.
    """

    text: str
    at: float | None = None
    of_subagent: bool = False


class Reply(NamedTuple):
    """Reply of an agent: a remark before its last call of a turn, the answer after it."""

    text: str
    at: float | None = None


Item = RecordedCall | CallEnded | Used | Prompt | Reply


class TranscriptReader(ABC):
    """Reads the transcripts of one host.

    Attributes:
        host: as `sb hook` takes it.
        source: who documents the place and the format.
        counts_tokens: whether it writes the tokens of its models.
        single: endings of files that are one JSON document instead of lines of JSON.
    """

    host: ClassVar[str]
    source: ClassVar[str]
    counts_tokens: ClassVar[bool] = False
    single: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def files(self, places: Places) -> Iterator[Path]:
        """The transcripts of this user."""

    @abstractmethod
    def read(self, record: dict[str, Any], session: Session) -> Iterator[Item]:
        """The items of one record; facts about the session go to `session`."""

    def place(self, file: Path) -> tuple[str, str]:
        """The id and the folder of a session, as far as the place of its file says them."""
        return "", ""

    def companions(self, file: Path) -> Iterator[Path]:
        """Other transcripts of the same session, such as those of its subagents."""
        yield from ()


class Transcript:
    """One transcript, read from `offset` on.

    Args:
        longest: bytes of a line; a longer one is skipped.
    """

    def __init__(
        self, reader: TranscriptReader, file: Path, *, offset: int = 0, longest: int = LONGEST_LINE
    ) -> None:
        self.reader = reader
        self.session = Session(reader.host, str(file))
        self.offset = offset  # behind the last whole line that was read
        self._file = file
        self._longest = longest
        self.session.id, self.session.cwd = reader.place(file)

    def items(self, *, most: int = 0, unfinished: bool = True) -> Iterator[Item]:
        """The items of its records, in order.

        Args:
            most: bytes after which reading stops; 0 for all.
            unfinished: read a last line without a line end too.

        Raises:
            OSError: it is not a regular file, or cannot be read.
        """
        with open_regular(self._file) as handle:
            if self._file.suffix in self.reader.single:
                yield from self._document(handle)
                return
            handle.seek(self.offset)
            for line in self._lines(handle, most, unfinished=unfinished):
                record = _record(line)
                if record is not None:
                    yield from self.reader.read(record, self.session)
                elif line is None or line.strip():
                    self.session.skipped += 1

    def calls(self) -> Iterator[RecordedCall]:
        """Its calls, each once, with how they ended where that is written; raises OSError."""
        seen: OrderedDict[str, None] = OrderedDict()
        pending: OrderedDict[str, RecordedCall] = OrderedDict()
        for item in self.items():
            if isinstance(item, CallEnded) and item.use_id in pending:
                yield pending.pop(item.use_id)._replace(ok=item.ok)
            if not isinstance(item, RecordedCall):
                continue
            use_id = item.call.use_id
            if not use_id or item.ok is not None:
                if not use_id or use_id not in seen:
                    yield item
            elif use_id not in seen:
                pending[use_id] = item
                if len(pending) > MOST_PENDING:
                    yield pending.popitem(last=False)[1]
            if use_id:
                seen[use_id] = None
                if len(seen) > MOST_REMEMBERED:
                    seen.popitem(last=False)
        yield from pending.values()

    def once(self) -> Iterator[Item]:
        """Its items without calls, prompts and answers that were written before; raises OSError.

        Hosts copy records into the file when a session is resumed, and some write a list of messages anew.
        """
        seen: OrderedDict[object, None] = OrderedDict()
        for item in self.items():
            key: object = None
            if isinstance(item, RecordedCall):
                key = item.call.use_id or None
            elif isinstance(item, Prompt | Reply):
                key = None if item.at is None else (type(item), item.at, hash(item.text))
            if key is not None:
                if key in seen:
                    continue
                seen[key] = None
                if len(seen) > MOST_REMEMBERED:
                    seen.popitem(last=False)
            yield item

    def _lines(self, handle: BinaryIO, most: int, *, unfinished: bool) -> Iterator[bytes | None]:
        """Its lines; None for one that is too long."""
        end = self.offset + most if most else 0
        while not end or self.offset < end:
            line = handle.readline(self._longest + 1)
            if not line:
                return
            too_long, length = len(line) > self._longest and not line.endswith(b"\n"), len(line)
            while too_long and not line.endswith(b"\n"):
                line = handle.readline(self._longest)
                length += len(line)
                if not line:
                    break
            if not line.endswith(b"\n") and not unfinished:
                return
            self.offset += length
            yield None if too_long else line

    def _document(self, handle: BinaryIO) -> Iterator[Item]:
        content = handle.read(LONGEST_DOCUMENT + 1)
        record = _record(content) if len(content) <= LONGEST_DOCUMENT else None
        if record is None:
            self.session.skipped += 1
            return
        yield from self.reader.read(record, self.session)


def open_regular(file: Path) -> BinaryIO:
    """Open a regular file for reading; a link is not followed, and nothing else is waited for.

    Raises:
        OSError: it is something else, or cannot be read.
    """
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{file} is not a regular file")
    return open(handle, "rb")


def find_transcripts(root: Path, depth: int, fits: Callable[[Path], bool]) -> Iterator[Path]:
    """Regular files at most `depth` folders below a folder; links below it are not followed."""
    waiting, seen = [(root, 0)], 0
    while waiting:
        folder, level = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # of another user, or gone
            continue
        for entry in entries:
            seen += 1
            if seen > MOST_FILES:
                return
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if level < depth:
                    waiting.append((path, level + 1))
            elif entry.is_file(follow_symlinks=False) and fits(path):
                yield path


def is_path(text: str) -> bool:
    """True if a text can name a file: resolving a longer one takes minutes, and others are refused with an error."""
    try:
        return len(text) <= LONGEST_PATH and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def first_line(file: Path, most: int = 4096) -> str:
    """The first line of a small file; "" if it cannot be read."""
    try:
        with open_regular(file) as handle:
            return handle.readline(most).decode(errors="replace").strip()
    except (OSError, ValueError):
        return ""


def seconds(value: Any) -> float | None:
    """A time as hosts write it, ISO 8601 or milliseconds since the epoch, in seconds since the epoch."""
    try:
        if isinstance(value, str) and len(value) <= 64:
            moment = datetime.fromisoformat(value)
            found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = value / 1000
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if 0 < found < _LATEST else None


def tokens(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    plausible = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS
    return int(value) if plausible else 0


def dollars(value: Any) -> float | None:
    """A cost in US dollars, as a host wrote it; None for what is none."""
    plausible = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST_DOLLARS
    return float(value) if plausible else None


def written(content: Any) -> str:
    """The text of a message: a text, or the texts of a list of parts; "" for none."""
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())


def blocks(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; nothing for anything else."""
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _record(line: bytes | None) -> dict[str, Any] | None:
    """The JSON object of a line; None for anything else."""
    try:
        value = json.loads(line) if line else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
