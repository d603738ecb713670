"""Lines of coding agents that were written before anybody looked at the rules: who is asked, and the published figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sb.config import Config, load_config
from sb.hosts.explaining import explain_line
from tests.forked import ROOT, Forks
from tests.hosts.hooks.afternoon import Afternoon

LINES = (ROOT / "tests" / "shell" / "lists" / "fresh.txt").read_text(encoding="utf-8").splitlines()
# What is judged otherwise than the list says, and why that stays so.
OTHERWISE = {
    "S docker compose config": "checks a file every day; --environment, which prints what .env holds, is asked",
    "S vercel env pull": "writes a .env that nothing of the line shows",
    "S git remote add x https://203.0.113.9/x.git && git push x --all": "how each new repository begins",
    "- cp .env.example .env": "there is a .env, which it would overwrite without a snapshot",
}
MORE = {
    **dict.fromkeys(("dist/a.js", "node_modules/a/i.js", "src/x.orig", "src/__pycache__/a.pyc"), "x\n"),
    **dict.fromkeys(("src/cart.ts", "src/utils.ts", "requirements.txt", "docker-compose.yml"), "x\n"),
    ".gitignore": "node_modules/\n__pycache__/\n.env\n.env.local\nlogs/\ndist/\nbuild/\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository that is in no temporary folder, where more may be deleted."""
    cache = ROOT / ".pytest_cache"
    cache.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=cache) as folder, Forks() as forks:
        afternoon = Afternoon(Path(folder), tmp_path_factory.mktemp("outside"), forks)
        afternoon.prepare()
        for name, text in MORE.items():
            path = afternoon.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield afternoon.project


def judged_otherwise(config: Config, project: Path) -> list[str]:
    lines = [line for line in LINES if line[:2] in ("S ", "- ")]
    assert sum(line[0] == "S" for line in lines) >= 150 <= sum(line[0] == "-" for line in lines)
    return [
        line
        for line in lines
        if explain_line(config, line[2:].replace("␤", "\n"), project).outcome.runs != (line[0] == "-")
    ]


def test_lines_are_judged_as_their_author_did_but_for_those_with_a_reason(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project.parent))
    env = {"SB_HOME": str(project.parent / ".sb"), "HOME": str(project.parent)}
    config = load_config(env=env, cwd=project, flags={})
    assert sorted(judged_otherwise(config, project)) == sorted(OTHERWISE)
