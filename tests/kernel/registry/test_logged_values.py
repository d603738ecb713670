"""Values as log rows hold them: of an object that is too large its largest fields are left out, and no other."""

from __future__ import annotations

from typing import Any

from sb.kernel.registry.arguments import LONGEST_LOGGED_VALUE, loggable

LONG = ["x" * 100] * 2000


def logged(value: Any) -> Any:
    return loggable(value, LONGEST_LOGGED_VALUE * 4)


def test_long_list_hides_no_other_field() -> None:
    result = logged({"files": LONG, "tree": True, "not_restored": [{"path": "a"}]})
    assert result == {"files": "(202,000 bytes)", "tree": True, "not_restored": [{"path": "a"}]}


def test_value_with_too_many_parts_is_its_size() -> None:
    size = f"({LONGEST_LOGGED_VALUE * 4:,} bytes)"
    assert logged(LONG) == size
    assert logged({str(number): LONG for number in range(100)}) == size


def test_small_value_is_whole() -> None:
    assert logged({"files": ["a"], "n": 1}) == {"files": ["a"], "n": 1}
