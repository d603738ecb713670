"""Count the questions that a host asks its own user; the log alone is opened, and no call is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sb.base.secrets.redaction import one_line
from sb.config import Config
from sb.hosts.hooks.event import HookEvent, Moment
from sb.hosts.identity import run_id_of
from sb.kernel.calls.host_questions import record_question

if TYPE_CHECKING:
    from sb.hosts.hooks.opening import Opening

_LONGEST_TOOL = 80  # characters


def count(config: Config, event: HookEvent, opening: Opening | None = None) -> None:
    """Put on record that the host asked its user about a call, or denied it by its own rules.

    Args:
        opening: has a runtime that is open by now; None to open the log alone.

    Raises:
        SBError: configuration or database cannot be used.
    """
    tool = one_line(event.calls[0].tool, _LONGEST_TOOL)
    run_id, denied = run_id_of(event.host, event.session_id), event.moment is Moment.DENIED
    if opening is not None:
        record_question(opening.runtime(config).log, run_id, event.host, tool, denied=denied)
        return
    from sb.runtime.parts import open_log

    log = open_log(config)
    try:
        record_question(log, run_id, event.host, tool, denied=denied)
    finally:
        log.close()
