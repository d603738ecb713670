"""Positions of values in a JSON text, with comments and trailing commas where the format has them."""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import Any

from sb.base.values.frozen import mutable
from sb.hosts.install.documents import Malformed

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "false": False, "null": None}
_DECODER = json.JSONDecoder()
_DEEPEST = 100  # far above any configuration, far below the interpreter's own limit


@mutable
class Child:
    """A member of an object (`key` is its name) or an element of a list (`key` is None)."""

    key: str | None
    start: int
    node: Node
    comma: int | None = None  # where the comma behind it stands

    @property
    def end(self) -> int:
        return self.node.end


@mutable
class Node:
    """A value, and the span of its text."""

    start: int
    end: int
    value: Any
    children: list[Child] | None = None  # None: not a container


@mutable
class Parser:
    """Reads one text.

    Args:
        relaxed: whether comments and trailing commas are allowed.
    """

    text: str
    relaxed: bool
    comment_ends: set[int] = field(default_factory=set)

    def parse(self) -> Node:
        """The root.

        Raises:
            Malformed: with the line.
        """
        root = self._value(self._skip(0), 0)
        end = self._skip(root.end)
        if end < len(self.text):
            raise self.error(end, "something follows the document")
        return root

    def error(self, at: int, what: str) -> Malformed:
        return Malformed(self.text.count("\n", 0, at) + 1, what)

    def _skip(self, at: int) -> int:
        while True:
            at = _SPACE.match(self.text, at).end()  # type: ignore[union-attr] # it matches nothing, too
            comment = _COMMENT.match(self.text, at) if self.text.startswith("/", at) else None
            if comment is None:
                return at
            if not self.relaxed:
                raise self.error(at, "a comment, which this file cannot have")
            at = comment.end()
            if comment[0].startswith("//"):
                self.comment_ends.add(at)

    def _value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.error(at, "nested too deeply")
        first = self.text[at : at + 1]
        if first == "{":
            return self._container(at, depth, "}")
        if first == "[":
            return self._container(at, depth, "]")
        if first == '"':
            text, end = self._string(at)
            return Node(at, end, text)
        number = _NUMBER.match(self.text, at)
        if number is not None:
            return Node(at, number.end(), _number(number))
        word = _WORD.match(self.text, at)
        if word is None or word[0] not in _WORDS:
            raise self.error(at, "a value is missing" if at < len(self.text) else "the text ends too early")
        return Node(at, word.end(), _WORDS[word[0]])

    def _string(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] != '"':
            raise self.error(at, "a key in double quotes is missing")
        try:
            text, end = _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise self.error(at, f"a text is not closed or not valid: {error.msg}") from None
        return text, end

    def _container(self, start: int, depth: int, closing: str) -> Node:
        children: list[Child] = []
        at = self._skip(start + 1)
        while self.text[at : at + 1] != closing:
            if children and children[-1].comma is None:
                raise self.error(at, f"a comma or {closing} is missing")
            child = self._child(at, depth, closing)
            children.append(child)
            at = self._skip(child.end)
            if self.text[at : at + 1] == ",":
                child.comma = at
                at = self._skip(at + 1)
                if self.text[at : at + 1] == closing and not self.relaxed:
                    raise self.error(at, "a comma before the end, which this file cannot have")
        value: Any = [child.node.value for child in children]
        if closing == "}":
            value = {child.key: child.node.value for child in children}
        return Node(start, at + 1, value, children)

    def _child(self, at: int, depth: int, closing: str) -> Child:
        if closing == "]":
            return Child(None, at, self._value(at, depth + 1))
        key, end = self._string(at)
        colon = self._skip(end)
        if self.text[colon : colon + 1] != ":":
            raise self.error(colon, "a colon is missing")
        return Child(key, at, self._value(self._skip(colon + 1), depth + 1))


def _number(match: re.Match[str]) -> int | float:
    whole = match[1] is None and match[2] is None and len(match[0]) < 1000
    return int(match[0]) if whole else float(match[0])
