"""Whatever a document shows has been run: each page's Python blocks, in order, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in page.read_text("utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": page.stem}
    for match in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        line = text[: match.start()].count("\n") + 1
        exec(compile("\n" * line + match[1], str(page), "exec"), namespace)
