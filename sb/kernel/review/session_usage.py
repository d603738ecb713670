"""Tokens of coding agents' sessions, as far as their transcripts were read: one file in SB_HOME for each session.

A file remembers how far each transcript was read, so that none is read twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from sb.base.files import write_atomic
from sb.base.sources import SYSTEM_CLOCK
from sb.base.values.frozen import mutable
from sb.kernel.review.usage import Tokens, Usage

_RUN = re.compile(r"run_[0-9a-f]{16}")
LARGEST = 1 << 20  # bytes of such a file
KEPT_DAYS = 180  # after which the tokens of a session are forgotten
MOST_RECENT = 64  # responses whose later records replace earlier ones


@mutable
class TranscriptState:
    """Position in a transcript, and the usage read so far.

    Args:
        offset: bytes. inode: of the file.
        model: of the newest turn.
        sum: the session's tokens as the host last wrote them, for hosts that write sums.
        recent: the newest responses by their keys, as (model, tokens).
        models: tokens by model, those of `recent` included.
    """

    offset: int = 0
    inode: int = 0
    model: str = ""
    sum: Tokens = field(default_factory=Tokens)
    recent: dict[str, tuple[str, Tokens]] = field(default_factory=dict)
    models: dict[str, Tokens] = field(default_factory=dict)

    def add(self, key: str, model: str, tokens: Tokens) -> None:
        """Count the tokens of a response, or of the session if `key` is empty."""
        if not key:
            grown = tokens - self.sum
            self.sum = tokens
            # A sum that shrank began anew.
            self._count(model, grown if all(count >= 0 for count in vars(grown).values()) else tokens)
            return
        if key in self.recent:
            before, counted = self.recent.pop(key)
            self.models[before] = self.models.get(before, Tokens()) - counted
        self.recent[key] = (model, tokens)
        if len(self.recent) > MOST_RECENT:
            del self.recent[next(iter(self.recent))]
        self._count(model, tokens)

    def _count(self, model: str, tokens: Tokens) -> None:
        self.models[model] = self.models.get(model, Tokens()) + tokens


@mutable
class SessionUsage:
    """The tokens of one session.

    Args:
        files: the state of each of its transcripts, by path.
        behind: whether there is more to read.
    """

    files: dict[str, TranscriptState] = field(default_factory=dict)
    behind: bool = False

    @property
    def usage(self) -> Usage:
        """Tokens by model."""
        found: dict[str, Tokens] = {}
        for state in self.files.values():
            for model, tokens in state.models.items():
                found[model] = found.get(model, Tokens()) + tokens
        return {model: tokens for model, tokens in found.items() if tokens}


def load_usage(folder: Path, run_id: str) -> SessionUsage | None:
    """The usage read of a session's transcripts; None if there is none, or the file cannot be used.

    Args:
        folder: of these files.
    """
    if not _RUN.fullmatch(run_id):
        return None
    try:
        with (folder / f"{run_id}.json").open("rb") as file:
            content = file.read(LARGEST + 1)
        return _decoded(json.loads(content)) if len(content) <= LARGEST else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def with_usage(folder: Path, runs: Iterable[str]) -> list[str]:
    """The sessions among these with recorded usage; one look at the folder, where most runs have no file."""
    try:
        names = set(os.listdir(folder))
    except OSError:
        return []
    return [run_id for run_id in runs if f"{run_id}.json" in names]


def save_usage(folder: Path, run_id: str, session: SessionUsage) -> None:
    """Remember what was read of a session's transcripts; raises OSError."""
    if not _RUN.fullmatch(run_id):
        return
    file = folder / f"{run_id}.json"
    if not file.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        _drop_old(folder)
    # What a power loss takes is read again.
    write_atomic(file, json.dumps(asdict(session)).encode(), durable=False)


def _drop_old(folder: Path) -> None:
    """Remove the files of sessions that were not read for KEPT_DAYS days."""
    oldest = SYSTEM_CLOCK.now() - KEPT_DAYS * 86_400
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):  # another process removes it
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)


def _decoded(value: dict[str, Any]) -> SessionUsage:
    files = {
        str(path): TranscriptState(
            int(state["offset"]),
            int(state["inode"]),
            str(state["model"]),
            _tokens(state["sum"]),
            {str(key): (str(model), _tokens(tokens)) for key, (model, tokens) in state["recent"].items()},
            {str(model): _tokens(tokens) for model, tokens in state["models"].items()},
        )
        for path, state in value["files"].items()
    }
    return SessionUsage(files, value["behind"] is True)


def _tokens(value: dict[str, Any]) -> Tokens:
    return Tokens(**{name: int(value[name]) for name in vars(Tokens())})
