"""Guarantees of a gate that compares a run of evals with an earlier one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.errors import ExitCode, UsageError
from sb.evals.comparison import compare, fewer_passes, gate, regression
from sb.evals.results import CaseVerdict
from sb.evals.summary import CaseSummary, RunSummary, baseline_text, read_summary
from sb.kernel.release_tuple.release import PARTS, ReleasePart, ReleaseTuple

SUITE = "evals/refund.yaml"


def case(name: str = "refund", passes: int = 1, runs: int = 1, **changed: object) -> CaseSummary:
    verdict = CaseVerdict.PASSED if passes == runs else CaseVerdict.FLAKY if passes else CaseVerdict.FAILED
    made = CaseSummary(SUITE, name, verdict, passes == runs, passes, runs, None, 0.1, None)
    return replace(made, **changed)  # type: ignore[arg-type]


def run(*cases: CaseSummary, **changed: object) -> RunSummary:
    made = RunSummary("eval_1", 1.0, "python:shop:run", cases, {SUITE: "d1"})
    return replace(made, **changed)  # type: ignore[arg-type]


def skipped(name: str = "refund") -> CaseSummary:
    return case(name, 0, 0, verdict=CaseVerdict.SKIPPED, holds=True)


def test_a_case_that_passed_and_fails_now_is_a_regression_and_the_gate_fails() -> None:
    comparison = compare(run(case()), run(case(passes=0)))
    assert [change.why for change in comparison.regressed] == ["passed before, failed now"]
    decided = gate(comparison.after, comparison)
    assert decided == (ExitCode.FAILED, ("1 regression; 0 allowed",))
    assert gate(comparison.after, comparison, max_regressions=1).exit_code == ExitCode.OK


def test_a_case_that_failed_before_holds_nobody_up_with_a_baseline_and_does_without_one() -> None:
    failing = run(case(passes=0))
    assert gate(failing, compare(failing, failing)).exit_code == ExitCode.OK
    assert gate(failing).exit_code == ExitCode.FAILED
    assert gate(failing, compare(failing, failing), fail_under=0.5).reasons == (
        "1 of 1 case fails; at least 0.5 must hold",
    )


def test_a_case_that_was_removed_counts_as_a_regression_unless_told() -> None:
    comparison = compare(run(case("kept"), case("gone", 0)), run(case("kept")))
    assert [change.case.id for change in comparison.removed] == ["gone"]
    assert gate(comparison.after, comparison).reasons == ("1 case removed; 0 allowed",)
    assert gate(comparison.after, comparison, allow_removed=True).exit_code == ExitCode.OK


def test_a_case_that_was_not_selected_is_not_removed() -> None:
    before = run(case("kept"), case("other"))
    assert compare(before, run(case("kept")), partial=True).removed == ()
    elsewhere = replace(case("else"), suite="evals/files.yaml")
    whole = run(case("kept"), elsewhere, suites={SUITE: "d1", "evals/files.yaml": "d2"})
    assert compare(whole, run(case("kept"))).removed == ()


def test_new_fixed_and_skipped_cases_are_listed() -> None:
    before = run(case("fixed", 0), case("skipped"))
    comparison = compare(before, run(case("fixed"), skipped("skipped"), case("new", 0)))
    assert [change.case.id for change in comparison.fixed] == ["fixed"]
    assert [change.case.id for change in comparison.skipped] == ["skipped"]
    assert [change.case.id for change in comparison.added] == ["new"]
    assert comparison.regressed == ()


def test_fewer_passes_of_a_case_that_may_fail_are_a_regression_only_if_chance_does_not_explain_them() -> None:
    often = case(passes=20, runs=20)
    assert regression(often, case(passes=14, runs=20, holds=True)) == (
        "14 of 20 attempts pass, 20 of 20 before"
    )
    assert regression(often, case(passes=18, runs=20, holds=True)) == ""


@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 12), st.integers(1, 12))
def test_the_chance_of_fewer_passes_is_one_and_falls_with_every_pass_that_is_missing(
    a: int, c: int, n: int, m: int
) -> None:
    a, c = min(a, n), min(c, m)
    chances = [fewer_passes(case(passes=a, runs=n), case(passes=count, runs=m)) for count in range(m + 1)]
    assert all(0 <= chance <= 1 for chance in chances)
    assert chances == sorted(chances)
    assert chances[m] == pytest.approx(1.0)
    assert chances[c] <= 1


def test_the_chance_is_that_of_fishers_exact_test() -> None:
    # The lady tasting tea (Fisher 1935): of 8 cups 4 and 4, one wrong of each: P(at most 1 of 4) = 17/70.
    assert fewer_passes(case(passes=3, runs=4), case(passes=1, runs=4)) == pytest.approx(17 / 70)


def test_a_case_may_cost_more_only_within_the_share_that_is_given() -> None:
    cheap, dear = case(cost_cents=10.0), case(cost_cents=13.0)
    assert regression(cheap, dear) == ""
    assert regression(cheap, dear, max_cost_growth=0.2) == "costs 13 cents, 10 before"
    assert regression(cheap, dear, max_cost_growth=0.3) == ""


def test_an_agent_that_could_not_be_run_has_a_code_of_its_own_and_an_interruption_too() -> None:
    broken = run(case(passes=0, verdict=CaseVerdict.ERROR), case("other", 0))
    assert gate(broken).exit_code == ExitCode.AGENT
    assert gate(replace(broken, interrupted=True)).exit_code == ExitCode.INTERRUPTED


def test_a_run_of_which_nothing_counts_does_not_pass() -> None:
    assert gate(run(skipped())).reasons == ("no case ran that is expected to pass",)


def test_a_baseline_of_other_suites_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the baseline is of other suites: evals/files.yaml"):
        compare(run(case(), suites={"evals/files.yaml": "d"}), run(case()))


def release(**changed: str) -> dict[str, dict[str, str]]:
    parts = {name: ReleasePart.of(name, changed.get(name, "same")) for name in PARTS}
    return ReleaseTuple(**parts).document()


def test_what_changed_in_the_release_stands_beside_what_broke() -> None:
    before, after = run(case(), release=release()), run(case(passes=0), release=release(prompt="new"))
    assert [change.part for change in compare(before, after).release] == ["prompt"]
    assert compare(run(case()), after).release == ()


def test_of_k_attempts_one_passes_or_all_do_as_the_papers_have_it() -> None:
    flaky = run(case(passes=1, runs=2), case("sure", 2, 2))
    assert flaky.pass_at(1) == pytest.approx(0.75)
    assert flaky.pass_at(2) == 1.0
    assert flaky.pass_hat(2) == 0.5
    assert flaky.pass_hat(3) is None


def test_a_baseline_says_what_the_run_said() -> None:
    before = run(
        case(score=0.5, cost_cents=2.0), case("flaky", 1, 2), skipped("later"), seed=7, release=release()
    )
    assert read_summary(baseline_text(before).encode(), "b.json") == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no report of evals"),
        (b"[" * 100_000, "no report of evals"),
        (b'{"format": "other"}', "no report of evals"),
        (b'{"format": "sb-agent-eval", "version": 2}', "a report of version 2; read is 1"),
        (b'{"format": "sb-agent-eval", "version": 1}', "a report with wrong fields: KeyError"),
        (baseline_text(run(case())).replace('"passes": 1', '"passes": 9').encode(), "9 of 1 attempts"),
        (baseline_text(run(case())).replace('"passed"', '"perfect"').encode(), "perfect"),
        (baseline_text(run(case())).encode()[:-40], "no report of evals"),
    ],
)
def test_a_baseline_that_is_none_is_refused_by_its_name(content: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=f"b.json.*{said}"):
        read_summary(content, "b.json")
