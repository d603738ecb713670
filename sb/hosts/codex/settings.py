"""Codex's settings.

A command that cannot be started lets its calls run, and exit code 2 denies, so the entry itself denies then. Codex runs a
hook only after its user has trusted it under `/hooks`, and knows it by file, event and position: our groups stand last in
their lists, their text does not change without need, and the trust is never written by us. Where the user's hooks are in
`config.toml`, ours go there too, since Codex warns of two files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sb.hosts.install.documents import Malformed, find
from sb.hosts.install.files import read_file, refusal
from sb.hosts.install.host import TIMEOUT_S, Host, Observation, Places, Wanted, peek
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


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    command = wanted.command_if_there("codex", event == "PreToolUse")
    return {"type": "command", "command": command, "timeout": TIMEOUT_S}


def _with_the_users_hooks(file: Path) -> Path:
    """`hooks.json`, unless there is none and `config.toml` already has hooks.

    Raises:
        ConfigError: `config.toml` cannot be read.
    """
    config = file.with_name("config.toml")
    try:
        hooks = find(TomlText().load(read_file(config).text()), ("hooks",))
    except Malformed as error:
        raise refusal(config, error.what) from None
    inline = isinstance(hooks, dict) and any(name != "state" for name in hooks)
    return config if inline and not file.exists() else file


def _observations(file: Path, places: Places) -> Iterator[Observation]:
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


HOST = Host(
    name="codex",
    folder=".codex",
    folder_variable="CODEX_HOME",
    file="hooks.json",
    project_file=".codex/hooks.json",
    choose_file=_with_the_users_hooks,
    root="hooks",
    events=_EVENTS,
    handler=_handler,
    grouped=True,
    steps=("run codex, type /hooks, and trust the new entries: until then Codex skips them without a word",),
    observations=_observations,
)
