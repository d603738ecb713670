"""Draw every screen, view and dialog of the console at four widths and in three looks, to be looked at.

`python -m evals.gallery FOLDER` writes a picture each, and a page for each screen that shows them side by side.
Names after the folder, such as `inbox log`, draw those stops alone.
"""

from __future__ import annotations

import asyncio
import html
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sb.screens.app import ConsoleApp
from sb.screens.state.records import Records
from textual.pilot import Pilot
from textual.screen import ModalScreen

from evals.picture import without_fonts
from evals.sample_home import fill
from sb.config import Config

SIZES = ((60, 24), (80, 24), (120, 36), (200, 50))
LOOKS: Mapping[str, tuple[Mapping[str, str], Sequence[str]]] = {
    "dark": ({}, ()),
    "light": ({}, ("T",)),
    "no-color": ({"NO_COLOR": "1"}, ()),
}
NEXT = "right_square_bracket"
# What leads to each picture. Views stay where they were left, so dialogs of a view come before the next view.
STOPS: Mapping[str, Sequence[str]] = {
    "inbox": ("1",),
    "keys": ("question_mark",),
    "find": ("colon",),
    "find-words": ("colon", *"payments"),
    "approve": ("a",),
    "approve-confirm": ("a", *"agreed", "enter"),
    "deny": ("d",),
    "approve-several": ("space", "space", "a"),
    "approve-several-confirm": ("a", *"agreed", "enter"),
    "stop": ("K",),
    "stop-confirm": ("K", *"it loops", "enter"),
    "inbox-last": ("escape", "G"),
    "inbox-filter": ("slash", *"rm"),
    "agents": ("escape", "2"),
    "runs": (NEXT, "j", "j", "j"),
    "log": ("3",),
    "log-record": ("enter",),
    "log-filter": ("slash", *"agent:clerk"),
    "calls": ("escape", "3", NEXT),
    "changes": (NEXT,),
    "undo": ("u",),
    "undo-run": ("U",),
    "decisions": (NEXT,),
    "memory": ("4",),
    "memory-forget": ("x",),
    "memory-search": ("slash", *"payments", "enter"),
    "triggers": ("escape", "4", NEXT),
    "lessons": (NEXT,),
    "checkpoints": (NEXT,),
    "checkpoint-restore": ("G", "u"),
    "contracts": ("5",),
    "contract-approve": ("a",),
    "reversals": (NEXT,),
    "grants": (NEXT,),
    "revoke": ("x",),
    "policy": (NEXT,),
    "servers": (NEXT,),
    "harness": (NEXT, "r"),
    "evals": (NEXT,),
    "evals-case": ("n",),
    "eval_runs": (NEXT,),
    "record": ("3", "enter"),
}
SETTLED_S, PATIENCE_S = 0.15, 60.0


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print("usage: python -m evals.gallery FOLDER [STOP…]", file=sys.stderr)
        return 2
    folder, wanted = Path(arguments[0]), arguments[1:] or tuple(STOPS)
    unknown = [name for name in wanted if name not in STOPS]
    if unknown:
        print(f"no such stop: {', '.join(unknown)} (there are {', '.join(STOPS)})", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        config = fill(Path(home).resolve())
        for look in LOOKS:
            asyncio.run(draw(config, look, folder, wanted))
    for name in wanted:
        write_page(folder, name)
    return 0


async def draw(config: Config, look: str, folder: Path, wanted: Collection[str]) -> None:
    """Walk through all stops in one look, and draw those that are wanted at each size."""
    variables, keys = LOOKS[look]
    os.environ.pop("NO_COLOR", None)
    os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", **variables}
    records = Records(config)
    app = ConsoleApp(records)
    async with app.run_test(size=SIZES[-1]) as pilot:
        await settle(app, pilot)
        await pilot.press(*keys)
        for name, leading in STOPS.items():
            await pilot.resize_terminal(*SIZES[-1])
            for key in map(_key, leading):
                await pilot.press(key)
            await settle(app, pilot)
            for columns, rows in SIZES if name in wanted else ():
                await pilot.resize_terminal(columns, rows)
                await settle(app, pilot)
                picture = without_fonts(app.export_screenshot(title=f"{name}, {columns} columns, {look}"))
                (folder / f"{name}-{columns}-{look}.svg").write_text(picture, encoding="utf-8")
            while isinstance(app.screen, ModalScreen):
                await pilot.press("escape")
                await settle(app, pilot)
        app.exit()
    records.close()


def _key(name: str) -> str:
    """A key as Textual names it."""
    return {" ": "space", ":": "colon"}.get(name, name)


async def settle(app: ConsoleApp, pilot: Pilot[None]) -> None:
    """Wait until nothing is read any more, nor anything painted."""
    for _ in range(int(PATIENCE_S / SETTLED_S)):
        await pilot.pause(SETTLED_S)
        if all(worker.group == "look" for worker in app.workers):
            return


def write_page(folder: Path, name: str) -> None:
    """A page with all pictures of a stop, and a PNG of each where rsvg-convert is installed."""
    pictures = sorted(
        folder.glob(f"{name}-[0-9]*.svg"),
        key=lambda path: [int(part) for part in path.stem.split("-") if part.isdecimal()],
    )
    images = "\n".join(
        f'<img src="{html.escape(path.name)}" alt="{html.escape(path.stem)}">' for path in pictures
    )
    (folder / f"{name}.html").write_text(
        f"<!doctype html><title>{html.escape(name)}</title>\n{images}\n", encoding="utf-8"
    )
    if shutil.which("rsvg-convert"):
        for path in pictures:
            subprocess.run(["rsvg-convert", "-o", path.with_suffix(".png"), path], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
