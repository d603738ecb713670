"""Destinations of programs that unpack and patch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sb.shell.parsing.words import compiled, is_literal
from sb.shell.programs.facts import lists
from sb.shell.programs.options import ANYTHING, Arrival, Content, in_folder, is_remote, parsed

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_UNZIP_VARIABLES = frozenset(("UNZIP", "UNZIPOPT"))  # with options
_TAR_VALUED = "fCbXTgNVLKHFI"
_TAR_LONG = (
    "--file --directory --exclude --exclude-from --files-from --strip-components --transform --xform --owner --group --mode "
    "--use-compress-program --to-command --listed-incremental --index-file --occurrence? --one-top-level? --extract? --get? "
    "--create? --append? --update? --catenate? --concatenate? --list? --to-stdout? --absolute-names? --checkpoint? "
    "--checkpoint-action? --newer --tape-length --label"
)


def untarred(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    options = parsed(_with_dashes(arguments), _TAR_VALUED, _TAR_LONG)
    files = options.of("-f", "--file")
    if options.has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--catenate", "--concatenate"):
        yield from (Arrival(file) for file in files if file != "-" and not is_remote(file))
    yield from map(Arrival, options.of("-g", "--listed-incremental", "--index-file"))
    if not options.has("-x", "--extract", "--get") or options.has("-O", "--to-stdout"):
        return
    folders = options.of("-C", "--directory") or ["."]
    folder = in_folder(*folders) if all(map(is_literal, folders)) else folders[-1]
    top = options.values.get("--one-top-level", [""])[-1]
    if options.has("-P", "--absolute-names"):
        yield Arrival("/", ANYTHING)
    if "TAR_OPTIONS" in judge.values:
        yield Arrival("/", ANYTHING)
    if options.has("--transform", "--xform", "-s", "--keep-directory-symlink") or (
        options.has("--strip-components") and program == "unpack"
    ):
        yield Arrival(folder, ANYTHING)
        return
    strip = (options.of("--strip-components") or ["0"])[-1]
    if not strip.isdigit():
        yield Arrival(folder, ANYTHING)
        return
    archive = files[-1] if files else "-"
    content = Content("archive", archive, int(strip))
    if options.has("-T", "--files-from") or not options.rest or int(strip):
        yield Arrival(in_folder(folder, top), content)
    else:  # only what is named
        for name in options.rest:
            place = in_folder(folder, top, name.lstrip("/"))
            yield (Arrival(place, ANYTHING) if is_literal(name) else Arrival(in_folder(folder, top), content))


def _with_dashes(arguments: Sequence[str]) -> list[str]:
    """The old style of `tar`: letters without a dash, their values behind them in the order of the letters."""
    first = arguments[0] if arguments else ""
    if not compiled("[A-Za-z]+").fullmatch(first):
        return list(arguments)
    rest = list(arguments[1:])
    found: list[str] = []
    for letter in first:
        found.append(f"-{letter}")
        if letter in _TAR_VALUED and rest:
            found.append(rest.pop(0))
    return found + rest


def unzipped(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    options = parsed(arguments, "dP")
    if options.has("-p", "-c", "-l", "-t", "-Z", "-z", "-v") or not options.rest:
        return
    if options.has("-:") or not _UNZIP_VARIABLES.isdisjoint(judge.values):
        yield Arrival("/", ANYTHING)
    folder, archive = (options.of("-d") or ["."])[-1], options.rest[0]
    if compiled(r".*[*?\[].*").fullmatch(archive):  # a pattern, which unzip expands itself
        yield Arrival(folder, ANYTHING)
    known = judge.paths.now(archive) if is_literal(archive) else []
    endings = ("",) if any(map(os.path.lexists, known)) else ("", ".zip", ".ZIP")
    for ending in [end for end in endings if not end or any(os.path.lexists(path + end) for path in known)]:
        yield Arrival(folder, Content("archive", archive + ending, -1 if options.has("-j") else 0))


def extracted(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """Other programs that unpack: a verb, an archive, and an option or a last argument for the folder."""
    rest = [word for word in arguments if word[:1] != "-" and word]
    attached = [word[2:] for word in arguments if word.startswith("-o") and len(word) > 2]
    match program:
        case "7z":
            if rest[:1] == ["a"]:
                yield from map(Arrival, rest[1:2])
            if rest[:1] in (["x"], ["e"]):
                strip = -1 if rest[0] == "e" else 0
                yield Arrival((attached or ["."])[-1], Content("archive", (rest[1:2] or [""])[0], strip))
        case "unrar":
            if rest[:1] in (["x"], ["e"]):
                last = (
                    rest[-1]
                    if len(rest) > 2 and (rest[-1].endswith("/") or not is_literal(rest[-1]))
                    else "."
                )
                yield Arrival(
                    rest[-1] if len(rest) > 2 and judge.paths.is_folder(rest[-1]) else last, ANYTHING
                )
        case "jar":
            if any(compiled("-?[a-zA-Z]*x[a-zA-Z]*|--extract").fullmatch(word) for word in arguments[:1]):
                options = parsed(arguments[1:], "CfF")
                yield Arrival(
                    (options.of("-C", "--dir") or ["."])[-1], Content("archive", (rest[1:] or rest)[0])
                )
        case "dpkg":
            if {"-x", "-X", "--extract", "--vextract", "-R", "--raw-extract"} & set(arguments) and len(
                rest
            ) > 1:
                yield Arrival(rest[-1], ANYTHING)
        case "python":
            yield from _by_module(arguments)


def _by_module(arguments: Sequence[str]) -> Iterator[Arrival]:
    """`python -m zipfile -e x.zip DIR` and its like."""
    words = list(arguments)
    if (files := json_files(words)) and files[1:]:
        yield Arrival(files[1])
    for at, word in enumerate(words[:-1]):
        if word in ("venv", "virtualenv") and at and words[at - 1].endswith("m"):
            yield from map(Arrival, parsed(words[at + 1 :], "p", "--prompt --python").rest)
    for module in ("zipfile", "tarfile"):
        for at, word in enumerate(words):
            named = word.endswith(f"m{module}") or (word == module and at and words[at - 1].endswith("m"))
            if not (named and words[at + 1 : at + 2]):
                continue
            verb, *rest = [
                item for item in words[at + 1 :] if item not in ("-v", "--verbose", "--filter", "data")
            ]
            if verb in ("-e", "--extract") and rest:
                yield Arrival((rest[1:2] or ["."])[0], Content("archive", rest[0]))
            elif verb in ("-c", "--create"):
                yield from map(Arrival, rest[:1])


def json_files(arguments: Sequence[str]) -> list[str]:
    """The files of `python -m json.tool`: it reads the first and writes the second."""
    at = next((at for at, word in enumerate(arguments) if word.endswith("json.tool")), len(arguments))
    return parsed(arguments[at + 1 :], "", "--indent").rest


def unpacked(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """Programs that put a file beside its packed form, and `openssl`, whose options have one dash."""
    for before, word in pairwise(["", *arguments]):
        if program == "openssl" and before in ("-out", "-keyout", "-writerand"):
            yield Arrival(word)
        elif program != "openssl" and word[:1] != "-" and "." in word.rpartition("/")[2]:
            yield Arrival(word.rpartition(".")[0])


def copied_in(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    options = parsed(
        arguments, "DEFHIMORC", "--directory --file --extract? --pass-through? --absolute-filenames?"
    )
    if program == "pax":
        options = parsed(arguments, "bcEfGghiLlmoPpsTtUvXx"[1:2] + "bfosTUx")
    if options.has("-p", "--pass-through") or (program == "pax" and options.has("-r") and options.has("-w")):
        yield from (Arrival(folder, ANYTHING) for folder in options.rest[-1:])
    elif options.has("-i", "--extract") or (program == "pax" and options.has("-r")):
        yield Arrival((options.of("-D", "--directory") or ["."])[-1] if program == "cpio" else ".", ANYTHING)
    elif options.has("-o", "--create", "-w"):
        yield from map(Arrival, options.of("-O", "-F", "-f", "--file"))


def into(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """Programs that write unknown files into the folder of an option."""
    short, long, default = lists("fills")[program]
    options = parsed(arguments, short, long)
    folders = options.of(*(f"-{letter}" for letter in short[:1]), *long.split())
    if default and not folders and options.rest:
        folders = [default]
    yield from (Arrival(folder, ANYTHING) for folder in folders)


def patched(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    options = parsed(
        arguments,
        "dioprDgVzBYF",
        "--directory --input --output --strip --reject-file --fuzz --prefix --suffix --dry-run?",
    )
    if options.has("--dry-run"):
        return
    folder = (options.of("-d", "--directory") or ["."])[-1]
    yield from (
        Arrival(in_folder(folder, file)) for file in options.of("-o", "--output", "-r", "--reject-file")
    )
    yield from (Arrival(in_folder(folder, file)) for file in options.rest[:1])
    patch = (options.of("-i", "--input") or options.rest[1:2] or ["-"])[-1]
    if not options.rest:
        yield Arrival(folder, Content("patch", patch))
