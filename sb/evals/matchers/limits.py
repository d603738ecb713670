"""Matchers of what an answer took: time, cost, calls."""

from __future__ import annotations

from typing import Any

from sb.base.reading import Field, Place, flag, integer, number, text
from sb.base.text import counted
from sb.evals.answer import Answer
from sb.evals.matchers.kinds import Judge, MatcherKind, verdict
from sb.evals.suite import Match
from sb.kernel.trajectory_eval import names


def _latency(values: dict[str, Any], place: Place) -> Judge:
    most, gates = values["max"], values.get("gate", False)

    def judge(answer: Answer) -> Match:
        took = answer.seconds * 1000
        if took <= most:
            return Match(True)
        return Match(
            not gates, f"{took:,.0f} ms, expected at most {most:g}" + ("" if gates else " (reported only)")
        )

    return judge


def _cost(values: dict[str, Any], place: Place) -> Judge:
    most = values["max"]

    def judge(answer: Answer) -> Match:
        if answer.cost_cents is None:
            return Match(False, "the agent does not say what the answer cost")
        return verdict(answer.cost_cents <= most, f"{answer.cost_cents:g} ¢, expected at most {most:g}")

    return judge


def _tool_calls(values: dict[str, Any], place: Place) -> Judge:
    least, most, tool = values.get("min", 0), values.get("max"), values.get("tool", "*")
    if "min" not in values and most is None:
        raise place.refuse("has neither min nor max: it cannot fail")
    if most is not None and least > most:
        raise place.refuse(f"min {least} is more than max {most}")
    try:
        names.compile_pattern(tool)
    except names.BadPattern as error:
        raise place.below(place.value, "tool").refuse(str(error)) from None

    def judge(answer: Answer) -> Match:
        made = sum(names.matches(tool, call.tool, undecided=True) for call in answer.calls)
        limit = f"at least {least}" if made < least else f"at most {most}"
        of = f" of {tool}" if "tool" in values else ""
        return verdict(
            least <= made and (most is None or made <= most), f"{counted(made, 'call')}{of}, expected {limit}"
        )

    return judge


KINDS = (
    MatcherKind(
        "latency_ms",
        "The answer took at most so many milliseconds; reported, and a failure only if asked.",
        (
            Field("max", number(0, above=True), "Milliseconds.", required=True),
            Field(
                "gate", flag(), "Whether a slower answer fails; false by default, since machines are noisy."
            ),
        ),
        _latency,
        decides=lambda values: bool(values.get("gate")),
    ),
    MatcherKind(
        "cost_cents",
        "The answer cost at most so much. An agent that does not say what it cost fails.",
        (Field("max", number(0), "US cents.", required=True),),
        _cost,
    ),
    MatcherKind(
        "tool_calls",
        "The run made so many calls; denied and failed ones count.",
        (
            Field("tool", text(), "Only those of a tool: a name, a glob, or re: and a regular expression."),
            Field("min", integer(1, 1_000_000), "The fewest."),
            Field("max", integer(0, 1_000_000), "The most."),
        ),
        _tool_calls,
    ),
)
