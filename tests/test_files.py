"""The atomic writer: whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sb.base.files import atomic_file, write_atomic

KILLED = """
import os, signal, sys
from pathlib import Path
from sb.base.files import atomic_file
with atomic_file(Path(sys.argv[1])) as file:
    file.write(b"new")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(b"an older and longer one")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["keys.json"]


def test_an_error_in_the_block_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(b"old")

    def fail_halfway() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["keys.json"])


def test_a_new_file_never_replaces_one(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    write_atomic(path, b"first", replace=False)
    with pytest.raises(FileExistsError):
        write_atomic(path, b"second", replace=False)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"first", ["export.json"])


def test_a_killed_process_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert (done.returncode, path.read_bytes()) == (-signal.SIGKILL, b"old")


def test_a_link_of_the_unfinished_name_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"mine")
    (tmp_path / ".new").symlink_to(other)
    with pytest.raises(FileExistsError), atomic_file(tmp_path / "keys.json", unfinished=".new"):
        pass
    assert other.read_bytes() == b"mine"


def test_a_name_that_no_file_can_have_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="null"):
        write_atomic(tmp_path / "a\0b", b"")
