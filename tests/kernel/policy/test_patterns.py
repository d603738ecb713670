"""Patterns: what allows has to fit in every spelling, what denies in any; no text takes more than linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.kernel.policy.patterns import matches, permits, touches
from tests.rows import rows


@rows(
    "pattern, value, permitted, touched",
    [
        ("docs/*", "docs/a/b", True, True),
        ("docs/*", "docs/../secrets/key", False, True),
        ("secrets/*", "docs/../secrets/key", False, True),
        ("secrets/*", "./secrets/key", False, True),
        ("secrets/*", "secrets//key", True, True),
        ("/etc/*", "//etc/passwd", False, True),
        ("/etc/*", "/tmp/../etc/passwd", False, True),
        ("docs/*", ["docs/a", "etc/x"], False, True),
        ("*x*", {"a": {"b": "x"}}, False, True),
        ("Docs/*", "docs/a", False, False),
        ("[", "[", True, True),
        ("*", "any\nthing", True, True),
    ],
)
def test_what_allows_fits_in_every_spelling_and_what_denies_in_any(
    pattern: str, value: object, permitted: bool, touched: bool
) -> None:
    assert (permits(pattern, value), touches(pattern, value)) == (permitted, touched)


@rows(
    "pattern, value, permitted, touched",
    [
        ("https://api.example.org/*", "https://api.example.org/v1", True, True),
        ("https://api.example.org/v1/*", "https://api.example.org/v1/../admin", False, True),
        ("https://api.example.org/v1/*", "https://api.example.org/v1/%2E%2e/admin", False, True),
        ("https://api.example.org/admin*", "https://api.example.org/v1/%2e./admin", False, True),
        ("https://api.example.org/*", "https://api.example.org", False, False),
        ("https://api.example.org/*", "https://api.example.org/a?next=https://b//c/..", True, True),
        ("*internal*", "http://INTERNAL/", False, True),
        ("docs*", "docs://../../secrets/key", False, True),
        ("../secrets/*", "docs://../../secrets/key", False, True),
    ],
)
def test_an_address_keeps_its_host_and_has_its_path_resolved(
    pattern: str, value: str, permitted: bool, touched: bool
) -> None:
    assert (permits(pattern, value), touches(pattern, value)) == (permitted, touched)


@rows(
    "pattern, value, permitted, touched",
    [
        ("12", 12, True, True),
        ("1", 1.0, True, True),
        ("true", True, True, True),
        ("*", None, False, True),
        ("*", ["a", None], False, True),
        ("*", [], False, True),
        ("*", {}, False, False),
        ("rm *", ["rm", "-rf", "/"], False, True),
        ("rm *", {"steps": [["ls"], ["rm", "-rf"]]}, False, True),
        ("cat secrets/*", ["cat", "./secrets/key"], False, True),
    ],
)
def test_values_that_are_no_texts_count_by_their_json_and_lists_also_as_a_line(
    pattern: str, value: object, permitted: bool, touched: bool
) -> None:
    assert (permits(pattern, value), touches(pattern, value)) == (permitted, touched)


_parts = st.sampled_from(["a", "docs", "secrets", ".", "..", ""])
_paths = st.lists(_parts, min_size=1, max_size=7).map("/".join)


@given(_paths, st.sampled_from(["docs/*", "secrets/*", "*", "a", "/docs/*", "[ds]*"]))
def test_whatever_is_permitted_is_also_touched(path: str, pattern: str) -> None:
    assert touches(pattern, path) or not permits(pattern, path)
    assert touches(pattern, [path, "x"]) or not touches(pattern, path)


@given(_paths)
def test_no_path_that_leads_below_a_folder_evades_a_rule_about_it(path: str) -> None:
    reached: list[str] = []
    for part in path.split("/"):
        if part == ".." and reached and reached[-1] != "..":
            reached.pop()
        elif part not in ("", "."):
            reached.append(part)
    if not path.startswith("/") and reached[:1] == ["secrets"] and len(reached) > 1:
        assert touches("secrets/*", path)
        assert not permits("docs/*", path)


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*b", "*" * 40 + "b", "[ab]*" * 10 + "c", "*aaaaaaaab"])
@pytest.mark.parametrize("letter", ["a", "a/", "../"])
def test_a_hostile_text_costs_no_more_than_its_length(pattern: str, letter: str) -> None:
    def cost(size: int) -> float:
        text, best = letter * (size // len(letter)), 60.0
        for _ in range(4):
            started = time.thread_time()
            assert not permits(pattern, text)
            assert not touches(pattern, text)
            best = min(best, time.thread_time() - started)
        return best

    matches(pattern, "")
    # Eight times the text; a square takes 64 times, which are minutes. Less than a clock's step counts as nothing.
    assert cost(400_000) < 16 * cost(50_000) + 0.05
