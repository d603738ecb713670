"""Tables that ship with the program: YAML beside the module that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def shipped_table(module: str, name: str) -> Any:
    """The document in a YAML file of the program.

    Args:
        module: `__file__` of a module in the same folder. name: of the file.
    """
    import yaml  # 20 ms, which most commands and every hook do without

    text = Path(module).with_name(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
