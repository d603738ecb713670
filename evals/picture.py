"""Draw the pictures of the documents: what `sb demo` prints, and the console on what it and a coding agent left."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text
from sb.screens.app import ConsoleApp
from sb.screens.state.records import Records

from evals.agent_session import play_session
from sb.config import Config
from sb.demo.story import SHIPPED, Demo, demo_config, play
from sb.kernel.calls.narrative import log_line
from sb.kernel.review.log_verification import verify
from sb.parts import open_log

ROOT = Path(__file__).parents[1]
STYLES = {
    "DENIED": "bold red",
    "NEEDS A PERSON": "bold yellow",
    "BUDGET": "bold magenta",
    "RECOVERY": "bold yellow",
    "ok": "green",
    "whole": "bold green",
}
WIDTH = 156


CONSOLE_SIZE = (118, 34)  # columns and rows
UNDOING = ("sb undo --list", "sb undo --path legacy --yes", "cat legacy/prices.csv")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = play(Path(folder).resolve())
        draw_story(story)
        asyncio.run(draw_console(demo_config(story.home), "console.svg", ("2", "down")))
    ada = Path(tempfile.gettempdir()) / "ada"  # its name is in the pictures
    ada.mkdir()
    try:
        config = play_session(ada)
        asyncio.run(draw_console(config, "agent-session.svg", ("5", "tab")))
        asyncio.run(draw_console(config, "agent-approval.svg", ("2", "down")))
        draw_commands(config, ada / "shop", UNDOING, "agent-undo.svg")
    finally:
        shutil.rmtree(ada)


def draw_story(story: Demo) -> None:
    log = open_log(demo_config(story.home))
    lines = [log_line(event) for event in log.events(after=story.before)]
    agent = story.shipped_after - story.before
    lines[agent:agent] = ["", SHIPPED, ""]
    found = verify(log)
    log.close()
    lines += ["", f"The log is whole: {found.rows} rows, each chained to the one before."]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text("$ make demo", style="bold"))
    for line in lines:
        text = Text(re.sub(r"/tmp/\S+?/shop", "shop", line), overflow="ellipsis", no_wrap=True)
        for word, style in STYLES.items():
            text.highlight_regex(rf"(?<= ){word}(?=[ :])", style)
        console.print(text)
    write("demo.svg", console.export_svg(title="sb demo"))


def draw_commands(config: Config, folder: Path, commands: Sequence[str], name: str) -> None:
    """What commands print in a terminal, in this order."""
    console = Console(
        record=True, width=CONSOLE_SIZE[0], file=io.StringIO(), force_terminal=True, legacy_windows=False
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(folder.parent), "SB_HOME": str(config.home.folder), "COLUMNS": "110"}
    for command in commands:
        console.print(Text(f"$ {command}", style="bold"))
        done = subprocess.run(
            command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=True
        )
        console.print(Text(f"{done.stderr}{done.stdout}".rstrip("\n")))
    write(name, console.export_svg(title="sb undo"))


async def draw_console(config: Config, name: str, keys: Sequence[str]) -> None:
    """The console after these keys."""
    records = Records(config)
    app = ConsoleApp(records)
    async with app.run_test(size=CONSOLE_SIZE) as pilot:
        for key in keys:
            await pilot.press(key)
            await pilot.pause(1.0)
        write(name, app.export_screenshot(title="sb console"))
    records.close()


def write(name: str, svg: str) -> None:
    """Without the fonts that the picture would fetch from elsewhere."""
    plain = re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)
    (ROOT / "docs" / name).write_text(plain, encoding="utf-8")


if __name__ == "__main__":
    main()
