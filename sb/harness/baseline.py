"""Write an audit's answers down as a baseline: what later audits must not fall below."""

from __future__ import annotations

from sb.base.text import json_text
from sb.kernel.harness_audit import AuditReport

_OF_A_CONTROL = ("id", "title", "status")


def render(report: AuditReport) -> str:
    """A document to commit: a line for each control, so that a diff shows what changed."""
    document = report.to_dict()
    head = {name: document[name] for name in ("format", "version", "catalogue", "score")}
    controls = ",\n".join(
        "    " + json_text({name: control[name] for name in _OF_A_CONTROL})
        for control in document["controls"]
    )
    return json_text(head, indent=2).removesuffix("\n}") + ',\n  "controls": [\n' + controls + "\n  ]\n}\n"
