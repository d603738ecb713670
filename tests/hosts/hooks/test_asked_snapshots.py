"""Lines that a person is asked about: what can be stored of them comes back all the same."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from sb.kernel.reversibility.contracts import MutationRef
from sb.present.undo import UNDO, about, undo_record
from sb.runtime.parts import open_snapshots
from tests.hosts.hooks.conftest import UNWATCHED, Host
from tests.hosts.hooks.test_snapshots import ADA, bash, tree, undo_all

MADE = """rmdir .git; git init -q; printf '.env\nnode_modules/\n' > .gitignore; mkdir -p src app/deep docs2
echo 1 > src/a.py; git add .; git commit -qm one; echo KEY=1 > .env; echo 2 > docs2/b; echo 3 > junk
echo 4 > app/deep/c; echo 5 > app/d; echo KEY=2 > app/deep/.env"""


@pytest.fixture
def shop(host: Host) -> Host:
    bash(MADE, host.project)
    return host


def perform(host: Host, command: str, use_id: str) -> None:
    """The host runs a line after its person's yes, and reports it."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=host.project, capture_output=True, text=True, check=False
    )
    event, reported = "PostToolUse", dict[str, Any](tool_response={"stdout": done.stdout})
    if done.returncode:
        event, reported = "PostToolUseFailure", {"error": done.stderr or "failed"}
    host.tell(event, tool_name="Bash", tool_use_id=use_id, tool_input={"command": command}, **reported)


def asked(host: Host, command: str, use_id: str = "t1") -> HookVerdict:
    verdict = host.before("Bash", use_id, command=command)
    assert verdict.decision is Decision.ASK
    return verdict


def listed(host: Host) -> list[tuple[str, list[str]]]:
    """Each undo record: whether it can be undone, and what `sb undo show` says of it."""
    with host.open() as runtime:
        store, snapshots = runtime.recovery.mutations, open_snapshots(host.config())
        refs: list[MutationRef] = store.newest()
        return [
            (
                UNDO.text(undo_record(ref, runtime.log, snapshots), store.now(), "undo"),
                about(ref, runtime.log, snapshots, store.now()),
            )
            for ref in refs
        ]


@pytest.mark.parametrize(
    ("command", "lost"),
    [
        ("rm -rf .env docs2", {".env"}),
        ("rm -rf app .env", {".env", "app/deep/.env"}),
        ("git clean -fdx", {".env", "app/deep/.env"}),
        ("git clean -qfdx; false", {".env", "app/deep/.env"}),
        ("rm -rf .env docs2 && touch done && nosuchprogram build", {".env"}),
    ],
)
def test_yes_to_what_cannot_be_kept_leaves_undo_of_the_rest(shop: Host, command: str, lost: set[str]) -> None:
    before = tree(shop.project)
    verdict = asked(shop, command)
    assert "for good" in verdict.reason
    assert ".env" in verdict.reason
    assert "sb undo restores the other files" in verdict.reason
    perform(shop, command, "t1")
    assert tree(shop.project) != before
    (undo, records), *others = listed(shop)
    assert undo.startswith("in part")
    assert not others
    assert sum(line.startswith("not restored: ") for line in records) == len(lost)
    assert undo_all(shop) == ["reversed"]
    after = tree(shop.project)
    assert {path for path, state in before.items() if after.get(path) != state} == lost


def test_line_that_destroys_elsewhere_too_leaves_undo_of_what_it_names(shop: Host) -> None:
    line = "rm -rf docs2; echo changed > src/a.py; docker rm -f nosuch"
    verdict = asked(shop, line)
    assert "sb undo restores docs2, src/a.py alone" in verdict.reason
    perform(shop, line, "t1")
    assert undo_all(shop) == ["reversed"]
    assert (shop.project / "docs2" / "b").read_text() == "2\n"
    assert (shop.project / "src" / "a.py").read_text() == "1\n"


def test_failed_line_whose_loss_is_for_good_is_listed(shop: Host) -> None:
    line = "rm .env && false"
    assert "no snapshot: .env may hold secrets" in asked(shop, line).reason
    perform(shop, line, "t1")
    (undo, records), *_ = listed(shop)
    assert undo == "no"
    assert any(".env" in line for line in records)


def test_approved_line_is_stored_when_it_runs(shop: Host) -> None:
    shop.mode, line = UNWATCHED, "rm -rf .env docs2"
    assert "sb undo restores the other files" in shop.before("Bash", "t1", command=line).reason
    (shop.project / "docs2" / "b").write_text("later\n")
    with shop.open() as runtime:
        (waiting,) = runtime.approvals.page()
        assert waiting.safety_class == "destructive"
        runtime.approvals.approve(waiting.id, ADA, "go on")
    assert shop.before("Bash", "t2", command=line) == HookVerdict()
    perform(shop, line, "t2")
    assert undo_all(shop) == ["reversed"]
    assert (shop.project / "docs2" / "b").read_text() == "later\n"
    assert not (shop.project / ".env").exists()


def test_denied_line_stays_denied(shop: Host) -> None:
    shop.mode, line = UNWATCHED, "rm -rf .env docs2"
    shop.before("Bash", "t1", command=line)
    with shop.open() as runtime:
        (waiting,) = runtime.approvals.page()
        runtime.approvals.deny(waiting.id, ADA, "no")
    verdict = shop.before("Bash", "t2", command=line)
    assert verdict.decision is Decision.DENY
    assert "apr_" not in verdict.reason.replace(waiting.id, "")
    with shop.open() as runtime:
        assert [str(approval.state) for approval in runtime.approvals.page()] == ["denied"]


@pytest.mark.parametrize(
    "settings",
    ["policy:\n  - deny: host.shell.destructive\n", "policy:\n  - deny: host.shell.*\n"],
)
def test_what_denies_destructive_lines_denies_those_with_a_snapshot(shop: Host, settings: str) -> None:
    shop.configure(settings)
    assert shop.before("Bash", command="rm -rf .env docs2").decision is Decision.DENY


def test_two_people_decide_also_with_a_snapshot(shop: Host) -> None:
    shop.configure("approvals:\n  dual_control: [host.shell.destructive]\n")
    shop.before("Bash", command="rm -rf .env docs2")
    with shop.open() as runtime:
        (waiting,) = runtime.approvals.page()
        assert waiting.needed == 2


def test_no_of_the_person_leaves_nothing_in_doubt(shop: Host) -> None:
    asked(shop, "rm -rf .env docs2")
    (shop.project / "docs2" / "b").write_text("edited by the person\n")
    shop.tell("Stop", stop_hook_active=False)
    assert shop.phases()[-1] == "unreported"
    assert listed(shop) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "git clone -q . /tmp/sb-none; rm -rf /tmp/sb-none",
            "contents: /tmp/sb-none (no snapshot: git clone runs before it)",
        ),
        ('make; rm -rf "$OUT"', "contents: what is known only when it runs"),
        ("rm -rf /srv/none $X", "contents: /srv/none, what is known only when it runs (no snapshot: "),
    ],
)
def test_question_names_the_folder_and_why_it_is_not_stored(shop: Host, line: str, told: str) -> None:
    assert told in asked(shop, line).reason


def test_folder_with_too_many_entries_is_lost_in_part_alone(shop: Host) -> None:
    bash("mkdir many; echo KEY=1 > many/.env; seq 1200 | (cd many; xargs touch)", shop.project)
    asked(shop, "rm -rf many")
    perform(shop, "rm -rf many", "t1")
    ((_, lines),) = listed(shop)
    assert [line for line in lines if "entries" in line]
    assert undo_all(shop) == ["reversed"]
    assert len([*(shop.project / "many").iterdir()]) > 900
