"""Patterns of scopes and agents: the names that one means."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sb.config.scope_patterns import any_matches, matches
from tests.rows import rows

SCOPES = st.text("ab:*[]?.-", max_size=8)


@rows(
    "pattern, scope, means",
    [
        ("project:shop", "project:shop", True),
        ("project:shop", "project:shopping", False),
        ("project:shop*", "project:shopping", True),
        ("*:acme", "customer:acme", True),
        ("customer:?", "customer:a", False),
        ("customer:[ab]", "customer:a", False),
        ("customer:[ab]", "customer:[ab]", True),
        ("*", "global", True),
    ],
)
def test_only_a_star_is_special(pattern: str, scope: str, means: bool) -> None:
    assert matches(pattern, scope) is means
    assert any_matches(["x:y", pattern], scope) is means


@given(SCOPES, SCOPES)
def test_the_beginning_of_a_scope_and_a_star_mean_it(start: str, rest: str) -> None:
    assert matches(start.replace("*", "-") + "*", start.replace("*", "-") + rest)
    assert matches("*", rest)
