"""Read the names in a tar archive, strictly: an archive that programs may read in different ways is not read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from sb.shell.parsing.words import compiled

_BLOCK = 512
_MOST_OF_NAMES = 4 << 20  # bytes of headers with long names and more, all together
_FILES = (b"0", b"\0")
_LINKS = {b"1": False, b"2": True}
_FOLDER = b"5"
_LONG = {b"L": "path", b"K": "linkpath"}  # GNU's headers for long names
_UNREAD = ("size", "hdrcharset")  # pax records that move what follows, or change how names are read


class Member(NamedTuple):
    """An entry of an archive; `link` is its target, or "" for a file or folder."""

    name: str
    link: str = ""
    symbolic: bool = False


def members(data: bytes) -> Iterator[Member]:
    """The entries of an archive, in time proportional to its size.

    Raises:
        ValueError: it is damaged, goes on behind its end, or holds what programs read in different ways.
    """
    at = of_names = 0
    long: dict[str, str] = {}
    while header := data[at : at + _BLOCK]:
        if not any(header):
            if data[at:].strip(b"\0"):  # GNU tar reads it with --ignore-zeros
                raise ValueError("goes on behind its end")
            return
        kind, size = header[156:157], _checked_size(header)
        body = data[at + _BLOCK : at + _BLOCK + size]
        if len(body) < size:
            raise ValueError("cut off")
        at += _BLOCK + -(-size // _BLOCK) * _BLOCK
        of_names += size if kind in b"LKxg" else 0
        if of_names > _MOST_OF_NAMES:
            raise ValueError("too many long names")
        if kind in _LONG:
            long |= {_LONG[kind]: _text(body)}
        elif kind in (b"x", b"g"):
            records = _pax_records(body)
            if kind == b"g" and records.keys() & {"path", "linkpath"}:
                raise ValueError("a name for all entries")
            long |= records if kind == b"x" else {}
        else:
            yield _member(header, kind, size, long)
            long = {}


def _member(header: bytes, kind: bytes, size: int, long: dict[str, str]) -> Member:
    name = long.get("path") or _name(header)
    if kind in _LINKS and not size:
        return Member(name, long.get("linkpath") or _text(header[157:257]), _LINKS[kind])
    if (kind in _FILES and not (size and name.endswith("/"))) or (kind == _FOLDER and not size):
        return Member(name)
    raise ValueError("an entry of another kind")


def _name(header: bytes) -> str:
    name = _text(header[:100])
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _checked_size(header: bytes) -> int:
    """The size that a header gives.

    Raises:
        ValueError: its checksum is wrong, or a number is not octal.
    """
    if len(header) < _BLOCK:
        raise ValueError("cut off")
    if _octal(header[148:156]) != sum(header) - sum(header[148:156]) + 8 * ord(" "):
        raise ValueError("a wrong checksum")
    return _octal(header[124:136])


def _octal(field: bytes) -> int:
    digits = field.decode("latin-1").strip(" \0")
    if not compiled("[0-7]*").fullmatch(digits):
        raise ValueError("a number that is not octal")
    return int(digits or "0", 8)


def _pax_records(body: bytes) -> dict[str, str]:
    """The names in an extended header."""
    found: dict[str, str] = {}
    at = 0
    while at < len(body):
        space = body.find(b" ", at, at + 10)
        length = body[at:space] if space > at else b""
        end = at + int(length) if length.isdigit() else 0
        key, equals, value = body[space + 1 : end - 1].partition(b"=")
        if not (equals and body[end - 1 : end] == b"\n") or b"\0" in value:
            raise ValueError("a record that cannot be read")
        word = key.decode("latin-1")
        if word in _UNREAD or word.startswith("GNU.sparse"):
            raise ValueError(f"a record {word}")
        if word in ("path", "linkpath"):
            found[word] = _text(value)
        at = end
    return found


def _text(field: bytes) -> str:
    return os.fsdecode(field.partition(b"\0")[0])
