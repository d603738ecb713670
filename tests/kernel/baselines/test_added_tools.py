"""Tools that an upgrade added are approved in homes of earlier versions, by whoever decides there."""

from __future__ import annotations

from pathlib import Path

from sb.config import current_config
from sb.kernel.baselines.seeding import ADDED
from sb.parts import shipped_registry

# The shipped tools of the first version that made baselines of them.
FIRST = (
    "files.delete files.digest files.list files.read files.restorable files.restore files.search files.write host.agent host.fetch "
    "host.mcp host.read host.restorable host.restore host.shell.destructive host.shell.network host.shell.read host.shell.write "
    "host.unknown host.write host.write_config http.get shell.run"
).split()


def test_each_shipped_tool_was_there_first_or_is_approved_by_an_upgrade(home: Path) -> None:
    shipped = set(shipped_registry(current_config()).list_ids())
    assert shipped - set(FIRST) == set(ADDED)
