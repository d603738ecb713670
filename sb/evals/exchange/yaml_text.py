"""YAML that every reader reads alike: no aliases, blocks for texts of several lines, quotes where versions differ."""

from __future__ import annotations

from typing import Any

import yaml

_NUMERIC = "-+.0123456789"  # YAML 1.1 and 1.2 differ in what beginning with these is a number


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    escaped = not text.replace("\n", "").isprintable() or text[:1] in _NUMERIC
    style = '"' if escaped else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_multi_representer(str, _text)
_Dumper.add_multi_representer(dict, yaml.SafeDumper.represent_dict)  # and what knows its lines
_Dumper.add_multi_representer(list, yaml.SafeDumper.represent_list)


def yaml_text(value: Any) -> str:
    """A plain value as YAML in block style."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))
