"""Destinations of programs: the arguments that name one, and what is put there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sb.shell.copying import copied, delivered, synchronised, transferred
from sb.shell.fetching import by_git, downloaded, fetched
from sb.shell.options import Arrival, parsed
from sb.shell.unpacking import INTO, copied_in, extracted, into, patched, unpacked, untarred, unzipped
from sb.shell.words import compiled

if TYPE_CHECKING:
    from sb.shell.judge import Judge


def arrivals(judge: Judge, program: str, arguments: Sequence[str]) -> Iterator[Arrival]:
    """The destinations that a program's arguments name, with what lands there."""
    program = _ALIKE.get(program, program)
    if program.startswith(("python", "pypy")):
        program = "python"
    if placing := _PROGRAMS.get(program):
        yield from placing(judge, program, arguments)
    elif program == "ssh-keygen" and arguments[:1] and compiled("-[lBL][vf]*").fullmatch(arguments[0]):
        return  # it only prints fingerprints or certificates
    elif known := _FILES.get(program):
        options = parsed(arguments, *known[:2])
        values = options.of(*(f"-{letter}" for letter in known[0]), *known[1].split())
        yield from (Arrival(value) for value in [*values, *options.rest[known[2]]])


_Placing: TypeAlias = Callable[["Judge", str, Sequence[str]], Iterator[Arrival]]
_ALIKE = {
    **{f"g{name}": name for name in ("cp", "mv", "ln", "install", "tar")},
    **dict.fromkeys(("7za", "7zz", "7zr", "p7zip"), "7z"),
    "dpkg-deb": "dpkg",
    "https": "http",
    "rar": "unrar",
    "link": "ln",
}
_PROGRAMS: dict[str, _Placing] = {
    **dict.fromkeys(("cp", "mv", "ln", "install", "ditto"), copied),
    **dict.fromkeys(("rsync", "scp", "sftp"), synchronised),
    **dict.fromkeys(("rclone", "gsutil", "aws", "docker", "podman", "kubectl"), transferred),
    **dict.fromkeys(("tar", "bsdtar"), untarred),
    **dict.fromkeys(("7z", "unrar", "jar", "dpkg", "python"), extracted),
    **dict.fromkeys(("cpio", "pax"), copied_in),
    **dict.fromkeys(INTO, into),
    **dict.fromkeys(("curl", "wget"), downloaded),
    **dict.fromkeys(("aria2c", "gh", "http", "xh"), fetched),
    **dict.fromkeys(("gunzip", "bunzip2", "unxz", "unzstd", "uncompress", "openssl"), unpacked),
    "unzip": unzipped,
    "patch": patched,
    "git": by_git,
    **dict.fromkeys(("hg", "svn", "az", "gcloud", "make", "gmake"), delivered),
}
# Programs that write the files that an option, or some of their arguments, name.
_FILES: dict[str, tuple[str, str, slice]] = {
    **dict.fromkeys(("sort", "shuf", "tree", "pandoc", "iconv", "base64"), ("o", "--output", slice(0))),
    **dict.fromkeys(("xmllint", "diff"), ("", "--output", slice(0))),
    "history": ("wa", "", slice(0)),
    "gpg": ("o", "--output", slice(0)),
    "ssh-keygen": ("f", "", slice(0)),
    "split": ("", "", slice(1, 2)),
    **dict.fromkeys(("uniq", "xxd"), ("", "", slice(1, 2))),
    "sponge": ("", "", slice(0, 1)),
    **dict.fromkeys(("pip", "pip3"), ("td", "--target --dest --prefix --wheel-dir", slice(0))),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("", "--prefix --pack-destination --modules-folder", slice(0))),
    **dict.fromkeys(("mysqldump", "mariadb-dump"), ("r", "--result-file --tab", slice(0))),
    **dict.fromkeys(("pg_dump", "pg_dumpall", "pg_basebackup"), ("fD", "--file --pgdata", slice(0))),
    **dict.fromkeys(("ffmpeg", "convert", "magick", "mmv"), ("", "", slice(-1, None))),
    "mongodump": ("o", "--out --archive", slice(0)),
    "unsquashfs": ("d", "--dest", slice(0)),
    "lz4": ("", "", slice(1, 2)),
    "cargo": ("", "--root", slice(0)),
    "helm": ("d", "--destination --output-dir", slice(0)),
    "logrotate": ("s", "--state", slice(0)),
    "cmake": ("", "--prefix", slice(0)),
    "rename": ("", "", slice(1, None)),
    "zip": ("", "", slice(0, 1)),
}
