"""Output of `sb agent eval`: runs, comparisons, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sb.commands import output

from sb.base.text import counted, json_text, shorten
from sb.evals.results import CaseVerdict

if TYPE_CHECKING:
    from sb.evals.comparison import CaseChange, Comparison, GateResult
    from sb.evals.results import CaseResult, EvalRun
    from sb.evals.summary import RunSummary

_TONES = {"failed": "danger", "error": "danger", "FAILED": "danger", "flaky": "warn", "PASSED": "ok"}
_MOST_CASES = 50  # that are printed
_MOST_LINES = 4  # of a case
_LONGEST_VALUE, _LONGEST_GIVEN = 40, 120  # characters of a variable, and of all of a case
_KINDS = (
    ("regressed", "worse"),
    ("removed", "removed"),
    ("skipped", "skipped now"),
    ("fixed", "fixed"),
    ("added", "new"),
)


def print_run(
    made: EvalRun,
    short: RunSummary,
    compared: Comparison | None,
    decided: GateResult,
    *,
    k: int,
    quiet: bool,
) -> None:
    """Each case that says something, what differs from the baseline, and the verdict."""
    if not quiet:
        for line in _cases(made):
            output.line(line, tones=_TONES)
        if compared is not None:
            print_comparison(compared)
        if short.cases:
            output.line(_rates(short, k))
    output.line(verdict_line(short, decided), tones=_TONES)


def verdict_line(short: RunSummary, decided: GateResult) -> str:
    """The verdict, from what the exit code comes from."""
    counting = [case for case in short.cases if case.counts]
    passed = sum(case.holds for case in counting)
    head = f"{'FAILED' if decided.exit_code else 'PASSED'} {passed} of {len(counting)} cases hold"
    return "; ".join([head, *decided.reasons])


def _cases(made: EvalRun) -> Iterator[str]:
    """The cases that are not simply passed, by suite."""
    telling = [result for result in made.results if result.verdict is not CaseVerdict.PASSED]
    for suite, results in groupby(telling[:_MOST_CASES], key=lambda result: result.suite):
        yield suite
        for result in results:
            yield from _case(result)
    if len(telling) > _MOST_CASES:
        yield f"and {len(telling) - _MOST_CASES} more; --json has them all"


def _case(result: CaseResult) -> Iterator[str]:
    several = (
        f", {result.passes} of {len(result.attempts)} attempts passed" if len(result.attempts) > 1 else ""
    )
    reason = f": {result.reason}" if result.reason else ""
    given = ", ".join(
        f"{name}={shorten(json_text(value), _LONGEST_VALUE)}" for name, value in result.variables.items()
    )
    made_of = f" ({_masked(shorten(given, _LONGEST_GIVEN))})" if given else ""
    yield f"  {result.verdict} {result.id}{made_of}{several}{reason}"
    lines = dict.fromkeys(line for attempt in result.attempts for line in attempt.failures)
    for line in list(lines)[:_MOST_LINES]:
        yield f"      {_masked(line)}"


def _masked(line: str) -> str:
    from sb.base.secrets.redaction import redact_text

    return redact_text(line)


def _rates(short: RunSummary, k: int) -> str:
    verdicts = [str(case.verdict).replace("_", " ") for case in short.cases]
    tally = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    rates = [(f"pass@{k}", short.pass_at(k)), (f"pass^{k}", short.pass_hat(k))]
    several = any(case.runs > 1 for case in short.cases)
    shown = "".join(f", {name} {rate:.3f}" for name, rate in rates if several and rate is not None)
    missing = f", too few attempts for pass@{k}" if several and rates[0][1] is None else ""
    cost = [case.cost_cents for case in short.cases if case.cost_cents is not None]
    spent = f", median case {sorted(cost)[len(cost) // 2]:g} cents" if cost else ""
    return f"{tally}{shown}{missing}{spent}"


def print_comparison(compared: Comparison) -> None:
    """Print the differences between two runs, and between their releases."""
    for name, word in _KINDS:
        changes: Sequence[CaseChange] = getattr(compared, name)
        for change in changes[:_MOST_CASES]:
            output.line(
                f"{word}: {change.case.suite} {change.case.id}: {change.why}", tones={"worse:": "danger"}
            )
        if len(changes) > _MOST_CASES:
            output.line(f"{word}: {len(changes) - _MOST_CASES} more")
    for part in compared.release:
        output.line(f"release: {part.part}: {part.before.version} -> {part.after.version}")
    if compared.after.interrupted:
        ran, of = len(compared.after.cases), counted(len(compared.before.cases), "case")
        output.line(f"interrupted: {ran} of {of} ran, so no others are compared")
    elif not any(getattr(compared, name) for name, _ in _KINDS):
        output.line(f"no case differs from run {compared.before.id}")


def json_report(made: EvalRun, compared: Comparison | None, decided: GateResult) -> str:
    """The run in full, with the gate and what differs from the baseline."""
    from sb.evals.report import report_document

    document = report_document(made) | {
        "exit_code": int(decided.exit_code),
        "reasons": list(decided.reasons),
        "comparison": None if compared is None else comparison_document(compared),
    }
    return json_text(document, indent=2) + "\n"


def comparison_document(compared: Comparison) -> dict[str, Any]:
    """The differences between two runs, as plain JSON."""
    changes = {
        name: [
            {"suite": item.case.suite, "id": item.case.id, "why": item.why}
            for item in getattr(compared, name)
        ]
        for name, _ in _KINDS
    }
    release = [
        {"part": change.part, "before": change.before.version, "after": change.after.version}
        for change in compared.release
    ]
    return {"before": compared.before.id, "after": compared.after.id, **changes, "release": release}


def recordings(made: EvalRun) -> str:
    """The answers as lines, for `--agent recorded:FILE`: the first attempt of each case, unmasked."""
    from sb.evals.exchange.recording import Recording, recording_document

    documents = [
        recording_document(Recording(result.attempts[0].answer, result.id))
        for result in made.results
        if result.attempts
    ]
    return "".join(json_text(document) + "\n" for document in documents)
