"""Start of a command line that `sb-confine` cannot place by itself: servers, other hooks, and folders without a profile."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from sb.base.repository import project_folder
from sb.base.sources import SYSTEM_CLOCK
from sb.config import Config, load_config
from sb.errors import ConfigError, SBError
from sb.hosts.confinement import processes
from sb.hosts.confinement.beside import options_memory
from sb.hosts.confinement.bubblewrap import NAME, options, starting
from sb.hosts.confinement.needs import needs_of
from sb.hosts.hooks.calls.context import judging_context
from sb.hosts.hooks.confined.confining import Confining
from sb.hosts.hooks.event import HookEvent, Moment
from sb.hosts.install.confine_script import REFUSED
from sb.hosts.servers import own_server_commands

_HOST = "claude-code"
_OPTIONS_FD = 9
_COMMAND = " && eval "  # in what a host makes of an agent's command, and of nothing else


def main(shell: str, line: str) -> NoReturn:
    """Replace this process by the shell that runs a line, in confinement where that holds.

    Args:
        shell: absolute path. line: as the host hands it over.
    """
    try:
        _start(shell, line, os.path.realpath(os.getcwd()))
    except (SBError, ConfigError, OSError) as error:
        sys.stderr.write(f"sb-confine: not run: {error}\n")
        sys.exit(REFUSED)


def _start(shell: str, line: str, folder: str) -> NoReturn:
    config = _config(Path(folder))
    confining = _confining(config, folder, project_folder(Path(folder)))
    required = confining.mode == "require"
    if confining.mode == "off":
        confining.store.set_mode(on=False, required=False)
    elif confining.engine.holds and not _is_own_server(line, Path(folder)):
        _run_confined(confining, shell, line, folder)
    elif (required or confining.engine.unknown) and not confining.engine.holds:
        sys.stderr.write(
            f"sb-confine: not run: hooks.confine = {confining.mode}, and {confining.engine.fault}\n"
        )
        sys.exit(REFUSED)
    os.execv(shell, [shell, "-c", line])


def _run_confined(confining: Confining, shell: str, line: str, folder: str) -> NoReturn:
    confining.store.set_mode(on=True, required=confining.mode == "require")
    engine = confining.engine
    if _COMMAND in line:
        # A hook writes the profile of each call that it judges. Without one the folder is not the one that was judged,
        # so nothing counts as its project.
        confining = _confining(_config(Path(folder)), folder, "")
        path = str(confining.store.put_default(confining.profile()))
    else:
        path = str(confining.store.put_profile(folder, confining.profile_beside_others()))
    if engine.name == NAME:
        content = Path(path).read_bytes()
        if _is_status_line(line):
            content = options(confining.profile(needs_of([("sb",)]).rows), confining.store.denied)
        _start_bubblewrap(confining, content, shell, line)
    os.dup2(os.open(path, os.O_RDONLY), _OPTIONS_FD)
    start = engine.kind.command(engine.program, path, _OPTIONS_FD)
    os.execv(engine.program, [*start, shell, "-c", line])


def _start_bubblewrap(confining: Confining, content: bytes, shell: str, line: str) -> NoReturn:
    """Replace this process by a line's shell under bubblewrap, in the PID namespace of this home's commands if it can be joined.

    Args:
        confining: of the profile. content: bubblewrap's options for it, each ended by NUL.

    Raises:
        BlockingIOError: another session began meanwhile.
    """
    program, state = confining.engine.program, str(confining.store.folder)
    descriptor = os.memfd_create(options_memory(state), 0)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, _OPTIONS_FD)
    os.close(descriptor)
    confining.check_beside()
    joined = processes.enter(confining.store.folder, program)
    text = processes.CLOSING + line if joined else line
    os.execv(program, [*joined, *starting(program, state, _OPTIONS_FD), shell, "-c", text])


def _confining(config: Config, folder: str, project: str) -> Confining:
    event = HookEvent(_HOST, "", Moment.OTHER, "", folder)
    return Confining(config, event, judging_context(config, event), project, SYSTEM_CLOCK)


def _is_status_line(line: str) -> bool:
    """True for `sb statusline`, which a host draws after each turn: the helper answers it."""
    program, _, rest = line.partition(" ")
    return rest == "statusline" and os.path.basename(program) == "sb"


def _config(folder: Path) -> Config:
    """The configuration, without the project's file if that cannot be read: it may only narrow.

    Raises:
        ConfigError: the user's own cannot be read.
    """
    try:
        return load_config(env=os.environ, cwd=folder, flags={})
    except ConfigError:
        return load_config(env=os.environ, cwd=folder, flags={}, with_project=False)


def _is_own_server(line: str, folder: Path) -> bool:
    """True for the command of an MCP server in the user's own settings, which is the person's program, not an agent's."""
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return words in own_server_commands(_HOST, os.environ, folder)
