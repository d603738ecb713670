"""`sb outcome`: runs are judged, listed and shown, and what is not known ends as elsewhere."""

from __future__ import annotations

from sb.config import current_config
from sb.kernel.review.runs import first_events, runs_at
from sb.runtime import open_runtime
from sb.runtime.parts import open_log
from tests.conftest import CommandLine
from tests.kernel.incident_response.test_kill_cli import call, enrol


def runs() -> dict[str, str]:
    """The runs on record by their agents."""
    log = open_log(current_config())
    return {run.agent: run.run_id for run in runs_at(log, first_events(log)).values()}


def test_runs_are_judged_listed_and_shown(sb: CommandLine) -> None:
    sb("init")
    assert sb("outcome", "list").err == "no judgements\n"
    assert call().success
    assert call("courier").success
    first, second = runs()["clerk"], runs()["courier"]
    accepted = sb("outcome", "accept", first, "--workflow", "notes", "--intent", "keep")
    assert accepted.code == 0
    assert accepted.out.startswith(f"{first} of clerk: accepted by local:")
    assert "no operator is enrolled, so this is unsigned" in accepted.err
    rejected = sb("outcome", "reject", second[:12], "--reason", "wrong file", "--json").json
    assert (rejected["run_id"], rejected["accepted"], rejected["reason"]) == (second, False, "wrong file")
    sb("outcome", "accept", second)
    listed = sb("outcome", "list", "--json").json["items"]
    assert [(it["run_id"], it["accepted"]) for it in listed] == [(second, True), (first, True)]
    assert len(sb("outcome", "list", "--all", "--json").json["items"]) == 3
    for option, wanted in ({"--agent": "clerk", "--workflow": "notes", "--intent": "keep"}).items():
        (item,) = sb("outcome", "list", option, wanted, "--json").json["items"]
        assert item["run_id"] == first
    assert sb("outcome", "list", "--by", "nobody").err == "no judgements\n"
    assert len(sb("outcome", "list", "--since", "1h", "--json").json["items"]) == 2
    assert "showing 1 of 2" in sb("outcome", "list", "--limit", "1").err
    assert "wrong file" in sb("outcome", "show", second).out
    assert f"rejected {second}: wrong file" in sb("log", "tail").out


def test_unknown_runs_and_unsigned_judgements_are_refused(sb: CommandLine) -> None:
    sb("init")
    call()
    (run,) = runs().values()
    for verb in ("accept", "reject", "show"):
        refused = sb("outcome", verb, "run_ffffffffffffffff")
        assert (refused.code, refused.out) == (sb("incident", "show", "inc_x").code, "")
        assert refused.err.startswith("sb: error: no run or session 'run_ffffffffffffffff' in the log")
    enrol()
    assert sb("outcome", "accept", run, "--as", "grace").code == 4
    assert sb("outcome", "accept", run).code == 0
    (item,) = sb("outcome", "list", "--json").json["items"]
    assert (item["by"], item["signed"]) == ("ada", True)


def test_report_and_outcome_are_printed(sb: CommandLine) -> None:
    sb("init")
    assert sb("tokenomics", "report").err == "no runs on record\n"
    with open_runtime() as runtime:
        for intent, cents in (("support.refund", 42), ("support.refund", 58), ("other", 0)):
            with runtime.run("clerk", intent) as ctx:
                ctx.budget.spend(cost_usd_cents=cents, prompt_tokens=100, cached_tokens=50)
        run = ctx.run_id
    sb("outcome", "accept", run)
    printed = sb("tokenomics", "report")
    assert printed.code == 0
    assert [line.split()[:2] for line in printed.out.splitlines()[1:]] == [
        ["support.refund", "2"],
        ["other", "1"],
        ["all", "3"],
    ]
    assert "$1.00 or more" in printed.out
    assert "cost of 2 runs: reported\ncost of 1 run unknown: no cost was reported\n" in printed.err
    assert "per trusted outcome: - as the cost of 1 of 3 is not known" in printed.err
    found = sb("tokenomics", "report", "--by", "agent", "--since", "1h", "--json").json
    (item,) = found["items"]
    assert (item["name"], item["outcomes"], item["cost_cents"], item["accepted"]) == ("clerk", 3, 100, 1)
    assert item["cost_per_trusted_outcome_cents"] is None
    shown = sb("outcome", "show", run)
    assert f"{run}: accepted by local:" in shown.out
    assert "cost: unknown (no cost was reported)" in shown.out
    document = sb("outcome", "show", run, "--json").json
    assert (document["trusted"], document["compliant"], document["grounded"]) == (False, True, None)
    assert document["outcome"]["input_tokens"] == 100
    assert sb("tokenomics", "report", "--by", "color").code == 2
