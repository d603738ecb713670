"""Matchers that compare the answer's text."""

from __future__ import annotations

import re
from collections import Counter, deque
from decimal import Decimal, InvalidOperation
from typing import Any

from sb.base.reading import Field, Place, flag, integer, items, number, one_or_more, text
from sb.base.text import counted
from sb.evals.answer import Answer
from sb.evals.matchers.kinds import Judge, MatcherKind, quote, verdict
from sb.evals.suite import Match

LONGEST_PATTERN = 10_000  # characters
SECONDS = 1.0  # for a regular expression, which may take exponential time

_IGNORE_CASE = Field("ignore_case", flag(), "Whether capitals count as small letters.")
_STRIP = Field("strip", flag(), "Whether space around the answer is left out.")
_TEXT = Field("text", text(), "The text.", required=True)
_TEXTS = Field("text", one_or_more(text()), "A text, or a list of texts.", required=True)
_LIST = Field("text", items(text()), "The texts.", required=True)
_NUMBER = re.compile(
    r"(?:(?<![\w)])[-+\u2212])?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d{1,4}(?!\d))?",
    re.ASCII | re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


def _form(values: dict[str, Any], output: str) -> str:
    """The text as it is compared."""
    output = output.strip() if values.get("strip") else output
    return output.casefold() if values.get("ignore_case") else output


def _holding(values: dict[str, Any], place: Place) -> Judge:
    wanted = [(item, _form(values, item)) for item in _several(values["text"])]

    def judge(answer: Answer) -> Match:
        output = _form(values, answer.output)
        missing = [quote(item) for item, form in wanted if form not in output]
        return verdict(not missing, f"no {' and no '.join(missing)} in {quote(answer.output)}")

    return judge


def _holding_any(values: dict[str, Any], place: Place) -> Judge:
    forms = [_form(values, item) for item in values["text"]]

    def judge(answer: Answer) -> Match:
        output = _form(values, answer.output)
        listed = ", ".join(map(quote, values["text"]))
        return verdict(any(form in output for form in forms), f"none of {listed} in {quote(answer.output)}")

    return judge


def _not_holding(values: dict[str, Any], place: Place) -> Judge:
    unwanted = [(item, _form(values, item)) for item in _several(values["text"])]

    def judge(answer: Answer) -> Match:
        output = _form(values, answer.output)
        there = [quote(item) for item, form in unwanted if form in output]
        return verdict(not there, f"{' and '.join(there)} in {quote(answer.output)}")

    return judge


def _several(wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    return (wanted,) if isinstance(wanted, str) else wanted


def _equal(values: dict[str, Any], place: Place) -> Judge:
    wanted = _form(values, values["text"])
    return lambda answer: verdict(
        _form(values, answer.output) == wanted,
        f"expected {quote(values['text'])} got {quote(answer.output)}",
    )


def _starting(values: dict[str, Any], place: Place) -> Judge:
    wanted = _form(values, values["text"])
    return lambda answer: verdict(
        _form(values, answer.output).startswith(wanted),
        f"{quote(answer.output)} does not start with {quote(values['text'])}",
    )


def _ending(values: dict[str, Any], place: Place) -> Judge:
    wanted = _form(values, values["text"])
    return lambda answer: verdict(
        _form(values, answer.output).endswith(wanted),
        f"{quote(answer.output[-100:])} does not end with {quote(values['text'])}",
    )


def _among(values: dict[str, Any], place: Place) -> Judge:
    forms = {_form(values, item) for item in values["text"]}
    return lambda answer: verdict(
        _form(values, answer.output) in forms,
        f"{quote(answer.output)} is none of {', '.join(map(quote, values['text']))}",
    )


def compile_pattern(values: dict[str, Any], place: Place) -> Any:
    """The regular expression of a matcher; raises WrongValue."""
    import regex  # unlike `re`, it stops in time

    flags = regex.IGNORECASE if values.get("ignore_case") else 0
    at = place.below(place.value, "pattern")
    try:
        return regex.compile(values["pattern"], flags)
    except (regex.error, RecursionError, OverflowError) as error:
        raise at.refuse(f"is no regular expression: {error}") from None


def _matching(expected: bool) -> Any:
    def build(values: dict[str, Any], place: Place) -> Judge:
        compiled = compile_pattern(values, place)
        search = compiled.fullmatch if values.get("full") else compiled.search

        def judge(answer: Answer) -> Match:
            try:
                matched = search(answer.output, timeout=SECONDS, concurrent=True) is not None
            except TimeoutError:
                return Match(False, f"{quote(values['pattern'])} took longer than {SECONDS:g} s")
            how = "does not match" if expected else "matches"
            return verdict(matched is expected, f"{quote(answer.output)} {how} {quote(values['pattern'])}")

        return judge

    return build


def _number(values: dict[str, Any], place: Place) -> Judge:
    wanted, tolerance = Decimal(str(values["value"])), Decimal(str(values.get("tolerance", 0)))
    label = values.get("after", "").casefold()

    def judge(answer: Answer) -> Match:
        at = answer.output.casefold().find(label)
        if at < 0:
            return Match(False, f"no {quote(label)} in {quote(answer.output)}")
        rest = answer.output.casefold()[at + len(label) :]
        numbers = _NUMBER.finditer(rest)
        got = next(numbers, None) if label else next(iter(deque(numbers, maxlen=1)), None)
        if got is None:
            return Match(
                False, f"no number {f'after {quote(label)} ' if label else ''}in {quote(answer.output)}"
            )
        spread = f" ± {tolerance}" if tolerance else ""
        return verdict(_near(got[0], wanted, tolerance), f"expected {wanted}{spread} got {got[0][:40]}")

    return judge


def _near(written: str, wanted: Decimal, tolerance: Decimal) -> bool:
    try:
        got = Decimal(written.replace(",", "").replace("\u2212", "-"))
        return abs(got - wanted) <= tolerance
    except (InvalidOperation, ArithmeticError):
        return False


def _length(values: dict[str, Any], place: Place) -> Judge:
    least, most = values.get("min", 0), values.get("max")
    if "min" not in values and most is None:
        raise place.refuse("has neither min nor max: it cannot fail")
    if most is not None and least > most:
        raise place.refuse(f"min {least} is more than max {most}")

    def judge(answer: Answer) -> Match:
        length = len(answer.output)
        limit = f"at least {least}" if length < least else f"at most {most}"
        return verdict(
            least <= length and (most is None or length <= most),
            f"{counted(length, 'character')}, expected {limit}",
        )

    return judge


def _token_f1(values: dict[str, Any], place: Place) -> Judge:
    wanted = Counter(_WORD.findall(values["text"].casefold()))
    if not wanted:
        raise place.below(place.value, "text").refuse("has no word")

    def judge(answer: Answer) -> Match:
        tokens = Counter(_WORD.findall(answer.output.casefold()))
        score = 2 * (wanted & tokens).total() / (wanted.total() + tokens.total())
        return verdict(
            score >= values["threshold"], f"{score:.3f} < {values['threshold']:g}: {quote(answer.output)}"
        )

    return judge


_PATTERN = (
    Field("pattern", text(), "A regular expression, with the syntax of Python.", required=True),
    _IGNORE_CASE,
    Field("full", flag(), "Whether it has to match the whole answer."),
)
_FOLDED = (_IGNORE_CASE, _STRIP)
KINDS = (
    MatcherKind("contains", "The answer has a text, or all of a list.", (_TEXTS, _IGNORE_CASE), _holding),
    MatcherKind("contains_all", "The answer has all of these texts.", (_LIST, _IGNORE_CASE), _holding),
    MatcherKind(
        "contains_any", "The answer has at least one of these texts.", (_LIST, _IGNORE_CASE), _holding_any
    ),
    MatcherKind("not_contains", "The answer has none of these texts.", (_TEXTS, _IGNORE_CASE), _not_holding),
    MatcherKind(
        "equals",
        "The answer is this text.",
        (Field("text", text(empty=True), "The text.", required=True), *_FOLDED),
        _equal,
    ),
    MatcherKind("starts_with", "The answer starts with a text.", (_TEXT, *_FOLDED), _starting),
    MatcherKind("ends_with", "The answer ends with a text.", (_TEXT, *_FOLDED), _ending),
    MatcherKind("one_of", "The answer is one of these texts.", (_LIST, *_FOLDED), _among),
    MatcherKind("regex", "A regular expression matches somewhere in the answer.", _PATTERN, _matching(True)),
    MatcherKind(
        "not_regex", "A regular expression matches nowhere in the answer.", _PATTERN, _matching(False)
    ),
    MatcherKind(
        "number",
        "A number in the answer has a value: the last one, or the first after a label.",
        (
            Field("value", number(), "The value.", required=True),
            Field("after", text(), "A label; capitals do not count."),
            Field("tolerance", number(0), "How far the number may be from the value; 0 by default."),
        ),
        _number,
    ),
    MatcherKind(
        "length",
        "The answer has so many characters.",
        (
            Field("min", integer(1, 1_000_000_000), "The fewest."),
            Field("max", integer(0, 1_000_000_000), "The most."),
        ),
        _length,
    ),
    MatcherKind(
        "token_f1",
        "The answer has the words of a text, in any order, and few others.",
        (_TEXT, Field("threshold", number(0, 1, above=True), "The lowest score that passes.", required=True)),
        _token_f1,
    ),
)
