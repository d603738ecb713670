"""Speed of the console with a hundred thousand calls on record, measured in a real pseudo-terminal, from outside."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

CALLS = 100_000
COLUMNS, LINES = 120, 40
STARTS, KEYS, FILTERS = 7, 60, 7
PATIENCE_S = 20.0
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\)|[ -/]*[0-~])", re.DOTALL)


@dataclass(frozen=True)
class Figure:
    """One number in milliseconds, with what to aim at and what fails."""

    name: str
    ms: float
    aim: float
    bar: float

    def line(self) -> str:
        verdict = "ok" if self.ms <= self.bar else "OVER"
        return f"{self.name:<64} {self.ms:>6.0f} ms   aim {self.aim:g}  bar {self.bar:g} ms  {verdict}"


def fill(home: Path, calls: int) -> None:
    """So many calls on record, half of them with side effects, in runs of twenty."""
    os.environ["SB_HOME"] = str(home)
    from sb.kernel import RunBudget, RunContext, SafetyClass
    from sb.kernel.authority.signing import Label
    from sb.runtime import open_runtime

    with open_runtime() as runtime:
        register = runtime.registry.register_fn
        register("bank.look", "Look", lambda account: {"balance": 12}, SafetyClass.READ_ONLY)
        register("notes.append", "Append", lambda text: {"length": len(text)}, SafetyClass.LOCAL_WRITE)
        register("bank.pay", "Pay", lambda to: f"paid {to}", SafetyClass.DESTRUCTIVE)
        runtime.baselines.seen.note_all(runtime.registry)
        contracts = {spec.tool_id: spec.contract_fingerprint() for spec in runtime.registry.list_all()}
        runtime.baselines.approve(contracts, Label("bench"), "the benchmark's own tools")
        for first in range(0, calls, 20):
            budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
            ctx = RunContext.create(f"agent{first % 7}", intent=f"keep book {first}", budget=budget)
            with runtime.executor.run(ctx):
                for number in range(first, first + 20):
                    if number % 2:
                        runtime.executor.execute(ctx, "bank.look", {"account": f"DE-{number}-"})
                    else:
                        text = f"note {number} about the month's bills, what is due and what was paid; " * 3
                        runtime.executor.execute(ctx, "notes.append", {"text": text})
        for number in range(30):
            runtime.executor.execute(RunContext.create("clerk"), "bank.pay", {"to": f"bob{number}"})


class Terminal:
    """`sb console` in a pseudo-terminal of its own, and what it has written since it was last asked."""

    def __init__(self, home: Path) -> None:
        environment = {
            **os.environ,
            "SB_HOME": str(home),
            "TERM": "xterm-256color",
            "COLUMNS": "",
            "LINES": "",
        }
        environment = {name: value for name, value in environment.items() if value}
        self.started = time.perf_counter()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            os.execve(sys.executable, [sys.executable, "-m", "sb", "console"], environment)

    def wait(self, text: str = "") -> float:
        """When this text was written, or anything at all; as time.perf_counter() says."""
        seen = ""
        until = time.perf_counter() + PATIENCE_S
        while time.perf_counter() < until:
            if select.select([self._fd], [], [], 0.5)[0]:
                seen += os.read(self._fd, 1 << 16).decode("utf-8", "replace")
                if text in _ESCAPE.sub("", seen):
                    return time.perf_counter()
        raise TimeoutError(f"{text!r} never came; last: {_ESCAPE.sub('', seen)[-300:]!r}")

    def settle(self, quiet_s: float = 0.15) -> None:
        """Until nothing is written any more."""
        while select.select([self._fd], [], [], quiet_s)[0]:
            os.read(self._fd, 1 << 16)

    def press(self, keys: str) -> float:
        """Type; returns when."""
        os.write(self._fd, keys.encode())
        return time.perf_counter()

    def close(self) -> None:
        self.press("q")
        with contextlib.suppress(OSError):  # the terminal is gone once the program has ended
            while os.read(self._fd, 1 << 16):
                pass
        os.waitpid(self._pid, 0)
        os.close(self._fd)


def start_ms(home: Path, text: str) -> float:
    terminal = Terminal(home)
    ready = terminal.wait(text)
    terminal.settle()
    terminal.close()
    return (ready - terminal.started) * 1000


def key_ms(terminal: Terminal, keys: str) -> list[float]:
    """From each key to the first thing that it changes on screen."""
    times = []
    for key in keys:
        terminal.settle(0.05)
        pressed = terminal.press(key)
        times.append((terminal.wait() - pressed) * 1000)
    return times


def filter_ms(terminal: Terminal, number: int) -> float:
    """From the last keystroke of a filter to its rows; the interval of the console's debounce is in it."""
    terminal.press("/")
    terminal.settle()
    terminal.press(f"DE-{number}")
    pressed = terminal.press("-")
    ready = terminal.wait(f"account=DE-{number}-")
    terminal.press("\x1b")
    terminal.settle(0.4)
    terminal.press("g")  # away from what was found: the next one is not on screen before it is searched for
    terminal.settle()
    return (ready - pressed) * 1000


def longest_stall_ms(home: Path) -> float:
    """The longest time in which the UI thread did nothing else, over a tour of all screens."""
    from sb.screens.app import ConsoleApp
    from sb.screens.state.records import Records

    from sb.config import current_config

    os.environ["SB_HOME"] = str(home)
    records = Records(current_config())

    async def tour() -> float:
        app = ConsoleApp(records)
        worst = 0.0

        async def watch() -> None:
            nonlocal worst
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0)
                await asyncio.sleep(0.001)
                worst = max(worst, time.perf_counter() - before - 0.001)

        gc.disable()  # as `sb console` starts
        async with app.run_test(size=(COLUMNS, LINES)) as pilot:
            await pilot.pause(1.0)
            while not gc.isenabled():  # until its screens are imported
                await pilot.pause(0.1)
            watcher = asyncio.create_task(watch())
            for key in "3Gg2jjGg]jj1jjjj5jj4]31" * 2:
                await pilot.press(key)
                await pilot.pause(0.05)
            await pilot.press("3", "slash", *"note 9 ", "escape")
            await pilot.pause(0.5)
            await pilot.press("right_square_bracket")  # all calls
            await pilot.pause(1.5)
            await pilot.press("j", "G", "g")
            watcher.cancel()
        return worst * 1000

    try:
        return asyncio.run(tour())
    finally:
        records.close()


def figures(home: Path) -> Iterator[Figure]:
    yield Figure(
        "exec to first row of the Inbox", median(start_ms(home, "bank.pay") for _ in range(STARTS)), 300, 500
    )
    terminal = Terminal(home)
    terminal.wait("bank.pay")
    terminal.press("3")
    terminal.wait("Event")
    moves = key_ms(terminal, ("jjkGkkgjGgjj" * KEYS)[:KEYS])
    yield Figure("key to paint in Log, 95th percentile", quantiles(moves, n=20)[-1], 50, 100)
    screens = key_ms(terminal, "12345" * 9)[5:]
    yield Figure(
        "key to the first paint of another screen, 95th percentile", quantiles(screens, n=20)[-1], 50, 100
    )
    terminal.press("3")
    terminal.settle()
    for name, first in (("newest", CALLS - 1), ("oldest", 201)):
        times = median(filter_ms(terminal, abs(first - 20 * number)) for number in range(FILTERS))
        yield Figure(f"last keystroke of a filter to its rows, hit among the {name}", times, 150, 300)
    terminal.close()
    yield Figure("longest stall of the UI thread, tour of all screens", longest_stall_ms(home), 20, 50)


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        fill(home, CALLS)
        for figure in figures(home):
            yield figure.line()


if __name__ == "__main__":
    for shown in report() if len(sys.argv) < 2 else map(Figure.line, figures(Path(sys.argv[1]))):
        print(shown, flush=True)
