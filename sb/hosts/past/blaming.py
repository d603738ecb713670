"""Blame: the call and session that wrote each line of a file, by hosts' transcripts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from sb.base.secrets.redaction import one_line, redact_text
from sb.base.values.frozen import frozen, mutable
from sb.errors import NotFoundError, UsageError
from sb.hosts.past.changes import Change, changes_of
from sb.hosts.past.replaying import MOST_WORK, Replay
from sb.hosts.scanning import Source
from sb.hosts.transcripts import CallEnded, Prompt, RecordedCall, Transcript, is_path, open_regular

LONGEST_FILE = 4 << 20  # bytes
LONGEST_PROMPT = 400  # characters
_BLOCK = 1 << 20  # bytes of a transcript that are searched at once
_MOST_CHANGES = 10_000  # of one file
_MOST_CHARACTERS = 64 << 20  # of all its changes
_MOST_NAME = 200  # characters of an id, a model or a tool's name
_MOST_MASKED = 16_384  # characters of a text that are searched for secrets


@frozen
class Origin:
    """The call that wrote a line.

    Args:
        at: seconds since the epoch; None if its host does not write it.
        prompt: what was asked, on one line, masked; "" if its transcript does not say.
        subagent: the prompt is an agent's.
    """

    host: str
    session: str
    at: float | None
    tool: str
    call: str
    model: str
    prompt: str
    subagent: bool
    transcript: str


class BlamedLine(NamedTuple):
    """A line of a file.

    Args:
        number: from 1. text: masked. origin: None if no call is known that wrote it.
        sure: False if the same text stands elsewhere too, or only the line itself was recognised.
    """

    number: int
    text: str
    origin: Origin | None
    sure: bool


@mutable
class Blame:
    """Where the lines of a file come from.

    Args:
        transcripts: how many name the file. calls: that changed it.
        skipped: lines of transcripts that could not be read. unreadable: transcripts, each with the reason.
        complete: whether all calls were considered; with too many of them, the newest are.
    """

    file: str
    lines: list[BlamedLine] = field(default_factory=list)
    transcripts: int = 0
    calls: int = 0
    skipped: int = 0
    unreadable: list[str] = field(default_factory=list)
    complete: bool = True


class _Made(NamedTuple):
    """A change, and the call that made it; `place` orders calls without a time."""

    place: tuple[float, int]
    use_id: str
    change: Change
    origin: Origin


def blame(
    file: Path,
    transcripts: Sequence[Source],
    *,
    progress: Callable[[int, int], None] | None = None,
    most: int = MOST_WORK,
) -> Blame:
    """Find the calls that wrote the lines of a file.

    Args:
        transcripts: to look into.
        progress: told how many bytes of how many were read.
        most: characters that the replay of the calls may go through.

    Raises:
        NotFoundError: there is no such file. UsageError: it is no regular file, too large, or no text.
    """
    content = _content(file)
    found = Blame(str(file))
    made: list[_Made] = []
    total, read = sum(source.size for source in transcripts), 0
    for source in transcripts:
        try:
            if _names(source.file, file.name):
                found.transcripts += 1
                made += _changes(source, file, found)
        except OSError as error:
            found.unreadable.append(f"{source.file}: {error.strerror or error}")
        read += source.size
        if progress is not None:
            progress(read, total)
    made.sort(key=lambda one: one.place)
    found.calls = len(made)
    newest = _newest(made)
    replay = Replay(content, [item.change for item in newest], most=most)
    found.complete = replay.complete and len(newest) == len(made)
    lines = content.removesuffix("\n").split("\n") if content else []
    for number, text in enumerate(lines):
        origin = replay.origins[number]
        whose = None if origin is None else newest[origin].origin
        found.lines.append(BlamedLine(number + 1, redact_text(text), whose, replay.sure[number]))
    return found


def _content(file: Path) -> str:
    """The text of a file; raises as `blame` says."""
    try:
        if not file.exists():
            raise NotFoundError(f"no such file: {file}")
        with open_regular(Path(os.path.realpath(file))) as handle:
            content = handle.read(LONGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or 'is no regular file'}") from None
    if len(content) > LONGEST_FILE:
        raise UsageError(f"{file}: longer than {LONGEST_FILE >> 20} MiB", "blame a text file")
    if b"\0" in content:
        raise UsageError(f"{file}: is no text", "blame a text file")
    return content.decode("utf-8", "replace").replace("\r\n", "\n")


def _names(transcript: Path, name: str) -> bool:
    """True if a transcript has the name of a file in it, as JSON may spell it."""
    spellings = {name.encode("utf-8", "replace"), json.dumps(name)[1:-1].encode()}
    overlap, before = max(map(len, spellings)), b""
    with open_regular(transcript) as handle:
        while block := handle.read(_BLOCK):
            content = before + block
            if any(spelling in content for spelling in spellings):
                return True
            before = content[-overlap:]
    return False


def _changes(source: Source, file: Path, found: Blame) -> Iterator[_Made]:
    """The changes of a file in one transcript that are not known to have failed."""
    transcript = Transcript(source.reader, source.file)
    session, prompt, asked = transcript.session, Prompt(""), ""
    failed: set[str] = set()
    made: list[_Made] = []
    for item in transcript.once():
        if isinstance(item, Prompt):
            prompt, asked = item, ""
        elif isinstance(item, CallEnded) and not item.ok:
            failed.add(item.use_id)
        elif isinstance(item, RecordedCall) and item.ok is not False:
            for change in changes_of(item.call):
                if not _is_same(change.path, item.call.cwd or item.cwd, file):
                    continue
                asked = asked or one_line(prompt.text[:_MOST_MASKED], LONGEST_PROMPT)
                origin = Origin(
                    session.host,
                    one_line(session.id[:_MOST_MASKED], _MOST_NAME),
                    item.at,
                    one_line(item.call.tool[:_MOST_MASKED], _MOST_NAME),
                    one_line(item.call.use_id[:_MOST_MASKED], _MOST_NAME),
                    one_line(session.model[:_MOST_MASKED], _MOST_NAME),
                    asked,
                    prompt.of_subagent,
                    str(source.file),
                )
                at = item.at if item.at is not None else session.started or source.changed
                made.append(_Made((at, len(made)), item.call.use_id, change, origin))
    found.skipped += session.skipped
    return (entry for entry in made if not entry.use_id or entry.use_id not in failed)


def _is_same(path: str, cwd: str, file: Path) -> bool:
    there = os.path.join(cwd, path)
    if os.path.basename(path) != file.name or not os.path.isabs(there) or not is_path(there):
        return False
    there = os.path.normpath(there)
    return there == str(file) or os.path.realpath(there) == os.path.realpath(file)


def _newest(made: Sequence[_Made]) -> Sequence[_Made]:
    """The newest of these changes, as many as one replay can hold."""
    characters, first = 0, len(made)
    while first and len(made) - first < _MOST_CHANGES:
        characters += made[first - 1].change.size
        if characters > _MOST_CHARACTERS:
            break
        first -= 1
    return made[first:]
