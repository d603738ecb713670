"""How does the configured database stand, beside what the harness can do?

Kept out of the score: it is another answer each day.
"""

from __future__ import annotations

from dataclasses import replace

from sb.config import Config
from sb.doctor import examine
from sb.errors import SBError
from sb.kernel.findings import Finding, Status
from sb.kernel.log_verification import verify
from sb.runtime import open_log


def look(config: Config) -> list[Finding]:
    """The whole log verified, and everything that `sb doctor` says; nothing is changed."""
    return [_log(config), *examine(config)]


def _log(config: Config) -> Finding:
    try:
        log = open_log(config)
        try:
            found = verify(log)
        finally:
            log.close()
    except SBError as error:
        return Finding("chain", Status.FAIL, error.message, error.hint)
    whole = Finding("chain", Status.OK, f"{found.rows:,} rows of the log, none edited, moved or missing")
    if found.ok:
        return whole
    problems = len(found.problems) + found.further_problems
    return replace(
        whole, status=Status.FAIL, detail=f"{problems}, such as: {found.problems[0]}", hint="sb audit verify"
    )
