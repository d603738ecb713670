"""The matcher that asks a function of the suite's authors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sb.base.reading import Field, Place, mapping, text
from sb.base.secrets.redaction import one_line
from sb.base.text import nearest
from sb.evals.answer import Answer
from sb.evals.matchers.kinds import Judge, MatcherKind, quote
from sb.evals.suite import Match

LONGEST_LINE = 500  # characters of what a function says


def _python(values: dict[str, Any], place: Place) -> Judge:
    function = _resolve(values["call"], place.below(place.value, "call"))
    given = values.get("args", {})

    def judge(answer: Answer) -> Match:
        try:
            result = function(answer, **given)
        except Exception as error:  # noqa: BLE001 - whatever an author's function raises is a failure of the case
            return Match(False, f"{values['call']}: {type(error).__name__}: {quote(str(error))}")
        if isinstance(result, Match):
            return Match(bool(result.ok), one_line(result.line, LONGEST_LINE))
        if result is None or isinstance(result, bool):
            return Match(
                result is not False, "" if result is not False else f"{values['call']} returned False"
            )
        if isinstance(result, str):
            return Match(not result, one_line(result, LONGEST_LINE))
        return Match(
            False, f"{values['call']} returned {type(result).__name__}, not bool, str, None or Match"
        )

    return judge


def _resolve(reference: str, place: Place) -> Callable[..., Any]:
    module_name, _, name = reference.partition(":")
    if not module_name or not name:
        raise place.refuse(f"{quote(reference)} is no function", "write module:function")
    try:
        with _beside(Path(place.report.source)):
            module = importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001 - an author's module may raise anything
        raise place.refuse(
            f"{module_name} cannot be imported: {type(error).__name__}: {quote(str(error))}"
        ) from None
    function: Callable[..., Any] | None = getattr(module, name, None)
    if function is None or not callable(function):
        raise place.refuse(f"{module_name} has no function {name}{nearest(name, vars(module))}")
    return function


@contextmanager
def _beside(suite: Path) -> Iterator[None]:
    """Modules of the suite's folder and of the current one can be imported."""
    before = list(sys.path)
    sys.path[:0] = [str(suite.absolute().parent), str(Path.cwd())]
    try:
        yield
    finally:
        sys.path[:] = before


KINDS = (
    MatcherKind(
        "python",
        'A function accepts the answer: it returns True, None, or "", and not False or what is wrong.',
        (
            Field(
                "call",
                text(),
                "module:function, beside the suite or installed; called with the Answer.",
                required=True,
            ),
            Field("args", mapping(), "Further keyword arguments."),
        ),
        _python,
    ),
)
