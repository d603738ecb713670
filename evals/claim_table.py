"""Write the table of claims that `claims.yaml` is compiled to: `make docs`; a test fails when it is out of date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "sb" / "kernel" / "claims"
TABLE = FOLDER / "table.py"
_EXAMPLES = ("claimed", "not_claimed")


def pack() -> dict[str, Any]:
    """The pack as it is written."""
    return dict(yaml.safe_load((FOLDER / "claims.yaml").read_text(encoding="utf-8")))


def claim_table() -> str:
    """The Python table of the pack, a line for each kind."""
    read = pack()
    lines = [
        '"""The compiled claims, generated from `sb/kernel/claims/claims.yaml` by `make docs`."""\n',
        "from __future__ import annotations\n",
        "from typing import Any\n",
        *(
            f"{name.upper()}: tuple[str, ...] = {tuple(read[name])!r}"
            for name in ("cancels", "makes", "sections")
        ),
        "KINDS: dict[str, dict[str, Any]] = {",
    ]
    for name, kind in read["kinds"].items():
        row = {field: tuple(value) if isinstance(value, list) else value for field, value in kind.items()}
        lines.append(f"    {name!r}: { {field: row[field] for field in row if field not in _EXAMPLES}!r},")
    return "\n".join([*lines, "}\n"])


if __name__ == "__main__":
    TABLE.write_text(claim_table(), encoding="utf-8")
