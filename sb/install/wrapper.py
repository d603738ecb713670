"""What do hosts run, and what does it answer when the interpreter or `sb` is gone?

A host's configuration outlives the environment that `sb` was installed into, and a command that is missing blocks every
tool call on some hosts. So hosts run this script, whose path never changes and which needs nothing but a shell.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import sb
from sb.config.home import Home
from sb.errors import SBError
from sb.install.files import look, replace

_SCRIPT = """\
#!/bin/sh
# Written by `sb install`: what coding agents run before and after their tool calls.
python={python}
package={package}
SB_HOME={home}
export SB_HOME
[ $# -gt 0 ] || set -- claude-code
if [ "$1" = serve ]; then verb=; else verb=hook; fi

# -P and -E: code and variables of the folder that the agent works in must not become part of this program.
if [ -x "$python" ]; then
    if [ -e "$package/__main__.py" ] || "$python" -P -E -c 'import sb.__main__' 2>/dev/null; then
        exec "$python" -P -E -m sb $verb "$1"
    fi
fi

PATH=${{PATH-}}:/usr/bin:/bin
if [ "${{2-}}" = --fail-closed ]; then
    echo "SecondBrain is gone, and $1 is set to run no tool without it." >&2
    echo "A person installs it again, or takes the entries that name $0 out of the settings of $1." >&2
    exit 2
fi
[ "$verb" ] || exit 0
payload=$(cat)
case $payload in
*'"cursor_version"'*) ;;
*) exit 0 ;;
esac
case $(printf '%s\\n' "$payload" | sed -n 's/.*"hook_event_name"[[:space:]]*:[[:space:]]*"\\([A-Za-z]*\\)".*/\\1/p') in
beforeShellExecution | beforeMCPExecution) echo '{{"permission": "ask"}}' ;;
preToolUse | beforeReadFile | subagentStart) echo '{{"permission": "allow"}}' ;;
beforeSubmitPrompt) echo '{{"continue": true}}' ;;
*) echo '{{}}' ;;
esac
"""
_ASSIGNED = re.compile(r"^(python|package)=(.*)$", re.MULTILINE)


def wrapper_path(home: Home) -> Path:
    return home.folder / "bin" / "sb-hook"


def write_wrapper(home: Home) -> Path:
    """Make the script, or point it at this interpreter.

    Raises:
        SBError: `sb` cannot be started from the interpreter alone, or the script cannot be written.
    """
    _refuse_unstartable()
    path = wrapper_path(home)
    content = _SCRIPT.format(
        python=shlex.quote(sys.executable),
        package=shlex.quote(str(Path(sb.__file__).parent)),
        home=shlex.quote(str(home.folder)),
    ).encode()
    path.parent.mkdir(mode=0o700, exist_ok=True)
    seen = look(path)
    if seen.content != content:
        replace(seen, content)
    path.chmod(0o700)
    return path


def _refuse_unstartable() -> None:
    command = [sys.executable, "-P", "-E", "-c", "import sb.__main__"]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise SBError(f"{sys.executable} cannot be started: {error}") from None
    if done.returncode != 0:
        raise SBError(
            f"{sys.executable} does not find sb by itself",
            "install sb into it: PYTHONPATH is not used by hooks",
        )


def amiss(home: Home) -> str:
    """What keeps the script from reaching `sb`, or ""."""
    path = wrapper_path(home)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return f"{path} is missing or cannot be read"
    if not os.access(path, os.X_OK):
        return f"{path} cannot be run"
    named = {name: "".join(shlex.split(value)) for name, value in _ASSIGNED.findall(text)}
    python, package = Path(named.get("python", "")), Path(named.get("package", ""))
    if not os.access(python, os.X_OK) or not python.is_file():
        return f"the interpreter {python} is gone"
    return "" if (package / "__main__.py").exists() else f"sb is gone from {package}"
