"""Values of `${…}` are those that bash computes."""

from __future__ import annotations

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from sb.shell.parsing.derived import derived, operation
from sb.shell.parsing.words import UNKNOWN, expand

PIECES = st.sampled_from([".env", ".", "X", "env", "a/b", "-", "ENV", "x.bak", "_"])
VALUES = st.lists(PIECES, min_size=1, max_size=4).map("".join)
TEXTS = st.sampled_from(["", ".", "X", "env", "/b", ".bak", "x.bak", "-", "a"])
NUMBERS = st.integers(0, 6)
OPERATIONS = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["%", "%%", "#", "##"]), TEXTS),
    st.builds("{}{}/{}".format, st.sampled_from(["/", "//"]), st.sampled_from([".", "X", "env", "a"]), TEXTS),
    st.builds(":{}".format, NUMBERS),
    st.builds(":{}:{}".format, NUMBERS, NUMBERS),
    st.builds(": -{}".format, st.integers(1, 3)),
)


@settings(max_examples=8)
@given(st.lists(st.tuples(VALUES, OPERATIONS), min_size=40, max_size=60))
def test_operation_gives_what_bash_gives(pairs: list[tuple[str, str]]) -> None:
    lines = [f"x='{value}'; printf '%s\\n' \"${{x{done}}}\"" for value, done in pairs]
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True, env=env
    )
    for (value, done), given_by_bash in zip(pairs, ran.stdout.split("\n"), strict=False):
        known = operation(done)
        assert known is not None, done
        assert derived(f"x{known}", value) == given_by_bash, (value, done)


def test_letters_change_their_case() -> None:  # not in the bash that macOS has
    assert [derived(f"x{done}", ".Env") for done in (",,", "^^")] == [".env", ".ENV"]


def test_operation_with_a_pattern_or_a_variable_is_not_followed() -> None:
    for done in ("%.*", "##*/", "/[ab]/c", "%$y", "@Q", ":$n", "[@]/#/x", "!"):
        assert operation(done) is None, done


def test_item_of_a_list_is_any_of_its_values() -> None:
    assert [operation(done) for done in ("[0]", "[@]", "[@]:0:1", "[*]:1", "[0]%X")] == ["", "", "", "", "%X"]


def test_unknown_value_stays_unknown() -> None:
    assert expand("\x0ex%X\x10", {"x": ["aX", UNKNOWN]}) == ["a", UNKNOWN]
    assert expand("\x0ey%X\x10", {"x": ["aX"]}) == [UNKNOWN]
