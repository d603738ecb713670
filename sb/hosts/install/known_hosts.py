"""The hosts of `settings.yaml`, with what is seen of their settings beside our entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sb.base.shipped import shipped_table
from sb.hosts.install.documents import Malformed, find
from sb.hosts.install.files import read_file, refusal
from sb.hosts.install.host import RELAXED, STRICT, Host, Observation, Places, peek
from sb.hosts.install.toml_text import TomlText


def known_host(name: str) -> Host:
    """A host as the table describes it."""
    fields: dict[str, Any] = shipped_table(__file__, "settings.yaml")[name]
    servers = fields.pop("servers", None)
    return _host(
        name,
        **fields,
        servers=_host(name, **servers) if servers else None,
        choose_file=_with_the_users_hooks if name == "codex" else lambda file: file,
        observations=_OBSERVED.get(name, lambda _file, _places: ()),
    )


def _host(name: str, *, relaxed: bool = False, **fields: Any) -> Host:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
    }
    return Host(name, form=RELAXED if relaxed else STRICT, **values)


def _of_claude_code(file: Path, places: Places) -> Iterator[Observation]:
    users = places.named("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    for settings in dict.fromkeys((file, users, places.project / ".claude" / "settings.json")):
        if find(peek(STRICT, settings), ("disableAllHooks",)) is True:
            yield True, f"hooks are switched off by disableAllHooks in {settings}", "remove that key"


def _with_the_users_hooks(file: Path) -> Path:
    """`hooks.json` of Codex, unless there is none and `config.toml` already has hooks.

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


def _of_codex(file: Path, places: Places) -> Iterator[Observation]:
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
    trusted = {
        _plain(key.rsplit(":", 2)[0].rsplit(":", 1)[-1])
        for key, state in known.items()
        if find(state, ("trusted_hash",))
    }
    untrusted = [event for event in known_host("codex").events if _plain(event) not in trusted]
    if untrusted:
        yield True, f"not trusted yet: {', '.join(untrusted)}", "run codex, type /hooks, and trust them"
    else:
        yield False, "trusted, as far as can be seen", ""


def _plain(event: str) -> str:
    return event.replace("_", "").lower()


def _of_gemini(file: Path, places: Places) -> Iterator[Observation]:
    ours = known_host("gemini-cli").entry["name"]
    for settings in dict.fromkeys((file, places.home / ".gemini" / "settings.json")):
        switches = find(peek(RELAXED, settings), ("hooksConfig",))
        if find(switches, ("enabled",)) is False:
            yield True, f"hooks are switched off by hooksConfig.enabled in {settings}", "/hooks enable-all"
        disabled = find(switches, ("disabled",))
        if isinstance(disabled, list) and ours in disabled:
            yield (
                True,
                f"{ours} is switched off by hooksConfig.disabled in {settings}",
                f"/hooks enable {ours}",
            )


_OBSERVED: dict[str, Callable[[Path, Places], Iterable[Observation]]] = {
    "claude-code": _of_claude_code,
    "codex": _of_codex,
    "gemini-cli": _of_gemini,
}
