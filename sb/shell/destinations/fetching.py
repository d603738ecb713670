"""Destinations of git and of programs that download."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.words import UNKNOWN
from sb.shell.programs.options import ANYTHING, CHECKOUT, Arrival, Content, entry, in_folder, parsed

if TYPE_CHECKING:
    from sb.shell.judge import Judge


_CHANGING = frozenset(
    "checkout switch restore pull merge rebase reset stash cherry-pick revert read-tree checkout-index submodule".split()
)


def by_git(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """The destinations of a git command."""
    folder, tree, at = ".", "", 0
    while at < len(arguments) and arguments[at][:1] == "-":
        word, value = arguments[at], "".join(arguments[at + 1 : at + 2])
        at += 2 if word in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
        if word == "-C":
            folder = in_folder(folder, value)
        elif word.startswith("--work-tree"):
            tree = value if word == "--work-tree" else word.partition("=")[2]
    verb, rest = "".join(arguments[at : at + 1]), arguments[at + 1 :]
    trees = (
        [tree, *judge.values.get("GIT_WORK_TREE", ())] if tree else judge.values.get("GIT_WORK_TREE", [""])
    )
    for named in trees:
        yield from _by_verb(verb, rest, in_folder(folder, named))


def _by_verb(verb: str, arguments: Sequence[str], tree: str) -> Iterator[Arrival]:
    if verb == "clone":
        options = parsed(
            arguments,
            "obujc",
            "--origin --branch --upload-pack --template --config --depth --reference --separate-git-dir --filter --jobs",
        )
        yield from (Arrival(in_folder(tree, item), ANYTHING) for item in options.of("--separate-git-dir"))
        name = os.path.basename(
            "".join(options.rest[:1]).rstrip("/").removesuffix("/.git").rpartition(":")[2]
        )
        for place in options.rest[1:2] or [name.removesuffix(".git") or UNKNOWN]:
            yield Arrival(in_folder(tree, place), CHECKOUT)
    elif verb in ("apply", "am"):
        options = parsed(
            arguments,
            "pC",
            "--directory --exclude --include --whitespace --unsafe-paths? --check? --stat? --numstat? --summary?",
        )
        if options.has("--check", "--stat", "--numstat", "--summary") and not options.has("--apply"):
            return
        if options.has("--unsafe-paths"):
            yield Arrival("/", ANYTHING)
        folder = in_folder(tree, *options.of("--directory"))
        if not options.has("--continue", "--abort", "--skip", "--quit"):
            yield from (Arrival(folder, Content("patch", item)) for item in options.rest or ["-"])
    elif verb == "worktree" and arguments[:1] == ["add"]:
        options = parsed(arguments[1:], "bB", "--reason")
        yield from (Arrival(in_folder(tree, place), CHECKOUT) for place in options.rest[:1])
    elif verb in ("archive", "format-patch", "bundle", "diff", "log", "show"):
        options = parsed(arguments, "o", "--output --output-directory --prefix --format")
        named = options.of("-o", "--output", "--output-directory")
        named += options.rest[1:2] if arguments[:1] == ["create"] else []
        yield from (
            Arrival(in_folder(tree, place)) for place in named if verb not in ("diff", "log", "show") or place
        )
    elif verb in _CHANGING:
        prefix = [word.partition("=")[2] for word in arguments if word.startswith("--prefix=")]
        yield Arrival(in_folder(tree, *prefix), CHECKOUT)
        if verb == "submodule" and arguments[:1] == ["add"]:
            yield from (
                Arrival(in_folder(tree, place), CHECKOUT) for place in parsed(arguments[1:], "b").rest[1:2]
            )


def downloaded(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    if program == "curl":
        options = parsed(
            arguments,
            "AbcCdDeEFHhKmoPQrtTuUwxXyYz",
            "--output --output-dir --dump-header --cookie-jar --data --header --user --url --request --trace --trace-ascii "
            "--stderr --form --upload-file --remote-name? --remote-name-all? --remote-header-name? --user-agent --proxy "
            "--etag-save --hsts --alt-svc --libcurl --max-time --retry --connect-timeout --cookie --config --referer",
        )
        folder = (options.of("--output-dir") or ["."])[-1]
        files = options.of("-o", "--output")
        yield from (Arrival(in_folder(folder, file)) for file in files if file != "-")
        others = options.of(
            "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--libcurl"
        )
        others += options.of("--etag-save", "--hsts", "--alt-svc")
        yield from (Arrival(file) for file in others if file not in ("-", "%"))
        by_address = options.has("-O", "--remote-name", "--remote-name-all")
    else:
        options = parsed(
            arguments,
            "oaeOPiBtTwQUlARDIX",
            "--output-document --output-file --append-output --directory-prefix --save-cookies --input-file --base --tries "
            "--timeout --user-agent --header --post-data --post-file --recursive? --mirror? --no-host-directories? --execute",
        )
        folder = (options.of("-P", "--directory-prefix") or ["."])[-1]
        files = options.of("-O", "--output-document")
        others = options.of("-o", "-a", "--output-file", "--append-output", "--save-cookies")
        yield from (Arrival(file) for file in [*files, *others] if file != "-")
        if options.has("-r", "-m", "--recursive", "--mirror", "-x", "-p", "-i", "--input-file"):
            yield Arrival(folder, ANYTHING)
        by_address = not files
    if by_address:
        renamed = options.has("-J", "--remote-header-name", "--content-disposition")
        for address in [*options.rest, *options.of("--url")]:
            name = os.path.basename(address.partition("?")[0].partition("#")[0]) or "index.html"
            yield Arrival(entry(folder, UNKNOWN if renamed else name))


def fetched(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """Other download programs: a folder and a file in it."""
    short, long = ("do", "--dir --out") if program == "aria2c" else ("DO", "--dir --output")
    options = parsed(arguments, short + ("o" if program != "aria2c" else ""), long)
    if program == "gh" and options.rest[1:2] not in (["download"], ["clone"]):
        return
    folders = options.of("-d" if program == "aria2c" else "-D", "--dir")
    files = options.of(
        "-o" if program == "aria2c" else "-O",
        "--out",
        "--output",
        *(["-o"] if program in ("http", "xh") else []),
    )
    yield from (Arrival(in_folder((folders or ["."])[-1], file)) for file in files if file != "-")
    if program == "gh" and options.rest[:2] == ["repo", "clone"]:
        place = options.rest[3:4] or [os.path.basename("".join(options.rest[2:3]))]
        yield from (Arrival(item, CHECKOUT) for item in place)
    elif not files and (folders or (program == "gh" and options.rest[:1] != ["repo"])):
        yield Arrival((folders or ["."])[-1], ANYTHING)
