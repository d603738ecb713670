"""Commands under bubblewrap: what they can and cannot do, whatever their text says."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sb.hosts.confinement import bubblewrap
from sb.hosts.confinement.needs import needs_of
from sb.hosts.confinement.profile import MOST_SIBLINGS, make_caches, with_modes
from sb.hosts.hooks.confined.session_settings import make_settings
from sb.shell.places.guarded import Guarded
from sb.shell.places.guarded import Place as GuardedPlace
from tests.hosts.confinement.conftest import Place, git
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")

# Spellings that a reader of text loses to; each would change something that no command may.
ESCAPES = {
    "editor": "vi -es -c 'w! ~/.sb/config.yaml' -c q; ex -s -c 'w! ~/.sb/config.yaml' -c q; printf x | tee ~/.sb/config.yaml",
    "git trace": "GIT_TRACE=$HOME/.claude/settings.json git status",
    "cdpath": "CDPATH=~; cd .sb && rm -f config.yaml",
    "folder from a command": 'cd "$(echo ~/.claude)" && rm -f settings.json',
    "link": "ln -s ~ l; rm -f l/.sb/config.yaml l/notes.md",
    "another name for rm": "hash -p $(command -v rm) ls; ls -rf ~/.sb",
    "move of the home": "mv ~/.sb ~/.sbx",
    "code": "python3 -c \"import os; open(os.path.expanduser('~/.s'+'b/config.yaml'), 'w').write('x')\"",
    "another process's root": "for p in /proc/[0-9]*; do echo x > $p/root$HOME/.sb/config.yaml; done",
    "remount": "mount -o remount,rw / ; umount ~/.sb; unshare -rm sh -c 'mount -o remount,rw,bind ~/.sb; umount -l ~/.sb; echo x > ~/.sb/config.yaml'",
    "keys": "cat ~/.sb/keys/operator",
    "folder of the project's settings": "mv .claude x; mkdir .claude; rmdir .claude",
    "settings of the project": "echo '{}' > .claude/settings.local.json",
    "repository": "mv .git g && cp -r g .git",
    "hook": "printf '#!/bin/sh' > .git/hooks/pre-commit; ln -sf /bin/true .git/hooks/pre-push",
    "new login file": "echo x > ~/.bashrc",
    "credential": "cat ~/.ssh/id_ed25519; cp ~/.ssh/id_ed25519 .; tar cf - ~/.ssh | strings",
    "in the background": "(sleep 0.1; echo x > ~/.sb/config.yaml) & wait; setsid sh -c 'echo x > ~/notes.md'",
}


def _state(place: Place) -> dict[str, bytes]:
    """Every file of the home but those of the project that are the agent's to change."""
    files: dict[str, bytes] = {}
    for folder, below, names in os.walk(place.home):
        if Path(folder) == place.project:
            below[:] = [name for name in below if name == ".claude"]
            names = []
        if Path(folder) == place.sb_home:
            below[:] = ["keys"]
        files |= {
            os.path.join(folder, name): Path(folder, name).read_bytes()
            for name in names
            if not Path(folder, name).is_symlink()
        }
    return files


@rows("name, command", ESCAPES.items())
def test_no_spelling_gets_past(name: str, command: str, place: Place) -> None:
    before = _state(place)
    hooks = sorted(os.listdir(place.project / ".git" / "hooks"))
    done = place.run(command)
    assert _state(place) == before
    assert sorted(os.listdir(place.project / ".git" / "hooks")) == hooks
    assert (place.project / ".claude").is_dir()
    assert "PRIVATE" not in done.stdout
    assert "secret" not in done.stdout


def test_work_in_the_project_goes_on(place: Place) -> None:
    done = place.run(
        "echo 'total = 1' > cart.py && git add -A && git commit -qm change && git checkout -qb next && mkdir a && mv cart.py a/ && rm -r a && cat ~/.ssh/id_ed25519.pub"
    )
    assert done.stdout == "public", done.stderr
    assert not (place.project / "cart.py").exists()
    done = place.run("git config branch.next.remote origin; git stash list; echo $SB_CONFINED; id -u")
    assert done.stdout.split() == [bubblewrap.NAME, str(os.getuid())]


def test_credential_is_refused_and_not_empty(place: Place) -> None:
    (place.home / ".npmrc").write_text("//registry.example/:_authToken=PRIVATE")
    done = place.run("cat ~/.npmrc")
    assert (done.stdout, done.returncode) == ("", 1)
    assert "Permission denied" in done.stderr
    done = place.run("cat ~/.npmrc", place.profile(needs_of([("npm", "install")]).rows))
    assert "PRIVATE" in done.stdout


def test_credentials_of_the_project_stay_readable(place: Place) -> None:
    (place.project / ".env").write_text("KEY=1")
    assert place.run("cat .env").stdout == "KEY=1"


def test_approved_path_is_writable_and_nothing_beside_it(place: Place) -> None:
    new, there = place.home / "report.txt", place.home / "notes.md"
    granted = place.profile(opened=[new, there])
    done = place.run(
        "echo a > ~/report.txt; sed -i s/mine/ours/ ~/notes.md; echo x > ~/.sb/config.yaml; echo x > ~/.claude/settings.json",
        granted,
    )
    assert new.read_text() == "a\n"
    assert there.read_text() == "ours\n"
    assert (place.sb_home / "config.yaml").read_text() == "hooks: {}\n"
    assert (place.home / ".claude" / "settings.json").read_text() == "{}"
    assert done.returncode == 1


def test_file_in_a_very_full_folder_opens_nothing_beside_it(place: Place) -> None:
    for number in range(MOST_SIBLINGS):
        (place.home / f"note-{number}").touch()
    notes = place.home / "notes.md"
    done = place.run(f"echo a >> {notes}; echo b > {place.home}/note-0", place.profile(opened=[notes]))
    assert "note-0: Read-only file system" in done.stderr
    assert notes.read_text() == "mine\na\n"


def test_programs_that_npx_installs_are_gone_with_the_command(place: Place) -> None:
    """The person's next `npx` would run what lies there."""
    path = place.home / ".npm" / "_npx" / "1" / "cowsay"
    path.parent.mkdir(parents=True)
    path.write_text("theirs")
    line = "ls -A ~/.npm/_npx; mkdir -p ~/.npm/_npx/1 && echo 'echo ran' > ~/.npm/_npx/1/cowsay && sh ~/.npm/_npx/1/cowsay"
    for _ in range(2):
        assert place.run(line).stdout == "ran\n"
    assert place.run("rmdir ~/.npm/_npx; mv ~/.npm/_npx ~/.npm/x; touch ~/.npm/y").returncode == 1
    assert os.listdir(place.home / ".npm") == ["_npx"]
    assert path.read_text() == "theirs"
    approved = place.profile(opened=[path.parent.parent])
    assert place.run("cat ~/.npm/_npx/1/cowsay; rm -r ~/.npm/_npx", approved).stdout == "theirs"
    assert not path.exists()


def test_folder_of_npx_behind_a_link_is_left_as_it_is(place: Place) -> None:
    elsewhere = place.home / "elsewhere"
    (elsewhere / "_npx").mkdir(parents=True)
    (place.home / ".npm").symlink_to(elsewhere)
    assert place.run("touch ~/.npm/_npx/x").returncode == 1
    assert place.profile(temporary=[str(place.home)]).emptied == ()


def test_folder_of_npx_is_made_where_npm_has_been_used(place: Place) -> None:
    npm = place.home / ".npm"
    make_caches(str(place.home))
    assert not npm.exists()
    make_caches(str(place.home), needs_of([("npx", "cowsay")]).rows)
    assert sorted(os.listdir(npm)) == ["_cacache", "_logs", "_npx"]
    shutil.rmtree(npm)
    (place.home / "elsewhere").mkdir()
    npm.symlink_to("elsewhere")
    make_caches(str(place.home))
    assert os.listdir(npm) == []


def test_git_passes_over_a_held_folder_when_it_removes_ignored_files(place: Place) -> None:
    """Else it fails at what it cannot remove, with all the rest removed."""
    made = place.project / ".claude"
    assert make_settings(str(place.project)) is False
    made.rmdir()
    assert make_settings(str(place.project))
    (place.project / ".git" / "info" / "exclude").write_text("*.o\n")
    line = "touch a.o; git clean -fdx; echo =$?; touch a.o; git stash -a; echo =$?; rm -rf .claude; mv .claude x; touch .claude/settings.json; ls"
    done = place.run(line, replace(place.profile(), passed_over=(str(made),)))
    # Not bare digits: git prints the beginning of a commit's hash, which may be digits alone.
    assert [word for word in done.stdout.split() if word[0] == "="] == ["=0", "=0"], done.stderr
    assert "a.o" not in done.stdout.splitlines()
    assert os.listdir(made) == [".gitignore"]


def test_line_that_changes_modes_alone_may_do_so_in_the_whole_project(place: Place) -> None:
    hooks, settings = place.project / ".git" / "hooks", place.project / ".claude" / "settings.json"
    (hooks / "pre-push").write_text("#!/bin/sh\n")
    settings.write_text("{}")
    assert place.run("chmod -R u+w .").returncode == 1
    profile = with_modes(place.profile(), str(place.project))
    assert place.run("chmod -R g-w,o-w .", profile).returncode == 0
    assert place.run("chmod -R u+w ~/.claude", profile).returncode == 1


def test_nothing_asks_for_a_newer_version_on_every_run(place: Place) -> None:
    assert place.run("echo $npm_config_update_notifier $NO_UPDATE_NOTIFIER").stdout == "false 1\n"


def test_approved_folder_that_is_not_there_yet(place: Place) -> None:
    wanted = place.home / "reports" / "2026" / "may"
    place.run(
        "mkdir -p ~/reports/2026/may && echo a > ~/reports/2026/may/x",
        place.profile(opened=[wanted]),
    )
    assert (wanted / "x").read_text() == "a\n"


@pytest.mark.parametrize(
    ("name", "user"),
    [
        (".docker/run/docker.sock", ("docker", "ps")),
        (".lima/default/sock/docker.sock", ("docker", "ps")),
        (".orbstack/run/docker.sock", ("docker", "ps")),
        (".1password/agent.sock", ("ssh", "host")),
        (".bitwarden-ssh-agent.sock", ("ssh", "host")),
    ],
)
def test_socket_that_runs_things_outside_is_masked(name: str, user: tuple[str, ...], place: Place) -> None:
    path = place.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.getcwd()
        os.chdir(path.parent)  # a socket's path is short
        try:
            server.bind(path.name)
        finally:
            os.chdir(folder)
        server.listen()
        connect = f"cd {path.parent} && python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{path.name}'); print('reached')\""
        assert "Permission denied" in place.run(connect).stderr
        used = place.profile(needs_of([user]).rows)
        assert place.run(connect, used).stdout == "reached\n"


def test_server_that_one_call_starts_is_ended_by_the_next(place: Place) -> None:
    pid = place.run("sleep 60 > /dev/null 2>&1 & echo $!").stdout.strip()
    assert Path(f"/proc/{pid}").exists()
    assert place.run(f"kill {pid} && echo ended").stdout == "ended\n"


def test_linked_worktree_commits_and_its_hooks_stay(place: Place) -> None:
    other = place.home / "shop-next"
    git(place.project, "worktree", "add", "-q", str(other))
    inside = place.profile(project=str(other))
    done = place.run(
        "echo x > new.py && git add . && git commit -qm more && git log --oneline | wc -l; rm -f ~/shop/cart.py; echo x > ~/shop/.git/hooks/pre-commit",
        inside,
        cwd=other,
    )
    assert done.stdout.strip() == "2", done.stderr
    assert (place.project / "cart.py").exists()
    assert not (place.project / ".git" / "hooks" / "pre-commit").exists()


def test_file_that_names_another_repository_opens_nothing(place: Place) -> None:
    """An agent can write a `.git` file; only a repository that names the project in turn counts."""
    other = place.home / "bank"
    git(place.home, "init", "-q", str(other))
    shutil.rmtree(place.project / ".git")
    (place.project / ".git").write_text(f"gitdir: {other}/.git\n")
    place.run("git commit -q --allow-empty -m stolen; echo x > ~/bank/.git/config")
    assert subprocess.run(["git", "-C", str(other), "log"], capture_output=True, check=False).returncode != 0
    assert "[core]" in (other / ".git" / "config").read_text()


def test_agents_worktrees_in_the_settings_folder_are_worked_in(place: Place) -> None:
    tree = place.project / ".claude" / "worktrees" / "one"
    git(place.project, "worktree", "add", "-q", str(tree))
    done = place.run(
        "echo x > new.py && git add . && git commit -qm more && mkdir .claude && touch ../../settings.json",
        cwd=tree,
    )
    assert (tree / "new.py").exists(), done.stderr
    assert not (place.project / ".claude" / "settings.json").exists()


def test_probe_holds_here_and_says_why_it_does_not(tmp_path: Path) -> None:
    assert bubblewrap.probe(bubblewrap.find(), tmp_path) == ""
    assert [path.name for path in tmp_path.iterdir()] == ["denied"]
    plain = tmp_path / "bwrap"
    plain.write_text('#!/bin/sh\nwhile [ "$1" != /bin/sh ]; do shift; done\nexec "$@"\n')
    plain.chmod(0o700)
    assert "wrote" in bubblewrap.probe(str(plain), tmp_path)
    plain.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    assert bubblewrap.probe(str(plain), tmp_path) == "No permissions to create a new namespace"


def test_approved_change_of_what_is_protected_in_the_project(place: Place) -> None:
    settings = place.project / ".claude" / "settings.json"
    done = place.run(
        "echo '{}' > .claude/settings.json; echo x > .claude/other; echo x > cart.py",
        place.profile(opened=[settings]),
    )
    assert settings.read_text() == "{}\n", done.stderr
    assert (place.project / "cart.py").read_text() == "x\n"
    done = place.run(
        "rm -rf .git && git init -q && git add cart.py", place.profile(opened=[place.project / ".git"])
    )
    assert done.returncode == 0, done.stderr


def test_nothing_opens_secondbrains_own_files(place: Place) -> None:
    own = place.sb_home / "config.yaml"
    profile = place.profile(opened=[own, place.home])
    place.run("echo x > ~/.sb/config.yaml; rm -rf ~/.sb", profile)
    assert own.read_text() == "hooks: {}\n"
    assert place.profile(opened=[own]).opened == ()


def test_link_named_like_a_socket_masks_nothing(place: Place) -> None:
    """An agent can make it where temporary folders are; it would close the whole home, and what is in it be left out."""
    (place.home / ".screen").symlink_to(place.home)
    assert str(place.home) not in place.profile().unreadable
    assert "Permission denied" in place.run("cat ~/.ssh/id_ed25519").stderr


def test_settings_of_the_user_stay_closed_where_the_home_is_writable(place: Place) -> None:
    opened = place.profile(writable=[str(place.home)])
    place.run("echo x > ~/.claude/settings.json; echo x > ~/.bashrc; echo y >> ~/notes.md", opened)
    assert (place.home / ".claude" / "settings.json").read_text() == "{}"
    assert (place.home / "notes.md").read_text() == "mine\ny\n"


def test_own_files_stay_closed_where_a_root_leads_to_the_home(place: Place) -> None:
    """A link may be in the place of a root by the time that it is mounted."""
    root = place.home / "scratch"
    root.mkdir()
    profile = place.profile(temporary=[str(root)])
    root.rmdir()
    root.symlink_to(".")
    done = place.run(f"echo evil >> {place.sb_home}/config.yaml", profile)
    assert "config.yaml: Read-only file system" in done.stderr


def test_project_of_another_session_cannot_be_moved(place: Place) -> None:
    area = place.home / "area"
    (area / "theirs" / ".git").mkdir(parents=True)
    elsewhere = place.home / "elsewhere"
    elsewhere.mkdir()
    others = [str(area / "theirs"), str(area / "theirs" / ".git"), str(elsewhere)]
    profile = place.profile(temporary=[str(area)], others=others)
    assert "busy" in place.run(f"mv {area}/theirs {area}/x", profile).stderr
    assert place.run(f"touch {area}/theirs/a", profile).returncode == 0, "it is a temporary file all the same"
    assert "Read-only" in place.run(f"touch {elsewhere}/a", profile).stderr
    unjudged = place.profile(temporary=[str(area)], others=others, project="")
    assert "Read-only" in place.run(f"touch {area}/theirs/b", unjudged, cwd=area).stderr


def test_what_another_mount_holds_has_none_of_its_own(place: Place) -> None:
    database = place.sb_home / "brain.db"
    database.write_text("x")
    inner = place.sb_home / "scratch"
    (inner / "closed").mkdir(parents=True)
    own = [str(place.sb_home), str(database), str(inner / "closed")]
    profile = place.profile(own=own)
    assert str(database) not in profile.read_only
    assert str(place.sb_home) in profile.read_only
    assert place.run(f"echo x > {database}", profile).returncode != 0
    opened = place.profile(own=own, temporary=[str(inner)])
    assert str(inner / "closed") in opened.read_only, "a writable folder is in between"
    assert place.run(f"touch {inner}/closed/x", opened).returncode != 0


def test_installation_is_mounted_where_a_link_may_stand_in_the_place_of_a_root(place: Place) -> None:
    """A path that no command writes, and no root can come to lead to, needs no mount."""
    program = place.home / "opt" / "sb"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    guarded = Guarded(lambda: [GuardedPlace(str(program))])
    elsewhere = place.profile(guarded=guarded)
    assert str(program) not in elsewhere.read_only
    assert "Read-only" in place.run(f"echo x > {program}", elsewhere).stderr
    area = place.home / "area"
    (area / "shop").mkdir(parents=True)
    moved = place.profile(guarded=guarded, temporary=[str(area)], project=str(area / "shop"))
    assert str(program) in moved.read_only
    opened = place.profile(guarded=guarded, opened=[program.parent / "other"])
    assert str(program) in opened.read_only
