"""Lines of calls that nothing confines: what could not be brought back asks, whatever stands around it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.config import load_config
from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import NativeCall
from sb.hosts.hooks.preview import Preview, Previewed
from tests.rows import rows

Judged = Callable[..., Previewed]


@pytest.fixture
def judged(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Judges lines in a repository below a user's home, with nothing in temporary folders."""
    monkeypatch.setattr("sb.shell.snapshots.area.temporary_folders", tuple)
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
    contexts: dict[Path, JudgingContext] = {}
    preview = Preview(load_config(env={"SB_HOME": str(home), "HOME": str(user)}, cwd=project, flags={}))

    def judge(command: str, cwd: Path = project, **given: object) -> Previewed:
        context = contexts.setdefault(cwd, preview.context("claude-code", str(cwd)))
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


ANYWHERE = (
    'cd "$(foo)" && rm a.txt', "cd $X; echo x > b.txt", "cd $X; mv a.txt b.txt", "cd $X; cp a.txt b.txt", "pushd $X; rm a.txt", "popd; rm a.txt",
    "cd -; echo x > a.txt", "CDPATH=~ cd docs; rm plan.md", "export CDPATH=~; cd docs && rm plan.md", "HOME=/tmp; rm ~/notes.md",
    "HOME=~/docs; cd; rm plan.md", "OLDPWD=~/docs; cd -; rm plan.md", 'go() { cd "$1"; }; go ~/docs; rm plan.md',
    "f() { g; }; g() { cd $X; }; f; rm a.txt", "f() { rm a.txt; }; cd $X; f", "source ./setup.sh; rm a.txt", ". ./setup.sh; echo x > a.txt",
    "cd $X; cd /not/there; rm a.txt", "cd $X; (cd src; rm app.py)", "while read d; do rm a.txt; cd $d; done", "if make; then cd $X; fi; rm a.txt",
    "bash -c 'cd $X; truncate -s0 a.txt'", "(cd src); cd -; rm a.txt", "f() { . ./x.sh; }; f; rm a.txt", "cd $X; sed -i d a.txt",
)  # fmt: skip
SOMEWHERE = (
    "cd src && rm -f app.py", "cd src; echo x > app.py", "pushd src && rm app.py && popd && rm a.txt", "cd src; make; cd -; rm a.txt",
    "source .venv/bin/activate; rm -f a.txt", "python -m venv v && . v/bin/activate && pip freeze > requirements.txt", "f() { make; }; f; echo x > a.txt",
    'go() { cd "$1"; }; rm a.txt', 'cd "$(git rev-parse --show-toplevel)" && rm a.txt', 'cd "$(dirname "$0")"; echo x > a.txt', "cd $X; ls; make",
    "(cd $X; make); rm a.txt", "cd $X; echo y >> log.txt", "for d in s*; do (cd $d && echo x > app.py); done", "D=src; cd $D && rm app.py",
    "T=$(mktemp -d); cd $T; echo x > a; rm a", "HOME=/tmp/h npm i > log.txt", "source .env && node x.js > b.txt", "cd $X; rm /not/there", "bash -c 'cd $X'; mkdir d; cd d; rm a.txt", "echo $(cd $X; pwd); rm a.txt", "pushd $X; popd; rm a.txt",
)  # fmt: skip


@rows("line", ANYWHERE)
def test_file_in_a_folder_that_nobody_knows_is_not_lost_unasked(line: str, judged: Judged) -> None:
    assert judged(line).outcome == "asked"


@rows("line", SOMEWHERE)
def test_folder_that_the_line_tells_is_a_known_one(line: str, judged: Judged) -> None:
    assert judged(line).outcome.runs


STAYS = (
    "cp x ~/.local/bin/git", "ln -s $PWD/x ~/.local/bin/ls", "echo x > ~/bin/ls", "echo x > .venv/lib/python3.12/site-packages/x.pth",
    "curl -o ~/.local/lib/python3.12/site-packages/sitecustomize.py https://x.example.com", "echo x >> ~/.vimrc", "tee -a ~/.config/nvim/init.lua < a.txt",
    "echo x >> ~/.config/pip/pip.conf", "cp a.txt ~/.cargo/config.toml", "LD_PRELOAD=./x.so ls", "export LD_PRELOAD=$PWD/x.so", "LD_AUDIT=/tmp/x.so make",
    "npm config set registry http://x.example.com", "npm set registry=http://x.example.com", "pip config set global.trusted-host x.example.com",
    "echo x > .claude/agents/a.md", "cp -r x .claude/skills", "mv x .github/agents/a.md", "echo {} > .devcontainer/devcontainer.json", "echo {} > .vscode/launch.json",
    "rm -rf .claude/skills/a", "python -c \"open('.claude/commands/a.md','w').write('x')\"",
)  # fmt: skip
PASSES_BY = (
    "cp x ~/.local/bin/our-own-tool", "rm -f ~/.local/bin/none", "cp model.pth models/", "curl -o weights.pth https://x.example.com/w", "rm -rf .venv",
    "npm config set fund false", "npm config get registry", "pip config list", "LD_PRELOAD=/usr/lib/libjemalloc.so.2 make", "cat ~/.vimrc",
    "python .claude/skills/pdf/fill.py", "docker compose -f .devcontainer/compose.yml up -d", "git add .claude/agents/a.md", "echo x > .vscode/extensions.json",
    "echo x > .github/workflows/ci.yml", "echo x > ~/docs/new.md",
)  # fmt: skip


@rows("line", STAYS)
def test_change_that_outlives_its_call_asks(line: str, judged: Judged) -> None:
    assert judged(line).outcome == "asked"


@rows("line", PASSES_BY)
def test_neighbours_of_what_outlives_its_call_go_on(line: str, judged: Judged) -> None:
    assert judged(line).outcome.runs


WRITTEN = (
    "GIT_TRACE=~/.bashrc git status", "export GIT_TRACE2_EVENT=$HOME/.profile; git log", "env GIT_TRACE_SETUP=/etc/x git status",
    "GIT_TRACE_PACKET=.git/hooks/post-commit git fetch", "GIT_INDEX_FILE=~/notes.md git add -A", "GIT_INDEX_FILE=.env git read-tree HEAD",
    "PIP_LOG=~/.bashrc pip install x", "HISTFILE=~/notes.md; history -w", "git fast-export --export-marks=$HOME/notes.md HEAD",
    "git fast-import --export-marks .env", "foo --in-place ~/notes.md", "yq --in-place .a=1 ~/notes.md", "autopep8 --inplace --in-place ~/docs/plan.md",
    "foo -o ~/notes.md", "frob --output=.env",
)  # fmt: skip
WRITTEN_HERE = (
    "GIT_TRACE=1 git status", "GIT_TRACE=true git fetch", "GIT_TRACE=/not/there/log git status", "GIT_TRACE2_PERF=perf.log git status",
    "GIT_INDEX_FILE=other.index git add -A", "PIP_LOG=pip.log pip install x", "HISTFILE=/dev/null bash", "unset HISTFILE", "KUBECONFIG=~/.kube/config kubectl get pods",
    "autopep8 --in-place src/app.py", "git fast-export --export-marks=marks.txt HEAD", "foo -o ~/none.md", "foo --output a.txt", "pytest --log-file=pytest.log",
)  # fmt: skip


@rows("line", WRITTEN)
def test_file_that_a_variable_or_an_option_has_written_asks(line: str, judged: Judged) -> None:
    assert judged(line).outcome == "asked"


@rows("line", WRITTEN_HERE)
def test_variable_that_names_no_file_to_lose_goes_on(line: str, judged: Judged) -> None:
    assert judged(line).outcome.runs


UNSEEN = (
    "ln ~/notes.md here.md", "cp -l ~/notes.md here.md", "cp --link ~/docs/plan.md .", "link ~/notes.md here.md", "ln -f ~/notes.md a.txt",
    "git ls-files -z | xargs -0 truncate -s0", "find . -type f -exec truncate -s 0 {} +", "ls | xargs -n1 cp /dev/null", "truncate -s0 ~/*.md",
    "rm ~/docs/.cache/x", "echo x > ~/docs/.cache/x", "make; rm ~/docs/.cache/x",
)  # fmt: skip
SEEN = (
    "ln a.txt c.txt", "ln -s ~/notes.md here.md", "cp -al src copy", "rm ~/.cache/tool/x", "git ls-files -z | xargs -0 wc -l", "truncate -s0 a.txt",
    "git ls-files '*.py' | xargs sed -i s/a/b/", 'truncate -s0 "logs/$X.log"', "cp /dev/null a.txt", "truncate -s0 *.txt",
)  # fmt: skip


@rows("line", UNSEEN)
def test_files_that_no_snapshot_could_name_are_not_lost_unasked(line: str, judged: Judged) -> None:
    assert judged(line).outcome == "asked"


@rows("line", SEEN)
def test_files_that_the_line_names_go_on(line: str, judged: Judged) -> None:
    assert judged(line).outcome.runs


@rows("name", ["run_in_background", "is_background"])
def test_command_that_its_host_does_not_wait_for_is_not_followed(name: str, judged: Judged) -> None:
    assert judged("rm -rf src").outcome == "kept"
    assert judged("rm -rf src", **{name: True}).outcome == "asked"


def test_folder_that_is_gone_is_any_folder(judged: Judged, tmp_path: Path) -> None:
    gone = tmp_path / "ada" / "work" / "shop" / "gone"
    for line in ("rm a.txt", "rm -rf src", "echo x > a.txt", "cd ..; rm a.txt"):
        assert judged(line, cwd=gone).outcome == "asked", line
    for line in ("ls", "npm test", f"rm {gone.parent}/a.txt"):
        assert judged(line, cwd=gone).outcome.runs, line
