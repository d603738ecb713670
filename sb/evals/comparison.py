"""Compare two runs of evals, and decide whether the gate holds."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from math import comb
from typing import NamedTuple

from sb.base.text import counted
from sb.base.values.frozen import frozen
from sb.errors import ContractError, ExitCode, UsageError
from sb.evals.results import CaseVerdict
from sb.evals.summary import CaseSummary, RunSummary
from sb.kernel.release_tuple.release import PartChange, ReleaseTuple, diff

SIGNIFICANT = 0.05  # fewer passes count as worse if equally good runs had them more rarely


class CaseChange(NamedTuple):
    """A case that differs between two runs; `before` or `after` is None where it was not in the run."""

    before: CaseSummary | None
    after: CaseSummary | None
    why: str

    @property
    def case(self) -> CaseSummary:
        case = self.after or self.before
        assert case is not None  # nobody makes a change of nothing
        return case


@frozen
class Comparison:
    """A run beside an earlier one.

    Args:
        regressed: cases that are worse, with the reason. fixed: that hold now, and did not.
        added, removed: that are in one of the runs only. skipped: that ran before and are skipped now.
        release: parts of the release that differ, where both are known.
    """

    before: RunSummary
    after: RunSummary
    regressed: tuple[CaseChange, ...] = ()
    fixed: tuple[CaseChange, ...] = ()
    added: tuple[CaseChange, ...] = ()
    removed: tuple[CaseChange, ...] = ()
    skipped: tuple[CaseChange, ...] = ()
    release: tuple[PartChange, ...] = ()


def gone_suites(run: RunSummary) -> frozenset[str]:
    """The suites of a run whose files are not there any more; their names are paths from the current folder."""
    return frozenset(name for name in run.suites if not os.path.exists(name))


def compare(
    before: RunSummary,
    after: RunSummary,
    *,
    gone: Collection[str] = (),
    partial: bool = False,
    max_cost_growth: float | None = None,
) -> Comparison:
    """Compare a run with an earlier one.

    Args:
        gone: suites that are not there any more, whose cases are removed; one that was not run again is left out.
        partial: only some cases were selected, so that a missing one is not removed.
        max_cost_growth: share by which a case may cost more than before; None for any.

    Raises:
        UsageError: the runs have no suite in common.
    """
    if before.suites and after.suites and not before.suites.keys() & after.suites.keys():
        raise UsageError(
            f"the baseline is of other suites: {', '.join(sorted(before.suites)[:3])}",
            "save one of these suites with --save-baseline",
        )
    old, new = before.by_key, after.by_key
    changes: dict[str, list[CaseChange]] = {name: [] for name in ("regressed", "fixed", "added", "skipped")}
    for key, case in new.items():
        was = old.get(key)
        if was is None:
            changes["added"].append(CaseChange(None, case, "new"))
        elif case.verdict is CaseVerdict.SKIPPED and was.verdict is not CaseVerdict.SKIPPED:
            changes["skipped"].append(CaseChange(was, case, f"{was.verdict} before"))
        elif why := regression(was, case, max_cost_growth):
            changes["regressed"].append(CaseChange(was, case, why))
        elif case.holds and case.counts and not was.holds:
            changes["fixed"].append(CaseChange(was, case, f"{was.verdict} before"))
    suites = {*after.suites, *gone}
    removed = () if partial or after.interrupted else tuple(_removed(old, new, suites))
    lists = {name: tuple(found) for name, found in changes.items()}
    return Comparison(before, after, removed=removed, release=_release(before, after), **lists)


def _removed(
    old: Mapping[tuple[str, str], CaseSummary],
    new: Mapping[tuple[str, str], CaseSummary],
    suites: Collection[str],
) -> Iterator[CaseChange]:
    """Cases of these suites that are not there any more."""
    for key, case in old.items():
        if key not in new and case.suite in suites:
            yield CaseChange(case, None, f"{case.verdict} before, removed")


def regression(before: CaseSummary, after: CaseSummary, max_cost_growth: float | None = None) -> str:
    """The reason why a case is worse than before, or ""."""
    if before.holds and not after.holds:
        return f"{before.verdict} before, {after.verdict} now"
    if not after.counts or not before.counts:
        return ""
    if fewer_passes(before, after) < SIGNIFICANT:
        return f"{after.passes} of {after.runs} attempts pass, {before.passes} of {before.runs} before"
    if max_cost_growth is None or before.cost_cents is None or after.cost_cents is None:
        return ""
    if after.cost_cents > before.cost_cents * (1 + max_cost_growth):
        return f"costs {after.cost_cents:g} cents, {before.cost_cents:g} before"
    return ""


def fewer_passes(before: CaseSummary, after: CaseSummary) -> float:
    """The chance of so few passes, or fewer, were both runs equally good (Fisher's exact test, one-sided)."""
    if after.passes >= before.passes and after.runs <= before.runs:
        return 1.0
    passes, runs = before.passes + after.passes, before.runs + after.runs
    fewest = max(0, after.runs - (runs - passes))
    ways = sum(
        comb(passes, count) * comb(runs - passes, after.runs - count)
        for count in range(fewest, after.passes + 1)
    )
    return ways / comb(runs, after.runs)


def _release(before: RunSummary, after: RunSummary) -> tuple[PartChange, ...]:
    if not before.release or not after.release:
        return ()
    try:
        old, new = (ReleaseTuple.from_document(run.release) for run in (before, after))
    except ContractError as error:
        raise UsageError(f"the baseline's release cannot be read: {error.message}") from error
    return tuple(diff(old, new))


class GateResult(NamedTuple):
    """Verdict on a run: the exit code of `sb agent eval`, and its reasons, a line for each."""

    exit_code: int
    reasons: tuple[str, ...]


def gate(
    run: RunSummary,
    comparison: Comparison | None = None,
    *,
    fail_under: float | None = None,
    max_regressions: int = 0,
    allow_removed: bool = False,
) -> GateResult:
    """Decide on a run; what is printed and the exit code both come from here.

    Args:
        comparison: with the baseline. With one, regressions decide, and `fail_under` only where it is given.
        fail_under: the smallest share of cases that must hold; by default all of them.
    """
    if run.interrupted:
        return GateResult(ExitCode.INTERRUPTED, ("interrupted: the report holds what had ended",))
    broken = [case for case in run.cases if case.verdict is CaseVerdict.ERROR]
    if broken:
        return GateResult(ExitCode.AGENT, (f"the agent could not be run for {counted(len(broken), 'case')}",))
    least = fail_under if fail_under is not None else (0.0 if comparison else 1.0)
    reasons = [*_below(run, least), *_worse(comparison, max_regressions, allow_removed)]
    return GateResult(ExitCode.FAILED if reasons else ExitCode.OK, tuple(reasons))


def _below(run: RunSummary, least: float) -> Iterator[str]:
    counting = [case for case in run.cases if case.counts]
    rate = run.pass_rate
    if rate is None:
        if least > 0:
            yield "no case ran that is expected to pass"
    elif rate < least:
        failing = len(counting) - sum(case.holds for case in counting)
        share = f"; at least {least:g} must hold" if least < 1 else ""
        yield f"{failing} of {counted(len(counting), 'case')} {'fails' if failing == 1 else 'fail'}{share}"


def _worse(comparison: Comparison | None, max_regressions: int, allow_removed: bool) -> Iterator[str]:
    if comparison is None:
        return
    removed = () if allow_removed else comparison.removed
    lost = len(comparison.regressed) + len(removed)
    if lost > max_regressions:
        parts = [counted(len(comparison.regressed), "regression")] if comparison.regressed else []
        if removed:
            parts.append(f"{counted(len(removed), 'case')} removed")
        yield f"{' and '.join(parts)}; {max_regressions} allowed"
