"""Patches: every file that one changes is known, however it is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.hosts.codex.events import ADAPTER as CODEX
from sb.hosts.hooks.calls.spellings import changed_paths
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.hosts.hooks.judging import judge
from sb.kernel.authority.signing import Label
from tests.hosts.hooks import recorded
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

BEGIN, END = "*** Begin Patch\n", "*** End Patch\n"


@rows("patch, paths", [
        ("*** Add File: a.txt\n+x\n", ["a.txt"]),
        ("*** Update File: a.txt\n@@\n-x\n+y\n*** Delete File: b.txt\n", ["a.txt", "b.txt"]),
        ("*** Update File: a.txt\n*** Move to: sub/b.txt\n@@\n x\n", ["a.txt", "sub/b.txt"]),
        ("*** Update File: /etc/hosts\r\n@@\r\n-x\r\n*** Delete File: b c.txt\r\n", ["/etc/hosts", "b c.txt"]),
        ("  *** Delete File: a.txt\n", ["a.txt"]),
        ("\u00a0*** Delete File: a.txt\n", ["a.txt"]),
        ("\t*** Add File: a.txt  \n", ["a.txt", "a.txt  "]),
        ("*** Add File:  a.txt\n", ["a.txt", " a.txt"]),
        ("*** Add File: *** Delete File: x\n", ["*** Delete File: x", "*** Delete File"]),
        ("*** Add File: a.txt:x\n", ["a.txt:x", "a.txt"]),
        ("*** Add File: a.txt\r*** Delete File: b.txt\n", ["a.txt\r*** Delete File: b.txt", "a.txt\r*** Delete File", "a.txt", "b.txt"]),
        ("*** Add File: a\u2028b.txt\n", ["a\u2028b.txt"]),
        ("*** Add File: a\x1c\n", ["a\x1c"]),
        ("*** Add File: ../out\n", ["../out"]),
        ("*** Add File: ~/x\n", ["~/x"]),
        ("*** Add File: one\n+*** Delete File: two\n-*** Delete File: three\n", ["one"]),
        ("*** Add File: one\n*** End Patch\n*** Begin Patch\n*** Delete File: two\n", ["one", "two"]),
        ("*** Update File: a\n*** Update File: a\n", ["a"]),
        ("", []),
        ("*** Add File: \n*** Delete File:\n", []),
        ("*** Rename File: x\n", []),
    ])  # fmt: skip
def test_each_header_names_a_file(patch: str, paths: list[str]) -> None:
    assert changed_paths(f"{BEGIN}{patch}{END}") == paths


name = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text.strip() != ""
)
verb = st.sampled_from(["Add File", "Update File", "Delete File", "Move to"])


@given(st.lists(st.tuples(verb, name, st.sampled_from(["\n", "\r\n"]))))
def test_no_file_is_missed_as_it_is_written_or_trimmed(headers: list[tuple[str, str, str]]) -> None:
    patch = "".join(f"*** {verb}: {path}{end}+{path}\n" for verb, path, end in headers)
    found = changed_paths(patch)
    for _, path, _ in headers:
        assert path in found


def test_a_large_patch_is_read_at_once() -> None:
    patch = f"{BEGIN}*** Add File: a\n" + "+\n" * 5_000_000 + "*** Delete File: b\n"
    assert changed_paths(patch) == ["a", "b"]


def verdict_on(host: Host, event: str, patch: str, use_id: str = "call_9") -> HookVerdict:
    sent = recorded.payload("codex", f"{event}.apply_patch", host.project)
    sent |= {"tool_input": {"command": patch}, "tool_use_id": use_id}
    return judge(host.config(), CODEX, CODEX.read(json.loads(json.dumps(sent))))


def test_all_files_of_a_patch_have_snapshots_and_are_restored(host: Host) -> None:
    project = host.project
    (project / "sub").mkdir()
    for path in ("old name.txt", "changed.txt", "gone.txt"):
        (project / path).write_text(f"{path} before", encoding="utf-8")
    outside = project.parent / "outside.txt"
    patch = (
        f"{BEGIN}*** Update File: old name.txt\r\n*** Move to: sub/new name.txt\r\n@@\r\n-a\r\n+b\r\n"
        f"*** Update File: changed.txt\n@@\n-a\n+b\n*** Delete File: gone.txt\n*** Add File: {outside}\n+new\n{END}"
    )
    before = {path: path.read_bytes() for path in sorted(project.rglob("*.txt"))}
    assert verdict_on(host, "PreToolUse", patch) == HookVerdict()
    (project / "old name.txt").unlink()
    (project / "sub/new name.txt").write_text("moved", encoding="utf-8")
    (project / "changed.txt").write_text("after", encoding="utf-8")
    (project / "gone.txt").unlink()
    outside.write_text("new", encoding="utf-8")
    verdict_on(host, "PostToolUse", patch)
    with host.open() as runtime:
        (event,) = runtime.log.events(agent="codex", kind="kernel.run.started")
        refs = runtime.recovery.mutations.of_run(event.subject.run_id)
        undone = runtime.recovery.undo_all(refs, Label("ada"), "not wanted")
        assert [item.state for item in undone] == ["reversed"]
    assert {path: path.read_bytes() for path in sorted(project.rglob("*.txt"))} == before
    assert not outside.exists()


@pytest.mark.parametrize("header", ["Add File", "Update File", "Delete File", "Update File: a\n*** Move to"])
@pytest.mark.parametrize("place", ["{home}/config.yaml", "../{name}/../sb/config.yaml", "link/config.yaml"])
def test_no_patch_reaches_secondbrains_files(host: Host, header: str, place: str) -> None:
    host.configure("")
    (host.project / "link").symlink_to(host.home)
    (host.home.parent / "sb-project").mkdir()
    sent = recorded.payload("codex", "PreToolUse.apply_patch", host.home.parent / "sb-project")
    (host.home.parent / "sb-project" / "link").symlink_to(host.home)
    path = place.format(home=host.home, name="sb-project")
    sent["tool_input"] = {"command": f"{BEGIN}*** {header}: {path}\n{END}"}
    verdict = judge(host.config(), CODEX, CODEX.read(sent))
    assert verdict.decision is Decision.DENY
    assert "belongs to SecondBrain" in verdict.reason


@pytest.mark.parametrize(
    "patch",
    [
        "",
        "nonsense",
        "*** Begin Patch",
        f"{BEGIN}*** Add File: a\0b\n{END}",
        f"{BEGIN}*** Add File: \ud800\n",
    ],
)
def test_patch_with_unknown_files_needs_approval_or_is_refused(host: Host, patch: str) -> None:
    done = host.ask(
        recorded.payload("codex", "PreToolUse.apply_patch", host.project)
        | {"tool_input": {"command": patch}},
        "codex",
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_patch_of_more_files_than_can_be_undone_is_refused(host: Host) -> None:
    patch = "".join(f"*** Add File: {number}\n+x\n" for number in range(600))
    assert "at most 500 can be undone" in verdict_on(host, "PreToolUse", patch).reason


def test_patch_of_a_hosts_settings_needs_approval(host: Host) -> None:
    verdict = verdict_on(host, "PreToolUse", f"{BEGIN}*** Update File: .codex/hooks.json\n@@\n-a\n+b\n{END}")
    assert "Needs approval" in verdict.reason
