"""A file of evals in another format: promptfoo's tests as a suite and back, recordings as OpenAI's messages."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sb.base.documents import parse_yaml
from sb.base.reading import Place, Report
from sb.base.secrets.redaction import one_line
from sb.errors import ConfigError, UsageError
from sb.evals.exchange.messages import write_conversation
from sb.evals.exchange.promptfoo import LARGEST_FILE, read_promptfoo
from sb.evals.exchange.promptfoo_writing import write_promptfoo
from sb.evals.exchange.yaml_text import yaml_text
from sb.evals.reading import load_suites
from sb.evals.recorded import recorded_file
from sb.evals.templates import filled, rows_of, with_defaults

SUITE, PROMPTFOO, MESSAGES = "suite", "promptfoo", "messages"
_YAML = (".yaml", ".yml")


class Converted(NamedTuple):
    """The other format.

    Args:
        format: SUITE, PROMPTFOO or MESSAGES. items: how many cases, tests or conversations.
        notes: what is not in it, or says more or less than before; one line each.
    """

    format: str
    text: str
    items: int
    notes: tuple[str, ...] = ()


def convert(path: Path) -> Converted:
    """A promptfoo configuration as a suite, a suite as a promptfoo configuration, or recordings as chat messages.

    Raises:
        UsageError, ConfigError: the file cannot be read, or is none of these.
    """
    if path.suffix not in _YAML:
        return _messages(path)
    keys = _keys(path)
    if "cases" in keys:
        written = write_promptfoo(_expanded(path))
        return Converted(
            PROMPTFOO, yaml_text(written.document), len(written.document["tests"]), tuple(written.notes)
        )
    if "tests" not in keys:
        raise UsageError(f"{path}: neither a suite nor a promptfoo configuration", "it has cases, or tests")
    read = read_promptfoo(path)
    text = yaml_text(read.document)
    return Converted(SUITE, text, len(read.document["cases"]), (*read.notes, *_problems(text)))


def _messages(path: Path) -> Converted:
    recordings = recorded_file(path)
    lines = [{"id": recording.case_id, "messages": write_conversation(recording)} for recording in recordings]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    notes = (
        ("what tools returned is not recorded: results say only whether a call succeeded",) if lines else ()
    )
    return Converted(MESSAGES, text, len(lines), notes)


def _expanded(path: Path) -> dict[str, Any]:
    """The document of a suite with defaults and variables filled in; raises ConfigError for a wrong one."""
    load_suites([path])  # refuses what is wrong with it, so that nothing below does
    report = Report(str(path))
    suite = parse_yaml(path.read_bytes(), report)
    cases: list[dict[str, Any]] = []
    for item in suite["cases"]:
        merged, place = with_defaults(suite.get("defaults") or {}, item), Place(report)
        for suffix, variables in rows_of(merged, place):
            case = dict(filled(merged, variables, place))
            case.pop("vars", None)
            cases.append(case | {"id": f"{case['id']}{suffix}"})
    return {name: value for name, value in suite.items() if name != "defaults"} | {"cases": cases}


def _keys(path: Path) -> set[str]:
    """The top-level keys of a YAML file."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{path}: more than {LARGEST_FILE:,} bytes", "split it")
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not YAML: {one_line(str(error), 120)}") from None
    return set(map(str, document)) if isinstance(document, dict) else set()


def _problems(text: str) -> list[str]:
    """The parts of a translation that a suite's reader refuses, to be edited by hand."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "suite.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            load_suites([path])
        except ConfigError as error:
            return [f"edit before use: {error.message.replace(str(path), 'the suite')}"]
    return []
