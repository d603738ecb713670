"""Code of other languages in a line: judged by what it calls, in bounded time, and it never raises."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sb.kernel.contracts import SafetyClass
from sb.shell import ShellVerdict, classify
from tests.rows import rows

HOME = Path("/data/somebody")
LANGUAGES = {
    "python3 -c": "python3",
    "node -e": "node",
    "perl -e": "perl",
    "ruby -e": "ruby",
    "php -r": "php",
}


def judge(command: str) -> ShellVerdict:
    return classify(command, cwd=HOME / "work", home=HOME, protected=[HOME / ".sb"], env={})


@rows(
    "code, same",
    [
        ("import os; os.remove('a.txt')", "rm -- a.txt"),
        ("import shutil; shutil.rmtree('src')", "rm -r -- src"),
        ("import os; os.rename('a', '.git/hooks/pre-push')", "mv -- a .git/hooks/pre-push"),
        ("import shutil; shutil.copy('a', '/etc/hosts')", "cp -- a /etc/hosts"),
        ("import os; os.symlink('a', '/usr/bin/x')", "ln -s -- a /usr/bin/x"),
        ("open('/etc/hosts', 'w')", "echo > /etc/hosts"),
        ("import os; os.system('git reset --hard')", "git reset --hard"),
        ("import subprocess; subprocess.run(['terraform', 'destroy'])", "terraform destroy"),
        ("import requests; requests.delete('https://example.org/x')", "curl -X DELETE https://example.org/x"),
        ("import os; os.kill(-1, 9)", "kill -9 -1"),
        ("import tarfile; tarfile.open('x.tar').extractall('/etc')", "tar -xf x.tar -C /etc"),
    ],
)
def test_code_is_judged_like_the_same_thing_in_shell(code: str, same: str) -> None:
    inline, shell = judge(f"python3 -c {shlex.quote(code)}"), judge(same)
    assert inline.safety_class is max(shell.safety_class, SafetyClass.NETWORK)
    assert set(inline.writes) >= set(shell.writes)


def test_reason_names_the_call_and_what_it_would_be_in_shell() -> None:
    verdict = judge("python3 -c \"import shutil; shutil.rmtree('src')\"")
    assert verdict.reason == "python3 shutil.rmtree: rm -r: deletes a folder and its contents"
    assert verdict.programs == ("python3",)  # no program of the line is made up
    verdict = judge("node -e \"require('child_process').execSync('git push --force')\"")
    assert verdict.programs == ("node", "git")


def test_code_that_is_too_long_waits() -> None:
    for begin in LANGUAGES:
        assert judge(f"{begin} {shlex.quote('x = 1;' * 15_000)}").safety_class == "destructive"


@rows(
    "code",
    [
        "a = b = 'x'\n" + "a = a + a + b\nb = b + a + a\n" * 40 + "open(a, 'w')",
        "import os\n" + "p = os.path.join(p, os.path.join(p, p))\n" * 40 + "os.remove(p)",
        "l = []\n" + "l = l + l\n" * 40 + "import subprocess; subprocess.run(l)",
        "f(" * 90 + ")" * 90,
        "unlink(" * 60,
        "'" * 3_000 + "`" * 299 + "fs.unlinkSync('a' + " * 60,
    ],
)
def test_time_is_bounded(code: str) -> None:
    begun = time.process_time()
    for begin in LANGUAGES:
        judge(f"{begin} {shlex.quote(code)}")
    assert time.process_time() - begun < 12


PIECES = st.sampled_from(
    (
        "import os\n|import os as o\n|from os import *\n|os.|open(|getattr(os,|__import__('os').|Path(|.unlink()|.glob('*')|exec(|eval(|"
        "sys.argv[1]|sys.argv[-9]|[0]|[::-1]|[1:]|'a'|\"b\"|f'{x}'|'%s'%|.format(|.join(|.split()|x=|x|y|lambda: |for x in |:\n|\n  |;|(|)|[|]|{|}|,|"
        "*x|**y|1|-1|1.5|None|b'\\xff'|chr(99999999)|base64.b64decode('!')|subprocess.run(|shell=True|['rm','-rf',x]|shlex.split(\"'\")|"
        "fs.rmSync(|process.env.HOME|`${x}`|qx{|unlink |open(F,'>',|$x|@y|#{z}|%x(|File.open(|system |'w'|+|.|=>|:|\\|os.path.join(|/|%"
    ).split("|")
)


@given(st.lists(PIECES, max_size=14).map("".join), st.sampled_from(sorted(LANGUAGES)))
@settings(max_examples=100)
def test_any_code_gets_a_verdict(code: str, begin: str) -> None:
    verdict = judge(f"{begin} {shlex.quote(code)} a b")
    assert verdict.safety_class >= SafetyClass.NETWORK
