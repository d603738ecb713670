"""Symptoms of confinement: messages as programs print them."""

from __future__ import annotations

import time

from sb.hosts.confinement.profile import Profile
from sb.hosts.confinement.symptoms import symptoms_in
from tests.rows import rows

HOME, CWD = "/data/nobody", "/data/nobody/shop"
PROFILE = Profile(
    writable=(CWD, "/data/tmp"),
    read_only=(f"{CWD}/.claude",),
    unreadable=(f"{HOME}/.ssh/id_ed25519", f"{HOME}/.aws", "/run/docker.sock"),
)

# Printed by the programs themselves on a read-only mount or a closed file: what is said, what could not be written, opened.
SAID = (
    ("touch: cannot touch '/data/nobody/x': Read-only file system", ("/data/nobody/x",), ()),
    ("bash: line 1: /data/nobody/.bashrc: Read-only file system", ("/data/nobody/.bashrc",), ()),
    ("OSError: [Errno 30] Read-only file system: '/data/nobody/.cache/tool'", ("/data/nobody/.cache/tool",), ()),
    ("npm error rofs EROFS: read-only file system, mkdir '/data/nobody/.npm/_cacache'", ("/data/nobody/.npm/_cacache",), ()),
    ("npm error enoent ENOENT: no such file or directory, mkdir '/data/nobody/.npm/_npx/1'", ("/data/nobody/.npm/_npx/1",), ()),
    ("error: failed to create directory `/data/nobody/.cargo/registry`\n  Read-only file system (os error 30): /data/nobody/.cargo/registry", ("/data/nobody/.cargo/registry",), ()),
    ("mv: cannot move '.claude' to 'x': Device or resource busy", (), ()),
    ("error: unable to unlink old '.claude/agents/a.md': Read-only file system", (f"{CWD}/.claude/agents/a.md",), ()),
    ("warning: failed to remove .claude/.gitignore: Read-only file system", (f"{CWD}/.claude/.gitignore",), ()),
    ("rm: .claude/: Device or resource busy", (f"{CWD}/.claude/",), ()),
    ("cat: /data/nobody/.ssh/id_ed25519: Permission denied", (), ("/data/nobody/.ssh/id_ed25519",)),
    ("PermissionError: [Errno 13] Permission denied: '/data/nobody/.aws/credentials'", (), ("/data/nobody/.aws/credentials",)),
    ("permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get", (), ("/run/docker.sock",)),
)  # fmt: skip
# Failures with another cause, and words that only sound alike.
OTHERS = (
    "cat: /data/nobody/shop/locked: Permission denied",
    "/data/nobody/shop/run.sh: Permission denied",
    "ERROR: permission denied for table orders",
    "curl: (22) The requested URL returned error: 403",
    "AssertionError: 1 != 2",
    "Error: ENOENT: no such file or directory, mkdir '/data/nobody/shop/out/a'",
    "rm: cannot remove '/data/nobody/shop/x': Device or resource busy",
    "warning: failed to remove build/x: Device or resource busy",
    "",
)


@rows("output, writes, reads", SAID)
def test_paths_of_a_message(output: str, writes: tuple[str, ...], reads: tuple[str, ...]) -> None:
    found = symptoms_in(f"building\n{output}\n", PROFILE, home=HOME, cwd=CWD)
    assert found
    assert (found.writes, found.reads, found.outside) == (writes, reads, False)
    assert found.unnamed == (not writes and not reads)


@rows("output", OTHERS)
def test_other_failures_are_not_put_on_confinement(output: str) -> None:
    found = symptoms_in(output, PROFILE, home=HOME, cwd=CWD)
    assert not (found.writes)
    assert not (found.reads)
    assert not (found.outside)


def test_program_that_needs_more_rights() -> None:
    text = 'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.'
    assert symptoms_in(text, PROFILE, home=HOME, cwd=CWD).outside


def test_long_output_is_read_from_its_end() -> None:
    output = "x" * 5_000_000 + "\ntouch: cannot touch '/data/nobody/x': Read-only file system"
    assert symptoms_in(output, PROFILE, home=HOME, cwd=CWD).writes == ("/data/nobody/x",)


def test_line_without_end_takes_no_time_to_speak_of() -> None:
    began = time.process_time()
    symptoms_in("EROFS " + "a/" * 90_000 + " b/" * 5_000, PROFILE, home=HOME, cwd=CWD)
    assert time.process_time() - began < 2
