"""Watched paths of a project: what a confined command makes of them is put back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sb.hosts.confinement.bubblewrap import is_alive
from sb.hosts.confinement.watched import accept, restore, watch
from sb.shell.places.places import alone
from tests.hosts.confinement.conftest import Place, git
from tests.rows import rows


@pytest.fixture
def removed(tmp_path: Path) -> Path:
    return tmp_path / "removed"


def test_new_settings_are_moved_away_and_not_lost(place: Place, removed: Path) -> None:
    before = watch(str(place.project))
    (place.project / ".mcp.json").write_text('{"mcpServers": {}}')
    (place.project / ".VSCode").mkdir()
    (place.project / ".VSCode" / "tasks.json").write_text("{}")
    (place.project / "src").mkdir()
    done = restore(str(place.project), before, removed)
    assert len(done) == 2
    assert ".mcp.json" in done[0] + done[1]
    assert sorted(path.name for path in place.project.iterdir()) == [".claude", ".git", "cart.py", "src"]
    assert sorted(path.name[5:] for path in removed.iterdir()) == [".VSCode", ".mcp.json"]
    assert restore(str(place.project), before, removed) == []


def test_link_that_was_replaced_is_put_back(place: Place, removed: Path) -> None:
    os.symlink("../dotfiles/.cursor", place.project / ".cursor")
    before = watch(str(place.project))
    (place.project / ".cursor").unlink()
    (place.project / ".cursor").mkdir()
    (place.project / ".cursor" / "hooks.json").write_text("{}")
    assert "link" in restore(str(place.project), before, removed)[0]
    assert os.readlink(place.project / ".cursor") == "../dotfiles/.cursor"
    (place.project / ".cursor").unlink()
    assert len(restore(str(place.project), before, removed)) == 1
    assert os.readlink(place.project / ".cursor") == "../dotfiles/.cursor"


def test_settings_file_that_was_replaced_is_named_once_since_its_mount_is_gone(
    place: Place, removed: Path, tmp_path: Path
) -> None:
    project, file = str(place.project), place.project / ".mcp.json"
    file.write_text("{}")
    before = watch(project)
    file.write_text('{"edited": "in its place"}')
    (place.project / "cart.py").unlink()
    assert restore(project, before, removed) == []
    place.project.joinpath("new").write_text("{}")
    os.replace(place.project / "new", file)
    (done,) = restore(project, before, removed)
    assert f"{file} was replaced by another file while a program of the agent runs" in done
    assert file.read_text() == "{}"
    assert restore(project, accept(project, before, [done]), removed) == []
    assert restore(project, before, removed, [str(file)]) == []  # a call was let change it
    assert "replaced" not in str(restore(project, watch(project, copies=tmp_path / "copies"), removed))


def test_hooks_of_a_repository_that_a_command_made(place: Place, removed: Path) -> None:
    shutil.rmtree(place.project / ".git")
    before = watch(str(place.project))
    git(place.project, "init", "-q")
    hooks = place.project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\n")
    (hooks / "pre-push.sample").write_text("#!/bin/sh\n")
    [done] = restore(str(place.project), before, removed)
    assert "pre-commit" in done
    assert "pre-push.sample" in os.listdir(hooks)
    assert "pre-commit" not in os.listdir(hooks)


# Keys with which git would run a program the next time that anybody uses it here.
RUNS = (
    "core.hooksPath=evil", "core.fsmonitor=./evil", "core.sshCommand=evil", "core.pager=evil", "alias.st=!evil", "filter.x.clean=evil",
    "diff.x.textconv=evil", "merge.x.driver=evil %A", "credential.helper=!evil", "credential.https://example.org.helper=evil", "include.path=../evil",
    "includeIf.gitdir:/.path=evil", "url.ext::evil.insteadOf=https://", "protocol.ext.allow=always", "remote.origin.uploadpack=evil",
    "gpg.program=evil", "gpg.ssh.program=evil", "sequence.editor=evil", "core.worktree=/", "diff.external=evil", "submodule.a.update=!evil",
    "tar.tar.gz.command=evil", "sendemail.sendmailcmd=evil", "hook.mine.command=evil", "help.browser=evil", "instaweb.browser=evil",
    "alias.st=fetch --upload-pack=/tmp/evil .", "alias.st=grep -O/tmp/evil x", "alias.st=rebase -x ./evil main", "alias.st=-c core.pager=./evil log", "alias.st=log --output=/tmp/x", "alias.st=push ./nest",
    "http.curloptResolve=example.org:443:127.0.0.1", "http.https://example.org.sslVerify=false", "gc.recentObjectsHook=evil",
)  # fmt: skip
RUNS_NOTHING = (
    "user.name=me", "branch.next.remote=origin", "branch.next.merge=refs/heads/next", "remote.origin.url=https://example.org/x.git",
    "alias.st=status -sb", "alias.lg=log --graph --oneline --pretty=format:'%h %s' -20", "alias.up=pull --rebase", "alias.undo=reset --soft HEAD~1", "alias.pf=push --force-with-lease origin HEAD", "core.autocrlf=input", "submodule.a.active=true", "extensions.worktreeConfig=true", "gc.auto=0", "color.ui=never",
)  # fmt: skip


@rows("setting", RUNS)
def test_key_that_runs_a_program_is_taken_out(setting: str, place: Place, removed: Path) -> None:
    key, _, value = setting.partition("=")
    before = watch(str(place.project))
    git(place.project, "config", "--file", ".git/config", key, value)
    [done] = restore(str(place.project), before, removed)
    assert "since it runs a program" in done
    assert f"(`git config {key.partition('.')[0].lower()}." in done
    assert "in a call of its own, has the user asked" in done
    assert (
        subprocess.run(
            ["git", "config", "--file", ".git/config", key], cwd=place.project, check=False
        ).returncode
        == 1
    )


@rows("setting", RUNS_NOTHING)
def test_other_keys_stay(setting: str, place: Place, removed: Path) -> None:
    key, _, value = setting.partition("=")
    before = watch(str(place.project))
    git(place.project, "config", key, value)
    assert restore(str(place.project), before, removed) == []


def test_former_value_of_a_key_comes_back(place: Place, removed: Path) -> None:
    git(place.project, "config", "core.hooksPath", ".husky/_")
    before = watch(str(place.project))
    git(place.project, "config", "core.hooksPath", "evil")
    assert len(restore(str(place.project), before, removed)) == 1
    value = subprocess.run(
        ["git", "config", "core.hooksPath"], cwd=place.project, capture_output=True, text=True, check=True
    ).stdout
    assert value == ".husky/_\n"


def test_approved_change_stays(place: Place, removed: Path) -> None:
    before = watch(str(place.project))
    (place.project / ".mcp.json").write_text("{}")
    git(place.project, "config", "core.hooksPath", "theirs")
    allowed = [str(place.project / ".mcp.json")]
    assert restore(str(place.project), before, removed, allowed, [("core.hookspath", "theirs")]) == []


def test_login_file_made_beside_an_approved_path(place: Place, removed: Path) -> None:
    profile, notes = place.home / ".bash_profile", place.home / ".bashrc"
    notes.write_text("mine")
    before = watch(str(place.project), [str(profile), str(notes)])
    profile.write_text("evil")
    [done] = restore(str(place.project), before, removed)
    assert ".bash_profile" in done
    assert notes.read_text() == "mine"


def test_process_that_goes_on_is_noticed(place: Place) -> None:
    mark = place.sb_home / "confine"
    assert not is_alive(mark)
    pid = place.run("sleep 60 > /dev/null 2>&1 & echo $!").stdout.strip()
    assert is_alive(mark)
    place.run(f"kill {pid}")
    for _ in range(1000):
        if not is_alive(mark):
            return
    pytest.fail("still alive")


def test_folder_that_a_call_was_let_make_says_nothing_of_what_is_in_it(place: Place, removed: Path) -> None:
    project, folder = str(place.project), place.project / ".vscode"
    before = watch(project)
    folder.mkdir()
    allowed = [alone(str(folder))]
    assert restore(project, before, removed, allowed) == []
    after = accept(project, before, [], allowed)
    assert str(folder) not in after.known  # no mount that a program could put a link in the place of
    for name in ("tasks.json", "extensions.json"):
        (folder / name).write_text("{}")
    more = [str(folder / "extensions.json")]
    [done] = restore(project, after, removed, more)
    assert f"moved {folder}/tasks.json away" in done
    assert restore(project, accept(project, after, [done], more), removed) == []
    assert os.listdir(folder) == ["extensions.json"]
    shutil.rmtree(folder)
    folder.symlink_to("/srv")
    assert "moved" in restore(project, after, removed)[0]
    assert not os.path.lexists(folder)
