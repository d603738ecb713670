"""A run of evals in short: what a baseline holds, and what two runs are compared by."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from math import comb
from statistics import fmean, median
from typing import Any

from sb import __version__
from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.evals.results import CaseResult, CaseVerdict, EvalRun

FORMAT = "sb-agent-eval"
VERSION = 1
OF_THE_LOG = "run:"  # what the agent's name begins with where a run of the log was graded
LONGEST = 256 << 20  # bytes of a report; 10 000 cases of ten calls take some 30 MB
_COMPARED = (CaseVerdict.PASSED, CaseVerdict.FAILED, CaseVerdict.FLAKY, CaseVerdict.ERROR)


@frozen
class CaseSummary:
    """One case of a run.

    Args:
        runs: how many attempts were made. passes: how many of them passed. holds: whether a gate lets it pass.
        score: of its trajectory, the mean over its attempts; None where it has none.
        seconds, cost_cents: the median attempt's; None where nobody knows.
    """

    suite: str
    id: str
    verdict: CaseVerdict
    holds: bool
    passes: int
    runs: int
    score: float | None = None
    seconds: float | None = None
    cost_cents: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.suite, self.id

    @property
    def counts(self) -> bool:
        """True if it says anything about the agent: it ran, and was expected to pass."""
        return self.verdict in _COMPARED


@frozen
class RunSummary:
    """One run.

    Args:
        id, at: its id, and seconds since the epoch. agent: the agent as it was named, masked.
        suites: digest of each suite by its name. release: the release tuple as a document; empty if unknown.
    """

    id: str
    at: float
    agent: str
    cases: tuple[CaseSummary, ...]
    suites: Mapping[str, str] = field(default_factory=dict)
    release: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    interrupted: bool = False

    @cached_property
    def by_key(self) -> Mapping[tuple[str, str], CaseSummary]:
        """The cases by suite and id."""
        return {case.key: case for case in self.cases}

    @property
    def pass_rate(self) -> float | None:
        """The share of cases that hold, of those that count; None if none does."""
        counting = [case for case in self.cases if case.counts]
        return sum(case.holds for case in counting) / len(counting) if counting else None

    @property
    def holding(self) -> str:
        """The cases that hold, of those that count: `8 of 10 hold`."""
        counting = [case for case in self.cases if case.counts]
        return f"{sum(case.holds for case in counting)} of {len(counting)} hold"

    def pass_at(self, k: int) -> float | None:
        """pass@k: the chance that of k attempts at least one passes, the mean over cases (Chen et al. 2021, eq. 1)."""
        return self._mean(k, lambda n, c: 1 - comb(n - c, k) / comb(n, k))

    def pass_hat(self, k: int) -> float | None:
        """pass^k: the chance that k attempts all pass, the mean over cases (tau-bench, Yao et al. 2024)."""
        return self._mean(k, lambda n, c: comb(c, k) / comb(n, k))

    def _mean(self, k: int, chance: Any) -> float | None:
        rated = [chance(case.runs, case.passes) for case in self.cases if case.counts and case.runs >= k > 0]
        return fmean(rated) if rated else None


def summary(run: EvalRun) -> RunSummary:
    """The run in short."""
    return RunSummary(
        run.id,
        run.at,
        run.agent,
        tuple(map(_case, run.results)),
        dict(run.suites),
        dict(run.release),
        run.seed,
        run.interrupted,
    )


def _case(result: CaseResult) -> CaseSummary:
    scores = [attempt.grade.score for attempt in result.attempts if attempt.grade is not None]
    answers = [attempt.answer for attempt in result.attempts]
    costs = [answer.cost_cents for answer in answers if answer.cost_cents is not None]
    return CaseSummary(
        result.suite,
        result.id,
        result.verdict,
        result.holds,
        result.passes,
        len(result.attempts),
        fmean(scores) if scores else None,
        median(answer.seconds for answer in answers) if answers else None,
        median(costs) if costs else None,
    )


def command_again(suites: Iterable[str], agent: str, case_id: str = "") -> str:
    """The command that runs suites again by an agent, as runs name it, or of one suite one case."""
    recorded = agent.startswith(OF_THE_LOG)
    words = ["sb", "agent", "eval", "run", *suites, "--from-run" if recorded else "--agent"]
    words.append(agent.removeprefix(OF_THE_LOG) if recorded else agent)
    return shlex.join([*words, *(["-k", case_id] if case_id else [])])


def head_document(run: RunSummary) -> dict[str, Any]:
    """The report's part on the run as a whole."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "sb": __version__,
        "id": run.id,
        "at": run.at,
        "agent": run.agent,
        "seed": run.seed,
        "interrupted": run.interrupted,
        "pass_rate": run.pass_rate,
        "suites": dict(sorted(run.suites.items())),
        "release": dict(run.release),
    }


def case_document(case: CaseSummary) -> dict[str, Any]:
    """The report's part on a case."""
    return vars(case) | {"verdict": str(case.verdict)}


def baseline_text(run: RunSummary) -> str:
    """A document to commit: a line for each case, so that a diff shows what changed."""
    head = json.dumps(head_document(run), indent=2, ensure_ascii=True)
    cases = ",\n".join("    " + json.dumps(case_document(case), ensure_ascii=True) for case in run.cases)
    return head.removesuffix("\n}") + ',\n  "cases": [\n' + cases + "\n  ]\n}\n"


def read_summary(content: bytes, name: str) -> RunSummary:
    """A run from its baseline, or from its full report.

    Args:
        name: of the file, for messages.

    Raises:
        UsageError: it is neither, or of a newer version.
    """
    return summary_of(read_report(content, name), name)


def read_report(content: bytes, name: str) -> dict[str, Any]:
    """The document of a baseline or a report.

    Raises:
        UsageError: it is neither, or of a newer version.
    """
    hint = "give what `sb agent eval` wrote with --json or --save-baseline"
    if len(content) > LONGEST:
        raise UsageError(f"{name}: longer than any report of evals", hint)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: no report of evals: {one_line(error, 100)}", hint) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f"{name}: no report of evals", hint)
    if document.get("version") != VERSION:
        raise UsageError(
            f"{name}: a report of version {one_line(document.get('version'), 20)}; read is {VERSION}"
        )
    return document


def summary_of(document: Mapping[str, Any], name: str) -> RunSummary:
    """The run of a document; raises UsageError if its fields are not those of a report."""
    try:
        cases = tuple(map(_read_case, document["cases"]))
        return RunSummary(
            str(document["id"]),
            float(document["at"]),
            str(document["agent"]),
            cases,
            {str(suite): str(digest) for suite, digest in document["suites"].items()},
            dict(document["release"]),
            int(document["seed"]),
            bool(document["interrupted"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"{name}: a report with wrong fields: {one_line(repr(error), 100)}") from None


def _read_case(document: Mapping[str, Any]) -> CaseSummary:
    passes, runs = int(document["passes"]), int(document["runs"])
    if not 0 <= passes <= runs:
        raise ValueError(f"{passes} of {runs} attempts passed")
    return CaseSummary(
        str(document["suite"]),
        str(document["id"]),
        CaseVerdict(document["verdict"]),
        bool(document["holds"]),
        passes,
        runs,
        *(_number(document[name]) for name in ("score", "seconds", "cost_cents")),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
