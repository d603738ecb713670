"""Making tokens in threads that come and go never ends the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Each in a process of its own: what is loaded first, and by which thread, is what is tested.
_MAKE = """
import os, random, sys, threading
from sb.memory import Brain
chance = random.Random(1)

def words():
    return " ".join("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(300))

def work(number):
    with Brain("scribe", path=f"{sys.argv[1]}/{number % 3}.db") as brain:
        for _ in range(3):
            brain.remember(words(), force=True)

def in_threads(numbers):
    for number in numbers:
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
"""
_SCENES = {
    "the first thread ends": "in_threads(range(8))",
    "the main thread opened a memory": """
Brain("scribe", path=f"{sys.argv[1]}/main.db").close()
in_threads(range(8))
if os.fork() == 0:
    in_threads(range(8))
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
""",
}


@pytest.mark.parametrize("scene", _SCENES)
def test_threads_that_end_do_not_take_the_process_with_them(
    home: object, tmp_path: object, scene: str
) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", _MAKE + _SCENES[scene], str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
