"""A model as judge: only where it is allowed, never alone, and nothing but its JSON counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llm
import pytest

from sb.config import Home
from sb.entity.inference import LLMModel
from sb.errors import ConfigError
from sb.evals.agents.python import FunctionAgent
from sb.evals.answer import Answer
from sb.evals.judge import NOT_ASKED, VERSION, allow_judges, judge_release, prompt, read_verdict
from sb.evals.reading import load_suites
from sb.evals.running import Options, run_suites
from sb.evals.suite import Suite
from sb.kernel.release_tuple.release import ReleaseTuple, diff
from sb.kernel.trajectory_eval.model import RecordedCall

TOKEN = "ghp_" + "Ab1" * 12
ANSWER = Answer("Refund issued.", (RecordedCall("payments.issue_refund", {"token": TOKEN}),))


class Scripted(llm.Model):
    """A model as a plugin of `llm` would give one, which replies what a test tells it and remembers what it was asked."""

    model_id = "scripted"
    can_stream = False

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: list[str] = []

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[str]:
        self.asked.append(str(prompt.messages[-1].parts[-1].text))
        yield self.reply


def suite(folder: Path, matchers: str) -> Suite:
    path = folder / "suite.yaml"
    path.write_text(
        f"version: 1\ncases:\n- id: one\n  input: refund it\n  matchers:\n{matchers}", encoding="utf-8"
    )
    return load_suites([path])[0]


BOTH = """\
  - {kind: contains, text: Refund}
  - {kind: llm_judge, rubric: The customer is told what happens next., model: scripted}
"""


def verdicts(found: Suite, answer: Answer = ANSWER) -> list[tuple[bool, str]]:
    return [
        (match.ok, match.line) for match in (matcher.match(answer) for matcher in found.cases[0].matchers)
    ]


def test_no_model_is_asked_unless_judges_are_allowed(tmp_path: Path) -> None:
    found = suite(tmp_path, BOTH)
    assert verdicts(found)[1] == (True, f"[llm_judge] {NOT_ASKED}")
    assert judge_release([found]) == {}


@pytest.mark.parametrize(
    ("reply", "ok", "line"),
    [
        ('{"passes": true, "reason": "it does"}', True, ""),
        ('```json\n{"passes": true, "reason": ""}\n```', True, ""),
        ('{"passes": false, "reason": "says nothing of it"}', False, "says nothing of it"),
        ('{"passes": "true"}', False, "no verdict"),
        ("PASS", False, "no verdict"),
        ('{"passes": true} and more', False, "no verdict"),
        ("", False, "no verdict"),
        ("[" * 5_000, False, "no verdict"),
    ],
)
def test_allowed_judge_counts_by_its_json_alone(tmp_path: Path, reply: str, ok: bool, line: str) -> None:
    model = Scripted(reply)
    [found] = allow_judges([suite(tmp_path, BOTH)], lambda name: LLMModel(model))
    passed, message = verdicts(found)[1]
    assert (passed, line in message) == (ok, True)
    assert len(model.asked) == 1
    assert judge_release([found]) == {"llm_judge": {"prompt_version": VERSION, "models": ["scripted"]}}


def test_run_carries_prompt_and_model_in_its_release(tmp_path: Path) -> None:
    model = Scripted('{"passes": true, "reason": ""}')
    agent = FunctionAgent(lambda question, **given: "Refund issued.")
    release = {}
    for allowed in (False, True):
        found = suite(tmp_path, BOTH)
        suites = allow_judges([found], lambda name: LLMModel(model)) if allowed else (found,)
        release[allowed] = run_suites(suites, agent, Options(), real=Home(tmp_path / "home")).release
    before, after = (ReleaseTuple.from_document(release[allowed]) for allowed in (False, True))
    changed = diff(before, after)
    assert [change.part for change in changed] == ["eval"]


def test_what_a_model_is_sent_is_masked_and_stands_between_fences_it_cannot_guess() -> None:
    texts = {prompt("the rubric", ANSWER) for _ in range(2)}
    assert len(texts) == 2
    for text in texts:
        assert TOKEN not in text
        assert "payments.issue_refund" in text
        assert "Rubric: the rubric" in text


def test_model_that_cannot_be_used_does_not_pass_an_answer(tmp_path: Path) -> None:
    [found] = allow_judges([suite(tmp_path, BOTH.replace("scripted", "no-such-model"))])
    passed, line = verdicts(found)[1]
    assert not passed
    assert "no-such-model" in line


def test_judge_is_never_all_that_a_case_demands(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="llm_judge alone decides nothing"):
        suite(tmp_path, "  - {kind: llm_judge, rubric: It is polite.}\n")


def test_reply_of_any_length_is_one_line() -> None:
    assert len(read_verdict("no\n" * 100_000).line) < 300
