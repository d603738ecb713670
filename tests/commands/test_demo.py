"""`sb demo`: a refund whose reason turns false, told from the log, and reversed by whoever looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.errors import ContractError
from sb.kernel.authority.signing import Label
from sb.kernel.recovery_loop.escalations import EscalationState
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.review.log_verification import verify
from sb.kernel.run_context import RunContext
from sb.operator.demo.ledger import Ledger
from sb.operator.demo.story import Demo, approve_tools, demo_config, go_on, play, prepare
from sb.operator.demo.tools import TOOLS, ledger_of, register
from sb.runtime import open_runtime
from sb.runtime.parts import open_log
from tests.commands.test_commands import ROWS
from tests.conftest import CommandLine


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Demo:
    """A demo that was played, in whose home commands run."""
    place = tmp_path / "demo"
    place.mkdir()
    found = play(place)
    monkeypatch.setenv("SB_HOME", str(found.home))
    return found


def test_the_demo_tells_from_the_log_what_happened(sb: CommandLine, tmp_path: Path) -> None:
    done = sb("demo", str(tmp_path / "demo"))
    assert done.code == 0
    lines = (
        "started     clerk started a run: refund what was asked for",
        "ok          clerk: orders.read(order=1002)",
        "started     clerk: payments.issue_refund(order=1002, amount=4900)",
        "refused     clerk: payments.issue_refund(order=1003, amount=8900): the blast radius",
        "started     clerk: files.write(path=summary.md",
        "refused     clerk: http.get",
        "refused     clerk: shop.label(order=1001): the contract of shop.label changed",
        "asked       clerk: shop.mail(order=1002, text=Your refund is on its way.): shop.mail cannot be undone",
        "asked       clerk: shell.run",
        "refused     clerk: files.write",
        "clerk finished the run, 4 of 4 calls used",
        "Then the warehouse ships order 1002 all the same.",
        'assumption order_not_shipped:1002 turned false: orders.read: state is "shipped", not "refund asked"',
        "reversal    payments.issue_refund",
        "asked       recovery: payments.reverse_refund(refund_id=ref_1)",
        f"The log is whole: {ROWS} rows",
        "order 1002 is shipped, 49.00 of 49.00 refunded",
        'recovery wants payments.reverse_refund refund_id="ref_1", since order_not_shipped:1002 turned false',
        "clerk wants rm -rf exports",
        "clerk wants shop.mail order=1002",
        "shop.label is changed",
    )
    position = 0
    for line in lines:
        position = done.out.find(line, position)
        assert position >= 0, f"{line!r} is not told, or not in its place"
    shop = tmp_path / "demo" / "shop"
    assert (shop / "summary.md").read_text("utf-8") == "Grace (1002) has her refund of 49.00.\n"
    assert (shop / "exports" / "2025.csv").exists()
    assert not (shop / "done.md").exists()


def test_every_line_of_the_demo_is_one_of_sb_audit(
    sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = sb("demo", str(tmp_path / "demo")).out
    rows = [line for line in out.splitlines() if line[:6].strip().isdigit()]
    monkeypatch.setenv("SB_HOME", str(tmp_path / "demo" / "home"))
    assert sb("log", "tail", "--limit", "0").out.splitlines()[-len(rows) :] == rows
    assert len(rows) == ROWS - 4


def test_as_json_it_is_the_same_rows(sb: CommandLine, tmp_path: Path) -> None:
    found = sb("demo", str(tmp_path / "demo"), "--json").json
    assert [item["seq"] for item in found["items"]] == list(range(5, ROWS + 1))
    assert found["verified"]["ok"] is True
    assert found["run_id"] == found["items"][0]["run_id"]


def test_the_demo_refuses_a_folder_that_is_in_use(sb: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = sb("demo", str(tmp_path))
    assert (done.code, "not an empty folder" in done.err) == (2, True)


def test_the_commands_that_the_demo_names_reverse_the_refund(
    sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = sb("demo", str(tmp_path / "demo")).out
    monkeypatch.setenv("SB_HOME", str(tmp_path / "demo" / "home"))
    named = [line.split(" # ")[0].split()[1:] for line in out.splitlines() if " # " in line]
    dry_run = next(words for words in named if words[0] == "undo")
    approve = next(words for words in named if words[:2] == ["recovery", "approve"])
    assert "would take ref_1 back" in sb(*dry_run).out
    (waiting,) = sb("recovery", "list", "--json").json["items"]
    assert (waiting["id"], waiting["standing"]) == (approve[2], "waiting")
    assert "payments.issue_refund was undone" in sb(*approve[:3], "--reason", "it shipped").out
    order = sb("kernel", "run", "orders.read", "--agent", "clerk", "--args", '{"order": 1002}')
    assert order.json["refunded"] == 0
    assert "nothing to recover" in sb("recovery", "list").err
    assert sb(*dry_run).code == 1, "it was undone"
    assert "was reversed before" in sb(*approve[:3], "--reason", "again").err
    assert sb("log", "verify").code == 0


def test_nobody_is_asked_twice_about_the_same_reason(sb: CommandLine, story: Demo) -> None:
    assert sb("recovery", "watch", "--once").out == ""
    assert len(sb("recovery", "list", "--all", "--json").json["items"]) == 1


def test_a_refund_is_left_alone_until_its_order_ships(tmp_path: Path) -> None:
    home, _ = prepare(tmp_path)
    with open_runtime(demo_config(home)) as runtime:
        approve_tools(runtime, TOOLS)
        ctx = RunContext.create("clerk")
        assert runtime.executor.execute(ctx, "payments.issue_refund", {"order": 1002, "amount": 100}).success
        looked, decisions = runtime.watch()
        assert (looked.checked, looked.false, decisions) == (1, [], [])
        Ledger(ledger_of(home)).ship(1002)
        looked, decisions = runtime.watch()
        assert [event.assumption_ref for event in looked.false] == ["order_not_shipped:1002"]
        assert [(record.action, record.mode) for record in decisions] == [("escalated", "human")]


def test_what_was_approved_in_the_console_is_reversed_once_it_is_left(sb: CommandLine, story: Demo) -> None:
    with open_runtime(demo_config(story.home)) as runtime:
        for approval in runtime.approvals.page():
            runtime.approvals.approve(approval.id, Label("ada"), "it shipped")
        assert story.ledger.refunded(1002) == 4900, "an approval alone moves no money"
    go_on(story)
    assert story.ledger.refunded() == 0
    assert not (story.folder / "exports").exists()
    assert "shop.mail" in sb("approvals", "grants").out, "one yes answers for later mails of this agent"
    with open_runtime(demo_config(story.home)) as runtime:
        (escalation,) = runtime.recovery.escalations.page(everything=True)
        assert (escalation.state, escalation.decided_by) == (EscalationState.REVERSED, "ada")
        assert verify(runtime.log).ok
    replayed = sb("kernel", "policy", "replay", "--json").json
    assert replayed["items"] == [], "that recovery asked was not the policy's doing"


def test_what_nobody_decided_stays_as_it_is(story: Demo) -> None:
    go_on(story)
    assert story.ledger.refunded() == 4900
    assert (story.folder / "exports").exists()
    log = open_log(demo_config(story.home))
    assert verify(log).ok
    log.close()


def test_the_clerk_may_not_reverse_a_refund_and_may_refund_once_a_run(story: Demo) -> None:
    with open_runtime(demo_config(story.home)) as runtime:
        ctx = RunContext.create("clerk")
        back = runtime.executor.execute(ctx, "payments.reverse_refund", {"refund_id": "ref_1"})
        assert back.error_code == "PERMISSION_DENIED"
        much = runtime.executor.execute(ctx, "payments.issue_refund", {"order": 1003, "amount": 5001})
        assert (much.error_code, "max_value_per_run" in much.error_message) == ("BUDGET_EXCEEDED", True)
        wrong = runtime.executor.execute(ctx, "payments.issue_refund", {"order": 1002, "amount": 1})
        assert (wrong.error_code, "0 are left of order 1002" in wrong.error_message) == (
            "VALIDATION_ERROR",
            True,
        )
        absent = runtime.executor.execute(ctx, "payments.issue_refund", {"order": 7, "amount": 1})
        assert absent.error_code == "NOT_FOUND"
        once = runtime.executor.execute(ctx, "payments.issue_refund", {"order": 1003, "amount": 1})
        again = runtime.executor.execute(ctx, "payments.issue_refund", {"order": 1003, "amount": 1})
        assert (once.success, again.error_code) == (True, "BUDGET_EXCEEDED")
    assert story.ledger.refunded() == 4901


def test_the_shop_stands_beside_a_home_and_takes_no_file_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="beside a home"):
        register(ToolRegistry())
    ledger = Ledger.create(tmp_path / "ledger.db", [])
    with pytest.raises(FileExistsError):
        Ledger.create(ledger.path, [])


def test_what_the_demos_agent_decided_is_found_in_its_memory(
    sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sb("demo", str(tmp_path / "demo")).code == 0
    monkeypatch.setenv("SB_HOME", str(tmp_path / "demo" / "home"))
    (found,) = sb("memory", "search", "why was 1002 refunded", "--json").json["items"]
    assert found["details"]["rationale"] == "Grace asked for it, and it had not shipped"
