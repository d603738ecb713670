"""`sb undo`: what it lists and shows, and how it restores one file, over later changes, or not at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from sb.kernel.recovery_loop.answers import Undone
from sb.kernel.results import ToolResult
from sb.kernel.review.findings import Status, snapshots_finding
from sb.present.recovery import undone_sentence
from sb.runtime.parts import hosted_files
from sb.store.packs import PackStore, Size
from tests.conftest import CommandLine
from tests.hosts.hooks.conftest import Host


@pytest.fixture
def host(home: Path, tmp_path: Path) -> Host:
    project = (tmp_path / "shop").resolve()
    (project / ".git").mkdir(parents=True)
    return Host(home, project)


def write(host: Host, name: str, content: str, use_id: str) -> Path:
    path = host.project / name
    host.write(path, content, use_id)
    return path


def edit_two(host: Host) -> tuple[Path, Path]:
    """One call that changes two files."""
    first, second = host.project / "a.py", host.project / "b.py"
    for path in (first, second):
        path.write_text("old\n", encoding="utf-8")
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Update File: b.py\n*** End Patch"
    host.before("apply_patch", "t1", input=patch)
    for path in (first, second):
        path.write_text("new\n", encoding="utf-8")
    host.after("apply_patch", "t1", input=patch)
    return first, second


def test_list_says_when_what_which_file_and_whether_it_can_be_undone(sb: CommandLine, host: Host) -> None:
    write(host, "cart.py", "x", "t1")
    host.before("Bash", "t2", command="npm install left-pad")
    host.after("Bash", "t2", command="npm install left-pad")
    header, newest, oldest = sb("undo", "--list").out.splitlines()
    assert header.split() == ["done", "what", "command", "or", "file", "undo", "id"]
    assert "npm install left-pad" in newest
    assert newest.split()[-2] == "no"
    assert "cart.py" in oldest
    assert (oldest.split()[1], oldest.split()[-2]) == ("Write", "yes")
    assert max(map(len, (header, newest, oldest))) <= 100
    assert "claude-code" in sb("undo", "--list", "--all").out


def test_a_long_path_stays_within_a_hundred_columns(sb: CommandLine, host: Host) -> None:
    write(host, "/".join(["some-long-folder"] * 9) + "/cart.py", "x", "t1")
    row = sb("undo", "--list").out.splitlines()[1]
    assert (len(row) <= 100, "cart.py" in row) == (True, True)


def test_last_call_of_another_project_is_named_with_its_folder(
    sb: CommandLine, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (host.project / "cart.py").write_text("x", "utf-8")
    host.before("Bash", "t1", command="rm cart.py")
    (host.project / "cart.py").unlink()
    host.after("Bash", "t1", command="rm cart.py")
    monkeypatch.chdir(tmp_path)
    assert f"by claude-code in {host.project}: " in sb("undo", "--dry-run").out
    monkeypatch.chdir(host.project)
    assert "by claude-code: " in sb("undo", "--dry-run").out


def test_path_undoes_the_last_change_of_that_file(sb: CommandLine, host: Host) -> None:
    cart = write(host, "cart.py", "1", "t1")
    write(host, "cart.py", "2", "t2")
    other = write(host, "other.py", "x", "t3")
    done = sb("undo", "--path", str(cart), "--yes")
    assert (done.code, "restored cart.py" in done.out) == (0, True)
    assert (cart.read_text("utf-8"), other.read_text("utf-8")) == ("1", "x")
    assert sb("undo", "--path", str(cart), "--yes").code == 0
    assert not cart.exists()
    nothing = sb("undo", "--path", str(cart), "--yes")
    assert (nothing.code, "no undo record of" in nothing.err) == (1, True)


def test_path_restores_one_file_of_a_call_and_leaves_the_rest_undoable(sb: CommandLine, host: Host) -> None:
    first, second = edit_two(host)
    assert sb("undo", "--path", str(first), "--yes").code == 0
    assert sb("log", "verify").code == 0
    assert (first.read_text("utf-8"), second.read_text("utf-8")) == ("old\n", "new\n")
    assert sb("undo", "--yes").code == 0
    assert second.read_text("utf-8") == "old\n"


def test_what_changed_since_is_restored_only_by_force_and_can_be_had_back(
    sb: CommandLine, host: Host
) -> None:
    cart = write(host, "cart.py", "the agent's", "t1")
    cart.write_text("mine", encoding="utf-8")
    refused = sb("undo", "--yes")
    assert (refused.code, "was changed since" in refused.err) == (1, True)
    assert cart.read_text("utf-8") == "mine"
    assert sb("undo", "--force", "--yes").code == 0
    assert not cart.exists()
    back = sb("undo", "--yes")
    assert (back.code, cart.read_text("utf-8")) == (0, "mine")


def test_path_that_cannot_be_restored_keeps_no_other_from_it_and_is_tried_again(
    sb: CommandLine, host: Host
) -> None:
    folder, last = host.project / "d", host.project / "z"
    folder.mkdir()
    for path in (folder / "x", last):
        path.write_text("old", encoding="utf-8")
    patch = "*** Begin Patch\n*** Delete File: d/x\n*** Delete File: z\n*** End Patch"
    host.before("apply_patch", "t1", input=patch)
    for path in (folder / "x", last):
        path.unlink()
    host.after("apply_patch", "t1", input=patch)
    folder.rmdir()
    folder.write_text("a file in the way", encoding="utf-8")
    first = sb("undo", "--yes", "--json")
    (item,) = json.loads(first.out)["items"]
    assert (first.code, item["state"]) == (6, "in part")
    assert f"restored 1 path; not restored: {folder} is not a folder" in item["detail"]
    assert last.read_text("utf-8") == "old"
    again = sb("undo", "--yes")
    assert (again.code, "is not a folder" in again.out) == (1, True)
    folder.unlink()
    assert sb("undo", "--yes").code == 0
    assert (folder / "x").read_text("utf-8") == "old"


def test_diff_shows_what_undo_would_change(sb: CommandLine, host: Host) -> None:
    first, _ = edit_two(host)
    shown = sb("undo", "--diff", "--dry-run")
    assert f"--- {first}\n+++ {first}\n@@ -1 +1 @@\n-new\n+old\n" in shown.out
    assert first.read_text("utf-8") == "new\n"
    assert sb("undo", "--diff", "--dry-run", "--path", str(first)).out.count("+++ ") == 1


def test_diff_of_a_binary_file_gives_sizes(sb: CommandLine, host: Host) -> None:
    path = host.project / "x.bin"
    path.write_bytes(b"\0" * 2048)
    write(host, "x.bin", "text", "t1")
    assert (
        f"{path}: file, 4 B, mode 0644 -> file, 2.0 KiB, mode 0644" in sb("undo", "--diff", "--dry-run").out
    )


def test_show_prints_what_a_snapshot_holds_and_its_content(sb: CommandLine, host: Host) -> None:
    first, _ = edit_two(host)
    (item,) = sb("undo", "--list", "--json").json["items"]
    shown = sb("undo", "show", item["mutation_id"])
    assert f"file  0644  4 B   {first}" in shown.out
    assert sb("undo", "show", item["mutation_id"], "--path", str(first)).out == "old\n"
    entries = sb("undo", "show", "--json").json["entries"]
    assert [entry["bytes"] for entry in entries] == [4, 4]


def test_an_id_may_be_cut_where_it_stays_unambiguous(sb: CommandLine, host: Host) -> None:
    for number in range(2):
        write(host, f"{number}.txt", "x", f"t{number}")
    newest, oldest = (item["mutation_id"] for item in sb("undo", "--list", "--json").json["items"])
    assert sb("undo", newest[:-2], "--yes").code == 0
    ambiguous = sb("undo", "mut_", "--yes")
    assert (ambiguous.code, "begins 2 ids" in ambiguous.err) == (2, True)
    assert sb("undo", oldest, "--yes").code == 0


def test_purge_removes_snapshots_and_the_list_says_so(sb: CommandLine, host: Host) -> None:
    write(host, "cart.py", "x", "t1")
    assert sb("undo", "--purge", "--older-than", "1d", "--yes").out.startswith("removed 0 snapshots")
    refused = sb("undo", "--purge")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert sb("undo", "--purge", "--yes", "--reason", "a secret was in it").out.startswith(
        "removed 1 snapshot ("
    )
    assert "removed snapshots: a secret was in it" in sb("log", "tail").out
    assert PackStore(host.home / "kept" / "packs").list_keys() == []
    assert "snapshot gone" in sb("undo", "--list").out
    done = sb("undo", "--yes", "--diff")
    assert (done.code, "no snapshot of the file is left" in done.err) == (1, True)
    assert "no difference can be shown" in done.err


def test_an_agent_is_refused_each_way_to_undo(host: Host) -> None:
    for words in ("--list", "show last", "--purge --yes", "--force --yes", "--path a"):
        refused = host.before("Bash", command=f"sb undo {words}").reason
        assert refused.startswith("SecondBrain: not run: sb undo: only an operator may run this"), words


def test_doctor_says_how_full_the_snapshot_store_is(sb: CommandLine, host: Host) -> None:
    write(host, "cart.py", "x", "t1")
    rows = {row["name"]: row for row in sb("doctor", "--json").json["items"]}
    assert rows["snapshots"]["status"] == "ok"
    assert rows["snapshots"]["detail"].endswith(" of 1.0 GiB in 1 snapshot")
    nearly = snapshots_finding(Size(9, 95, 100))
    assert (nearly.status, "sb undo --purge" in nearly.hint) == (Status.WARN, True)


def test_a_full_store_asks_before_a_file_changes(host: Host) -> None:
    host.configure("undo: {store_max_bytes: 10}\n")
    path = host.project / "a.txt"
    path.write_text("old", encoding="utf-8")
    verdict = host.before("Write", "t1", file_path=str(path), content="new")
    assert verdict == HookVerdict(
        Decision.ASK, "SecondBrain: host.write cannot be undone with these arguments"
    )


def test_snapshots_past_their_time_go_at_the_end_of_a_session(sb: CommandLine, host: Host) -> None:
    write(host, "old.py", "x", "t1")
    packs = host.home / "kept" / "packs"
    (pack,) = packs.glob("*.pack")
    content = pack.read_bytes()
    header, _, rest = content.partition(b"\n")
    fields = json.loads(header.removeprefix(b"sb-pack 1 "))
    past = json.dumps(fields | {"until": fields["taken"] - 1}).encode()
    pack.write_bytes(b"sb-pack 1 " + past + b"\n" + rest)
    write(host, "new.py", "x", "t2")
    host.tell("SessionEnd", reason="other")
    assert len(list(packs.glob("*.pack"))) == 1
    assert ["snapshot gone" in row for row in sb("undo", "--list").out.splitlines()[1:]] == [False, True]


def test_a_folder_is_named_once_whatever_was_in_it(sb: CommandLine, host: Host) -> None:
    """As a kept command leaves it: the folder is gone, and its undo record has one row."""
    folder = host.project / "src"
    folder.mkdir()
    for number in range(3):
        (folder / f"f{number}.py").write_text("x", encoding="utf-8")
    files = hosted_files(host.config())
    files.take([str(folder)], "idem_1")
    shutil.rmtree(folder)
    rows = files.states_after([str(folder)], "idem_1")
    assert [row["path"] for row in rows] == [str(folder)]
    would = f"would restore {folder} (folder, mode 0755) with 3 paths in it"
    assert files.restorable(rows, "idem_1") == {"ok": True, "detail": would}
    result = ToolResult.ok("host.restore", files.restore(rows, "idem_1"))
    assert undone_sentence(Undone("mut_1_aaaa", "reversed", "", result)) == "restored src (mut_1_aaaa)"
    assert files.restorable(rows, "idem_1")["detail"] == f"{folder} is already restored"
