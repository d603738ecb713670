"""Turns of a transcript as memories: what was asked, what was changed and run, what was answered."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import field

from sb.base.secrets.redaction import one_line, redact_text
from sb.base.text import plain, storable
from sb.base.values.frozen import mutable
from sb.hosts.hooks.project import project_of
from sb.hosts.past.changes import changed_files
from sb.hosts.transcripts import (
    LONGEST_PATH,
    CallEnded,
    Item,
    Prompt,
    RecordedCall,
    Reply,
    Session,
    Transcript,
)
from sb.memory.foreign.record import ForeignMemory
from sb.memory.scoped_values import scope_of_project
from sb.memory.sessions import PAST_SESSION

LONGEST = 4_000  # characters of what was asked or answered
_MOST_MASKED = 16_384  # characters that are searched for secrets before the rest is cut off
_COMMAND = 160  # characters of a command
_MOST_CHANGES = 30  # files, and as many commands, of one turn
_SESSION_NAME = re.compile(r"[\w.-]{1,100}")
_PROJECT = "project:"


@mutable
class _Turn:
    """State of a turn so far: changes and commands by the id of their call."""

    prompt: Prompt
    cwd: str
    answer: Reply | None = None
    changed: dict[str, list[str]] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    at: float | None = None  # of its last call

    def add(self, call: RecordedCall) -> None:
        self.answer = None  # what it wrote before a call is a remark
        self.calls, self.at = self.calls + 1, call.at or self.at
        if call.ok is False:
            return
        name = call.call.use_id or f"#{self.calls}"
        command = call.call.args.get("command")
        files = [path for path in changed_files(call.call) if len(path) <= LONGEST_PATH]
        if files and len(self.changed) < _MOST_CHANGES:
            self.changed[name] = files[:_MOST_CHANGES]
        elif not files and isinstance(command, str) and len(self.commands) < _MOST_CHANGES:
            self.commands[name] = _cut(command, _MOST_MASKED)

    def failed(self, use_id: str) -> None:
        self.changed.pop(use_id, None)
        self.commands.pop(use_id, None)


def events(transcript: Transcript, *, ended: bool) -> Iterator[ForeignMemory]:
    """The events of a session, each with an id that it has again when the transcript is read again.

    Args:
        ended: whether nobody writes the transcript any more; else its last turn is left out unless it was answered.

    Raises:
        OSError: it cannot be read.
    """
    names = _Names(transcript.session)
    turn: _Turn | None = None
    for item in transcript.once():
        if isinstance(item, Prompt):
            if turn is not None:
                yield from names.of(turn)
            turn = _Turn(item, transcript.session.cwd)
        elif turn is not None:
            _take(turn, item)
    if turn is not None and (ended or turn.answer is not None):
        yield from names.of(turn)


def _take(turn: _Turn, item: Item) -> None:
    if isinstance(item, Reply):
        turn.answer = item
    elif isinstance(item, RecordedCall):
        turn.add(item)
    elif isinstance(item, CallEnded) and not item.ok:
        turn.failed(item.use_id)


class _Names:
    """Names what comes of a session: by time and text, so that a copy of a turn in another file is the same."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turns = 0
        self._scopes: dict[str, str] = {}

    def of(self, turn: _Turn) -> Iterator[ForeignMemory]:
        """The memories of a turn."""
        self._turns += 1
        host = self._session.host
        asked_by = "agent" if turn.prompt.of_subagent else "user"
        at = turn.prompt.at if turn.prompt.at is not None else self._session.started
        prompt = self._named(turn.prompt.text, turn.prompt.at)
        yield self._event(f"asked/{prompt}", turn, _shortened(turn.prompt.text), at, "task_update", asked_by)
        done = _done(turn)
        if done:
            yield self._event(f"done/{prompt}", turn, done, turn.at or at, "artifact", host)
        if turn.answer is not None:
            answer = f"answered/{self._named(turn.answer.text, turn.answer.at)}"
            text = _shortened(turn.answer.text)
            yield self._event(answer, turn, text, turn.answer.at or turn.at or at, "result", host)

    def _named(self, text: str, at: float | None) -> str:
        place = [at] if at is not None else [self._session.id or self._session.file, self._turns]
        names = json.dumps([*place, text]).encode()
        return hashlib.blake2b(names, digest_size=14).hexdigest()

    def _event(
        self, reference: str, turn: _Turn, text: str, at: float | None, event_type: str, speaker: str
    ) -> ForeignMemory:
        return ForeignMemory(
            reference,
            text,
            "event",
            project=self._project(turn.cwd),
            at=at,
            more={"event_type": event_type, "speaker": speaker},
            session=session_name(self._session),
        )

    def _project(self, cwd: str) -> str:
        if cwd not in self._scopes:
            scope = scope_of_project(storable(project_of(cwd)))
            self._scopes[cwd] = scope.removeprefix(_PROJECT) if scope.startswith(_PROJECT) else ""
        return self._scopes[cwd]


def session_name(session: Session) -> str:
    """The name of the memory's session for one of a host; a digest stands for an id that can be no name."""
    name = session.id or os.path.basename(session.file)
    if not _SESSION_NAME.fullmatch(name) or redact_text(name) != name:
        name = hashlib.blake2b(storable(name).encode(), digest_size=8).hexdigest()
    return f"{PAST_SESSION}{session.host}:{name}"


def _done(turn: _Turn) -> str:
    """The changes and commands of a turn, as text; "" for none."""
    files = dict.fromkeys(_relative(path, turn.cwd) for paths in turn.changed.values() for path in paths)
    commands = dict.fromkeys(one_line(text, _COMMAND) for text in turn.commands.values())
    parts = []
    if files:
        parts.append(f"Changed {', '.join(one_line(path, _COMMAND) for path in files)}.")
    if commands:
        parts.append(f"Ran {'; '.join(commands)}.")
    return _shortened("\n".join(parts))


def _relative(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd.rstrip('/')}/") if os.path.isabs(cwd) else path


def _shortened(text: str) -> str:
    """A text that a memory can hold: masked before it is cut, since of half a secret nothing would be recognised."""
    return _cut(storable(plain(_masked(text))), LONGEST)


def _masked(text: str) -> str:
    return redact_text(_cut(text, _MOST_MASKED))


def _cut(text: str, limit: int) -> str:
    """At most so many characters, up to a space if there is one."""
    if len(text) <= limit:
        return text
    words = re.match(r"(?s)(.*)\s", text[: limit - 1])
    return f"{words[1] if words else text[: limit - 2]} …"
