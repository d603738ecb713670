"""One line about a session, for hosts that show what a command prints: Claude Code's `statusLine`.

It is drawn often, so little is imported, and nothing is written. It never fails: what cannot be read is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sb.base.sources import SYSTEM_CLOCK
from sb.base.text import counted, plain, shorten
from sb.config import Config
from sb.errors import ConfigError, SBError
from sb.hosts.identity import run_id_of
from sb.kernel.review.session_usage import load_usage
from sb.kernel.review.status_figures import StatusFigures, status_figures
from sb.kernel.review.usage import cost_usd
from sb.present.usage import dollars
from sb.store import driver

LONGEST = 1 << 20  # characters of the host's JSON
HOST = "claude-code"  # the one that documents such a line
_LONGEST_NAME = 40


def main() -> None:
    """Print the line for the JSON on stdin."""
    payload = None
    if sys.stdin is not None and not sys.stdin.isatty():
        with contextlib.suppress(ValueError, RecursionError, OSError):
            payload = json.loads(sys.stdin.read(LONGEST))
    sys.stdout.write(status_line(payload if isinstance(payload, dict) else {}, os.environ) + "\n")


def status_line(payload: dict[str, Any], env: Mapping[str, str]) -> str:
    """The line.

    Args:
        payload: what the host says of its session.
    """
    return plain(" · ".join(_parts(payload, env)), one_line=True)


def _parts(payload: dict[str, Any], env: Mapping[str, str]) -> Iterator[str]:
    from sb.config import load_config

    model = _table(payload, "model")
    yield shorten(_text(model, "display_name") or _text(model, "id") or "sb", _LONGEST_NAME)
    session = _text(payload, "session_id")
    folder = _text(_table(payload, "workspace"), "project_dir") or _text(payload, "cwd")
    here = Path(folder) if os.path.isdir(folder) else Path("/")
    try:
        config = load_config(env=env, cwd=here, flags={})
    except ConfigError:
        yield from _cost(payload, None, session)
        yield "sb: wrong configuration (sb config check)"
        return
    yield from _cost(payload, config, session)
    try:
        figures = status_figures(
            config.database, run_id_of(HOST, session), _scope(folder), SYSTEM_CLOCK.now()
        )
    except (SBError, driver.Error):
        yield "sb: no database (sb doctor)"
        return
    yield from _counts(figures)


def _cost(payload: dict[str, Any], config: Config | None, session: str) -> Iterator[str]:
    """The host's own figure where it gives one, else that of the configured prices; and the cap, which counts by the latter."""
    theirs = _table(payload, "cost").get("total_cost_usd")
    known = load_usage(config.home.usage, run_id_of(HOST, session)) if config else None
    ours = cost_usd(known.usage, config.prices) if config and known and known.usage else None
    if isinstance(theirs, int | float) and not isinstance(theirs, bool) and 0 <= theirs < 1e9:
        yield f"{dollars(theirs)} by Claude Code"
    else:
        yield "cost unknown" if ours is None else f"{dollars(ours)} by your prices"
    if config and config.budget.caps_sessions:
        yield f"{dollars(ours)} of {dollars(config.budget.session_cost_usd)} cap"


def _counts(figures: StatusFigures) -> Iterator[str]:
    yield f"{figures.calls:,}{'+' if figures.at_least else ''} {'call' if figures.calls == 1 else 'calls'}"
    if figures.waiting:
        yield f"{counted(figures.waiting, 'approval')} waiting (sb console)"
    if figures.memories:
        yield counted(figures.memories, "memory")


def _scope(folder: str) -> str:
    """The memory scope of a project, as the hooks name it, for names without secrets."""
    from sb.base.repository import project_folder

    root = project_folder(Path(os.path.realpath(folder))) if os.path.isabs(folder) else ""
    name = re.sub(r"[\s\x00-\x1f\x7f]+", "-", os.path.basename(root))[:150]
    return f"project:{name}" if name else "global"


def _table(payload: dict[str, Any], name: str) -> dict[str, Any]:
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def _text(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) and "\0" not in value else ""
