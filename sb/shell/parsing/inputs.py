"""A command's input: a text of the line, a file, or another command's output."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sb.shell.parsing.computed import filtered, printed, printed_by
from sb.shell.parsing.nodes import Node, Redirect, Simple, Word
from sb.shell.parsing.outputs import tells_names
from sb.shell.parsing.words import is_literal


class Input(NamedTuple):
    """The input of a command: nothing, a text, a file, or unknown.

    Args:
        kind: "none", "text", "file" or "unknown".
        names: each of its words is surely no option.
        path: of the file. program: that prints it.
    """

    kind: str = "none"
    text: str = ""
    names: bool = False
    path: str = ""
    program: str = ""


NOTHING = Input()
NOT_KNOWN = Input("unknown")


_MOST_WORDS = 64  # of a command


def piped_input(
    node: Node,
    expand: Callable[[str], list[str]],
    of_processes: Callable[[str], bool],
    given: Input = NOTHING,
) -> Input:
    """The input that a command of a pipeline gives to the next one.

    Args:
        given: its own input.
        of_processes: whether a file holds nothing but numbers of processes.
    """
    if not isinstance(node, Simple) or not node.words:
        return NOT_KNOWN
    words = [text for word in node.words for text in expand(word.text)]
    if not 0 < len(words) <= _MOST_WORDS:
        return NOT_KNOWN
    if words[0] in ("printf", "echo") and is_literal(" ".join(words)):
        text = printed_by(words)
        return NOT_KNOWN if text is None else Input("text", text)
    if given.kind == "text" and (text := filtered(words, given.text)) is not None:
        return Input("text", text)
    if not all(is_literal(word) and "\\" not in word for word in words):
        return NOT_KNOWN
    documents = [
        redirect.body or redirect.target
        for redirect in node.redirects
        if redirect.body or redirect.operator == "<<<"
    ]
    if words == ["cat"] and len(documents) == 1 and is_literal(documents[0].text):
        return Input("text", documents[0].text)
    names = tells_names(words) or (len(words) == 2 and words[0] == "cat" and of_processes(words[1]))
    return Input("unknown", names=names, program=words[0])


def text_of(word: Word) -> Input | None:
    """The output of `<(…)`, as far as it prints words of the line; None for any other word."""
    if not word.raw.startswith("<(") or len(word.scripts) != 1:
        return None
    text = printed(word.scripts[0])
    return Input("text", text) if text is not None and is_literal(text) else NOT_KNOWN


def redirected_input(redirect: Redirect, stdin: Input, expand: Callable[[str], list[str]]) -> Input:
    """The input of a command after one more redirection."""
    if redirect.body is not None:
        return Input("text", redirect.body.text) if is_literal(redirect.body.text) else NOT_KNOWN
    if redirect.operator == "<<<":
        texts = expand(redirect.target.text)
        return Input("text", texts[0]) if len(texts) == 1 and is_literal(texts[0]) else NOT_KNOWN
    if substituted := text_of(redirect.target):
        return substituted
    if redirect.operator in ("<", "<>"):
        text = redirect.target.text
        return NOT_KNOWN if redirect.target.scripts else Input("file", path=text if is_literal(text) else "")
    if redirect.operator == "<&" and redirect.target.text not in ("0", "-"):
        return NOT_KNOWN  # what else is open there
    return stdin
