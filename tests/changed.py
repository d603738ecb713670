"""Test files for what changed since main: `python tests/changed.py` prints them, one a line.

A changed module is tested by the files of its mirrored folder that have its name or import it; if there are none, by
those anywhere that have its name or import it; if there are none either, by all of its mirrored folder.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALWAYS = ("tests/test_architecture.py",)
OF_DOCS = ("tests/test_docs.py", "tests/test_snippets.py")
MOST = 10  # files that import a module which half of the code imports


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed() -> set[str]:
    """Files that differ from main, committed or not; on main itself, from what was pushed."""
    base = git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main") or ["HEAD"]
    return {*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")}


def chosen_for(name: str) -> Iterator[str]:
    """The test files for one changed file of the repository."""
    path = Path(name)
    if path.suffix in (".md", ".yaml"):
        yield from OF_DOCS
    if path.parts[0] == "examples" and len(path.parts) > 2:
        yield f"tests/plugins/test_{path.parts[1]}.py"
        return
    if path.suffix != ".py":
        return
    if path.parts[0] == "tests":
        if path.name.startswith("test_") and (ROOT / path).exists():
            yield name
        return
    inside = path.parts[1:] if path.parts[0] == "sb" else path.parts
    parts = [part.removesuffix(".py") for part in inside if part != "__init__.py"]
    module = ".".join(["sb", *parts])
    folder = ROOT.joinpath("tests", *parts)
    while not folder.is_dir():
        folder = folder.parent
    near = sorted(folder.rglob("test_*.py")) if folder != ROOT / "tests" else []
    anywhere = sorted((ROOT / "tests").rglob("test_*.py"))
    found = of_module(near, module) or of_module(anywhere, module) or near
    yield from (str(test.relative_to(ROOT)) for test in found)


def of_module(tests: list[Path], module: str) -> list[Path]:
    """Those that have a module's name, and those that import it most often."""
    stem = module.rpartition(".")[2]
    importing = sorted(
        (test for test in tests if mentions(test, module)), key=lambda test: -mentions(test, module)
    )
    return [*(test for test in tests if test.stem == f"test_{stem}"), *importing[:MOST]]


def mentions(test: Path, module: str) -> int:
    text = test.read_text(encoding="utf-8")
    package, _, last = module.rpartition(".")
    return text.count(f"{module} ") + text.count(f"{module}.") + text.count(f"from {package} import {last}\n")


def main() -> None:
    chosen = {test for name in changed() for test in chosen_for(name)}
    sys.stdout.write("\n".join(sorted({*ALWAYS, *chosen})) + "\n")


if __name__ == "__main__":
    main()
