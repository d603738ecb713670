"""`sb-confine`: the script that a host puts in front of each command line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from sb.base.sources import SYSTEM_CLOCK
from sb.config.home import Home
from sb.hosts.confinement import processes
from sb.hosts.confinement.profile import Profile
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.install.confine_script import script
from tests.hosts.confinement.conftest import GIT, Place
from tests.resident.conftest import wait_for
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")
NOBODY = 65_534
OWN = ("/opt/sb-hook serve mcp", "echo our own")


@dataclass
class Confiner:
    """The script of a home, with an engine that was tried."""

    place: Place
    store: ConfineStore
    path: Path

    def call(
        self, command: str, cwd: Path | None = None, text: str | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """A command as Claude Code hands it over."""
        quoted = self.quoted(command)
        whole = f"source /nowhere/snapshot-bash-1.sh 2>/dev/null || true && {{ shopt -u extglob; }} >/dev/null 2>&1 || true && eval {quoted} < /dev/null && pwd -P >| {self.place.project}/claude-1-cwd"
        return subprocess.run(
            [self.path, whole if text is None else text], cwd=cwd or self.place.project, env={**GIT, "HOME": str(self.place.home), "SHELL": "/bin/bash", **env},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def quoted(self, command: str) -> str:
        plain = (
            command and all(item.isalnum() or item in "_./:=@+,-" for item in command) and command.isascii()
        )
        return command if plain else "'" + command.replace("'", "'\"'\"'") + "'"

    def issue(self, command: str, *opened: Path, folder: Path | None = None, outside: bool = False) -> None:
        profile = self.place.profile(opened=opened)
        self.store.issue(command, str(folder or self.place.project), profile, outside=outside)


@pytest.fixture
def confiner(place: Place) -> Confiner:
    home = Home(place.sb_home)
    store = ConfineStore(home, SYSTEM_CLOCK)
    assert store.engine().holds
    store.put_profile(str(place.project), place.profile())
    assert not processes.fault(store.folder)
    path = place.home / "sb-confine"
    path.write_bytes(script(home, "/nowhere/python", Path("/nowhere"), OWN))
    path.chmod(0o700)
    return Confiner(place, store, path)


LINES = (
    "echo $SB_CONFINED", "echo '$SB_CONFINED' \"$SB_CONFINED\"", "cat <<'EOF'\n$SB_CONFINED bubblewrap\nEOF", "printf %s\\\\n bubblewrap | cat",
    "echo 'it'\"'\"'s' $(echo bubblewrap)",
)  # fmt: skip


@rows("line", LINES)
def test_line_runs_confined_as_it_was_written(line: str, confiner: Confiner) -> None:
    done = confiner.call(line)
    assert "bubblewrap" in done.stdout, done.stderr
    plain = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "SB_CONFINED": "bubblewrap"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == plain.stdout
    assert confiner.call("echo x > ~/notes.md").returncode == 1
    assert (confiner.place.project / "claude-1-cwd").read_text().strip() == os.path.realpath(
        confiner.place.project
    )


@rows("environment, count", [({}, 2), ({"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gc.auto", "GIT_CONFIG_VALUE_0": "1"}, 3)])  # fmt: skip
def test_git_with_keys_leaves_nothing_behind(
    environment: dict[str, str], count: int, confiner: Confiner
) -> None:
    """`gc --auto` would go on with them after the call, and read the configuration again."""
    line = "git config gc.auto; git config maintenance.auto; echo $GIT_CONFIG_COUNT"
    project = confiner.place.project
    confiner.store.issue(line, str(project), confiner.place.profile(), outside=False, keyed=True)
    assert confiner.call(line, None, None, **environment).stdout == f"0\nfalse\n{count}\n"
    assert not confiner.call(line).stdout.startswith("0\n")


def test_tree_of_a_call_that_was_asked_about_is_stored_before_its_line_begins(
    confiner: Confiner, tmp_path: Path
) -> None:
    line, project, runtime = "cat told; echo ${SB_HOME:-none}", confiner.place.project, tmp_path / "it's"
    runtime.mkdir()
    (runtime / "start.py").write_text(
        f"import os, sys\nopen({str(project / 'told')!r}, 'w').write(str([*sys.argv[1:], os.environ['SB_HOME'], sys.stdin.read()]))\n"
        "print('noise')\n"
    )
    home = Home(confiner.place.sb_home)
    confiner.path.write_bytes(script(home, sys.executable, runtime, OWN))
    for given in (False, True):
        (project / "told").write_text("nothing ")
        tree = (f"{project}/a 'b", "key-1") if given else ("", "")
        confiner.store.issue(line, str(project), confiner.place.profile(), outside=False, tree=tree)
        expected = str(["tree", f"{project}/a 'b", "key-1", str(home.folder), ""]) if given else "nothing "
        assert confiner.call(line).stdout == f"{expected}none\n"
    assert confiner.call(line).stdout == f"{expected}none\n"
    (project / "told").write_text("once ")
    assert confiner.call(line).stdout == "once none\n"


def test_ticket_that_was_taken_names_the_process_of_its_line(confiner: Confiner) -> None:
    line, project = "sleep 0.4; true", str(confiner.place.project)
    confiner.store.issue(line, project, confiner.place.profile(), outside=False)
    assert not processes.lives(confiner.store.process_of(line, project))
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(confiner.call, line)
        wait_for(lambda: processes.lives(confiner.store.process_of(line, project)))
        assert done.result().returncode == 0
    assert confiner.store.process_of(line, project)
    assert not processes.lives(confiner.store.process_of(line, project))
    for words in ([], ["1"], ["1", ""], ["", ""], ["-1", "x"], ["1", "0"]):
        assert not processes.lives(words)


def test_profile_of_a_folder_is_not_that_of_another(confiner: Confiner) -> None:
    """A folder named like the file of a profile is one like any other."""
    project = confiner.place.project
    for name in ("options", "options/options", "a b"):
        below = project / name
        below.mkdir()
        confiner.store.put_profile(str(below), confiner.place.profile())
        done = confiner.call(f"echo $SB_CONFINED; echo x > {shlex.quote(str(project))}/y", cwd=below)
        assert done.stdout == "bubblewrap\n"
    confiner.store.put_profile(str(project), confiner.place.profile())
    assert confiner.call("echo $SB_CONFINED").stdout == "bubblewrap\n"
    confiner.store.tidy()
    assert confiner.call("echo $SB_CONFINED", cwd=project / "options").stdout == "bubblewrap\n"
    confiner.store.forget_profiles(str(project))
    assert not list((confiner.store.folder / "folders").rglob("options"))


def test_what_was_written_for_another_session_is_not_taken(confiner: Confiner) -> None:
    """A folder of the project may become a link to where that session works."""
    line, project = "echo ${SB_CONFINED:-none}; cat notes.md", str(confiner.place.project)
    own = ConfineStore(Home(confiner.place.sb_home), SYSTEM_CLOCK, session="session-1")
    confiner.store.forget_profiles(project)
    own.put_profile(project, confiner.place.profile())
    own.issue(line, project, confiner.place.profile(), outside=True)
    assert confiner.call(line, CLAUDE_CODE_SESSION_ID="session-2").stdout == "none\n"
    assert list(confiner.store.folder.glob("tickets/*.call")), "its ticket is there still"
    assert confiner.call("echo $SB_CONFINED", CLAUDE_CODE_SESSION_ID="session-1").stdout == "bubblewrap\n"
    confiner.call(line, CLAUDE_CODE_SESSION_ID="session-1")
    assert list(confiner.store.folder.glob("tickets/*.taken"))
    assert (
        confiner.call("echo ${SB_CONFINED:-none}", CLAUDE_CODE_SESSION_ID="../session-1").stdout == "none\n"
    )
    own.forget_profiles(project)
    assert confiner.call("echo ${SB_CONFINED:-none}", CLAUDE_CODE_SESSION_ID="session-1").stdout == "none\n"


def test_what_runs_outside_follows_no_link_and_runs_no_program_of_the_project(
    confiner: Confiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, line = confiner.place, "hello; true && echo ${SB_CONFINED:-outside}"
    (place.project / "bin").mkdir()
    (place.project / "bin" / "hello").write_text("#!/bin/sh\necho evil\n")
    (place.project / "bin" / "hello").chmod(0o700)
    monkeypatch.setenv("PATH", f"{place.project}/bin:{os.environ['PATH']}")
    noted = place.project / "claude-1-cwd"
    noted.symlink_to(place.home / "notes.md")
    confiner.issue(line, outside=True)
    done = confiner.call(line)
    assert (done.stdout, done.returncode) == ("outside\n", 0)
    assert (place.home / "notes.md").read_text() == "mine\n"
    noted.unlink()
    confiner.issue("cd .claude", outside=True)
    confiner.call("cd .claude")
    assert noted.read_text().strip() == os.path.realpath(place.project / ".claude")


def test_ticket_counts_once_and_for_its_command_and_folder_alone(confiner: Confiner) -> None:
    new, line = confiner.place.home / "new", "echo 'a b' > ~/new"
    confiner.issue(line, new)
    other = confiner.place.project / "src"
    other.mkdir()
    confiner.store.put_profile(str(other), confiner.place.profile())
    assert confiner.call(line, cwd=other).returncode == 1
    assert confiner.call(f"{line} ").returncode == 1
    assert confiner.call(line).returncode == 0
    new.unlink()
    assert confiner.call(line).returncode == 1
    assert not new.exists()
    confiner.issue(line, new)
    assert confiner.call(line).returncode == 0
    confiner.issue(line, new)
    confiner.store.revoke(line, str(confiner.place.project))
    new.unlink()
    assert confiner.call(line).returncode == 1


# Lines that hold another one's text, quoted as the host would quote it.
FORGED = (
    "true' < /dev/null && eval {wanted} < /dev/null && pwd -P >| /tmp/claude-2-cwd; '",
    "echo x && eval {wanted} < /dev/null && pwd -P >| /tmp/claude-2-cwd",
    ": ' && eval {wanted} < /dev/null && pwd -P >| '",
    "{wanted}\n && eval {wanted}",
)


@rows("line", FORGED)
def test_line_cannot_pass_for_another_one(line: str, confiner: Confiner) -> None:
    for command in ("mv ~/notes.md ~/kept.md", "make"):
        confiner.issue(command, confiner.place.home / "notes.md", confiner.place.home / "kept.md")
        confiner.call(line.format(wanted=confiner.quoted(command)) + "; rm -f ~/notes.md")
        assert (confiner.place.home / "notes.md").exists()


def test_ticket_for_what_cannot_work_inside(confiner: Confiner) -> None:
    confiner.issue("echo ${SB_CONFINED:-outside}", outside=True)
    assert confiner.call("echo ${SB_CONFINED:-outside}").stdout == "outside\n"
    assert confiner.call("echo ${SB_CONFINED:-outside}").stdout == "bubblewrap\n"


def test_own_entries_run_as_the_persons_own_and_only_word_for_word(confiner: Confiner) -> None:
    assert confiner.call("", text="echo our own").stdout == "our own\n"
    confiner.store.set_mode(on=True, required=True)
    done = confiner.call("", text="echo our own; echo x > ~/notes.md")
    assert done.returncode == 126, "what is no command of an agent needs the slow path, which is missing here"
    assert "hooks.confine = require" in done.stderr


def test_wrapping_twice_is_harmless(confiner: Confiner) -> None:
    twice = f"{confiner.path} {shlex.quote('echo $SB_CONFINED; echo x > ~/notes.md')}"
    done = confiner.call(twice)
    assert done.stdout == "bubblewrap\n"
    assert (confiner.place.home / "notes.md").read_text() == "mine\n"


@pytest.fixture
def closed_home() -> Iterator[Path]:
    """The script and the state of a home of an ordinary user, whom modes hold, too."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        home = Path(folder, ".sb")
        state = home / "confine"
        state.mkdir(parents=True)
        for name, text in (("program", "/bin/true"), ("kind", "landlock\n/nowhere\n/nowhere")):
            (state / name).write_text(f"{text}\n", encoding="utf-8")
        path = Path(folder, "sb-confine")
        path.write_bytes(script(Home(home), "/nowhere/python", Path("/nowhere"), OWN))
        path.chmod(0o755)
        for own in (home, state, *state.iterdir()) if os.geteuid() == 0 else ():
            os.chown(own, NOBODY, NOBODY)
        yield home
        state.chmod(0o700)


def _as_nobody(home: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*words, str(home.with_name("sb-confine")), "echo ran"], cwd="/", env={"PATH": "/usr/bin:/bin", **env}, capture_output=True,
        text=True, timeout=60, check=False, user=NOBODY if os.geteuid() == 0 else None,
    )  # fmt: skip


@pytest.mark.parametrize("closed", ["", "kind"])
def test_state_that_a_command_closed_is_no_sign_of_confinement(closed: str, closed_home: Path) -> None:
    """Neither are a variable, which a host's settings could set, a limit, or a note of a process that is none above."""
    (closed_home / "confine" / closed).chmod(0o000)
    notes = closed_home / "inside"
    notes.mkdir()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    (notes / f"{boot}.{os.getpid()}.1").touch()
    (notes / f"{boot}.1").touch()
    limited = ("prlimit", "--rttime=86400000017")
    for words in ((), ("env", "SB_CONFINED=landlock"), ("setpriv", "--no-new-privs"), limited):
        done = _as_nobody(closed_home, *words, SB_CONFINED="landlock")
        assert (done.returncode, done.stdout) == (126, ""), words
        assert "cannot be read" in done.stderr
    stat = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    (notes / f"{boot}.{os.getpid()}.{stat[19]}").touch()
    assert _as_nobody(closed_home).stdout == "ran\n", "below a process that the starter noted"


def test_mounts_of_bubblewrap_are_a_sign_without_the_variable(confiner: Confiner) -> None:
    done = confiner.call(f"env -u SB_CONFINED {confiner.path} 'echo inside'")
    assert (done.stdout, done.stderr) == ("inside\n", "")


def test_switched_off_it_starts_the_line_alone(confiner: Confiner) -> None:
    confiner.store.set_mode(on=False, required=False)
    assert confiner.call("echo ${SB_CONFINED:-off}").stdout == "off\n"
    confiner.store.set_mode(on=True, required=False)
    assert confiner.call("echo ${SB_CONFINED:-off}").stdout == "bubblewrap\n"


def test_by_hand_it_says_what_it_is_for(confiner: Confiner) -> None:
    done = subprocess.run([confiner.path, "a", "b"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (126, 1)


def test_names_of_any_bytes_reach_the_engine(confiner: Confiner) -> None:
    odd = confiner.place.home / os.fsdecode(b"od\xffd $(touch x) 'n\nl")
    odd.mkdir()
    profile = Profile(writable=(str(confiner.place.project), str(odd)))
    confiner.store.put_profile(str(odd), profile)
    done = confiner.call("touch inside && echo $SB_CONFINED", cwd=odd)
    assert done.stdout == "bubblewrap\n", done.stderr
    assert (odd / "inside").exists()


def test_call_sees_and_signals_nothing_outside_of_its_home(confiner: Confiner) -> None:
    with subprocess.Popen(["sleep", "61"]) as outside:
        done = confiner.call(
            f"kill -9 {outside.pid}; kill -STOP {outside.pid}; pgrep -x sleep -a; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; done"
        )
        assert outside.poll() is None
        assert Path(f"/proc/{outside.pid}/stat").read_text(encoding="utf-8").split(") ")[1][0] == "S"
        outside.kill()
    assert "sleep 61" not in done.stdout
    assert str(os.getpid()) not in confiner.call("ls /proc").stdout.split()


def test_processes_that_start_the_next_and_end_are_seen(confiner: Confiner) -> None:
    """At each moment there is one, and never the same."""
    hop = "import os, time\nend = time.time() + 60\nwhile time.time() < end:\n    if os.fork(): os._exit(0)\n"
    (confiner.place.project / "hop.py").write_text(hop)
    confiner.call("python3 hop.py > /dev/null 2>&1 &")
    until = time.monotonic() + 3
    while time.monotonic() < until:
        assert confiner.store.is_alive()
    confiner.store.end_all()


@rows(
    "looks, seen",
    [
        ([[]], False),
        ([["7 runs"]], True),
        # The second was not listed: it began after the list was made, and the first ended before it was looked at.
        ([["7 500"], ["7 500", "8 runs"]], True),
        ([["7 gone"], ["8 runs"]], True),
        ([["7 500"]], False),
        ([["7 gone"], ["8 gone"], ["9 gone"], ["10 gone"], ["11 gone"], ["12 gone"], ["13 gone"]], True),
    ],
)
def test_look_at_processes_is_repeated_until_none_had_just_ended(looks: list[list[str]], seen: bool) -> None:
    listings = iter(looks)
    pairs = lambda: [(item.split()[0], item.split()[1]) for item in next(listings, looks[-1])]
    assert processes.is_any(pairs) is seen


def test_later_call_ends_the_server_of_an_earlier_one(confiner: Confiner) -> None:
    _until_over(confiner)
    pid = confiner.call("sleep 62 > /dev/null 2>&1 & echo $!").stdout.strip()
    assert confiner.store.is_alive()
    assert confiner.call(f"kill {pid} && echo ended").stdout == "ended\n"
    _until_over(confiner)
    confiner.call("unshare -Upf sleep 63 > /dev/null 2>&1 & sleep 0.2; jobs -p")
    assert confiner.store.is_alive(), "in a namespace of its own below"
    confiner.store.end_all()
    _until_over(confiner)


def _until_over(confiner: Confiner) -> None:
    for _ in range(200):
        if not confiner.store.is_alive():
            return
        time.sleep(0.01)
    pytest.fail("still alive")


def test_call_that_was_let_open_more_is_closed_to_other_calls(confiner: Confiner) -> None:
    new = confiner.place.home / "new"
    line = "echo here > /dev/shm/x; sleep 64 > /dev/null 2>&1 & echo a > ~/new"
    confiner.issue(line, new)
    assert confiner.call(line).returncode == 0
    done = confiner.call(
        "for p in /proc/[0-9]*; do case $p in */$$) ;; *) echo evil > $p/root$HOME/new; ls $p/root/ $p/cwd/ $p/fd/; "
        "nsenter -t ${p#/proc/} -U -m true && echo entered; esac; done; echo evil > ~/new"
    )
    assert new.read_text() == "a\n"
    assert "entered" not in done.stdout
    assert "usr" not in done.stdout.split()
    confiner.store.end_all()


def test_ended_holder_is_replaced_and_its_number_is_not_believed(confiner: Confiner) -> None:
    record = confiner.store.folder / "holder"
    pid, started, boot = record.read_text().split()
    confiner.store.end_all()
    assert confiner.call("echo $SB_CONFINED").stdout == "bubblewrap\n"
    record.write_text(f"{pid} 1 {boot}\n")
    assert not confiner.store.is_alive()
    confiner.store.put_profile(str(confiner.place.project), confiner.place.profile())
    living = record.read_text()
    assert living.split()[1] != "1"
    record.write_text(f"{os.getpid()} {started} {boot}\n")
    assert confiner.call("echo $SB_CONFINED").stdout == "bubblewrap\n"
    record.write_text(living)


def test_without_a_namespace_the_options_hold_alone(confiner: Confiner) -> None:
    broken = confiner.place.home / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o700)
    confiner.store.end_all()
    processes.begin(confiner.store.folder, str(broken))
    assert processes.fault(confiner.store.folder)
    assert processes.GAP in confiner.store.gaps(confiner.store.engine())
    assert confiner.call("echo $SB_CONFINED; echo x > ~/notes.md").stdout == "bubblewrap\n"
    assert (confiner.place.home / "notes.md").read_text() == "mine\n"
