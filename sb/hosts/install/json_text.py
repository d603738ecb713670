"""Edit JSON as text; comments, indentation and odd spacing stay."""

from __future__ import annotations

import json
import marshal
import re
from functools import lru_cache
from typing import Any

from sb.base.values.frozen import frozen
from sb.hosts.install.documents import Malformed, Path
from sb.hosts.install.json_syntax import Child, Node, Parser

_LAST_BREAK = re.compile(r"(\r?\n)[^\n]*\Z")


@frozen
class JsonText:
    """JSON, with comments and trailing commas if `relaxed`. A blank text is an empty object."""

    relaxed: bool

    def load(self, text: str) -> Any:
        if not text.strip():
            return {}
        _, root = _parsed(text, self.relaxed)
        return marshal.loads(marshal.dumps(root.value))  # the caller's own

    def insert(self, text: str, path: Path, value: Any) -> str:
        edit = _Edit(text, self.relaxed)
        for depth, step in enumerate(path):
            container = edit.at(path[:depth])
            if edit.child(container, step, path[: depth + 1]) is None:
                return edit.append(container, step, _nested(path[depth + 1 :], value))
        raise Malformed(0, f"{_told(path)} already exists")

    def replace(self, text: str, path: Path, value: Any) -> str:
        edit = _Edit(text, self.relaxed)
        node = edit.at(path)
        written = (
            _line(value) if isinstance(path[-1], int) else edit.written(value, edit.indentation(node.start))
        )
        return text[: node.start] + written + text[node.end :]

    def remove(self, text: str, path: Path) -> str:
        edit = _Edit(text, self.relaxed)
        edit.at(path)
        return edit.without(edit.at(path[:-1]), path[-1])

    def as_in(self, text: str, path: Path, source: str) -> str:
        theirs, ours = _Edit(source, self.relaxed), _Edit(text, self.relaxed)
        wanted, node = theirs.at(path), ours.at(path)
        written, now = theirs.text[wanted.start : wanted.end], ours.text[node.start : node.end]
        if "".join(written.split()) != "".join(now.split()):  # somebody's comment is in it
            return text
        return ours.text[: node.start] + written + ours.text[node.end :]


@lru_cache(maxsize=4)
def _parsed(text: str, relaxed: bool) -> tuple[Parser, Node]:
    """A text and its root, which nobody changes: a merge looks at each state of a file several times."""
    parser = Parser(text, relaxed)
    return parser, parser.parse()


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _told(path: Path) -> str:
    return ".".join(map(str, path)) or "the document"


class _Edit:
    """One parsed text, and how new parts of it are to look."""

    def __init__(self, text: str, relaxed: bool) -> None:
        self.text = text if text.strip() else "{}\n"
        parser, self.root = _parsed(self.text, relaxed)
        self._error = parser.error
        self._comment_ends = parser.comment_ends
        first = self.text.find("\n")
        self._newline = "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"
        self._compact = "\n" not in self.text.strip() and bool(self.root.children)
        self._unit = "  "
        if self.root.children and self._own_line(self.root.children[0].start):
            self._unit = self.indentation(self.root.children[0].start) or "  "

    def at(self, path: Path) -> Node:
        node = self.root
        for depth, step in enumerate(path):
            child = self.child(node, step, path[: depth + 1])
            if child is None:
                raise Malformed(0, f"{_told(path)} is missing")
            node = child.node
        return node

    def child(self, node: Node, step: str | int, path: Path) -> Child | None:
        """The child at a step, or None.

        Raises:
            Malformed: it is no such container, or has the key twice.
        """
        wanted = dict if isinstance(step, str) else list
        if not isinstance(node.value, wanted):
            kind = "an object" if wanted is dict else "a list"
            raise self._error(node.start, f"{_told(path[:-1])} is not {kind}")
        children = node.children or []
        if isinstance(step, int):
            return children[step] if step < len(children) else None
        found = [child for child in children if child.key == step]
        if len(found) > 1:
            raise self._error(found[1].start, f"{_told(path)} is there twice")
        return found[0] if found else None

    def indentation(self, at: int) -> str:
        """The white space that begins the line of a position."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _own_line(self, at: int) -> bool:
        before = self.text[:at].rstrip(" \t")
        return before.endswith("\n")

    def written(self, value: Any, indentation: str) -> str:
        """New text: an object has a line for each member, a list is one line, however long; so a person sees what is new."""
        if self._compact or not isinstance(value, dict):
            return _line(value)
        start = self._newline + indentation + self._unit
        members = (
            f"{start}{_line(key)}: {self.written(part, indentation + self._unit)}"
            for key, part in value.items()
        )
        return f"{{{','.join(members)}{self._newline}{indentation}}}"

    def append(self, container: Node, step: str | int, value: Any) -> str:
        key = f"{_line(step)}: " if isinstance(step, str) else ""
        if not container.children:
            return self._append_first(container, key, value)
        last = container.children[-1]
        if not self._own_line(last.start):
            if last.comma is None:
                return self._spliced((last.end, last.end, f", {key}{_line(value)}"))
            return self._spliced((last.comma + 1, last.comma + 1, f" {key}{_line(value)},"))
        indentation = self.indentation(last.start)
        element = (
            self._newline + indentation + key + (self.written(value, indentation) if key else _line(value))
        )
        place = self._before_closing(container)
        if last.comma is None:
            return self._spliced((last.end, last.end, ","), (place, place, element))
        return self._spliced((place, place, element + ","))

    def _append_first(self, container: Node, key: str, value: Any) -> str:
        outer = self.indentation(container.start)
        if self._compact:
            place = container.end - 1
            return self._spliced((place, place, key + self.written(value, "")))
        inner = outer + self._unit
        element = self._newline + inner + key + (self.written(value, inner) if key else _line(value))
        place = self._before_closing(container)
        if place == container.end - 1:
            element += self._newline + outer
        return self._spliced((place, place, element))

    def _before_closing(self, container: Node) -> int:
        """Behind the last element and its comments: at the last line break before the bracket if there is one."""
        closing = container.end - 1
        gap = len(self.text[:closing].rstrip(" \t\r\n"))
        found = _LAST_BREAK.search(self.text, gap, closing)
        return found.start(1) if found else closing if not container.children else gap

    def without(self, container: Node, step: str | int) -> str:
        """The text without one child, its comma and the white space before it."""
        children = container.children or []
        index = step if isinstance(step, int) else [child.key for child in children].index(step)
        child = children[index]
        start = len(self.text[: child.start].rstrip(" \t"))
        if self._own_line(child.start):
            start -= 2 if self.text[start - 2] == "\r" else 1
        if start in self._comment_ends and not re.match(r"[ \t]*,?[ \t]*\r?\n", self.text[child.end :]):
            start = child.start  # or what follows would become part of the comment
        edits = [(start, child.end, "")]
        if child.comma is not None:
            edits.append((child.comma, child.comma + 1, ""))
        elif index:
            comma = children[index - 1].comma
            assert comma is not None
            edits.append((comma, comma + 1, ""))
        return self._spliced(*edits)

    def _spliced(self, *edits: tuple[int, int, str]) -> str:
        parts, at = [], 0
        for start, end, replacement in sorted(edits, key=lambda edit: edit[:2]):
            parts += [self.text[at:start], replacement]
            at = end
        return "".join([*parts, self.text[at:]])
