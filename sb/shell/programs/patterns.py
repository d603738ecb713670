"""Compare commands with the patterns of policy: `git push` fits every spelling of it that the parser sees."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.words import BRACKET, QUESTION, STAR, UNKNOWN, compiled, fits, is_literal, is_sure
from sb.shell.programs.facts import having, lists
from sb.shell.programs.ruleset import active

if TYPE_CHECKING:
    from sb.config.command_patterns import CommandPattern

TRUSTED_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_MOST_READINGS = 256  # ways to read options whose values are not known
_LONGEST_CODE = 20_000  # characters of inline code that are looked at
_CODE_WORD = r"[\w./~+-]+"
_INTERPRETERS = tuple(having("interprets"))
_MODULE_FLAGS = r"-[IBuEsSOvqdxP]+"


def may_run(pattern: CommandPattern, argv: Sequence[str]) -> bool:
    """True if a command is one that the pattern names, or may be when it runs: for what denies or asks."""
    return any(_may_be(pattern, form) for form in _forms(argv))


def surely_runs(pattern: CommandPattern, argv: Sequence[str]) -> bool:
    """True if a command is one that the pattern names, and each of its words is known: for what allows."""
    folder, _, program = argv[0].rpartition("/")
    if (folder or argv[0].startswith("/")) and folder not in TRUSTED_FOLDERS:
        return False
    if not all(map(_is_known, argv)) or not fits(program, pattern.program):
        return False
    operands = _certain_operands(program, argv[1:], len(pattern.operands))
    if len(operands) < len(pattern.operands) or not all(map(fits, operands, pattern.operands)):
        return False
    before_end = argv[1 : argv.index("--")] if "--" in argv else argv[1:]
    return all(
        any(
            _is_option(word, option)
            and (not at or before_end[at - 1][:1] != "-" or "=" in before_end[at - 1])
            for at, word in enumerate(before_end)
        )
        for option in pattern.options
    )


def _is_known(word: str) -> bool:
    """True if a word is a literal, or a file-name pattern that can become no option."""
    return is_literal(word) or (is_sure(word) and word[0] not in ("-", STAR, QUESTION, BRACKET))


def _forms(argv: Sequence[str]) -> list[Sequence[str]]:
    """The command, and what it may run: a module, the words behind an unknown program, those of inline code."""
    forms = [argv]
    base = argv[0].rpartition("/")[2].lower()
    if base.startswith(("python", "pypy")):
        forms += _modules(argv)
    if base.startswith(_INTERPRETERS):
        for code in argv[1:]:
            words = (
                compiled(_CODE_WORD).findall(code[:_LONGEST_CODE])
                if compiled(r"[\s('\"]").search(code)
                else []
            )
            forms += _suffixes(words)
    elif base in having("any_program") or base not in _known_programs():
        forms += _suffixes(argv[1:])
        forms += (word.split() for word in argv[1:] if base in having("any_program") and " " in word.strip())
    elif base == "git":
        following = (after for word, after in itertools.pairwise(argv) if word in ("-x", "--exec"))
        forms += (words for after in following if (words := after.split()))
    return forms


def _suffixes(words: Sequence[str]) -> list[Sequence[str]]:
    return [words[at:] for at, word in enumerate(words[:_MOST_READINGS]) if word[:1] not in ("-", "")]


@functools.cache
def _known_programs() -> frozenset[str]:
    """The programs whose arguments are known to be no other program, or that are judged by a rule of their own."""
    from sb.shell.handlers.handlers import HANDLERS

    return frozenset(key.partition(" ")[0] for key in active().table.rules) | HANDLERS.keys()


def _modules(argv: Sequence[str]) -> list[Sequence[str]]:
    """The modules that `python -m` runs."""
    forms: list[Sequence[str]] = []
    for at, word in enumerate(argv[1:], 1):
        if word == "-m" and len(argv) > at + 1:
            forms.append(argv[at + 1 :])
        elif word.startswith("-m"):
            forms.append([word[2:], *argv[at + 1 :]])
        if not compiled(_MODULE_FLAGS).fullmatch(word):
            break
    return forms


def _may_be(pattern: CommandPattern, argv: Sequence[str]) -> bool:
    program = argv[0].rpartition("/")[2]
    if not is_literal(argv[0]):
        return True
    if not any(fits(name, pattern.program) for name in (argv[0], program, program.lower())):
        return False
    program = program.lower()
    return _may_have_operands(pattern.operands, program, argv[1:]) and all(
        _may_have_option(option, argv[1:]) for option in pattern.options
    )


def _may_have_operands(wanted: Sequence[str], program: str, words: Sequence[str]) -> bool:
    if not wanted:
        return True
    valued = active().table.options.get(program, "").split()
    states = {(0, 0)}  # (the word that comes next, how many operands fitted)
    for _ in range(len(words)):
        following: set[tuple[int, int]] = set()
        for at, fitted in states:
            if at >= len(words):
                continue
            word = words[at]
            if not is_literal(word) and not word.startswith("-"):
                return True  # it may be any words
            if word[:1] == "-" and word not in ("-", "--"):
                following.add((at + 2, fitted))
                if word not in valued:
                    following.add((at + 1, fitted))
            elif word == "--" and not fitted:
                following.add((at + 1, fitted))
            elif _names(word, wanted[fitted]) or (program == "git" and _may_be_alias(word, fitted)):
                if fitted + 1 == len(wanted):
                    return True
                following.add((at + 1, fitted + 1))
        if not following:
            return False
        if len(following) > _MOST_READINGS:
            return True
        states = following
    return False


def _names(word: str, wanted: str) -> bool:
    return fits(word, wanted) or fits(word.lower(), wanted)


def _may_be_alias(word: str, fitted: int) -> bool:
    """True if a subcommand is not git's own: the configuration may give it any meaning."""
    return not fitted and f"git {word}" not in active().table.rules


def _may_have_option(option: str, words: Sequence[str]) -> bool:
    letters = option[1:] if compiled("-[A-Za-z]{2,}").fullmatch(option) else ""
    seen: set[str] = set()
    for word in words:
        if word == "--":
            break
        if word.startswith(UNKNOWN) or (UNKNOWN in word and word[:1] == "-"):
            return True
        if _is_option(word, option) or _is_abbreviated(word, option):
            return True
        if word[:1] == "-" and word[1:2] != "-":
            seen.update(word[1:])
    return bool(letters) and set(letters) <= seen


def _is_option(word: str, option: str) -> bool:
    if fits(word, option) or word.startswith(f"{option}="):
        return True
    short = len(option) == 2 and option[1] not in "*?"
    return short and word[:1] == "-" and word[1:2] not in ("-", "") and option[1] in word[1:]


def _is_abbreviated(word: str, option: str) -> bool:
    name = word.partition("=")[0]
    return len(name) > 2 and name.startswith("--") and option.startswith(name)


def _certain_operands(program: str, words: Sequence[str], count: int) -> list[str]:
    """The first operands of a command; fewer behind an option that may take a value, or change what runs."""
    found: list[str] = []
    harmless = lists("options_before").get(program, ())
    valued = active().table.options.get(program, "").split()
    at = 0
    while at < len(words) and len(found) < count:
        word = words[at]
        if word[:1] == "-" and word not in ("-", "--"):
            if word.partition("=")[0] not in harmless:
                return found
            at += 2 if word in valued else 1
            continue
        if word != "--":
            found.append(word)
        at += 1
    return found
