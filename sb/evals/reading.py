"""Read suites from files and folders: every problem with its line, and nothing that cannot fail."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sb.base.documents import MAX_BYTES, parse_json_lines, parse_yaml
from sb.base.located import LocatedList, LocatedMapping, line_of
from sb.base.reading import (
    Field,
    Kind,
    Place,
    Report,
    WrongValue,
    describe,
    integer,
    items,
    mapping,
    read_fields,
)
from sb.base.text import human_bytes, shorten
from sb.base.values.canonical import digest
from sb.errors import ConfigError
from sb.evals.cases import CASE, CASE_FIELDS
from sb.evals.suite import Case, Suite
from sb.evals.templates import FILLED, filled, has_placeholder, rows_of, with_defaults

VERSION = 1
MAX_CASES = 100_000  # of a file, after its tables are written out
SUFFIXES = (".yaml", ".yml", ".jsonl")
_ENOUGH = 20  # problems, after which no more cases are read
# A suite never moves its agent's kernel to a database or to keys of a real one.
_OF_THE_HOME = ("database", "database_key", "operators")


def _raw() -> Kind[Any]:
    """A value that is read later, when defaults and variables are known."""
    return Kind(lambda value, place: value, {"type": "object"})


SUITE_FIELDS = (
    Field("version", integer(VERSION, VERSION), f"Of this format: {VERSION}."),
    Field("config", mapping(), "Settings of the kernel that governs the agent, as in config.yaml."),
    Field("defaults", _raw(), "What all cases share: any of their keys but id."),
    Field("cases", items(_raw()), "The cases.", required=True),
)


def load_suites(paths: Sequence[Path]) -> tuple[Suite, ...]:
    """The suites of files, and of all *.yaml, *.yml and *.jsonl below folders, sorted by path; hidden ones left out.

    Raises:
        ConfigError: a path does not exist, a folder holds no suite, or a file is wrong: its first problem.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for file in _files(path):
            found.setdefault(file.resolve(), file)
    return tuple(map(load_suite, found.values()))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(folder, name) for name in names if name.endswith(SUFFIXES) and not name.startswith(".")
        ]
    if not found:
        raise ConfigError(f"{path} holds no suite", f"suites end in {', '.join(SUFFIXES)}")
    yield from sorted(found)


def load_suite(path: Path) -> Suite:
    """The suite of one file; raises ConfigError."""
    report = Report(str(path))
    data = _bytes(path, report)
    try:
        suite = _suite(path, data, report)
    except WrongValue:
        report.require_none("")
        raise
    report.require_none("")
    return suite


def _bytes(path: Path, report: Report) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigError(f"{report.source}: cannot be read: {error.strerror}") from None
    with open(handle, "rb") as file:
        if not path.is_file():
            raise ConfigError(f"{report.source}: is no regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{report.source}: is larger than {human_bytes(MAX_BYTES)}", "divide it into several files"
        )
    return data


def _suite(path: Path, data: bytes, report: Report) -> Suite:
    if path.suffix == ".jsonl":
        whole = _document_of_lines(data, report)
    else:
        whole = parse_yaml(data, report, "write what cases share under defaults, and tables under vars")
    place = Place(report, "", line_of(whole, "cases") if isinstance(whole, Mapping) else 0)
    if whole is None:
        raise place.refuse("is empty", "write cases:")
    values = read_fields(whole, SUITE_FIELDS, place)
    defaults = values.get("defaults", {})
    if "defaults" in values:
        _check_defaults(defaults, place.below(whole, "defaults"))
    config = values.get("config", {})
    if config:
        _check_config(whole["config"], place.below(whole, "config"))
    cases = _cases(whole["cases"], defaults, place.below(whole, "cases"))
    if report.problems:
        raise WrongValue
    return Suite(str(path), path, tuple(cases), digest(data), config)


def _document_of_lines(data: bytes, report: Report) -> LocatedMapping:
    """The same mapping as YAML gives: a first line without id may hold version, config and defaults."""
    lines = parse_json_lines(data, report)
    suite = LocatedMapping(1)
    head = {field.name for field in SUITE_FIELDS}
    if lines and "id" not in lines[0] and head & lines[0].keys():
        first = lines.pop(0)
        if "cases" in first:
            raise Place(report, "cases", first.line).refuse(
                "is not used here", "write each case on a line of its own"
            )
        for key, value in first.items():
            suite.put(key, value, first.line)
    cases = LocatedList(1)
    for line in lines:
        cases.put(line, line.line)
    suite.put("cases", cases, lines[0].line if lines else 1)
    return suite


def _check_defaults(defaults: Any, place: Place) -> None:
    """Refuse what no case could use; with placeholders only a case knows."""
    if not isinstance(defaults, LocatedMapping):
        raise place.refuse(f"must be a mapping, not {describe(defaults)}")
    known = [field for field in CASE_FIELDS if field.name != "id"]
    rows_of(defaults, place)
    plain = LocatedMapping(defaults.line)
    for key, value in defaults.items():
        if key != "vars" and not (key in FILLED and has_placeholder(value)):
            plain.put(key, value, line_of(defaults, key))
    read_fields(plain, known, place)


def _check_config(config: Mapping[str, Any], place: Place) -> None:
    from sb.config.sources import read_settings

    for key in _OF_THE_HOME:
        if key in config:
            raise place.below(config, key).refuse("is not used here: each attempt has a home of its own")
    own = Report(place.report.source, Path.cwd())
    read_settings(json.dumps(config).encode(), own)
    for problem in own.problems:
        place.report.add(
            _line_of_key(config, problem.key, place), f"config.{problem.key}", problem.message, problem.hint
        )


def _line_of_key(config: Any, key: str, place: Place) -> int:
    for part in key.split("."):
        if isinstance(config, Mapping) and part in config:
            place, config = place.below(config, part), config[part]
    return place.line


def _cases(raw: Sequence[Any], defaults: Any, place: Place) -> list[Case]:
    cases: list[Case] = []
    lines: dict[str, int] = {}
    for index, item in enumerate(raw):
        if len(place.report.problems) >= _ENOUGH:
            break
        at = place.below(raw, index)
        try:
            if not isinstance(item, LocatedMapping):
                raise at.refuse(f"must be a mapping, not {describe(item)}")
            for case in _expanded(with_defaults(defaults, item), at):
                if case.id in lines:
                    raise at.refuse(
                        f"the id {shorten(case.id, 80)} is used twice, first on line {lines[case.id]}"
                    )
                lines[case.id] = case.line
                cases.append(case)
                if len(cases) > MAX_CASES:
                    raise at.refuse(f"more than {MAX_CASES:,} cases", "divide it into several files")
        except WrongValue:
            continue
    return cases


def _expanded(case: LocatedMapping, place: Place) -> Iterator[Case]:
    for suffix, variables in rows_of(case, place):
        given = filled(case, variables, place, texts=True)
        if "vars" in given:
            given["vars"] = variables
        if suffix and isinstance(given.get("id"), str) and given["id"].strip():
            given["id"] = f"{given['id']}{suffix}"
        yield CASE.read(given, place)
