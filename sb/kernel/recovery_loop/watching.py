"""Watch the assumptions that justified calls, as far as SecondBrain can check them itself.

A deadline is looked at on the clock, a file's digest and anything else by a read-only tool. What somebody said to be
false while a call was running or in doubt is on the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

from sb.base.secrets.redaction import one_line, scrub
from sb.base.sources import iso_micros
from sb.base.values.frozen import frozen
from sb.errors import StoreCorrupt
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.recovery_loop.answers import Undone
from sb.kernel.recovery_loop.calls import ReadOnlyCall
from sb.kernel.recovery_loop.service import Recovery
from sb.kernel.registry.arguments import secret_texts
from sb.kernel.reversibility.contracts import found_at
from sb.kernel.run_context import RunContext
from sb.log.event import EVENT_COLUMNS
from sb.log.kinds import RECOVERY_INVALIDATED
from sb.log.people_events import sound

LONGEST_SHOWN = 200  # characters of an answer

# Assumptions `a` of calls `m` that can still be undone, and about which nobody has been asked for this reason.
_UNDECIDED = """m.state = 'committed'
    AND NOT EXISTS (SELECT 1 FROM escalations AS x WHERE x.call_id = m.call_id AND x.cause = a.ref)"""
_OPEN = f"""SELECT a.ref, a.run_id, a.holds_until, a.watch, m.id FROM assumptions AS a
    JOIN mutations AS m ON m.id = a.mutation_id
    WHERE {_UNDECIDED} AND (a.holds_until IS NOT NULL OR a.watch <> '') ORDER BY a.mutation_id"""
# Said to be false after the call was announced: before its outcome was on record there was nothing to recover.
_SAID_FALSE = f"""SELECT a.ref, a.run_id, m.id, e.id FROM events AS e JOIN assumptions AS a
    ON a.ref = CASE WHEN json_valid(e.payload) THEN json_extract(e.payload, '$.assumption') END
    JOIN mutations AS m ON m.id = a.mutation_id
    WHERE e.call_id = '' AND e.kind = ? AND substr(e.kind, 1, 7) <> 'kernel.' AND e.run_id IN ('', a.run_id)
    AND e.id > (SELECT min(id) FROM events WHERE run_id = a.run_id AND call_id = m.call_id)
    AND {_UNDECIDED} ORDER BY m.id"""


@frozen
class AssumptionReport:
    """The result of one check of all assumptions.

    Args:
        checked: how many there were. false: those that do not hold.
        unclear: why of some it could not be told; they count as holding.
        performed: added by `Runtime.watch`: the reversals that people had approved, performed before the check.
    """

    checked: int = 0
    false: list[AssumptionInvalidated] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    performed: list[Undone] = field(default_factory=list)


class AssumptionCheck:
    """Checks the assumptions of calls that can still be undone."""

    def __init__(self, recovery: Recovery) -> None:
        self._recovery = recovery

    def run(self) -> AssumptionReport:
        """Check each assumption; a question that several have in common is asked once."""
        found = AssumptionReport()
        ctx = self._recovery.context("look whether assumptions still hold")
        answers: dict[str, str | None] = {}
        checked = 0
        mutations = self._recovery.mutations
        for ref, run_id, holds_until, watch, number in self._open():
            mutation = mutations.numbered(number)
            if not mutation.in_window(mutations.now()):
                continue
            if ref not in mutation.assumption_refs:
                why = mutation.no_way_back or "it was not done for this reason"
                found.unclear.append(f"{mutation.mutation_id}: {why} (sb log verify)")
                continue
            checked += 1
            if holds_until is not None and mutations.now() >= holds_until:
                reason = f"it held until {iso_micros(holds_until)}"
                found.false.append(AssumptionInvalidated(ref, run_id, reason, mutation.mutation_id))
            elif watch:
                if watch not in answers:
                    answers[watch] = self._ask(ctx, watch, found)
                if answers[watch] is not None:
                    found.false.append(
                        AssumptionInvalidated(ref, run_id, str(answers[watch]), mutation.mutation_id)
                    )
        self._add_said_false(found)
        return replace(found, checked=checked)

    def _add_said_false(self, found: AssumptionReport) -> None:
        """Add assumptions that the log called false before they could be recovered from."""
        log, mutations = self._recovery.log, self._recovery.mutations
        known = {(invalidated.assumption_ref, invalidated.mutation_id) for invalidated in found.false}
        for ref, run_id, number, event_id in log.database.query(_SAID_FALSE, (RECOVERY_INVALIDATED,)):
            mutation = mutations.numbered(number)
            known_as = (ref, mutation.mutation_id)
            if (
                known_as in known
                or ref not in mutation.assumption_refs
                or not mutation.in_window(mutations.now())
            ):
                continue
            row = log.database.query(f"SELECT {EVENT_COLUMNS} FROM events WHERE id = ?", (event_id,))[0]
            try:
                payload = sound(log, row).payload or {}
            except StoreCorrupt as error:
                found.unclear.append(error.message)
                continue
            if payload.get("mutation", mutation.mutation_id) == mutation.mutation_id:
                reason = str(payload.get("reason", ""))
                found.false.append(AssumptionInvalidated(ref, run_id, reason, mutation.mutation_id))
                known.add(known_as)

    def _open(self) -> Iterator[tuple[str, str, int | None, str, int]]:
        yield from self._recovery.log.database.query(_OPEN)

    def _ask(self, ctx: RunContext, watch: str, found: AssumptionReport) -> str | None:
        """The reason why an assumption does not hold; None if it does or nobody can tell."""
        try:
            question: dict[str, Any] = json.loads(watch)
            tool, path, wanted = question["tool_id"], question["path"], question["equals"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            found.unclear.append(f"a question cannot be read: {error!r} (sb log verify)")
            return None
        call = ReadOnlyCall({"watches": path}, secret_texts(question.get("secrets", [])))
        result = self._recovery.executor.execute_recovery(ctx, tool, question["args"], call)
        if not result.success:
            found.unclear.append(f"{tool}: {result.error_message}")
            return None
        try:
            present = found_at(result.data, path)
        except KeyError:
            found.unclear.append(f"{tool} gave no {path}")
            return None
        if present == wanted:
            return None
        is_, was = (_shown(value, call.secrets) for value in (present, wanted))
        return f"{tool}: {path or 'the answer'} is {is_}, not {was}"


def _shown(value: Any, secrets: list[str]) -> str:
    return one_line(json.dumps(scrub(value, secrets)), LONGEST_SHOWN)
