"""Parts of an afternoon: a user's home, a project, the lines of afternoon.txt, and a host that plays them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.forked import ROOT, Forks

FOLDER = Path(__file__).parent
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
_NETWORK = 'echo "$0 $*" >> "$SENT"; [ -t 0 ] || cat >> "$SENT"'
# Programs that a machine may not have, and those that would leave it.
STAND_INS = {
    "npm": 'case "$1" in install) mkdir -p node_modules/left; echo "module.exports = 1" > node_modules/left/index.js;'
    ' echo "{}" > package-lock.json;; run) mkdir -p build; echo site > build/index.html;; esac',
    "uv": "mkdir -p src/__pycache__; echo code > src/__pycache__/cart.pyc; echo 3 passed",
    "curl": 'out=; for word; do [ "$out" = next ] && out=$word; [ "$word" = -o ] && out=next; done; '
    f'[ -n "$out" ] && echo "{{}}" > "$out"; {_NETWORK}',
    "nc": _NETWORK,
    "socat": _NETWORK,
    "docker": "true",
    "gh": "true",
    "terraform": "true",
}
FILES = {
    "README.md": "# Shop\n\nA shop.\n",
    ".gitignore": "node_modules/\n__pycache__/\n.env\n.env.local\nlogs/\n",
    ".env": "DATABASE_PASSWORD=hunter2-of-the-shop\n",
    ".env.example": "DATABASE_PASSWORD=\n",
    "package.json": '{"name": "shop", "version": "1.0.0"}\n',
    "src/cart.py": "def total(prices):\n    total = sum(price for price in prices)\n    return total\n",
    "src/util.py": "from decimal import Decimal\n",
    "src/order.py": "from util import Decimal\n",
    "src/old.pyc": "stale",
    "tests/test_cart.py": "from util import Decimal\n",
    "docs/guide.md": "An old guide. Any colour.\n",
    "docs/index.md": "Index. Any colour.\n",
    "data/rates.json": '{"eur": 1}\n',
    "legacy/a/b/deep.txt": "deep\n",
    "legacy/run.sh": "#!/bin/sh\n",
    "build/old.html": "old\n",
    "shop.egg-info/PKG-INFO": "Name: shop\n",
    "logs/app.log": "started\nstopped\n",
    "logs/old.log": "long ago\n",
    "logs/1.gz": "\x1f\x8b",
    "notes/todo.txt": "ask Bo\n",
    "scripts/run.sh": "#!/bin/sh\necho run\n",
}
SETTINGS = {".ssh/id_rsa": KEY, ".claude/settings.json": '{"hooks": "sb hook"}', ".bashrc": "# mine\n"}
GIT = """
git init -q -b main && git config --global user.name Ada && git config --global user.email ada@example.org
git add . && git add -f logs src/old.pyc && git commit -qm One && git init -q --bare ../origin.git
git remote add origin ../origin.git && git push -q -u origin main && ln -s deep.txt legacy/a/b/link
"""


Files = dict[str, tuple[object, int]]


@contextmanager
def lasting_folder() -> Iterator[Path]:
    """A folder that counts as a project's: in one for temporary files more may be deleted."""
    cache = ROOT / ".pytest_cache"
    cache.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=cache) as folder:
        yield Path(folder)


class Step(NamedTuple):
    """One call.

    Args:
        session: "a" or "b". wanted: "+" if nobody should be asked, "?" if somebody should.
        tool, given: as a host tells them.
        then: what the person does: "yes" or "no" if asked, "undo", or "path FILE" to undo its last change.
    """

    session: str
    wanted: str
    tool: str
    given: dict[str, Any]
    then: str


class Told(NamedTuple):
    """The answer to a call: "" if it went on, else "ask" or "deny", and what was said."""

    decision: str
    reason: str = ""
    context: str = ""


def read_steps(name: str, places: Mapping[str, str]) -> Iterator[Step]:
    """The calls of a file, which says in its first lines how it is read.

    Args:
        places: what stands for `@NAME@`.
    """
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        for place, path in places.items():
            line = line.replace(f"@{place}@", path)
        line, _, then = line.replace("␤", "\n").partition(" => ")
        session, wanted, tool, text = line.split(" ", 3)
        yield Step(session, wanted, tool, {"command": text} if tool == "Bash" else json.loads(text), then)


@dataclass
class Afternoon:
    """A user's home, the project in it, and Claude Code at work there.

    Args:
        folder: empty, and no temporary one. outside: a temporary folder.
    """

    folder: Path
    outside: Path
    forks: Forks
    calls: int = 0

    def __post_init__(self) -> None:
        self.user, self.programs = self.folder / "ada", self.folder / "bin"
        self.project, self.sent = self.user / "shop", self.outside / "sent"
        self.home = self.user / ".sb"

    @property
    def env(self) -> dict[str, str]:
        path = f"{self.programs}:{os.environ['PATH']}"
        home = {"HOME": str(self.user), "SB_HOME": str(self.home), "SENT": str(self.sent)}
        return {"PATH": path, "LC_ALL": "C", **home}

    def prepare(self) -> None:
        """Write the user's files, and the project with one commit and a remote."""
        self.programs.mkdir(parents=True)
        for name, body in STAND_INS.items():
            (self.programs / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            (self.programs / name).chmod(0o755)
        for name, text in SETTINGS.items():
            _write(self.user / name, text)
        for name, text in FILES.items():
            _write(self.project / name, text)
        (self.project / "scripts" / "run.sh").chmod(0o755)
        (self.project / "empty").mkdir()
        self.bash(GIT, check=True)

    def bash(self, line: str, *, check: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a line as the agent's shell does."""
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.project,
            env=self.env,
            capture_output=True,
            text=True,
            check=check,
            stdin=subprocess.DEVNULL,
        )

    def sb(self, *words: str) -> str:
        """Run `sb` as the user, in a terminal; returns what it prints."""
        done = self.forks.run("-m", "sb", *words, env=self.env, cwd=self.project)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def places(self) -> dict[str, str]:
        """The folders that a file of calls names."""
        return {"HOME": str(self.user), "PROJECT": str(self.project), "TMP": str(self.outside)}

    def approvals(self) -> list[dict[str, Any]]:
        """The needs that wait for a person."""
        return list(json.loads(self.sb("approvals", "list", "--json"))["items"])

    def records(self, limit: int = 0) -> list[dict[str, Any]]:
        """Undo records, the newest first."""
        return list(json.loads(self.sb("undo", "--list", "--json", "--limit", str(limit)))["items"])

    def undo_run(self, session: str) -> str:
        """Undo a whole session; some of its calls have no undo, which `sb` says by its exit code."""
        runs = json.loads(self.sb("kernel", "runs", "--json", "--limit", "0"))["items"]
        run_id = next(row["run_id"] for row in runs if row["session"] == session)
        command = ("-m", "sb", "undo", "--run", run_id, "--yes")
        return self.forks.run(*command, env=self.env, cwd=self.project).stdout

    def tell(self, session: str, event: str, **fields: Any) -> Told:
        """One event to a process of `sb hook`."""
        common = {"session_id": session, "transcript_path": "/t.jsonl", "cwd": str(self.project)}
        payload = {**common, "permission_mode": "default", "hook_event_name": event, **fields}
        data = json.dumps(payload).encode()
        command = ("-m", "sb", "hook", "claude-code")
        done = self.forks.run(*command, input=data, env=self.env, cwd=self.project)
        assert (done.returncode, done.stderr) == (0, ""), (payload, done.stderr)
        output = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        reason, context = output.get("permissionDecisionReason", ""), output.get("additionalContext", "")
        return Told(output.get("permissionDecision", ""), reason, context)

    def play(self, step: Step) -> Told:
        """One call: ask before it, make it if it may be made, report it."""
        self.calls += 1
        call = {"tool_name": step.tool, "tool_use_id": f"toolu_{self.calls}", "tool_input": step.given}
        verdict = self.tell(step.session, "PreToolUse", **call)
        if verdict.decision == "deny" or (verdict.decision == "ask" and step.then != "yes"):
            return verdict
        failed = self.perform(step)
        if failed:
            self.tell(step.session, "PostToolUseFailure", **call, error=failed)
        else:
            self.tell(step.session, "PostToolUse", **call, tool_response={"stdout": "ok", "stderr": ""})
        return verdict

    def perform(self, step: Step) -> str:
        """Do what the tool does; returns why that failed, or ""."""
        if step.tool == "Bash":
            done = self.bash(step.given["command"])
            return f"exit {done.returncode}: {done.stderr}" if done.returncode else ""
        path = Path(step.given.get("file_path", ""))
        if step.tool == "Write":
            _write(path, step.given["content"])
        if step.tool == "Edit":
            text = path.read_text(encoding="utf-8")
            assert step.given["old_string"] in text, step
            path.write_text(
                text.replace(step.given["old_string"], step.given["new_string"]), encoding="utf-8"
            )
        return ""

    def files(self) -> Files:
        """Every file, link and folder of the project but those of git: content and mode."""
        found: Files = {}
        for top, folders, files in os.walk(self.project):
            folders[:] = [name for name in folders if name != ".git"]
            for name in (*folders, *files):
                path = Path(top, name)
                shown = str(path.relative_to(self.project))
                content = os.readlink(path) if path.is_symlink() else path.is_dir() or path.read_bytes()
                found[shown] = (content, path.lstat().st_mode)
        return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="latin-1")
