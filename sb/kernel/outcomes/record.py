"""Outcomes of runs as the record tells them: who, what for, which release, whether rules held, and the cost.

The table is made of the log, in its order; what an agent says of its own work is not asked. The usage of hosts' sessions
comes from their transcripts, so a cost says whose figure it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sb.base.values.frozen import frozen
from sb.config.kinds import ModelPrice
from sb.errors import NotFoundError
from sb.kernel.agent_charter.charter import UNSTATED
from sb.kernel.outcomes.costs import REPORTED, cost_of, prices_mark
from sb.kernel.outcomes.judgements import Judgement
from sb.kernel.review.calls import REFUSED
from sb.kernel.review.runs import run_field
from sb.kernel.review.session_usage import load_usage
from sb.kernel.review.usage import total
from sb.kernel.run_context import MOST_SPENT, RECOVERY_AGENT
from sb.kernel.tokenomics.outcomes import CostBreakdown, OutcomeRecord
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import (
    APPROVAL_DENIED,
    BUDGET_EXCEEDED,
    CLAIMS_JUDGED,
    OUTCOME_CHECKED,
    OUTPUT_GATED,
    RUN_FINISHED,
    RUN_STARTED,
    TOOL_DISPATCH,
    TOOL_POLICY_BLOCKED,
)
from sb.store.records.places import Execute

_STEP = 10_000  # events that are read in one transaction, so that no call waits long
_MOST_TOKENS = 1 << 62  # that a column holds
_READ = "outcomes_read"  # the key in `meta` of the last event that the table is made of
_RANGE = "id > ? AND id <= ?"
_STARTED = f"""INSERT INTO outcomes (run_id, agent, intent, version, host, session, started_at)
    SELECT run_id, agent, iif(intent = host || ' session', '', intent), version, host, session, at FROM (
        SELECT e.id, run_id, agent, at, coalesce({run_field("intent")}, '') AS intent,
            coalesce({run_field("release")}, '') AS version, coalesce({run_field("host")}, '') AS host,
            coalesce({run_field("session_id")}, '') AS session
        FROM events AS e WHERE {_RANGE} AND kind = '{RUN_STARTED}' AND agent <> '{RECOVERY_AGENT}' AND run_id <> '')
    ORDER BY id ON CONFLICT DO NOTHING"""


def _spent(name: str) -> str:
    """SQL for an amount of a run's budget; NULL for what is none."""
    path = f"'$.budget.{name}_used'"
    amount = f"json_extract(payload, {path})"
    return f"CASE WHEN json_type(payload, {path}) IN ('integer', 'real') AND {amount} BETWEEN 0 AND {MOST_SPENT} THEN {amount} END"


# A run may end twice, as one that goes on in another process; its budget only grows.
_ENDED = f"""UPDATE outcomes SET ended_at = ended.at,
    cents = iif(ended.spent > 0, max(coalesce(cents, 0), ended.spent), cents),
    sources = iif(ended.spent > 0, '{REPORTED}', sources), unpriced = iif(ended.spent > 0, '', unpriced),
    input_tokens = max(input_tokens, ended.input), output_tokens = max(output_tokens, ended.output),
    cached_tokens = max(cached_tokens, min(ended.cached, ended.input)),
    eval_tokens = max(eval_tokens, ended.evaluating), retry_tokens = max(retry_tokens, ended.retrying)
    FROM (SELECT run_id, at, {_spent("cost_usd_cents")} AS spent,
        CAST(coalesce({_spent("prompt_tokens")}, 0) AS INTEGER) AS input,
        CAST(coalesce({_spent("output_tokens")}, 0) AS INTEGER) AS output,
        CAST(coalesce({_spent("cached_tokens")}, 0) AS INTEGER) AS cached,
        CAST(coalesce({_spent("eval_tokens")}, 0) AS INTEGER) AS evaluating,
        CAST(coalesce({_spent("retry_tokens")}, 0) AS INTEGER) AS retrying
        FROM (SELECT run_id, at, max(id), iif(json_valid(payload), payload, '{{}}') AS payload
            FROM events WHERE {_RANGE} AND kind = '{RUN_FINISHED}' GROUP BY run_id)) AS ended
    WHERE outcomes.run_id = ended.run_id"""
_VIOLATED = f"""UPDATE outcomes SET violations = violations + broken.times
    FROM (SELECT run_id, count(*) AS times FROM events WHERE {_RANGE} AND (
        kind IN ('{APPROVAL_DENIED}', '{OUTPUT_GATED}')
        OR (kind IN ('{TOOL_DISPATCH}', '{TOOL_POLICY_BLOCKED}', '{BUDGET_EXCEEDED}') AND {REFUSED}))
        GROUP BY run_id) AS broken
    WHERE outcomes.run_id = broken.run_id"""
# Of each source the newest check counts, and one that failed makes the run ungrounded. Claims of last messages are one.
_CHECKS = f"('{OUTCOME_CHECKED}', '{CLAIMS_JUDGED}')"
_CHECKED = f"""UPDATE outcomes SET grounded = checked.holds
    FROM (SELECT run_id, min(holds) AS holds FROM (
        SELECT run_id, max(id), json_extract(payload, '$.grounded') AS holds FROM events
        WHERE kind IN {_CHECKS} AND json_valid(payload) AND run_id IN (
            SELECT run_id FROM events WHERE {_RANGE} AND kind IN {_CHECKS})
        GROUP BY run_id, json_extract(payload, '$.source')) GROUP BY run_id) AS checked
    WHERE outcomes.run_id = checked.run_id"""
_IN_WORKFLOWS = """UPDATE outcomes SET workflow = workflows.name FROM workflows
    WHERE outcomes.run_id = workflows.run_id AND outcomes.workflow = ''"""
_PRICED = """UPDATE outcomes SET cents = ?, sources = ?, unpriced = ?, input_tokens = ?, output_tokens = ?,
    cached_tokens = ?, mark = ? WHERE run_id = ?"""


@frozen
class Outcome:
    """One run as the record tells it; times in microseconds since the epoch.

    Args:
        workflow: the durable workflow that it belongs to, or "".
        ended_at: None while its end is not on record.
        violations: calls that were denied or broke a rule.
        grounded: whether what it says rests on evidence; None where nothing checked that.
        cents: of US dollars; None where the cost is not known, for the reason `unpriced`.
        sources: whose figures or prices the cost is made of.
    """

    run_id: str
    agent: str
    intent: str
    version: str
    workflow: str
    host: str
    session: str
    started_at: int
    ended_at: int | None
    violations: int
    grounded: bool | None
    cents: float | None
    sources: str
    unpriced: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    eval_tokens: int
    retry_tokens: int

    def record(self, judgement: Judgement | None) -> OutcomeRecord:
        """The outcome with what a person says of it; the person's words for its kind and purpose win."""
        intent = (judgement.intent if judgement else "") or self.intent
        return OutcomeRecord(
            # The work of a run that belongs to no durable workflow is named by its intent.
            (judgement.workflow if judgement else "") or self.workflow or intent or UNSTATED,
            CostBreakdown(
                self.cents,
                input_tokens=self.input_tokens,
                output_tokens=self.output_tokens,
                cached_tokens=self.cached_tokens,
                eval_tokens=self.eval_tokens,
                retry_tokens=self.retry_tokens,
            ),
            judgement.accepted if judgement else None,
            self.grounded,
            self.violations == 0,
            self.agent,
            intent or UNSTATED,
            self.version,
            # A clock that jumped back may have ended it before it began.
            max(self.started_at, self.ended_at or 0) / 1e6,
        )


def record_grounded(log: EventLog, run_id: str, *, grounded: bool, source: str) -> None:
    """Put on the log whether what a run says of its work rests on evidence.

    Args:
        source: what checked it, such as an eval; its newest check counts.

    Raises:
        NotFoundError: nothing of such a run is on record.
    """
    rows = log.database.query("SELECT agent FROM events WHERE run_id = ? ORDER BY id LIMIT 1", (run_id,))
    if not rows:
        raise NotFoundError(f"no run {run_id!r} in the log")
    log.append(
        OUTCOME_CHECKED, {}, Subject(run_id, agent=rows[0][0]), {"grounded": grounded, "source": source}
    )


class Outcomes:
    """The outcomes of one log.

    Args:
        usage: the folder in which the tokens of hosts' sessions are remembered; None for none.
        prices: as configured.
    """

    def __init__(
        self, log: EventLog, usage: Path | None = None, prices: Mapping[str, ModelPrice] | None = None
    ) -> None:
        self._log = log
        self._usage = usage
        self._prices = prices or {}

    def read(self) -> None:
        """Read on in the log and in what is remembered of sessions; of eight at once, each event is read by one."""
        log, marks = self._log, self._marks()
        last = log.first_id + log.head().seq
        while self._read_to() < last:
            with log.database.write() as execute:
                self._read_events(execute, last)
        stale = [
            row
            for row in log.database.query("SELECT run_id, started_at, mark FROM outcomes WHERE host <> ''")
            if marks.get(row[0], row[2]) != row[2]
        ]
        priced = [self._priced(run_id, began_at, marks[run_id]) for run_id, began_at, _ in stale]
        if priced:
            with log.database.write() as execute:
                for values in filter(None, priced):
                    execute(_PRICED, values)

    def _read_to(self) -> int:
        found = self._log.database.query("SELECT value FROM meta WHERE key = ?", (_READ,))
        return int(found[0][0]) if found else self._log.first_id

    def _read_events(self, execute: Execute, last: int) -> None:
        """Read the next events, of which another reader may have read some by now."""
        start = self._read_to()
        bounds = (start, min(start + _STEP, last))
        if start >= last:
            return
        for statement in (_STARTED, _ENDED, _VIOLATED, _CHECKED):
            execute(statement, bounds)
        if bounds[1] == last:
            execute(_IN_WORKFLOWS)
        execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_READ, str(bounds[1])))

    def _marks(self) -> dict[str, str]:
        """The state of each session's usage and of the prices, by run."""
        if self._usage is None or not self._usage.is_dir():
            return {}
        prices, marks = prices_mark(self._prices), {}
        for entry in os.scandir(self._usage):
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:  # another process removes it
                continue
            marks[entry.name.removesuffix(".json")] = f"{state.st_mtime_ns} {state.st_size} {prices}"
        return marks

    def _priced(self, run_id: str, began_at: int, mark: str) -> tuple[object, ...] | None:
        assert self._usage is not None
        session = load_usage(self._usage, run_id)
        if session is None:
            return None
        cost, tokens = cost_of(session.parts, self._prices, began_at / 1e6), total(session.usage)
        sources = ", ".join(cost.sources)
        counts = (min(count, _MOST_TOKENS) for count in (tokens.prompt, tokens.output, tokens.cache_read))
        return (cost.cents, sources, cost.unpriced, *counts, mark, run_id)

    def get(self, run_id: str) -> Outcome | None:
        """The outcome of a run as it was last read; None where the run's start is not on record."""
        return next(iter(self.of([run_id])), None)

    def of(self, runs: Iterable[str]) -> list[Outcome]:
        """The outcomes of these runs as they were last read."""
        sql = f"SELECT {', '.join(_NAMES)} FROM outcomes WHERE run_id IN (SELECT value FROM json_each(?))"
        rows = self._log.database.query(sql, (json.dumps([*runs]),))
        return [_outcome(dict(zip(_NAMES, row, strict=True))) for row in rows]


_NAMES = tuple(Outcome.__dataclass_fields__)


def _outcome(row: dict[str, Any]) -> Outcome:
    grounded = row["grounded"]
    return Outcome(**row | {"grounded": None if grounded is None else bool(grounded)})
