"""Read the tokens of a host's session from its transcripts, a piece at each event."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sb.config import Config
from sb.hosts.hooks.event import HookEvent
from sb.hosts.registry import WITH_TRANSCRIPTS, transcript_reader
from sb.hosts.transcripts import Transcript, TranscriptReader
from sb.kernel.review.session_usage import SessionUsage, TranscriptState, Used, load_usage, save_usage
from sb.kernel.review.usage import least_cost_usd

MOST_READ = 8 << 20  # bytes of transcripts that one event reads
MOST_FILES = 200  # transcripts of one session


def advance(folder: Path, run_id: str, event: HookEvent, *, most: int = MOST_READ) -> SessionUsage | None:
    """Read on in a session's transcripts, and remember how far; None if its host writes no tokens, or names no file.

    Args:
        folder: of what is remembered.
        most: bytes.
    """
    if event.host not in WITH_TRANSCRIPTS or not os.path.isabs(event.transcript) or "\0" in event.transcript:
        return None
    reader = transcript_reader(event.host)
    if not reader.counts_tokens:
        return None
    session = load_usage(folder, run_id) or SessionUsage()
    left, changed = most, False
    session.behind = False
    for file in _files(reader, Path(event.transcript)):
        state, before = session.files.get(str(file)), left
        if state is None and len(session.files) >= MOST_FILES:
            continue
        try:
            found, read, size = _read(reader, file, state, left)
        except OSError:  # not written yet, gone, or no regular file
            continue
        left = before - read
        changed = changed or read > 0
        session.files[str(file)] = found
        if left <= 0:
            session.behind = found.offset < size
            break
    if changed:
        save_usage(folder, run_id, session)
    return session


def over_cap(config: Config, run_id: str, event: HookEvent) -> str:
    """The reason why the cost of a session refuses its calls; "" while what has a price is below the cap."""
    session = advance(config.home.usage, run_id, event)
    cost = least_cost_usd(session.usage, config.prices) if session else 0.0
    cap = config.budget.session_cost_usd
    if cost < cap:
        return ""
    return (
        f"this session has cost at least ${cost:.2f} as its transcript tells, and budget.session_cost_usd is ${cap:.2f}; "
        "the user can raise it, or start a new session"
    )


def _files(reader: TranscriptReader, file: Path) -> Iterator[Path]:
    if file.suffix not in reader.single:  # those would be read anew each time
        yield file
    yield from reader.companions(file)


def _read(
    reader: TranscriptReader, file: Path, state: TranscriptState | None, most: int
) -> tuple[TranscriptState, int, int]:
    """(State, bytes that were read, size of the file); a file that was replaced or cut is read anew."""
    there = os.stat(file, follow_symlinks=False)
    if state is None or state.inode != there.st_ino or state.offset > there.st_size:
        state = TranscriptState(inode=there.st_ino)
    if state.offset == there.st_size:
        return state, 0, there.st_size
    transcript = Transcript(reader, file, offset=state.offset)
    transcript.session.model = state.model
    for item in transcript.items(most=most, unfinished=False):
        if isinstance(item, Used):
            state.add(item)
    read = transcript.offset - state.offset
    state.offset, state.model = transcript.offset, transcript.session.model
    return state, read, there.st_size
