"""Agents that are commands: their answers are read, and whatever they do wrong is one clear line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sb.errors import UsageError
from sb.evals.agents.command import CommandAgent, command_words
from sb.evals.agents.process import AgentProcess
from tests.evals.running_cases import Setup, answer, case, run

FINAL = '{"type": "final", "output": "done"}'
Make = Callable[..., CommandAgent]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Make]:
    made: list[CommandAgent] = []

    def make(script: str, *, reuse: bool = False, shell: str = "sh") -> CommandAgent:
        path = tmp_path / f"agent{len(made)}.{shell}"
        path.write_text(script, encoding="utf-8")
        made.append(CommandAgent("cmd:agent", f"{shell} {path.name}", tmp_path, tmp_path, reuse=reuse))
        return made[-1]

    yield make
    for item in made:
        item.close()


def alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def gone(pid: int) -> bool:
    """True if a process ends within a minute."""
    until = time.monotonic() + 60
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)


def test_an_answer_has_the_calls_the_text_and_the_cost(agent: Make, tmp_path: Path) -> None:
    call = {"type": "tool_call", "tool": "orders.read", "args": {"order": 7}, "success": True, "ms": 3}
    final = {"type": "final", "output": "Order 7 is paid", "cost_cents": 1.5}
    script = f"read line\necho '{json.dumps(call)}'\necho to stderr >&2\necho '{json.dumps(final)}'\n"
    found = answer(agent(script), tmp_path)
    assert (found.error, found.output, found.cost_cents) == ("", "Order 7 is paid", 1.5)
    assert [(item.tool, dict(item.args), item.success, item.ms) for item in found.calls] == [
        ("orders.read", {"order": 7}, True, 3.0)
    ]
    assert "to stderr" in found.log


def test_the_case_is_one_line_and_the_environment_is_the_cases_own(
    agent: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SB_DB", "/nowhere/real.db")
    script = """\
import json, os, sys
given = json.loads(sys.stdin.readline())
ours = sorted(name for name in os.environ if name.startswith("SB_"))
said = [given["id"], given["input"], given["vars"], os.getcwd(), os.environ["SB_HOME"], os.environ["SB_EVAL_SEED"], ours]
print(json.dumps({"type": "final", "output": json.dumps(said)}))
"""
    made = agent(script, shell="python3")
    found = run(made, tmp_path, case("a", "Ünï\ncode", vars={"x": 1})).results[0].attempts[0].answer
    case_id, text, given, folder, home, seed, ours = json.loads(found.output)
    assert (case_id, text, given) == ("a", "Ünï\ncode", {"x": 1})
    assert Path(folder).parent == Path(home).parent
    assert Path(folder).name == "work"
    assert int(seed) >= 0
    assert ours == ["SB_EVAL_CASE", "SB_EVAL_SEED", "SB_EVAL_TOKEN", "SB_HOME"]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("exit 0", "it ended with exit code 0, without a final line"),
        ("exit 3", "it ended with exit code 3, without a final line"),
        ("kill -SEGV $$", "it was killed by SIGSEGV, without a final line"),
        (f"echo '{FINAL}'; exit 4", "it ended with exit code 4, after its answer"),
        ("echo hello", "line 1 of its answer is not JSON; log to stderr: hello"),
        ('printf \'{"type": "fi\'', 'its last line is cut off after 12 bytes: {"type": "fi'),
        ("echo '[1]'", 'line 1 of its answer has no "type" of tool_call, final, error: [1]'),
        ('echo \'{"type": "tool_cal"}\'', 'has no "type"'),
        (
            'echo \'{"type": "tool_call", "tool": "a", "sucess": true}\'',
            "has the unknown field 'sucess' (did you mean \"success\"?)",
        ),
        ('echo \'{"type": "tool_call", "args": {}}\'', "line 1 of its answer: tool"),
        ('echo \'{"type": "final", "output": 3}\'', "output: not a text"),
        (f"echo '{FINAL}'; echo '{FINAL}'", "line 2 of its answer comes after the final one"),
        ('echo \'{"type": "error", "message": "no model"}\'', "no model"),
        (f'echo \'{{"type": "final", "output": "x", "cost_cents": {10**400}}}\'', "not from 0 to 1e+12"),
        ('echo \'{"type": "final", "output": "x", "cost_cents": 1e308}\'', "not from 0 to 1e+12"),
        (
            f'echo \'{{"type": "tool_call", "tool": "a", "success": true, "at": {10**400}}}\'',
            "at: not a number of seconds",
        ),
        (
            'echo \'{"type": "final", "output": "x", "cost_cents": NaN}\'',
            "has the number NaN, which is not finite",
        ),
        ('echo \'{"type": "final", "output": "x", "cost_cents": 1e999}\'', "has the number 1e999"),
        (f"echo '{'[' * 5000}{']' * 5000}'", "is nested deeper than 100 levels"),
        (f"echo '{'[' * 500}{']' * 500}'", "is nested deeper than 100 levels"),
    ],
)
def test_what_goes_wrong_is_one_line(
    agent: Make, tmp_path: Path, script: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sb.evals.agents.process._GRACE_S", 60.0
    )  # in which the shell ends, also where it has to wait
    found = answer(agent(f"read line\n{script}\n"), tmp_path)
    assert error in found.error
    assert "\n" not in found.error


def test_control_sequences_reach_neither_the_error_nor_the_log(agent: Make, tmp_path: Path) -> None:
    script = "printf '\\033[31mred\\033[0m\\n' >&2; printf '\\033]0;title\\007x\\n'\n"
    found = answer(agent(script), tmp_path)
    assert found.error
    assert "\x1b" not in found.error + found.log
    assert "red" in found.log


def test_a_key_on_stderr_is_masked(agent: Make, tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "Ab3d" * 20
    found = answer(agent(f"echo key {key} >&2; exit 1\n"), tmp_path)
    assert key not in found.error + found.log


def test_half_a_character_is_replaced(agent: Make, tmp_path: Path) -> None:
    call = '{"type": "tool_call", "tool": "a", "args": {"x": "\\uD800"}}'
    final = '{"type": "final", "output": "\\ud83d\\ude00 \\ud800"}'
    found = answer(agent(f"cat <<'EOF'\n{call}\n{final}\nEOF\n"), tmp_path)
    assert (found.output, found.calls[0].args["x"]) == ("\U0001f600 ?", "?")


def test_a_last_line_without_its_end_counts(agent: Make, tmp_path: Path) -> None:
    assert answer(agent(f"printf '{FINAL}'\n"), tmp_path).output == "done"


def test_a_flood_is_ended(agent: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sb.evals.agents.process.MOST_BYTES", 1 << 20)
    found = answer(agent('while :; do echo \'{"type": "tool_call", "tool": "a"}\'; done\n'), tmp_path)
    assert "more than 1.0 MiB" in found.error


def test_one_endless_line_is_ended(agent: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sb.evals.agents.process.LONGEST_LINE", 1 << 16)
    found = answer(agent("cat /dev/zero\n"), tmp_path)
    assert "as one line" in found.error


def test_a_flood_of_stderr_is_shortened_and_the_answer_counts(agent: Make, tmp_path: Path) -> None:
    script = f"i=0; while [ $i -lt 4000 ]; do echo 'line of the log' >&2; i=$((i+1)); done; echo '{FINAL}'\n"
    found = answer(agent(script), tmp_path)
    assert found.output == "done"
    assert len(found.log) <= 8 << 10


def test_an_agent_that_reads_nothing_may_be_given_much(agent: Make, tmp_path: Path) -> None:
    assert answer(agent(f"echo '{FINAL}'\n"), tmp_path, "x" * 3_000_000).output == "done"


def test_at_its_timeout_an_agent_ends_with_all_that_it_forked(agent: Make, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! $$ > {pids}.new\nmv {pids}.new {pids}\nwait\n"
    made = agent(script)
    for timeout_s in (0.7, 10, 100):  # a busy machine takes its time to start both
        found = answer(made, tmp_path, timeout_s=timeout_s)
        assert found.error == f"the agent: no answer within {timeout_s} s"
        if pids.exists():
            break
    assert found.seconds < timeout_s + 60
    numbers = [int(pid) for pid in pids.read_text().split()]
    assert len(numbers) == 2
    assert all(map(gone, numbers))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc lists processes")
def test_what_left_the_group_ends_with_the_run(agent: Make, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"""\
import os, time
if os.fork() == 0:
    os.setsid()
    for fd in range(3): os.close(fd)
    time.sleep(60)
    os._exit(0)
print('{FINAL}')
"""
    script = script.replace("os.setsid()", f"os.setsid(); open({str(pid)!r}, 'w').write(str(os.getpid()))")
    made = agent(script, shell="python3")
    assert answer(made, tmp_path).output == "done"
    made.close()
    assert gone(int(pid.read_text()))


def test_an_agent_may_stay_for_further_cases(agent: Make, tmp_path: Path) -> None:
    script = 'while read line; do echo "{\\"type\\": \\"final\\", \\"output\\": \\"$$\\"}"; done\n'
    found = run(agent(script, reuse=True), tmp_path, case("a"), case("b"))
    first, second = (result.attempts[0].answer.output for result in found.results)
    assert first == second != ""
    other = run(agent(script), tmp_path, case("a"), case("b"))
    assert other.results[0].attempts[0].answer.output != other.results[1].attempts[0].answer.output


def test_calls_that_the_kernel_of_the_home_saw_count_and_its_requests_are_answered(
    agent: Make, tmp_path: Path
) -> None:
    script = """\
import json
from sb.runtime import open_runtime
with open_runtime() as runtime:
    with runtime.run() as ctx:
        first = runtime.executor.execute(ctx, "files.write", {"path": "a.txt", "content": "x"})
        second = runtime.executor.execute(ctx, "files.delete", {"path": "a.txt"}, wait_s=50)
        third = runtime.executor.execute(ctx, "files.delete", {"path": "b.txt"}, wait_s=50)
print(json.dumps({"type": "tool_call", "tool": "invented", "success": True}))
print(json.dumps({"type": "final", "output": str([first.success, second.success, third.success])}))
"""
    path = tmp_path / "kernel_agent.py"
    path.write_text(script, encoding="utf-8")
    made = CommandAgent("cmd", f"{sys.executable} {path}", tmp_path, tmp_path)
    found = answer(made, tmp_path, timeout_s=60, setup=Setup({"b.txt": "y"}, approve=("files.delete",)))
    assert (found.error, found.output) == ("", "[True, True, True]")
    assert [(call.tool, call.args.get("path"), call.success) for call in found.calls] == [
        ("files.write", "a.txt", True),
        ("files.delete", "a.txt", True),
        ("files.delete", "b.txt", True),
    ]


def test_words_that_name_files_are_looked_up_where_the_command_was_typed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("", encoding="utf-8")
    assert command_words("python3 agent.py --out agent", tmp_path)[1:] == [
        str(tmp_path / "agent.py"),
        "--out",
        "agent",
    ]


@pytest.mark.parametrize("line", ["", '"open', "no-such-program-of-ours x"])
def test_a_command_that_cannot_start_is_refused_at_once(line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        CommandAgent("cmd:", line, tmp_path, tmp_path)


def test_the_number_of_a_process_that_was_waited_for_is_sent_no_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    process = AgentProcess(["true"], os.environ, tmp_path)
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(pid))
    assert process.wait() == 0
    assert sent == []
