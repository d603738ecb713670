"""A hook of the site's builder: expands lists of public names, and leads links to code into the repository."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<!!)\[([^]]+)\]\(([^)#\s]+)(#[^)\s]+)?\)")
NAMES = re.compile(r"^<!-- names of ([\w.]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """The page as the builder takes it."""
    folder = Path(config["docs_dir"], page.file.src_uri).parent
    return outward(names_expanded(markdown), folder, Path(config["docs_dir"]), config["repo_url"] or "")


def names_expanded(markdown: str) -> str:
    """The page with one entry for each public name of the packages that it asks for."""
    return NAMES.sub(lambda match: "\n".join(f"::: {match[1]}.{name}" for name in public(match[1])), markdown)


def public(package: str) -> list[str]:
    return sorted(import_module(package).__all__, key=str.lower)


def outward(markdown: str, folder: Path, docs: Path, repository: str) -> str:
    """The page whose links out of `docs/` lead to the repository, or are plain text where no address is known."""

    def link(match: re.Match[str]) -> str:
        text, path, anchor = match[1], match[2], match[3] or ""
        target = (folder / path).resolve()
        if ":" in path or (target.is_relative_to(docs) and target.suffix != ".py") or not target.exists():
            return match[0]
        if not repository:
            return text
        return f"[{text}]({repository.rstrip('/')}/blob/main/{target.relative_to(ROOT).as_posix()}{anchor})"

    return LINK.sub(link, markdown)
