"""Charters and intents where they bite: when a run starts, on each call of a program or host, and on memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.config.home import Home
from sb.errors import ConfigError, DeniedError
from sb.kernel.agent_charter.charters import CharterState
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.contracts import ToolErrorCode, ToolResult
from sb.log.kinds import RUN_STARTED, TOOL_DISPATCH
from sb.runtime import Runtime
from sb.store.database import open_database
from tests.kernel.boundaries.conftest import ADA, CLERK, Office

DENIED = ToolErrorCode.PERMISSION_DENIED


def call(
    runtime: Runtime, tool: str = "shop.read", intent: str = "refund.issue", agent: str = "clerk", **more: Any
) -> ToolResult:
    return runtime.executor.execute(runtime.context(agent, intent), tool, {}, **more)


def test_a_charter_counts_once_it_is_approved_and_again_once_its_change_is(office: Office) -> None:
    path = office.write(CLERK)
    with office.open() as runtime:
        first = call(runtime)
        office.approve(runtime)
        second = call(runtime)
        path.write_text(CLERK.replace("refund.*", "refund.*, refund.odd"), encoding="utf-8")
        third = call(runtime)
        with pytest.raises(ConfigError, match=r"its version is 1\.0\.0 as before"):
            office.approve(runtime)
        path.write_text(CLERK.replace("1.0.0", "1.0.1"), encoding="utf-8")
        office.approve(runtime)
        fourth = call(runtime)
    assert (first.error_code, third.error_code) == (DENIED, DENIED)
    assert "was never approved; an operator can approve it: sb agent charter approve" in first.error_message
    assert "changed since it was approved" in third.error_message
    assert (second.success, fourth.success, office.ran) == (True, True, ["shop.read"] * 2)


@pytest.mark.parametrize(
    ("tool", "intent", "why"),
    [
        ("shop.read", "refund.large", "denies intent refund.large"),
        ("shop.read", "payout", "does not allow intent payout"),
        ("shop.read", "", "does not allow intent unstated"),
        ("mail.send", "refund.issue", "outside the namespaces"),
        ("shop.wipe", "refund.issue", "above the ceiling"),
    ],
)
def test_what_a_charter_does_not_allow_is_refused_and_not_run(
    office: Office, tool: str, intent: str, why: str
) -> None:
    office.write(CLERK)
    with office.open() as runtime:
        office.approve(runtime)
        result = call(runtime, tool, intent)
        refused = [event.payload for event in runtime.log.events(kind=TOOL_DISPATCH)]
    assert (result.error_code, office.ran) == (DENIED, [])
    assert why in result.error_message
    assert [str(item["rule"]).startswith("charter_") for item in refused if item] == [True]


@pytest.mark.parametrize(
    "intent", ["refund.ok" + "x" * 100 + ".large", "Refund.Large", "refund.large ", "refund.a\nb"]
)
def test_another_spelling_of_an_intent_passes_by_no_denial(office: Office, intent: str) -> None:
    office.write(
        CLERK.replace("[refund.*, note.read]", '["*"]').replace("[refund.large]", '["*.large", "*evil"]')
    )
    with office.open() as runtime:
        office.approve(runtime)
        assert call(runtime, intent="refund.small").success
        result = call(runtime, intent=intent)
    assert (result.error_code, "is no name" in result.error_message) == (DENIED, True)


def test_an_agent_without_a_charter_is_refused_under_enforce_and_noted_under_observe(office: Office) -> None:
    with office.open() as runtime:
        assert call(runtime, agent="stranger").error_code == DENIED
    with office.open(agent_charters="observe") as runtime:
        assert call(runtime, agent="stranger").success
        noted = list(runtime.log.events(kind=TOOL_DISPATCH))[-1].payload or {}
    assert noted["charter_would_refuse"] == "charter_missing"


def test_a_run_that_its_charter_refuses_does_not_start_and_is_on_record(office: Office) -> None:
    office.write(CLERK)
    with office.open() as runtime:
        office.approve(runtime)
        ctx = runtime.context("clerk", "refund.large")
        with pytest.raises(DeniedError, match="denies intent"), runtime.executor.run(ctx):
            office.ran.append("inside")
        with runtime.run("clerk", "refund.issue") as allowed:
            pass
        kinds = [(event.kind, event.payload or {}) for event in runtime.log.events(run_id=ctx.run_id)]
        started = next(runtime.log.events(run_id=allowed.run_id, kind=RUN_STARTED)).payload or {}
    assert office.ran == []
    assert [kind for kind, _ in kinds] == ["kernel.run.started", "kernel.run.finished"]
    assert kinds[1][1]["error"] == "refused: charter_intent"
    assert (started["intent_name"], started["charter_version"]) == ("refund.issue", "1.0.0")


def test_the_intent_of_a_call_counts_before_that_of_its_run_and_is_on_its_outcome(office: Office) -> None:
    office.write(CLERK)
    with office.open(intents=("refund.issue", "refund.large", "note.read")) as runtime:
        office.approve(runtime)
        ctx = runtime.context("clerk", "refund.issue")
        results = [
            runtime.executor.execute(ctx, "shop.refund", {}, intent=intent)
            for intent in ("note.read", "", "refund.large", "refund.odd")
        ]
        runtime.executor.execute(ctx, "shop.unknown", {}, intent="note.read")
        outcomes = [event.payload or {} for event in runtime.log.events(kind=TOOL_DISPATCH)]
    named = [outcome["intent_name"] for outcome in outcomes if outcome["phase"] == "outcome"]
    assert [result.error_code for result in results] == [None, None, DENIED, ToolErrorCode.VALIDATION_ERROR]
    assert named == ["note.read", "refund.issue"]
    refused = [outcome["intent_name"] for outcome in outcomes if outcome["phase"] == "refused"]
    assert refused == ["refund.large", "unregistered", "note.read"]
    assert "'refund.odd' is not registered" in results[3].error_message


def test_registered_intents_need_no_charters(office: Office) -> None:
    with office.open(agent_charters="off", intents=("note.read",)) as runtime:
        codes = [call(runtime, intent=intent).error_code for intent in ("note.read", "", "note.write")]
        outcomes = [event.payload or {} for event in runtime.log.events(kind=TOOL_DISPATCH)]
    assert codes == [None, None, ToolErrorCode.VALIDATION_ERROR]
    assert [outcome["intent_name"] for outcome in outcomes if outcome["phase"] == "outcome"] == [
        "note.read",
        "unstated",
    ]


def test_what_is_off_is_on_no_record(office: Office) -> None:
    with office.open(agent_charters="off") as runtime:
        assert call(runtime).success
        assert runtime.executor.boundaries is None
        payloads = [event.payload or {} for event in runtime.log.events()]
    assert not any({"intent_name", "charter"} & set(payload) for payload in payloads)


def test_a_host_is_held_to_its_charter_with_the_default_intent(office: Office) -> None:
    charter = CLERK.replace("agent: clerk", "agent: claude-code").replace("[shop]", "[host]")
    office.write(charter + "", "claude-code")
    announce: dict[str, Any] = {"step": "toolu_1"}
    with office.open() as runtime:
        office.approve(runtime, "claude-code")
        host = {"host": "claude-code", "intent_unstated": True}
        ctx = runtime.context("claude-code", "claude-code session", metadata=host)
        args = {"tool": "Read", "input": {}}
        refused = runtime.executor.external.announce(ctx, "host.read", args, **announce)
        with_default = charter.replace("  deny:", "  default: note.read\n  deny:").replace("1.0.0", "1.1.0")
        office.write(with_default, "claude-code")
        office.approve(runtime, "claude-code")
        allowed = runtime.executor.external.announce(ctx, "host.read", args, **announce)
        office.write(with_default.replace("[host]", "[shop]").replace("1.1.0", "1.2.0"), "claude-code")
        office.approve(runtime, "claude-code")
        outside = runtime.executor.external.announce(ctx, "host.read", args, step="toolu_2")
    assert (refused.rule, allowed.success, outside.rule) == ("charter_intent", True, "charter_capabilities")


def test_memory_outside_of_the_data_scopes_is_neither_written_nor_read(office: Office) -> None:
    office.write(CLERK.replace("[global, ", "["))
    with office.open(agent_charters="off") as runtime:
        runtime.brain("clerk", scope="global").remember(
            "the door code is taped to the door", category="lesson"
        )
    with office.open() as runtime:
        office.approve(runtime)
        with pytest.raises(DeniedError, match="outside the data scopes"):
            runtime.brain("clerk", scope="project:other")
        brain = runtime.brain("clerk", scope="project:shop")
        with pytest.raises(DeniedError, match="outside the data scopes"):
            brain.remember("x is y", scope="project:other")
        brain.remember("the shop closes at nine", category="lesson")
        assert [hit.content for hit in brain.search("shop closes")] == ["the shop closes at nine"]
        assert brain.search("door code taped") == []


def test_a_stack_gives_a_core_only_the_data_scopes_of_its_charter(office: Office) -> None:
    office.write(CLERK)
    with office.open(agent_charters="off") as runtime:
        for scope in ("project:shop", "project:other"):
            runtime.brain("ada", scope=scope).remember(f"The door code of {scope} is taped to the door.")
    with office.open() as runtime:
        office.approve(runtime)
        found = {}
        for core in ("clerk", "stranger", ""):
            stack = runtime.stack()
            if core:
                stack.on_attach(core)
                stack.read_from(core, "project:shop")
            found[core] = [hit.content for hit in stack.search("door code taped")]
        clerk = runtime.stack()
        clerk.on_attach("clerk")
        clerk.read_from("clerk", "project:other")
        outside = clerk.search("door code taped")
    assert found == {
        "clerk": ["The door code of project:shop is taped to the door."], "stranger": [], "": []
    }  # fmt: skip
    assert outside == []


def test_sync_looks_again_at_what_a_changed_charter_shares(office: Office, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    open_database(other, clock=office.clock).close()
    narrow = CLERK.replace("[global, ", "[")
    office.write(narrow)
    with office.open(agent_charters="off") as runtime:
        for scope in ("project:shop", "global"):
            runtime.brain("ada", scope=scope).remember(f"The door code of {scope} is taped to the door.")
    with office.open() as runtime:
        office.approve(runtime)
        stack = runtime.stack(remote=other)
        stack.on_attach("clerk")
        pushed = [stack.sync().pushed, stack.sync().pushed]
        office.write(CLERK.replace("1.0.0", "1.1.0"))
        office.approve(runtime)
        pushed += [stack.sync().pushed, stack.sync().pushed]
    assert pushed == [1, 0, 1, 0]


def test_a_charter_whose_owner_left_does_not_count(office: Office, tmp_path: Path) -> None:
    office.write(CLERK)
    with office.open() as runtime:
        enrolment = Enrolment(runtime.approvals.authority, KeyFolder(Home(office.home.folder).keys))
        boss = enrolment.init("boss", None)
        assert boss is not None
        enrolment.add("ana", "", boss, "owns the clerk")
        charters = office.charters(runtime)
        charters.approve("clerk", "", boss, "reviewed")
        assert charters.entry("clerk").state is CharterState.APPROVED
        enrolment.revoke("ana", boss, "left")
        entry = charters.entry("clerk")
        refused = call(runtime)
    assert (entry.state, refused.error_code) == (CharterState.OWNER_LEFT, DENIED)
    assert "its owner ana is no operator any more" in refused.error_message


def test_a_label_cannot_approve_a_charter_once_an_operator_is_enrolled(office: Office) -> None:
    office.write(CLERK)
    with office.open() as runtime:
        Enrolment(runtime.approvals.authority, KeyFolder(office.home.keys)).init("boss", None)
        with pytest.raises(DeniedError):
            office.charters(runtime).approve("clerk", "", ADA, "reviewed")
        assert call(runtime).error_code == DENIED


def test_a_charter_that_changed_since_it_was_shown_is_not_approved(office: Office) -> None:
    office.write(CLERK)
    with office.open() as runtime:
        charters = office.charters(runtime)
        shown = charters.entry("clerk").charter
        office.write(CLERK.replace("deny: [refund.large]", "deny: [refund.x]"))
        assert shown is not None
        with pytest.raises(ConfigError, match="has changed since it was shown"):
            charters.approve("clerk", shown.fingerprint, ADA, "reviewed")
