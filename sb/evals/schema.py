"""The JSON Schema of a suite file, made of the fields that its reader knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.base.reading import schema_of
from sb.evals.cases import CASE_FIELDS
from sb.evals.reading import SUITE_FIELDS
from sb.evals.templates import FILLED, PLACEHOLDER

_PLACEHOLDER = {"type": "string", "pattern": rf"^\s*{PLACEHOLDER}\s*$"}


def suite_schema() -> dict[str, Any]:
    """A schema by which editors complete suites in YAML. What the reader accepts, it accepts."""
    suite = schema_of(SUITE_FIELDS)
    case = schema_of(CASE_FIELDS)
    properties = {
        name: _or_placeholder(schema) if name in FILLED else schema
        for name, schema in case["properties"].items()
    }
    row = {"type": "object"}
    properties["vars"] = {**properties["vars"], "type": ["object", "array"], "items": row, "minItems": 1}
    shared = {name: schema for name, schema in properties.items() if name != "id"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A suite of evals of SecondBrain",
        **suite,
        "properties": {
            **suite["properties"],
            "defaults": {**case, "properties": shared, "required": []},
            "cases": {**suite["properties"]["cases"], "items": {**case, "properties": properties}},
        },
    }


def _or_placeholder(schema: Any) -> Any:
    """The schema, with a placeholder for each value that is not text."""
    if isinstance(schema, list):
        return [_or_placeholder(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    inner = {
        key: _or_placeholder(value) if key not in ("const", "enum", "required") else value
        for key, value in schema.items()
    }
    replaced = schema.get("type") in ("number", "integer", "boolean", "object", "array") or "enum" in schema
    return (
        {"anyOf": [inner, _PLACEHOLDER]} if replaced and "kind" not in schema.get("properties", {}) else inner
    )
