"""Destinations of commands: protected ones are stopped, everyday ones are not."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.kernel.contracts import SafetyClass
from sb.shell import ShellVerdict, classify


class World(NamedTuple):
    """A user's home with SecondBrain's in it, and a project."""

    home: Path
    project: Path

    def judge(self, command: str) -> ShellVerdict:
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        return classify(
            command, cwd=self.project, home=self.home, protected=[self.home / ".sb"], env=environment
        )

    def goes_on(self, command: str) -> bool:
        verdict = self.judge(command)
        return verdict.safety_class is not SafetyClass.DESTRUCTIVE and not verdict.refused

    def run(self, command: str) -> None:
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(
            ["bash", "-c", command], cwd=self.project, env=environment, capture_output=True, check=True
        )


def made(at: Path) -> World:
    home = at.resolve() / "ada"
    project = home / "work" / "shop"
    for folder in (
        home / ".sb",
        home / ".ssh",
        project / "src",
        project / ".claude",
        project / ".git" / "hooks",
    ):
        folder.mkdir(parents=True)
    (home / ".sb" / "config.yaml").write_text("ours\n", encoding="utf-8")
    (project / "src" / "cart.py").write_text("x = 1\n", encoding="utf-8")
    return World(home, project)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return made(tmp_path)


def pack(world: World, name: str, *entries: str) -> None:
    """An archive, a zip file or a tar file by its name, with these entries."""
    path = world.project / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as opened:
            for entry in entries:
                opened.writestr(entry, "evil\n")
        return
    with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as packed:
        for entry in entries:
            info = tarfile.TarInfo(entry)
            info.size = 5
            packed.addfile(info, io.BytesIO(b"evil\n"))


def evil(world: World) -> None:
    """Files that an attacker prepares in the project, which nobody is asked about."""
    folder = world.project / "evil" / ".sb"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("evil\n", encoding="utf-8")
    pack(world, "evil.tar", ".sb/config.yaml")
    pack(world, "evil.zip", ".sb/config.yaml")
    patch = "--- a/.sb/config.yaml\n+++ b/.sb/config.yaml\n@@ -1 +1 @@\n-ours\n+evil\n"
    (world.project / "evil.patch").write_text(patch, encoding="utf-8")


ATTACKS = {
    "cp": "cp -r evil/. ~",
    "rsync": "rsync -a evil/ ~/",
    "tar": "tar -C ~ -xf evil.tar",
    "cd": "cd ~ && tar xf work/shop/evil.tar",
    "subshell": "(cd && tar xf work/shop/evil.tar)",
    "unzip": "unzip -o evil.zip -d ~",
    "zipfile": f"{shlex.quote(sys.executable)} -m zipfile -e evil.zip ~",
    "patch": "patch -d ~ -p1 < evil.patch",
    "apply": "git -C ~ apply work/shop/evil.patch",
    "busybox": "busybox tar xf evil.tar -C ~",
    "cpio": "cd evil && find .sb | cpio -pdmu ~",
    "find": "cd evil && find . -name config.yaml -exec cp --parents {} ~ \\;",
    "env": "env -C .. cp -r shop/evil/. ~",
    "loop": "for d in ~; do cp -r evil/. $d; done",
    "packed here": "tar cf - -C evil . | tar xf - -C ~",
    "one of two": "for d in ~ src; do tar xf evil.tar -C $d; done",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_destination_over_secondbrains_home_is_stopped(attack: str, world: World) -> None:
    evil(world)
    verdict = world.judge(attack)
    assert verdict.refused or verdict.safety_class is SafetyClass.DESTRUCTIVE
    needed = {"busybox", "rsync", "unzip", "patch", "cpio", "git"} & set(attack.split())
    if not all(map(shutil.which, needed)):
        return
    world.run(attack)  # it is no false alarm
    assert (world.home / ".sb" / "config.yaml").read_text(encoding="utf-8") == "evil\n"


@pytest.mark.parametrize(
    "line",
    [
        "cp -r safe/. ~",
        "cp -r safe/* ~",
        "rsync -a safe/ ~/",
        "tar xf safe.tar -C ~",
        "tar xzf safe.tgz -C ~",
        "unzip safe.zip -d ~",
        "cd ~ && tar xf work/shop/safe.tar",
        "echo go && cp -r safe/. ~",
        "cp -r safe ~",
        "cp notes.txt ~/",
        "cp *.txt ~",
        "git clone https://example.org/a/b ~/b",
        "tar xf evil.tar -C src",
        "tar xf evil.tar notes.txt -C ~",
        "unzip evil.zip",
        "patch -p1 < safe.patch",
        "patch -p1 <<'X'\n--- a/src/cart.py\n+++ b/src/cart.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\nX",
        "cp -r safe/. .",
        "cp -r template/.github .",
        "mv safe/* .",
        "cd src && curl -sL https://example.org/x.tgz | tar xz",
        'd=$(mktemp -d) && curl -sL https://example.org/x.tgz | tar xz -C "$d"',
        'cd "$(mktemp -d)" && unzip -q ~/x.zip',
    ],
)
def test_entries_that_overwrite_nothing_protected_are_allowed(line: str, world: World) -> None:
    evil(world)
    (world.project / "safe" / "docs").mkdir(parents=True)
    (world.project / "safe" / "docs" / "a.md").touch()
    (world.project / "notes.txt").touch()
    (world.project / "template" / ".github" / "workflows").mkdir(parents=True)
    for name in ("safe.tar", "safe.tgz", "safe.zip"):
        pack(world, name, "docs/a.md", "b.txt")
    (world.project / "safe.patch").write_text("--- a/src/cart.py\n+++ b/src/cart.py\n", encoding="utf-8")
    assert world.goes_on(line), world.judge(line)


@pytest.mark.parametrize(
    "line",
    [
        "ln -s ~/.ssh safe/.ssh; cp -r safe/. ~",
        "mkdir -p safe; mv evil/.sb safe/; cp -r safe/. ~",
        "sleep 60; cp -r safe/. ~",
        "make; tar xf safe.tar -C ~",
        "cp evil.tar safe.tar && tar xf safe.tar",
        "curl -so safe.tar https://example.org/x && tar xf safe.tar",
        "for x in 1 2; do cp -r safe/. ~; mv evil/.sb safe; done",
        "f() { cp -r safe/. ~; }; sleep 60; f",
        "cp -r safe/. ~ > fifo",
        "cp -r safe/. ~ < fifo",
    ],
)
def test_source_that_the_line_may_change_is_not_trusted(line: str, world: World) -> None:
    evil(world)
    (world.project / "safe").mkdir()
    pack(world, "safe.tar", "b.txt")
    assert not world.goes_on(line), world.judge(line)


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        ([".claude/settings.json"], "tar xf x.tar"),
        ([".claude/settings.json"], "tar xzf x.tgz"),
        (["./.claude//settings.local.json"], "tar xf x.tar -C ."),
        ([".git/hooks/pre-commit"], "unzip x.zip"),
        ([".git/config"], "tar xf x.tar --strip-components 0"),
        (["pack/.mcp.json"], "tar xf x.tar --strip-components=1"),
        (["a/opencode.json"], "unzip -j x.zip"),
        (["shop/.codex/config.toml"], "tar xf x.tar -C .."),
        (["x/.bashrc"], "tar xf x.tar -C ~ --strip-components=1"),
        ([".config/autostart/x.desktop"], "unzip x.zip -d ~"),
    ],
)
def test_an_archive_with_what_decides_about_agents_or_git_is_looked_into(
    entries: list[str], line: str, world: World
) -> None:
    pack(world, next(word for word in line.split() if word.startswith("x.")), "a.txt", *entries)
    assert not world.goes_on(line), world.judge(line)


def test_a_link_in_an_archive_is_followed(world: World) -> None:
    with tarfile.open(world.project / "x.tar", "w") as packed:
        link = tarfile.TarInfo("docs")
        link.type, link.linkname = tarfile.SYMTYPE, ".claude"
        packed.addfile(link)
        packed.addfile(tarfile.TarInfo("docs/settings.json"))
    assert not world.goes_on("tar xf x.tar")
    with tarfile.open(world.project / "y.tar", "w") as packed:
        link.linkname = "../../.ssh"
        packed.addfile(link)
    assert not world.goes_on("tar xf y.tar")


def test_a_link_by_which_the_home_is_found_is_neither_taken_away_nor_led_elsewhere(world: World) -> None:
    link = world.home.parent / "by-link"
    link.symlink_to(world.home)
    mine = [link / ".sb"]
    for command in (f"rm {link}", f"unlink {link}", f"ln -sfn /tmp {link}"):
        assert classify(command, cwd=world.project, home=link, protected=mine, env={}).refused, command
    (world.project / "data").symlink_to("src")
    for command in ("rm data", "ln -sfn docs data"):
        assert not classify(command, cwd=world.project, home=link, protected=mine, env={}).refused, command


def test_a_folder_with_more_entries_than_are_looked_at_waits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sb.shell.destinations.listing.MOST_ENTRIES", 20)
    (world.project / "many").mkdir()
    for number in range(25):
        (world.project / "many" / str(number)).touch()
    pack(world, "many.tar", *map(str, range(25)))
    assert not world.goes_on("cp -r many/. ~")
    assert not world.goes_on("tar xf many.tar")
    assert world.goes_on("cp -r many/. src")


def test_an_archive_that_unpacks_to_very_much_is_not_unpacked(world: World) -> None:
    import gzip

    with gzip.open(world.project / "bomb.tgz", "wb", compresslevel=1) as opened:
        for _ in range(70):
            opened.write(bytes(1 << 20))
    begun = time.process_time()
    assert not world.goes_on("tar xzf bomb.tgz")
    assert world.goes_on("tar xzf bomb.tgz -C src")
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("content", "goes_on"),
    [("4711\n", True), ("4711 4712", True), ("-1", False), ("0", False), ("1", False), ("x", False)],
)
def test_processes_of_a_file_are_ended_if_it_holds_nothing_else(
    content: str, goes_on: bool, world: World
) -> None:
    (world.project / "app.pid").write_text(content, encoding="utf-8")
    for line in ("kill -TERM $(cat app.pid)", 'kill "$(< app.pid)"', "cat app.pid | xargs kill -9"):
        assert world.goes_on(line) == goes_on, line


HOMES = ("~", "~/", '"$HOME"', "$HOME/.", "../..", "~/work/..", "${HOME}", "{home}")
BRINGS = (
    "cp -r evil/. {to}",
    "cp -a evil/.sb {to}",
    "cp -rt {to} evil/.sb",
    "cp -rT evil {to}",
    "cp --recursive --target-directory={to} evil/.sb",
    "mv evil/.sb {to}",
    "mv -t {to} evil/.sb",
    "ln -s evil/.sb {to}",
    "rsync -a evil/ {to}",
    "rsync -a host:x/ {to}",
    "scp -r host:.sb {to}",
    "rclone copy remote: {to}",
    "tar xf evil.tar -C {to}",
    "tar -xC {to} -f evil.tar",
    "tar --extract --directory {to} --file evil.tar",
    "cat evil.tar | tar x -C {to}",
    "unzip evil.zip -d {to}",
    "bsdtar -xf evil.tar -C {to}",
    "7z x evil.7z -o{to}",
    "cpio -id -D {to} < evil.cpio",
    "patch -p1 -d {to} < evil.patch",
    "patch -d {to} -i evil.patch",
    "git -C {to} apply evil.patch",
    "git -C {to} checkout topic",
    "git clone x {to}/.ssh",
    "python -m zipfile -e evil.zip {to}",
    "install -D -t {to}/.ssh x",
    "curl -o {to}/.bashrc x",
    "wget -P {to}/.ssh https://example.org/authorized_keys",
    "aws s3 sync s3://x {to}",
    "docker cp c:/.ssh {to}",
    "find evil -name '.*' -exec cp -r {{}} {to} \\;",
    "ls -A evil | xargs cp -r -t {to}",
    "cd {to} && tar xf evil.tar",
    "pushd {to}; unzip evil.zip",
    "cd {to} && patch -p1 < evil.patch",
    "env -C {to} tar xf evil.tar",
)
AROUND = (
    "{}",
    "({})",
    "sh -c {!r}",
    "true && {}",
    "cd src; cd ..; {}",
    "if true; then {}\nfi",
    "for x in 1 2; do {}\ndone",
    "timeout 5 bash -c {!r}",
    "f() {{ {}\n}}; f",
    "mkdir -p build && cd build && cd .. && {}",
    "false && cd src; {}",
    "(cd src); {}",
    "cd src & {}",
)


def within(around: str, line: str) -> str:
    return around.replace("{!r}", shlex.quote(line)) if "{!r}" in around else around.format(line)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = made(tmp_path_factory.mktemp("shared"))
    evil(world)
    return world


@settings(max_examples=100)
@given(bring=st.sampled_from(BRINGS), to=st.sampled_from(HOMES), around=st.sampled_from(AROUND))
def test_no_program_overwrites_a_protected_entry_unasked(
    bring: str, to: str, around: str, shared: World
) -> None:
    line = bring.format(to=to.replace("{home}", str(shared.home)))
    line = within(around, line)
    assert not shared.goes_on(line), (line, shared.judge(line))


@settings(max_examples=40)
@given(
    bring=st.sampled_from(BRINGS),
    around=st.sampled_from(AROUND),
    to=st.sampled_from(("src", "build/x", "src/", "./vendor", "/srv/x")),
)
def test_no_program_needs_approval_in_an_unprotected_folder(
    bring: str, to: str, around: str, shared: World
) -> None:
    bring = (
        bring.replace("/.ssh", "/x")
        .replace("/.bashrc", "/x")
        .replace("evil/.sb", "evil/x")
        .replace(":.sb", ":x")
    )
    if bring.startswith("env") or (
        bring.startswith(("cd", "pushd")) and around not in ("{}", "({})", "sh -c {!r}")
    ):
        return  # where the line is by then is not followed everywhere
    line = bring.format(to=to)
    line = within(around, line)
    assert shared.goes_on(line), (line, shared.judge(line))
