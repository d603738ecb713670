"""JSON Schemas of what commands print with `--json`, from the kinds of records and `commands/interface.yaml`."""

from __future__ import annotations

from typing import Any

from sb.commands.interface import declaration, schema_name

from sb.present.kind import kinds

_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
    "any": {},
}
ERROR = {"error": {"kind": "string", "message": "string", "hint": "string"}}


def output_schemas(*, closed: bool = False) -> dict[str, Any]:
    """The schema of every document, each under the name that `sb commands --json` gives.

    Args:
        closed: also refuse fields that are not declared. Programs must not: fields are added.
    """
    declared = declaration()
    types = declared["types"] | {name: kind.json for name, kind in kinds().items()}
    expand = _Expansion(types, closed)
    documents = {
        schema_name(name): expand(command.get("json", command.get("lines")))
        for name, command in declared["commands"].items()
        if "json" in command or "lines" in command
    }
    if clashing := documents.keys() & types.keys():
        raise ValueError(f"a type and a command have the same name: {', '.join(clashing)}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What sb commands print with --json",
        "$defs": {
            **{name: expand(shape) for name, shape in types.items()},
            "error": expand(ERROR),
            **documents,
        },
    }


class _Expansion:
    """Turns the notation of the declaration into JSON Schema."""

    def __init__(self, types: dict[str, Any], closed: bool) -> None:
        self._types, self._closed = types, closed

    def __call__(self, shape: Any) -> dict[str, Any]:
        if isinstance(shape, str):
            return self._named(shape)
        if isinstance(shape, list):
            return {"type": "array", "items": self(shape[0])}
        if "?" in shape:
            return _nullable(self(shape["?"]))
        if "|" in shape:
            return {"anyOf": [self(item) for item in shape["|"]]}
        if "*" in shape:
            return {"type": "object", "additionalProperties": self(shape["*"])}
        return self._fields(self._with_base(shape))

    def _named(self, name: str) -> dict[str, Any]:
        if name.endswith("|null"):
            return _nullable(self._named(name.removesuffix("|null")))
        return dict(_SCALARS[name]) if name in _SCALARS else {"$ref": f"#/$defs/{self._known(name)}"}

    def _known(self, name: str) -> str:
        if name not in self._types:
            raise KeyError(f"no type {name!r} is declared")
        return name

    def _with_base(self, shape: dict[str, Any]) -> dict[str, Any]:
        if "+" not in shape:
            return shape
        base = self._with_base(self._types[self._known(shape["+"])])
        return base | {name: of for name, of in shape.items() if name != "+"}

    def _fields(self, shape: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = {
            "type": "object",
            "required": [name for name in shape if not name.endswith("?")],
            "properties": {name.removesuffix("?"): self(of) for name, of in shape.items()},
        }
        return schema | ({"additionalProperties": False} if self._closed else {})


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return (
        {"anyOf": [schema, {"type": "null"}]}
        if "type" not in schema
        else schema | {"type": [schema["type"], "null"]}
    )
