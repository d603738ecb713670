"""Links, forged repositories and closed folders that a command leaves: nothing outside of the project is changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from sb.hosts.confinement import no_links
from sb.hosts.confinement.git_config import keys_named
from sb.hosts.confinement.repositories import git_folder_of, repository_of
from sb.hosts.confinement.watched import Watch, accept, restore, watch
from tests.hosts.confinement.conftest import Place, git
from tests.rows import rows


@pytest.fixture
def removed(tmp_path: Path) -> Path:
    return tmp_path / "removed"


@pytest.fixture
def worktree(place: Place) -> Path:
    """A linked worktree of the project, as an agent's host makes it."""
    git(place.project, "worktree", "add", "-q", ".claude/worktrees/w")
    return place.project / ".claude" / "worktrees" / "w"


class TestCommonFolder:
    def test_linked_worktree_has_its_repository(self, place: Place, worktree: Path) -> None:
        repository = repository_of(str(worktree))
        assert repository is not None
        assert repository.folders == (str(place.project / ".git"),)
        assert git_folder_of(str(worktree)) == str(place.project / ".git")

    @pytest.mark.parametrize(
        "change",
        [
            "echo /srv/evil > commondir",
            "rm commondir",
            "echo /nowhere/.git > gitdir",
            "rm gitdir",
            "ln -sf /srv/evil commondir",
        ],
    )
    def test_pointers_of_the_sessions_own_worktree_are_put_back(
        self, change: str, place: Place, worktree: Path, removed: Path
    ) -> None:
        """Else git's folder is not found, and nothing of it is compared any more."""
        before = watch(str(worktree))
        folder = place.project / ".git" / "worktrees" / "w"
        subprocess.run(["sh", "-c", change], cwd=folder, check=True)
        git(place.project, "config", "core.fsmonitor", "/x/evil.sh")
        assert restore(str(worktree), before, removed)
        assert git_folder_of(str(worktree)) == str(place.project / ".git")
        restore(str(worktree), before, removed)
        assert "fsmonitor" not in (place.project / ".git" / "config").read_text()
        assert not restore(str(worktree), before, removed)

    def test_pointers_cannot_be_written(self, place: Place, worktree: Path) -> None:
        repository = repository_of(str(worktree))
        assert repository is not None
        folder = place.project / ".git" / "worktrees" / "w"
        assert {str(folder / "commondir"), str(folder / "gitdir")} <= set(repository.programs)
        assert str(folder) in repository.held

    def test_commondir_elsewhere_does_not_count(self, place: Place, worktree: Path) -> None:
        (place.project / ".git" / "worktrees" / "w" / "commondir").write_text(f"{place.home}\n")
        assert repository_of(str(worktree)) is None
        assert str(place.home) not in place.profile().writable
        assert git_folder_of(str(worktree)) == ""

    def test_forged_git_folder_does_not_count(self, place: Place, tmp_path: Path) -> None:
        tree, forged = place.project / ".claude" / "worktrees" / "f", tmp_path / "g1"
        tree.mkdir(parents=True)
        forged.mkdir()
        (tree / ".git").write_text(f"gitdir: {forged}\n")
        (forged / "gitdir").write_text(f"{tree / '.git'}\n")
        assert repository_of(str(tree)) is None
        (forged / "commondir").write_text(f"{place.home}\n")
        assert repository_of(str(tree)) is None
        assert str(place.home) not in place.profile().writable

    def test_folder_around_the_home_never_counts(self, place: Place, worktree: Path) -> None:
        common = place.project / ".git"
        assert repository_of(str(worktree), home=str(common / "user")) is None
        assert repository_of(str(worktree), home=str(common)) is None

    def test_linked_parts_of_a_git_folder_do_not_count(self, place: Place, worktree: Path) -> None:
        common = place.project / ".git"
        (common / "refs").rename(common / "refs2")
        os.symlink("refs2", common / "refs")
        assert repository_of(str(worktree)) is None


def listing(folder: Path) -> dict[str, str]:
    """All files below a folder with their contents."""
    return {
        str(path): path.read_text() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    }


@pytest.fixture
def victim(place: Place) -> Path:
    """A folder of the person that looks like everything that is ever moved away."""
    victim = place.home / "victim"
    for name in (
        "hooks/pre-commit",
        "agents/a.md",
        "opencode/c.json",
        "github-copilot/x",
        "copilot/x",
        "notes",
    ):
        path = victim / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("theirs\n")
    (victim / "config").write_text("[alias]\n\tup = !theirs\n[core]\n\teditor = theirs\n")
    return victim


# Links in the project, each to the person's folder or a file in it.
LINKS = (
    (".git/hooks", ""), (".config", ""), (".github", ""), (".GitHub", ""), (".git/config", "/config"), (".git/modules", ""), (".git/worktrees", ""),
    (".git/commondir", "/notes"), (".git/config.worktree", "/config"), (".vscode", ""), (".devcontainer", ""),
)  # fmt: skip


@pytest.mark.parametrize(("name", "target"), LINKS)
def test_link_to_the_persons_files_is_what_is_moved_away(
    name: str, target: str, place: Place, removed: Path, victim: Path
) -> None:
    path = place.project / name
    config = (place.project / ".git" / "config").read_bytes()
    if name == ".git/hooks":
        shutil.rmtree(path, ignore_errors=True)
    before, theirs = watch(str(place.project)), listing(victim)
    if path.exists():
        path.rename(path.with_name("c2"))
    os.symlink(f"{victim}{target}", path)
    assert "away" in restore(str(place.project), before, removed)[0]
    assert listing(victim) == theirs
    assert not path.is_symlink()
    assert (place.project / ".git" / "config").read_bytes() == config
    assert restore(str(place.project), before, removed) == []


@pytest.mark.parametrize("kind", ["link", "file"])
def test_git_folder_that_leads_elsewhere(kind: str, place: Place, removed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    (other / ".git" / "hooks").mkdir(exist_ok=True)
    (other / ".git" / "hooks" / "pre-commit").write_text("theirs")
    git(other, "config", "core.editor", "theirs")
    theirs = listing(other)
    shutil.rmtree(place.project / ".git")
    before = watch(str(place.project))
    entry = place.project / ".git"
    if kind == "link":
        os.symlink(other / ".git", entry)
    else:
        entry.write_text(f"gitdir: {other / '.git'}\n")
    assert len(restore(str(place.project), before, removed)) == 1
    assert not os.path.lexists(entry)
    assert listing(other) == theirs


@pytest.mark.parametrize(
    "change",
    [
        "mkdir remotes; echo URL: /srv/evil > remotes/x",
        "mkdir -p branches; echo /srv/evil > branches/x",
        "echo /srv/evil > commondir",
        "ln -s /srv/evil config.worktree",
        "ln -s /srv/evil remotes",
        "rm -rf modules/lib/hooks; ln -s /srv/evil modules/lib/hooks",
        "echo /srv/evil > modules/lib/commondir",
        "echo /srv/evil > worktrees/w/commondir",
        "mkdir modules/lib/remotes; echo URL: /srv/evil > modules/lib/remotes/x",
    ],
)
def test_what_leads_git_elsewhere_is_moved_away(
    change: str, place: Place, worktree: Path, removed: Path
) -> None:
    folder = place.project / ".git"
    git(place.project, "init", "-q", "--bare", ".git/modules/lib")
    before = watch(str(place.project))
    subprocess.run(["sh", "-c", change], cwd=folder, check=True)
    assert restore(str(place.project), before, removed)
    assert not restore(str(place.project), before, removed)
    assert not any(
        "/srv/evil" in path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()
    )
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_contents_are_not_written_through_links(place: Place, removed: Path, victim: Path) -> None:
    agents = place.project / ".claude" / "agents"
    agents.mkdir()
    (agents / "a.md").write_text("mine")
    before = watch(str(place.project), copies=place.sb_home / "copies")
    shutil.rmtree(agents)
    os.symlink(victim / "agents", agents)
    theirs = listing(victim)
    restore(str(place.project), before, removed)
    assert (agents / "a.md").read_text() == "mine"
    assert listing(victim) == theirs


def test_no_operation_follows_a_link_on_its_way(place: Place, removed: Path, victim: Path) -> None:
    link = place.project / "l"
    os.symlink(victim, link)
    for attempt in (
        lambda: no_links.move(f"{link}/notes", removed),
        lambda: no_links.write(f"{link}/notes", b"evil", 0o600),
        lambda: no_links.make_link(f"{link}/new", "evil"),
        lambda: no_links.read(f"{link}/notes", 9),
    ):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            attempt()
    assert no_links.names_in(str(link)) == []
    assert (victim / "notes").read_text() == "theirs\n"


def test_without_a_rename_across_file_systems_the_name_changes(place: Place, tmp_path: Path) -> None:
    others = [Path(name) for name in ("/dev/shm", "/var/tmp") if os.path.isdir(name)]
    other = next((path for path in others if path.stat().st_dev != tmp_path.stat().st_dev), None)
    if other is None:
        pytest.skip("one file system")
    removed = other / f"sb-test-{os.getpid()}"
    before = watch(str(place.project))
    (place.project / "a.code-workspace").write_text("{}")
    try:
        [done] = restore(str(place.project), before, removed)
        assert restore(str(place.project), before, removed) == []
    finally:
        shutil.rmtree(removed)
    assert no_links.ASIDE in done
    assert not (place.project / "a.code-workspace").exists()
    assert any(name.startswith(no_links.ASIDE) for name in os.listdir(place.project))


class TestConfigurations:
    def value(self, place: Place, file: str, key: str) -> str:
        command = ["git", "config", "--file", file, key]
        done = subprocess.run(command, cwd=place.project, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def test_commondir_of_a_main_repository(self, place: Place, removed: Path) -> None:
        before = watch(str(place.project))
        (place.project / ".git" / "commondir").write_text("../.evil\n")
        [done] = restore(str(place.project), before, removed)
        assert "commondir away" in done
        assert not (place.project / ".git" / "commondir").exists()

    def test_commondir_of_a_worktree_is_as_git_writes_it(
        self, place: Place, worktree: Path, removed: Path
    ) -> None:
        before = watch(str(place.project))
        common = place.project / ".git" / "worktrees" / "w" / "commondir"
        common.write_text("../../../.evil\n")
        assert restore(str(place.project), before, removed)
        assert common.read_text() == "../..\n"
        assert restore(str(place.project), before, removed) == []

    def test_lock_of_git_keeps_nothing_in_place(self, place: Place, removed: Path) -> None:
        before = watch(str(place.project))
        git(place.project, "config", "core.fsmonitor", "/x/evil.sh")
        (place.project / ".git" / "config.lock").touch()
        assert "core.fsmonitor" in restore(str(place.project), before, removed)[0]
        assert self.value(place, ".git/config", "core.fsmonitor") == ""
        assert restore(str(place.project), before, removed) == []

    def test_too_large_configuration_is_replaced(self, place: Place, removed: Path) -> None:
        config = place.project / ".git" / "config"
        before, text = watch(str(place.project)), config.read_bytes()
        git(place.project, "config", "core.fsmonitor", "/x/evil.sh")
        with config.open("ab") as file:
            file.truncate(420 << 20)
        assert "too large" in restore(str(place.project), before, removed)[0]
        assert config.read_bytes() == text

    @pytest.mark.parametrize(
        "broken",
        ["[core\n\tfsmonitor = evil\n", "[alias]\n" + "".join(f"\ta{n} = !evil\n" for n in range(60))],
    )
    def test_configuration_that_cannot_be_cleaned_is_replaced(
        self, broken: str, place: Place, removed: Path
    ) -> None:
        config = place.project / ".git" / "config"
        before, text = watch(str(place.project)), config.read_bytes()
        config.write_text(broken)
        assert restore(str(place.project), before, removed)
        assert config.read_bytes() == text

    def test_fifo_is_replaced(self, place: Place, removed: Path) -> None:
        config = place.project / ".git" / "config"
        before, text = watch(str(place.project)), config.read_bytes()
        config.unlink()
        os.mkfifo(config)
        assert restore(str(place.project), before, removed)
        assert config.read_bytes() == text

    def test_submodules_and_worktrees_are_compared(
        self, place: Place, worktree: Path, removed: Path, tmp_path: Path
    ) -> None:
        add_submodule(place, tmp_path)
        before = watch(str(place.project))
        files = (".git/modules/lib/config", ".git/worktrees/w/config.worktree", ".git/config.worktree")
        for file in files:
            git(place.project, "config", "--file", file, "core.fsmonitor", "/x/evil.sh")
        assert len(restore(str(place.project), before, removed)) == 3
        assert [self.value(place, file, "core.fsmonitor") for file in files] == ["", "", ""]

    def test_new_submodule_has_its_tree_and_no_hooks(
        self, place: Place, removed: Path, tmp_path: Path
    ) -> None:
        before = watch(str(place.project))
        add_submodule(place, tmp_path)
        assert restore(str(place.project), before, removed) == []
        hooks = place.project / ".git" / "modules" / "lib" / "hooks"
        hooks.mkdir(exist_ok=True)
        (hooks / "pre-commit").write_text("evil")
        git(place.project, "config", "--file", ".git/modules/lib/config", "core.worktree", "/")
        assert len(restore(str(place.project), before, removed)) == 2

    def test_accepted_key_stays_and_no_other(self, place: Place, removed: Path) -> None:
        before = watch(str(place.project))
        git(place.project, "config", "core.hooksPath", ".husky")
        git(place.project, "config", "core.fsmonitor", "evil")
        keys = keys_named("git config core.hooksPath .husky")
        done = restore(str(place.project), before, removed, (), keys)
        assert len(done) == 1
        after = accept(str(place.project), before, done, (), keys)
        assert restore(str(place.project), after, removed) == []
        git(place.project, "config", "core.hooksPath", "evil")
        assert len(restore(str(place.project), after, removed)) == 1
        assert self.value(place, ".git/config", "core.hooksPath") == ".husky"


def add_submodule(place: Place, folder: Path) -> None:
    git(folder, "clone", "-q", str(place.project), str(folder / "lib"))
    git(
        place.project,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(folder / "lib"),
        "lib",
    )


# A line, and the keys that it may set.
LINES = (
    ("git config core.hooksPath .husky/_", [("core.hookspath", ".husky/_")]),
    ("git config --local alias.x '!f; g'", [("alias.x", "!f; g")]),
    ("git config remote.My.uploadpack x", [("remote.My.uploadpack", "x")]),
    ("git lfs install", [("filter.lfs.*", "")]),
    *((line, []) for line in (
        "git remote -v", "git log config", "git config --get x", "git config core.pager x; echo x", "python3 k.py; git config core.pager x",
        "git config core.pager $(./run)", 'git config core.pager "`./run`"', "git config core.pager x\n./run", "git config core.pager x && ./run",
        "git config core.pager x > y", "git config --file x core.pager y", "git -C x config core.pager y", "GIT_DIR=x git config core.pager y",
        "./git config core.pager x", "git config 'core.pager", "git config core.pager x | ./run", "git config core.pager x & ./run",
        "git submodule update", "git remote add origin x", """git config core.pager "a'$(./run)'b" """,
    )),
)  # fmt: skip


@rows("line, keys", LINES)
def test_keys_of_a_line(line: str, keys: list[tuple[str, str]]) -> None:
    assert keys_named(line) == keys


class TestWhatACallWasLet:
    def test_neighbour_does_not_allow_the_folder(self, place: Place, removed: Path) -> None:
        vscode = place.project / ".vscode"
        before = watch(str(place.project), copies=place.sb_home / "copies")
        vscode.mkdir()
        (vscode / "launch.json").write_text("{}")
        (vscode / "tasks.json").write_text("{}")
        allowed = [str(vscode / "launch.json")]
        done = restore(str(place.project), before, removed, allowed)
        assert os.listdir(vscode) == ["launch.json"]
        after = accept(str(place.project), before, done, allowed)
        assert restore(str(place.project), after, removed) == []
        (vscode / "mcp.json").write_text("{}")
        (vscode / "launch.json").write_text("evil")
        assert len(restore(str(place.project), after, removed)) == 2
        assert os.listdir(vscode) == ["launch.json"]
        assert (vscode / "launch.json").read_text() == "{}"

    def test_named_folder_of_settings_is_allowed_whole(self, place: Place, removed: Path) -> None:
        vscode = place.project / ".vscode"
        before = watch(str(place.project))
        vscode.mkdir()
        (vscode / "launch.json").write_text("{}")
        assert restore(str(place.project), before, removed, [str(vscode)]) == []

    @pytest.mark.parametrize("folder", ["", ".git", ".github", ".."])
    def test_folder_around_it_allows_nothing(self, folder: str, place: Place, removed: Path) -> None:
        before = watch(str(place.project))
        (place.project / ".github" / "hooks").mkdir(parents=True)
        (place.project / ".mcp.json").write_text("{}")
        git(place.project, "config", "core.fsmonitor", "evil")
        allowed = [os.path.normpath(place.project / folder)]
        assert len(restore(str(place.project), before, removed, allowed)) == 3

    def test_watch_is_the_same_when_read_again(self, place: Place) -> None:
        before = watch(str(place.project), copies=place.sb_home / "copies")
        allowed = [str(place.project / ".mcp.json")]
        after = accept(str(place.project), before, ["could not x"], allowed, [("a.b", "c")])
        assert Watch.from_json(json.loads(json.dumps(asdict(after)))) == after


class TestWhatCannotBePutBack:
    def test_long_name_is_cut(self, place: Place, removed: Path) -> None:
        before = watch(str(place.project))
        (place.project / f"{'a' * 239}.code-workspace").touch()
        assert len(restore(str(place.project), before, removed)) == 1
        assert restore(str(place.project), before, removed) == []

    def test_number_is_not_used_twice(self, place: Place, removed: Path) -> None:
        for text in ("1", "2", "3"):
            (place.project / "a").write_text(text)
            no_links.move(str(place.project / "a"), removed)
            if text == "2":
                (removed / "0000-a").unlink()
        assert sorted(path.name for path in removed.iterdir()) == ["0001-a", "0002-a"]

    @pytest.mark.parametrize("closed", [".vscode", "."])
    def test_closed_folder_is_opened_by_its_owner(self, closed: str, place: Place, removed: Path) -> None:
        before = watch(str(place.project))
        (place.project / ".vscode").mkdir()
        (place.project / ".vscode" / "tasks.json").write_text("{}")
        (place.project / closed).chmod(0o555)
        done = restore(str(place.project), before, removed)
        mode = place.project.stat().st_mode & 0o777
        place.project.chmod(0o755)
        assert len(done) == 1
        assert mode == (0o555 if closed == "." else 0o755)
        assert not (place.project / ".vscode").exists()

    def test_failure_is_reported_once(self, place: Place, tmp_path: Path) -> None:
        before = watch(str(place.project))
        (place.project / ".mcp.json").write_text("{}")
        blocked = tmp_path / "blocked"
        blocked.write_text("")
        done = restore(str(place.project), before, blocked)
        assert done[0].startswith("could not move")
        after = accept(str(place.project), before, done)
        assert restore(str(place.project), after, blocked) == []
