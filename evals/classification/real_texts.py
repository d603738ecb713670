"""Real paragraphs of this machine, which the recognisers were not made with: manuals, package docs, changelogs, docstrings.

Nothing of them is kept in the repository: what is found depends on what is installed. Files go to one of two halves by a
digest of their path.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

HALVES = ("judge", "fit")
_MOST = 400  # paragraphs of a file
_SHORTEST, _LONGEST = 40, 2_000  # characters
_DOCS = (
    "/usr/share/doc",
    "/usr/share/man/man1",
    "/usr/share/man/man5",
    "/usr/share/man/man8",
    "/usr/share/perl",
)
_TEXTS = ("", ".txt", ".md", ".rst", ".gz", ".1", ".5", ".8", ".pod")
_BREAK = re.compile(r"\n\s*\n|\n\.(?:PP|P|TP|SH|IP)\b[^\n]*\n")


def paragraphs(half: str) -> Iterator[tuple[str, str]]:
    """The kind of each paragraph's file, and the paragraph."""
    seen = set[bytes]()
    for kind, file in _files():
        if HALVES[hashlib.sha256(str(file).encode()).digest()[0] & 1] != half:
            continue
        for number, text in enumerate(_split(kind, file)):
            digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
            if number >= _MOST:
                break
            if digest not in seen:
                seen.add(digest)
                yield kind, text


def _files() -> Iterator[tuple[str, Path]]:
    for folder in map(Path, _DOCS):
        for file in sorted(folder.rglob("*")):
            if file.suffix in _TEXTS and file.is_file() and not file.is_symlink():
                yield ("manual" if "/man/" in str(file) else "document"), file
    libraries = (Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib")))
    for library in libraries:
        for file in sorted(library.rglob("*.py")):
            if "test" not in file.parts[-1] and ("site-packages" in file.parts) == (
                "site-packages" in library.parts
            ):
                yield "docstring", file
    for file in sorted(libraries[1].rglob("METADATA")):
        yield "description", file


def _split(kind: str, file: Path) -> Iterator[str]:
    try:
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        text = raw.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError):
        return
    for part in _docstrings(text) if kind == "docstring" else (text,):
        for word in _BREAK.split(part):
            if _SHORTEST <= len(word.strip()) <= _LONGEST and "\0" not in word:
                yield word.strip()


def _docstrings(code: str) -> Iterator[str]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


if __name__ == "__main__":
    for name in HALVES:
        found = list(paragraphs(name))
        sys.stdout.write(
            f"{name}: {len(found):,} paragraphs, {sum(len(text) for _, text in found):,} characters\n"
        )
