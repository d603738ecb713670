"""How is Codex joined?

A command that is missing lets its calls run. Codex runs a hook only after a person has trusted it under `/hooks`, and knows it
by file, event and position: our groups stand last in their lists, their text does not change with versions, and the
trust is never written by us. Hooks that a person keeps in `config.toml` are joined there, since Codex warns of two files.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from sb.hosts.install.documents import Malformed, find
from sb.hosts.install.entries import Entry
from sb.hosts.install.files import look, refusal
from sb.hosts.install.host import WAITS_S, Host, Places, Sight, Wanted, peek
from sb.hosts.install.toml_text import TomlText

_EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "Interrupt",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
)


def _entries(wanted: Wanted) -> list[Entry]:
    command = f"{shlex.quote(str(wanted.wrapper))} codex"
    handler = {"type": "command", "command": command, "timeout": WAITS_S}
    return [Entry(("hooks", event), {"hooks": [handler]}) for event in _EVENTS]


def _file(places: Places) -> Path:
    return _hooks_file(places.named("CODEX_HOME", ".codex"))


def _hooks_file(folder: Path) -> Path:
    """`hooks.json`, unless there is none and `config.toml` already has hooks.

    Raises:
        ConfigError: `config.toml` cannot be read.
    """
    config, file = folder / "config.toml", folder / "hooks.json"
    try:
        hooks = find(TomlText().load(look(config).text()), ("hooks",))
    except Malformed as error:
        raise refusal(config, error.what) from None
    inline = isinstance(hooks, dict) and any(name != "state" for name in hooks)
    return config if inline and not file.exists() else file


def _sights(file: Path, places: Places) -> Iterator[Sight]:
    config = peek(TomlText(), places.named("CODEX_HOME", ".codex") / "config.toml")
    if find(config, ("features", "hooks")) is False:
        yield True, "hooks are switched off by [features] hooks = false", "remove that line of config.toml"
    states = find(config, ("hooks", "state"))
    states = states if isinstance(states, dict) else {}
    names = {f"{name}:" for name in (str(file), str(file.resolve()))}
    known = {key: state for key, state in states.items() if key.startswith(tuple(names))}
    off = [key for key, state in known.items() if find(state, ("enabled",)) is False]
    if off:
        yield (
            True,
            f"switched off in config.toml: {', '.join(off)}",
            "run codex, type /hooks, and switch them on",
        )
    events = {
        _plain(key.rsplit(":", 2)[0].rsplit(":", 1)[-1])
        for key, state in known.items()
        if find(state, ("trusted_hash",))
    }
    untrusted = [event for event in _EVENTS if _plain(event) not in events]
    if untrusted:
        yield True, f"not trusted yet: {', '.join(untrusted)}", "run codex, type /hooks, and trust them"
    else:
        yield False, "trusted, as far as can be seen", ""


def _plain(event: str) -> str:
    return event.replace("_", "").lower()


CODEX = Host(
    name="codex",
    user_file=_file,
    project_file=lambda places: _hooks_file(places.project / ".codex"),
    root="hooks",
    entries=_entries,
    steps=("run codex, type /hooks, and trust the new entries: until then Codex skips them without a word",),
    sights=_sights,
)
