"""Detection of attacks on models in texts: injection, tool abuse, leakage, jailbreaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.red_team.detector import LONGEST as LONGEST
    from sb.kernel.red_team.detector import check as check
    from sb.kernel.red_team.verdict import AttackFinding, AttackVerdict
    from sb.kernel.red_team.verdict import Category as Category
    from sb.kernel.red_team.verdict import Origin as Origin

    Finding = AttackFinding
    Verdict = AttackVerdict
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.red_team.detector": "LONGEST check",
            "sb.kernel.red_team.verdict": "Category Finding=AttackFinding Origin Verdict=AttackVerdict",
        },
    )
