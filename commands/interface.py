"""Interface of each command that programs can rely on, as interface.yaml declares it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from sb.base.shipped import shipped_table

COMMON_EXITS = (0, 1, 2, 70, 130)
_DATABASE = (3,)  # of every command that does not say otherwise


@cache
def declaration() -> dict[str, Any]:
    """The types and commands of interface.yaml."""
    declared: dict[str, Any] = shipped_table(__file__, "interface.yaml")
    return declared


@cache
def verbs() -> dict[str, str]:
    """Each command and group below another, such as "memory pii list", and its last word.

    Read from the lines of interface.yaml: to load the command tree takes a second, to parse the file 30 ms.
    """
    commands = re.findall(r"^  ([a-z-]+(?: [a-z-]+)+):", _text().partition("\ncommands:\n")[2], re.MULTILINE)
    groups = {group for name in commands if " " in (group := name.rpartition(" ")[0])}
    return {name: name.rpartition(" ")[2] for name in (*commands, *sorted(groups))}


def _text() -> str:
    return (Path(__file__).parent / "interface.yaml").read_text(encoding="utf-8")


def declared_of(name: str) -> dict[str, Any]:
    """The declaration of a command, such as "approvals list"."""
    declared: dict[str, Any] = declaration()["commands"][name]
    return declared


def writes(name: str) -> bool:
    """True if a command can change the database or files."""
    return bool(declared_of(name).get("writes", False))


def exits(name: str) -> list[int]:
    """The codes with which a command can end."""
    return sorted({*COMMON_EXITS, *declared_of(name).get("exits", _DATABASE)})


def schema_name(name: str) -> str:
    """The name of the schema of what a command prints with `--json`."""
    return name.replace(" ", ".")


def schema_of(name: str) -> str | None:
    """The name of a command's schema; None if it prints no JSON."""
    return schema_name(name) if {"json", "lines"} & declared_of(name).keys() else None
