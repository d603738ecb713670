"""`python -m evals.lessons [FILE]`: which failed calls meet their lesson when they are tried again, and which others do.

The commands are those of the EXAMPLES of this machine's manual pages, which nobody wrote for it, or the `command` of each
entry of a JSON file. Half of them fail in one session of a coding agent, judged by its hook as always and never run. In
the next one all are announced: the same, and as agents write it when they try again; the other half has to meet none.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from evals.triggers import MANUALS, plain
from sb.config import load_config
from sb.hosts.claude_code.events import ADAPTER
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.hosts.hooks.judging import judge

_MOST, _SEED = 400, 7
_ERROR = "Exit code 1\nerror: {}: it did not work"
AGAIN: dict[str, Callable[[str], str]] = {
    "the same": lambda line: line,
    "in its folder": lambda line: f"cd /srv/shop && {line}",
    "less output": lambda line: f"{line} 2>&1 | tail -20",
    "with a limit": lambda line: f"timeout 60 {line}",
}


def commands(file: Path | None) -> list[str]:
    """Command lines, in an order that does not change."""
    found: list[str] = []
    if file is not None:
        found = [item["command"] for item in json.loads(file.read_text())]
    else:
        import gzip

        for page in sorted(MANUALS.glob("man[18]/*.gz")):
            source = gzip.decompress(page.read_bytes()).decode("utf-8", "replace")
            section = re.search(
                r"^\.S[Hh] +\"?EXAMPLES?\"?\n(.*?)(?=^\.S[Hh] |\Z)", source, re.DOTALL | re.MULTILINE
            )
            program = re.escape(page.name.split(".")[0])
            lines = plain(section[1]).splitlines() if section else []
            found += [line.strip(" $#%") for line in lines if re.match(rf"\s*[$#%]? ?{program} \S", line)][:6]
    found = list(dict.fromkeys(found))
    random.Random(_SEED).shuffle(found)
    return found[:_MOST]


class _Agent:
    """A coding agent, as far as its hook sees it."""

    def __init__(self, home: Path) -> None:
        self._project = home / "shop"
        self._project.mkdir()
        env = {"SB_HOME": str(home / "sb"), "HOME": str(home)}
        (home / "sb").mkdir(mode=0o700)
        (home / "sb" / "config.yaml").write_text("hooks:\n  keep: false\n", encoding="utf-8")
        self._config = load_config(env=env, cwd=self._project, flags={})
        self._count = 0

    def tell(self, event: str, command: str, *, again: bool = True, **more: Any) -> HookVerdict:
        """Tell of an event; returns the verdict.

        Args:
            again: it is one of a later session, each of its own.
        """
        self._count += 1
        session = f"later-{self._count}" if again else "first"
        call = {"tool_name": "Bash", "tool_use_id": f"t{self._count}", "tool_input": {"command": command}}
        payload = {"session_id": session, "cwd": str(self._project), "hook_event_name": event, **call, **more}
        return judge(self._config, ADAPTER, ADAPTER.read(payload))


def report(file: Path | None) -> Iterator[str]:
    """Lines with the shares."""
    lines = commands(file)
    failed, others = lines[::2], lines[1::2]
    with tempfile.TemporaryDirectory() as folder:
        agent = _Agent(Path(folder))
        failed = [
            line
            for line in failed
            if agent.tell("PreToolUse", line, again=False).decision is not Decision.DENY
        ]
        for line in failed:
            agent.tell("PostToolUseFailure", line, again=False, error=_ERROR.format(line.split()[0]))
        for name, again in AGAIN.items():
            found = sum("[lesson]" in agent.tell("PreToolUse", again(line)).context for line in failed)
            yield f"tried again, {name}: {found} of {len(failed)} meet a lesson ({found / len(failed):.3f})"
        firing = [line for line in others if "[lesson]" in agent.tell("PreToolUse", line).context]
        yield f"other calls: {len(firing)} of {len(others)} meet one; bar {len(others) // 200}"
        yield from (f"  {line}" for line in firing[:10])


if __name__ == "__main__":
    for text in report(Path(sys.argv[1]) if sys.argv[1:] else None):
        print(text, flush=True)
