"""A file in which nothing is set is read without YAML, and says the same."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from sb.base.reading import Report
from sb.config.document import _Builder, _empty_groups, parse_document

EXAMPLE = Path(__file__).parents[2] / "config.example.yaml"
LINES = st.sampled_from(
    "||hooks:|memory: |hooks:  # what is asked|# a comment|  # indented|files:#none|true:|a b:|- a|x: 1|---|...|%YAML 1.1|"
    "hooks: {}|  deep:|? a|&a b:|'q':|hooks :|null:|!t:".split("|")
)


@given(st.lists(LINES, max_size=6).map("\n".join))
@example("hooks:\n# a\nhooks:\n")
@example("")
def test_what_is_read_without_yaml_is_what_yaml_reads(text: str) -> None:
    found = _empty_groups(text)
    if found is not None:
        report = Report("file")
        assert found == _Builder(text, report).settings()
        assert report.problems == []


def test_the_generated_file_is_one() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert _empty_groups(text) == parse_document(text.encode(), Report("file"))
    assert _empty_groups(text) is not None
