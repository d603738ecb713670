"""A kill stops what it names from the next call on, whoever threw it, and only an operator's decision lifts it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.errors import DeniedError, NotFoundError, SBError, UsageError
from sb.kernel import (
    KillScope,
    KillSwitch,
    RunContext,
    SafetyClass,
    ToolErrorCode,
    ToolExecutor,
    ToolRegistry,
)
from sb.kernel.authority.authority import Unauthorised
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label
from sb.kernel.incident_response.kill import parse_scope
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.log.kinds import KILL_LIFTED, KILL_THROWN
from tests.kernel.incident_response.conftest import ADA, Plant

TARGETS = {
    "global": "",
    "agent": "clerk",
    "tool": "plant.write",
    "class": "local_write",
}


@pytest.mark.parametrize("scope", TARGETS)
def test_a_kill_stops_what_it_names_and_nothing_else(plant: Plant, scope: str) -> None:
    plant.kill.throw(scope, TARGETS[scope], ADA, "pays twice")
    refused = plant.call()
    assert refused.error_code is ToolErrorCode.PERMISSION_DENIED
    assert (plant.facts()["rule"], plant.calls) == ("killed", [])
    for part in (TARGETS[scope], "ada", "pays twice"):
        assert part in refused.error_message
    assert plant.call("plant.send", "courier").success is (scope != "global")
    assert plant.call("plant.read", "courier").success is (scope != "global")


def test_a_run_is_killed_by_its_id(plant: Plant) -> None:
    ctx = plant.context()
    assert plant.executor.execute(ctx, "plant.write", {}).success
    plant.kill.throw("run", ctx.run_id, ADA, "loops")
    assert not plant.executor.execute(ctx, "plant.read", {}).success
    assert plant.call().success


def test_a_read_only_tool_that_writes_elsewhere_is_of_class_network(plant: Plant) -> None:
    plant.add("plant.post", SafetyClass.READ_ONLY, metadata={"side_effect_level": "external_write"})
    plant.kill.throw("class", "network", ADA, "the network is not ours")
    assert not plant.call("plant.post").success
    assert plant.call("plant.read").success


def test_a_kill_by_another_process_bites_on_the_next_call_and_its_lift_too(plant: Plant) -> None:
    other = plant.other_process()
    assert plant.call().success
    other.throw("agent", "clerk", ADA, "stop")
    assert not plant.call().success
    assert not plant.call("plant.read").success
    assert other.lift("agent", "clerk", ADA, "found it") is None
    assert plant.call().success
    assert plant.call("plant.read").success


def test_an_executor_without_a_database_can_be_stopped_too() -> None:
    registry = ToolRegistry()
    registry.register_fn("a.read", "Read", lambda: 1)
    executor = ToolExecutor(registry)
    ctx = RunContext.create("clerk")
    assert executor.execute(ctx, "a.read", {}).success
    KillSwitch(executor.event_log).throw("global", "", ADA, "stop")
    assert not executor.execute(ctx, "a.read", {}).success
    executor.kill.lift("global", "", ADA, "go on")
    assert executor.execute(ctx, "a.read", {}).success


def test_a_refused_call_keeps_no_budget_and_the_widest_kill_is_named(plant: Plant) -> None:
    plant.kill.throw("agent", "clerk", ADA, "narrow")
    plant.kill.throw("global", "", ADA, "wide")
    ctx = plant.context()
    assert "wide" in plant.executor.execute(ctx, "plant.write", {}).error_message
    assert ctx.budget.tool_calls_used == 0
    assert [kill.name for kill in plant.kill.active()] == ["agent:clerk", "global"]


def test_a_call_that_recovers_is_stopped_only_by_its_own_agent_or_run(plant: Plant) -> None:
    def stopped(scope: str, target: str) -> bool:
        plant.kill.throw(scope, target, ADA, "stop")
        found = plant.kill.check("recovery", "plant.write", SafetyClass.LOCAL_WRITE, "run_7", recovers=True)
        plant.kill.lift(scope, target, ADA, "go on")
        return found is not None

    for scope, target in TARGETS.items():
        assert not stopped(scope, target)
    assert stopped("agent", "recovery")
    assert stopped("run", "run_7")


def test_a_call_killed_while_it_waits_for_a_person_does_not_run(plant: Plant) -> None:
    waiting = plant.call("plant.drop").data["approval_id"]
    plant.executor.approvals.approve(waiting, ADA, "fine")
    plant.kill.throw("tool", "plant.drop", ADA, "not fine")
    assert "not fine" in plant.call("plant.drop").error_message
    assert plant.calls == []
    assert plant.executor.approvals.get(waiting).state == "approved"
    plant.kill.lift("tool", "plant.drop", ADA, "fine after all")
    assert plant.call("plant.drop").success


def test_nobody_is_asked_about_a_call_that_another_process_has_killed(plant: Plant) -> None:
    assert plant.call().success
    plant.other_process().throw("agent", "clerk", ADA, "stop")
    assert "was killed by ada" in plant.call("plant.drop").error_message
    assert plant.executor.approvals.page() == []


def test_a_call_killed_between_its_checks_and_its_intent_does_not_run(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = plant.executor.policy.evaluate

    def killed_meanwhile(*args: Any) -> Any:
        plant.other_process().throw("agent", "clerk", ADA, "just in time")
        return ask(*args)

    monkeypatch.setattr(plant.executor.policy, "evaluate", killed_meanwhile)
    ctx = plant.context()
    assert "just in time" in plant.executor.execute(ctx, "plant.write", {}).error_message
    assert (plant.calls, plant.executor.in_doubt(), ctx.budget.tool_calls_used) == ([], [], 0)
    assert plant.facts()["rule"] == "killed"


def test_a_failed_call_is_not_retried_once_it_is_killed(plant: Plant) -> None:
    def fail() -> None:
        plant.kill.throw("agent", "clerk", ADA, "enough", wait_s=0)
        raise ConnectionError("reset")

    plant.add("plant.flaky", SafetyClass.READ_ONLY, fail, max_retries=3)
    ended = plant.call("plant.flaky")
    assert plant.calls == ["plant.flaky"]
    assert ended.retries == 0
    assert "reset" in ended.error_message
    assert "not retried: agent clerk was killed by ada: enough" in ended.error_message


def test_what_cannot_be_read_stops_everything(plant: Plant) -> None:
    assert plant.call("plant.read").success
    with plant.log.database.write() as execute:
        execute("ALTER TABLE events RENAME TO gone")
    refused = plant.call("plant.read")
    assert refused.error_code is ToolErrorCode.PERMISSION_DENIED
    assert "cannot be told" in refused.error_message


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET payload = replace(payload, 'clerk', 'other')",
        "UPDATE events SET payload = NULL, salt = NULL",
        "UPDATE events SET at = at + 1",
    ],
)
def test_a_kill_that_was_edited_on_the_log_denies_every_call(plant: Plant, edit: str) -> None:
    plant.kill.throw("agent", "clerk", ADA, "stop")
    with plant.log.database.write() as execute:
        execute("DROP TRIGGER events_are_final")
        execute(f"{edit} WHERE kind = '{KILL_THROWN}'")
    fresh = Plant(plant.folder, plant.clock)
    assert not fresh.call("plant.read", "courier").success
    assert fresh.facts()["rule"] == "kill_unreadable"


def test_a_kill_that_is_cut_off_the_log_still_stops_a_running_process(plant: Plant) -> None:
    plant.kill.throw("agent", "clerk", ADA, "stop")
    assert not plant.call().success
    with plant.log.database.write() as execute:
        for (trigger,) in plant.log.database.query("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            execute(f"DROP TRIGGER {trigger}")
        execute(f"DELETE FROM events WHERE kind = '{KILL_THROWN}'")
    assert "vanished" in plant.call().error_message


def test_kills_and_lifts_outlive_pruning(plant: Plant) -> None:
    plant.kill.throw("agent", "clerk", ADA, "stop")
    plant.kill.throw("agent", "courier", ADA, "stop")
    plant.kill.lift("agent", "courier", ADA, "go on")
    prune(plant.log, before=plant.clock.now() + 1, reason="old")
    fresh = Plant(plant.folder, plant.clock)
    assert not fresh.call().success
    assert fresh.call(agent="courier").success
    assert verify(plant.log).problems == []


def test_anybody_may_stop_and_only_operators_lift(plant: Plant) -> None:
    ada = plant.enrol("ada")["ada"]
    plant.kill.throw("agent", "clerk", Label("passer-by"), "smoke")
    (kill,) = plant.kill.active()
    assert (kill.by, kill.signed) == ("passer-by", False)
    with pytest.raises(Unauthorised):
        plant.kill.lift("agent", "clerk", Label("passer-by"), "no smoke")
    assert not plant.call().success
    assert plant.kill.lift("agent", "clerk", ada, "no smoke") is None
    assert plant.call().success
    assert plant.kill.throw("global", "", ada, "drill").kill.signed


def test_a_forged_lift_does_not_lift_and_the_kill_says_so(plant: Plant) -> None:
    ada = plant.enrol("ada")["ada"]
    plant.kill.throw("agent", "clerk", ADA, "first")
    plant.kill.lift("agent", "clerk", ada, "over")
    lifted = next(iter(plant.log.events(kind=KILL_LIFTED))).payload or {}
    plant.kill.throw("agent", "clerk", ADA, "second")
    thrown = list(plant.log.events(kind=KILL_THROWN))[-1]
    unsigned = {**lifted["signed"]["statement"], "after": thrown.hash, "by": "ada", "key": ""}
    moved = {**lifted["signed"]["statement"], "after": thrown.hash}
    for forged in (
        lifted["signed"],
        {"statement": unsigned, "signature": ""},
        {"statement": moved, "signature": lifted["signed"]["signature"]},
        (thrown.payload or {})["signed"],
        {"statement": {"scope": "agent", "target": "clerk"}},
        "nonsense",
    ):
        plant.forge(KILL_LIFTED, forged)
        assert not plant.call().success
        assert not Plant(plant.folder, plant.clock).call().success
    (kill,) = plant.kill.active()
    assert kill.rejected
    assert plant.kill.lift("agent", "clerk", ada, "over again") is None
    assert plant.call().success


def test_a_kill_that_cannot_be_read_stops_everything_and_can_be_lifted(plant: Plant) -> None:
    plant.forge(KILL_THROWN, {"statement": {"scope": "planet"}})
    assert "cannot be read" in plant.call("plant.read").error_message
    assert plant.kill.lift("global", "", ADA, "it is a forgery") is None
    assert plant.call("plant.read").success


def test_a_lift_from_before_anybody_was_enrolled_still_counts(plant: Plant) -> None:
    plant.kill.throw("global", "", ADA, "stop")
    plant.kill.lift("global", "", ADA, "go on")
    plant.enrol("ada")
    assert plant.call().success
    assert Plant(plant.folder, plant.clock).call().success


def test_what_a_revoked_operator_lifted_is_stopped_again(plant: Plant) -> None:
    by = plant.enrol("ada", "bob")
    plant.kill.throw("agent", "clerk", ADA, "stop")
    plant.kill.lift("agent", "clerk", by["bob"], "go on")
    assert plant.call().success
    Enrolment(plant.authority, KeyFolder(plant.folder / "keys")).revoke("bob", by["ada"], "key lost")
    assert not plant.call().success
    assert "revoked key" in plant.kill.active()[0].rejected[0]


def test_operators_that_cannot_be_relied_on_lift_nothing(plant: Plant) -> None:
    ada = plant.enrol("ada")["ada"]
    plant.kill.throw("agent", "clerk", ADA, "stop")
    plant.kill.lift("agent", "clerk", ada, "go on")
    (plant.folder / "operators.json").write_text("not json")
    fresh = Plant(plant.folder, plant.clock)
    assert not fresh.call().success
    with pytest.raises(SBError):
        fresh.kill.active()
    assert fresh.kill.throw("agent", "courier", ADA, "stopping does not wait for that").running == ()


def test_a_lift_is_of_the_kill_that_was_shown_and_of_no_later_one() -> None:
    switch = KillSwitch(EventLog())
    shown = switch.throw("agent", "clerk", ADA, "a false alarm", wait_s=0).kill
    switch.lift("agent", "clerk", Label("grace"), "no alarm", number=shown.number)
    switch.throw("agent", "clerk", Label("grace"), "it stole", wait_s=0)
    with pytest.raises(DeniedError, match="it stole"):
        switch.lift("agent", "clerk", ADA, "no alarm", number=shown.number)
    assert [kill.reason for kill in switch.active()] == ["it stole"]


def test_under_dual_control_two_different_operators_lift(plant: Plant) -> None:
    switch = KillSwitch(plant.log, plant.authority, dual_control=True)
    switch.throw("agent", "alone", ADA, "nobody is enrolled")
    assert switch.lift("agent", "alone", ADA, "so one is enough") is None
    by = plant.enrol("ada", "bob")
    assert switch.throw("agent", "clerk", ADA, "stop").kill.people == 2
    waiting = switch.lift("agent", "clerk", by["ada"], "go on")
    assert waiting is not None
    assert waiting.lifted_by == ("ada",)
    with pytest.raises(DeniedError, match="another operator"):
        switch.lift("agent", "clerk", by["ada"], "go on!")
    plant.kill.throw("agent", "clerk", ADA, "by a process without that setting")
    assert plant.kill.active()[0].people == 2
    assert not plant.call().success
    assert switch.lift("agent", "clerk", by["ada"], "go on") is not None
    assert switch.lift("agent", "clerk", by["bob"], "I agree") is None
    assert plant.call().success


@pytest.mark.parametrize(
    ("scope", "target", "wrong"),
    [
        ("agnet", "x", 'did you mean "agent"'),
        ("agent", "", "needs a target"),
        ("global", "clerk", "has no target"),
        ("class", "local-write", 'did you mean "local_write"'),
        ("agent:clerk", "clerk", "given twice"),
        ("run", "x" * 301, "more than 300"),
    ],
)
def test_what_cannot_be_killed_is_refused(plant: Plant, scope: str, target: str, wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        plant.kill.throw(scope, target, ADA, "stop")


def test_a_reason_is_required_and_nothing_is_lifted_that_is_not_killed(plant: Plant) -> None:
    with pytest.raises(UsageError, match="reason"):
        plant.kill.throw("global", "", ADA, " \x1b[0m")
    with pytest.raises(NotFoundError, match="no kill of agent:clerk"):
        plant.kill.lift("agent", "clerk", ADA, "go on")
    assert parse_scope("tool:a:b") == (KillScope.TOOL, "a:b")


def test_secrets_in_a_reason_are_not_written_down(plant: Plant) -> None:
    plant.kill.throw("global", "", ADA, "leaked AKIAIOSFODNN7EXAMPLE")
    assert "AKIAIOSFODNN7EXAMPLE" not in plant.call().error_message
    rows = plant.log.database.query("SELECT payload FROM events")
    assert not any("AKIAIOSFODNN7EXAMPLE" in (row[0] or "") for row in rows)


def test_a_kill_names_the_calls_that_were_running_and_waits_for_their_end(tmp_path: Path) -> None:
    plant = Plant(tmp_path, SteeredClock())
    inside, go_on = threading.Event(), threading.Event()

    def work() -> None:
        inside.set()
        go_on.wait(60)

    plant.add("plant.slow", SafetyClass.LOCAL_WRITE, work, timeout_ms=60_000)
    caller = threading.Thread(target=plant.call, args=("plant.slow",))
    caller.start()
    assert inside.wait(60)
    for scope, target in (("global", ""), ("class", "local_write"), ("tool", "plant.slow")):
        thrown = plant.kill.throw(scope, target, ADA, "stop", wait_s=0)
        assert [intent.tool_id for intent in thrown.running] == ["plant.slow"]
    assert plant.kill.throw("class", "network", ADA, "stop", wait_s=0).running == ()
    assert plant.kill.throw("agent", "courier", ADA, "stop", wait_s=0).running == ()
    go_on.set()
    caller.join()
    assert plant.kill.throw("global", "", ADA, "stop", wait_s=0).running == ()


@pytest.mark.parametrize("round_number", range(3))
def test_with_16_threads_calling_none_starts_after_the_kill_was_acknowledged(
    tmp_path: Path, round_number: int
) -> None:
    log = EventLog(Plant(tmp_path, SteeredClock()).log.database)
    registry = ToolRegistry()
    started: list[float] = []
    registry.register_fn(
        "plant.write", "Write", lambda: started.append(time.perf_counter()), SafetyClass.LOCAL_WRITE
    )
    executor = ToolExecutor(registry, event_log=log)
    plant_context = Plant(tmp_path, SteeredClock()).context
    over, refused = threading.Event(), []

    def work() -> None:
        ctx = plant_context()
        while not over.is_set():
            result = executor.execute(ctx, "plant.write", {})
            if not result.success:
                refused.append(result.error_message)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    while len(started) < 50:
        time.sleep(0.005)
    other = Plant(tmp_path, SteeredClock()).other_process()
    thrown = KillSwitch(EventLog(other.log.database)).throw("agent", "clerk", ADA, "stop", wait_s=60)
    acknowledged = time.perf_counter()
    while len(refused) < 32:
        time.sleep(0.005)
    over.set()
    for thread in threads:
        thread.join()
    assert thrown.running == ()
    assert max(started) < acknowledged
    assert all("agent clerk was killed" in message for message in refused)


KEYS = [("global", ""), ("agent", "clerk"), ("agent", "courier"), ("tool", "plant.write"), ("run", "run_1")]
CALLS = [("clerk", "plant.write", "run_1"), ("courier", "plant.read", "run_2")]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(KEYS), st.booleans()), max_size=12))
def test_any_sequence_of_kills_and_lifts_leaves_what_was_thrown_and_not_lifted_since(
    steps: list[tuple[bool, tuple[str, str], bool]],
) -> None:
    log = EventLog()
    here, there = KillSwitch(log), KillSwitch(log)
    killed: set[tuple[str, str]] = set()
    for throws, key, elsewhere in steps:
        switch = there if elsewhere else here
        if throws:
            switch.throw(*key, ADA, "stop", wait_s=0)
            killed.add(key)
        elif key in killed:
            switch.lift(*key, ADA, "go on")
            killed.remove(key)
        else:
            with pytest.raises(NotFoundError):
                switch.lift(*key, ADA, "go on")
        for agent, tool_id, run_id in CALLS:
            fits = killed & {("global", ""), ("agent", agent), ("tool", tool_id), ("run", run_id)}
            found = here.check(agent, tool_id, SafetyClass.LOCAL_WRITE, run_id)
            assert (found is not None) == bool(fits)
    assert {(str(kill.scope), kill.target) for kill in here.active()} == killed
    assert here.active() == there.active() == KillSwitch(log).active()
