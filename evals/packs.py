"""Write the tables that rule packs are compiled to: `make docs`; a test fails when they are out of date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from sb.shell.packing import Pack, read_pack
from sb.shell.secret_packing import SECTIONS

V = TypeVar("V")
SHELL = Path(__file__).parents[1] / "sb" / "shell"
TABLE = SHELL / "table.py"


@cache
def packs() -> dict[str, Pack]:
    """The shipped packs by name."""
    return {
        path.stem: read_pack(path.read_bytes(), path.name, SECTIONS)
        for path in sorted((SHELL / "packs").glob("*.yaml"))
    }


def table() -> str:
    """The Python table of all packs."""
    lines = [
        '"""The compiled rule packs, generated from `sb/shell/packs/*.yaml` by `make docs`."""\n',
        "from __future__ import annotations\n",
        "from typing import TypeAlias\n",
        "Pairs: TypeAlias = tuple[tuple[str, str], ...]",
        "# Of each pack: whether it is required, its rules, options, verbs and previews; names are joined by |.",
        "PACKS: dict[str, tuple[bool, Pairs, Pairs, tuple[tuple[str, str, str], ...], Pairs]] = {",
    ]
    for name, pack in packs().items():
        if not pack.rules:
            continue  # it is about something else
        lines.append(f"    {name!r}: ({pack.required},")
        lines += _block(f"({rule!r}, {keys!r})," for rule, keys in _grouped(pack.rules))
        lines += _block(f"({words!r}, {keys!r})," for words, keys in _grouped(pack.options))
        lines += _block(
            f"({reason!r}, {words!r}, {keys!r})," for (reason, words), keys in _grouped(pack.verbs)
        )
        lines += _block(f"({preview!r}, {keys!r})," for preview, keys in _grouped(pack.previews))
        lines[-1] += "),"
    return "\n".join([*lines, "}\n"])


def _block(rows: Iterator[str]) -> list[str]:
    inner = list(rows)
    if not inner:
        return ["        (),"]
    first, *more = inner
    lines = [f"        ({first}", *(f"         {row}" for row in more)]
    lines[-1] += "),"
    return lines


def _grouped(values: Mapping[str, V]) -> list[tuple[V, str]]:
    found: dict[V, list[str]] = {}
    for key, value in values.items():
        found.setdefault(value, []).append(key)
    return [(value, "|".join(keys)) for value, keys in found.items()]


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
