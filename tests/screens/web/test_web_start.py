"""Reasons not to serve the console, and the operator whom it signs for."""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from sb.screens.signing_agent import SigningAgent, Started, remote_decider
from sb.screens.web import TEXTUAL_SERVE, serve

from sb.errors import DeniedError, UsageError

ROOT = Path(__file__).parents[3]
PR_SET_CHILD_SUBREAPER = 36  # of <linux/prctl.h>
ASK = (
    "import sys; from pathlib import Path; from sb.screens.signing_agent import remote_decider; sys.stdin.readline();"
    "by = remote_decider(Path(sys.argv[1])); by.decide('deny', approval='apr_1', reason='x' * 100_000); print(by.name)"
)
# Starts a process that waits until its parent has ended, says whose child it is then, and asks.
ORPHAN = """
import subprocess, sys
agent, said, adopter, ask = sys.argv[1:]
wait = "import os, sys, time" + chr(10) + "while os.getppid() != int(sys.argv[2]): time.sleep(0.005)" + chr(10)
wait += "print(os.getpid(), os.getppid(), flush=True)" + chr(10)
with open(said, "w") as file:
    command = [sys.executable, "-c", wait + ask, agent, adopter]
    print(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file).pid)
"""


def refused_to_serve(home: Path, host: str = "127.0.0.1", port: int = 0) -> UsageError:
    with pytest.raises(UsageError) as refusal:
        serve(["true"], home=home, desk=None, announce=pytest.fail, waiting=int, host=host, port=port)
    return refusal.value


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "example.org", "localhost.example.org"])
def test_only_loopback_addresses_are_served(home: Path, host: str) -> None:
    assert "is not a loopback address" in refused_to_serve(home, host).message


def test_a_port_in_use_is_named(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused_to_serve(home, port=port).message == f"port {port} of 127.0.0.1 is in use"
    for nonsense in (-1, 65_536):
        assert refused_to_serve(home, port=nonsense).message == f"{nonsense} is not a port"


def test_without_the_extra_its_installation_is_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    refusal = refused_to_serve(home)
    assert (refusal.hint, "not installed" in refusal.message) == ("pip install 'secondbrain-sb[web]'", True)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "1.1.4")
    assert "1.1.4" in refused_to_serve(home).message


def test_the_version_that_was_checked_is_the_one_that_is_installed_with_us() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["optional-dependencies"]["web"] == [f"textual-serve=={TEXTUAL_SERVE}"]


def test_importing_the_server_loads_neither_aiohttp_nor_textual() -> None:
    heavy = ("aiohttp", "textual", "textual_serve", "asyncio")
    script = f"import sys, sb.screens.web; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Desk:
    """Counts what it is asked for, and decides it."""

    name, key_id = "ada", "0123"

    def __init__(self, refusal: str = "") -> None:
        self.asked: list[Any] = []
        self.refusal = refusal

    def decide(self, request: Any) -> dict[str, Any]:
        self.asked.append(request)
        if self.refusal:
            raise DeniedError(self.refusal, "unlock it")
        return {}


def process(agent: SigningAgent, *through: str) -> subprocess.Popen[str]:
    """One that asks once it is told to."""
    command = [*through, sys.executable, "-c", ASK, str(agent.path)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def answered(asking: subprocess.Popen[str]) -> tuple[str, str]:
    return asking.communicate("go\n", timeout=60)


class TestTheSigningAgent:
    def test_decides_for_what_it_started_and_stops_with_its_context(self, tmp_path: Path) -> None:
        with SigningAgent(desk := Desk(), tmp_path) as agent:
            asking = process(agent)
            agent.started.add(asking.pid)
            assert answered(asking) == ("ada\n", "")
            assert desk.asked == [{"decision": "deny", "approval": "apr_1", "reason": "x" * 100_000}]
            assert agent.path.parent.stat().st_mode & 0o777 == 0o700
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(DeniedError, match="does not answer"):
            remote_decider(agent.path)

    def test_signs_for_nobody_else(self, tmp_path: Path) -> None:
        with SigningAgent(desk := Desk(), tmp_path) as agent:
            with pytest.raises(DeniedError, match="does not decide for this process"):
                remote_decider(agent.path)  # this very process is none that it started
            another = process(agent)  # a child of this process, as what was started is
            grandchild = process(agent, "sh", "-c", '"$@"; exit $?', "sh")
            agent.started.add(grandchild.pid)
            former = process(agent)
            agent.started.add(former.pid)
            agent.started.remove(former.pid)
            for asking in (another, grandchild, former):
                assert "does not decide for this process" in answered(asking)[1]
        assert desk.asked == []

    def test_a_number_that_another_process_has_by_now_is_not_the_one_that_was_started(
        self, tmp_path: Path
    ) -> None:
        with SigningAgent(desk := Desk(), tmp_path) as agent:
            asking, ended = process(agent), process(agent)
            agent.started.add(ended.pid)
            since = agent.started._since
            since[asking.pid] = "1"  # as if this number had been that of a process started at boot
            for popen in (asking, ended):
                out, err = answered(popen)
                assert (out == "", "does not decide for this process" in err) == (
                    popen is asking,
                    popen is asking,
                )
            agent.started.add(ended.pid)  # which has ended
            assert (ended.pid in since) is (len(desk.asked) == 1)

    @pytest.mark.skipif(sys.platform != "linux", reason="only there a process can ask to be given orphans")
    def test_an_orphan_that_is_given_to_it_gets_nothing(self, tmp_path: Path) -> None:
        """As the first process of a container is given every orphan."""
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        path = tmp_path / "said"
        assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        try:
            with SigningAgent(desk := Desk(), tmp_path) as agent:
                command = [sys.executable, "-c", ORPHAN, str(agent.path), str(path), str(os.getpid()), ASK]
                parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                agent.started.add(parent.pid)
                orphan = int(parent.communicate(timeout=60)[0])
                _, status = os.waitpid(orphan, 0)
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert path.read_text().startswith(f"{orphan} {os.getpid()}\n"), (
            "it was a child of this process when it asked"
        )
        assert "does not decide for this process" in path.read_text()
        assert (desk.asked, os.waitstatus_to_exitcode(status)) == ([], 1)

    def test_passes_on_what_the_desk_refuses(self, tmp_path: Path) -> None:
        with SigningAgent(Desk("the key is locked again"), tmp_path) as agent:
            asking = process(agent)
            agent.started.add(asking.pid)
            assert "refused: the key is locked again" in answered(asking)[1]

    def test_what_is_no_request_is_refused_and_the_next_one_is_answered(self, tmp_path: Path) -> None:
        with SigningAgent(desk := Desk(), tmp_path) as agent:
            script = (
                "import socket, sys\nsys.stdin.readline()\n"
                "for line in (b'{\\n', b'\\xff\\n', b'[' * 100000 + b'\\n', b'\\n'):\n"
                "    one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1]); one.sendall(line)\n"
                "    print(one.makefile().readline(), end='')\n"
            )
            pipe = subprocess.PIPE
            asking = subprocess.Popen(
                [sys.executable, "-c", script, str(agent.path)], stdin=pipe, stdout=pipe, text=True
            )
            agent.started.add(asking.pid)
            out = asking.communicate("go\n", timeout=60)[0]
        assert [json.loads(line)["error"] for line in out.splitlines()] == ["the request cannot be read"] * 4
        assert desk.asked == []

    def test_refuses_where_the_other_end_cannot_be_checked(self) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.create_connection(listener.getsockname()) as near,
        ):
            assert not Started().has(near)

    def test_a_home_too_deep_for_a_socket_is_named(self, tmp_path: Path) -> None:
        deep = tmp_path / ("d" * 120)
        deep.mkdir()
        with pytest.raises(UsageError) as refusal:
            SigningAgent(Desk(), deep)
        assert refusal.value.hint == "set SB_HOME to a shorter path"
        assert list(deep.iterdir()) == []
