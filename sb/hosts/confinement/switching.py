"""Confinement is switched off in the configuration: commands start plainly from then on."""

from __future__ import annotations

from sb.config.home import Home
from sb.hosts.confinement.store import OFF


def switch_off(home: Home) -> None:
    """Have `sb-confine` start commands without confinement, where it ever confined any.

    Raises:
        OSError: SB_HOME/confine cannot be written.
    """
    folder = home.folder / "confine"
    if folder.is_dir() and not (folder / OFF).exists():
        (folder / OFF).touch(mode=0o600)
