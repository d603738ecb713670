"""Resolve a key to its versioned decision.

Decisions are YAML files named after their key. Those of the package can be replaced by files of the same name
in folders that the operator lists. Source: the kernel reference, "Context injection bridge".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from sb.base.documents import parse_yaml
from sb.base.reading import Field, Place, Report, WrongValue, choice, record
from sb.base.text import human_bytes, nearest
from sb.base.values.frozen import frozen
from sb.decisions.injection import BODY, KIND, TEXT, ContextInjection
from sb.errors import ConfigError, NotFoundError
from sb.log.kinds import KEY

_MAJOR = re.compile(r".*\.v([1-9][0-9]*)")
_VERSION = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+")
_SUFFIX = ".yaml"
MAX_BYTES = 64 * 1024


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


_FIELDS = (
    Field("key", TEXT, "the name of the file, without .yaml", required=True),
    Field("version", TEXT, "such as 1.0.0", required=True),
    Field("description", TEXT, "what it decides", required=True),
    Field("kind", choice(KIND), required=True),
    Field("body", BODY, "the decision itself", required=True),
)


def _read(file: Traversable, key: str) -> DecisionSpec:
    where = str(file)
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{where}: is larger than {human_bytes(MAX_BYTES)}")
    return _spec(data, where, key)


@lru_cache(maxsize=16)  # each prompt that is compiled reads its decision again, which changes rarely
def _spec(data: bytes, where: str, key: str) -> DecisionSpec:
    report = Report(where)
    try:
        document = parse_yaml(data, report)
        if document is None:
            raise Place(report).refuse("is empty", "write key, version, description, kind and body")
        return record(_FIELDS, partial(_named, key)).read(document, Place(report, line=1))
    except WrongValue:
        report.require_none("")
        raise


def _named(key: str, values: dict[str, Any], place: Place) -> DecisionSpec:
    if values["key"] != key:
        at = place.below(place.value, "key")
        raise at.refuse(f"is {values['key']!r}, but the file is named after {key!r}")
    at = place.below(place.value, "version")
    version, major = _VERSION.fullmatch(values["version"]), _MAJOR.fullmatch(key)
    if version is None:
        raise at.refuse(f"is {values['version']!r}, must be like 1.0.0")
    if major is None or version[1] != major[1]:
        raise at.refuse(f"is {version[0]}, which is not a version of {key}")
    return DecisionSpec(**values)
