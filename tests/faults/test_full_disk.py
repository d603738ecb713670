"""A disk that fills: nothing is half written, the message says what is full, and with room again all comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20
ROOT = Path(__file__).parents[2]
OWN_MOUNTS = ("unshare", "--map-root-user", "--mount")


def _can_mount() -> bool:
    try:
        return subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    if not _can_mount():
        pytest.skip("no mounts of its own for a process here")
    disk = tmp_path_factory.mktemp("disk")
    script = 'mount -t tmpfs -o size=8m tmpfs "$1" && exec "$2" -m tests.faults.full_disk "$1"'
    command = [*OWN_MOUNTS, "sh", "-c", script, "sh", str(disk), sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_undo_that_finds_no_room_writes_no_half_file_and_can_be_repeated(
    reports: list[dict[str, Any]],
) -> None:
    judged, first, second = reports[:3]
    assert judged == {"decision": "none"}
    assert first["state"] == "in part"  # a came back
    assert "not restored: " in first["detail"]
    assert "src/b: no space left on device" in first["detail"]
    assert first["files"] == {"a": MIB}
    assert (second["state"], second["files"]) == ("reversed", {"a": MIB, "b": MIB})


def test_snapshot_that_finds_no_room_is_left_out_and_a_person_is_asked(reports: list[dict[str, Any]]) -> None:
    assert "no snapshot: the snapshot cannot be written: No space left on device" in reports[3]["reason"]
    assert reports[3]["decision"] == "ask"
    packs = [name for name in reports[3]["files"] if name not in (".lock", ".usage")]
    assert len(packs) == 1
    assert packs[0].endswith(".pack")


def test_database_on_a_full_disk_says_so(reports: list[dict[str, Any]]) -> None:
    assert reports[4]["error"].endswith("brain.db could not grow: the disk is full")
    assert reports[4]["hint"] == "free some space; nothing was half-written"
