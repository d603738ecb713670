"""Dotted names of ours in strings, YAML and docs: each names a module that exists, or one that the catalogue waits for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from sb.kernel.harness_audit import load_catalogue
from tests.test_architecture import tree

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"(?<![\w./\-@])sb(?:\.[A-Za-z_]\w*)+")
NOT_MODULES = re.compile(
    r"sb\.(?:(?:run|session|trace)\.id|tool\.(?:calls|duration|safety_class)|call\.(?:retries|success)"  # telemetry
    r"|stacks|stack_components|models|plugins"  # groups of entry points
    r"|yaml|json|py|db"  # files
    r"|on|stdin\.\w+|stderr\.\w+"  # a child process of the example in JavaScript
    r"|kernel\.not_built_yet)"  # what a test of missing modules names
)


def texts() -> Iterator[tuple[str, str]]:
    for folder in ("sb", "commands", "screens", "evals", "tests", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(tree(path)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and "sb." in node.value:
                    yield str(path.relative_to(ROOT)), node.value
    others = (
        *(ROOT / "sb").rglob("*.yaml"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "README.md",
        ROOT / "pyproject.toml",
    )
    for path in others:
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")


@cache
def exists(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for attribute in parts[count:]:
            if not hasattr(found, attribute):
                return attribute in getattr(found, "__annotations__", {})
            found = getattr(found, attribute)
        return True
    return False


def test_every_dotted_name_of_ours_exists() -> None:
    controls = load_catalogue().controls
    waits = {criterion.waits for control in controls for criterion in control.criteria} | {
        name for control in controls for name in control.modules
    }
    unknown = {
        f"{where}: {name}"
        for where, text in texts()
        for name in NAME.findall(text)
        if not NOT_MODULES.fullmatch(name)
        and not exists(name)
        and not any(f"{w}.".startswith(f"{name}.") for w in waits)
    }
    assert unknown == set()
