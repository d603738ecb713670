"""Parts of the first search load in the background, which changes no result and outlives no memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sb.config import load_config
from sb.memory import Brain
from sb.memory.warming import DELAY_S, Warming
from sb.store.database import Database, Row

TEXTS = ["the kettle whistles at noon", "the till is short of coins", "tea is bought on Mondays", "it rained"]


@pytest.fixture(autouse=True)
def _ended_before() -> None:
    """Wait for the threads of earlier tests in this process, whose memories nobody closed."""
    for each in threading.enumerate():
        if each.name == "sb-warming":
            each.join(60)


def brain(home: Path, *, warm: bool = False, embedder: str = "static") -> Brain:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(f"memory: {{embedder: {embedder}, ollama_url: 'http://127.0.0.1:9'}}\n")
    config = load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home.parent, flags={})
    return Brain("coder", config=config, warm=warm)


def test_warm_memory_has_what_a_search_loads_and_finds_the_same(home: Path) -> None:
    with brain(home) as memory:
        for text in TEXTS:
            memory.remember(text)
    for embedder in ("static", "none"):
        with brain(home, embedder=embedder) as cold, brain(home, embedder=embedder) as warm:
            Warming(warm.space).wait()
            assert "lexicon" in vars(warm.space)
            assert "lexicon" not in vars(cold.space)
            assert (warm.space.lexicon.known_words, cold.space.lexicon.known_words) == (17, 1)
            first, second = (
                [(hit.id, hit.score) for hit in each.search("when is tea bought", benchmark=True)]
                for each in (cold, warm)
            )
            assert first == second != []


def test_a_search_reads_no_record_that_was_met_while_warming(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with brain(home) as memory:
        for text in TEXTS:
            memory.log(text, speaker="Ann")
        Warming(memory.space).wait()
        asked: list[str] = []
        query = Database.query

        def listed(database: Database, sql: str, parameters: tuple[Any, ...] = ()) -> list[Row]:
            asked.append(sql)
            return query(database, sql, parameters)

        monkeypatch.setattr(Database, "query", listed)
        assert len(memory.search("when is tea bought")) == 2, "also what was said before"
        assert [sql for sql in asked if "a.terms" in sql or "v.record IN" in sql] == []


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "sb-warming"]


def test_closing_ends_the_thread(home: Path) -> None:
    with brain(home, warm=True) as memory:
        memory.remember(TEXTS[0])
    assert threads() == []
    Warming(memory.space).wait()  # its database is closed already
    assert threads() == []


def test_server_is_not_asked_before_a_search_is(home: Path) -> None:
    with brain(home, embedder="ollama") as memory:
        Warming(memory.space).wait()
        assert "embedder" not in vars(memory.space)


def test_process_that_ends_while_it_warms_ends_cleanly(home: Path) -> None:
    program = (
        "import sys, time; from sb.memory import Brain; from sb.memory.warming import DELAY_S;"
        "brains = [Brain(f'agent {number}') for number in range(3)];"
        "time.sleep(DELAY_S + float(sys.argv[1]))"
    )
    for more in ("0", "0.02"):
        done = subprocess.run(
            [sys.executable, "-c", program, more], capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_thread_that_has_the_database_can_load_the_same_meanwhile(home: Path) -> None:
    with brain(home) as memory:
        memory.remember(TEXTS[0])
    memory = brain(home)
    loaded: list[object] = []

    def write() -> None:
        with memory.space.database.write():
            warming = Warming(memory.space)
            time.sleep(DELAY_S * 2)  # by then it waits for the database
            loaded.append(memory.space.embedder)
            loaded.append(memory.space.lexicon)
        warming.wait()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    thread.join(60)
    assert len(loaded) == 2
    memory.close()


def test_thread_that_waits_for_the_database_ends_when_it_is_stopped(home: Path) -> None:
    with brain(home) as memory:
        memory.remember(TEXTS[0])
        _ = memory.space.embedder  # so that it comes to the database at once
        running: list[list[str]] = []

        def hold() -> None:
            with memory.space.database.write():
                warming = Warming(memory.space)
                time.sleep(DELAY_S * 3)
                warming.stop()
                running.append(threads())

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        thread.join(60)
        assert running == [[]]


def test_process_that_forks_leaves_no_lock_behind(home: Path) -> None:
    program = (
        "import os, sys, threading, time; from sb.memory import Brain; from sb.memory.warming import DELAY_S;"
        "one = Brain('parent'); one.remember('the kettle whistles'); warming = Brain('other');"
        "time.sleep(DELAY_S + float(sys.argv[1])); child = os.fork();\n"
        "if not child:\n"
        "    two = Brain('child', warm=False); found = two.search('kettle'); os._exit(len(found))\n"
        "names = [each.name for each in threading.enumerate()]\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 'sb-warming' in names)"
    )
    for more in (-DELAY_S, 0.01):
        done = subprocess.run(
            [sys.executable, "-c", program, str(more)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert (done.stdout, done.stderr) == ("1 False\n", "")
