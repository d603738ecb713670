"""A captured session of a coding agent runs again: what its calls would be let do today, with nothing performed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sb.config import Config
from sb.kernel.replay import Packet
from sb.operator.reproduction import reproduce
from sb.runtime.parts import open_packets
from tests.hosts.hooks.conftest import UNWATCHED, Host
from tests.hosts.hooks.test_scripted_session import Terminal

AGENT = "claude-code"


def session(host: Host, notes: Path) -> Packet:
    """A captured session, told to real processes: it writes a file, lists a folder, and is refused a deletion."""
    packets = open_packets(host.config())
    packets.capture(AGENT, on=True)

    def say(event: str, **fields: Any) -> str:
        done = host.ask(host.payload(event, **fields))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def call(tool: str, use_id: str, response: Any = None, **given: Any) -> str:
        fields = {"tool_name": tool, "tool_use_id": use_id, "tool_input": given}
        if response is None:
            return say("PreToolUse", **fields)
        return say("PostToolUse", **fields, tool_response=response)

    say("SessionStart", source="startup")
    written = {"file_path": str(notes), "content": "closed"}
    assert call("Write", "t1", **written) == ""
    notes.write_text("closed", encoding="utf-8")
    call("Write", "t1", {"type": "create"}, **written)
    assert call("Bash", "t2", command="ls") == ""
    call("Bash", "t2", {"stdout": "notes.md", "stderr": ""}, command="ls")
    host.mode = UNWATCHED
    assert "deny" in call("Bash", "t3", command="rm -rf /data/build")
    say("SessionEnd", reason="exit")
    (packet,), wrong = packets.packets()
    assert (packet.begun["agent"], wrong) == (AGENT, [])
    return packets.read(packet.run_id)


def again(packet: Packet, config: Config) -> list[Any]:
    return [tuple(divergence[:3]) for divergence in reproduce(packet, config).divergences]


def test_a_session_runs_again_without_an_effect_and_names_what_a_policy_refuses_now(host: Host) -> None:
    notes = host.project / "notes.md"
    packet = session(host, notes)
    assert [step.verdict for step in packet.steps] == ["ran", "ran", "refused"]
    assert all(step.host for step in packet.steps)
    notes.unlink()
    assert again(packet, host.config()) == []
    assert Terminal(host)("replay", "run", packet.run_id) == f"{packet.run_id}: 3 calls, all as captured\n"
    assert not notes.exists()
    listing = packet.steps[1].tool_id
    host.configure(f"policy: [{{deny: {listing}, name: no listing}}]\n")
    assert again(packet, host.config()) == [(2, listing, "verdict")]
