"""Matchers that read the answer as JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sb.base.reading import Field, Place, anything, integer, mapping, text
from sb.base.text import counted
from sb.evals.answer import Answer
from sb.evals.matchers import texts
from sb.evals.matchers.kinds import Judge, MatcherKind, quote, verdict
from sb.evals.suite import Match
from sb.kernel.trajectory_eval.arguments import equal

_ABSENT = object()


def _value(answer: Answer) -> Any:
    """The value, or `_ABSENT` if the answer is no JSON."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        return json.loads(answer.output, parse_constant=refuse)
    except ValueError:
        return _ABSENT


def _no_json(answer: Answer) -> Match:
    return Match(False, f"is not JSON: {quote(answer.output)}")


def _is_json(values: dict[str, Any], place: Place) -> Judge:
    return lambda answer: Match(True) if _value(answer) is not _ABSENT else _no_json(answer)


def _library(name: str, matcher: str, place: Place) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        hint = "pip install 'secondbrain-sb[evals]'"
        raise place.refuse(f"{matcher} needs {name}, which is not installed", hint) from None


def _json_schema(values: dict[str, Any], place: Place) -> Judge:
    at = place.below(place.value, "schema")
    jsonschema = _library("jsonschema", "json_schema", place)
    schema = values["schema"]
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise at.refuse(
                f"refers to {quote(reference)}", "only references within the schema, such as #/$defs/x"
            )
    if {"unevaluatedProperties", "patternProperties"} <= set(_keys(schema)):
        raise at.refuse(
            "has unevaluatedProperties and patternProperties, whose patterns cannot be stopped",
            "write additionalProperties",
        )
    default = jsonschema.Draft202012Validator
    known = jsonschema.validators.validator_for(schema, default=None)
    if "$schema" in schema and known is None:
        raise at.refuse(f"$schema {quote(schema['$schema'])} is not known")
    try:
        (known or default).check_schema(schema)
    except jsonschema.SchemaError as error:
        raise at.refuse(f"is no JSON Schema: {error.json_path}: {error.message[:200]}") from None
    validator = _timely(known or default)(
        schema, registry=importlib.import_module("jsonschema_specifications").REGISTRY
    )
    unresolvable = importlib.import_module("referencing.exceptions").Unresolvable

    def judge(answer: Answer) -> Match:
        value = _value(answer)
        if value is _ABSENT:
            return _no_json(answer)
        try:
            error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        except TimeoutError:
            return Match(False, f"a pattern of the schema took longer than {texts.SECONDS:g} s")
        except unresolvable as missing:
            return Match(False, f"the schema has no {missing.ref}")
        return Match(True) if error is None else Match(False, f"{error.json_path}: {quote(error.message)}")

    return judge


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _keys(schema: Any) -> Iterator[str]:
    """Every name in a schema."""
    if isinstance(schema, Mapping):
        yield from schema
    for item in (
        schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    ):
        yield from _keys(item)


@cache
def _timely(validator: Any) -> Any:
    """The validator, with patterns that stop in time: an agent chooses the texts and the names that they meet."""
    import jsonschema
    import regex

    def fits(wanted: str, value: str) -> bool:
        return bool(regex.search(wanted, value, timeout=texts.SECONDS, concurrent=True))

    def pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, str) and not fits(wanted, value):
            yield jsonschema.ValidationError(f"{quote(value)} does not match {quote(wanted)}")

    def named(validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
        for wanted, inner in patterns.items() if isinstance(value, dict) else ():
            for name in filter(lambda name: fits(wanted, name), value):
                yield from validator.descend(value[name], inner, path=name, schema_path=wanted)

    def additional(validator: Any, inner: Any, value: Any, schema: Any) -> Iterator[Any]:
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name in value if isinstance(value, dict) else ():
            if name in known or any(fits(wanted, name) for wanted in patterns):
                continue
            if inner is False:
                yield jsonschema.ValidationError(f"{quote(name)} is not expected")
            else:
                yield from validator.descend(value[name], inner, path=name)

    extend: Any = jsonschema.validators.extend
    own = {"pattern": pattern, "patternProperties": named, "additionalProperties": additional}
    return extend(validator, own)


def _json_path(values: dict[str, Any], place: Place) -> Judge:
    jsonpath = _library("jsonpath", "json_path", place)
    if ("equals" in values) == ("count" in values):
        raise place.refuse("needs equals or count, and not both")
    try:
        path = jsonpath.JSONPathEnvironment(strict=False).compile(values["path"])
    except (jsonpath.JSONPathError, RecursionError) as error:
        at = place.below(place.value, "path")
        raise at.refuse(f"is no JSON Path: {str(error).splitlines()[0][:200]}") from None

    def judge(answer: Answer) -> Match:
        value = _value(answer)
        if value is _ABSENT:
            return _no_json(answer)
        if not isinstance(value, dict | list):  # the library would read a text as JSON once more
            selected = [value] if values["path"].strip() == "$" else []
        else:
            try:
                selected = path.findall(value)
            except jsonpath.JSONPathError as error:
                return Match(False, f"{values['path']}: {quote(str(error))}")
        if "count" in values:
            return verdict(
                len(selected) == values["count"],
                f"{values['path']} selects {counted(len(selected), 'value')}, expected {values['count']}",
            )
        if len(selected) != 1:
            return Match(False, f"{values['path']} selects {counted(len(selected), 'value')}, expected one")
        return verdict(
            equal(values["equals"], selected[0]),
            f"{values['path']} expected {quote(values['equals'])} got {quote(selected[0])}",
        )

    return judge


KINDS = (
    MatcherKind("is_json", "The answer is JSON.", (), _is_json),
    MatcherKind(
        "json_schema",
        "The answer is JSON that a schema accepts.",
        (Field("schema", mapping(), "A JSON Schema, by default of draft 2020-12.", required=True),),
        _json_schema,
    ),
    MatcherKind(
        "json_path",
        "A JSON Path selects one value that equals this, or so many values.",
        (
            Field("path", text(), "A JSON Path (RFC 9535), such as $.order.total.", required=True),
            Field("equals", anything(), "The value; numbers by value, and true is no number."),
            Field("count", integer(0, 1_000_000), "How many values it selects."),
        ),
        _json_path,
    ),
)
