"""Files that the words of a command name: links, pipes, repositories and credentials among them, which no key may meet."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from sb.hosts.confinement.needs import OF_REPOSITORIES, SENDS_FOLDERS
from sb.hosts.confinement.profile import contains
from sb.hosts.hooks.confined.named_credentials import closed_by
from sb.shell.credentials.showing import OWN_LOGINS

_LONGEST_PATH = 4096
_MOST_OPTIONS = 12  # short ones in one word
_READS_FOLDERS = frozenset(("kubectl", "oc"))
_NAMES_FILE = re.compile("-[A-Za-z]*f|--f")  # options of such
_MOST_ENTRIES = 2_000  # of a folder of manifests
_SCHEME = re.compile("@|fileb?://")  # by which a client reads a file
_BEFORE_PATH = re.compile("[=,]")
_BEHIND_PATH = ",#"  # the next one of a list, or a label
_READS_NONE = frozenset(("ssh", "ssh-add"))  # but keys, which they show to nobody
_OWN_KEYS = {"scp": ("-i",)}
_PUBLIC = ".pub"


def sends_files(argv: Sequence[str]) -> bool:
    """True for a command that sends files, or folders with any link in them, by their names."""
    if argv[:1] and argv[0] in _READS_FOLDERS:
        return any("cp" in word or "from-" in word for word in argv)
    by_option = argv[:1] == ("wget",) and any(re.match("--(?:po|bo|i)|-[a-z]*i", word) for word in argv)
    return by_option or (bool(argv) and argv[0] in SENDS_FOLDERS)


def reads_files(argv: Sequence[str]) -> bool:
    """True for a command that sends files, or may show in another way what is in those that it is given."""
    by_option = argv[:1] and argv[0] in _READS_FOLDERS and any(map(_NAMES_FILE.match, argv))
    return bool(by_option) or argv[:1] in (("gpg",), ("gpg2",)) or sends_files(argv)


def hides_link(argv: Sequence[str], folder: str) -> bool:
    """True if a word of a command names a link, a pipe, a repository here, or a folder that is sent whole."""
    sends = sends_files(argv)
    for path in _paths(argv[1:], folder):
        real, plain = os.path.realpath(path), os.path.normpath(path)
        is_folder = os.path.isdir(path)
        # Some programs take ".." out by the text, others follow the link before it.
        if {real, os.path.realpath(plain)} != {plain} or (sends and is_folder):
            return True
        if is_folder and argv[0] in _READS_FOLDERS and _holds_link(path):
            return True
        if not is_folder and not os.path.isfile(path) and plain != os.devnull:
            return True
        # The folder of the call itself is looked at as the session's own repository.
        of_repository = argv[0] in OF_REPOSITORIES and plain != os.path.realpath(folder)
        if of_repository and any(os.path.lexists(os.path.join(path, name)) for name in (".git", "HEAD")):
            return True
    return False


def names_credential(
    argv: Sequence[str], folder: str, closed: Collection[str], asked: Collection[str]
) -> bool:
    """True if a word names a credential beyond the login of its program, which could show it by its own keys.

    Args:
        closed: files and folders that no call reads by itself. asked: words that a person is asked about.
    """
    if argv[0] in _READS_NONE:
        return False
    whole = argv[0] in _READS_FOLDERS and reads_files(argv)
    logins = () if argv[0] in _READS_FOLDERS else (*OWN_LOGINS, *_OWN_KEYS.get(argv[0], ()))
    before = ""
    for word in argv[1:]:
        previous, before = before, word
        if word in asked or previous in logins or word.partition("=")[0] in logins:
            continue
        for path in map(os.path.realpath, _paths([word], folder)):
            inside = any(closed_by(path, closed)) or (
                whole and any(contains(path, place) for place in closed)
            )
            if inside and not path.endswith(_PUBLIC):
                return True
    return False


def _holds_link(folder: str) -> bool:
    """True if there is a link in a folder, or more in it than is looked at."""
    seen = 0
    for place, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES or any(
            os.path.islink(os.path.join(place, name)) for name in (*folders, *files)
        ):
            return True
    return False


def _paths(words: Iterable[str], folder: str) -> Iterator[str]:
    """The existing paths that words may name: as they are written, and without ".." by their text."""
    for text in _values(words):
        path = os.path.join(folder, os.path.expanduser(text))
        if "\0" not in path and len(path) <= _LONGEST_PATH:
            yield from (place for place in {path, os.path.normpath(path)} if os.path.lexists(place))


def _values(words: Iterable[str]) -> Iterator[str]:
    """The texts in words that may be paths: behind "=" and ",", and behind short options in one word (`-aFfile`)."""
    for word in words:
        starts = [0, *(match.end() for match in _BEFORE_PATH.finditer(word))]
        if word[:1] == "-" and word[1:2] != "-":
            starts += range(2, min(len(word), _MOST_OPTIONS))
        for start in starts:
            ends = {len(word), *(word.find(char, start, start + _LONGEST_PATH) for char in _BEHIND_PATH)}
            for text in (word[start:end] for end in ends if 0 < end - start <= _LONGEST_PATH):
                yield text
                if scheme := _SCHEME.match(text):
                    yield text[scheme.end() :]
