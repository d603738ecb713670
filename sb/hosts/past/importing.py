"""Read past sessions of a host for the import into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sb.errors import NotFoundError, UsageError
from sb.hosts.install.host import Places
from sb.hosts.past.events import events
from sb.hosts.registry import transcript_reader
from sb.hosts.scanning import Source, named, sources
from sb.hosts.transcripts import Transcript, TranscriptReader, find_transcripts
from sb.memory.foreign.record import ForeignMemory

_QUIET_S = 600.0  # without a change, after which nobody writes a transcript any more
_DEPTH = 8  # folders below one that a person named


class PastSessions:
    """Transcripts of one host, and what could not be read of them.

    Attributes:
        skipped: lines that are cut short, too long or no JSON objects. unreadable: files, each with the reason.
        without_turns: files in which nothing was asked that is over; a newer version may write another format.
    """

    def __init__(self, found: list[Source], now: float) -> None:
        self._sources = found
        self._now = now
        self.skipped = self.without_turns = 0
        self.unreadable: list[str] = []

    @property
    def files(self) -> int:
        return len(self._sources)

    def memories(self) -> Iterator[ForeignMemory]:
        """Their events, the oldest transcript first."""
        for source in self._sources:
            transcript = Transcript(source.reader, source.file)
            found = False
            try:
                for event in events(transcript, ended=source.changed < self._now - _QUIET_S):
                    found = True
                    yield event
                self.without_turns += not found
            except OSError as error:
                self.unreadable.append(f"{source.file}: {error.strerror or error}")
            self.skipped += transcript.session.skipped


def past_sessions(host: str, places: Places, path: Path | None, *, now: float) -> PastSessions:
    """The past sessions of a host.

    Args:
        path: a transcript, or a folder of some; None for where the host keeps them.
        now: seconds since the epoch; a transcript that was changed just before is still being written.

    Raises:
        NotFoundError: there are none. UsageError: a transcript that was named is none of this host's.
    """
    reader = transcript_reader(host)
    if path is None:
        found = sources(places, [host])
    elif path.is_dir():
        files = find_transcripts(Path(os.path.realpath(path)), _DEPTH, lambda file: _fits(reader, file))
        found = sorted(named(files, host), key=lambda source: source.changed)
    else:
        found = named([path], host)
        if not _fits(reader, path):
            endings = " or ".join((".jsonl", *reader.single))
            raise UsageError(f"{path}: no transcript of {host}", f"its transcripts end in {endings}")
    if not found:
        where = f"below {path}" if path else f"of {host}; it keeps none in its usual folder"
        raise NotFoundError(f"no transcripts {where}", f"sb memory import --from {host} PATH")
    return PastSessions(found, now)


def _fits(reader: TranscriptReader, file: Path) -> bool:
    return file.suffix in (".jsonl", *reader.single)
