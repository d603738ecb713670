"""Commands whose only harm is to files: where these are confined and kept, nobody has to be asked about them."""

from __future__ import annotations

from collections.abc import Sequence

from sb.shell.parsing.words import STAR, compiled, is_literal
from sb.shell.programs.facts import having

FILE_TOOLS = having("file_tool")
# They reach what an agent itself has started, where processes have a namespace of their own.
ENDS_PROCESSES = having("ends_processes")
REDIRECTIONS = (">", ">>", "<")  # in the list of a line's commands
# Of git what moves or deletes what is in the working tree, the index or refs; not what prunes objects, and not what reaches others.
OF_GIT = frozenset(
    "add am apply branch checkout cherry-pick clean commit diff log ls-files merge mv rebase reset restore revert rev-parse rm show stash status "
    "switch tag".split()
)
# A relative path without `..` or a hidden name, whose last part is a name or an ending.
_NAMES_BELOW = rf"(?:(?:[\w@+-][\w.@+-]*|{STAR})/)*(?:{STAR}\.)?\w[\w@+-]*(?:\.[\w.]*\w)?"
_MOVERS = frozenset(("mv", "rename", "prename", "mmv", "zmv", "qmv", "vidir"))
_REMOVE_SOURCES = ("--remove-source-files", "--remove-sent-files", "--remove-files")
_SUBTREES = ("-r", "-R", "--recursive")


def harms_files_alone(commands: Sequence[tuple[str, ...]]) -> bool:
    """True if every command of a line only creates, changes or deletes files, refs and branches.

    A recursive deletion of a folder that is known only when the line runs is not among them: it may be any folder, with
    all that no tree holds. A pattern in the line's folder that ends in a name is, such as `packages/*/dist`.

    Args:
        commands: programs with their arguments, in expanded words, as the judge of the line gives them.
    """
    return bool(commands) and all(map(is_of_files, commands))


def is_of_files(argv: Sequence[str]) -> bool:
    """True for a command that only creates, changes or deletes files, refs and branches."""
    if any("/dev/tcp/" in word or "/dev/udp/" in word or "/inet/" in word for word in argv[1:]):
        return False  # bash and gawk connect to what looks like a file
    if argv[0] in REDIRECTIONS:
        return True
    name = argv[0].rpartition("/")[2]
    if name == "git":
        return _subcommand(argv) in OF_GIT
    if name == "rm" and any(_is_recursive(word) for word in argv[1:]):
        return all(is_literal(word) or compiled(_NAMES_BELOW).fullmatch(word) for word in argv[1:])
    return name in FILE_TOOLS


def moves_files(argv: Sequence[str]) -> bool:
    """True for a command that puts files elsewhere, so that what it leaves them at may be deleted by a later one."""
    name = argv[0].rpartition("/")[2]
    if name == "git":
        all_files = any(
            word == "--all" or (word[:1] == "-" != word[1:2] and "a" in word) for word in argv[2:]
        )
        # With options before its name a subcommand is not looked for.
        return "mv" in argv[1:] or ("stash" in argv[1:] and all_files)
    return name in _MOVERS or any(word in _REMOVE_SOURCES for word in argv[1:])


def _subcommand(argv: Sequence[str]) -> str:
    """The subcommand of git; "" if options before it could change what git is or runs."""
    return argv[1] if len(argv) > 1 and not argv[1].startswith("-") else ""


def _is_recursive(word: str) -> bool:
    return word in _SUBTREES or (word[:1] == "-" and word[1:2] != "-" and bool({"r", "R"} & set(word[1:])))
