"""The harness audit: forty controls, their checks, and the grade.

Takes the answers of probes and imports none. Source: the survival layer, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.harness_audit.catalogue import Catalogue as Catalogue
    from sb.kernel.harness_audit.catalogue import CheckKind as CheckKind
    from sb.kernel.harness_audit.catalogue import Control as Control
    from sb.kernel.harness_audit.catalogue import ControlSeverity as ControlSeverity
    from sb.kernel.harness_audit.catalogue import Criterion as Criterion
    from sb.kernel.harness_audit.catalogue import HarnessOutcome as HarnessOutcome
    from sb.kernel.harness_audit.catalogue import load_catalogue as load_catalogue
    from sb.kernel.harness_audit.comparison import Change as Change
    from sb.kernel.harness_audit.comparison import Comparison as Comparison
    from sb.kernel.harness_audit.comparison import compare as compare
    from sb.kernel.harness_audit.grading import AuditReport as AuditReport
    from sb.kernel.harness_audit.grading import Check as Check
    from sb.kernel.harness_audit.grading import ControlStatus as ControlStatus
    from sb.kernel.harness_audit.grading import Finding as Finding
    from sb.kernel.harness_audit.grading import Grade as Grade
    from sb.kernel.harness_audit.grading import grade as grade
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.harness_audit.catalogue": "Catalogue CheckKind Control ControlSeverity Criterion HarnessOutcome load_catalogue",
            "sb.kernel.harness_audit.comparison": "Change Comparison compare",
            "sb.kernel.harness_audit.grading": "AuditReport Check ControlStatus Finding Grade grade",
        },
    )
