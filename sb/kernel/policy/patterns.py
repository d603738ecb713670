"""Match values against the patterns of policy rules.

Patterns are those of file names (`*`, `?`, `[abc]`), with capitals kept apart; `*` also crosses `/`. A text with a `/`
is judged in more than one spelling, so that `docs/../secrets/key` neither slips through `docs/*` nor past `secrets/*`:
as it is, with `.`, `..` and repeated `/` resolved, and as an address (host in lower case, only its path resolved).
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Any

from sb.base.values.canonical import canonical_bytes

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*)(/[^?#]*)?")
_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))  # its groups are atomic, so a hostile text costs linear time


def matches(pattern: str, text: str) -> bool:
    """True if this very text fits."""
    return _compiled(pattern).match(text) is not None


def permits(pattern: str, value: Any) -> bool:
    """True if every text in a JSON value fits in every spelling: for what allows.

    Nothing fits null or emptiness. A text is spelled as an address if the pattern is one, else as a path.
    """
    texts = list(_texts(value))
    spelled = _address if "://" in pattern else _resolved
    return bool(texts) and all(
        text is not None and matches(pattern, text) and matches(pattern, spelled(text)) for text in texts
    )


def touches(pattern: str, value: Any) -> bool:
    """True if any text in a JSON value fits in any spelling: for what denies or asks.

    A list of plain values also counts as its items with spaces between them, so that `rm *` finds `["rm", "-rf"]`.
    """
    return any_fits(pattern, forms(value))


def any_fits(pattern: str, texts: Sequence[str]) -> bool:
    """True if one of these very texts fits."""
    return any(map(_compiled(pattern).match, texts))


def forms(value: Any) -> list[str]:
    """Every text that `touches` looks at."""
    if isinstance(value, str):
        return _spellings(value)
    found = []
    for text in _texts(value):
        found += _spellings("null" if text is None else text)
    for items in _plain_lists(value):
        words = ["null" if item is None else item for item in _texts(items)]
        found += [" ".join(words), " ".join(map(_resolved, words))]
    return found


def _spellings(text: str) -> list[str]:
    if "/" not in text:
        return [text]
    return [text, _resolved(text), _address(text)] if "://" in text else [text, _resolved(text)]


def _texts(value: Any) -> Iterator[str | None]:
    """The texts of a value, names in it too; numbers by their canonical JSON, None for null."""
    if value is None or isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, float):
        yield canonical_bytes(value).decode()  # 1.0 is 1, as in the digest of the arguments
    else:
        yield json.dumps(value)


def _plain_lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _plain_lists(item)
    elif isinstance(value, list):
        if not any(isinstance(item, list | dict) for item in value):
            yield value
        for item in value:
            yield from _plain_lists(item)


def _resolved(text: str) -> str:
    if "/" not in text:
        return text
    resolved = posixpath.normpath(text)
    return resolved[1:] if resolved.startswith("//") else resolved  # normpath keeps two leading ones


def _address(text: str) -> str:
    parts = _ADDRESS.match(text)
    if parts is None:
        return _resolved(text)
    host, path = parts[1].lower(), parts[2] or ""
    return host + (_resolved(_ENCODED_DOT.sub(".", path)) if path else "") + text[parts.end() :]
