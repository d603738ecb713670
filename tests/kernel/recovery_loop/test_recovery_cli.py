"""`sb undo` and `sb recovery`: what a person types, what it prints, and how it ends."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.config import current_config
from sb.kernel.review.runs import first_events, runs_at
from sb.runtime.parts import open_log
from tests.conftest import CommandLine
from tests.kernel.recovery_loop.conftest import Shop, approve
from tests.rows import rows

TOOLS = """
from sb.kernel.contracts import Assumption, ReversalClass, ReversalSpec, SafetyClass

def pay(amount, hang=False, idempotency_key=""):
    if hang:
        raise TimeoutError("no answer")
    return {"id": "p1"}

def register(registry):
    with registry.source("sb"):  # or a person is asked, since it declares no undo
        registry.register_fn("bank.note", "Note", lambda: 1, SafetyClass.LOCAL_WRITE)
    registry.register_fn("bank.pay", "Pay", pay, SafetyClass.NETWORK, max_retries=0, reversal=ReversalSpec(
        ReversalClass.COMPENSABLE, "bank.back", reversal_args={"id": "result.id"}, reversal_window_ms=3_600_000,
        assumptions=(Assumption("paid_once", "bank.count", {}, "n", 1),), probe_capability="bank.find"))
    registry.register_fn("bank.back", "Give back", lambda id: {"back": id}, SafetyClass.NETWORK)
    registry.register_fn("bank.count", "Count", lambda: {"n": 2})
    registry.register_fn("bank.find", "Find", lambda key: {"done": True, "result": {"id": "p1"}})
"""


@pytest.fixture
def files(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the home's file tools; beside it a bank, in the configuration of this process."""
    (tmp_path / "cli_bank.py").write_text(TOOLS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "files"
    folder.mkdir()
    home.mkdir(mode=0o700)
    config = f"files:\n  roots: [{folder}]\ntools: ['cli_bank:register']\n"
    (home / "config.yaml").write_text(config, encoding="utf-8")
    shop = Shop(home, folder, SteeredClock())
    from sb.runtime import open_runtime

    with open_runtime() as shop.runtime:
        approve(shop.runtime)
    return folder


def run(sb: CommandLine, tool: str, **args: object) -> dict[str, object]:
    done = sb("kernel", "run", tool, "--agent", "clerk", "--args", json.dumps(args), "--json")
    found: dict[str, object] = done.json
    return found


def test_the_last_write_is_undone(sb: CommandLine, files: Path) -> None:
    shown = sb("kernel", "run", "files.write", "--agent", "clerk", "--args", '{"path": "f", "content": "x"}')
    assert "sb undo mut_" in shown.err
    look = sb("undo", "--dry-run")
    assert (look.code, "would delete" in look.out) == (0, True)
    refused = sb("undo")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert (files / "f").exists()
    done = sb("undo", "--yes", "--json")
    assert (done.code, done.json["items"][0]["state"]) == (0, "reversed")
    log = sb("log", "tail").out
    assert "  undo of files.write (call_" in log
    assert "RECOVERY" not in log, "nobody is asked for what a person does"
    assert not (files / "f").exists()
    nothing = sb("undo", "--yes")
    assert (nothing.code, "nothing to undo" in nothing.err) == (1, True)


def test_one_write_is_undone_by_its_id_or_its_calls(sb: CommandLine, files: Path) -> None:
    first, second = (run(sb, "files.write", path=name, content="x") for name in ("a", "b"))
    assert sb("undo", str(first["mutation_id"]), "--yes", "--reason", "not that one").code == 0
    assert sb("undo", str(second["call_id"]), "--yes").code == 0
    assert list(files.iterdir()) == []
    listed = sb("undo", "--list", "--json").json["items"]
    assert [item["state"] for item in listed] == ["reversed", "reversed"]
    assert "files.write" in sb("undo", "--list").out


def test_a_preview_and_its_undo_are_one_run_which_ends(sb: CommandLine, files: Path) -> None:
    made = run(sb, "files.write", path="a", content="x")
    assert sb("undo", str(made["mutation_id"]), "--dry-run").code == 0
    assert sb("undo", str(made["mutation_id"]), "--yes").code == 0
    with closing(open_log(current_config())) as log:
        runs = [item for item in runs_at(log, first_events(log)).values() if item.agent == "recovery"]
    assert [(item.intent, item.state) for item in runs] == [
        (f"preview or undo {made['mutation_id']}", "finished")
    ] * 2


def test_kernel_run_offers_no_undo_that_cannot_work(sb: CommandLine, files: Path) -> None:
    write = sb("kernel", "run", "files.write", "--args", '{"path": "a", "content": "x"}')
    assert ": sb undo mut_" in write.err
    noted = sb("kernel", "run", "bank.note")
    assert (": no undo: bank.note declares no undo" in noted.err, "sb undo" in noted.err) == (True, False)


def test_a_run_is_undone_and_what_stays_is_said(sb: CommandLine, files: Path) -> None:
    made = run(sb, "files.write", path="a", content="x")
    (files / "a").write_text("mine", encoding="utf-8")
    stays = sb("undo", "--run", str(made["run_id"])[:10], "--yes")  # an unambiguous beginning
    assert (stays.code, "was changed since" in stays.err) == (1, True)
    (files / "a").write_text("x", encoding="utf-8")
    assert sb("undo", "--run", str(made["run_id"]), "--yes").code == 0


def test_a_run_that_is_undone_names_its_calls_in_doubt(sb: CommandLine, files: Path) -> None:
    doubtful = run(sb, "bank.pay", amount=1, hang=True)
    run_id, call_id = str(doubtful["run_id"]), str(doubtful["call_id"])
    alone = sb("undo", "--run", run_id, "--yes")
    assert (alone.code, f"sb recovery settle {call_id}" in alone.err) == (1, True)
    write = ("kernel", "run", "files.write", "--agent", "clerk", "--run", run_id)
    assert sb(*write, "--args", '{"path": "f", "content": "x"}').code == 0
    look = sb("undo", "--run", run_id, "--dry-run")
    assert (look.code, f"{call_id} has an unknown outcome" in look.err, "would delete" in look.out) == (
        1,
        True,
        True,
    )
    rest = sb("undo", "--run", run_id, "--yes")
    assert (rest.code, f"{call_id} has an unknown outcome" in rest.err, "removed f" in rest.out) == (
        1,
        True,
        True,
    )
    assert not (files / "f").exists()


@rows(
    "words, code",
    [
        (("undo", "mut_1_abcd"), 1),
        (("undo", "\x1b[31m"), 1),
        (("undo", "--run", "run_0000000000000000"), 1),
        (("undo", "--list", "--run", "run_0000000000000000"), 1),
        (("undo", "mut_1_abcd", "--run", "run_0000000000000000"), 2),
        (("recovery", "show", "esc_0"), 1),
        (("recovery", "show", "mut_99999999999999999999_abcd"), 1),
        (("undo", "mut_99999999999999999999_abcd"), 1),
        (("recovery", "approve", "esc_0", "--reason", "r"), 1),
        (("recovery", "approve", "esc_0"), 2),
        (("recovery", "dismiss", "esc_0", "--reason", " "), 2),
        (("recovery", "settle", "call_0"), 1),
        (("recovery", "settle", "call_0", "perhaps", "--reason", "r"), 1),
        (("recovery", "invalidate", "x"), 2),
    ],
)
def test_bad_input_is_one_line_and_no_traceback(
    sb: CommandLine, files: Path, words: tuple[str, ...], code: int
) -> None:
    done = sb(*words)
    assert done.code == code
    assert done.err.startswith("sb: error: ")
    assert "\x1b" not in done.err
    assert "Traceback" not in done.err


def test_what_a_look_finds_is_listed_shown_and_approved(sb: CommandLine, files: Path) -> None:
    assert "nothing to recover" in sb("recovery", "list").err
    made = run(sb, "bank.pay", amount=5)
    looked = sb("recovery", "watch", "--once")
    assert f"escalated {made['mutation_id']}: paid_once turned false" in looked.out
    escalation = sb("recovery", "list", "--json").json["items"][0]["id"]
    assert "waiting" in sb("recovery", "list").out
    shown = sb("recovery", "show", escalation).out
    assert "bank.back" in shown
    assert "paid_once turned false" in shown
    done = sb("recovery", "approve", escalation, "--reason", "it was paid twice", "--json")
    assert (done.code, done.json["state"]) == (0, "reversed")
    assert done.err.startswith("approving bank.back id="), "before a passphrase is asked for"
    assert sb("recovery", "list", "--json").json["items"] == []
    assert sb("recovery", "list", "--all", "--json").json["items"][0]["standing"] == "reversed"
    assert sb("log", "verify").code == 0


def test_one_is_dismissed(sb: CommandLine, files: Path) -> None:
    run(sb, "bank.pay", amount=5)
    outcome = sb("recovery", "invalidate", "paid_once", "--reason", "the bank called")
    escalation = sb("recovery", "list", "--json").json["items"][0]["id"]
    assert "escalated" in outcome.out
    left = sb("recovery", "dismiss", escalation, "--reason", "they may keep it")
    assert (left.code, left.out.startswith("Left as it is: bank.pay amount=5. sb undo mut_")) == (0, True)
    assert sb("recovery", "invalidate", "nothing", "--reason", "r").code == 1


def test_a_call_in_doubt_is_settled_by_its_probe_or_by_a_person(sb: CommandLine, files: Path) -> None:
    first, second = (run(sb, "bank.pay", amount=1, hang=True) for _ in range(2))
    assert sb("recovery", "list").out.count("bank.pay  the outcome is unknown") == 2
    probed = sb("recovery", "settle", str(first["call_id"])).out
    assert probed.startswith("Recorded as done by its probe: bank.pay amount=1, ")
    wrong = sb("recovery", "settle", str(second["call_id"]), "perhaps", "--reason", "r")
    assert (wrong.code, "one of done, not-done, compensate" in wrong.err) == (2, True)
    settled = sb(
        "recovery",
        "settle",
        str(second["call_id"]),
        "compensate",
        "--reason",
        "r",
        "--result",
        '{"id": "p1"}',
    )
    assert (settled.code, "bank.pay was undone" in settled.out) == (0, True)
    assert sb("recovery", "list", "--json").json["in_doubt"] == []


def test_what_was_approved_in_the_queue_is_said_when_it_is_performed(sb: CommandLine, files: Path) -> None:
    run(sb, "bank.pay", amount=5)
    assert "sb recovery list" in sb("recovery", "watch", "--once").err
    waiting = sb("recovery", "list", "--json").json["items"][0]["approval_id"]
    assert "sb recovery watch" in sb("approvals", "approve", waiting, "--reason", "paid twice").err
    assert "bank.pay was undone" in sb("recovery", "watch", "--once").out
    again = sb("recovery", "watch", "--once", "--json").json
    assert (again["items"], again["performed"]) == ([], [])


def test_a_call_in_doubt_says_how_it_is_settled(sb: CommandLine, files: Path) -> None:
    call_id = str(run(sb, "bank.pay", amount=1, hang=True)["call_id"])
    assert "sb recovery settle CALL" in sb("recovery", "list").err
    for words in (("undo", call_id, "--dry-run"), ("recovery", "show", call_id)):
        outcome = sb(*words)
        assert (outcome.code, f"sb recovery settle {call_id}" in outcome.err) == (1, True)
    refused = sb("recovery", "settle", call_id, "compensate", "--reason", "r")
    assert (refused.code, "--result" in refused.err) == (1, True)
    settled = sb("recovery", "settle", call_id, "--json").json
    assert settled["verdict"] == "done"
    assert sb("undo", settled["mutation_id"], "--yes").code == 0


def test_what_was_done_is_listed_with_its_file_and_whether_it_can_be_undone(
    sb: CommandLine, files: Path
) -> None:
    run(sb, "files.write", path="a.md", content="x")
    row = sb("undo", "--list").out.splitlines()[1]
    assert ("a.md" in row, row.split()[-2]) == (True, "yes")
    (plan,) = sb("undo", "--dry-run", "--json").json["items"]
    (item,) = sb("undo", "--list", "--json").json["items"]
    assert plan["mutation"]["reversal_args"] == item["reversal_args"]
    assert item["reversal_args"]["path"].endswith("a.md")


def test_the_doctor_says_what_recovery_left_to_people(sb: CommandLine, files: Path) -> None:
    run(sb, "bank.pay", amount=5)
    sb("recovery", "watch", "--once")
    rows = {row["name"]: row for row in sb("doctor", "--json").json["items"]}
    assert (rows["recovery"]["status"], rows["recovery"]["detail"].partition(",")[0]) == (
        "ok",
        "1 escalation",
    )
    waiting = sb("recovery", "list", "--json").json["items"][0]["approval_id"]
    sb("approvals", "approve", waiting, "--reason", "paid twice")
    rows = {row["name"]: row for row in sb("doctor", "--json").json["items"]}
    assert (rows["recovery"]["status"], rows["recovery"]["hint"]) == ("warn", "sb recovery list")


def test_what_others_wrote_begins_no_line_of_its_own(sb: CommandLine, files: Path) -> None:
    run(sb, "bank.pay", amount=1)
    forged = "it was\ndry run: would do nothing\napprovals needed: 0"
    assert sb("recovery", "invalidate", "paid_once", "--reason", forged).code == 0
    found = sb("recovery", "list", "--json").json["items"][0]
    lines = sb("recovery", "show", found["id"]).out.splitlines()
    assert [line.partition(":")[0] for line in lines].count("dry run") == 1
    assert "approvals needed: 1" in lines
