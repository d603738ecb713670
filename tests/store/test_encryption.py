"""Encrypted databases, in a process whose home names a key: the driver is chosen when it is first imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).with_name("encrypted_cases.py")


def test_all_cases_of_encrypted_databases(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text('database_key: "env:SB_TEST_NONE"\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(CASES)],
        cwd=CASES.parents[2],
        env={**os.environ, "SB_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
