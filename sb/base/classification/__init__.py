"""Classification: which personal, payment and secret values a text holds, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.base.classification.classifier import LONGEST as LONGEST
    from sb.base.classification.classifier import classify as classify
    from sb.base.classification.classifier import may_hold_personal_data as may_hold_personal_data
    from sb.base.classification.findings import LABELS as LABELS
    from sb.base.classification.findings import Classification as Classification
    from sb.base.classification.findings import Finding as Finding
    from sb.base.classification.findings import Sensitivity as Sensitivity
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.base.classification.classifier": "LONGEST classify may_hold_personal_data",
            "sb.base.classification.findings": "LABELS Classification Finding Sensitivity",
        },
    )
