"""An agent that is a Python function, run in a process of its own for each attempt, or in this one."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import redact_text
from sb.errors import UsageError
from sb.evals.agents.agent import Processes
from sb.evals.agents.attempt import answer_case
from sb.evals.agents.command import failed
from sb.evals.agents.host import BROKEN, ENDED, READY, STARTED
from sb.evals.agents.lines import AnswerLines, ProtocolError, read_json, request_document
from sb.evals.agents.process import TOKEN, AgentFailure, AgentProcess, end_group, ending
from sb.evals.answer import Answer, Task
from sb.evals.kernel import environment

_LOAD_S = 120.0  # seconds that the module may take to load


class PythonAgent:
    """Calls `module:function` under the kernel of each case.

    Args:
        start: the folder that modules are looked up in first.
        scratch: an empty home, for what the module does while it is loaded.

    Raises:
        UsageError: the function cannot be loaded.
    """

    has_kernel = True
    own_clock = True

    def __init__(self, name: str, reference: str, start: Path, scratch: Path) -> None:
        self.name = name
        self._reference = reference
        self._start_folder = start
        self._scratch = scratch
        self._processes = Processes()
        if not all(reference.partition(":")):
            raise UsageError(f"{name}: names no function", "python:package.module:function")
        self._load()

    def _load(self) -> None:
        """Load the module before anything runs; its process then waits for the first case."""
        try:
            with self._processes.process(self._begin, again=True):
                pass
        except AgentFailure as failure:
            raise UsageError(str(failure), f"loaded from {self._start_folder}") from None

    def run(self, task: Task) -> Answer:
        begun = time.monotonic()
        lines, error, log = AnswerLines(), "", ""
        try:
            with self._processes.process(self._begin, again=True) as process:
                try:
                    begun = time.monotonic()  # loading the module is no part of the attempt
                    self._converse(process, task, lines, begun + task.timeout_s)
                finally:
                    log = process.log
        except (AgentFailure, ProtocolError) as failure:
            error = failed(str(failure), task, log)
        return lines.answer(error, seconds=time.monotonic() - begun, log=log)

    def _begin(self, token: str) -> AgentProcess:
        """A process that has loaded the module; raises AgentFailure."""
        env = environment(self._scratch, **{TOKEN: token})
        env["PYTHONPATH"] = os.pathsep.join([str(self._start_folder), *filter(None, [env.get("PYTHONPATH")])])
        env.setdefault("PYTHONHASHSEED", "0")  # so that attempts differ by their seed alone
        process = AgentProcess(
            [sys.executable, "-m", "sb.evals.agents.host", self._reference], env, self._start_folder
        )
        try:
            line = process.next_line(time.monotonic() + _LOAD_S)
            document = json.loads(line or b"{}")
            if document.get("type") != READY:
                raise AgentFailure(
                    document.get("message") or f"{self.name}: its process ended: {process.log[-300:]}"
                )
        except AgentFailure:
            process.kill()
            raise
        return process

    def _converse(self, process: AgentProcess, task: Task, lines: AnswerLines, until: float) -> None:
        env = {"SB_HOME": str(task.home), "SB_EVAL_SEED": str(task.seed), "SB_EVAL_CASE": task.case_id}
        process.send(request_document(task) | {"approve": task.approve, "env": env}, last=False)
        pid = 0
        try:
            while True:
                line = process.next_line(until)
                document: dict[str, Any] = _read(line) if line else {"type": BROKEN}
                if document["type"] == STARTED:
                    pid = document["pid"]
                elif document["type"] == ENDED:
                    break
                elif document["type"] == BROKEN:
                    raise AgentFailure("its process ended")
                else:
                    lines.add_document(document, line or b"")
        except BaseException:
            if pid:
                end_group(pid)
            raise
        end_group(pid, leader=False)
        if not lines.ended:
            raise AgentFailure(f"{ending(document['code'])}, without a final line")

    def stop(self) -> None:
        self._processes.stop()

    def close(self) -> None:
        self._processes.close()


def _read(line: bytes) -> dict[str, Any]:
    try:
        document: dict[str, Any] = read_json(line)
    except ValueError as error:
        raise ProtocolError(f"a call or an answer of it {error}") from None
    return document


class FunctionAgent:
    """Calls a function in this process, under the kernel of each case: for tests, and for the harness audit.

    Nothing ends a call that takes too long, and the process's environment and folder stay as they are.
    """

    has_kernel = True
    own_clock = True

    def __init__(self, function: Callable[..., Any], name: str = "function") -> None:
        self.name = name
        self._function = function
        self._stopped = False

    def run(self, task: Task) -> Answer:
        begun = time.monotonic()
        if self._stopped:
            return Answer(error="the agent: stopped")
        lines = AnswerLines()
        log: list[str] = []
        chance = random.getstate()
        try:
            request = request_document(task) | {"approve": task.approve}
            answer_case(self._function, request, lambda line: self._add(lines, line), log.append)
        finally:
            random.setstate(chance)
        return lines.answer(seconds=time.monotonic() - begun, log=redact_text("".join(log)))

    def _add(self, lines: AnswerLines, line: Mapping[str, Any]) -> None:
        lines.add_document(_read(json.dumps(line, default=str).encode()))

    def stop(self) -> None:
        self._stopped = True

    def close(self) -> None:
        """It has nothing to end."""
