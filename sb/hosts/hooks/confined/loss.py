"""Loss of confinement: what a session is told, once, where its commands are not held although its host starts them by us."""

from __future__ import annotations

from contextlib import suppress

from sb.base.secrets.redaction import one_line
from sb.config.home import Home
from sb.hosts.confinement.store import OFF
from sb.hosts.hooks.confined.confining import Confining

_FOLDER = "unheld"  # of SB_HOME/confine: a file for each session that was told
_HOME = "home"  # where no engine is installed, which is told once a home
_LONGEST = 200


def loss_notice(confining: Confining) -> str:
    """The sentence for a session that was not told yet, "" for nothing; where it is refused, its refusal says so."""
    engine = confining.engine
    if confining.mode != "on" or not confining.enters or engine.unknown:
        return ""
    path = confining.store.folder / _FOLDER / (confining.store.session if engine.program else _HOME)
    if engine.holds:
        with suppress(OSError):  # a later loss is told again
            path.unlink()
        return ""
    if path.exists():
        return ""
    with suppress(OSError):  # told twice is better than never
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
    return (
        f"SecondBrain: commands are not confined now ({one_line(engine.fault, _LONGEST)}), so they are judged by their text "
        "alone. Tell the user; `sb doctor` shows what is wrong."
    )


def switch_off(home: Home) -> None:
    """Have `sb-confine` start commands without confinement, where it ever confined any.

    Raises:
        OSError: SB_HOME/confine cannot be written.
    """
    folder = home.folder / "confine"
    if folder.is_dir() and not (folder / OFF).exists():
        (folder / OFF).touch(mode=0o600)
