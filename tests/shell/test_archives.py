"""Archives and patches that a hostile page brings: what would land on settings waits, and none holds the judge up."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.shell.test_destinations import World, made

HOOK = ".git/hooks/pre-commit"
SETTINGS = ".claude/settings.json"
SYMBOLIC, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.fixture
def world(tmp_path: Path) -> World:
    return made(tmp_path)


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


def tar(*entries: tarfile.TarInfo) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as packed:
        for info in entries:
            packed.addfile(info)
    return data.getvalue()


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for name in names:
            packed.writestr(name, "evil\n")
    return data.getvalue()


FINE = tar(entry("fine"))
TARS: dict[str, bytes] = {
    "link to a link": tar(
        entry("a", SYMBOLIC, "b"), entry("b", SYMBOLIC, "c"), entry("c", SYMBOLIC, "x"), entry("x/" + HOOK)
    ),
    "link to a folder with settings": tar(entry("a", SYMBOLIC, ".git")),
    "link behind a link": tar(
        entry("a", SYMBOLIC, ".git"), entry("b", SYMBOLIC, "a/hooks"), entry("b/pre-commit")
    ),
    "link to a file that a later command writes": tar(entry("a", SYMBOLIC, SETTINGS)),
    "hard link": tar(entry("a", HARD, ".git/config")),
    "upwards behind a link": tar(entry("d/a", SYMBOLIC, "e/../../.git/config")),
    "upwards": tar(entry("../" + HOOK)),
    "second archive": FINE + tar(entry(HOOK)),
    "damaged block": FINE[:512] + b"damaged!" * 64 + tar(entry(HOOK)),
    "zip archive behind it": tar(entry(HOOK)) + zipped("fine"),
    "compressed, and a zip archive behind it": gzip.compress(tar(entry(HOOK))) + zipped("fine"),
}


@pytest.mark.parametrize("data", TARS.values(), ids=TARS)
def test_tar_archive_that_may_reach_settings_waits(world: World, data: bytes) -> None:
    (world.project / "a.tar").write_bytes(data)
    for command in ("tar xf a.tar", "tar --ignore-zeros -xf a.tar", "tar xf - < a.tar"):
        assert not world.goes_on(command), command


def test_links_within_an_archive_are_allowed(world: World) -> None:
    links = entry("bin/run", SYMBOLIC, "../lib/run.js"), entry("lib/current", SYMBOLIC, "v1")
    (world.project / "a.tar").write_bytes(tar(entry("lib/v1/run.js"), *links, entry("lib/current/more.js")))
    assert world.goes_on("tar xf a.tar")
    long = tar(entry("folder/" * 40 + "name"), entry("name"))
    (world.project / "a.tar").write_bytes(long)
    assert world.goes_on("tar xf a.tar")


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_each_form_of_tar_is_read(world: World, form: int) -> None:
    for name, goes_on in (("deep/" * 25 + "ä.txt", True), ("deep/" * 25 + HOOK, False)):
        with tarfile.open(world.project / "a.tar", "w", format=form) as packed:
            packed.addfile(entry(name))
        assert world.goes_on("tar xf a.tar") is goes_on, name


ZIPS = {
    "upwards": ("unzip -o a.zip", "../" + HOOK),
    "upwards by Python": ("python3 -m zipfile -e a.zip .", "../" + HOOK),
    "without its ending": ("unzip -o a", HOOK),
    "by a pattern": ("unzip -o 'a*'", HOOK),
    "with a control character": ("unzip -o a.zip", ".git\x01/hooks/pre-commit"),
    "without its folders": ("cd ~ && unzip -oj work/shop/a.zip", "docs/.bashrc"),
    "with options from outside": ("UNZIP=-: unzip -o a.zip", "../../.bashrc"),
}


@pytest.mark.parametrize(("command", "name"), ZIPS.values(), ids=ZIPS)
def test_zip_archive_that_may_reach_settings_waits(world: World, command: str, name: str) -> None:
    (world.project / "a.zip").write_bytes(zipped(name))
    assert not world.goes_on(command)


@pytest.mark.parametrize(
    "command",
    [
        "TAR_OPTIONS=--transform=s,fine,.bashrc, tar xf a.tar",
        "export TAR_OPTIONS=-P; tar xf a.tar",
        "env TAR_OPTIONS=-P tar xf a.tar",
        "ln -s .git g && tar --keep-directory-symlink -xf a.tar",
    ],
)
def test_options_that_move_what_is_unpacked_wait(world: World, command: str) -> None:
    (world.project / "a.tar").write_bytes(FINE)
    assert not world.goes_on(command)


PATCH = '--- /dev/null\n+++ "b/NAME"\n@@ -0,0 +1 @@\n+evil\n'
LINK = "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+.claude/settings.json\n"
PATCHES = {
    "escaped dot": PATCH.replace("NAME", r"\056claude/settings.json"),
    "escaped letter": PATCH.replace("NAME", r".clau\144e/settings.json"),
    "behind an X": "".join(
        f"X{line}\n" for line in ["--- a/x", f"+++ b/{SETTINGS}", "@@ -0,0 +1 @@", "+evil"]
    ),
    "link": LINK,
}


@pytest.mark.parametrize("text", PATCHES.values(), ids=PATCHES)
def test_patch_that_may_reach_settings_waits(world: World, text: str) -> None:
    (world.project / "p.diff").write_text(text, encoding="utf-8")
    for command in ("patch -p1 < p.diff", "patch -p1 -i p.diff", f"patch -p1 <<'E'\n{text}E"):
        assert not world.goes_on(command), command


def test_patch_of_a_name_with_escapes_goes_on(world: World) -> None:
    (world.project / "p.diff").write_text(PATCH.replace("NAME", r"docs/\303\244.txt"), encoding="utf-8")
    assert world.goes_on("patch -p1 < p.diff")


def sized(size: int) -> bytes:
    """A header that gives a size as a binary number."""
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\x80" + size.to_bytes(11, "big")
    header[148:156] = b"%06o\0 " % (sum(header) - sum(header[148:156]) + 256)
    return bytes(header) + bytes(1024)


def pax(records: bytes) -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, len(records)
    return header.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % 512) + FINE


def crowded_zip(count: int) -> bytes:
    entries = (struct.pack("<4s42xB", b"PK\1\2", 0)[:28] + b"\1" + bytes(17) + b"a") * count
    return entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, len(entries), 0, 0)


BOMBS: dict[str, Callable[[], bytes]] = {
    "10 GB in a header": lambda: sized(10 << 30),
    "more than a number holds": lambda: gzip.compress(sized(1 << 80)),
    "digits without an end": lambda: pax(b"1" * (8 << 20)),
    "many records": lambda: pax(b"15 k1234567=vv\n" * 500_000),
    "compressed zeros": lambda: gzip.compress(bytes(200 << 20), 1),
    "compressed text": lambda: gzip.compress(b"a" * (200 << 20), 1),
    "zip of a million entries": lambda: crowded_zip(1_000_000),
}


@pytest.mark.parametrize("made_of", BOMBS.values(), ids=BOMBS)
def test_bomb_holds_nobody_up_and_waits(world: World, made_of: Callable[[], bytes]) -> None:
    (world.project / "a").write_bytes(made_of())
    commands: Sequence[str] = ("tar xf a", "unzip -o a")
    for command in commands:
        began = time.process_time()
        world.judge(command)
        assert time.process_time() - began < 5, command
    assert not world.goes_on("tar xf a") or not world.goes_on("unzip -o a")
