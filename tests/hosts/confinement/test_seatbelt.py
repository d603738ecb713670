"""The profile that `sandbox-exec` gets; run for real on macOS alone."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from sb.hosts.confinement import seatbelt
from sb.hosts.confinement.profile import Profile


def _text(profile: Profile) -> str:
    return os.fsdecode(seatbelt.options(profile, Path("/nonexistent")))


def _rules(profile: Profile) -> list[str]:
    """Each rule in one line, comparable as text."""
    return [" ".join(rule.split()) for rule in re.split(r"\n(?=\()", _text(profile).strip())]


def test_writing_is_denied_and_then_allowed_in_writable_folders() -> None:
    rules = _rules(Profile(writable=("/Volumes/a/work", "/private/tmp")))
    assert rules[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    assert '(allow file-write* (subpath "/Volumes/a/work") (subpath "/private/tmp"))' in rules


def test_later_rules_close_what_is_inside_of_writable_folders() -> None:
    profile = Profile(
        writable=("/w",),
        held=("/w/.git",),
        read_only=("/w/.git/hooks",),
        unreadable=("/Volumes/a/.ssh/id_rsa",),
    )
    rules = _rules(profile)
    order = [
        '(allow file-write* (subpath "/w"))',
        '(deny file-write* (subpath "/w/.git/hooks"))',
        '(deny file-write-unlink (literal "/w/.git"))',
        '(deny file-read-data file-write* network-outbound (subpath "/Volumes/a/.ssh/id_rsa"))',
    ]
    assert [rule for rule in rules if rule in order] == order
    assert rules[-1] == order[-1]


def test_approved_path_is_opened_also_where_it_is_absent() -> None:
    rules = _rules(Profile(opened=("/Volumes/a/new/file",), writable=("/w",)))
    assert '(allow file-write* (subpath "/Volumes/a/new/file"))' in rules


def test_approved_folder_does_not_open_what_decides_in_it() -> None:
    rules = _rules(Profile(opened=("/Volumes/a/x",), closed=("/Volumes/a/x/.sb",), home="/Volumes/a"))
    opened = rules.index('(allow file-write* (subpath "/Volumes/a/x"))')
    assert rules.index('(deny file-write* (subpath "/Volumes/a/x/.sb"))') > opened
    assert not any('(subpath "/Volumes/a"))' in rule for rule in rules)


def test_approved_path_of_a_read_only_place_is_opened_alone() -> None:
    profile = Profile(opened=("/w/.claude/settings.json",), writable=("/w",), read_only=("/w/.claude",))
    rules = _rules(profile)
    closed = rules.index('(deny file-write* (subpath "/w/.claude"))')
    assert rules.index('(allow file-write* (subpath "/w/.claude/settings.json"))') > closed


def test_empty_groups_make_no_rule() -> None:
    assert not any(rule in _text(Profile()) for rule in ("subpath", "unlink", "network"))


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        ('/a "b"', '"/a \\"b\\""'),
        ("/a\\b", '"/a\\\\b"'),
        ('/a\\"', '"/a\\\\\\""'),
        ("/a\nb\t", '"/a\\x0ab\\x09"'),
        ("/é/日本", '"/é/日本"'),
        ("/a)(allow file-write* (subpath", '"/a)(allow file-write* (subpath"'),
        (os.fsdecode(b"/\xff"), '"' + os.fsdecode(b"/\xff") + '"'),
        ("/#;'`$", '"/#;\'`$"'),
    ],
)
def test_path_stays_one_string_whatever_is_in_it(path: str, quoted: str) -> None:
    text = _text(Profile(writable=(path,)))
    assert f"(subpath {quoted}))" in text
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', text, re.DOTALL)
    assert text.count("(", text.index("allow file-write*")) >= 1
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    assert quoted in strings
    assert outside.count("(") == outside.count(")")
    assert '"' not in outside


def test_it_is_found_on_macos_alone() -> None:
    assert bool(seatbelt.find()) == (sys.platform == "darwin")


@pytest.mark.skipif(sys.platform != "darwin", reason="sandbox-exec is macOS's")
def test_it_holds(tmp_path: Path) -> None:
    assert seatbelt.probe(seatbelt.find(), Path(os.path.realpath(tmp_path))) == ""
