"""A suite of cases as it was read from its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sb.base.values.frozen import frozen
from sb.evals.answer import Answer
from sb.kernel.trajectory_eval.model import Trajectory


class Match(NamedTuple):
    """A matcher's verdict on an answer.

    Args:
        line: what was expected and what came, in one line; "" if it matches.
    """

    ok: bool
    line: str = ""


class Matcher(Protocol):
    """One demand on an answer."""

    @property
    def kind(self) -> str:
        """The name by which suites call it, such as `contains`."""

    def match(self, answer: Answer) -> Match:
        """Match an answer with the demand. Never raises, whatever an agent answers."""


@frozen
class Setup:
    """Setup of a case.

    Args:
        files: contents by path below the working folder.
        records: memories, each the keyword arguments of `Brain.remember`.
        approve: globs of tools for whose calls a person would agree; all others that ask are denied.
        charter: of the agent, the keys of a charter file; empty for none.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    records: tuple[Mapping[str, Any], ...] = ()
    approve: tuple[str, ...] = ()
    charter: Mapping[str, Any] = field(default_factory=dict)


@frozen
class Case:
    """One question, and what its answer must be.

    Args:
        line: where it begins in its suite's file.
        repeat: how often it runs. min_pass: of these, how many must pass.
        timeout_s: seconds for one attempt. max_cost_cents: for one attempt; None for no limit.
        skip: why it does not run. xfail: why it is expected to fail.
    """

    id: str
    input: Any
    matchers: tuple[Matcher, ...] = ()
    trajectory: Trajectory | None = None
    tags: tuple[str, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    setup: Setup = field(default_factory=Setup)
    repeat: int = 1
    min_pass: int = 1
    timeout_s: float = 60.0
    max_cost_cents: float | None = None
    skip: str = ""
    xfail: str = ""
    line: int = 0


@frozen
class Suite:
    """The cases of one file.

    Args:
        name: the file's path as it was given. digest: of the file's content.
        config: settings of the kernel that governs the agent, as in config.yaml.
    """

    name: str
    path: Path
    cases: tuple[Case, ...]
    digest: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
