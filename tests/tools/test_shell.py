"""shell.run: programs, limits, and the end of everything that they start."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.config import load_config
from sb.config.groups import Shell
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.run_context import RunContext
from sb.runtime import open_runtime
from sb.tools import processes
from sb.tools.processes import run_program
from sb.tools.roots import Roots
from sb.tools.shell import register_shell

Call = Callable[..., Any]
Refusal = Callable[..., str]


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def shell(root: Path, **settings: Any) -> Call:
    registry = ToolRegistry()
    register_shell(registry, Shell(**settings), Roots([root]))
    run = registry.get_callable("shell.run")
    assert run
    return run


def wait_until(done: Callable[[], bool]) -> bool:
    """True if it became true within a minute."""
    end = time.monotonic() + 60
    while not done() and time.monotonic() < end:
        time.sleep(0.005)
    return done()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return not os.path.exists("/proc")
    return state != "Z"  # killed, and not yet reaped by whoever adopted it


def test_a_program_gives_its_output_and_exit_code(call: Call) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    assert call("shell.run", argv=python(code)) == {
        "exit_code": 3,
        "stdout": "out\n",
        "stderr": "err\n",
        "stdout_truncated": False,
        "stderr_truncated": False,
    }


def test_no_shell_reads_the_arguments(root: Path, call: Call) -> None:
    hostile = ["$HOME", "`id`", "$(id)", "a;b", "*", "> file", "&& x", "'", '"', "\n", "-n", "ü"]
    code = "import sys; print(ascii(sys.argv[1:]))"
    assert call("shell.run", argv=python(code, *hostile))["stdout"] == ascii(hostile) + "\n"
    assert not (root / "file").exists()


def test_a_signal_is_a_negative_exit_code(call: Call) -> None:
    assert (
        call("shell.run", argv=python("import os; os.kill(os.getpid(), 15)"))["exit_code"] == -signal.SIGTERM
    )


@pytest.mark.parametrize("cwd", [None, ".", "sub", "absolute"])
def test_a_program_starts_in_a_folder_below_the_root(root: Path, call: Call, cwd: str | None) -> None:
    (root / "sub").mkdir()
    expected = root / "sub" if cwd in ("sub", "absolute") else root
    arguments = {} if cwd is None else {"cwd": str(root / "sub") if cwd == "absolute" else cwd}
    found = call("shell.run", argv=python("import os; print(os.getcwd())"), **arguments)
    assert found["stdout"] == f"{expected}\n"


@pytest.mark.parametrize(
    ("cwd", "code"),
    [
        ("..", ToolErrorCode.PERMISSION_DENIED),
        ("/", ToolErrorCode.PERMISSION_DENIED),
        ("link", ToolErrorCode.PERMISSION_DENIED),
        (".sb", ToolErrorCode.PERMISSION_DENIED),
        ("missing", ToolErrorCode.NOT_FOUND),
        ("file", ToolErrorCode.VALIDATION_ERROR),
    ],
)
def test_a_folder_elsewhere_is_refused(
    root: Path, outside: Path, refused: Refusal, cwd: str, code: ToolErrorCode
) -> None:
    (root / "link").symlink_to(outside)
    (root / "file").touch()
    refused(code, "shell.run", argv=["touch", "made"], cwd=cwd)
    assert not (outside / "made").exists()


def test_a_program_beside_the_working_folder_is_found_by_its_path(root: Path, call: Call) -> None:
    (root / "sub").mkdir()
    script = root / "sub" / "run"
    script.write_text("#!/bin/sh\necho $0\n", encoding="utf-8")
    script.chmod(0o755)
    assert call("shell.run", argv=["./run"], cwd="sub")["stdout"] == "./run\n"


@pytest.mark.parametrize("text", ["", "größe\n", "x" * 300_000])
def test_standard_input_is_passed_on(call: Call, text: str) -> None:
    code = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert call("shell.run", argv=python(code), stdin=text)["stdout"] == f"{digest}\n"


def test_a_program_that_does_not_read_its_input_ends_all_the_same(call: Call) -> None:
    assert call("shell.run", argv=["true"], stdin="x" * 1_000_000)["exit_code"] == 0
    code = "import sys, time; sys.stdin.close(); time.sleep(0.05); print('done')"
    assert call("shell.run", argv=python(code), stdin="x" * 1_000_000)["stdout"] == "done\n"


def test_without_input_standard_input_is_at_its_end(call: Call) -> None:
    assert call("shell.run", argv=["cat"])["stdout"] == ""


def test_output_that_is_not_text_is_replaced(call: Call) -> None:
    code = r"import sys; sys.stdout.buffer.write(b'a\xffb')"
    assert call("shell.run", argv=python(code))["stdout"] == "a\ufffdb"


def test_only_named_variables_are_passed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("GIVEN", "y")
    monkeypatch.delenv("ABSENT", raising=False)
    run = shell(root, env=("PATH", "GIVEN", "ABSENT"))
    assert run(argv=["env"])["stdout"].splitlines() == [f"PATH={os.environ['PATH']}", "GIVEN=y"]
    default = shell(root)(argv=["env"])["stdout"]
    assert "HOME=" not in default
    assert "SECRET" not in default


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        ([], ToolErrorCode.VALIDATION_ERROR),
        ([""], ToolErrorCode.VALIDATION_ERROR),
        (["true", 1], ToolErrorCode.VALIDATION_ERROR),
        (["true", None], ToolErrorCode.VALIDATION_ERROR),
        (["tr\0ue"], ToolErrorCode.VALIDATION_ERROR),
        (["true", "\0"], ToolErrorCode.VALIDATION_ERROR),
        (["true", "\ud800"], ToolErrorCode.VALIDATION_ERROR),
        (["true", "x" * 10_000_000], ToolErrorCode.VALIDATION_ERROR),
        (["no-such-program"], ToolErrorCode.NOT_FOUND),
        (["./no-such-program"], ToolErrorCode.NOT_FOUND),
        (["/no/such/program"], ToolErrorCode.NOT_FOUND),
        (["no\nsuch\x1b[31m"], ToolErrorCode.NOT_FOUND),
        (["./not-executable"], ToolErrorCode.PERMISSION_DENIED),
        (["./folder"], ToolErrorCode.PERMISSION_DENIED),
        (["./no-interpreter"], ToolErrorCode.NOT_FOUND),
        (["./not-a-program"], ToolErrorCode.VALIDATION_ERROR),
    ],
)
def test_a_program_that_cannot_start_is_refused(
    root: Path, refused: Refusal, argv: list[Any], code: ToolErrorCode
) -> None:
    (root / "folder").mkdir()
    (root / "not-executable").touch(0o644)
    for name, content in (("no-interpreter", "#!/no/such/interpreter\n"), ("not-a-program", "\1\2\3")):
        (root / name).write_text(content, encoding="utf-8")
        (root / name).chmod(0o755)
    refused(code, "shell.run", argv=argv)


@pytest.mark.parametrize("timeout_s", [0, -1, 50.1, float("nan"), float("inf")])
def test_a_time_outside_the_range_is_refused(refused: Refusal, timeout_s: float) -> None:
    refused(ToolErrorCode.VALIDATION_ERROR, "shell.run", argv=["true"], timeout_s=timeout_s)


def test_input_that_is_not_unicode_is_refused(refused: Refusal) -> None:
    refused(ToolErrorCode.VALIDATION_ERROR, "shell.run", argv=["cat"], stdin="\ud800")


def test_a_program_that_takes_too_long_is_killed_with_its_children(root: Path, refused: Refusal) -> None:
    code = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
open("new", "w").write(f"{os.getpid()} {child.pid}")
os.rename("new", "pids")
time.sleep(60)
"""
    for timeout_s in (0.5, 5, 40):  # a busy machine takes its time to start both
        message = refused(ToolErrorCode.TIMEOUT, "shell.run", argv=python(code), timeout_s=timeout_s)
        assert f"{timeout_s} s" in message
        if (root / "pids").exists():
            break
    pids = [int(pid) for pid in (root / "pids").read_text(encoding="utf-8").split()]
    assert len(pids) == 2
    assert wait_until(lambda: not any(is_running(pid) for pid in pids))


def test_a_program_that_closed_its_output_is_still_waited_for(call: Call, refused: Refusal) -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep({}); os._exit(7)"
    assert call("shell.run", argv=python(code.format(0.05)))["exit_code"] == 7
    refused(ToolErrorCode.TIMEOUT, "shell.run", argv=python(code.format(60)), timeout_s=0.2)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_writes_too_much_is_killed(root: Path, stream: str) -> None:
    run = shell(root, max_output_bytes=1000)
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 10_000)"
    found = run(argv=python(code))
    assert found["exit_code"] == -signal.SIGKILL
    assert len(found[stream]) == 1000
    assert found[f"{stream}_truncated"]
    other = "stderr" if stream == "stdout" else "stdout"
    assert not found[f"{other}_truncated"]


@pytest.mark.parametrize(("size", "truncated"), [(1000, False), (1001, True)])
def test_output_at_the_limit_is_whole(root: Path, size: int, truncated: bool) -> None:
    found = shell(root, max_output_bytes=1000)(argv=python(f"print('x' * {size}, end='')"))
    assert (len(found["stdout"]), found["stdout_truncated"]) == (1000, truncated)


def test_output_of_a_program_that_has_ended_is_whole_however_late_it_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = processes._start

    def start_and_stall(*arguments: Any, **options: Any) -> Any:
        process = start(*arguments, **options)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return process

    monkeypatch.setattr(processes, "_start", start_and_stall)
    folder = os.open(root, os.O_RDONLY)
    command = python("print('x' * 60_000, end='')")
    ended = run_program(command, folder=folder, env={}, stdin=b"", timeout_s=0, max_output=1 << 20)
    os.close(folder)
    assert (ended.exit_code, ended.timed_out, len(ended.stdout.data)) == (0, False, 60_000)


@pytest.mark.parametrize("new_session", [False, True])
def test_what_a_program_left_running_does_not_hold_the_call(
    root: Path, call: Call, new_session: bool
) -> None:
    code = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"],
                         start_new_session={new_session})
print(child.pid, "x" * 5000)
"""
    started = time.monotonic()
    found = call("shell.run", argv=python(code))
    assert time.monotonic() - started < 30
    assert found["exit_code"] == 0
    pid, output = found["stdout"].split()
    assert output == "x" * 5000
    if new_session:  # it left the process group, which is all that is killed
        assert is_running(int(pid))
        os.kill(int(pid), signal.SIGKILL)
    assert wait_until(lambda: not is_running(int(pid)))


def test_what_a_program_left_running_without_its_pipes_is_killed(root: Path, call: Call) -> None:
    code = """
import subprocess, sys
none = subprocess.DEVNULL
print(subprocess.Popen(["sleep", "60"], stdin=none, stdout=none, stderr=none).pid)
"""
    pid = int(call("shell.run", argv=python(code))["stdout"])
    assert wait_until(lambda: not is_running(pid))


def test_a_program_inherits_no_descriptor(call: Call) -> None:
    code = "import os; print([fd for fd in range(3, 100) if os.path.exists(f'/dev/fd/{fd}')])"
    found = call("shell.run", argv=python(code))
    assert found["stdout"] == "[]\n"


@pytest.mark.parametrize("step_in", [False, True])
def test_both_ways_into_a_folder_start_the_same_program(tmp_path: Path, step_in: bool) -> None:
    if not step_in and not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)

    def run(*argv: str) -> tuple[int, str]:
        ended = run_program(
            argv,
            folder=fd,
            env={"PATH": os.environ["PATH"], "A": "b=c"},
            stdin=b"in",
            timeout_s=60,
            max_output=10_000,
            step_in=step_in,
        )
        return ended.exit_code, ended.stdout.text()

    try:
        assert run("pwd") == (0, f"{tmp_path}\n")
        assert run("cat") == (0, "in")
        assert sorted(run("env")[1].splitlines()) == ["A=b=c", f"PATH={os.environ['PATH']}"]
        code = "import os; print([fd for fd in range(3, 100) if os.path.exists(f'/dev/fd/{fd}')])"
        assert run(*python(code)) == (0, "[]\n")
        for argv in (["no-such-program"], ["./missing"]):
            with pytest.raises(FileNotFoundError):
                run(*argv)
        with pytest.raises(PermissionError):
            run("./")
    finally:
        os.close(fd)


def test_nobody_is_asked_about_a_program_while_no_folder_is_open(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    fingerprints = []
    for roots in ("[]", f"[{tmp_path}]"):
        (home / "config.yaml").write_text(f"files: {{roots: {roots}}}\n", "utf-8")
        with open_runtime(load_config(env=os.environ, cwd=tmp_path, flags={})) as runtime:
            result = runtime.executor.execute(
                RunContext.create("clerk"), "shell.run", {"argv": ["rm", "-r", "x"]}
            )
            fingerprints.append(runtime.baselines.seen.fingerprints(runtime.registry)["shell.run"])
        refused = result.error_code is ToolErrorCode.PERMISSION_DENIED
        is_asked = "approval_id" in (result.data or {})
        assert ("files.roots" in str(result.error_message), is_asked) == (roots == "[]", roots != "[]")
        assert refused
    assert fingerprints[0] == fingerprints[1]  # a setting changes no contract
