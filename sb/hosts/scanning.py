"""Verdicts that `sb` would have given on calls in hosts' transcripts; nothing is recorded.

Calls are judged as of now: files, links and repositories may have been others when a call was made.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from sb.base.secrets.redaction import one_line
from sb.base.sources import iso
from sb.base.values.frozen import mutable
from sb.errors import NotFoundError
from sb.hosts.hooks.preview import Outcome, Preview, Previewed
from sb.hosts.install.host import Places
from sb.hosts.registry import WITH_TRANSCRIPTS, transcript_reader
from sb.hosts.transcripts import RecordedCall, Session, Transcript, TranscriptReader

MOST_SHOWN = 200  # characters of a call
_MOST_MASKED = (
    16_384  # characters of a call that are searched for secrets, which takes longer than judging it
)
MOST_DISTINCT = 10_000  # calls that are told apart, and programs
STOPPED = (Outcome.REFUSED, Outcome.DENIED, Outcome.ASKED)
_DAY = 10  # characters of a date
_SESSION = 8  # of a session's id


class Source(NamedTuple):
    """A transcript and what reads it."""

    reader: TranscriptReader
    file: Path
    size: int
    changed: float


@mutable
class Stopped:
    """A call that would not simply have run.

    Args:
        call: the command, or the tool and what it was given; masked.
        cause: the program that decided, or the tool.
        date: of the newest one, "" if it is not known. ok: whether it succeeded then.
        times: how many equal ones there were.
    """

    outcome: Outcome
    call: str
    why: str
    cause: str
    host: str
    session: str
    date: str
    ok: bool | None
    times: int = 1


@mutable
class Scan:
    """The result.

    Args:
        outcomes: how many calls each verdict has.
        causes: how often each program or tool decided that a call would not simply run.
        days: dates with calls.
        skipped: lines that could not be read. unreadable: files that could not.
        undated: calls without a time, which `since` cannot leave out.
    """

    files: int = 0
    calls: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    days: set[str] = field(default_factory=set)
    sessions: set[tuple[str, str]] = field(default_factory=set)
    stopped: dict[tuple[Outcome, str], Stopped] = field(default_factory=dict)
    skipped: int = 0
    unreadable: list[str] = field(default_factory=list)
    undated: int = 0

    @property
    def prompts_per_day(self) -> float | None:
        """Calls that would have asked a person, for each day with calls; None if no day is known."""
        return self.outcomes[Outcome.ASKED] / len(self.days) if self.days else None

    def worst(self, most: int) -> list[Stopped]:
        """The calls to look at first: refused before denied before asked, and of each one call of every cause.

        The rarest cause comes first, and of equal ones the newest call; then a second call of each cause, and so on.
        """
        order, earlier = list(Outcome), Counter[tuple[Outcome, str]]()
        ranked = []
        for item in sorted(self.stopped.values(), key=lambda one: one.date, reverse=True):
            alike = (item.outcome, item.cause)
            ranked.append((order.index(item.outcome), earlier[alike], self.causes[item.cause], item))
            earlier[alike] += 1
        return [entry for *_, entry in sorted(ranked, key=lambda rank: rank[:3])[:most]]

    def add(self, session: Session, call: RecordedCall, judged: Previewed) -> None:
        """Count one call."""
        self.calls += 1
        self.hosts[session.host] += 1
        self.outcomes[judged.outcome] += 1
        self.sessions.add((session.host, session.id or session.file))
        date = iso(call.at)[:_DAY] if call.at is not None else ""
        if date:
            self.days.add(date)
        else:
            self.undated += 1
        if judged.outcome not in STOPPED:
            return
        cause = _cause(judged)
        if cause in self.causes or len(self.causes) < MOST_DISTINCT:
            self.causes[cause] += 1
        shown = _shown(call)
        known = self.stopped.get((judged.outcome, shown))
        if known is not None:
            known.times, known.date = known.times + 1, max(known.date, date)
        elif len(self.stopped) < MOST_DISTINCT:
            self.stopped[judged.outcome, shown] = Stopped(
                judged.outcome,
                shown,
                one_line(judged.why, MOST_SHOWN),
                cause,
                session.host,
                one_line(session.id[:_SESSION], _SESSION),
                date,
                call.ok,
            )


def sources(places: Places, hosts: Iterable[str] = WITH_TRANSCRIPTS, since: float = 0.0) -> list[Source]:
    """The transcripts of hosts that were changed since a time, in seconds since the epoch; the newest last.

    Raises:
        NotFoundError: the transcripts of one of these hosts are not read.
    """
    found = [
        source
        for host in hosts
        for source in _existing(transcript_reader(host), transcript_reader(host).files(places))
        if source.changed >= since
    ]
    return sorted(found, key=lambda source: source.changed)


def named(files: Iterable[Path], host: str) -> list[Source]:
    """Transcripts by their paths; links are followed, since a person named them.

    Raises:
        NotFoundError: a file does not exist, or the host's transcripts are not read.
    """
    reader, found = transcript_reader(host), []
    for file in files:
        there = list(_existing(reader, [Path(os.path.realpath(file))]))
        if not there:
            raise NotFoundError(f"no such transcript: {file}")
        found += there
    return found


def scan(
    preview: Preview,
    transcripts: Iterable[Source],
    *,
    since: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> Scan:
    """Judge the calls in transcripts.

    Args:
        since: seconds since the epoch; only calls from then on, and those without a time.
        progress: told how many bytes of how many were read.
    """
    waiting, found, read = list(transcripts), Scan(), 0
    total = sum(source.size for source in waiting)
    for source in waiting:
        transcript = Transcript(source.reader, source.file)
        found.files += 1
        try:
            for call in transcript.calls():
                if call.at is None or call.at >= since:
                    _add(found, preview, transcript.session, call)
                if progress is not None and found.calls % 100 == 0:
                    progress(min(read + transcript.offset, total), total)
        except OSError as error:
            found.unreadable.append(f"{source.file}: {error.strerror or error}")
        found.skipped += transcript.session.skipped
        read += source.size
    if progress is not None and waiting:
        progress(total, total)
    return found


def _add(found: Scan, preview: Preview, session: Session, call: RecordedCall) -> None:
    folder = call.cwd if os.path.isabs(call.cwd) else ""
    try:
        judged = preview.judge(session.host, call.call, cwd=folder, session=session.id)
    except UnicodeEncodeError:  # half a character in a path, which no file's name has
        found.skipped += 1
    else:
        found.add(session, call, judged)


def _existing(reader: TranscriptReader, files: Iterable[Path]) -> Iterator[Source]:
    for file in files:
        try:
            state = file.stat()
        except (OSError, ValueError):
            continue
        yield Source(reader, file, state.st_size, state.st_mtime)


def _shown(call: RecordedCall) -> str:
    """A call on one line, masked."""
    given = call.call.args
    for name in ("command", "file_path", "path", "url"):
        if isinstance(given.get(name), str):
            about = given[name] if name == "command" else f"{call.call.tool} {given[name]}"
            return _masked(about)
    return _masked(f"{call.call.tool} {', '.join(map(str, given))}")


def _masked(text: str) -> str:
    if (
        len(text) > _MOST_MASKED
    ):  # up to a space: of a secret that was cut, the beginning would not be recognised
        text = f"{text[:_MOST_MASKED].rpartition(' ')[0]} …"
    return one_line(text, MOST_SHOWN)


def _cause(judged: Previewed) -> str:
    """The part of a command that decided, else the tool."""
    args = judged.governed.args
    reason = str(args.get("why", ""))
    part = reason.partition(": ")[0] if ": " in reason else ""
    return one_line(part or args.get("tool", ""), 60)
