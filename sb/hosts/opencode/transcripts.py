"""opencode keeps its sessions in a SQLite database whose tables it does not document, so none are read."""

from __future__ import annotations

UNREAD = "opencode keeps sessions in opencode.db, whose tables it does not document"
