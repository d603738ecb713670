"""Changes of past sessions, by the lines that they brought."""

from __future__ import annotations

import time
from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from sb.hosts.hooks.event import NativeCall
from sb.hosts.past.aligning import aligned
from sb.hosts.past.changes import Change, Replacement, changed_files, changes_of
from sb.hosts.past.replaying import Replay
from tests.rows import rows

WROTE = Change("f", "import os\n\ndef a():\n    pass\n")
FILLED = Change("f", replacements=(Replacement("    pass", "    return os.name\n    # done"),))
RENAMED = Change("f", replacements=(Replacement("def a()", "def b()"),))


def origins(content: str, *changes: Change) -> list[int | None]:
    return Replay(content, changes).origins


def test_each_line_comes_from_the_change_that_brought_it() -> None:
    content = "import os\n\ndef b():\n    return os.name\n    # done\nmine\n"
    assert origins(content, WROTE, FILLED, RENAMED) == [0, 0, 2, 1, 1, None, 0]


def test_a_file_that_is_written_again_keeps_the_origin_of_lines_that_stayed() -> None:
    again = Change("f", "import os\nimport sys\n\ndef a():\n    pass\n")
    assert origins("import os\nimport sys\n\ndef a():\n    pass\n", WROTE, again) == [0, 1, 0, 0, 0, 0]


def test_a_line_that_was_changed_by_hand_since_has_no_origin_and_others_are_recognised() -> None:
    found = Replay("import os\n\ndef a():\n    return 7\n    # done\n", [FILLED])
    assert found.origins == [None, None, None, None, 0, None]
    assert (found.sure[4], found.sure[0]) == (False, True)


def test_a_text_that_stands_there_twice_is_unsure_unless_all_were_replaced() -> None:
    once, every = (Change("f", replacements=(Replacement("one", "two", all_),)) for all_ in (False, True))
    unsure = Replay("two\nx\ntwo", [once])
    assert (unsure.origins, unsure.sure[0]) == ([0, None, None], False)
    assert Replay("two\nx\ntwo", [every]).origins == [0, None, 0]


def test_a_name_that_stands_twice_in_a_line_is_renamed_back_in_both_places() -> None:
    grew = Change("f", replacements=(Replacement("pass", "n = size + size\nreturn n"),))
    renamed = Change("f", replacements=(Replacement("size", "length", True),))
    split = Change("f", replacements=(Replacement(",\n", ";", True),))
    found = Replay("n = length + length\nreturn n", [grew, renamed])
    assert (found.origins, found.sure) == ([1, 0], [True, True])
    assert Replay("a;b;c\nd", [Change("f", "a,\nb,\nc\nd"), split]).origins == [1, 0]
    assert Replay("a;b;c\nd", [Change("f", replacements=(Replacement("z", "b,\nc\nd"),)), split]).sure[1]


def test_a_replay_ends_when_its_work_is_done_however_hostile_the_changes() -> None:
    hostile = [Change("f", "\n".join(map(str, range(n, 3_000 + n)))) for n in range(500)]
    hostile += [Change("f", replacements=(Replacement("a" * 50, "a", True),)) for _ in range(500)]
    began = time.process_time()
    found = Replay("a" * 100_000, hostile, most=20_000_000)
    assert not found.complete
    assert time.process_time() - began < 5


@given(st.lists(st.sampled_from("abcdef"), max_size=12), st.lists(st.sampled_from("abcdef"), max_size=12))
def test_lines_are_aligned_in_order_with_equal_ones(now: list[str], before: list[str]) -> None:
    found = aligned(now, before)
    places = [place for place in found if place is not None]
    assert places == sorted(set(places))
    assert all(before[place] == now[at] for at, place in enumerate(found) if place is not None)
    assert aligned(now, now) == list(range(len(now)))


def test_unique_lines_are_aligned_as_difflib_does() -> None:
    now, before = [str(n) for n in range(40) if n % 7], [str(n) for n in range(40) if n % 5]
    matches = SequenceMatcher(None, now, before, autojunk=False).get_matching_blocks()
    assert sum(place is not None for place in aligned(now, before)) == sum(match.size for match in matches)


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@ def f\n x\n-y\n+z\n*** Add File: b.py\n+q\n*** End Patch"


@rows("tool, args, changes", [
        ("Write", {"file_path": "a", "content": "x\r\ny"}, [Change("a", "x\ny")]),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True},
         [Change("a", replacements=(Replacement("x", "y", True),))]),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, 7]},
         [Change("a", replacements=(Replacement("x", "y"),))]),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"},
         [Change("a", replacements=(Replacement("x", "y"),))]),
        ("apply_patch", {"command": PATCH},
         [Change("a.py", replacements=(Replacement("x\ny", "x\nz"),)), Change("b.py", "q\n")]),
        ("Bash", {"command": f"apply_patch <<'E'\n{PATCH}\nE"},
         [Change("a.py", replacements=(Replacement("x\ny", "x\nz"),)), Change("b.py", "q\n")]),
        ("Read", {"file_path": "a", "content": "x"}, []),
        ("Write", {"file_path": ["a"], "content": {}}, []),
        ("Edit", {"file_path": "a", "edits": "[[[", "new_string": None}, []),
    ])  # fmt: skip
def test_the_changes_of_a_call_are_read_as_its_host_names_them(
    tool: str, args: dict[str, object], changes: list[Change]
) -> None:
    assert changes_of(NativeCall(tool, args)) == changes


def test_a_file_that_is_changed_in_an_unknown_way_is_named() -> None:
    assert changed_files(NativeCall("NotebookEdit", {"notebook_path": "n.ipynb"})) == ["n.ipynb"]
    assert changed_files(NativeCall("Read", {"file_path": "n.py"})) == []
