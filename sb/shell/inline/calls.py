"""Judge code for node, perl, ruby and php in a command line, by a table of their calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sb.shell import tables
from sb.shell.handlers.sql import sql
from sb.shell.inline.effects import Effects, unknown_code
from sb.shell.parsing.words import FROM_GLOB, UNKNOWN, compiled, is_literal
from sb.shell.programs.rules import DESTROY, QUIET, Finding

if TYPE_CHECKING:
    from sb.shell.judge import Judge

LONGEST = 64 << 10  # characters of code that are searched
_MOST_CALLS = 200
_LONGEST_CALL = 4096  # characters of one call's arguments that are read
_MOST_JOINED = 8  # times that neighbours are joined


class _Language(NamedTuple):
    """The calls of one language: a pattern of names for each effect.

    Args:
        bare: whether arguments may stand without brackets.
        ticks: whether backticks hold a command line.
        interpolates: what begins an unknown part of a text in double quotes.
    """

    calls: tuple[tuple[str, str], ...]
    bare: bool = False
    ticks: bool = False
    interpolates: str = ""


_LANGUAGES = {
    name: _Language(
        tuple((effect, pattern.replace("<fs>", tables.FS)) for effect, pattern in fields["calls"].items()),
        fields.get("bare", False),
        fields.get("ticks", False),
        fields.get("interpolates", ""),
    )
    for names, fields in tables.LANGUAGES.items()
    for name in names.split(", ")
}
_TEXT = r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`((?:[^`\\]|\\.)*)`|q\{([^}]*)\}|\[?\"?(__FILE__)"
_BACKTICKS = r"`((?:[^`\\]|\\.)*)`"
_ESCAPED = r"\\(.)"
_SPACE = r"[\s,()\[\]{}]*"
# The user's home, within a text and beside one.
_HOME_IN_TEXT = (
    r"\$\{(?:process\.env\.HOME|(?:os|require\(['\"](?:node:)?os['\"]\))\.homedir\(\))\}"
    r"|#\{(?:ENV(?:\[['\"]HOME['\"]\]|\.fetch\(['\"]HOME['\"]\))|Dir\.home)\}|(?<=\")\$ENV\{['\"]?HOME['\"]?\}"
)
_HOME = (
    r"process\.env(?:\.HOME\b|\[['\"]HOME['\"]\])|(?:os|require\(['\"](?:node:)?os['\"]\))\.homedir\(\)|Deno\.env\.get\(['\"]HOME['\"]\)"
    r"|\$ENV\{['\"]?HOME['\"]?\}|ENV(?:\[['\"]HOME['\"]\]|\.fetch\(['\"]HOME['\"]\))|Dir\.home\b|getenv\(['\"]HOME['\"]\)|\$_(?:SERVER|ENV)\[['\"]HOME['\"]\]"
)
_QUOTED = r"(?:'[^'\\\n]*'|\"[^\"\\\n]*\")"
_JOINING = rf"(?:(?:path|require\(['\"](?:node:)?path['\"]\)|File)\.(?:join|resolve)|File\.expand_path|catfile|realpath)\(\s*({_QUOTED}(?:\s*,\s*{_QUOTED})*)\s*\)"
_ADDING = rf"({_QUOTED})\s*(?:\+|\.(?!\w))\s*({_QUOTED})"


def inline_calls(judge: Judge, name: str, kind: str, code: str) -> Finding | None:
    """Judge code by the calls in it; None for a language without a table.

    Args:
        name: of the interpreter, for reasons. kind: of the language.
    """
    language = _LANGUAGES.get(kind)
    if language is None:
        return None
    if len(code) > LONGEST:
        return Finding(
            DESTROY,
            f"{name}: the code is too long to be judged ({len(code):,} characters, limit {LONGEST:,})",
        )
    position = judge.paths.position
    found = _Search(judge, name, language, code).judge()
    judge.paths.position = position
    return found


class _Search:
    """The calls of one piece of code."""

    def __init__(self, judge: Judge, name: str, language: _Language, code: str) -> None:
        self._language = language
        self._code = _folded(code, judge.paths.home)
        self._name = name
        self._effects = Effects(judge, name)

    def judge(self) -> Finding:
        hits = [
            (match.end(), effect, match[0])
            for effect, pattern in self._language.calls
            for match in compiled(pattern).finditer(self._code)
        ]
        if len(hits) > _MOST_CALLS:
            return Finding(
                DESTROY, f"{self._name}: the code does more than can be judged ({len(hits)} calls)"
            )
        for end, effect, call in sorted(hits):
            rest = self._code[end : end + _LONGEST_CALL].lstrip()
            if rest.startswith(("=>", "}", "=")):  # a key or a variable of that name
                continue
            if rest[:1] in ("(", "{", "[", "/", "!", "|", ".") or self._language.bare:
                self._one(effect, call.split(".")[-1].split(":")[-1], end)
        if self._language.ticks:
            for match in compiled(_BACKTICKS).finditer(self._code):
                self._effects.line("``", self._literal(match[1], double=True))
        return self._effects.settle()

    def _one(self, effect: str, call: str, end: int) -> None:
        """Judge one call by the texts among its arguments."""
        texts, rest = self._arguments(end)
        first = texts[0] if texts else UNKNOWN
        second = texts[1] if len(texts) > 1 else UNKNOWN
        effects = self._effects
        if effect in ("line", "run"):
            self._runs(call, end, texts, whole=effect == "line")
        elif effect == "argv":
            shell = "shell:" in rest and compiled(r"shell:\s*(?:true|['\"])").search(rest)
            texts = [text for text in texts if text not in ("inherit", "pipe", "ignore", "utf8", "utf-8")]
            if shell:
                effects.line(call, " ".join(texts) or UNKNOWN)
            else:
                effects.run(call, texts)
        elif effect in ("remove", "removes"):
            whole = effect == "removes" and not (
                call in ("rm", "rmSync", "rmdir", "rmdirSync") and "recursive" not in rest
            )
            for text in texts or [UNKNOWN]:
                effects.remove(call, text, whole=whole)
        elif effect == "open":
            self._opens(call, texts)
        elif effect == "statement":
            effects.note(sql(first, f"{self._name} {call}", QUIET) if is_literal(first) else QUIET)
        elif effect == "destroys":
            effects.note(Finding(DESTROY, f"{self._name} {call}: destroys data"))
        elif effect == "kill":
            effects.change(call, "kill", "-9", "-1" if compiled(r"\W-1\b").search(rest) else "1234")
        elif effect == "fetch":
            self._fetches(call, first, rest)
        elif effect == "code":
            if not texts or UNKNOWN in "".join(texts):
                effects.note(unknown_code(self._name, call))
        elif effect == "chmod 600":
            effects.apply(effect, call, next((text for text in texts if not text.isdigit()), UNKNOWN))
        else:
            effect = "append" if call.lower().startswith("append") else effect
            effects.apply(effect, call, first, second)

    def _runs(self, call: str, end: int, texts: list[str], *, whole: bool) -> None:
        delimiter = self._code[end : end + 1]
        if call in ("qx", "x", "%x"):
            closing = {"{": "}", "(": ")", "[": "]"}.get(delimiter, delimiter)
            self._effects.line(call, self._literal(self._code[end + 1 :].partition(closing)[0], double=True))
        elif whole or len(texts) == 1:
            self._effects.line(call, texts[0] if texts else UNKNOWN)
        else:
            self._effects.run(call, texts)

    def _opens(self, call: str, texts: list[str]) -> None:
        """`open(F, '>', path)` of perl, `open("|program")`, `File.open(path, 'w')`, `fopen(path, 'w')`."""
        texts = texts[1:] if texts[1:] and texts[0] == UNKNOWN else texts  # the name of a handle
        first = texts[0] if texts else ""
        if first.startswith(("+", ">", "<", "|", "-|")) or first.endswith("|"):
            mode = first.strip(" +") or "<"
            path = texts[1] if len(texts) > 1 else mode.lstrip("<>|& ")
            if "|" in mode[:2] or mode.endswith("|"):
                self._effects.line(call, texts[1] if len(texts) > 1 else mode.strip("| -"))
            elif mode.startswith(">") or first.startswith("+"):
                self._effects.write(call, path or UNKNOWN, replaces=not mode.startswith(">>"))
            else:
                self._effects.read(call, path)
        elif len(texts) > 1 and set(texts[1]) & set("wax+"):
            self._effects.write(call, first, replaces="w" in texts[1])
        elif first:
            self._effects.read(call, first)

    def _fetches(self, call: str, url: str, rest: str) -> None:
        method = compiled(r"(?i)method['\"]?\s*(?::|=>)\s*['\"](\w+)").search(rest)
        verb = (method[1] if method else call).upper()
        sends = verb if verb in ("POST", "PUT", "PATCH", "DELETE") else "GET"
        if sends == "GET" and compiled(r"(?i)\b(?:body|data|postfields)\b").search(rest):
            sends = "POST"
        self._effects.send(call, url, method=sends)

    # --- arguments

    def _arguments(self, at: int) -> tuple[list[str], str]:
        """The texts that a call is given, unknown where they are computed, and its arguments as they are written."""
        end = self._end(at)
        rest = self._code[at:end]
        texts: list[str] = []
        place = 0
        for match in compiled(_TEXT).finditer(rest):
            before = compiled(_SPACE).sub("", rest[place : match.start()])
            after = rest[match.end() :].lstrip()[:1]
            place = match.end()
            if before and not before.endswith((":", "=>")):
                texts += [UNKNOWN] if not before.isdigit() else []
            raw = next(group for group in (*match.groups(), "") if group is not None)
            quote = match[0][0]
            joined = after in ("+", ".", "%") or before.endswith(("+", "."))
            if joined:
                texts[-1:] = [UNKNOWN]
            elif not before.endswith((":", "=>")):
                texts.append(self._literal(raw, double=quote in '"`'))
        if not texts and compiled(_SPACE).sub("", rest):
            texts = [UNKNOWN]
        elif texts and compiled(r"^\s*\(?\s*(?:glob|Dir|<)").search(rest):
            texts = [text.translate(FROM_GLOB) for text in texts]
        return texts, rest

    def _end(self, at: int) -> int:
        """Where the arguments of a call end: at its closing bracket, or at the end of the statement."""
        depth, quote = 0, ""
        opened = False
        place = at
        limit = min(len(self._code), at + _LONGEST_CALL)
        while place < limit:
            char = self._code[place]
            if quote:
                place += 1 if char == "\\" else 0
                quote = "" if char == quote else quote
            elif char in "'\"`":
                quote = char
            elif char in "([{":
                depth, opened = depth + 1, True
            elif char in ")]}":
                depth -= 1
                if depth < 0 or (depth == 0 and opened and not self._language.bare):
                    return place
            elif char in ";\n" and depth <= 0:
                return place
            place += 1
        return limit

    def _literal(self, raw: str, *, double: bool) -> str:
        """A quoted text without escapes; unknown from where it holds a variable."""
        text = compiled(_ESCAPED).sub(r"\1", raw)
        marks = self._language.interpolates
        if double and marks == "$@" and compiled(r"(?<!\\)[$@][\w{]").search(raw):
            return _until(text, "$@")
        if double and marks == "#" and "#{" in raw:
            return _until(text, "#")
        if double and marks == "$" and compiled(r"(?<!\\)\$[\w{]|\{\$").search(raw):
            return _until(text, "${")
        if "${" in raw and not marks:
            return _until(text, "$")
        return text if all(char.isprintable() or char in "\n\t" + UNKNOWN for char in text) else UNKNOWN


def _folded(code: str, home: str) -> str:
    """Code in which the user's home, and constants that are joined, are written out."""
    code = compiled(_HOME_IN_TEXT).sub(lambda _: home, code)
    code = compiled(_HOME).sub(lambda _: f"'{home}'", code)
    code = compiled(_JOINING).sub(lambda match: _joined(match[1], "/"), code)
    for _ in range(_MOST_JOINED):
        code, count = compiled(_ADDING).subn(lambda match: _joined(match[0], ""), code)
        if not count:
            break
    return code


def _joined(texts: str, between: str) -> str:
    joined = between.join(text[1:-1] for text in compiled(_QUOTED).findall(texts))
    return f"'{joined}'" if "'" not in joined else "x"


def _until(text: str, marks: Sequence[str]) -> str:
    at = min((place for mark in marks if (place := text.find(mark)) >= 0), default=0)
    return text[:at] + UNKNOWN
