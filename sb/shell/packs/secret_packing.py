"""Rule packs: the sections about credentials, compiled into the table that `secrets.py` reads.

A pack holds files, commands that print a secret, names of variables, addresses of metadata services, and the hosts that a
token is meant for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sb.base.reading import Field, Place, choice, mapping, matching, record
from sb.shell.credentials.files import OwnSecrets
from sb.shell.packs.packing import Section, listed, words

_PATH = re.compile(r"/?[^/\x00-\x1f]+(?:/[^/\x00-\x1f]+)*/?")
_NAME = re.compile(r"[^/\x00-\x1f]+")
_COMMAND = re.compile(r"[^\s]+(?: [^\s]+){0,5}")
_OPTION = re.compile(r"\S+")
_WHAT = re.compile(r"[^\x00-\x1f|]{3,60}")
_VARIABLE = re.compile(r"[a-z0-9_]+")
_HOST = re.compile(r"[a-z0-9.:-]+")
_LINE = re.compile(r"[^\x00-\x1f]+")
DOTENV = "dotenv"  # the kind of files that programs load by themselves
PRIVATE = "private"  # that of files which may be read, and are not to be sent


class SecretFile(NamedTuple):
    """Files that hold one kind of secret.

    Args:
        what: for people, as in "reads an SSH key". kind: "dotenv", "private", or "".
        paths: their last components; `*` stands for characters of one, a slash at the end for a folder.
        excepted: names of files that are none.
    """

    what: str
    kind: str
    paths: tuple[str, ...]
    excepted: tuple[str, ...]


class SecretCommand(NamedTuple):
    """Commands that print a secret; with `options` only if one of them stands there, and none of `unless`."""

    what: str
    commands: tuple[str, ...]
    options: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


class Illustration(NamedTuple):
    """A command line of a pack, and whether it reads a secret."""

    command: str
    reads: bool


class Illustrated(NamedTuple):
    """The values of one section with its examples."""

    values: Any
    examples: tuple[Illustration, ...] = ()


_WHAT_FIELD = Field("what", matching("3 to 60 characters", _WHAT), required=True)
_LINES = words(_LINE, "a command line")
_EXAMPLES = (Field("reads", _LINES, default=()), Field("passes", _LINES, default=()))
_FILE_FIELDS = (
    _WHAT_FIELD,
    Field("paths", words(_PATH, "a path"), required=True),
    Field("kind", choice(DOTENV, PRIVATE), default=""),
    Field("except", words(_NAME, "a name"), default=()),
    *_EXAMPLES,
)
_COMMAND_FIELDS = (
    _WHAT_FIELD,
    Field("commands", words(_COMMAND, "a command"), required=True),
    Field("with", words(_OPTION, "an option"), default=()),
    Field("without", words(_OPTION, "an option"), default=()),
    *_EXAMPLES,
)
_VARIABLE_FIELDS = (
    Field("words", words(_VARIABLE, "a word"), required=True),
    Field("except", words(_VARIABLE, "a word"), default=()),
)


def _file(values: dict[str, Any], place: Place) -> Illustrated:
    paths, names = _folded(values["paths"]), _folded(values["except"])
    return Illustrated(SecretFile(values["what"], values["kind"], paths, names), _examples(values))


def _command(values: dict[str, Any], place: Place) -> Illustrated:
    value = SecretCommand(values["what"], values["commands"], values["with"], values["without"])
    return Illustrated(value, _examples(values))


def _examples(values: dict[str, Any]) -> tuple[Illustration, ...]:
    return tuple(Illustration(line, name == "reads") for name in ("reads", "passes") for line in values[name])


def _folded(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path.casefold() for path in paths)


def _together(found: tuple[Illustrated, ...], rules: Mapping[str, str]) -> Illustrated:
    return Illustrated(
        tuple(each.values for each in found), tuple(example for each in found for example in each.examples)
    )


def _plain(values: Any, rules: Mapping[str, str]) -> Illustrated:
    return Illustrated(values)


def own_secrets(sections: Mapping[str, Illustrated]) -> OwnSecrets:
    """The credential rules of a custom pack."""
    values = {name: section.values for name, section in sections.items()}
    return OwnSecrets(
        tuple(tuple(row) for row in values.get("secret_files", ())),
        tuple(tuple(row) for row in values.get("secret_commands", ())),
        values.get("not_secret", ()),
    )


# Of packs of one's own: they add, and only a trusted one takes away.
OWN_SECTIONS: dict[str, Section] = {
    "secret_files": Section(listed(record(_FILE_FIELDS, _file)), _together),
    "secret_commands": Section(listed(record(_COMMAND_FIELDS, _command)), _together),
    "not_secret": Section(words(_PATH, "a path"), lambda paths, rules: Illustrated(_folded(paths))),
}
_HOSTS = words(_HOST, "a host")
SECTIONS: dict[str, Section] = {
    "secret_files": OWN_SECTIONS["secret_files"],
    "secret_commands": OWN_SECTIONS["secret_commands"],
    "secret_variables": Section(
        record(_VARIABLE_FIELDS, lambda values, place: (values["words"], values["except"])), _plain
    ),
    "secret_addresses": Section(_HOSTS, _plain),
    "secret_hosts": Section(mapping(_HOSTS, "a mapping of words to hosts"), _plain),
}
