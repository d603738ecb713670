"""Need of an encrypting driver: the files that name a database's key, seen before they are loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sb.config.home import Home
from sb.config.organization import policy_paths
from sb.config.sources import find_project
from sb.config.trust import is_trusted
from sb.errors import ConfigError

_SET = re.compile(rb"^[ \t]*database_key[ \t]*:[ \t]*(?![ \t]|none\b|[\"']none[\"']|#|$)", re.MULTILINE)


def is_configured(env: Mapping[str, str]) -> bool:
    """True if a file that counts here names a key: the driver is chosen before the configuration is loaded.

    These are the file of the home, those of the organization, and the project file that a person trusted. A driver that
    encrypts opens what is not encrypted too, so one file too many does no harm.
    """
    try:
        home = Home.locate(env)
        return any(map(_names_a_key, _files(home)))
    except (OSError, ConfigError):  # loading it says what is wrong
        return False


def _files(home: Home) -> Iterator[Path]:
    yield home.config_file
    yield from policy_paths()
    project = find_project(Path.cwd(), home)
    if project is not None and is_trusted(home, project):
        yield project


def _names_a_key(file: Path) -> bool:
    try:
        return _SET.search(file.read_bytes()) is not None
    except OSError:  # loading it says what is wrong
        return False
