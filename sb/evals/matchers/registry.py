"""All kinds of matchers by name. A kind is a `MatcherKind`, listed here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sb.base.located import LocatedMapping, line_of
from sb.base.reading import Kind, Place, describe, read_fields, schema_of
from sb.base.text import nearest
from sb.evals import judge
from sb.evals.matchers import json_values, limits, meaning, privacy, python, state, texts
from sb.evals.matchers.kinds import MatcherKind
from sb.evals.suite import Matcher

_MODULES = (texts, json_values, limits, state, privacy, meaning, python, judge)
KINDS: Mapping[str, MatcherKind] = MappingProxyType(
    {kind.name: kind for module in _MODULES for kind in module.KINDS}
)


def matcher() -> Kind[Matcher]:
    """A mapping with `kind` and the fields of that kind."""

    def read(value: Any, place: Place) -> Matcher:
        name = value.get("kind") if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or "kind" not in value:
            raise place.refuse(
                f"must be a mapping with kind, not {describe(value)}", "such as kind: contains"
            )
        if not isinstance(name, str) or name not in KINDS:
            close = nearest(name, KINDS) if isinstance(name, str) else ""
            raise place.below(value, "kind").refuse(
                f"no matcher {describe(name)}{close}", f"matchers: {', '.join(KINDS)}"
            )
        fields = LocatedMapping(place.line)
        for key, item in value.items():
            if key != "kind":
                fields.put(key, item, line_of(value, key) or place.line)
        kind = KINDS[name]
        return kind.read(read_fields(fields, kind.fields, place), place._replace(value=fields))

    return Kind(read, {"oneOf": [_schema(kind) for kind in KINDS.values()]})


def _schema(kind: MatcherKind) -> dict[str, Any]:
    schema = schema_of(kind.fields)
    return {
        **schema,
        "description": kind.about,
        "properties": {"kind": {"const": kind.name}, **schema["properties"]},
        "required": ["kind", *schema.get("required", [])],
    }
