"""A file of statements that is damaged, or no file at all, denies every call and says what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.errors import StoreError
from tests.kernel.incident_response.conftest import ADA, Plant

DAMAGED = {
    "a hash that is a list": (b'"hash": "', b'"hash": ["x"], "kind": "'),
    "a number that is text": (b'"seq": 1', b'"seq": "1"'),
    "a path that is a number": (b'"path": "', b'"path": 7, "kind": "'),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_line_of_other_types_denies_every_call(tmp_path: Path, clock: SteeredClock, damage: str) -> None:
    plant = Plant(tmp_path, clock, home=tmp_path)
    plant.kill.throw("agent", "mallory", ADA, "stop")
    file = tmp_path / "statements.jsonl"
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    before, after = DAMAGED[damage]
    assert before in lines[-1]
    file.write_bytes(whole + lines[-1].replace(before, after))
    refused = plant.call()
    assert "makes no sense" in refused.error_message
    with pytest.raises(StoreError, match="makes no sense"):
        plant.kill.lift("agent", "mallory", ADA, "fine")
    file.write_bytes(whole)
    assert plant.call().success


def test_a_pipe_in_its_place_denies_every_call_and_keeps_nobody_waiting(
    tmp_path: Path, clock: SteeredClock
) -> None:
    os.mkfifo(tmp_path / "statements.jsonl")
    plant = Plant(tmp_path, clock, home=tmp_path)
    assert "it is no file" in plant.call().error_message
