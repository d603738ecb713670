"""Destinations of programs that copy, move and link."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.words import compiled, is_literal
from sb.shell.places.this_machine import is_this_machine
from sb.shell.programs.options import ANYTHING, Arrival, Content, entry, in_folder, is_remote, parsed

if TYPE_CHECKING:
    from sb.shell.judge import Judge


def copied(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """`cp`, `mv`, `ln`, `install`, `ditto`."""
    short = "gmoSt" if program == "install" else "St"
    options = parsed(
        arguments,
        short,
        "--target-directory --suffix --no-target-directory? --recursive? --archive? --parents? --directory?",
    )
    if program == "install" and options.has("-d", "--directory"):
        yield from map(Arrival, options.rest)
        return
    whole = program != "cp" and program != "install"
    whole = whole or options.has("-r", "-R", "-a", "--recursive", "--archive")
    into = options.of("-t", "--target-directory")
    exact = options.has("-T", "--no-target-directory")
    if program == "mv":  # what is moved away is changed too
        yield from map(Arrival, options.rest if into else options.rest[:-1])
    alone = program == "ln" and len(options.rest) == 1 and not into
    folders = into or (["."] if alone else options.rest[-1:] if len(options.rest) > 1 else [])
    yield from _placed(
        judge,
        options.rest if into or alone else options.rest[:-1],
        folders,
        kind="unknown" if program == "ln" else "folder" if whole else "",
        surely=bool(into),
        exact=exact,
        contents=program == "ditto",
        parents=options.has("--parents"),
    )


def _placed(
    judge: Judge,
    sources: Sequence[str],
    folders: Sequence[str],
    *,
    kind: str,
    surely: bool = False,
    exact: bool = False,
    contents: bool = False,
    parents: bool = False,
) -> Iterator[Arrival]:
    """The destinations of sources: in an existing folder, or under a new name.

    Args:
        kind: of what a source that is a folder brings; "" where folders are left out.
        surely: it is a folder. exact: it takes the place of it. contents: each source is merged into it.
        parents: sources keep the folders of their names.
    """
    for folder in folders:
        inside = surely or len(sources) > 1 or folder.endswith("/") or judge.paths.is_folder(folder)
        inside = inside or any(place in judge.touched for place in judge.paths.now(folder))
        for source in sources:
            content = Content(kind or "file", source)
            name = source.lstrip("/") if parents else os.path.basename(source.rstrip("/"))
            merged = exact or contents or name in ("", ".", "..") or not inside
            if merged or (kind and source.endswith("/")):  # there are two readings of a slash at the end
                yield Arrival(folder, content)
            if not merged:
                yield Arrival(entry(folder, name), content)


_WITH_HOST = r"(?:[^/@:]*@)?(\[[^]/]*\]|[^/:@]+):"
_RSYNC_VALUED = "eBMfT"
_RSYNC_LONG = (
    "--rsh --exclude --include --exclude-from --include-from --files-from --filter --backup-dir --suffix --log-file "
    "--partial-dir --temp-dir --compare-dest --copy-dest --link-dest --rsync-path --chmod --chown --usermap --groupmap "
    "--out-format --port --password-file --bwlimit --max-size --min-size --timeout --block-size --modify-window "
    "--write-batch --only-write-batch --relative? --dry-run?"
)


def synchronised(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """`rsync` and `scp`: a destination without a host is local."""
    if program == "rsync":
        options = parsed(arguments, _RSYNC_VALUED, _RSYNC_LONG)
        if options.has("-n", "--dry-run"):
            return
        yield from map(Arrival, options.of("--log-file", "--write-batch", "--only-write-batch"))
        yield from (
            Arrival(folder, ANYTHING) for folder in options.of("--backup-dir", "--partial-dir", "--temp-dir")
        )
    else:
        options = parsed(arguments, "cFiJloPSX")
    *sources, folder = options.rest or [":"]
    if (named := compiled(_WITH_HOST).match(folder)) and is_this_machine(named[1]):
        folder = in_folder("~", folder[named.end() :])
    if is_remote(folder) or folder == ":":
        return
    listed = options.has("--files-from")
    for source in sources:
        path = source.rpartition(":")[2] if is_remote(source) else source
        content = ANYTHING if is_remote(source) or listed else Content("folder", source)
        name = path.lstrip("/") if options.has("-R", "--relative") else os.path.basename(path.rstrip("/"))
        if listed or path.endswith(("/", "/.", "/..")) or name in ("", ".", ".."):
            yield Arrival(folder, content)
        else:
            surely = program == "rsync" and not _is_file(judge, folder)
            yield from _placed(judge, [name], [folder], kind="", surely=surely)
            # What a name holds that is a folder here, or on the other host.
            yield Arrival(entry(folder, name), content)


def _is_file(judge: Judge, word: str) -> bool:
    return is_literal(word) and any(map(os.path.isfile, judge.paths.now(word)))


def delivered(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """Other programs that put files at a place: checkouts of `svn` and `hg`, downloads of clouds, `make DESTDIR=…`."""
    options = parsed(
        arguments, "fd", "--file --destination --name --container-name --zone --project --recursive?"
    )
    verbs, rest = set(options.rest[:4]), options.rest
    match program:
        case "svn" | "hg" if verbs & {"checkout", "co", "export", "clone"}:
            yield from (Arrival(place, ANYTHING) for place in rest[2:3])
        case "az" if any(verb.startswith("download") for verb in verbs):
            yield from map(Arrival, options.of("-f", "--file", "-d", "--destination"))
        case "gcloud" if verbs & {"cp", "scp", "rsync", "mv"} and len(rest) > 2 and not is_remote(rest[-1]):
            yield Arrival(rest[-1])
        case "make" | "gmake":
            given = dict(word.partition("=")[::2] for word in rest if "=" in word)
            place = given.get("DESTDIR", "").rstrip("/") + (given.get("PREFIX") or given.get("prefix") or "")
            yield from map(Arrival, filter(None, [place]))


def transferred(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """Clients of object stores and containers: the last argument is the destination."""
    options = parsed(
        arguments, "cn", "--profile --region --endpoint-url --exclude --include --container --namespace"
    )
    verbs = {"rclone": 1, "gsutil": 1, "aws": 2, "docker": 1, "podman": 1, "kubectl": 1}
    at = verbs[program]
    if program in ("docker", "podman"):  # what a build writes
        yield from (
            Arrival(word.partition("dest=")[2].partition(",")[0]) for word in arguments if "dest=" in word
        )
    rest = [word for word in options.rest if word != "container"]
    verb, named = rest[at - 1 : at], rest[at:]
    if "".join(verb) not in "cp sync copy copyto move moveto mv rsync copyurl".split():
        return
    if len(named) < 2 or is_remote(named[-1]):
        return
    name = os.path.basename(named[-2].rpartition(":")[2].rstrip("/"))
    whole = verb[0] in ("sync", "copy", "move", "rsync") or options.has("--recursive", "-r", "-R")
    whole = whole or (at == 1 and program != "gsutil")
    if (whole and program not in ("docker", "podman", "kubectl")) or name in ("", ".", ".."):
        yield Arrival(named[-1], ANYTHING)
    else:
        yield from _placed(judge, [name], [named[-1]], kind="")
        yield Arrival(entry(named[-1], name), ANYTHING if whole else None)
