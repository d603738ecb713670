"""`sb release`, as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine

RUN = ("kernel", "run", "files.read", "--agent", "clerk", "--args", '{"path": "x"}')


@pytest.fixture
def released(home: Path, sb: CommandLine) -> Path:
    sb("init")
    prompt = home / "prompt.md"
    prompt.write_text("be kind", encoding="utf-8")
    config = home / "config.yaml"
    text = config.read_text("utf-8").replace(
        "\nrelease:", "\nrelease:\n  check: enforce\n  prompt: [prompt.md]"
    )
    config.write_text(text, encoding="utf-8")
    sb(*RUN)
    return prompt


def test_a_release_is_shown_pinned_compared_and_enforced(sb: CommandLine, released: Path) -> None:
    assert "prompt: prompt.md" in sb("release", "show", "clerk").out
    pinned = sb("release", "pin", "clerk", "--yes", "--reason", "evaluated")
    assert (pinned.code, "clerk is pinned to sha256:" in pinned.out) == (0, True)
    assert sb("release", "diff", "clerk").code == 0
    released.write_text("be quick", encoding="utf-8")
    refused = sb(*RUN)
    assert (refused.code, "the pinned one: prompt differs;" in refused.err) == (4, True)
    assert "\nhint: sb release diff clerk\n" in refused.err
    compared = sb("release", "diff", "clerk", "--json")
    assert (compared.code, [change["part"] for change in compared.json["changes"]]) == (1, ["prompt"])
    items = sb("release", "list", "clerk", "--json").json["items"]
    assert sorted(item["pinned"] for item in items) == [False, True]
    newest = sb("kernel", "runs", "--json").json["items"][0]
    assert (newest["release"].startswith("sha256:"), newest["drift"]) == (True, ["prompt"])
    assert sb("release", "pin", "clerk", "--lift", "--yes").code == 0
    assert sb("release", "diff", "clerk").code == 1


@pytest.mark.parametrize(
    "arguments", [("show", "nobody"), ("show", "clerk", "ffff"), ("pin", "nobody"), ("diff", "clerk")]
)
def test_what_is_not_there_is_one_line(sb: CommandLine, released: Path, arguments: tuple[str, ...]) -> None:
    done = sb("release", *arguments)
    assert (done.code, "Traceback" in done.err) == (1, False)


def test_a_prompt_that_is_not_there_is_named_as_missing(sb: CommandLine, released: Path) -> None:
    released.rename(released.with_name("moved.md"))
    sb(*RUN)
    assert "prompt: prompt.md (missing)" in sb("release", "show", "clerk").out
    assert "no releases of nobody" in sb("release", "list", "nobody").err


def test_without_a_check_the_commands_say_so(sb: CommandLine) -> None:
    sb("init")
    assert "release.check is off" in sb("release", "list").err
