"""Write the tables that hooks need at once, each `tables.yaml` as the `tables.py` beside it: `make docs`, and a test compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_EXAMPLES = ("claimed", "not_claimed")  # of a row, which tests alone read
TABLES = sorted((Path(__file__).parents[1] / "sb").rglob("tables.yaml"))


def compiled(source: Path) -> str:
    """The Python of a YAML file of tables, a line for each table."""
    with source.open(encoding="utf-8") as file:
        tables = {name.upper(): _constant(value) for name, value in yaml.safe_load(file).items()}
    title = f'"""The tables of `{source.name}`, compiled by `make docs`."""'
    lines = [f"{name}: {_type(value)} = {value!r}" for name, value in tables.items()]
    return "\n".join([title, "", "from typing import Any", "", *lines, ""])


def _constant(value: Any) -> Any:
    """A value with tuples in the place of lists."""
    if isinstance(value, dict):
        return {key: _constant(item) for key, item in value.items() if key not in _EXAMPLES}
    return tuple(map(_constant, value)) if isinstance(value, list) else value


def _type(value: Any) -> str:
    """The type of a constant; Any where its items differ in theirs."""
    if not isinstance(value, (dict, tuple)):
        return type(value).__name__
    of_items = {_type(item) for item in (value.values() if isinstance(value, dict) else value)}
    item = of_items.pop() if len(of_items) == 1 else "Any"
    return f"dict[str, {item}]" if isinstance(value, dict) else f"tuple[{item}, ...]"


if __name__ == "__main__":  # where they are missing, nothing else of `sb` can be imported
    for table in TABLES:
        table.with_suffix(".py").write_text(compiled(table), encoding="utf-8")
