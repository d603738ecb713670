"""The harness audit: forty controls, their checks, and the grade.

Takes the answers of probes and imports none. Source: the survival layer, section 5.
"""

from sb.kernel.harness_audit.catalogue import (
    Catalogue,
    CheckKind,
    Control,
    ControlSeverity,
    Criterion,
    HarnessOutcome,
    load_catalogue,
)
from sb.kernel.harness_audit.comparison import Change, Comparison, compare
from sb.kernel.harness_audit.grading import AuditReport, Check, ControlStatus, Finding, Grade, grade

__all__ = [
    "AuditReport",
    "Catalogue",
    "Change",
    "Check",
    "CheckKind",
    "Comparison",
    "Control",
    "ControlSeverity",
    "ControlStatus",
    "Criterion",
    "Finding",
    "Grade",
    "HarnessOutcome",
    "compare",
    "grade",
    "load_catalogue",
]
