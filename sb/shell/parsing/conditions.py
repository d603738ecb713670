"""Conditions that keep a command from overwriting: `[ -f x ] || …`, `if [ ! -e x ]; then …`."""

from __future__ import annotations

from sb.shell.parsing.nodes import Compound, Node, Simple
from sb.shell.parsing.words import BRACKET, is_literal

_EXISTS = ("-e", "-f", "-s")


def only_if_absent(node: Compound) -> str:
    """The file that is not there when the later commands of a compound run, or ""."""
    first = _tested(node.bodies[0]) if node.bodies else []
    if node.kind == "&&" or (node.kind == "if" and not node.name):
        return first[2] if len(first) == 3 and first[0] == "!" and first[1] in _EXISTS else ""
    if node.kind == "||" and len(node.bodies) == 2:
        return first[1] if len(first) == 2 and first[0] in _EXISTS else ""
    return ""


def _tested(node: Node) -> list[str]:
    """The words of a test."""
    if isinstance(node, Compound) and node.kind == "[[":
        words = [word.text for word in node.words]
    elif isinstance(node, Simple) and node.words and node.words[0].text in (BRACKET, "[", "test"):
        words = [word.text for word in node.words[1:]]
        words = words if node.words[0].text == "test" else words[:-1]
    else:
        return []
    return words if all(map(is_literal, words)) else []
