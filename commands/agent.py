"""`sb agent`: run agents, say what they may do, and see how well they do it."""

from __future__ import annotations

from sb.commands.agent_charter import app as charter_app
from sb.commands.agent_eval import app as eval_app
from sb.commands.agent_run import app as run_app

app = run_app
app.add_typer(charter_app, name="charter")
app.add_typer(eval_app, name="eval")
