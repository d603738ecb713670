"""What keeps the console from being served at all, and who is signed for."""

from __future__ import annotations

import importlib.metadata
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sb.screens.signing_agent import SigningAgent, is_our_child, remote_decider
from sb.screens.web import TEXTUAL_SERVE, serve

from sb.errors import DeniedError, UsageError
from sb.kernel.authority.keys import make_key
from sb.kernel.authority.signing import Label, signature_fits

ROOT = Path(__file__).parents[2]
SIGN = (
    "import sys; from pathlib import Path; from sb.screens.signing_agent import remote_decider;"
    "by = remote_decider(Path(sys.argv[1])); print(by.name, by.sign(b'x' * int(sys.argv[2])))"
)


def refused_to_serve(home: Path, host: str = "127.0.0.1", port: int = 0) -> UsageError:
    with pytest.raises(UsageError) as refusal:
        serve(["true"], home=home, decider=None, announce=pytest.fail, host=host, port=port)
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


def signed(agent: SigningAgent, size: int, *through: str) -> subprocess.CompletedProcess[str]:
    command = [*through, sys.executable, "-c", SIGN, str(agent.path), str(size)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class TestTheSigningAgent:
    def test_signs_for_a_child_and_stops_with_its_context(self, tmp_path: Path) -> None:
        file, ada = make_key("ada", None)
        with SigningAgent(ada, tmp_path) as agent:
            for size in (1, 100_000):
                name, signature = signed(agent, size).stdout.split()
                assert name == "ada"
                assert signature_fits(file.public_key, b"x" * size, signature)
            assert agent.path.parent.stat().st_mode & 0o777 == 0o700
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(DeniedError, match="does not answer"):
            remote_decider(agent.path)

    def test_signs_for_nobody_else(self, tmp_path: Path) -> None:
        with SigningAgent(make_key("ada", None)[1], tmp_path) as agent:
            with pytest.raises(DeniedError, match="does not sign for this process"):
                remote_decider(agent.path)  # this very process is no child of its own
            grandchild = signed(agent, 1, "sh", "-c", '"$@"; exit $?', "sh")
            assert "does not sign for this process" in grandchild.stderr
            assert signed(agent, 1).returncode == 0

    def test_passes_on_that_a_decider_refuses(self, tmp_path: Path) -> None:
        class Locked(Label):
            def sign(self, data: bytes) -> str:
                raise DeniedError("the key is locked again")

        with SigningAgent(Locked("ada"), tmp_path) as agent:
            assert "refused: the key is locked again" in signed(agent, 1).stderr

    def test_refuses_where_the_other_end_cannot_be_checked(self) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.create_connection(listener.getsockname()) as near,
        ):
            assert not is_our_child(near)

    def test_a_home_too_deep_for_a_socket_is_named(self, tmp_path: Path) -> None:
        deep = tmp_path / ("d" * 120)
        deep.mkdir()
        with pytest.raises(UsageError) as refusal:
            SigningAgent(Label("ada"), deep)
        assert refusal.value.hint == "set SB_HOME to a shorter path"
        assert list(deep.iterdir()) == []
