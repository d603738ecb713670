"""A helper that hangs, dies, is old or is somebody else's: the hook judges by itself, and has one effect."""

from __future__ import annotations

import fcntl
import json
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sb.hosts.confinement import bubblewrap
from sb.hosts.hooks import resident
from sb.resident import server, wire
from sb.resident.client import Unavailable
from sb.store import driver
from tests.resident.conftest import WAIT_S, Site, wait_for
from tests.resident.test_answers import SILENT, intents

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc"), reason="/proc tells what a process has open")


def refused(site: Site, answer_s: float = WAIT_S, **env: str) -> Unavailable:
    """The reason why the helper gave no answer."""
    with pytest.raises(Unavailable) as caught:
        site.ask(site.payload(), answer_s, **env)
    return caught.value


@contextmanager
def locked(site: Site, database: Path) -> Iterator[None]:
    """A database that nobody else can write to: whoever judges a call in it takes until the end."""
    assert intents(site, SB_DB=str(database)) == 0
    connection = driver.connect(str(database))
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def child_with(pid: int, file: Path) -> int:
    """The child of the helper that has a file open; 0 for none."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split():
        try:
            if any(os.readlink(fd) == str(file) for fd in Path(f"/proc/{child}/fd").iterdir()):
                return int(child)
        except OSError:
            continue  # it has ended
    return 0


def test_hung_helper_is_not_waited_for_and_is_replaced(site: Site) -> None:
    helper = site.begin()
    os.killpg(helper.pid, signal.SIGSTOP)
    done = site.hook(site.payload("rm -rf /srv/x"), AS_SHIPPED="1")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    site.begun.pop().wait()
    assert (
        site.ready().pid != helper.pid
    )  # which is not asked for before it listens: that takes its lock for a moment
    assert site.ask(site.payload()) == SILENT


@needs_proc
def test_call_whose_judge_is_killed_is_judged_once(helped: Site, tmp_path: Path) -> None:
    helper, other, answers = resident.running(helped.home), tmp_path / "locked.db", []
    assert helper is not None
    payload = helped.payload()
    thread = threading.Thread(target=lambda: answers.append(helped.hook(payload, SB_DB=str(other))))
    with locked(helped, other):
        thread.start()
        os.kill(wait_for(lambda: child_with(helper.pid, other)), signal.SIGKILL)
    thread.join()
    assert (answers[0].returncode, answers[0].stdout, answers[0].stderr) == SILENT
    assert intents(helped, SB_DB=str(other)) == 1
    assert resident.running(helped.home) == helper


@needs_proc
def test_judge_that_is_late_is_ended_before_somebody_else_judges(helped: Site, tmp_path: Path) -> None:
    helper, other = resident.running(helped.home), tmp_path / "locked.db"
    assert helper is not None
    with locked(helped, other):
        why = refused(helped, 0.3, SB_DB=str(other))
        assert child_with(helper.pid, other) == 0
    assert (why.hung, why.again) == (True, True)
    assert intents(helped, SB_DB=str(other)) == 0


@needs_proc
def test_child_that_is_ready_for_one_database_does_not_use_it_for_another(
    helped: Site, tmp_path: Path
) -> None:
    helper, first, other = resident.running(helped.home), tmp_path / "new.db", tmp_path / "other.db"
    assert helper is not None
    assert helped.ask(helped.payload()) == SILENT
    for _ in range(3):
        wait_for(lambda: child_with(helper.pid, first))
        assert helped.ask(helped.payload()) == SILENT
    wait_for(lambda: child_with(helper.pid, first))
    assert [helped.ask(helped.payload(), SB_DB=str(other)) for _ in range(3)] == [SILENT] * 3
    assert (intents(helped), intents(helped, SB_DB=str(other))) == (4, 3)


@pytest.mark.parametrize(
    ("name", "mode"),
    [("", 0o755), (resident.SOCKET, 0o666), (resident.SECRET, 0o640)],
    ids=["folder", "socket", "secret"],
)
def test_helper_whose_files_others_can_use_is_not_asked(name: str, mode: int, helped: Site) -> None:
    path = helped.home.resident / name
    proper = path.stat().st_mode
    path.chmod(mode)
    try:
        assert not refused(helped).again
    finally:
        path.chmod(proper)
    assert helped.ask(helped.payload()) == SILENT


def test_planted_socket_gets_no_request(site: Site) -> None:
    folder = site.home.resident
    folder.mkdir(mode=0o700)
    (folder / resident.SECRET).write_bytes(wire.new_secret())
    (folder / resident.SECRET).chmod(0o600)
    received: list[bytes] = []

    def pretend() -> None:
        connection, _ = planted.accept()
        with connection:
            connection.recv(wire.CHALLENGE)
            unproved = os.urandom(wire.CHALLENGE) + wire.place_digest()
            connection.sendall(unproved + os.urandom(wire.GREETING - len(unproved)))
            received.append(connection.recv(1))

    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(str(folder / resident.SOCKET))
        (folder / resident.SOCKET).chmod(0o600)
        planted.listen()
        thread = threading.Thread(target=pretend)
        thread.start()
        why = refused(site)
        thread.join()
    assert received == [b""]
    assert not why.again


def test_client_without_the_secret_has_no_effect(helped: Site) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(str(helped.home.resident / resident.SOCKET))
        stranger.sendall(os.urandom(wire.CHALLENGE))
        assert len(stranger.recv(wire.GREETING)) == wire.GREETING
        wire.send_descriptors(stranger, ())
        surroundings = ({os.fsencode(k): os.fsencode(v) for k, v in helped.env().items()}, b"/", 0o022)
        request = ("hook", ["claude-code"], helped.payload(), "n")
        message = marshal.dumps((str(helped.start), request, surroundings))
        wire.send(stranger, os.urandom(64), wire.REQUEST, message)
        assert stranger.recv(1) == b""
    assert intents(helped) == 0
    assert helped.ask(helped.payload()) == SILENT


def test_other_namespace_root_or_user_is_judged_where_it_is(
    helped: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = wire.place()
    for number in range(len(place)):
        elsewhere = (*place[:number], "another", *place[number + 1 :])
        monkeypatch.setattr(wire, "place", lambda elsewhere=elsewhere: elsewhere)
        why = refused(helped)
        assert (why.startable, why.hung, why.again) == (False, False, False)
    assert intents(helped) == 0


@pytest.mark.skipif(not bubblewrap.find(), reason="bubblewrap is a program for Linux")
def test_client_in_other_namespaces_is_not_answered_though_it_knows_the_secret(helped: Site) -> None:
    """A mount of the helper's folder, made by a race, would give a confined command both."""
    code = (
        "import socket, sys\n"
        "with socket.socket(socket.AF_UNIX) as client:\n"
        "    client.connect(sys.argv[1])\n"
        "    try:\n"
        f"        client.sendall(bytes({wire.CHALLENGE}))\n"
        "        print(len(client.recv(1)))\n"
        "    except ConnectionError:\n"
        "        print(0)\n"
    )
    words = [sys.executable, "-c", code, str(helped.home.resident / resident.SOCKET)]
    confined = [bubblewrap.find(), "--unshare-user", "--dev-bind", "/", "/", *words]
    answers = [subprocess.run(line, capture_output=True, check=False).stdout for line in (words, confined)]
    assert answers == [b"1\n", b"0\n"]


@pytest.mark.parametrize("change", ["version", "code", "packages"])
def test_helper_of_other_code_refuses_and_ends(change: str, site: Site) -> None:
    helper = site.begin()
    if change == "code":
        os.utime(site.start, (1, 1))
    elif change == "packages":
        (site.packages / "installed_meanwhile").mkdir()
    else:
        site.start = site.start.with_name("another.py")
    assert not refused(site).again
    site.gone(helper)


def test_helper_writes_nothing_down(helped: Site) -> None:
    secret = "hunter2-" + os.urandom(4).hex()
    helped.ask(helped.payload(f"echo {secret}"), PASSWORD=secret)
    for path in helped.home.resident.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_second_helper_of_a_home_ends(helped: Site) -> None:
    helper = resident.running(helped.home)
    helped.begin()
    assert helped.begun[-1].wait() == 0
    assert resident.running(helped.home) == helper


def test_helper_that_starts_waits_for_whoever_asks_whether_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, starting = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    fcntl.flock(asking, fcntl.LOCK_SH)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert not server.taken(starting)
    monkeypatch.setattr("time.sleep", lambda seconds: fcntl.flock(asking, fcntl.LOCK_UN))
    assert server.taken(starting)
    os.close(asking)
    os.close(starting)
