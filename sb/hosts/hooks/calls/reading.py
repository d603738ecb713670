"""Arguments of a host's call: its texts, the paths that these may name, and command lines; each is read once."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from sb.base.values.frozen import frozen
from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.calls.spellings import spellings
from sb.hosts.hooks.event import NativeCall
from sb.shell import ShellVerdict

LONGEST_PATH = 4096  # characters
MOST_TEXTS = 10_000  # among the arguments of one call
_FILE_ADDRESS = re.compile(r"file:(?://(?:localhost)?(?=/)|(?=/)|//(?=[~.$%]))?", re.IGNORECASE)
_HOME = re.compile(
    r"^(?:\$HOME|\$\{HOME\}|%USERPROFILE%|%HOME%|\$env:(?:HOME|USERPROFILE))(?=[/\\]|$)", re.IGNORECASE
)


@frozen
class CallReading:
    """One call in its folder. What is looked up for one guard is there for the next."""

    native: NativeCall
    context: JudgingContext

    @property
    def tool(self) -> str:
        return self.native.tool

    @property
    def args(self) -> dict[str, Any]:
        return self.native.args

    def at(self, folder: str | Path) -> CallReading:
        """The call as it would be made in another folder."""
        return CallReading(self.native, self.context._replace(cwd=self.context.cwd / folder))

    @cached_property
    def _known(self) -> dict[Any, Any]:
        return {}

    def readings(self, path: str) -> list[str]:
        """The real paths that a path may name.

        Hosts differ: some take ".." away before they look at links, some put the home for "~".
        """
        if path not in self._known:
            paths: list[str] = []
            for spelling in spellings(path):
                if spelling == "~" or spelling.startswith("~/"):
                    paths.append(str(self.context.home) + spelling[1:])
                paths.append(os.path.join(self.context.cwd, spelling))
            real = (os.path.realpath(form) for each in paths for form in (os.path.normpath(each), each))
            self._known[path] = list(dict.fromkeys(real))
        return list(self._known[path])

    def loose_spellings(self, text: str) -> list[str]:
        """The paths that a tool may read from a text: a file address, a home variable, either slash."""
        if ("loose", text) not in self._known:
            self._known["loose", text] = _loose_spellings(text, str(self.context.home))
        return list(self._known["loose", text])

    def line(self, text: str, folder: str | Path = "", **options: bool) -> ShellVerdict:
        """The parser's verdict on a command line among the arguments.

        Args:
            folder: where it runs, beside or below the call's. options: of `sb.shell.classify`.
        """
        given = {name: value for name, value in options.items() if value}
        cwd = self.context.cwd / folder
        key = "line", text, str(cwd), *given
        if key not in self._known:
            self._known[key] = self.context.classify(text, cwd, **given)
        verdict: ShellVerdict = self._known[key]
        return verdict

    @cached_property
    def owns(self) -> list[str]:
        """The real paths that are SecondBrain's own."""
        return list(map(os.path.realpath, self.context.protected))

    def own_path_refusal(self, paths: Iterable[str]) -> str:
        """The reason why a call on these files is refused: one is SecondBrain's own; "" if none is."""
        owns = tuple(f"{folded_path(own)}/" for own in self.owns)
        ours = next((path for path in paths if f"{folded_path(path)}/".startswith(owns)), "")
        return f"{ours} belongs to SecondBrain; agents must not read or change it" if ours else ""

    def own_read_refusal(self) -> str:
        """The reason why a call that only reads is refused: it names SecondBrain's own files; "" if not."""
        paths: list[str] = []
        for count, text in enumerate(texts(self.args)):
            if count == MOST_TEXTS:
                return f"too many texts that may be paths (limit {MOST_TEXTS})"
            if "\0" in text:
                continue  # no system opens such a path
            for path in self.loose_spellings(text):
                if len(path) > LONGEST_PATH:  # what a host makes of it may be short
                    path = os.path.normpath(os.path.join(self.context.cwd, path))
                if len(path) <= LONGEST_PATH:
                    paths += self.readings(path)
        return self.own_path_refusal(paths)


def _loose_spellings(text: str, home: str) -> list[str]:
    read = spellings(text)
    text = text.strip()
    if len(text) > 1 and text[0] in "'\"`" and text[-1] == text[0]:
        read.append(text[1:-1])
    if address := _FILE_ADDRESS.match(text):
        from urllib.parse import unquote  # few calls need it

        path = text[address.end() :]
        read += [unquote(path), unquote(re.split("[?#]", path)[0])]
    for path in tuple(read):
        if variable := _HOME.match(path):
            read.append(home + path[variable.end() :])
        elif "$" in path:
            read.append(os.path.expandvars(path))
    read += [path.replace("\\", "/") for path in read if "\\" in path]
    return list(dict.fromkeys(read))


def texts(value: Any) -> Iterator[str]:
    """Texts and names among arguments, however deep."""
    return (text for _, text in named_texts(value, names=True))


def named_texts(value: Any, *, names: bool = False) -> Iterator[tuple[str, str]]:
    """Texts among arguments with the names that they stand under, however deep.

    Args:
        names: also the names themselves, as texts.
    """
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, item = waiting.pop()
        if isinstance(item, str):
            yield name, item
        elif isinstance(item, list):
            waiting += ((name, each) for each in item)
        elif isinstance(item, dict):
            waiting += ((key, key) for key in item if names)
            waiting += ((str(key), each) for key, each in item.items())


def folded_path(path: str) -> str:
    """A path as a file system that ignores case compares it."""
    return path.casefold() if path.isascii() else unicodedata.normalize("NFC", path).casefold()
