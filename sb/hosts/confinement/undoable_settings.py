"""Settings of a project that undo may bring back: those that were there before confined programs ran."""

from __future__ import annotations

from sb.hosts.confinement.profile import PROJECT_SETTINGS
from sb.hosts.confinement.watched import Watch
from sb.shell.places.git_files import FOLDER, LEADING
from sb.store.trees.known_settings import KnownSettings

_OF_GIT = (FOLDER, *("/".join((FOLDER, *own)) for own in LEADING))


def settings_of(watch: Watch | None, project: str) -> KnownSettings | None:
    """The settings of a project that a watch knows; None without a watch."""
    if watch is None:
        return None
    paths = {**dict.fromkeys(watch.known, ""), **watch.settings}
    return KnownSettings((project, *watch.started), PROJECT_SETTINGS, _OF_GIT, paths)
