"""Runs an agent through the cases of suites, several at a time, and judges what it answers."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line, redact_text
from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.text import nearest
from sb.base.values.frozen import frozen, mutable
from sb.config import Home
from sb.errors import SBError, UsageError
from sb.evals.agents.agent import AgentUnderTest
from sb.evals.answer import Answer, Task
from sb.evals.folders import remove_folder, temporary_folder
from sb.evals.judge import judge_release
from sb.evals.judging import attempts_of, case_result, judge
from sb.evals.kernel import CaseHomes
from sb.evals.results import Attempt, CaseResult, EvalRun
from sb.evals.suite import Case, Suite
from sb.kernel.release_tuple.release import ReleasePart

_Ended = queue.SimpleQueue[tuple[int, int, Future[Attempt | None]]]
_LOOK_S = 0.2  # seconds between two looks at what became of the attempts
_OVER_COST = "not run: the cases before it cost {cost:g} cents, and --max-cost is {limit:g}"


@frozen
class Options:
    """Options of a run.

    Args:
        jobs: how many attempts run at a time.
        repeat, timeout_s: instead of what cases say; None for that.
        retry_errors: how often an attempt is made again in which the agent could not be run.
        max_cost_cents: of the whole run; once it is reached, no further case begins.
        seed: decides the chance of every attempt.
        keyword: a part of the ids of the cases that run. tags: of which one has to be theirs.
    """

    jobs: int = 1
    repeat: int | None = None
    timeout_s: float | None = None
    retry_errors: int = 0
    max_cost_cents: float | None = None
    seed: int = 0
    keyword: str = ""
    tags: tuple[str, ...] = ()

    @property
    def selects(self) -> bool:
        """True if only some cases may run."""
        return bool(self.keyword or self.tags)


@mutable
class Progress:
    """Progress of a run.

    Args:
        total, done: cases. failed: that a gate does not let pass. running: cases at work, by when they began.
        retried: attempts that were made again.
    """

    total: int
    done: int = 0
    failed: int = 0
    retried: int = 0
    began: float = field(default_factory=time.monotonic)
    running: dict[tuple[str, str], float] = field(default_factory=dict)

    def slowest(self) -> tuple[str, float] | None:
        """The case that has been running for longest, and for how many seconds."""
        with _running:
            oldest = min(self.running.items(), key=lambda item: item[1], default=None)
        return None if oldest is None else (oldest[0][1], time.monotonic() - oldest[1])

    @property
    def left_s(self) -> float | None:
        """About how many seconds are left; None before a case is done."""
        if not self.done:
            return None
        return (time.monotonic() - self.began) / self.done * (self.total - self.done)


Watch = Callable[[Progress, CaseResult | None], None]
_running = threading.Lock()


def selected(suites: Sequence[Suite], options: Options) -> list[tuple[Suite, Case]]:
    """The cases that run, in the order of their files.

    Raises:
        UsageError: there are none.
    """
    every = [(suite, case) for suite in suites for case in suite.cases]
    chosen = [
        (suite, case)
        for suite, case in every
        if options.keyword in case.id and (not options.tags or set(options.tags) & set(case.tags))
    ]
    if chosen:
        return chosen
    if not every:
        raise UsageError("the suites have no cases")
    if options.tags:
        known = {tag for _, case in every for tag in case.tags}
        close = nearest(options.tags[0], known)
        raise UsageError(f"no case has the tag {', '.join(options.tags)}{close}", "--list shows the cases")
    close = nearest(options.keyword, [case.id for _, case in every])
    raise UsageError(f"no case's id contains {options.keyword!r}{close}", "--list shows the cases")


def run_suites(
    suites: Sequence[Suite],
    agent: AgentUnderTest,
    options: Options,
    *,
    real: Home,
    templates: Path | None = None,
    watch: Watch = lambda progress, result: None,
    clock: Clock = SYSTEM_CLOCK,
    ids: Ids = SYSTEM_IDS,
) -> EvalRun:
    """Run the cases that are selected, and judge the answers. KeyboardInterrupt ends it early, with what had ended.

    Args:
        real: the home of this process, which no case reaches.
        templates: a folder that keeps what homes are copied from, for further runs; by default a temporary one.
        watch: called in this thread as each case ends, and several times a second.

    Raises:
        UsageError: no case is selected.
        ConfigError: a suite's configuration is wrong.
    """
    chosen = selected(suites, options)
    with temporary_folder("sb-eval-") as folder:
        homes = CaseHomes(templates or folder, real, own_clock=agent.own_clock) if agent.has_kernel else None
        release: dict[str, Any] = {}
        if homes is not None:
            used = dict.fromkeys(suite.name for suite, _ in chosen)
            for suite in suites:
                if suite.name in used:
                    homes.check(suite)
            digests = {suite.name: suite.digest for suite in suites}
            part = ReleasePart.of("suites", digests | judge_release(suites))
            release = replace(homes.release(chosen[0][0]), eval=part).document()
        runner = _Runner(agent, options, homes, folder, Progress(len(chosen)), watch)
        results, interrupted = runner.run(chosen)
    return EvalRun(
        f"eval_{ids.token(6)}",
        clock.now(),
        redact_text(agent.name),
        tuple(results),
        {suite.name: suite.digest for suite in suites},
        release,
        options.seed,
        interrupted,
    )


class _Runner:
    """One run at work."""

    def __init__(
        self,
        agent: AgentUnderTest,
        options: Options,
        homes: CaseHomes | None,
        folder: Path,
        progress: Progress,
        watch: Watch,
    ) -> None:
        self._agent = agent
        self._options = options
        self._homes = homes
        self._folder = folder
        self._progress = progress
        self._watch = watch
        self._cost = 0.0
        self._stopped = threading.Event()

    def run(self, chosen: Sequence[tuple[Suite, Case]]) -> tuple[list[CaseResult], bool]:
        """The results in the order of the cases, and whether somebody interrupted it."""
        results: dict[int, CaseResult] = {}
        interrupted = False
        with ThreadPoolExecutor(self._options.jobs, "sb-eval") as pool:
            ended: _Ended = queue.SimpleQueue()
            made: dict[int, dict[int, Attempt]] = {}
            waiting = 0
            try:
                for number, (suite, case) in enumerate(chosen):
                    if case.skip:
                        self._done(number, case_result(suite.name, case, (), 0), results)
                        continue
                    for index in range(attempts_of(case, self._options.repeat)[0]):
                        future = pool.submit(self._attempt, suite, case, number, index)
                        future.add_done_callback(partial(_put, ended, number, index))
                        waiting += 1
                while waiting:
                    try:
                        number, index, future = ended.get(timeout=_LOOK_S)
                    except queue.Empty:
                        self._watch(self._progress, None)
                        continue
                    waiting -= 1
                    self._take(future.result(), number, index, made, chosen[number], results)
            except KeyboardInterrupt:
                interrupted = True
                self._stop(pool)
        return [results[number] for number in sorted(results)], interrupted

    def _stop(self, pool: ThreadPoolExecutor) -> None:
        self._stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
        self._agent.stop()

    def _take(
        self,
        attempt: Attempt | None,
        number: int,
        index: int,
        made: dict[int, dict[int, Attempt]],
        chosen: tuple[Suite, Case],
        results: dict[int, CaseResult],
    ) -> None:
        """Note an attempt; with the last one of its case the case is done."""
        if attempt is None:
            return
        suite, case = chosen
        attempts = made.setdefault(number, {})
        attempts[index] = attempt
        runs, needed = attempts_of(case, self._options.repeat)
        if len(attempts) == runs:
            ordered = [attempts[each] for each in sorted(attempts)]
            self._done(number, case_result(suite.name, case, ordered, needed), results)
            del made[number]

    def _done(self, number: int, result: CaseResult, results: dict[int, CaseResult]) -> None:
        results[number] = result
        self._progress.done += 1
        self._progress.failed += not result.holds
        self._watch(self._progress, result)

    def _attempt(self, suite: Suite, case: Case, number: int, index: int) -> Attempt | None:
        """One attempt, in a thread of the pool; None if the run was stopped meanwhile."""
        if self._stopped.is_set():
            return None
        limit = self._options.max_cost_cents
        if limit is not None and self._cost >= limit:
            reason = _OVER_COST.format(cost=self._cost, limit=limit)
            return judge(case, Answer(error=reason))
        key = (suite.name, f"{case.id}#{index}")
        with _running:
            self._progress.running[key] = time.monotonic()
        try:
            attempt = self._once(suite, case, number, index, 0)
            for again in range(1, self._options.retry_errors + 1):
                if not attempt.answer.error or self._stopped.is_set():
                    break
                self._progress.retried += 1
                attempt = self._once(suite, case, number, index, again)
        finally:
            with _running:
                del self._progress.running[key]
        return None if self._stopped.is_set() else attempt

    def _once(self, suite: Suite, case: Case, number: int, index: int, again: int) -> Attempt:
        place = self._folder / f"case-{number}-{index}-{again}"
        work, home = place, place
        if self._homes is not None:
            place.mkdir()
            try:
                work, home = self._homes.make(suite, case.setup, place)
            except (SBError, OSError) as error:
                hint = f" ({error.hint})" if isinstance(error, SBError) and error.hint else ""
                reason = f"{error.message}{hint}" if isinstance(error, SBError) else str(error)
                return judge(case, Answer(error=one_line(f"the case cannot be set up: {reason}", 400)))
        seed = _seed(self._options.seed, case.id, index)
        timeout_s = self._options.timeout_s or case.timeout_s
        task = Task(case.id, case.input, case.vars, work, home, index, seed, timeout_s, case.setup.approve)
        try:
            answer = self._agent.run(task)
            if self._homes is not None:
                answer = replace(answer, database=home / "brain.db", folder=work)
            with _running:
                self._cost += answer.cost_cents or 0.0
            attempt = judge(case, answer)
        finally:
            if self._homes is not None:
                remove_folder(place)
        return replace(attempt, answer=replace(answer, database=None, folder=None))


def _put(ended: _Ended, number: int, index: int, future: Future[Attempt | None]) -> None:
    ended.put((number, index, future))


def _seed(seed: int, case_id: str, index: int) -> int:
    """The seed of one attempt, which does not depend on the other cases."""
    digest = hashlib.sha256(f"{seed}\0{index}\0{case_id}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
