"""An agent that is a command: it reads a case as a line of JSON, and answers in lines of JSON."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path

from sb.base.secrets.redaction import one_line
from sb.errors import SBError, UsageError
from sb.evals.agents.agent import Processes
from sb.evals.agents.lines import AnswerLines, ProtocolError, cut_off, request_document
from sb.evals.agents.process import TOKEN, AgentFailure, AgentProcess, ending
from sb.evals.answer import Answer, Task
from sb.evals.home_calls import HomeWatch
from sb.evals.kernel import environment


class CommandAgent:
    """Runs a command: a process for each case, or one that goes on from case to case.

    Args:
        line: the command line, without a shell.
        start: the folder that relative words of it are looked up in.
        scratch: home and working folder of a process that is used again.
        reuse: keep a process for further cases.

    Raises:
        UsageError: the line names no program.
    """

    has_kernel = True
    own_clock = False

    def __init__(self, name: str, line: str, start: Path, scratch: Path, *, reuse: bool = False) -> None:
        self.name = name
        self._command = command_words(line, start)
        self._scratch = scratch
        self._reuse = reuse
        self._processes = Processes()

    def run(self, task: Task) -> Answer:
        begun = time.monotonic()
        watch = HomeWatch(task.home, task.folder, task.approve)
        lines, error, log = AnswerLines(), "", ""
        with watch.answering():
            try:
                with self._processes.process(
                    lambda token: self._start(task, token), again=self._reuse
                ) as process:
                    try:
                        self._converse(process, task, lines, begun + task.timeout_s)
                    finally:
                        log = process.log
            except (AgentFailure, ProtocolError) as failure:
                error = failed(str(failure), task, log)
        try:
            calls = watch.calls()
        except SBError as failure:
            calls, error = (), error or f"the calls of its home cannot be read: {failure.message}"
        return lines.answer(error, calls=calls, seconds=time.monotonic() - begun, log=log)

    def _start(self, task: Task, token: str) -> AgentProcess:
        home, folder = (self._scratch, self._scratch) if self._reuse else (task.home, task.folder)
        seed = {} if self._reuse else {"SB_EVAL_SEED": str(task.seed), "SB_EVAL_CASE": task.case_id}
        return AgentProcess(self._command, environment(home, **seed, **{TOKEN: token}), folder)

    def _converse(self, process: AgentProcess, task: Task, lines: AnswerLines, until: float) -> None:
        """Read an answer to its end; raises AgentFailure, ProtocolError."""
        process.send(request_document(task), last=not self._reuse)
        while not lines.ended:
            line = process.next_line(until)
            if line is None:
                self._unfinished(process, lines)
                return
            lines.add(line)
        if self._reuse:
            return
        code = process.wait()
        for line in process.rest():
            lines.add(line)
        if code:
            raise AgentFailure(f"{ending(code)}, after its answer")

    def _unfinished(self, process: AgentProcess, lines: AnswerLines) -> None:
        """The output is over without a final line, unless that lacks no more than its end."""
        last, code = process.last_words, process.wait()
        if last.strip():
            try:
                lines.add(last)
            except ProtocolError:
                raise AgentFailure(f"{_how(code)}: {cut_off(last)}") from None
        if not lines.ended or code:
            raise AgentFailure(
                f"{_how(code)}, without a final line"
                if not lines.ended
                else f"{_how(code)}, after its answer"
            )

    def stop(self) -> None:
        self._processes.stop()

    def close(self) -> None:
        self._processes.close()


def failed(reason: str, task: Task, log: str) -> str:
    """The reason why an agent could not be run, with what it wrote last."""
    if reason == "timeout":
        reason = f"no answer within {task.timeout_s:g} s"
    last = next((line for line in reversed(log.splitlines()) if line.strip()), "")
    return one_line(f"the agent: {reason}" + (f" (stderr: {last.strip()})" if last else ""), 400)


def command_words(line: str, start: Path) -> list[str]:
    """The words of a command line; those that name a file of the folder where it was typed become absolute.

    Raises:
        UsageError: it cannot be split, or names no program.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"cmd:{line}: {error}", 'such as cmd:"python3 agent.py"') from None
    if not words:
        raise UsageError("cmd: names no program", 'such as cmd:"python3 agent.py"')
    words = [_absolute(word, start) for word in words]
    if shutil.which(words[0]) is None:
        raise UsageError(
            f"cmd: no program {one_line(words[0], 100)}", "name one of PATH, or a file that may be executed"
        )
    return words


def _absolute(word: str, start: Path) -> str:
    if word.startswith(("-", "/")) or not word:
        return word
    try:
        named = (start / word).exists() and ("/" in word or "." in word)
    except (OSError, ValueError):  # too long for a name, and so none
        return word
    return os.path.abspath(start / word) if named else word


def _how(code: int | None) -> str:
    return "it closed its output and did not end" if code is None else ending(code)
