"""Kinds of matchers: the fields of each, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sb.base.reading import Field, Place
from sb.base.secrets.redaction import one_line, redact
from sb.base.text import json_text
from sb.base.values.frozen import frozen
from sb.evals.answer import Answer
from sb.evals.suite import Match, Matcher

LONGEST = 120  # characters of an answer in a line

Judge = Callable[[Answer], Match]


@frozen
class MatcherKind:
    """One kind of matchers.

    Args:
        name: by which suites call it. about: what it demands, in one line.
        build: makes a judge of the fields, or raises WrongValue.
        decides: whether a matcher of these fields can fail a case; one that cannot is never the only one of a case.
    """

    name: str
    about: str
    fields: Sequence[Field]
    build: Callable[[dict[str, Any], Place], Judge]
    decides: Callable[[dict[str, Any]], bool] = lambda values: True

    def read(self, values: dict[str, Any], place: Place) -> Demand:
        """The matcher that the fields describe; raises WrongValue."""
        return Demand(self.name, self.build(values, place), self.decides(values))


@frozen
class Demand:
    """A matcher of a suite."""

    kind: str
    judge: Judge
    decides: bool = True

    def match(self, answer: Answer) -> Match:
        """Match of an answer with a demand."""
        try:
            match = self.judge(answer)
        except RecursionError:
            match = Match(False, "the answer is nested too deeply")
        return match if not match.line else Match(match.ok, f"[{self.kind}] {match.line}")


def decides(matcher: Matcher) -> bool:
    """True if a matcher can fail a case by itself."""
    return not isinstance(matcher, Demand) or matcher.decides


def verdict(ok: bool, line: str) -> Match:
    """A match, with the line only where it fails."""
    return Match(ok, "" if ok else line)


def quote(value: Any) -> str:
    """A value of an answer or a suite for one line: masked, printable, shortened."""
    if isinstance(value, str):
        return json_text(one_line(value, LONGEST))
    try:
        return one_line(json_text(redact(value)), LONGEST)
    except (TypeError, ValueError):
        return f"<{type(value).__name__}>"
