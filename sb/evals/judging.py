"""Verdicts on answers, attempts and cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sb.evals.answer import Answer
from sb.evals.results import Attempt, CaseResult, CaseVerdict
from sb.evals.suite import Case
from sb.kernel.trajectory_eval.grading import grade


def judge(case: Case, answer: Answer) -> Attempt:
    """Hold one answer to all that its case demands."""
    if answer.error:
        return Attempt(answer, False, (answer.error,))
    failures = [
        match.line or matcher.kind for matcher in case.matchers if not (match := matcher.match(answer)).ok
    ]
    graded = None if case.trajectory is None else grade(case.trajectory, answer.calls)
    if graded is not None and not graded.passed:
        failures.append(graded.line)
    failures += _cost(case, answer)
    return Attempt(answer, not failures, tuple(failures), graded)


def _cost(case: Case, answer: Answer) -> Iterator[str]:
    limit = case.max_cost_cents
    if limit is None:
        return
    if answer.cost_cents is None:
        yield f"[max_cost_cents] the agent does not say what it cost; at most {limit:g} cents are allowed"
    elif answer.cost_cents > limit:
        yield f"[max_cost_cents] it cost {answer.cost_cents:g} cents; at most {limit:g} are allowed"


def attempts_of(case: Case, repeat: int | None = None) -> tuple[int, int]:
    """Attempts of a case, and how many have to pass: its own numbers, or for another number of runs."""
    if repeat is None or repeat == case.repeat:
        return case.repeat, case.min_pass
    return repeat, -(-case.min_pass * repeat // case.repeat)  # rounded up


def case_result(suite: str, case: Case, attempts: Sequence[Attempt], needed: int) -> CaseResult:
    """The verdict on a case whose attempts are all made; on one that is skipped there are none."""
    return CaseResult(
        suite,
        case.id,
        _verdict(case, attempts),
        tuple(attempts),
        needed,
        case.skip or case.xfail,
        case.tags,
        case.trajectory,
        case.vars,
    )


def _verdict(case: Case, attempts: Sequence[Attempt]) -> CaseVerdict:
    if case.skip:
        return CaseVerdict.SKIPPED
    if any(attempt.answer.error for attempt in attempts):
        return CaseVerdict.ERROR
    passes = sum(attempt.passed for attempt in attempts)
    if case.xfail:
        return CaseVerdict.UNEXPECTED if passes == len(attempts) else CaseVerdict.EXPECTED
    if passes == len(attempts):
        return CaseVerdict.PASSED
    return CaseVerdict.FLAKY if passes else CaseVerdict.FAILED
