"""Records from before an upgrade still count after it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from sb.base.sources import SteeredClock
from sb.config import load_config
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import verify
from sb.runtime import Runtime, open_runtime
from sb.store.migrate import shipped
from tests.log.test_log import ROOT
from tests.sql_attacker import SqlAttacker


def opened(home: Path, clock: SteeredClock) -> Runtime:
    home.mkdir(mode=0o700, exist_ok=True)
    env = {"SB_HOME": str(home), "HOME": str(home.parent)}
    return open_runtime(load_config(env=env, cwd=home, flags={}), clock=clock)


def problems(runtime: Runtime) -> list[str]:
    return verify(runtime.log, runtime.approvals.authority).problems


def sb(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"SB_HOME": str(home), "HOME": str(home.parent)}
    command = [sys.executable, "-m", "sb", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=ROOT)


def fail() -> None:
    raise ValueError("later")


def work(workflow: Any) -> list[Any]:
    return [workflow.step("one", int, 1), workflow.step("two", fail)]


def take_back_migration(home: Path) -> None:
    """Make the schema what it was before there were tags."""
    attacker = SqlAttacker(home / "brain.db")
    for table in ("workflows", "workflow_steps"):
        attacker.run(f"ALTER TABLE {table} DROP COLUMN tag")
    for migration in shipped():  # the attacker took the triggers out
        for statement in migration.sql.split("END;\n"):
            if "CREATE TRIGGER" in statement and migration.number != 11:
                attacker.run(statement[statement.index("CREATE TRIGGER") :] + "END")
    attacker.run("DELETE FROM schema_migrations WHERE number = 11")
    attacker.run("PRAGMA user_version = 10")


def made_before(home: Path, clock: SteeredClock) -> None:
    """A home as an earlier version left it: unsigned prune after an enrolment, no tags, nothing outside the database."""
    runtime = opened(home, clock)
    Enrolment(runtime.approvals.authority, KeyFolder(home / "keys")).init("ada", None)
    runtime.log.append("kernel.run.started", {})
    clock.sleep(100)
    assert prune(runtime.log, before=clock.time, reason="old") == 1
    runtime.kill.throw("agent", "mallory", Label("ada"), "stop")
    assert runtime.workflows.run("w", "done", lambda workflow: workflow.step("one", int, 1)) == 1
    try:
        runtime.workflows.run("w", "half", work)
    except ValueError:
        runtime.close()
    take_back_migration(home)
    (home / "statements.jsonl").unlink()
    for path in sorted((home / "workflows").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (home / "workflows").rmdir()


def test_what_was_on_record_before_an_upgrade_goes_on_counting(tmp_path: Path) -> None:
    clock, home = SteeredClock(), tmp_path / "home"
    made_before(home, clock)
    migrated = sb(home, "migrate")
    assert migrated.returncode == 0, migrated.stderr
    runtime = opened(home, clock)
    assert problems(runtime) == []
    assert [kill.name for kill in runtime.kill.active()] == ["agent:mallory"]
    assert runtime.workflows.run("w", "done", fail) == 1
    assert runtime.workflows.run("w", "half", lambda workflow: workflow.step("one", fail_if_run, 1)) == 1
    paths = [str(home / name) for name in ("brain.db", "anchors.jsonl", "operators.json")]
    command = [sys.executable, "-I", str(ROOT / "docs" / "verify_log.py"), *paths]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stdout == "ok\n"


def fail_if_run(number: int) -> int:
    raise AssertionError(number)


def test_what_was_forged_is_not_adopted_by_a_second_upgrade(tmp_path: Path) -> None:
    clock, home = SteeredClock(), tmp_path / "home"
    made_before(home, clock)
    assert sb(home, "migrate").returncode == 0
    attacker = SqlAttacker(home / "brain.db")
    attacker.run("UPDATE workflow_steps SET result = '7'")
    attacker.append("audit.pruned", {"through": 2, "removed": 5, "reason": "old"})
    take_back_migration(home)
    shutil.rmtree(home / "backups")  # of the same second
    assert sb(home, "migrate").returncode == 0
    found = problems(opened(home, clock))
    assert any("is not what the journal wrote" in item for item in found)
    assert any("unsigned, although operators are enrolled" in item for item in found)
