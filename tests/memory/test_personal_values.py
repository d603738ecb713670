"""Values of any form are masked in all their texts, and stay what they are otherwise."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sb.memory.personal_values import labels_in, masked

PHONE = "+49 171 5550199"
MASK = "[redacted:phone]"
words = st.text(alphabet="abc äß\n.,", max_size=12)
values = st.recursive(
    words
    | st.integers(0, 99)
    | st.none()
    | st.just(PHONE)
    | words.map(lambda text: f"{text} {PHONE} {text}"),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4) | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list | tuple):
        return type(value)(map(shape, value))
    return type(value)


@given(values)
def test_no_value_is_left_and_the_form_stays(value: Any) -> None:
    found = masked(value)
    assert "5550199" not in repr(found)
    assert shape(found) == shape(value)
    assert masked(found) == found
    if not labels_in(value):
        assert found == value


def test_keys_are_masked_and_stay_apart() -> None:
    found = masked({PHONE: 1, "+49 171 5550198": 2, "name": 3})
    assert found == {MASK: 1, f"{MASK} 2": 2, "name": 3}


def test_of_a_text_that_is_too_long_nothing_is_shown_and_short_names_stay() -> None:
    assert masked({"content": "a b " * 300_000, "title": "x"}) == {
        "content": "[redacted:too_long]",
        "title": "x",
    }


def test_broken_surrogates_are_masked_around() -> None:
    assert masked([f"\ud800 {PHONE} \udfff"]) == [f"\ud800 {MASK} \udfff"]
