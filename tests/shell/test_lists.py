"""The lists of lines to stop and to let go are at least as large as the documentation says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.forked import ROOT

TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "reference" / "shell-classes.md"


def first(stop: str, go: str) -> Callable[[str], str | None]:
    """Lists whose lines begin with a letter."""
    return lambda line: "stop" if line[0] in stop else "go" if line[0] in go else None


def of_classes(line: str) -> str:
    """The table of shell classes: a class, and what is refused."""
    return "stop" if line[0] == "D" or line.split(" ", 2)[1] != "-" else "go"


LISTS: dict[str, Callable[[str], str | None]] = {
    "shell/commands.txt": of_classes,
    "shell/other_programs.txt": first("Dd", "Kk"),
    "shell/lists/secrets.txt": first("SF", "-"),
    "shell/lists/secrets-more.txt": first("SF", "-"),
    "shell/lists/fresh.txt": first("S", "-"),
    "shell/lists/indirect.txt": first("S", "-"),
    "hosts/hooks/mcp_calls.txt": first("-", "+"),
    "hosts/hooks/attack.txt": lambda line: "stop" if line[2] == "?" else "go",
    "hosts/hooks/afternoon.txt": lambda line: "stop" if line[2] == "?" else "go",
}


def lines_of(name: str) -> list[str]:
    text = (TESTS / Path(name)).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_page_states_no_more_lines_than_each_list_has() -> None:
    stated = re.findall(
        r"^\| \[`(.+?)`\]\(.+?\) \| .+? \| ([\d,]+) \| ([\d,]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    counted = {}
    for name, sort in LISTS.items():
        sorts = [sort(line) for line in lines_of(name)]
        assert None not in sorts, name
        counted[name.rpartition("/")[2]] = (sorts.count("stop"), sorts.count("go"))
    assert {name for name, *_ in stated} == counted.keys()
    for name, stop, go in stated:
        assert (int(stop), int(go)) <= counted[name], name
        assert int(go) <= counted[name][1], name
    assert sum(int(stop) for _, stop, _ in stated) >= 400
    assert sum(int(go) for *_, go in stated) >= 400
