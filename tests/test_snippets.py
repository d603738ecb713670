"""Whatever a document shows has been run: each page's Python blocks, in one namespace, and each alone."""

from __future__ import annotations

import atexit
import re
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import CodeType

import pytest

from sb.config import check, render_example

ROOT = Path(__file__).parents[1]
GROUPS_AND_SETTINGS = set(re.findall(r"^#?(\w+):", render_example(), re.MULTILINE))
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in page.read_text("utf-8")
]


def test_settings_of_the_docs_paste_into_the_generated_configuration(tmp_path: Path) -> None:
    pasted = 0
    for page in (ROOT / "docs").rglob("*.md"):
        for match in re.finditer(r"( *)```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            snippet = textwrap.dedent(match[2])
            if (
                page.name == "ci.md"
                or not set(re.findall(r"^(\w+):", snippet, re.MULTILINE)) <= GROUPS_AND_SETTINGS
            ):
                continue  # of another program
            for text in (render_example() + snippet, snippet + render_example()):
                (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
                assert check(tmp_path / "config.yaml", env={"HOME": str(tmp_path)}) == (), page.name
            pasted += 1
    assert pasted >= 4


@pytest.fixture
def process_of_a_page(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A page's calls in no run open one of its own, and what is left to the end of a process comes before its home goes."""
    monkeypatch.setattr("sb.kernel.functions.governed._of_process", {})
    with ExitStack() as end:
        monkeypatch.setattr(atexit, "register", end.callback)
        yield


def blocks(page: Path) -> Iterator[tuple[int, CodeType]]:
    """Yield each Python block of a page, compiled with the page's line numbers, and the line before its first."""
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        line = text[: match.start()].count("\n") + 1
        yield line, compile("\n" * line + match[1], str(page), "exec")


@pytest.mark.usefixtures("process_of_a_page")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": page.stem}
    for _, block in blocks(page):
        exec(block, namespace)


@pytest.mark.usefixtures("process_of_a_page")
@pytest.mark.parametrize(
    ("page", "block"),
    [pytest.param(page, block, id=f"{page.name}:{line}") for page in PAGES for line, block in blocks(page)],
)
def test_a_block_of_a_page_runs_alone_when_it_is_copied(page: Path, block: CodeType) -> None:
    exec(block, {"__name__": page.stem})
