"""VS Code does not document where its chat sessions are and how they are written, so none are read."""

from __future__ import annotations

UNREAD = "VS Code does not document its chat sessions"
