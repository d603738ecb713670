"""A function or tool that cannot be undone waits for a person, who answers once for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sb.kernel import (
    ReversalClass,
    ReversalSpec,
    RunContext,
    SafetyClass,
    ToolCallRefused,
    ToolExecutor,
    ToolRegistry,
    governed,
    register_governed,
)
from sb.kernel.authority.signing import Label
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools
from tests.rows import rows

ADA = Label("ada")


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with open_runtime() as opened:
        yield opened


def note_tool(
    safety_class: SafetyClass, reversal: ReversalSpec | None = None, tool_id: str = "notes.keep"
) -> Callable[[str], str]:
    @governed(safety_class=safety_class, tool_id=tool_id, reversal=reversal)
    def keep(text: str) -> str:
        return text

    return keep


def approved(runtime: Runtime, *functions: Callable[..., Any]) -> None:
    register_governed(runtime.registry, *functions)
    approve_tools(runtime)


def test_writing_and_sending_without_undo_asks_once_for_each_agent(runtime: Runtime) -> None:
    for number, safety_class in enumerate((SafetyClass.LOCAL_WRITE, SafetyClass.NETWORK)):
        keep = note_tool(safety_class)
        runtime.registry.unregister("notes.keep")
        approved(runtime, keep)
        with runtime.run("clerk"):
            with pytest.raises(ToolCallRefused, match=r"notes\.keep cannot be undone") as refused:
                keep("milk")
            runtime.approvals.approve(refused.value.approval_id, ADA, "notes may stay")
            assert [keep("milk"), keep("tea")] == ["milk", "tea"]
        with runtime.run("clerk"):
            assert keep("bread") == "bread"
        with runtime.run("mallory"), pytest.raises(ToolCallRefused, match="cannot be undone"):
            keep("milk")
        grants = [grant for grant in runtime.approvals.grants() if grant.state == "active"]
        assert len(grants) == number + 1


@pytest.mark.parametrize("source", ["python", "tools: shop_tools", "plugin weather 1.0", "sb"])
def test_a_tool_of_others_without_undo_asks_as_a_function_does(source: str, home: object) -> None:
    with open_runtime() as runtime:
        with runtime.registry.source(source):
            spec = runtime.registry.register_fn("mail.send", "Send", lambda: "sent", SafetyClass.NETWORK)
        runtime.baselines.seen.note_all(runtime.registry)
        runtime.baselines.approve({"mail.send": spec.contract_fingerprint()}, ADA, "it only sends")
        ctx = runtime.context("clerk")
        first = runtime.executor.execute(ctx, "mail.send", {})
        assert first.success is (source == "sb")
        if source != "sb":
            assert "mail.send cannot be undone: it declares no reversal" in first.error_message
            runtime.approvals.approve(first.data["approval_id"], ADA, "mails may stay")
            assert [runtime.executor.execute(ctx, "mail.send", {}).data for _ in range(2)] == ["sent"] * 2
        assert runtime.executor.execute(runtime.context("mallory"), "mail.send", {}).success is (
            source == "sb"
        )


def test_a_revoked_grant_and_a_denial_refuse(runtime: Runtime) -> None:
    keep = note_tool(SafetyClass.LOCAL_WRITE)
    approved(runtime, keep)
    with runtime.run("clerk"):
        with pytest.raises(ToolCallRefused) as refused:
            keep("milk")
        runtime.approvals.approve(refused.value.approval_id, ADA, "notes may stay")
        keep("milk")
        (grant,) = runtime.approvals.grants()
        runtime.approvals.revoke(grant.id, ADA, "no more")
        with pytest.raises(ToolCallRefused) as refused:
            keep("tea")
        runtime.approvals.deny(refused.value.approval_id, ADA, "no")
        with pytest.raises(ToolCallRefused):
            keep("tea")


def test_another_contract_is_asked_about_anew(runtime: Runtime) -> None:
    approved(runtime, first := note_tool(SafetyClass.LOCAL_WRITE))
    with runtime.run("clerk"):
        with pytest.raises(ToolCallRefused) as refused:
            first("milk")
        runtime.approvals.approve(refused.value.approval_id, ADA, "notes may stay")
        first("milk")
    runtime.registry.unregister("notes.keep")
    approved(runtime, second := note_tool(SafetyClass.NETWORK))
    with runtime.run("clerk"), pytest.raises(ToolCallRefused, match="cannot be undone"):
        second("milk")


@rows("row", ["undone", "read", "leaves nothing"])
def test_what_can_be_undone_or_leaves_nothing_asks_nobody(row: str, home: object) -> None:
    undone = ReversalSpec(
        ReversalClass.COMPENSABLE, compensation_capability="notes.drop", reversal_args={"text": "args.text"}
    )

    @governed(safety_class=SafetyClass.LOCAL_WRITE, tool_id="notes.drop")
    def drop(text: str) -> None: ...

    keep = {
        "undone": note_tool(SafetyClass.LOCAL_WRITE, undone, "notes.undone"),
        "read": note_tool(SafetyClass.READ_ONLY, tool_id="notes.read"),
        "leaves nothing": note_tool(
            SafetyClass.NETWORK, ReversalSpec(ReversalClass.REVERSIBLE), "notes.sent"
        ),
    }[row]
    with open_runtime() as runtime:
        approved(runtime, keep, drop)
        with runtime.run("clerk"):
            assert keep("milk") == "milk"


def test_what_people_irreversibly_agree_to_call_by_call_stays_so(runtime: Runtime) -> None:
    keep = note_tool(SafetyClass.NETWORK, ReversalSpec(ReversalClass.IRREVERSIBLE))
    approved(runtime, keep)
    with runtime.run("clerk"):
        for _ in range(2):
            with pytest.raises(ToolCallRefused, match="cannot be undone") as refused:
                keep("milk")
            runtime.approvals.approve(refused.value.approval_id, ADA, "this one")
            assert keep("milk") == "milk"
    assert runtime.approvals.grants() == []


def test_an_executor_of_ones_own_asks_as_the_specification_says() -> None:
    keep = note_tool(SafetyClass.LOCAL_WRITE)
    registry = ToolRegistry()
    register_governed(registry, keep)
    executor = ToolExecutor(registry, reversibility="enforce")
    with executor.run(RunContext.create("clerk")):
        assert keep("milk") == "milk"
