"""Draw docs/demo.svg: what `sb demo` prints, as it prints it (`make picture`)."""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from sb.demo import demo_config, play
from sb.kernel.log_verification import verify
from sb.kernel.narrative import log_line
from sb.runtime import open_log

ROOT = Path(__file__).parents[1]
STYLES = {
    "DENIED": "bold red",
    "NEEDS A PERSON": "bold yellow",
    "BUDGET": "bold magenta",
    "ok": "green",
    "whole": "bold green",
}
WIDTH = 156


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = play(Path(folder).resolve())
        log = open_log(demo_config(story.home))
        lines = [log_line(event) for event in log.events(run_id=story.run_id)]
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
    svg = console.export_svg(title="sb demo")
    (ROOT / "docs" / "demo.svg").write_text(
        re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
