"""Replay: the calls that open_runtime put on record, judged again; what is not on record is never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.config.rules import PolicyRule
from sb.kernel import RunContext, SafetyClass, SafetyMode, ToolArgSchema, ToolPolicy, ToolSpec
from sb.kernel.authority.signing import Label
from sb.kernel.policy.rules import WrittenPolicy
from sb.kernel.review.explain import Judge
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.policy_replay import UNTOLD, Replay, replay
from sb.runtime import Runtime, open_runtime
from tests.conftest import CommandLine, approve_tools

CONFIG = """agents:
  clerk: {ceiling: destructive, permissions: [mail]}
  grace: {ceiling: destructive}
budget: {max_tool_calls: 1000}
"""


@pytest.fixture
def office(sb: CommandLine, home: Path) -> Iterator[Runtime]:
    sb("init")
    (home / "config.yaml").write_text(CONFIG)
    with open_runtime() as runtime:
        register(runtime)
        approve_tools(runtime)
        yield runtime


def register(runtime: Runtime) -> None:
    names = ("path", "to", "text", "pin")
    schema = [ToolArgSchema(name, "string", required=False, sensitive=name == "pin") for name in names]
    for tool_id, safety_class, permissions in (
        ("mail.read", SafetyClass.READ_ONLY, []),
        ("mail.write", SafetyClass.LOCAL_WRITE, []),
        ("mail.send", SafetyClass.NETWORK, ["mail"]),
    ):
        spec = ToolSpec(
            tool_id, tool_id, safety_class=safety_class, args_schema=schema, requires_permission=permissions
        )
        runtime.registry.register(spec, lambda **_: "done")


def call(runtime: Runtime, tool_id: str, agent: str = "clerk", mode: str = "normal", **args: str) -> Any:
    ctx = RunContext.create(agent, safety_mode=SafetyMode(mode))
    return runtime.executor.execute(ctx, tool_id, args)


def again(runtime: Runtime, *rules: PolicyRule, **more: Any) -> Replay:
    granted = {name: agent.permissions for name, agent in runtime.config.agents.items()}
    policy = ToolPolicy.normal(rules=WrittenPolicy(rules))
    return replay(runtime.log, Judge(policy, runtime.registry, granted), since=1, **more)


def rule(effect: str, tool: str, name: str = "rule", **args: str) -> PolicyRule:
    return PolicyRule(effect, (tool,), args={key: (value,) for key, value in args.items()}, name=name)


def nows(found: Replay) -> dict[str, str]:
    return {item.tool_id: item.now for item in found.changed}


def test_under_the_same_policy_every_call_ends_as_it_did(office: Runtime) -> None:
    assert call(office, "mail.write", path="a").success
    assert call(office, "mail.read").success
    assert not call(office, "mail.send", agent="grace").success, "it lacks the permission"
    assert not call(office, "mail.write", mode="safe").success
    assert not call(office, "mail.write", nonsense="x").success
    found = again(office)
    assert found.changed == []
    assert found.calls == {("allow", "allow"): 2, ("deny", "deny"): 2}
    assert found.skipped == 1, "no policy decides about arguments that the contract does not know"


def test_each_call_is_compared_once_with_what_would_become_of_it_now(office: Runtime) -> None:
    call(office, "mail.read", path="docs/../secrets/k")
    call(office, "mail.write", path="docs/a")
    call(office, "mail.send", to="x")
    found = again(
        office,
        rule("deny", "mail.read", path="secrets/*"),
        rule("approve", "*.send"),
        rule("allow", "mail.*"),
    )
    assert nows(found) == {"mail.read": "deny", "mail.send": "require_approval"}
    assert (found.total, found.differing, found.untold) == (3, 2, 0)
    assert again(office, rule("deny", "*"), agent="grace").total == 0
    assert again(office, rule("deny", "*"), tool_id="mail.send").total == 1
    few = again(office, rule("deny", "*"), limit=2)
    assert (len(few.changed), few.differing) == (2, 3)
    assert again(office, rule("deny", "*")).changed[0].tool_id == "mail.send", "newest first"


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("args", "rules", "now"),
    [
        ({"path": LONG}, [rule("deny", "*", path="*secret")], UNTOLD),
        ({"text": "token ghp_" + "a1B2" * 9}, [rule("deny", "*", text="*ghp_*")], UNTOLD),
        ({"path": LONG}, [rule("deny", "*", path="*characters)")], UNTOLD),
        ({"pin": "1234"}, [rule("deny", "*", pin="1234")], UNTOLD),
        ({"pin": "1234"}, [rule("allow", "*", pin="*")], UNTOLD),
        ({"pin": "1234"}, [rule("deny", "*", path="*")], "allow"),
        ({"path": LONG, "to": "ada"}, [rule("deny", "*", path="*secret", to="eve")], "allow"),
        ({"path": LONG, "to": "eve"}, [rule("deny", "*", path="*secret", to="eve")], UNTOLD),
        ({"path": LONG}, [rule("deny", "*", "b"), rule("deny", "*", path="*secret")], "deny"),
        ({"path": LONG}, [rule("approve", "*", "b"), rule("approve", "*", path="*t")], "require_approval"),
        ({"path": LONG}, [rule("approve", "*", "b"), rule("deny", "*", path="*t")], UNTOLD),
        ({"path": LONG}, [rule("approve", "*", "b"), rule("allow", "*", path="*t")], "require_approval"),
        ({"path": LONG}, [rule("allow", "other.*"), rule("deny", "*", "b", path="*t")], "deny"),
        ({"path": LONG}, [rule("allow", "other.*"), rule("allow", "*", "b", path="*t")], UNTOLD),
        ({"path": LONG, "to": "e"}, [rule("deny", "*", "b", path="*t"), rule("deny", "*", to="e")], "deny"),
    ],
)
def test_what_hangs_on_a_changed_argument_cannot_be_told_and_the_rest_can(
    office: Runtime, args: dict[str, str], rules: list[PolicyRule], now: str
) -> None:
    assert call(office, "mail.read", **args).success
    found = again(office, *rules)
    assert found.calls == {("allow", now): 1}
    assert found.untold == (now == UNTOLD)


def test_an_argument_whose_name_was_redacted_may_be_any(office: Runtime) -> None:
    office.registry.register_fn("mail.any", "Any", lambda **_: None)
    name = "ghp_" + "a1B2" * 9
    assert call(office, "mail.any", **{name: "x"}).success
    assert nows(again(office, rule("deny", "*", **{name: "x"}))) == {"mail.any": UNTOLD}


def test_a_denial_under_a_mode_that_was_pruned_is_not_guessed(office: Runtime) -> None:
    ctx = RunContext.create("clerk", safety_mode=SafetyMode.SAFE)
    office.executor.execute(ctx, "mail.read")
    prune(office.log, before=office.log.clock.now() + 1, reason="retention")
    assert not office.executor.execute(ctx, "mail.write").success
    assert again(office).calls == {("deny", UNTOLD): 1}


def test_a_tool_that_is_gone_is_judged_by_its_class_on_record(office: Runtime, sb: CommandLine) -> None:
    call(office, "mail.write")
    call(office, "mail.send", agent="grace")
    with open_runtime() as without_them:
        found = again(without_them, PolicyRule("deny", ("*",), classes=("local_write",), name="writes"))
    assert nows(found) == {"mail.write": "deny", "mail.send": UNTOLD}, "a refusal has no class on record"


def test_rows_whose_payload_was_pruned_are_counted_and_not_guessed(office: Runtime) -> None:
    call(office, "mail.write")
    prune(office.log, before=office.log.clock.now() + 1, reason="retention")
    call(office, "mail.read")
    found = again(office, rule("deny", "*"))
    assert (found.pruned, found.total) == (2, 1)


def test_the_log_names_every_rule_that_sent_a_call_to_a_person(office: Runtime, home: Path) -> None:
    (home / "config.yaml").write_text(
        CONFIG + "policy:\n  - {approve: mail.write, name: writes}\n  - {approve: '*', name: all}\n"
    )
    with open_runtime() as runtime:
        register(runtime)
        refused = call(runtime, "mail.write")
        assert not refused.success
        runtime.approvals.approve(refused.data["approval_id"], Label("ada"), "it is right")
        done = call(runtime, "mail.write")
        assert done.success
        named = [
            (event.payload or {}).get("approval_rules")
            for reference in (refused.call_id, done.call_id)
            for event in runtime.log.events(call_id=reference)
        ]
    assert named == [["writes", "all"], ["writes", "all"], None], "refusal, intent, outcome"
    assert again(office).calls == {("require_approval", "allow"): 2}
    assert again(office, rule("approve", "mail.*")).changed == []


def test_the_commands_do_not_guess_either(office: Runtime, sb: CommandLine, home: Path) -> None:
    office.executor.execute(RunContext.create("clerk"), "files.list", {"path": "x" * 5000 + "/secret"})
    draft = home / "draft.yaml"
    draft.write_text("policy:\n  - deny: files.list\n    args: {path: '*secret'}\n")
    replayed = sb("kernel", "policy", "replay", "--file", str(draft))
    assert "allow -> cannot be told: path is not on record as it was" in replayed.out
    assert "0 of 1 calls would end differently; 1 cannot be judged" in replayed.err
    found = sb("kernel", "policy", "replay", "--file", str(draft), "--json").json
    assert (found["differing"], found["untold"], found["pruned"]) == (0, 1, 0)
    asked = sb("kernel", "policy", "explain", found["items"][0]["call_id"], "--file", str(draft))
    assert "warning: path was not recorded in full, so this may be wrong" in asked.err
