"""The coding-agent hosts by name; what is known of one is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from sb.base.text import nearest, plain
from sb.errors import NotFoundError

if TYPE_CHECKING:
    from sb.hosts.hooks.adapter import Adapter
    from sb.hosts.install.host import Host
    from sb.hosts.transcripts import TranscriptReader

# What is known of each host, in modules of its folder: add a host here.
#   hooks: it calls `sb hook`; its events.py reads them. settings: install/settings.yaml describes them.
#   transcripts: its transcripts.py has a READER (else UNREAD, which says why not). prompts: that one also tells what was
#   asked and answered. servers: server_files.py says where it names its MCP servers.
#   run: `sb run` starts it, with the files that running.yaml lists.
_KNOWN = {
    "claude-code": "hooks settings transcripts prompts servers run",
    "claude-desktop": "settings",
    "codex": "hooks settings transcripts prompts servers run",
    "cursor": "hooks settings transcripts servers run",
    "vscode": "hooks settings servers",
    "copilot": "hooks settings transcripts servers run",
    "gemini-cli": "hooks settings transcripts prompts servers run",
    "windsurf": "hooks settings transcripts servers",
    "opencode": "hooks servers run",
}


def _with(what: str) -> tuple[str, ...]:
    return tuple(host for host, known in _KNOWN.items() if what in known.split())


# In the table's order: the first that recognises its own fields takes a payload that is not of the host that was named.
WITH_HOOKS = _with("hooks")
WITH_SETTINGS = tuple(sorted(_with("settings")))
WITH_TRANSCRIPTS = tuple(sorted(_with("transcripts")))
WITH_PROMPTS = tuple(sorted(_with("prompts")))
WITH_SERVERS = tuple(sorted(_with("servers")))
WITH_RUN = tuple(sorted(_with("run")))
WITHOUT_TRANSCRIPTS = tuple(sorted({*WITH_HOOKS} - {*WITH_TRANSCRIPTS}))


def adapter_for(named: str, payload: dict[str, Any]) -> Adapter:
    """The adapter of the host that sent a payload: several hosts read one settings file.

    Args:
        named: the host that the installed entry is for; it counts when nobody recognises the payload.

    Raises:
        ValueError: there is no such host.
    """
    if named not in WITH_HOOKS:
        raise ValueError(f"no host {named!r}{nearest(named, WITH_HOOKS)}; known: {', '.join(WITH_HOOKS)}")
    first = _adapter(named)
    if first.is_sender(payload):
        return first
    others = (_adapter(host) for host in WITH_HOOKS if host != named)
    return next((adapter for adapter in others if adapter.is_sender(payload)), first)


def events_module(name: str) -> str:
    """The module that holds what is known of a host's events."""
    return f"sb.hosts.{name.replace('-', '_')}.events"


def installable() -> list[str]:
    """The hosts that `sb install` takes."""
    return [name for name in WITH_SETTINGS if host_settings(name).has_hooks]


def host_settings(name: str) -> Host:
    """Where a host keeps its settings, and our entries in them.

    Raises:
        NotFoundError: there is no such host.
    """
    if name not in WITH_SETTINGS:
        suggestion = nearest(name, WITH_SETTINGS)
        raise NotFoundError(f"no host {plain(name, one_line=True)}{suggestion}", ", ".join(WITH_SETTINGS))
    from sb.hosts.install.known_hosts import known_host

    return known_host(name)


def transcript_reader(name: str) -> TranscriptReader:
    """The reader of a host's transcripts.

    Raises:
        NotFoundError: there is no such host, or its transcripts are not read.
    """
    shown = plain(name, one_line=True)
    if name in WITHOUT_TRANSCRIPTS:
        why = import_module(_transcripts_module(name)).UNREAD
        raise NotFoundError(f"transcripts of {shown} cannot be read: {why}", ", ".join(WITH_TRANSCRIPTS))
    if name not in WITH_TRANSCRIPTS:
        raise NotFoundError(f"no host {shown}{nearest(name, WITH_TRANSCRIPTS)}", ", ".join(WITH_TRANSCRIPTS))
    return cast("TranscriptReader", import_module(_transcripts_module(name)).READER)


def _transcripts_module(name: str) -> str:
    return f"sb.hosts.{name.replace('-', '_')}.transcripts"


def _adapter(name: str) -> Adapter:
    return cast("Adapter", import_module(events_module(name)).ADAPTER)
