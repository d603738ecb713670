"""Advice in the denial of a command line, beside its reason."""

from __future__ import annotations

from sb.hosts.hooks.event import Decision
from tests.hosts.hooks.conftest import UNWATCHED, Host


def test_denial_names_a_safer_command(host: Host) -> None:
    host.mode = UNWATCHED
    verdict = host.before("Bash", command="git push --force origin main")
    assert verdict.decision is Decision.DENY
    assert verdict.reason.endswith(
        "repeat exactly this call. Safer: `git push --force-with-lease origin main` is refused by the server if "
        "others have pushed since."
    )


def test_denial_names_no_command_that_would_be_denied_too(host: Host) -> None:
    host.configure('policy:\n- {deny: "host.shell.*", runs: git push, reason: a person pushes}\n')
    verdict = host.before("Bash", command="cd src && git -C . push --force")
    assert verdict.decision is Decision.DENY
    assert "a person pushes" in verdict.reason
    assert "Safer" not in verdict.reason
