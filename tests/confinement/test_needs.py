"""Needs of programs: what a line gets, and that nothing else in it gets it too."""

from __future__ import annotations

from pathlib import Path

from sb.confinement.needs import needs_of, outside_of
from sb.shell import classify
from tests.rows import rows

GIVEN = (
    ("git push", ".ssh"), ("git pull --rebase", ".ssh"), ("git add -A && git commit -m 'x' && git push | tail -3", ".ssh"),
    ("npm ci && npm test 2>&1 | tail", ".npmrc"), ("docker compose up -d", ".docker"), ("kubectl get pods | grep api", ".kube"),
)  # fmt: skip
# Something else runs in the line, or what is named may be an agent's own program.
NOT_GIVEN = (
    "git --version; python3 steal.py", "tmux -V; python3 t.py", "./git push", "node_modules/.bin/tmux ls", "PATH=. git push", "git push && make",
    "git push $(python3 x.py)", "sh -c 'git push; ./x'", "find . -exec ./x {} + ; git push", "npm test && git push", "echo x", "make",
    "git(){ python3 x.py; }; git push", "alias git=./x; git push", "xargs -a list git push; ./x",
)  # fmt: skip
# A monitor, a transport or a test that a repository or the line names may be an agent's own program.
OF_A_REPOSITORY = (
    "git status", "git -C nest status", "cd nest && git fetch", "git fetch --upload-pack=./steal.sh ./nest", "git ls-remote 'ext::./steal.sh'",
    "go run ./steal", "go test ./...",
)  # fmt: skip


def commands(line: str) -> tuple[tuple[str, ...], ...]:
    return classify(line, cwd=Path("/srv/shop"), home=Path("/data/nobody"), protected=[]).commands


@rows("line, credential", GIVEN)
def test_line_of_one_program_gets_what_it_needs(line: str, credential: str) -> None:
    (need,) = needs_of(commands(line))
    assert credential in need.credentials


@rows("line", NOT_GIVEN)
def test_line_that_runs_something_else_gets_nothing(line: str) -> None:
    assert needs_of(commands(line)) == []


def test_what_cannot_work_inside_is_seen_in_any_line() -> None:
    assert outside_of(commands("make && sudo make install")) == "runs as another user"
    assert outside_of(commands("make install")) == ""


@rows("line", OF_A_REPOSITORY)
def test_subcommand_that_may_run_what_a_repository_names_gets_no_key(line: str) -> None:
    (need,) = needs_of(commands(line))
    assert not {".ssh", ".netrc", ".git-credentials"} & set(need.credentials)
    assert need.sockets == ()


def test_commit_gets_what_signs_and_a_push_what_logs_in() -> None:
    (commit,) = needs_of(commands("git add -A && git commit -m done"))
    assert ".gnupg" in commit.credentials
    assert ".ssh" not in commit.credentials
    (push,) = needs_of(commands("git commit -m done && git push -u origin main"))
    assert ".ssh" in push.credentials
