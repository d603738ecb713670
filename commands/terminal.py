"""Terminal features of our streams: lines fitted to the width, and colors."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

PLAIN = "SB_PLAIN"  # set by --plain
NARROWEST = 24  # cells of a line
HANGING = 4  # cells; what goes on from the line above is indented to the next multiple, and passes for no line of its own
_CODES = {"heading": "1", "ok": "32", "warn": "33", "danger": "31", "info": "36"}


def fits_terminal(stream: TextIO | None = None) -> bool:
    """True if output is fitted to a terminal; in a pipe, and with --plain, it is neither cut nor wrapped.

    Args:
        stream: by default stdout.
    """
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get(PLAIN)


def has_colour(stream: TextIO | None = None) -> bool:
    """True if output may have colour and bold text: on a terminal, unless NO_COLOR or FORCE_COLOR say otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or fits_terminal(stream)


def width() -> int:
    """The columns of the terminal."""
    return max(shutil.get_terminal_size().columns, NARROWEST)


def paint(text: str, tone: str, stream: TextIO | None = None) -> str:
    """A text in the terminal's own colours, whose contrast is the terminal's affair."""
    code = _CODES.get(tone)
    return f"\x1b[{code}m{text}\x1b[0m" if code and has_colour(stream) else text


def write_line(text: str, stream: TextIO, tones: Mapping[str, str] | None = None) -> None:
    """A line that is safe for a terminal, wrapped between words on one.

    Args:
        tones: words of which the first that occurs is set off, each with the name of its tone.
    """
    lines = [text]
    if fits_terminal(stream):
        from sb.base.fitting import wrap  # 10 ms, which an error in a pipe need not wait for

        indent = len(text) - len(text.lstrip())
        hanging = " " * ((indent // HANGING + 1) * HANGING)
        lines = wrap(text, width(), hanging, breaks=False)  # what is copied, such as an address, stays whole
    stream.write("\n".join([_toned(lines[0], tones or {}, stream), *lines[1:]]) + "\n")


def _toned(text: str, tones: Mapping[str, str], stream: TextIO) -> str:
    if not tones or not has_colour(stream):
        return text
    words = "|".join(map(re.escape, tones))

    def painted(match: re.Match[str]) -> str:
        return paint(match[0], tones[match[0]], stream)

    return re.sub(rf"(?<!\S)(?:{words})(?![^\s:])", painted, text, count=1)
