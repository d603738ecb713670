"""Seals of the workflow journal: what SQL alone can neither change nor remove unnoticed.

Each row carries a tag, made with the home's key of digests, and a file outside the database knows how many steps of a
workflow were announced. Without a home's key there are neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from sb.base.values.canonical import encode
from sb.errors import StoreCorrupt
from sb.log.event_log import EventLog
from sb.store import driver
from sb.store.step_count import StepCount

FOLDER = "workflows"  # beside the anchors
POSITION_BITS = 20
MIGRATION = 11  # made room for the tags
Execute = Callable[..., driver.Cursor]
_WORKFLOWS = "SELECT number, id, name, run_id, started_at, args, result, tag FROM workflows"
_STEPS = "SELECT id, name, kind, args_digest, result, tag FROM workflow_steps WHERE id >= ? AND id < ?"


class Seals:
    """The seals of one log's journal."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._keyed = log.keyed

    def workflow(self, *row: Any) -> str:
        """The tag of a workflow: of its id, name, run, start, arguments and result."""
        return self._log.tag(encode(row)) if self._keyed else ""

    def step(self, run_id: str, *row: Any) -> str:
        """The tag of a step: of its workflow's run, its place, name, kind, digest of arguments and result."""
        return self._log.tag(encode((run_id, *row))) if self._keyed else ""

    def require(self, what: str, found: str, tag: str) -> None:
        """Raise StoreCorrupt unless the tag that a row has is the one that it should have."""
        if self._keyed and found != tag:
            raise StoreCorrupt(
                f"{what} was changed in the database, or digest.key was replaced",
                'sb log verify; docs/guides/workflows.md, "What the database alone cannot change"',
            )

    def count(self, workflow_id: str) -> StepCount:
        """The number of announced steps of a workflow."""
        folder = self._folder()
        return StepCount(None if folder is None else folder / self._log.tag(workflow_id.encode()))

    def _folder(self) -> Path | None:
        if self._log.anchor is None or not self._keyed:
            return None
        return self._log.anchor.path.with_name(FOLDER) / self._log.database_id

    def require_complete(self, workflow_id: str, recorded: int, count: StepCount) -> None:
        """Raise StoreCorrupt if fewer steps are on record than were announced."""
        announced = count.read()
        if recorded < announced:
            raise StoreCorrupt(
                f"of workflow {workflow_id!r} {announced} steps were announced, and the database has {recorded}",
                "put the newest backup back, or find out what happened and forget the workflow; docs/guides/workflows.md",
            )

    def adopt(self, execute: Execute, applied: Collection[int]) -> None:
        """Seal the rows of a database that was upgraded, unless journals with seals have worked on it before.

        Args:
            applied: the numbers of the migrations that the upgrade applied.
        """
        folder = self._folder()
        if MIGRATION not in applied or folder is None or folder.exists():
            return
        for number, *row, _ in execute(_WORKFLOWS).fetchall():
            execute("UPDATE workflows SET tag = ? WHERE number = ?", (self.workflow(*row), number))
            for place, *step, _ in execute(_STEPS, _bounds(number)).fetchall():
                tag = self.step(row[2], place, *step)
                execute("UPDATE workflow_steps SET tag = ? WHERE id = ?", (tag, place))
        folder.mkdir(mode=0o700, parents=True)

    def check(self, execute: Execute, report: Callable[[str], object]) -> None:
        """Report every row that the journal did not write, and every workflow with missing rows."""
        if not self._keyed:
            return
        folder, numbers, known = self._folder(), set(), set()
        for number, *row, tag in execute(_WORKFLOWS).fetchall():
            workflow_id, run_id, recorded = row[0], row[2], 0
            numbers.add(number)
            if self.workflow(*row) != tag:
                report(f"workflows {workflow_id!r} is not what the journal wrote")
            for place, *step, sealed in execute(_STEPS, _bounds(number)):
                recorded += 1
                if self.step(run_id, place, *step) != sealed:
                    report(
                        f"workflow_steps: step {step[0]!r} of {workflow_id!r} is not what the journal wrote"
                    )
            count = self.count(str(workflow_id))
            known.add(self._log.tag(str(workflow_id).encode()))
            if recorded < count.read():
                report(f"workflow_steps: of {workflow_id!r} {count.read() - recorded} steps are gone")
        places = execute(f"SELECT DISTINCT id >> {POSITION_BITS} FROM workflow_steps").fetchall()
        for (number,) in places:
            if number not in numbers:
                report(f"workflow_steps: rows {number << POSITION_BITS} and after belong to no workflow")
        names = {path.name for path in folder.iterdir()} if folder is not None and folder.is_dir() else set()
        for _ in names - known:
            report("workflows: one of which steps were announced is gone")


def _bounds(number: int) -> tuple[int, int]:
    return number << POSITION_BITS, (number + 1) << POSITION_BITS
