"""The output gate: texts that leave a run are searched for secrets, and for personal data of another scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from sb.base.classification import Classification, Finding, Sensitivity, classify
from sb.base.secrets.redaction import MASK
from sb.base.text import INVISIBLE
from sb.base.values.canonical import freeze
from sb.config.guards import REDACT
from sb.kernel.calls.call import ToolCall
from sb.kernel.execution.disguised_values import encoded_texts, split_secrets
from sb.kernel.execution.outcome import Outcome
from sb.kernel.execution.result_guards import ResultGuard, withhold
from sb.kernel.run_context import RunContext
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import OUTPUT_GATED

_SPLIT = 0.9  # how sure a secret is that something divides
TOO_LONG = "too_long"  # stands for a text that was searched in part
Elsewhere = Callable[
    [str, RunContext], bool
]  # whether a personal value belongs to other scopes than the run's


class OutputGate:
    """Searches what leaves the runs of one installation.

    Args:
        elsewhere: asked for each personal value.
    """

    def __init__(self, log: EventLog, elsewhere: Elsewhere) -> None:
        self._log = log
        self._elsewhere = elsewhere

    def findings(self, text: str, ctx: RunContext) -> tuple[list[Finding], bool]:
        """Findings in a text that may not leave, and whether all of it was searched.

        Characters that nobody sees are passed over: with one of them inside, a key is still a key to who copies it.
        So is one of a known shape that line breaks or markup divide, and whatever stands in base64.
        """
        places = None
        if not text.isascii() and INVISIBLE.search(text):
            places = [number for number, char in enumerate(text) if not INVISIBLE.match(char)]
        visible = text if places is None else "".join(text[number] for number in places)
        seen: Classification = classify(visible)
        hits = [finding for finding in seen.findings if self._may_not_leave(finding, visible, ctx)]
        hits = _with_others(visible, hits, self._disguised(visible, ctx))
        if places is not None:
            hits = [
                replace(finding, start=places[finding.start], end=places[finding.end - 1] + 1)
                for finding in hits
            ]
        return hits, seen.complete

    def _may_not_leave(self, finding: Finding, text: str, ctx: RunContext) -> bool:
        return finding.sensitivity == Sensitivity.SECRET or self._elsewhere(
            text[finding.start : finding.end], ctx
        )

    def _disguised(self, text: str, ctx: RunContext) -> Iterator[Finding]:
        for label, (start, end) in split_secrets(text):
            yield Finding(label, start, end, _SPLIT)
        for decoded, (start, end) in encoded_texts(text):
            for finding in classify(decoded).findings:
                if self._may_not_leave(finding, decoded, ctx):
                    yield replace(finding, start=start, end=end)

    def gated(self, value: Any, ctx: RunContext) -> tuple[Any, list[str]]:
        """A copy of a JSON value without what may not leave, and the labels of that; names of fields are searched too."""
        labels = list[str]()
        return self._gated(value, ctx, labels), list(dict.fromkeys(labels))

    def _gated(self, value: Any, ctx: RunContext, labels: list[str]) -> Any:
        if isinstance(value, str):
            leaving, complete = self.findings(value, ctx)
            labels += (finding.label for finding in leaving)
            if not complete:
                labels.append(TOO_LONG)
                return MASK.format(TOO_LONG)
            return _without(value, leaving)
        if isinstance(value, dict):
            return {
                self._gated(name, ctx, labels): self._gated(item, ctx, labels) for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._gated(item, ctx, labels) for item in value]
        return value

    def record(self, subject: Subject, labels: Sequence[str], *, place: str, action: str) -> None:
        """Put on record what was found, by its labels alone.

        Raises:
            SBError: it cannot be recorded.
        """
        self._log.append(
            OUTPUT_GATED, {}, subject, {"place": place, "action": action, "labels": list(labels)}
        )


def _with_others(text: str, findings: list[Finding], others: Iterable[Finding]) -> list[Finding]:
    """These findings and those of the others that overlap none before them, in order."""
    taken: bytearray | None = None
    findings = list(findings)
    for finding in others:
        if taken is None:
            taken = bytearray(len(text))
            for known in findings:
                taken[known.start : known.end] = b"\1" * (known.end - known.start)
        if taken.find(1, finding.start, finding.end) < 0:
            taken[finding.start : finding.end] = b"\1" * (finding.end - finding.start)
            findings.append(finding)
    return sorted(findings, key=lambda item: item.start)


def _without(text: str, findings: Sequence[Finding]) -> str:
    parts, end = [], 0
    for finding in findings:
        parts += [text[end : finding.start], MASK.format(finding.label)]
        end = finding.end
    return "".join((*parts, text[end:]))


def output_guard(gate: OutputGate, patterns: Sequence[str], action: str) -> ResultGuard:
    """The guard of results of the tools that these patterns name.

    Args:
        action: redact, or refuse.
    """

    def guard(call: ToolCall, outcome: Outcome) -> None:
        if outcome.code is not None or not any(fnmatchcase(call.tool_id, pattern) for pattern in patterns):
            return
        clean, labels = gate.gated(outcome.value, call.ctx)
        if not labels:
            return
        gate.record(call.subject, labels, place="result", action=action)
        if action == REDACT:
            outcome.value, outcome.encoded = freeze(clean)
        else:
            withhold(
                outcome,
                f"the result of {call.tool_id} holds {', '.join(labels)}, so it is not handed out",
            )

    return guard
