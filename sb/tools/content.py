"""Bytes in JSON arguments and results: as text, or as base64."""

from __future__ import annotations

import base64
import binascii
import codecs
from typing import Any

from sb.base.values.frozen import frozen
from sb.tools.failures import display, invalid


@frozen
class Content:
    """Bytes as JSON carries them.

    Args:
        encoding: "utf-8", or "base64" for bytes that are not UTF-8.
        size: how many bytes `text` stands for.
        truncated: whether there was more.
    """

    text: str
    encoding: str
    size: int
    truncated: bool

    def fields(self) -> dict[str, Any]:
        """The four fields under the names that every tool uses for them."""
        return {
            "content": self.text,
            "encoding": self.encoding,
            "bytes": self.size,
            "truncated": self.truncated,
        }


def to_content(data: bytes, limit: int) -> Content:
    """At most `limit` bytes of `data`; text is cut between characters, never inside one."""
    truncated = len(data) > limit
    data = data[:limit]
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data, final=not truncated)
    except UnicodeDecodeError:
        return Content(base64.b64encode(data).decode("ascii"), "base64", len(data), truncated)
    pending, _ = decoder.getstate()
    return Content(text, "utf-8", len(data) - len(pending), truncated)


def from_content(text: str, encoding: str) -> bytes:
    """The bytes that an argument stands for; raises ToolError (VALIDATION_ERROR)."""
    if encoding == "utf-8":
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            raise invalid("content is not valid Unicode text; pass such bytes as base64") from None
    if encoding == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise invalid("content is not valid base64") from None
    raise invalid(f"encoding is {display(encoding)}, must be utf-8 or base64")


def byte_limit(asked: float | None, allowed: int) -> int:
    """The smaller of what was asked for, if anything, and what is allowed; raises ToolError."""
    if asked is None:
        return allowed
    if asked < 1:
        raise invalid(f"max_bytes is {asked}, must be at least 1")
    return min(int(asked), allowed)
