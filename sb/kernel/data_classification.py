"""Door to `sb.redaction`, under the name that the specification gives."""

from __future__ import annotations

from sb.redaction import may_be_sensitive, redact, redact_json, redact_text

__all__ = ["may_be_sensitive", "redact", "redact_json", "redact_text"]
