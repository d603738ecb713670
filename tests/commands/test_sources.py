"""`sb sources`, as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine

SOURCES = "wiki: {owner: ana, uris: [wiki/*], ttl: 1h, trust: 0.5}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("wiki/a",), 0, "wiki/a belongs to source wiki"),
        (("wiki/a", "--age", "59m"), 0, "belongs"),
        (("wiki/a", "--age", "2h"), 4, "2h old, fresh for 1h"),
        (("other/a",), 4, "no registered source"),
        (("wiki/../other/a",), 4, "no registered source"),
        (("wiki/a", "--write"), 4, "is only read"),
    ],
)
def test_an_address_is_checked(
    sb: CommandLine, home: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    sb("init")
    (home / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    done = sb("sources", "check", *arguments)
    assert (done.code, said in done.out) == (code, True)


def test_sources_are_listed_and_a_broken_file_is_one_line(sb: CommandLine, home: Path) -> None:
    sb("init")
    assert "no sources yet" in sb("sources", "list").err
    (home / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    assert "ana" in sb("sources", "list").out
    (home / "sources.yaml").write_text(SOURCES.replace("owner", "boss"), encoding="utf-8")
    done = sb("sources", "list")
    assert (done.code, "sources.yaml:1: wiki.boss: unknown key" in done.err) == (2, True)
    (home / "sources.yaml").write_text(SOURCES.replace("0.5", "1.5") + "docs: {trust: 7}\n", encoding="utf-8")
    both = sb("sources", "list").err.splitlines()  # no command lists them all
    assert ("wiki." in both[0], "more)" in both[0]) == (True, True)
    assert both[1].startswith("hint: also line 2: docs")
