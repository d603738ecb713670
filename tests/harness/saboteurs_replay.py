"""Saboteurs of captured runs."""

from __future__ import annotations

import orjson
import pytest

from sb.kernel.execution.attempts import Attempts
from sb.kernel.replay import packet_file
from sb.kernel.replay.packet import MemoryCapture
from sb.kernel.replay.packet_file import PacketFile
from sb.kernel.replay.serving import ServedAttempts
from sb.operator import reproduction
from tests.harness.saboteurs import breaks


@breaks("HA-24")
def replays_call_the_tools(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ServedAttempts, "run", Attempts.run)


@breaks("HA-24")
def no_difference_is_named(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reproduction, "divergences", lambda then, now: [])


@breaks("HA-24")
def packets_are_not_sealed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PacketFile, "_seal", lambda self, record, before: _plain(orjson.dumps(record)))
    patch.setattr(PacketFile, "_open", lambda self, nonce, box, before: orjson.loads(box))


@breaks("HA-24")
def a_replay_answers_with_what_was_captured_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryCapture, "ended", lambda self, call, outcome: {})


def _plain(data: bytes) -> bytes:
    data = data.ljust(packet_file._TAG)
    return len(data).to_bytes(packet_file._SIZE, "big") + bytes(packet_file._NONCE) + data
