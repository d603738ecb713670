"""Time of other memories for agents with the same texts and questions; only installed ones are measured.

Each works as it comes: of `kernle` its storage is asked, with the hashed vectors that it makes without a server; `brainctl` is
asked through its `Brain`, without extras. A memory that fails is quoted with what it says.
"""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from evals.bench.memory import Texts, configured
from evals.bench.timing import block
from evals.retrieval.agent_records import load_questions
from sb.memory import Brain

RECORDS, QUESTIONS = 500, 40
Remember = Callable[[str], object]
Search = Callable[[str], object]


def _ours(folder: Path) -> tuple[Remember, Search]:
    brain = Brain("bench", config=configured(folder))
    return brain.remember, brain.search


def _brainctl(folder: Path) -> tuple[Remember, Search]:
    from agentmemory import Brain as Other

    brain = Other(db_path=str(folder / "brainctl.db"))
    return brain.remember, brain.search


def _kernle(folder: Path) -> tuple[Remember, Search]:
    from kernle.storage import SQLiteStorage
    from kernle.types import Note

    storage = SQLiteStorage("bench", db_path=folder / "kernle.db")

    def remember(text: str) -> None:
        storage.save_note(Note(id=uuid4().hex, stack_id="bench", content=text))

    return remember, storage.search


PEERS = {"brainctl": ("agentmemory", _brainctl), "kernle": ("kernle", _kernle)}


def report() -> Iterator[str]:
    """One line for this memory, and one for each other that is installed."""
    installed = {name: make for name, (package, make) in PEERS.items() if importlib.util.find_spec(package)}
    if not installed:
        yield "brainctl and kernle not installed: pip install '.[bench]' to compare memory with them"
        return
    for name, make in {"here": _ours, **installed}.items():
        with tempfile.TemporaryDirectory() as folder:
            yield f"memory of {RECORDS} records, {name}: {_measured(make, Path(folder))}"


def _measured(make: Callable[[Path], tuple[Remember, Search]], folder: Path) -> str:
    text = Texts()
    texts = iter([text() for _ in range(RECORDS + 1)])
    questions = itertools.cycle([asked.question for asked in load_questions()[:QUESTIONS]])
    try:
        remember, search = make(folder)
        remember(next(texts))
        written = block(lambda: remember(next(texts)), RECORDS)
        for _ in range(QUESTIONS):  # what a process learns once is not what a question takes
            search(next(questions))
        found = block(lambda: search(next(questions)), QUESTIONS)
    except Exception as error:  # noqa: BLE001 - somebody else's code: what it raises is its result
        return f"failed: {error}"
    return f"remember {written:.0f} us, search {found:.0f} us"
