"""A person can read a memory as a document, and nothing that agents wrote takes part in its form."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sb.errors import NotFoundError
from sb.memory.markdown import escaped, markdown
from tests.memory.desk import Desk, desk

__all__ = ["desk"]


def document(desk: Desk, **more: object) -> str:
    return "".join(markdown(desk.space, **{"stack": "default", **more}))  # type: ignore[arg-type]


def test_it_says_by_scope_and_kind_what_is_remembered(desk: Desk) -> None:
    brain = desk.brain("coder", scope="project:shop")
    seen = brain.log("the API answered 429", event_type="error")
    brain.decide("use Retry-After", "the server knows best", derived_from=[seen], confidence=0.9)
    brain.entity("API", "service", observations=["100/15s", "answers 429"])
    brain.forget(brain.remember("a rumour"))
    brain.remember("of coder alone", private=True, tags=["a", "b"], speaker="Bob")
    desk.brain("coder").remember("kept everywhere")
    text = document(desk)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Memory of default",
        "## global",
        "### Facts (1)",
        "## project:shop",
        "### Events (1)",
        "### Decisions (1)",
        "### Entities (1)",
        "## project:shop, private to coder",
        "### Facts (1)",
    ]
    assert (
        "- **use Retry-After**: the server knows best\n  (2027-01-15 08:01; coder; confidence 0.9; from mem_"
        in text
    )
    assert "- **API**: 100/15s; answers 429\n" in text
    assert (
        "- of coder alone\n  (2027-01-15 08:01; coder; project; said by Bob; confidence 0.8; tags a, b; mem_"
        in text
    )
    assert "a rumour" not in text


def test_an_agent_gets_what_it_may_read_and_a_scope_alone(desk: Desk) -> None:
    desk.brain("coder", scope="project:shop").remember("of coder alone", private=True)
    desk.brain("coder").remember("kept everywhere")
    assert "of coder alone" not in document(desk, agent="reader")
    assert "of coder alone" in document(desk, agent="coder")
    assert "kept everywhere" not in document(desk, scopes=["project:shop"])
    with pytest.raises(NotFoundError, match="project:x"):
        document(desk, scopes=["project:x"])


def test_texts_of_agents_cannot_form_the_document(desk: Desk) -> None:
    brain = desk.brain("# coder")
    hostile = [
        "# a heading\n## another",
        "- an item\n1. a number\n> a quotation",
        "```\na fence",
        "~~~\na fence",
        "a heading\n===\nanother\n---",
        "![x](https://example.org/track.png)",
        "[click](javascript:alert(1))",
        "<img src=x onerror=alert(1)> <!-- ",
        "| a | b |\n|---|---|",
        "\x1b[31mred\x1b]0;title\x07 \u202ereversed",
        "a\n\n\n    code",
    ]
    for text in hostile:
        brain.remember(text)
        brain.entity(text, "concept", observations=[text])
    brain.writer.begin("project:[x](y)<b>")
    brain.remember("last")
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(document(desk))
    kinds = {token.type for token in tokens} | {
        child.type for token in tokens for child in token.children or ()
    }
    assert not kinds & {
        "image", "html_inline", "html_block", "link_open", "fence", "code_block", "table_open", "blockquote_open",
        "ordered_list_open", "hr",
    }  # fmt: skip
    assert sum(token.type == "heading_open" for token in tokens) == 6
    assert sum(token.type == "list_item_open" for token in tokens) == 2 * len(hostile) + 1
    assert "\x1b" not in document(desk)
    assert "\u202e" not in document(desk)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.sampled_from("#>-+*=_~`|1.)[](!<&\\ \t\nab:\"'"), max_size=30))
def test_no_text_leaves_its_item(text: str) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(
        f"- {escaped(text)}\n  (known)\n- y\n"
    )
    blocks = [token.type for token in tokens if token.nesting >= 0]
    assert blocks == ["bullet_list_open", *["list_item_open", "paragraph_open", "inline"] * 2]
