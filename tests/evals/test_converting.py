"""`sb agent eval convert`: each format becomes the other, what is lost is named, and no file is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from sb.evals.reading import load_suites
from tests.conftest import CommandLine
from tests.evals.test_promptfoo import EXAMPLE

SUITES = Path(__file__).parents[2] / "evals" / "suites"


def test_promptfoo_configuration_becomes_a_suite_that_loads(sb: CommandLine, tmp_path: Path) -> None:
    source, to = tmp_path / "promptfooconfig.yaml", tmp_path / "first.yaml"
    source.write_text(EXAMPLE, encoding="utf-8")
    done = sb("agent", "eval", "convert", str(source), "--to", str(to))
    assert done.code == 0, done.err
    assert "tests[2].assert[2]: javascript: not carried over" in done.err
    assert [case.id for case in load_suites([to])[0].cases][:2] == ["moves-a-seat", "moves-a-seat-2"]
    again = sb("agent", "eval", "convert", str(source), "--to", str(to))
    assert (again.code, "exists" in again.err) == (2, True)


def test_every_shipped_suite_becomes_promptfoo_tests_that_can_fail(sb: CommandLine, tmp_path: Path) -> None:
    for path in sorted(SUITES.glob("*.yaml")):
        done = sb("agent", "eval", "convert", str(path))
        assert done.code == 0, done.err
        document = yaml.safe_load(done.out)
        ids = [case.id for case in load_suites([path])[0].cases]
        left_out = [name for name in ids if f"{name}: left out" in done.err]
        assert [test["description"] for test in document["tests"]] == [
            name for name in ids if name not in left_out
        ]
        assert all(test["assert"] for test in document["tests"])
        assert len(left_out) <= 2


def test_recordings_become_chat_messages(sb: CommandLine, tmp_path: Path) -> None:
    source = tmp_path / "runs.jsonl"
    call = {"tool": "orders.read", "args": {"order": 1}, "success": True}
    source.write_text(
        json.dumps({"id": "one", "input": "go", "output": "done", "calls": [call]}), encoding="utf-8"
    )
    done = sb("agent", "eval", "convert", str(source), "--json")
    found = json.loads(done.out)
    assert (found["format"], found["items"]) == ("messages", 1)
    messages = json.loads(found["text"])["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]


def test_file_that_is_neither_is_refused(sb: CommandLine, tmp_path: Path) -> None:
    for name, content in (("a.yaml", "x: 1"), ("b.yaml", "a: ["), ("c.jsonl", "x")):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert sb("agent", "eval", "convert", str(tmp_path / name)).code == 2
