"""`sb commands`: every command with its options, exit codes and JSON schema, for programs and people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sb.commands import output
from sb.commands.interface import exits, schema_of, writes
from sb.commands.options import AsJson, single
from sb.commands.topics import TOPICS

from sb.cli import SECTIONS, load, root_command

app = single()
_TYPES = {"str": "string", "int": "integer", "float": "number", "path": "path", "choice": "string"}


@app.command(epilog="Example: sb commands --json")
def list_commands(as_json: AsJson = False) -> None:
    """List every command; --json adds options and exit codes."""
    found = list(_described())
    if as_json:
        options = [_option(parameter) for parameter in root_command().params]
        output.emit_json({"items": found, "options": options, "topics": [*TOPICS]})
        return
    output.table(
        ["command", "writes", "meaning"],
        [(f"sb {item['name']}", "yes" if item["writes"] else "", item["summary"]) for item in found],
    )


def _described() -> Iterator[dict[str, Any]]:
    for section, names in SECTIONS.items():
        for name in names:
            for path, command in _leaves(name, load(name)):
                yield _command(path, command, section)


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield path, command
        return
    for verb, below in inner.items():
        yield from _leaves(f"{path} {verb}", below)


def _command(path: str, command: Any, section: str) -> dict[str, Any]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    return {
        "name": path,
        "summary": (command.help or "").split("\n\n", 1)[0],
        "section": section,
        "writes": writes(path),
        "exits": exits(path),
        "schema": schema_of(path),
        "example": (command.epilog or "").removeprefix("Example: "),
        "arguments": [_parameter(argument) for argument in arguments],
        "options": [_option(option) for option in options],
    }


def _parameter(parameter: Any) -> dict[str, Any]:
    kind = "boolean" if getattr(parameter, "is_flag", False) else parameter.type.name.split(" ")[0]
    default = None if callable(parameter.default) else parameter.default
    return {
        "name": parameter.name,
        "type": _TYPES.get(kind, kind),
        "required": parameter.required,
        "repeated": parameter.nargs == -1 or getattr(parameter, "multiple", False),
        "default": getattr(default, "value", default if default is None else _plain(default)),
        "help": parameter.help or "",
    }


def _option(parameter: Any) -> dict[str, Any]:
    names = sorted(parameter.opts, key=len, reverse=True)
    choices = getattr(parameter.type, "choices", None) or ()
    return _parameter(parameter) | {
        "name": names[0],
        "names": [*names, *parameter.secondary_opts],
        "choices": [str(getattr(choice, "value", choice)) for choice in choices],
        "min": getattr(parameter.type, "min", None),
        "max": getattr(parameter.type, "max", None),
    }


def _plain(default: Any) -> Any:
    """A default as JSON has it."""
    return default if isinstance(default, bool | int | float | str | list) else str(default)
