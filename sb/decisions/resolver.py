"""Resolve a key to its versioned decision.

Decisions are YAML files named after their key. Those of the package can be replaced by files of the same name
in folders that the operator lists. Source: the kernel reference, "Context injection bridge".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from sb.decisions.injection import KIND, ContextInjection, parse
from sb.decisions.table import Table
from sb.errors import ConfigError, NotFoundError
from sb.frozen import frozen
from sb.log.kinds import KEY
from sb.text import nearest

_MAJOR = re.compile(r".*\.v([1-9][0-9]*)")
_VERSION = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+")
_SUFFIX = ".yaml"


@frozen
class DecisionSpec:
    """One decision as its file states it.

    Args:
        key: its name, ending in ``.v<major>``.
        version: ``major.minor.patch``, as text.
        kind: what the body is about.
    """

    key: str
    version: str
    description: str
    kind: str
    body: ContextInjection


class DecisionResolver:
    """Finds decision files by key and reads them strictly.

    Args:
        folders: searched in this order, before the decisions of the package. They are listed once, here; the
            files are read at each `resolve`.

    Raises:
        ConfigError: a folder cannot be listed, or has a YAML file whose name is not a versioned decision key.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._files: dict[str, Traversable] = {}
        for folder in folders:
            try:
                self._add(folder.iterdir())
            except OSError as error:
                raise ConfigError(f"decision folder {folder} cannot be listed: {error.strerror}") from None
        self._add(files("sb.decisions").joinpath("specs").iterdir())

    def _add(self, entries: Iterable[Traversable]) -> None:
        for entry in entries:
            if not entry.name.endswith(_SUFFIX):
                continue
            key = entry.name.removesuffix(_SUFFIX)
            if not KEY.fullmatch(key) or not _MAJOR.fullmatch(key):
                # Skipped, a misspelt replacement would silently leave the packaged decision in force.
                raise ConfigError(
                    f"{entry}: the file name is not a versioned decision key",
                    "an example: support.context.injection.v1.yaml",
                )
            self._files.setdefault(key, entry)

    def keys(self) -> list[str]:
        """The keys that have a file, sorted."""
        return sorted(self._files)

    def resolve(self, key: str) -> DecisionSpec:
        """Read and check the decision of this key.

        Raises:
            NotFoundError: no file has this key; the message names the nearest one.
            ConfigError: the file breaks a rule; the message names file and key, or file and line.
        """
        file = self._files.get(key)
        if file is None:
            raise NotFoundError(f"no decision {key!r}{nearest(key, self._files)}")
        return _read(file, key)


def _read(file: Traversable, key: str) -> DecisionSpec:
    from sb.decisions.documents import read_document  # imports yaml: 27 ms that listing keys need not pay

    where = str(file)
    table = Table(
        read_document(file, where),
        where,
        "",
        required=("key", "version", "description", "kind", "body"),
    )
    if table.text("key") != key:
        raise table.refuse("key", f"is {table.text('key')!r}, but the file is named after {key!r}")
    version, major = _VERSION.fullmatch(table.text("version")), _MAJOR.fullmatch(key)
    if version is None:
        raise table.refuse("version", f"is {table.text('version')!r}, must be like 1.0.0")
    if major is None or version[1] != major[1]:
        raise table.refuse("version", f"is {version[0]}, which is not a version of {key}")
    if table.text("kind") != KIND:
        raise table.refuse("kind", f"is {table.text('kind')!r}, not a known kind", f"one of {KIND}")
    return DecisionSpec(
        key=key,
        version=version[0],
        description=table.text("description"),
        kind=KIND,
        body=parse(table["body"], where, "body"),
    )
