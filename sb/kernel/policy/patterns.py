"""Does a value fit a pattern that a person wrote?

Patterns are those of file names (`*`, `?`, `[abc]`), with capitals kept apart; `*` also crosses `/`. A text with a `/`
has two spellings, as it is and with `.` and `..` resolved: `docs/../secrets/key` neither slips through `docs/*` nor
past `secrets/*`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))  # its groups are atomic, so a hostile text costs linear time


def matches(pattern: str, text: str) -> bool:
    """Whether this very text fits."""
    return _compiled(pattern).match(text) is not None


def permits(pattern: str, value: Any) -> bool:
    """Whether every text in a JSON value fits in every spelling: for what allows. Nothing fits null or emptiness."""
    texts = list(_texts(value))
    return bool(texts) and all(matches(pattern, form) for text in texts for form in _spellings(text))


def touches(pattern: str, value: Any) -> bool:
    """Whether any text in a JSON value fits in any spelling: for what denies or asks.

    A list of plain values also counts as its items with spaces between them, so that `rm *` finds `["rm", "-rf"]`.
    """
    texts: Iterable[str] = _texts(value)
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        texts = [*texts, " ".join(_texts(value))]
    return any(matches(pattern, form) for text in texts for form in _spellings(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield json.dumps(value)


def _spellings(text: str) -> tuple[str, ...]:
    if "/" not in text:
        return (text,)
    resolved = posixpath.normpath(text)
    return (text,) if resolved == text else (text, resolved)
