"""Write the table of credentials that the pack `secrets.yaml` is compiled to: `make docs`; a test compares them."""

from __future__ import annotations

from typing import Any

from evals.packs import PACKS, packs
from sb.shell.packs.secret_index import index
from sb.shell.packs.secret_packing import Illustration

TABLE = PACKS / "secret_table.py"


def examples() -> list[Illustration]:
    """The command lines of the pack, and which of them read a secret."""
    return [example for section in packs()["secrets"].sections.values() for example in section.examples]


def secret_table() -> str:
    """The Python table of the pack."""
    sections = {name: section.values for name, section in packs()["secrets"].sections.items()}
    patterns, literal, begins, ends, others = index(sections["secret_files"])
    tables = (("LITERAL", literal), ("BEGINS", begins), ("ENDS", ends))
    lines = [
        '"""The compiled credentials, generated from `sb/shell/packs/secrets.yaml` by `make docs`."""\n',
        "from __future__ import annotations\n",
        "# what, kind, paths, names that are none",
        *_rows(
            "FILES", "tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]", sections["secret_files"]
        ),
        "# what, commands, options of which one has to stand there, and of which none",
        *_rows(
            "COMMANDS",
            "tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...]",
            sections["secret_commands"],
        ),
        "# parts, whether everything in it, whether from the root, the part to look up by, and the row of FILES",
        f"PATTERNS: tuple[tuple[tuple[str, ...], bool, bool, int, int], ...] = {tuple(patterns)!r}",
        *(f"{name}: dict[str, tuple[int, ...]] = {found!r}" for name, found in tables),
        f"OTHERS: tuple[int, ...] = {others!r}",
        f"VARIABLES: tuple[str, ...] = {sections['secret_variables'][0]!r}",
        f"NO_VARIABLES: tuple[str, ...] = {sections['secret_variables'][1]!r}",
        f"ADDRESSES: tuple[str, ...] = {sections['secret_addresses']!r}",
        f"HOSTS: dict[str, tuple[str, ...]] = {dict(sections['secret_hosts'])!r}",
    ]
    return "\n".join(lines) + "\n"


def _rows(name: str, kind: str, rows: Any) -> list[str]:
    return [f"{name}: {kind} = (", *(f"    {tuple(row)!r}," for row in rows), ")"]


if __name__ == "__main__":
    TABLE.write_text(secret_table(), encoding="utf-8")
