"""Classification of failures, and the verdict on each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.error_classifier.classifier import classify as classify
    from sb.kernel.error_kinds import ErrorKind as ErrorKind
    from sb.kernel.error_kinds import tool_failure as tool_failure
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.error_kinds": "ErrorKind tool_failure",
            "sb.kernel.error_classifier.classifier": "classify",
        },
    )
