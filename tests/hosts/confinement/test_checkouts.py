"""Settings of hosts that git commands bring into a project or take out of it, told before they run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sb.hosts.confinement.checkouts import Checkout, checkouts, deletions, missing, way_back
from tests.hosts.confinement.conftest import Place, git
from tests.rows import rows


@pytest.fixture
def repository(place: Place) -> Path:
    """Branches main without settings, `ide` with some, `tasks` with others, and `plain` with none; a remote with more."""
    project = place.project
    git(project, "branch", "-M", "main")
    git(project, "switch", "-qc", "plain")
    commit(project, "cart.py", "total = 1\n")
    git(project, "switch", "-qc", "ide", "main")
    commit(project, ".vscode/extensions.json", "{}")
    commit(project, ".cursor/rules/a.mdc", "use tabs")
    git(project, "switch", "-qc", "tasks", "main")
    commit(project, ".vscode/tasks.json", "{}")
    git(project, "clone", "-q", ".", "../up")
    commit(project.parent / "up", ".github/prompts/x.md", "x")
    git(project.parent / "up", "switch", "-qc", "far")
    git(project, "remote", "add", "origin", "../up")
    git(project, "fetch", "-q")
    git(project, "switch", "-q", "main")
    git(project, "branch", "--set-upstream-to=origin/tasks")
    return project


def commit(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    git(project, "add", "-A")
    git(project, "commit", "-qm", name)


def named_by(project: Path, line: str, folder: Path | None = None) -> list[Checkout]:
    return list(checkouts([(line.split(), str(folder or project))], str(project)))


def short(project: Path, name: str) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", name], cwd=project, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


BRING = (
    ("git switch ide", [".cursor/rules/a.mdc", ".vscode/extensions.json"]),
    ("git switch -q --detach ide~1", [".vscode/extensions.json"]),
    ("git switch -c mine ide", [".cursor/rules/a.mdc", ".vscode/extensions.json"]),
    ("git switch far", [".github/prompts/x.md", ".vscode/tasks.json"]),
    ("git switch -", [".vscode/tasks.json"]),
    ("git checkout ide", [".cursor/rules/a.mdc", ".vscode/extensions.json"]),
    ("git checkout -b mine origin/tasks", [".github/prompts/x.md", ".vscode/tasks.json"]),
    ("git checkout ide -- .vscode", [".vscode/extensions.json"]),
    ("git checkout ide .vscode .cursor", [".cursor/rules/a.mdc", ".vscode/extensions.json"]),
    ("git checkout ide -- .", [".cursor/rules/a.mdc", ".vscode/extensions.json"]),
    ("git restore --source=ide .vscode/extensions.json", [".vscode/extensions.json"]),
    ("git restore -s tasks -- .", [".vscode/tasks.json"]),
    ("git merge ide", [".cursor/rules/a.mdc", ".vscode/extensions.json"]),
    ("git merge --no-ff -m x tasks", [".vscode/tasks.json"]),
    ("git merge", [".github/prompts/x.md", ".vscode/tasks.json"]),
    ("git pull --ff-only", [".github/prompts/x.md", ".vscode/tasks.json"]),
    ("git pull origin tasks", [".github/prompts/x.md", ".vscode/tasks.json"]),
    ("git rebase tasks", [".vscode/tasks.json"]),
    ("git reset --hard tasks", [".vscode/tasks.json"]),
    ("git cherry-pick ide", [".cursor/rules/a.mdc"]),
    ("git -C sub cherry-pick tasks", [".vscode/tasks.json"]),
    ("git -c advice.detachedHead=false checkout tasks", [".vscode/tasks.json"]),
)  # fmt: skip


@rows("line, names", BRING)
def test_command_that_brings_settings_names_them(line: str, names: list[str], repository: Path) -> None:
    (repository / "sub").mkdir(exist_ok=True)
    (item,) = named_by(repository, line)
    assert item.paths == tuple(str(repository / name) for name in names)
    assert not item.removes


BRING_NONE = (
    "git switch plain", "git switch -c new", "git checkout -b new main", "git checkout -- cart.py", "git checkout .", "git checkout ide -- cart.py",
    "git restore --staged .", "git restore cart.py", "git restore -s ide cart.py", "git merge plain", "git rebase plain", "git reset --soft ide",
    "git reset ide", "git reset --hard", "git cherry-pick plain", "git revert plain", "git stash", "git stash pop", "git log ide", "git diff ide", "git branch mine ide",
    "git pull origin main", "git fetch", "git show ide:.vscode/extensions.json", "git switch nothere", "git --git-dir=../up/.git checkout tasks", "git -C ../up checkout tasks", "echo git switch ide",
)  # fmt: skip


@rows("line", BRING_NONE)
def test_other_commands_bring_none(line: str, repository: Path) -> None:
    assert named_by(repository, line) == []


def test_settings_that_go_or_change_are_named(repository: Path) -> None:
    git(repository, "switch", "-q", "ide")
    (gone,) = named_by(repository, "git switch main")
    assert gone.removes
    assert len(gone.paths) == 2
    (back,) = named_by(repository, "git revert HEAD")
    assert (back.removes, back.paths) == (True, (f"{repository}/.cursor/rules/a.mdc",))
    assert named_by(repository, "git switch -c more") == []
    (repository / ".vscode" / "extensions.json").write_text("{ }")
    for line in ("git checkout -- .vscode", "git restore .", "git reset --hard", "git checkout HEAD .vscode"):
        assert [item.paths for item in named_by(repository, line)] == [
            (f"{repository}/.vscode/extensions.json",)
        ], line
    git(repository, "stash")
    (item,) = named_by(repository, "git stash pop")
    assert item.paths == (f"{repository}/.vscode/extensions.json",)
    assert named_by(repository, "git stash apply stash@{0}")[0].name == item.name


def test_same_settings_have_one_name_and_others_another(repository: Path) -> None:
    names = {
        line: named_by(repository, line)[0].name
        for line in ("git switch ide", "git checkout ide", "git switch tasks")
    }
    assert names["git switch ide"] == names["git checkout ide"] != names["git switch tasks"]


def test_short_ids_are_known_loose_and_packed(repository: Path) -> None:
    for _ in range(2):
        (item,) = named_by(repository, f"git checkout -q {short(repository, 'tasks')}")
        assert item.paths == (f"{repository}/.vscode/tasks.json",)
        assert named_by(repository, f"git checkout -q {short(repository, 'plain')}") == []
        git(repository, "gc", "-q")


def test_merge_of_a_branch_that_has_older_settings_brings_none(repository: Path) -> None:
    git(repository, "switch", "-qc", "next", "ide~1")
    commit(repository, "a.py", "a")
    git(repository, "switch", "-q", "ide")
    commit(repository, "b.py", "b")
    assert named_by(repository, "git merge next") == []
    assert named_by(repository, "git switch next") != []


def test_missing_settings_of_the_last_commit_are_told_before_their_absence_is_committed(
    repository: Path,
) -> None:
    git(repository, "switch", "-q", "ide")
    root = str(repository)
    everything = (
        "git add -A",
        "git add .",
        "git commit -am x",
        "git commit -qam x",
        "git add -u",
        "git commit -a",
        "git add .vscode",
        "git commit -m x .vscode",
    )

    def lost(line: str) -> list[tuple[str, str]]:
        return list(deletions([(line.split(), root)], root))

    assert [line for line in everything if lost(line)] == []
    assert way_back(root) == "Do not make it again without asking the user."
    shutil.rmtree(repository / ".vscode")
    path = f"{root}/.vscode/extensions.json"
    assert missing(root) == [path]
    assert [line for line in everything if lost(line) != [(" ".join(line.split()[:2]), path)]] == []
    harmless = (
        "git add cart.py",
        "git commit -m x",
        "git commit --amend",
        "git status",
        "git add .cursor",
        "git stash",
        "git -C ../up add -A",
    )
    assert [line for line in harmless if lost(line)] == []
    assert "`git checkout -- .vscode/extensions.json`" in way_back(root)
    git(repository, "config", "core.sparseCheckout", "true")
    assert missing(root) == []
