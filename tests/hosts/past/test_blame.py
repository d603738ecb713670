"""`sb blame`: which prompt and call wrote a line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine
from tests.hosts.past import turns
from tests.hosts.past.turns import Turn
from tests.hosts.transcripts.written import SESSION, claude_response, lines

FIRST, SECOND = "Write a cart.", "Let it round."
OLD, NEW = "    return sum(items)", "    amount = sum(items)\n    return rounded(amount)"
CONTENT = f"def total(items):\n{NEW}\n# mine\n"
ADD = f"*** Begin Patch\n*** Add File: cart.py\n+def total(items):\n+{OLD}\n*** End Patch"
UPDATE = "*** Begin Patch\n*** Update File: cart.py\n@@\n-{}\n+{}\n*** End Patch".format(
    OLD, NEW.replace("\n", "\n+")
)
WRITTEN = f"def total(items):\n{OLD}\n"
EDITED = {"old_string": OLD, "new_string": NEW}
HOSTS: dict[str, tuple[Callable[..., Path], Any, Any]] = {
    "claude-code": (
        turns.claude_code,
        ("Write", {"file_path": "{shop}/cart.py", "content": WRITTEN}),
        ("MultiEdit", {"file_path": "{shop}/cart.py", "edits": [EDITED]}),
    ),
    "codex": (turns.codex, ("apply_patch", {"command": ADD}), ("apply_patch", {"command": UPDATE})),
    "gemini-cli": (
        turns.gemini_cli,
        ("write_file", {"file_path": "cart.py", "content": WRITTEN}),
        ("replace", {"file_path": "{shop}/cart.py", **EDITED}),
    ),
}


def call(shop: Path, made: tuple[str, dict[str, Any]], ok: bool = True) -> tuple[str, dict[str, Any], bool]:
    tool, given = made
    return tool, json.loads(json.dumps(given).replace("{shop}", str(shop))), ok


def prompts(found: Any) -> list[str | None]:
    """The prompt of each line."""
    origins = [origin["prompt"] for origin in found["origins"]]
    return [None if line["origin"] is None else origins[line["origin"]] for line in found["lines"]]


@pytest.fixture
def shop(user: Path) -> Path:
    (user / "shop" / "cart.py").write_text(CONTENT, encoding="utf-8")
    return user / "shop"


@pytest.mark.parametrize("host", HOSTS)
def test_each_line_leads_to_its_prompt_and_call(host: str, shop: Path, sb: CommandLine) -> None:
    write, first, second = HOSTS[host]
    failed = call(shop, ("Write", {"file_path": "{shop}/cart.py", "content": CONTENT}), ok=False)
    wrong = () if host == "codex" else (failed,)
    write(
        shop.parent,
        str(shop),
        [Turn(FIRST, [call(shop, first)]), Turn(SECOND, [call(shop, second)]), Turn("Nothing.", wrong)],
    )
    found = sb("blame", "cart.py", "--json").json
    assert prompts(found) == [FIRST, SECOND, SECOND, None]
    assert all(line["sure"] for line in found["lines"])
    assert (found["calls"], found["transcripts"], found["complete"]) == (2, 1, True)
    [_, origin] = found["origins"]
    assert (origin["host"], origin["session"], origin["tool"]) == (host, SESSION, second[0])
    assert origin["at"].startswith("2026-11-20T10:00:")
    line = sb("blame", "cart.py:3").out
    assert f"3:     return rounded(amount)\nprompt: {SECOND}\ncall: {second[0]}" in line
    table = sb("blame", str(shop / "cart.py"))
    assert table.err == "3 of 4 lines from 2 calls in 1 transcript\n"
    assert table.out.count(f"2026-11-20  {host}") == 3


def test_a_line_of_a_subagent_names_its_task(shop: Path, sb: CommandLine) -> None:
    asked = {
        "type": "user",
        "isSidechain": True,
        "sessionId": SESSION,
        "message": {"content": "Do the cart."},
    }
    use = {
        "type": "tool_use",
        "id": "t1",
        "name": "Write",
        "input": {"file_path": "cart.py", "content": CONTENT},
    }
    folder = shop.parent / ".claude" / "projects" / "-p" / SESSION / "subagents"
    lines(folder / "agent-1.jsonl", [asked, claude_response(1, str(shop), use)])
    shown = sb("blame", "cart.py:1").out
    assert "prompt: Do the cart.\n" in shown
    assert "agent: claude-code subagent" in shown
    assert f"transcript: ~/.claude/projects/-p/{SESSION}/subagents/agent-1.jsonl" in shown


def test_a_file_or_line_that_cannot_be_blamed_is_named(shop: Path, sb: CommandLine) -> None:
    (shop / "data.bin").write_bytes(b"a\0b")
    os.mkfifo(shop / "pipe")
    (shop / "empty").touch()
    for target, why in (
        ("nofile.py", "no such file"),
        ("x" * 300, "File name too long"),
        ("cart.py:9", "has no line 9"),
        ("cart.py:0", "no such file"),
        (f"cart.py:{'9' * 5_000}", "File name too long"),
        ("data.bin", "is no text"),
        ("pipe", "is no regular file"),
        (".", "regular file"),
    ):
        failed = sb("blame", target)
        assert (failed.code in (1, 2), why in failed.err) == (True, True), failed.err
    assert sb("blame", "empty").err == "0 of 0 lines from 0 calls in 0 transcripts\n"
    (shop / "odd:3").write_text("x\n", encoding="utf-8")
    assert sb("blame", "odd:3", "--json").json["lines"][0]["text"] == "x"
    assert "no call is known" in sb("blame", "cart.py:1").err


def test_hostile_transcripts_are_counted_and_secrets_masked(shop: Path, sb: CommandLine) -> None:
    key = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"[:36]
    (shop / "cart.py").write_text(f'TOKEN = "{key}"\n', encoding="utf-8")
    given = {"file_path": "cart.py", "content": f'TOKEN = "{key}"\n'}
    prompt = f"\x1b]0;x\x07Use {key} in cart.py"
    path = turns.claude_code(shop.parent, str(shop), [Turn(prompt, [("Write", given, True)])])
    for name, folder in (("a", f"{shop}/\ud800"), ("b", f"{shop}/{'x/' * 300_000}")):
        turns.claude_code(shop.parent, folder, [Turn("Elsewhere", [("Write", given, True)])], name=name)
    with path.open("a", encoding="utf-8") as file:
        file.write("[" * 50_000 + '\n{"type": "assistant", "message": {"content": [{"type": "tool_u')
    for arguments in (("cart.py",), ("cart.py:1",), ("cart.py", "--json")):
        shown = sb("blame", *arguments)
        assert shown.code == 0
        assert "ghp_" not in shown.out + shown.err
        assert "\x1b" not in shown.out
        assert "[redacted:github_token]" in shown.out
    found = sb("blame", "cart.py", "--json").json
    assert found["skipped_lines"] == 2
    assert "Use [redacted:github_token] in cart.py" in str(prompts(found))
