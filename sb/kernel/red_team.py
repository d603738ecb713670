"""Door to `sb.kernel.attacks`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.attacks.detector import LONGEST, check
from sb.kernel.attacks.verdict import AttackFinding as Finding
from sb.kernel.attacks.verdict import AttackVerdict as Verdict
from sb.kernel.attacks.verdict import Category, Origin

__all__ = ["LONGEST", "Category", "Finding", "Origin", "Verdict", "check"]
