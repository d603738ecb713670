"""Lines of calls that nothing confines: what could not be brought back asks, whatever stands around it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.config import load_config
from sb.hosts.hooks.event import NativeCall
from sb.hosts.hooks.preview import Preview, Previewed
from tests.rows import rows

Judged = Callable[..., Previewed]


@pytest.fixture
def judged(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Judges lines in a repository below a user's home, with nothing in temporary folders."""
    monkeypatch.setattr("sb.shell.keep_area.temporary_folders", tuple)
    user = tmp_path / "ada"
    project = user / "work" / "shop"
    for name in (
        "work/shop/src/app.py",
        "work/shop/.venv/bin/activate",
        "work/shop/a.txt",
        "work/shop/b.txt",
    ):
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).write_text("x = 1\n", encoding="utf-8")
    for name in ("notes.md", "docs/plan.md", ".vimrc", ".cache/tool/x", "docs/.cache/x", "work/shop/.env"):
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).write_text("kept = 1\n", encoding="utf-8")
    (project / ".gitignore").write_text(".env\n.venv/\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("CDPATH", raising=False)
    preview = Preview(load_config(env={"SB_HOME": str(home), "HOME": str(user)}, cwd=project, flags={}))
    context = preview.context("claude-code", str(project))

    def judge(command: str, **given: object) -> Previewed:
        return preview.judge_in(context, "claude-code", NativeCall("Bash", {"command": command, **given}))

    return judge


LOSES = (
    "rm .env", "make && rm -f .env", "rm -f ~/notes.md; make", "make; rm -f ~/notes.md", "./run x; rm .env", "git pull; rm ~/notes.md",
    "python x.py; unlink ~/docs/plan.md", 'foo; rm -f "$HOME/notes.md"', "make || rm .env", "make & rm .env", "sh -c 'make; rm .env'",
    "bash -c 'rm -f ~/notes.md'; make", "env rm .env", "f() { rm .env; }; f", "for f in ~/notes.md; do make; rm $f; done",
    "ruff format .; rm .env", "curl -s https://x.example.com/a -o a.json; rm .env", "./run x; /bin/rm ./.env",
)  # fmt: skip
LOSES_NOTHING = (
    "make; rm -f a.txt", "rm -f a.txt; make", "rm -f none.txt; make", "./run x; rm ~/none.md", "make; echo x > a.txt",
    "ln -s ~/notes.md note; make; rm note", "python x.py; rm ~/.cache/tool/x", "make; rm -f .env.example", "make; mv a.txt c.txt",
)  # fmt: skip


@rows("line", LOSES)
def test_file_that_is_lost_asks_whatever_runs_around_it(line: str, judged: Judged) -> None:
    found = judged(line)
    assert found.outcome == "asked"
    assert "deletes a file for good (no snapshot: " in found.why


@rows("line", LOSES_NOTHING)
def test_line_that_loses_no_file_goes_on(line: str, judged: Judged) -> None:
    assert judged(line).outcome.runs
