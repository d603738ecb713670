"""Rule packs: the sections about credentials, compiled into the table that `secrets.py` reads.

A pack holds files, commands that print a secret, names of variables, addresses of metadata services, and the hosts that a
token is meant for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sb.config.document import Node, Table, describe
from sb.shell.credentials.files import OwnSecrets
from sb.shell.packs.packing import PackReader, Section

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


def _files(reader: PackReader, node: Node, key: str) -> Illustrated:
    found: list[SecretFile] = []
    examples: list[Illustration] = []
    for item, where in reader.items(node, key):
        given = reader.fields(item, where, ("what", "paths"), ("kind", "except", "reads", "passes"))
        if not given:
            continue
        kind = (
            reader.text(
                given["kind"], f"{where}.kind", re.compile(f"{DOTENV}|{PRIVATE}"), f"{DOTENV} or {PRIVATE}"
            )
            if "kind" in given
            else ""
        )
        paths = reader.texts(given["paths"], f"{where}.paths", _PATH, "a path")
        names = reader.texts(given["except"], f"{where}.except", _NAME, "a name") if "except" in given else []
        what = reader.text(given["what"], f"{where}.what", _WHAT, "3 to 60 characters")
        found.append(SecretFile(what, kind, _folded(paths), _folded(names)))
        examples += _examples(reader, given, where)
    return Illustrated(tuple(found), tuple(examples))


def _commands(reader: PackReader, node: Node, key: str) -> Illustrated:
    found: list[SecretCommand] = []
    examples: list[Illustration] = []
    for item, where in reader.items(node, key):
        given = reader.fields(item, where, ("what", "commands"), ("with", "without", "reads", "passes"))
        if not given:
            continue
        commands = reader.texts(given["commands"], f"{where}.commands", _COMMAND, "a command")
        lists = [
            reader.texts(given[name], f"{where}.{name}", _OPTION, "an option") if name in given else []
            for name in ("with", "without")
        ]
        what = reader.text(given["what"], f"{where}.what", _WHAT, "3 to 60 characters")
        found.append(SecretCommand(what, tuple(commands), *map(tuple, lists)))
        examples += _examples(reader, given, where)
    return Illustrated(tuple(found), tuple(examples))


def _variables(reader: PackReader, node: Node, key: str) -> Illustrated:
    given = reader.fields(node, key, ("words",), ("except",))
    lists = [
        tuple(reader.texts(given[name], f"{key}.{name}", _VARIABLE, "a word")) if name in given else ()
        for name in ("words", "except")
    ]
    return Illustrated(tuple(lists))


def _addresses(reader: PackReader, node: Node, key: str) -> Illustrated:
    return Illustrated(tuple(reader.texts(node, key, _HOST, "a host")))


def _hosts(reader: PackReader, node: Node, key: str) -> Illustrated:
    if not isinstance(node, Table):
        reader.wrong(node, key, f"must be a mapping of words to hosts, not {describe(node)}")
        return Illustrated({})
    return Illustrated(
        {
            entry.key: tuple(reader.texts(entry.value, f"{key}.{entry.key}", _HOST, "a host"))
            for entry in node.entries
        }
    )


def _examples(reader: PackReader, given: Mapping[str, Node], where: str) -> list[Illustration]:
    return [
        Illustration(line, name == "reads")
        for name in ("reads", "passes")
        if name in given
        for line in reader.texts(given[name], f"{where}.{name}", _LINE, "a command line")
    ]


def _folded(paths: list[str]) -> tuple[str, ...]:
    return tuple(path.casefold() for path in paths)


def _free(reader: PackReader, node: Node, key: str) -> Illustrated:
    return Illustrated(_folded(reader.texts(node, key, _PATH, "a path")))


def own_secrets(sections: Mapping[str, Illustrated]) -> OwnSecrets:
    """What a pack of one's own says of credentials."""
    values = {name: section.values for name, section in sections.items()}
    return OwnSecrets(
        tuple(tuple(row) for row in values.get("secret_files", ())),
        tuple(tuple(row) for row in values.get("secret_commands", ())),
        values.get("not_secret", ()),
    )


# Of packs of one's own: they add, and only a trusted one takes away.
OWN_SECTIONS: dict[str, Section] = {"secret_files": _files, "secret_commands": _commands, "not_secret": _free}
SECTIONS: dict[str, Section] = {
    "secret_files": _files,
    "secret_commands": _commands,
    "secret_variables": _variables,
    "secret_addresses": _addresses,
    "secret_hosts": _hosts,
}
