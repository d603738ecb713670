"""The page about suites: its examples are read, and each matcher accepts and rejects what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sb.config import Config, Home
from sb.evals.answer import Answer
from sb.evals.matchers.registry import KINDS
from sb.evals.reading import load_suites
from sb.evals.suite import Matcher
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.memory import Brain

PAGE = (Path(__file__).parents[2] / "docs/reference/eval-suites.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
CHECKS = "def polite(answer, words):\n    return all(word in answer.output for word in words)\n"


class Example(NamedTuple):
    matcher: str
    accepts: str
    rejects: str


def examples() -> Iterator[Example]:
    for block in BLOCKS:
        if block.startswith("matchers:"):
            for item in re.split(r"^(?=- )", block.partition("\n")[2], flags=re.MULTILINE)[1:]:
                comments = dict(re.findall(r"^# (\w+): (.*)$", item, re.MULTILINE))
                yield Example(
                    re.sub(r"^#.*\n?", "", item, flags=re.MULTILINE), comments["accepts"], comments["rejects"]
                )


def matcher_of(text: str, folder: Path) -> Matcher:
    path = folder / "s.yaml"
    indented = "".join(f"  {line}\n" for line in text.splitlines())
    path.write_text(f"cases:\n- id: a\n  input: x\n  matchers:\n{indented}", encoding="utf-8")
    (suite,) = load_suites([path])
    return suite.cases[0].matchers[0]


def left_behind(folder: Path, fact: str, content: str) -> Answer:
    (folder / "src").mkdir(parents=True)
    (folder / "src/app.py").write_text(content, encoding="utf-8")
    with Brain("ada", path=folder / "sb.db", config=Config(Home(folder))) as brain:
        if fact:
            brain.remember(fact)
    return Answer(database=folder / "sb.db", folder=folder)


REFUND = RecordedCall("payments.issue_refund")
ANSWERS: dict[str, Callable[[Path], tuple[Answer, Answer]]] = {
    "tool_calls": lambda folder: (Answer(calls=(REFUND,)), Answer(calls=(REFUND, REFUND))),
    "cost_cents": lambda folder: (Answer(cost_cents=1.5), Answer(cost_cents=3)),
    "latency_ms": lambda folder: (Answer(seconds=1), Answer(seconds=3)),
    "state": lambda folder: (
        left_behind(folder / "a", "The customer of order 17 is Ada", ""),
        left_behind(folder / "b", "", ""),
    ),
    "file": lambda folder: (
        left_behind(folder / "a", "", "def main() -> None: ..."),
        left_behind(folder / "b", "", "pass"),
    ),
}


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.matcher.strip()[:40])
def test_a_matcher_accepts_and_rejects_what_the_page_says(example: Example, tmp_path: Path) -> None:
    (tmp_path / "refund_checks.py").write_text(CHECKS, encoding="utf-8")
    matcher = matcher_of(example.matcher, tmp_path)
    right, wrong = Answer(example.accepts), Answer(example.rejects)
    if matcher.kind in ANSWERS:
        right, wrong = ANSWERS[matcher.kind](tmp_path)
    assert matcher.match(right).ok
    assert not matcher.match(wrong).ok


def test_every_matcher_has_an_example() -> None:
    assert {name for block in BLOCKS for name in re.findall(r"kind: (\w+)", block)} - {"fact"} == set(KINDS)


def test_the_suites_of_the_page_are_read(tmp_path: Path) -> None:
    ids = []
    for block in BLOCKS:
        if not block.startswith("matchers:"):
            (tmp_path / "s.yaml").write_text(block, encoding="utf-8")
            (suite,) = load_suites([tmp_path / "s.yaml"])
            ids += [case.id for case in suite.cases]
    assert ids == ["refund_path", "sum[1]", "sum[2]", "shipped", "polite"]


def test_every_key_is_on_the_page() -> None:
    from sb.evals.cases import CASE_FIELDS
    from sb.evals.reading import SUITE_FIELDS

    for field in (*CASE_FIELDS, *SUITE_FIELDS):
        assert f"| `{field.name}` |" in PAGE
