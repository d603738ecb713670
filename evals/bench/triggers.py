"""Triggers and lessons: a call compared with 1 000 of them, with none, and where one fits; beside one look-up."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from evals.bench.timing import compare
from sb.config import load_config
from sb.memory import Brain
from sb.memory.triggers.armed import fitting
from sb.memory.triggers.precondition import Situation
from sb.protocols.types import Lesson, Trigger
from sb.store.armed_triggers import any_armed

PENDING = 1_000
BAR_US = 200.0
_CALL = Situation(
    'git commit -m "Move the parser to its room" && git push origin main Commit and push the parser',
    paths=("/srv/shop/src/app/parser.py",),
    tool="Bash",
    call='git commit -m "Move the parser to its room" && git push origin main',
    is_call=True,
)


def report() -> Iterator[str]:
    """Microseconds of one check."""
    with tempfile.TemporaryDirectory() as folder:
        config = load_config(env={"SB_HOME": folder, "HOME": folder}, cwd=Path(folder), flags={})
        with Brain("bench", config=config, scope="project:shop") as brain:
            database = brain.database

            def once() -> object:
                return database.query("SELECT 1")

            def check() -> object:
                situation = Situation(
                    _CALL.text, paths=_CALL.paths, tool=_CALL.tool, call=_CALL.call, is_call=True
                )
                return fitting(database, situation)

            yield compare(
                "no trigger", lambda: any_armed(database), "a look-up", once, calls=200, bar=4
            ).line()
            place = brain._place(None, None, private=False)
            brain.writer.keep_all([_trigger(number) for number in range(PENDING)], place)
            brain.triggers.prepare()
            for name in ("none fits", "one fits"):
                line = compare(f"{PENDING} pending, {name}", check, "a look-up", once, calls=100, bar=None)
                verdict = "ok" if line.us <= BAR_US else "OVER"
                yield f"{line.line()}  bar {BAR_US:g} us  {verdict}"
                brain.trigger_create("push the parser to main", "run the tests first")


def _trigger(number: int) -> Trigger | Lesson:
    """A quarter of them lessons of calls, the others words, a path, or a tool with words."""
    if number % 4 == 2:
        return Lesson(content="look", conditions={"call": f"git push origin branch-{number} --force"})
    words = f"invoice {number} of the billing schema number{number % 97} ledger{number % 31}"
    kinds: tuple[dict[str, str] | None, ...] = (
        None,
        {"path": f"src/part{number}/**"},
        None,
        {"tool": "Edit", "words": words},
    )
    conditions = kinds[number % len(kinds)]
    return Trigger(precondition=words, action="look", conditions=conditions)
