"""Door to `sb.base.classification` and `sb.base.secrets.redaction`, under the name that the specification gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.base.classification import Classification as Classification
    from sb.base.classification import Finding as Finding
    from sb.base.classification import Sensitivity as Sensitivity
    from sb.base.classification import classify as classify
    from sb.base.secrets.redaction import may_be_sensitive as may_be_sensitive
    from sb.base.secrets.redaction import redact as redact
    from sb.base.secrets.redaction import redact_json as redact_json
    from sb.base.secrets.redaction import redact_text as redact_text
else:
    from sb.base.lazy import lazy_exports

    # The masks of the log and the recognisers of personal data are seldom wanted by one and the same process.
    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.base.classification": "Classification Finding Sensitivity classify",
            "sb.base.secrets.redaction": "may_be_sensitive redact redact_json redact_text",
        },
    )
