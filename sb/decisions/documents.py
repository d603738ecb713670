"""Parse a decision file strictly: no tags, no aliases, no repeated keys.

The YAML is composed into nodes and never constructed: no tag can run code, aliases (which can blow a small
file up) and repeated keys are refused, and only mappings, lists, text, whole numbers and true/false come out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources.abc import Traversable
from typing import Any

import yaml
from yaml.composer import ComposerError

from sb.errors import ConfigError

MAX_BYTES = 64 * 1024

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise ComposerError(None, None, "aliases are not allowed", event.start_mark)
        return super().compose_node(parent, index)


def read_document(file: Traversable, where: str) -> Any:
    """The plain values of a YAML file.

    Args:
        where: the file's name in error messages.

    Raises:
        ConfigError: unreadable, larger than MAX_BYTES, not UTF-8, not YAML, or holding something not allowed
            here; the message names the file, and the line where there is one.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{where}: larger than {MAX_BYTES} bytes")
    try:
        return _value(_compose(data.decode("utf-8"), where), where)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{where}, line {line}: not UTF-8") from None
    except RecursionError:
        raise ConfigError(f"{where}: nested too deeply") from None


@lru_cache(maxsize=16)  # each prompt that is compiled reads its decision again, which changes rarely
def _compose(text: str, where: str) -> yaml.Node:
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{where}{place}: not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{where}, line {line}: not valid YAML: {error.reason}") from None
    except (ValueError, OverflowError) as error:  # the scanner lets them through, as for \UFFFFFFFF in quotes
        raise ConfigError(f"{where}: not valid YAML: {error}") from None
    if node is None:
        raise ConfigError(f"{where}: the file is empty")
    return node


def _value(node: yaml.Node, where: str, path: str = "") -> Any:
    kind = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.MappingNode) and kind == "map":
        return _mapping(node, where, path)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        return [_value(item, where, f"{path}[{position}]") for position, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        if kind == "str":
            return node.value
        if kind == "int" and _DECIMAL.fullmatch(node.value):
            return int(node.value)
        if kind == "bool" and node.value.lower() in _BOOLEANS:
            return _BOOLEANS[node.value.lower()]
    shown = f" {node.value!r}" if isinstance(node, yaml.ScalarNode) else ""
    raise ConfigError(
        f'{_place(node, where)}: "{path}" has the value{shown} of type {kind}, which is not used here',
        "put text in quotes; numbers are decimal and whole",
    )


def _mapping(node: yaml.MappingNode, where: str, path: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = key_node.value
        if key_node.tag != _TAG + "str":
            raise ConfigError(f"{_place(key_node, where)}: a key is not a string", "put it in quotes")
        if key in out:
            raise ConfigError(f'{_place(key_node, where)}: the key "{key}" appears twice')
        out[key] = _value(value_node, where, f"{path}.{key}" if path else key)
    return out


def _place(node: yaml.Node, where: str) -> str:
    return f"{where}, line {node.start_mark.line + 1}"
