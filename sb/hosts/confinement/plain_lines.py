"""Plain lines: what is written is what runs, and what stands beside a program with credentials reads no file.

Each rule says what is known to be harmless. A line that is not plain gets no credentials, so that a person is asked where it
fails without them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from sb.hosts.confinement import tables
from sb.shell.parsing.nodes import Compound, Node, Pipeline, Redirect, Script, Simple, Unparsed, Word
from sb.shell.parsing.syntax import parse
from sb.shell.parsing.words import COMMA, OPEN, is_literal, is_sure
from sb.shell.snapshots.local_effects import OF_GIT, REDIRECTIONS

_OUTPUT = frozenset((">", ">>", ">|", ">&", "&>", "&>>"))
_TEXTS = frozenset(("<<", "<<-", "<<<"))
_NAMED_DESCRIPTOR = re.compile(r"\{[A-Za-z_]\w*\}(?:\[[^]]*\])?[<>]")


class _Tool(NamedTuple):
    """Words with which a tool reads no file: patterns of its options, of those with a value behind them, and of operands."""

    options: str
    valued: str = "(?!)"
    operand: str = "(?!)"
    most: int = 1

    def reads_no_file(self, words: Sequence[str]) -> bool:
        rest, operands = iter(words), 0
        for word in rest:
            if re.fullmatch(self.valued, word):
                next(rest, "")
            elif word.startswith("-") and word != "-":
                if not re.fullmatch(self.options, word):
                    return False
            elif (operands := operands + 1) > self.most or not re.fullmatch(self.operand, word):
                return False
        return True


_TOOLS = {name: _Tool(**fields) for names, fields in tables.TOOLS.items() for name in names.split(", ")}


def reads_no_file(argv: Sequence[str]) -> bool:
    """True for a redirection of output, and for a tool that reads what is piped to it alone, by every word it has."""
    if argv[0] in REDIRECTIONS:
        # What git reads in its folder may lead it to an agent's program.
        of_git = any(".git" in word.lower().split("/") for word in argv[1:])
        return not of_git if argv[0] != "<" else tuple(argv[1:]) == ("/dev/null",)
    tool = _TOOLS.get(argv[0])
    return tool is not None and tool.reads_no_file(argv[1:])


def is_plain(line: str, programs: Collection[str]) -> bool:
    """True for commands in literal words, joined by pipes and lists: without loops, functions, assignments and expansions.

    Args:
        programs: those that were judged; another one that starts them (`env`, `setsid`) may change what they find, or leave
            them in the background.
    """
    try:
        script = parse(line)
    except Unparsed:
        return False
    return not _NAMED_DESCRIPTOR.search(line) and all(map(partial(_is_plain, programs=programs), script))


def _is_plain(node: Node, programs: Collection[str]) -> bool:
    if isinstance(node, Pipeline):
        return all(_is_plain(part, programs) for part in node.parts)
    if isinstance(node, Compound):
        joined = node.kind in ("&&", "||") and not node.redirects
        return joined and all(_is_plain(body, programs) for body in node.bodies)
    if node.assigned or not node.words or not all(map(_is_plain_redirect, node.redirects)):
        return False
    program, argument = [*(word.text for word in node.words[:2]), ""][:2]
    if program not in programs and not (program == "timeout" and re.fullmatch(r"\d+[smh]?", argument)):
        return False
    # Files that git adds, moves and restores may be named by patterns: no program of the line reads them.
    of_files = program == "git" and argument in OF_GIT
    return all(_is_literal(word) or (of_files and _is_pattern(word)) for word in node.words)


def _is_literal(word: Word) -> bool:
    literal = is_literal(word.text) and not (OPEN in word.text and (COMMA in word.text or ".." in word.text))
    return literal and (not word.scripts or (_is_quoted(word) and all(map(_is_text, word.scripts))))


def _is_pattern(word: Word) -> bool:
    return is_sure(word.text) and not word.scripts and word.text[:1].isalnum()


def _is_quoted(word: Word) -> bool:
    return word.raw[:1] == word.raw[-1:] == '"'


def _is_text(script: Script) -> bool:
    """True for `cat` with a here-document: a text of several lines."""
    if len(script) != 1 or not isinstance(script[0], Simple):
        return False
    simple = script[0]
    named = [word.text for word in simple.words] == ["cat"] and not simple.assigned
    return named and all(
        redirect.operator in _TEXTS and _is_plain_redirect(redirect) for redirect in simple.redirects
    )


def _is_plain_redirect(redirect: Redirect) -> bool:
    if redirect.operator in _TEXTS:
        text = redirect.target if redirect.body is None else redirect.body
        return _is_literal(text)
    if redirect.operator == "<":
        return redirect.target.text == "/dev/null"
    return redirect.operator in _OUTPUT and _is_literal(redirect.target)
