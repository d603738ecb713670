"""Write the tables that rule packs are compiled to: `make docs`; a test fails when they are out of date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from sb.shell.packs import program_packing, secret_packing
from sb.shell.packs.packing import Pack, read_pack
from sb.shell.packs.program_packing import TRAITS, Program

V = TypeVar("V")
PACKS = Path(__file__).parents[1] / "sb" / "shell" / "packs"
TABLE = PACKS / "table.py"
PROGRAM_TABLE = PACKS / "program_table.py"


@cache
def packs() -> dict[str, Pack]:
    """The shipped packs by name."""
    sections = {**secret_packing.SECTIONS, **program_packing.SECTIONS}
    return {
        path.stem: read_pack(path.read_bytes(), path.name, sections) for path in sorted(PACKS.glob("*.yaml"))
    }


def programs() -> Iterator[tuple[str, Program]]:
    """Every record of every pack, with the program's name."""
    for pack in packs().values():
        yield from pack.sections.get("programs", {}).items()


def table() -> str:
    """The Python table of all packs, a line for each."""
    lines = [
        '"""The compiled rule packs, generated from `sb/shell/packs/*.yaml` by `make docs`."""\n',
        "from __future__ import annotations\n",
        "from typing import TypeAlias\n",
        "Pairs: TypeAlias = tuple[tuple[str, str], ...]",
        "# Of each pack: whether it is required, its rules, options, verbs and previews; names are joined by |.",
        "PACKS: dict[str, tuple[bool, Pairs, Pairs, tuple[tuple[str, str, str], ...], Pairs]] = {",
    ]
    for name, pack in packs().items():
        if pack.rules:  # else it is about something else
            verbs = tuple((*value, keys) for value, keys in _grouped(pack.verbs))
            row = (
                pack.required,
                _grouped(pack.rules),
                _grouped(pack.options),
                verbs,
                _grouped(pack.previews),
            )
            lines.append(f"    {name!r}: {row!r},")
    return "\n".join([*lines, "}\n"])


def program_table() -> str:
    """The Python table of the records of programs, a line for each trait and each fact."""
    traits: dict[str, list[str]] = {trait: [] for trait in sorted(TRAITS)}
    facts: dict[str, dict[str, str]] = {}
    for name, program in programs():
        for trait in program.traits:
            traits[trait].append(name)
        for fact, value in program.facts.items():
            facts.setdefault(fact, {})[name] = value
    variables = {
        key: names for pack in packs().values() for key, names in pack.sections.get("variables", {}).items()
    }
    lines = [
        '"""The compiled records of programs, generated from `sb/shell/packs/*.yaml` by `make docs`."""\n',
        "from __future__ import annotations\n",
        "TRAITS: dict[str, str] = {",
        *(f"    {trait!r}: {'|'.join(names)!r}," for trait, names in traits.items()),
        "}",
        "FACTS: dict[str, dict[str, str]] = {",
        *(f"    {fact!r}: {values!r}," for fact, values in sorted(facts.items())),
        "}",
        f"VARIABLES: dict[str, str] = {variables!r}",
    ]
    return "\n".join(lines) + "\n"


def _grouped(values: Mapping[str, V]) -> tuple[tuple[V, str], ...]:
    found: dict[V, list[str]] = {}
    for key, value in values.items():
        found.setdefault(value, []).append(key)
    return tuple((value, "|".join(keys)) for value, keys in found.items())
