"""The ledger of outcomes: what work came to, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator

from sb.kernel.tokenomics.outcomes import OutcomeRecord
from sb.kernel.tokenomics.report import TokenomicsReport


class TokenomicsLedger:
    """Outcomes in the order in which they were recorded, kept in memory."""

    def __init__(self) -> None:
        self._records: list[OutcomeRecord] = []

    def record(self, outcome: OutcomeRecord) -> None:
        """Add an outcome."""
        self._records.append(outcome)

    def report(
        self,
        *,
        workflow_id: str = "",
        agent: str = "",
        intent: str = "",
        version: str = "",
        since: float = 0.0,
    ) -> TokenomicsReport:
        """The report over the outcomes that have all of these; "" for any.

        Args:
            since: only those of then or later, in seconds since the epoch.
        """
        wanted = {"workflow_id": workflow_id, "agent": agent, "intent": intent, "version": version}
        asked = {name: value for name, value in wanted.items() if value}
        return TokenomicsReport.of(self._fitting(asked, since))

    def _fitting(self, asked: dict[str, str], since: float) -> Iterator[OutcomeRecord]:
        for record in self._records:
            if record.at >= since and all(getattr(record, name) == value for name, value in asked.items()):
                yield record
