"""Classification: which personal, payment and secret values a text holds, and where."""

from sb.base.classification.classify import LONGEST, classify, may_hold_personal_data
from sb.base.classification.findings import LABELS, Classification, Finding, Sensitivity

__all__ = [
    "LABELS",
    "LONGEST",
    "Classification",
    "Finding",
    "Sensitivity",
    "classify",
    "may_hold_personal_data",
]
