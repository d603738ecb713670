"""Tokens of coding agents' sessions, as far as their transcripts were read: one file in SB_HOME for each session.

A file remembers how far each transcript was read, so that none is read twice.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.files import write_atomic
from sb.base.sources import SYSTEM_CLOCK
from sb.base.values.frozen import mutable
from sb.kernel.review.usage import Tokens, Usage

_RUN = re.compile(r"run_[0-9a-f]{16}")
LARGEST = 4 << 20  # bytes of such a file
KEPT_DAYS = 180  # after which the tokens of a session are forgotten
MOST_RECENT = 64  # responses whose later records replace earlier ones
# Tokens of a prompt above which some model has another price; what lies between two of them is priced alike.
BANDS = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
_HOUR_S = 3_600


class Used(NamedTuple):
    """Tokens of one response of a model.

    Args:
        key: of the response; a later record with the same key replaces an earlier one. "" for the session's sum.
        at: seconds since the epoch; None if the host does not write it.
        usd: the cost as the host wrote it, in US dollars; None if it wrote none.
    """

    key: str
    model: str
    tokens: Tokens
    at: float | None = None
    usd: float | None = None

    @property
    def part(self) -> str:
        """The key of the part of a session that this response belongs to."""
        hour = "" if self.at is None else int(self.at // _HOUR_S)
        band = _REPORTED if self.usd is not None else bisect_left(BANDS, self.tokens.prompt)
        return f"{self.model}\t{hour}\t{band}"


class Part(NamedTuple):
    """The part of a session's usage that has one price.

    Args:
        at: the hour of its responses, in seconds since the epoch; None if that is not known.
        band: the place of their prompts' sizes among BANDS; None where it is not known.
        usd: the cost as the host wrote it; None if it wrote none.
    """

    model: str
    at: float | None
    band: int | None
    tokens: Tokens
    usd: float | None

    @classmethod
    def of(cls, key: str, tokens: Tokens, reported: Mapping[str, float]) -> Part:
        """The part of a key, which of older versions is a model alone."""
        model, hour, band = key.rsplit("\t", 2) if key.count("\t") >= 2 else (key, "", "")
        at = int(hour) * _HOUR_S if hour.isdecimal() else None
        place = int(band) if band.isdecimal() and int(band) <= len(BANDS) else None
        return cls(model, at, place, tokens, reported.get(key) if band == _REPORTED else None)


_REPORTED = "reported"  # instead of a band


@mutable
class TranscriptState:
    """Position in a transcript, and the usage read so far.

    Args:
        offset: bytes. inode: of the file.
        model: of the newest turn.
        sum: the session's tokens as the host last wrote them, for hosts that write sums.
        recent: the newest responses by their keys, as (part, tokens, reported cost).
        models: tokens by part, those of `recent` included; a key without tabs is a model alone.
        reported: costs by part, in US dollars, where the host wrote them.
    """

    offset: int = 0
    inode: int = 0
    model: str = ""
    sum: Tokens = field(default_factory=Tokens)
    recent: dict[str, tuple[str, Tokens, float]] = field(default_factory=dict)
    models: dict[str, Tokens] = field(default_factory=dict)
    reported: dict[str, float] = field(default_factory=dict)

    def add(self, used: Used) -> None:
        """Count the tokens of a response, or of the session if its key is empty."""
        if not used.key:
            grown = used.tokens - self.sum
            self.sum = used.tokens
            # A sum that shrank began anew.
            if all(count >= 0 for count in vars(grown).values()):
                used = used._replace(tokens=grown)
            self._count(used.part, used.tokens, used.usd or 0.0)
            return
        if used.key in self.recent:
            part, tokens, usd = self.recent.pop(used.key)
            self._count(part, Tokens() - tokens, -usd)
        self.recent[used.key] = (used.part, used.tokens, used.usd or 0.0)
        if len(self.recent) > MOST_RECENT:
            del self.recent[next(iter(self.recent))]
        self._count(used.part, used.tokens, used.usd or 0.0)

    def _count(self, part: str, tokens: Tokens, usd: float) -> None:
        self.models[part] = self.models.get(part, Tokens()) + tokens
        if part.endswith(f"\t{_REPORTED}"):
            self.reported[part] = max(self.reported.get(part, 0.0) + usd, 0.0)
        if not self.models[part]:
            del self.models[part]
            self.reported.pop(part, None)


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
        for part in self.parts:
            found[part.model] = found.get(part.model, Tokens()) + part.tokens
        return {model: tokens for model, tokens in found.items() if tokens}

    @property
    def parts(self) -> Iterator[Part]:
        """Usage in parts, each of which has one price."""
        for state in self.files.values():
            for key, tokens in state.models.items():
                yield Part.of(key, tokens, state.reported)


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
            {
                str(key): (str(part), _tokens(tokens), _dollars(*usd or (0,)))
                for key, (part, tokens, *usd) in state["recent"].items()
            },
            {str(part): _tokens(tokens) for part, tokens in state["models"].items()},
            {str(part): _dollars(usd) for part, usd in state.get("reported", {}).items()},
        )
        for path, state in value["files"].items()
    }
    return SessionUsage(files, value["behind"] is True)


def _tokens(value: dict[str, Any]) -> Tokens:
    counts = {name: int(value.get(name, 0)) for name in vars(Tokens())}
    if min(counts.values()) < 0:
        raise ValueError("tokens are negative")
    return Tokens(**counts)


def _dollars(value: Any) -> float:
    if not 0 <= float(value) < math.inf:
        raise ValueError("a cost is negative or no number")
    return float(value)
