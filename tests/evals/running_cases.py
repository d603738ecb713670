"""Runs cases against an agent as `sb agent eval` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sb.config import Home
from sb.evals.agents.agent import AgentUnderTest
from sb.evals.answer import Answer
from sb.evals.results import EvalRun
from sb.evals.running import Options, run_suites
from sb.evals.suite import Case, Match, Setup, Suite


@dataclass(frozen=True)
class Says:
    """A matcher: the answer contains a text."""

    text: str
    kind: str = "says"

    def match(self, answer: Answer) -> Match:
        return Match(self.text in answer.output, f"{answer.output!r} does not contain {self.text!r}")


def case(id: str = "c", input: Any = "hello", **more: Any) -> Case:
    return Case(id, input, **{"timeout_s": 60.0} | more)


def run(
    agent: AgentUnderTest,
    folder: Path,
    *cases: Case,
    options: Options | None = None,
    config: Mapping[str, Any] | None = None,
    watch: Callable[..., None] = lambda progress, result: None,
) -> EvalRun:
    suite = Suite("suite.yaml", folder / "suites" / "suite.yaml", cases, "d1", config or {})
    return run_suites([suite], agent, options or Options(), real=Home(folder / "real"), watch=watch)


def answer(agent: AgentUnderTest, folder: Path, input: Any = "hello", **more: Any) -> Answer:
    """The answer to one case."""
    return run(agent, folder, case(input=input, **more)).results[0].attempts[0].answer


__all__ = ["Says", "Setup", "answer", "case", "run"]
