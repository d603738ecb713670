"""Which adapter answers an event? The sender's, which is told by its fields: one settings file is read by several hosts."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from sb.hosts.hooks.event import Adapter
from sb.text import nearest

# In this order: the first that recognises its own fields takes an event that is not of the host that was named.
HOSTS = (
    "claude-code",
    "codex",
    "cursor",
    "vscode",
    "copilot",
    "gemini-cli",
    "windsurf",
    "opencode",
)


def adapter_for(named: str, payload: dict[str, Any]) -> Adapter:
    """The adapter of whoever sent the payload.

    Args:
        named: the host that the installed entry is for; it counts when nobody recognises the payload.

    Raises:
        ValueError: there is no such host.
    """
    if named not in HOSTS:
        raise ValueError(f"no host {named!r}{nearest(named, HOSTS)}; known: {', '.join(HOSTS)}")
    first = _adapter(named)
    if first.sent(payload):
        return first
    others = (_adapter(host) for host in HOSTS if host != named)
    return next((adapter for adapter in others if adapter.sent(payload)), first)


def _adapter(host: str) -> Adapter:
    return cast(Adapter, import_module(f"sb.hosts.{host.replace('-', '_')}.events"))
