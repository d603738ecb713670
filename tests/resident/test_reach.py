"""No governed call talks to the helper, plants another or ends it unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.kernel.contracts import SafetyClass
from sb.shell import ShellVerdict, classify
from tests.rows import rows

USER = Path("/data/ada")


def judged(command: str) -> ShellVerdict:
    env = {"HOME": str(USER)}
    return classify(command, cwd=USER / "shop", home=USER, protected=[USER / ".sb"], env=env)


@rows(
    "command",
    [
        "nc -U ~/.sb/resident/socket",
        "socat - UNIX-CONNECT:/data/ada/.sb/resident/socket",
        "curl --unix-socket /data/ada/.sb/resident/socket http://x",
        "cd ~/.sb/resident && nc -U socket",
        "python -c 'import socket; socket.socket(1).connect(\"/data/ada/.sb/resident/socket\")'",
        "cat ~/.sb/resident/secret",
        "rm ~/.sb/resident/lock",
        "ln -s /tmp/mine ~/.sb/resident/socket",
        "python ~/.sb/runtime/x/start.py resident ~/.sb",
    ],
)
def test_socket_and_secret_are_out_of_an_agents_reach(command: str) -> None:
    assert judged(command).refused


@pytest.mark.parametrize("command", ["pkill -f sb", "kill $(pgrep -f start.py)", "killall python3"])
def test_ending_it_by_name_waits_for_a_person(command: str) -> None:
    assert judged(command).safety_class is SafetyClass.DESTRUCTIVE
