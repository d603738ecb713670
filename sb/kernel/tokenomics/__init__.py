"""Tokenomics: what a trusted outcome costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.tokenomics.ledger import TokenomicsLedger as TokenomicsLedger
    from sb.kernel.tokenomics.outcomes import CostBreakdown as CostBreakdown
    from sb.kernel.tokenomics.outcomes import OutcomeRecord as OutcomeRecord
    from sb.kernel.tokenomics.report import TokenomicsReport as TokenomicsReport
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.tokenomics.ledger": "TokenomicsLedger",
            "sb.kernel.tokenomics.outcomes": "CostBreakdown OutcomeRecord",
            "sb.kernel.tokenomics.report": "TokenomicsReport",
        },
    )
