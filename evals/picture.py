"""Draw the pictures of the documents: what commands print, and the console on what a demo and a coding agent left."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text
from sb.screens.app import ConsoleApp
from sb.screens.state.records import Records

from evals import mcp_session
from evals.agent_session import play_session
from evals.terminal import on_terminal
from sb.config import Config
from sb.operator.demo.story import demo_config

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).parent / "sb"
CONSOLE_SIZE = (116, 30)  # columns and rows
COLUMNS = 110  # of a terminal that commands print on
DEMO_COLUMNS = 130  # log lines are long
UNDOING = ("sb undo --list", "sb undo --path legacy --yes", "cat legacy/prices.csv")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        draw_demo(Path(folder).resolve() / "demo")
        asyncio.run(
            draw_console(demo_config(Path(folder).resolve() / "demo" / "home"), "console.svg", ("1",))
        )
    ada = Path(tempfile.gettempdir()) / "ada"  # its name is in the pictures
    ada.mkdir()
    try:
        config = play_session(ada)
        asyncio.run(draw_console(config, "agent-session.svg", ("2", "right_square_bracket", *["down"] * 4)))
        asyncio.run(draw_console(config, "agent-approval.svg", ("1", "down")))
        draw_commands(config, ada / "shop", UNDOING, "agent-undo.svg")
        shutil.rmtree(ada)
        draw_mcp(ada)
    finally:
        shutil.rmtree(ada)


def draw_demo(folder: Path) -> None:
    """Draw the output of `sb demo` on the agent's work."""
    text = on_terminal([str(PROGRAM), "demo", str(folder)], DEMO_COLUMNS, {"PATH": os.environ["PATH"]})
    excerpt = text.partition("\nWaiting for you:")[0].replace(f"{folder}/shop", "~/shop")
    write("demo.svg", picture([("make demo", excerpt)], "sb demo", DEMO_COLUMNS))


def draw_commands(config: Config, folder: Path, commands: Sequence[str], name: str) -> None:
    """Draw the output of commands in a terminal, in this order."""
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(folder.parent), "SB_HOME": str(config.home.folder)}
    printed = [(line, on_terminal(["sh", "-c", line], COLUMNS, env, folder)) for line in commands]
    write(name, picture(printed, "sb undo"))


def draw_mcp(folder: Path) -> None:
    """Draw requests of Claude Desktop over MCP, and the operator's decisions."""
    steps = [(step.asked, step.lines()) for step in mcp_session.play_session(folder)]
    write("mcp-session.svg", picture(steps, "claude-desktop", prompt=""))


def picture(
    printed: Sequence[tuple[str, str]], title: str, columns: int = COLUMNS, *, prompt: str = "$ "
) -> str:
    """A terminal with commands and what each printed, in its colours."""
    console = Console(
        record=True, width=columns, file=io.StringIO(), force_terminal=True, legacy_windows=False
    )
    for command, text in printed:
        console.print(Text(f"{prompt}{command}", style="bold"))
        console.print(Text.from_ansi(text.rstrip("\n")))
    return console.export_svg(title=title)


async def draw_console(config: Config, name: str, keys: Sequence[str]) -> None:
    """The console after these keys."""
    records = Records(config)
    os.environ |= {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }  # or 256 colours, of a terminal that is not there
    app = ConsoleApp(records)
    async with app.run_test(size=CONSOLE_SIZE) as pilot:
        for key in keys:
            await pilot.press(key)
            await pilot.pause(1.0)
        write(name, app.export_screenshot(title="sb console"))
    records.close()


def write(name: str, svg: str) -> None:
    """Write a picture of the documents."""
    (ROOT / "docs" / name).write_text(without_fonts(svg), encoding="utf-8")


def without_fonts(svg: str) -> str:
    """A picture that fetches no fonts from elsewhere."""
    return re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    main()
