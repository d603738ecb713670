"""`sb install` at a terminal: the screen with the question shows what changes, however long the diff is."""

from __future__ import annotations

from pathlib import Path

from sb.commands.file_changes import in_short

from tests.screens.terminal import Terminal

LONG = "\n".join(
    ["--- f", "+++ f", "@@ -1,3 +1,40 @@", "-old", *(f"+new {number} {'x' * 90}" for number in range(40))]
)


def at_the_question(tmp_path: Path, columns: int, rows: int) -> list[str]:
    """The screen with the question of an installation."""
    terminal = Terminal(tmp_path / "sb", columns, rows, "install", "claude-code", HOME=str(tmp_path))
    terminal.rest(lambda screen: "[y/N]" in "\n".join(screen.display))
    shown = [line.rstrip() for line in terminal.screen.display]
    terminal.type("n\n")
    assert terminal.wait() == 1
    assert not (tmp_path / ".claude" / "settings.json").exists()
    return shown


def test_at_80x24_the_question_stands_below_every_changed_line(tmp_path: Path) -> None:
    shown = at_the_question(tmp_path, 80, 24)
    for entry in ("CLAUDE_CODE_SHELL_PREFIX", "PreToolUse", "SessionEnd", "PermissionDenied"):
        assert any(line.startswith("+") and entry in line for line in shown), entry
    assert shown[0].startswith("In short: ") or any(line.startswith("In short: ") for line in shown)


def test_a_change_that_fits_is_not_repeated(tmp_path: Path) -> None:
    shown = at_the_question(tmp_path, 200, 60)
    assert sum("PreToolUse" in line for line in shown) == 1
    assert not any("In short" in line for line in shown)


def test_of_a_change_longer_than_the_screen_what_is_removed_comes_first() -> None:
    lines = in_short([LONG], 80, 24)
    assert lines[0] == "In short: 40 lines added, 1 removed; in full above"
    assert lines[1] == "-old"
    assert lines[-1] == "… and 22 changed lines more"
    assert len(lines) == 21
    assert max(map(len, lines)) <= 80


def test_a_file_without_an_old_text_and_a_narrow_terminal_do_no_harm() -> None:
    assert in_short(["--- f\n+++ f\n@@ -0,0 +1 @@\n+a"], 80, 24) == []
    assert in_short([LONG], 24, 4)[1].startswith("…")
