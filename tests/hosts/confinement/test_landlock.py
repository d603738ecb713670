"""Landlock holds commands, where user namespaces are closed: really run, as whoever runs the tests."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sb
from sb.base.sources import SYSTEM_CLOCK
from sb.config import load_config
from sb.config.home import Home
from sb.hosts.confinement import landlock
from sb.hosts.confinement.credentials import credentials_of
from sb.hosts.confinement.engines import BUBBLEWRAP, LANDLOCK, EngineKind
from sb.hosts.confinement.profile import Grounds, Profile, make_profile
from sb.hosts.confinement.store import ConfineStore, forget_engine
from sb.hosts.confinement.symptoms import symptoms_in
from sb.hosts.confinement.watched import Watch, restore, watch
from sb.hosts.hooks.calls.context import judging_context
from sb.hosts.hooks.confined.call import Confined
from sb.hosts.hooks.confined.confining import Confining
from sb.hosts.hooks.event import HookEvent, Moment
from sb.hosts.install.confine_script import write_script
from sb.shell.places.guarded import Guarded, Place

DISK = os.path.realpath("/var/tmp")  # /dev/shm, where tests have their files else, is open to every command
SETTINGS = '{"permissions": {}}\n'
FIRST_THREAD_ENDS = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(30,)).start(); ctypes.CDLL(None).pthread_exit(0)"
NOBODY = 65_534
SCOPES = 6  # the version of Landlock that has them
HOOK = "#!/bin/sh\necho theirs\n"


def landlock_abi() -> int:
    try:
        from landlockpy import abi_version
    except ImportError:
        return 0
    return int(abi_version())


@pytest.fixture(scope="module", autouse=True)
def _needs_landlock() -> None:
    program = landlock.find()
    with tempfile.TemporaryDirectory(dir=DISK) as folder:
        if not program or landlock.probe(program, Path(folder)):
            pytest.skip("this kernel has no Landlock that holds")


@contextmanager
def _as_ordinary_user(place: Room) -> Iterator[None]:
    """Root as a user whom modes hold, who owns the home."""
    if os.geteuid() != 0:
        yield
        return
    for path in (place.home.parent, place.home, *place.home.rglob("*")):
        os.lchown(path, NOBODY, NOBODY)
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class Room:
    """A home with SecondBrain's folder, credentials, settings, and a project with a repository."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "work"
        self.sb = self.home / ".sb"
        for path, text in {
            self.sb / "config.yaml": "a: 1\n",
            self.sb / "keys" / "own": "private\n",
            self.home / ".claude" / "settings.json": SETTINGS,
            self.home / ".ssh" / "id_ed25519": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
            self.home / ".ssh" / "known_hosts": "host\n",
            self.home / "notes.txt": "notes\n",
            self.home / "documents" / "old.txt": "old\n",
            self.project / ".claude" / "settings.json": SETTINGS,
            self.project / "code.py": "x = 1\n",
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        hook = self.project / ".git" / "hooks" / "pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(HOOK, encoding="utf-8")
        hook.chmod(0o755)
        self.store = ConfineStore(Home(self.sb), SYSTEM_CLOCK, (LANDLOCK,))
        self.store.set_mode(on=True, required=False)

    @property
    def profile(self) -> Profile:
        guarded = Guarded(lambda: [Place(str(self.home / ".claude"), asks=True)])
        grounds = Grounds(
            str(self.home),
            str(self.project),
            own=[str(self.sb)],
            private=[str(self.sb / "keys"), str(self.store.folder)],
            guarded=guarded,
            temporary=[],
            credentials=credentials_of(str(self.home)),
        )
        return make_profile(grounds)

    def run(self, line: str, profile: Profile | None = None) -> subprocess.CompletedProcess[str]:
        options = self.store.put_profile(str(self.project), profile or self.profile)
        engine = self.store.engine()
        assert engine.holds, engine.fault
        start = engine.kind.command(engine.program, str(options), 9)
        return subprocess.run(
            [*start, "/bin/bash", "-c", line],
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def watch(self) -> Watch:
        return watch(str(self.project), copies=self.store.copies)

    def restore(self, before: Watch, allowed: tuple[str, ...] = ()) -> str:
        return "; ".join(restore(str(self.project), before, self.store.folder / "removed", allowed))


@pytest.fixture
def place() -> Iterator[Room]:
    with tempfile.TemporaryDirectory(dir=DISK) as folder:
        yield Room(Path(folder))


class TestWhatACommandMayWrite:
    def test_project_can_be_written(self, place: Room) -> None:
        line = "echo 2 > code.py && mkdir -p a/b && mv code.py a/b/ && ln -s a l && rm l && git add -A && mkfifo a/f && rm a/f"
        done = place.run(line + " && echo x > /dev/null && python3 -c 'import tempfile'")
        assert (done.returncode, done.stderr) == (0, "")
        assert (place.project / "a" / "b" / "code.py").read_text() == "2\n"

    @pytest.mark.parametrize(
        "line",
        [
            "echo x > {home}/new.txt",
            "echo x >> {home}/notes.txt",
            "truncate -s 0 {home}/notes.txt",
            "rm {home}/notes.txt",
            "mv {home}/notes.txt .",
            "ln {home}/notes.txt ./linked",
            "ln -s {home}/notes.txt l; echo x > l",
            "mkdir {home}/folder",
            "echo x > {sb}/config.yaml",
            "rm -rf {sb}",
            "mv {sb} {home}/.sbx",
            "mv {home}/.claude {home}/x",
            "echo x > {home}/.claude/settings.json",
            'python3 -c \'open("{home}/.claude/settings.json", "w")\'',
            "echo x > /proc/{pid}/root{sb}/config.yaml",
            "echo x > /proc/{pid}/cwd/escaped",
            "mount -t tmpfs none {home}",
            "unshare -Ur mount --bind {project} {sb}",
            "mknod disk b 7 0",
            "echo x > /proc/sys/kernel/core_pattern",
        ],
    )
    def test_home_and_what_decides_are_not_written(self, place: Room, line: str) -> None:
        before = {
            path: path.read_bytes()
            for path in place.home.rglob("*")
            if path.is_file() and ".git" not in path.parts
        }
        core_pattern = Path("/proc/sys/kernel/core_pattern").read_bytes()
        done = place.run(line.format(home=place.home, sb=place.sb, project=place.project, pid=os.getpid()))
        assert done.returncode != 0
        after = {path: path.read_bytes() for path in before if path.exists()}
        assert after == before
        assert not (place.home / "new.txt").exists()
        assert not (place.project / "disk").exists()
        assert Path("/proc/sys/kernel/core_pattern").read_bytes() == core_pattern

    def test_root_has_no_capabilities(self, place: Room) -> None:
        done = place.run("grep -E 'Cap(Eff|Bnd|Prm)|NoNewPrivs' /proc/self/status")
        facts = dict(line.split(":\t") for line in done.stdout.splitlines())
        assert facts["NoNewPrivs"] == "1"
        assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == 0
        if os.geteuid() == 0:
            assert int(facts["CapBnd"], 16) == 0

    def test_link_that_replaces_a_writable_folder_opens_nothing(self, place: Room) -> None:
        scratch = place.home / "scratch"
        scratch.mkdir()
        options = place.store.put_profile(str(place.project), Profile(writable=(str(scratch),)))
        scratch.rmdir()
        scratch.symlink_to(place.sb)
        engine = place.store.engine()
        start = engine.kind.command(engine.program, str(options), 9)
        done = subprocess.run(
            [*start, "/bin/sh", "-c", f"echo x > {place.sb}/config.yaml"], capture_output=True, check=False
        )
        assert done.returncode != 0
        assert (place.sb / "config.yaml").read_text() == "a: 1\n"

    def test_project_that_is_the_home_keeps_what_decides(self, place: Room) -> None:
        guarded = Guarded(lambda: [Place(str(place.home / ".claude"), asks=True)])
        grounds = Grounds(
            str(place.home), str(place.home), own=[str(place.sb)], private=[str(place.store.folder)], guarded=guarded, temporary=[]
        )  # fmt: skip
        profile = make_profile(grounds)
        for line in (f"echo x > {place.sb}/config.yaml", f"echo x > {place.home}/.claude/settings.json"):
            assert place.run(line, profile).returncode != 0
        assert place.run(f"echo x > {place.home}/documents/old.txt", profile).returncode == 0


class TestWhatWasApproved:
    def _run(self, place: Room, line: str, *opened: Path) -> subprocess.CompletedProcess[str]:
        profile = place.profile
        return place.run(
            line,
            Profile(
                tuple(map(str, opened)), profile.writable, profile.held, profile.read_only, profile.unreadable,
                profile.watched, profile.closed, profile.home,
            ),
        )  # fmt: skip

    def test_existing_file_is_written_in_place(self, place: Room) -> None:
        notes = place.home / "notes.txt"
        assert self._run(place, f"echo more >> {notes}", notes).returncode == 0
        assert notes.read_text() == "notes\nmore\n"
        assert self._run(place, f"echo x > {place.home}/other.txt", notes).returncode != 0

    def test_absent_file_in_the_home_is_made(self, place: Room) -> None:
        absent = place.home / "out.txt"
        assert self._run(place, f"echo done > {absent}", absent).returncode == 0
        assert absent.read_text() == "done\n"

    def test_absent_folder_beside_nothing_that_decides_is_made(self, place: Room) -> None:
        absent = place.home / "documents" / "a" / "b"
        done = self._run(place, f"mkdir -p {absent} && echo x > {absent}/c", absent)
        assert (done.returncode, done.stderr) == (0, "")

    def test_settings_file_alone_is_opened(self, place: Room) -> None:
        settings = place.home / ".claude" / "settings.json"
        assert self._run(place, f"echo '{{}}' > {settings}", settings).returncode == 0
        assert self._run(place, f"echo x > {settings.parent}/other.json", settings).returncode != 0


class TestWhatACommandMayRead:
    def test_credentials_are_closed_and_what_is_beside_them_is_not(self, place: Room) -> None:
        done = place.run(f"cat {place.home}/.ssh/id_ed25519")
        assert done.returncode != 0
        assert "Permission denied" in done.stderr
        assert place.run(f"cat {place.sb}/keys/own").returncode != 0
        assert place.run(f"cat /proc/{os.getpid()}/environ").returncode != 0
        line = f"cat {place.home}/notes.txt {place.sb}/config.yaml /etc/passwd {place.home}/.ssh/known_hosts && ls {place.home}"
        done = place.run(line)
        assert (done.returncode, done.stderr) == (0, "")

    def test_credential_that_a_call_may_read_is_open(self, place: Room) -> None:
        profile = place.profile
        open_ = tuple(path for path in profile.unreadable if ".ssh" not in path)
        granted = Profile(
            (),
            profile.writable,
            profile.held,
            profile.read_only,
            open_,
            profile.watched,
            profile.closed,
            profile.home,
        )
        assert place.run(f"cat {place.home}/.ssh/id_ed25519", granted).returncode == 0

    def test_socket_that_is_reachable_is_among_the_gaps(self, place: Room) -> None:
        path = place.home / "s"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
            done = place.run(f"{sys.executable} -c {shlex.quote(code)}")
        assert (done.returncode == 0) == any("sockets" in gap for gap in LANDLOCK.gaps)

    @pytest.mark.skipif(landlock_abi() < SCOPES, reason="this kernel's Landlock has no scopes")
    @pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_SEQPACKET"])
    def test_socket_without_a_path_is_reached_within_a_call_alone(self, kind: str, place: Room) -> None:
        name = f"\0sb-test-{os.getpid()}"
        client = f"import socket; socket.socket(socket.AF_UNIX, socket.{kind}).connect({name!r})"
        server = f"import socket; s = socket.socket(socket.AF_UNIX, socket.{kind}); s.bind({name!r}); {'' if kind == 'SOCK_DGRAM' else 's.listen(); '}"
        with socket.socket(socket.AF_UNIX, getattr(socket, kind)) as outside:
            outside.bind(name)
            if kind != "SOCK_DGRAM":
                outside.listen()
            assert subprocess.run([sys.executable, "-c", client], check=False).returncode == 0
            done = place.run(f"{sys.executable} -c {shlex.quote(client)}")
            assert "PermissionError" in done.stderr
        both = (
            f"{server}import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {client!r}]))"
        )
        done = place.run(f"{sys.executable} -c {shlex.quote(both)}")
        assert (done.returncode, done.stderr) == (0, "")


class TestComparedAfterwards:
    @pytest.mark.parametrize(
        "line",
        [
            "echo evil > .git/hooks/pre-commit",
            "rm .git/hooks/pre-commit",
            "chmod 644 .git/hooks/pre-commit",
            "rm -rf .git/hooks && ln -s {home}/documents .git/hooks",
            "mv .git/hooks h && mkdir .git/hooks && cp h/pre-commit .git/hooks/ && echo evil > .git/hooks/post-merge",
            "echo evil > .claude/settings.json",
            "mv .claude x && mkdir .claude && echo evil > .claude/settings.json",
            "mv .claude x && ln -s x .claude",
            "echo evil > .claude/settings.local.json",
            "mkdir -p .claude/commands && echo evil > .claude/commands/run.md",
            "rm -rf .claude",
        ],
    )
    def test_settings_and_hooks_are_put_back(self, place: Room, line: str) -> None:
        before = place.watch()
        assert place.run(line.format(home=place.home)).returncode == 0
        clauses = place.restore(before)
        assert "put " in clauses or "moved " in clauses
        hook = place.project / ".git" / "hooks" / "pre-commit"
        assert (hook.read_text(), hook.stat().st_mode & 0o777) == (HOOK, 0o755)
        assert not (place.project / ".git" / "hooks" / "post-merge").exists()
        assert not (place.project / ".claude").is_symlink()
        files = [path for path in (place.project / ".claude").rglob("*") if path.is_file()]
        assert [path.name for path in files] == ["settings.json"]
        assert files[0].read_text() == SETTINGS
        assert sorted(path.name for path in (place.home / "documents").iterdir()) == ["old.txt"]
        assert place.restore(before) == ""

    def test_approved_change_stays(self, place: Room) -> None:
        before = place.watch()
        settings = place.project / ".claude" / "settings.json"
        assert place.run(f"echo '{{}}' > {settings}").returncode == 0
        assert place.restore(before, (str(settings),)) == ""
        assert settings.read_text() == "{}\n"

    def test_state_that_a_command_closed_is_opened_again(self, place: Room) -> None:
        """Modes are not held, but what was noted before the call is not lost."""
        project = str(place.project)
        place.store.keep_watch(project, place.watch())
        folder = place.store.folder
        done = place.run(
            f"echo evil > .git/hooks/pre-commit; cd {folder} && chmod 0 copies/* watched/* engine kind program && chmod 0 copies watched . "
        )
        assert done.returncode == 0, done.stderr
        store = ConfineStore(Home(place.sb), SYSTEM_CLOCK, (LANDLOCK,))
        with _as_ordinary_user(place):
            before = store.watched(project)
            assert before is not None
            assert "pre-commit back to what it was" in place.restore(before)
        assert (place.project / ".git" / "hooks" / "pre-commit").read_text() == HOOK

    def test_folders_that_a_command_closed_take_profiles_again(self, place: Room) -> None:
        options = place.store.put_profile(str(place.project), place.profile)
        place.store.issue("make", str(place.project), place.profile, outside=False)
        folder = place.store.folder
        for path in (options, options.parent, folder / "folders", folder / "tickets"):
            path.chmod(0)
        with _as_ordinary_user(place):
            assert place.store.put_profile(str(place.project), place.profile) == options
            place.store.issue("make", str(place.project), place.profile, outside=False)
            assert options.read_bytes()

    def test_watch_is_the_same_when_read_again(self, place: Room) -> None:
        before = place.watch()
        place.store.keep_watch(str(place.project), before)
        assert place.store.watched(str(place.project)) == before

    def test_copies_go_when_nothing_is_compared_with_them(self, place: Room) -> None:
        project = str(place.project)
        place.store.keep_watch(project, place.watch())
        place.store.tidy()
        copies = place.store.folder / "copies"
        assert any(copies.iterdir())
        place.store.keep_watch(project, None)
        place.store.tidy()
        assert not any(copies.iterdir())


class TestBackground:
    @pytest.mark.parametrize("program", ["sleep 30", f"{sys.executable} -c {shlex.quote(FIRST_THREAD_ENDS)}"])
    def test_process_that_goes_on_is_seen_until_it_ends(self, program: str, place: Room) -> None:
        assert not place.store.is_alive()
        done = place.run(f"env -i setsid {program} > /dev/null 2>&1 & echo $!")
        number = int(done.stdout)
        time.sleep(0.5)
        assert place.store.is_alive()
        os.kill(number, 9)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{number}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        if os.geteuid() != 0:  # as root any other process without new privileges counts as well
            assert not place.store.is_alive()

    def test_unreadable_note_of_the_first_counts_as_alive(self, place: Room) -> None:
        mark = place.store.folder / "began"
        mark.mkdir(parents=True)
        assert landlock.is_alive(place.store.folder)
        mark.rmdir()
        assert not landlock.is_alive(place.store.folder)
        mark.write_text("")
        assert landlock.is_alive(place.store.folder)

    def test_later_call_ends_the_server_of_an_earlier_one(self, place: Room) -> None:
        number = int(place.run("setsid sleep 30 > /dev/null 2>&1 & echo $!").stdout)
        assert place.run(f"kill {number} && echo ended").stdout == "ended\n"
        assert any("signalled" in gap for gap in LANDLOCK.gaps), "as are other programs of the user"


class TestStore:
    def test_closed_package_is_none_that_is_missing(
        self, place: Room, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A folder in which nothing can be seen is imported as one without `__init__`."""
        (tmp_path / "closed").mkdir()
        monkeypatch.setattr(landlock, "_PACKAGE", "closed")
        assert landlock.find() == ""
        monkeypatch.syspath_prepend(str(tmp_path))
        with pytest.raises(PermissionError):
            place.store.engine()

    def test_first_engine_that_holds_is_used(self, place: Room) -> None:
        broken = EngineKind(
            "bubblewrap", lambda: "/bin/false", lambda _program, _folder: "closed", BUBBLEWRAP.options,
            BUBBLEWRAP.command, BUBBLEWRAP.is_alive, BUBBLEWRAP.begin, BUBBLEWRAP.marks, BUBBLEWRAP.gaps,
        )  # fmt: skip
        store = ConfineStore(Home(place.sb), SYSTEM_CLOCK, (broken, LANDLOCK))
        engine = store.engine()
        assert (engine.holds, engine.name) == (True, "landlock")
        assert (store.folder / "kind").read_text().splitlines()[0] == "landlock"
        forget_engine(Home(place.sb))
        neither = ConfineStore(Home(place.sb), SYSTEM_CLOCK, (broken,)).engine()
        assert (neither.holds, neither.fault) == (False, "bubblewrap: closed")
        assert (store.folder / "program").read_text() == "\n"

    def test_profiles_of_another_engine_are_dropped(self, place: Room) -> None:
        options = place.store.put_profile(str(place.project), place.profile)
        known = place.store.folder / "engine"
        known.write_text(known.read_text().replace('"name": "landlock"', '"name": "bubblewrap"'))
        ConfineStore(Home(place.sb), SYSTEM_CLOCK, (LANDLOCK,)).engine()
        assert not options.exists()

    def test_other_programs_see_the_engine_of_the_hooks(self, place: Room) -> None:
        assert ConfineStore(Home(place.sb), SYSTEM_CLOCK, (LANDLOCK,)).known_engine() is None
        engine = place.store.engine()
        assert ConfineStore(Home(place.sb), SYSTEM_CLOCK, ()).known_engine() == engine


class TestSymptoms:
    def test_stopped_write_is_named_from_its_message(self, place: Room) -> None:
        profile, notes = place.profile, place.home / "notes.txt"
        done = place.run(f"echo x > {notes}", profile)
        symptoms = symptoms_in(
            done.stderr, profile, home=str(place.home), cwd=str(place.project), denies=LANDLOCK.denies
        )
        assert (symptoms.writes, symptoms.reads) == ((str(notes),), ())

    def test_stopped_read_is_none_of_a_write(self, place: Room) -> None:
        profile, key = place.profile, place.home / ".ssh" / "id_ed25519"
        done = place.run(f"cat {key}", profile)
        symptoms = symptoms_in(
            done.stderr, profile, home=str(place.home), cwd=str(place.project), denies=LANDLOCK.denies
        )
        assert (symptoms.writes, symptoms.reads) == ((), (str(key),))


class TestScript:
    def _run(self, place: Room, line: str) -> subprocess.CompletedProcess[str]:
        script = write_script(Home(place.sb), sys.executable, place.sb / "runtime" / "none", ["true"])
        place.store.put_profile(str(place.project), place.profile)
        return self._start(place, script, line)

    def _start(self, place: Room, script: Path, line: str) -> subprocess.CompletedProcess[str]:
        prepared = f"shopt -u extglob && eval {shlex.quote(line)} && pwd -P >| /dev/null"
        env = {"PATH": os.environ["PATH"], "HOME": str(place.home), "SHELL": "/bin/bash"}
        return subprocess.run(
            [str(script), prepared],
            cwd=place.project,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def test_command_is_started_under_landlock(self, place: Room) -> None:
        done = self._run(place, "echo $SB_CONFINED; echo own > own.txt; echo x > ../notes.txt")
        assert done.stdout == "landlock\n"
        assert "Permission denied" in done.stderr
        assert (place.project / "own.txt").exists()
        assert (place.home / "notes.txt").read_text() == "notes\n"

    @pytest.mark.parametrize("before", ["", "env -i ", "exec ", "bash -c '\"$@\"; true' - "])
    def test_command_inside_is_not_wrapped_again(self, before: str, place: Room) -> None:
        script = place.sb / "bin" / "sb-confine"
        done = self._run(place, f"{before}{script} 'true && eval true; echo inside'")
        assert done.stderr == ""
        assert (done.returncode, done.stdout) == (0, "inside\n")

    def test_command_cannot_note_a_process(self, place: Room) -> None:
        notes = place.sb / "inside"
        self._run(place, f"touch {notes}/x; rm -f {notes}/*; mv {notes} {notes}2; true")
        names = [path.name for path in notes.iterdir()]
        assert names
        assert "x" not in names
        place.store.tidy()
        assert not any(notes.iterdir())

    def test_folder_that_a_command_closes_starts_nothing_outside(self, place: Room) -> None:
        state = place.sb / "confine"
        self._run(place, f"chmod 0 {state}")
        if os.geteuid() != 0:  # root reads it all the same
            done = self._start(place, place.sb / "bin" / "sb-confine", "echo ran")
            assert (done.returncode, done.stdout) == (126, "")
            assert "cannot be read" in done.stderr
        (state / "kind").chmod(0)
        ConfineStore(Home(place.sb), SYSTEM_CLOCK, (LANDLOCK,)).engine()
        assert [path.stat().st_mode & 0o777 for path in (state, state / "kind")] == [0o700, 0o600]

    def test_ticket_is_taken_once(self, place: Room) -> None:
        notes = place.home / "notes.txt"
        profile = place.profile
        granted = Profile(
            (str(notes),),
            profile.writable,
            (),
            profile.read_only,
            profile.unreadable,
            profile.watched,
            profile.closed,
        )
        line = f"echo x > {notes}"
        place.store.issue(line, str(place.project), granted, outside=False)
        assert self._run(place, line).returncode == 0
        assert notes.read_text() == "x\n"
        notes.write_text("notes\n")
        assert self._run(place, line).returncode != 0
        assert notes.read_text() == "notes\n"

    def test_options_that_cannot_be_read_start_nothing(self, place: Room) -> None:
        engine = place.store.engine()
        start = engine.kind.command(engine.program, "/nonexistent", 9)
        done = subprocess.run([*start, "/bin/echo", "ran"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (126, "")
        assert "not run" in done.stderr


class TestHook:
    """The hook's own way: profile of the configuration, comparison after the call."""

    @pytest.fixture
    def confining(self, place: Room, monkeypatch: pytest.MonkeyPatch) -> Confining:
        monkeypatch.setenv("HOME", str(place.home))
        monkeypatch.setenv("SB_HOME", str(place.sb))
        monkeypatch.chdir(place.project)
        (place.sb / "config.yaml").write_text("{}\n", encoding="utf-8")
        config = load_config(env=os.environ, cwd=place.project, flags={})
        event = HookEvent("claude-code", "", Moment.OTHER, "", str(place.project))
        confining = Confining(config, event, judging_context(config, event), str(place.project), SYSTEM_CLOCK)
        confining.store = place.store
        return confining

    def test_changed_hook_is_put_back_and_named(self, place: Room, confining: Confining) -> None:
        confining.open(Confined("true", str(place.project)))
        line = f"echo evil > .git/hooks/pre-commit; echo x > {place.sb}/config.yaml; echo 3 > code.py"
        assert "Permission denied" in place.run(line, confining.profile()).stderr
        clauses = confining.put_back()
        assert "pre-commit back to what it was" in clauses
        assert (place.project / ".git" / "hooks" / "pre-commit").read_text() == HOOK
        assert (place.project / "code.py").read_text() == "3\n"

    def test_sb_home_is_not_read_and_temporary_files_are_written(
        self, place: Room, confining: Confining
    ) -> None:
        if Path(sb.__file__).is_relative_to("/tmp"):
            pytest.skip(
                "the installation lies in the temporary folder, which Landlock can then open only in parts"
            )
        confining.open(Confined("true", str(place.project)))
        profile = confining.profile()
        done = place.run("mktemp -p /tmp | xargs rm && git status --short && cat ~/.ssh/known_hosts", profile)
        assert (done.returncode, done.stderr) == (0, "")
        assert place.run(f"cat {place.store.folder}/engine", profile).returncode != 0
