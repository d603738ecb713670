"""`sb agent`: what agents may do."""

from __future__ import annotations

from sb.commands.agent_charter import app as charter_app
from sb.commands.options import group

app = group("Show, check and approve agents' charters.")
app.add_typer(charter_app, name="charter")
