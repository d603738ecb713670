"""Checks of the configured database, beside those of the harness.

Kept out of the score: it is another answer each day.
"""

from __future__ import annotations

from sb.config import Config
from sb.errors import SBError
from sb.kernel.review.findings import Finding, Status
from sb.kernel.review.log_verification import verify
from sb.operator.doctor import examine
from sb.runtime.parts import open_authority, open_log


def look(config: Config) -> list[Finding]:
    """The whole log verified, and everything that `sb doctor` says; nothing is changed."""
    return [_log(config), *examine(config)]


def _log(config: Config) -> Finding:
    try:
        log = open_log(config)
        try:
            found = verify(log, open_authority(config, log))
        finally:
            log.close()
    except SBError as error:
        return Finding("chain", Status.FAIL, error.message, error.hint)
    if found.ok:
        return Finding("chain", Status.OK, f"{found.rows:,} rows of the log, none edited, moved or missing")
    more = len(found.problems) + found.further_problems - 1
    detail = found.problems[0] + (f"; and {more:,} more" if more else "")
    return Finding("chain", Status.FAIL, detail, "sb log verify names every row")
