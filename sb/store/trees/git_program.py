"""Run the system's git on a private folder, with a configuration of our own and none of a project's.

A project's `.git/config` can name programs (fsmonitor, hooks, filters, textconv) that git would start. None is read
here: `GIT_DIR` is a folder of `SB_HOME`, configurations of system and user are off, and attributes of our own, which
come before a project's, switch every conversion of contents off.
"""

from __future__ import annotations

import functools
import os
import selectors
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sb.base.sources import Clock
from sb.base.values.frozen import frozen
from sb.errors import SBError
from sb.store.trees.pipes import Pipes

# Not from PATH, which is an agent's to set.
_PROGRAMS = ("/usr/bin/git", "/bin/git", "/usr/local/bin/git", "/run/current-system/sw/bin/git")
_MOST_OUTPUT = 256 << 20  # bytes of one answer
_MOST_ERROR = 200  # characters
_CHUNK = 1 << 16
_PATIENCE_S = 1.0  # that git may take before it is asked whether it waits at a pipe; of a short time, half
_BETWEEN_WAKING_S = 0.005
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignorecase = {ignorecase}
\tprecomposeunicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tautocrlf = false
\tsafecrlf = false
\tfsmonitor = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tlogAllRefUpdates = false
\tcompression = 1
\tlooseCompression = 1
\tpreloadIndex = true
[index]
\tversion = 4
\tthreads = true
\tskipHash = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n"


class CannotStore(SBError):
    """A tree cannot be stored, or a stored one not be read. Its message is a clause without a full stop."""

    kind = "cannot_store_tree"


class TooSlow(CannotStore):
    """Storing took longer than it may."""

    kind = "tree_too_slow"


@functools.cache
def git_path() -> str:
    """The system's git: a program of root's in a folder of root's; "" if there is none."""
    return next((path for path in _PROGRAMS if _is_systems(path) and _is_systems(os.path.dirname(path))), "")


def _is_systems(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    mode = stat.S_IMODE(status.st_mode)
    return status.st_uid == 0 and not mode & 0o022 and bool(mode & 0o111)


def make_git_folder(folder: Path) -> None:
    """Make a private git folder, or complete an unfinished one; raises OSError."""
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    ignorecase = "true" if sys.platform == "darwin" else "false"
    files = {"config": _CONFIG.format(ignorecase=ignorecase), "info/attributes": _ATTRIBUTES}
    for name, text in (files | {"HEAD": "ref: refs/heads/none\n"}).items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


@frozen
class Deadline:
    """The moment until which something may take.

    Args:
        at: of the clock's monotonic seconds.
    """

    clock: Clock
    at: float

    @classmethod
    def after(cls, clock: Clock, seconds: float) -> Deadline:
        return cls(clock, clock.monotonic() + seconds)

    def left(self) -> float:
        """Seconds that are left; raises TooSlow."""
        left = self.at - self.clock.monotonic()
        if left <= 0:
            raise TooSlow("storing the tree took longer than it may")
        return left


@frozen
class Git:
    """Git with one private folder, one index and one work folder.

    Args:
        folder: the private git folder. work: the work folder. index: the file of the index.
        excludes: a file of patterns to ignore besides those of the work folder.
        objects: where objects are read from instead; "" for the private folder.
        pipes: of the work folder, for commands that look into it.
    """

    folder: str
    work: str
    index: str
    excludes: str = "/dev/null"
    objects: str = ""
    pipes: Pipes | None = None

    def start(self, *arguments: str, given: bool = False) -> Running:
        """Start git; `given` if its input follows.

        Raises:
            CannotStore: there is no git that may be run, or it cannot be started.
        """
        program = git_path()
        if not program:
            raise CannotStore("no git of the system is installed", "install git as a package of the system")
        try:
            process = subprocess.Popen(
                [program, "-c", f"core.excludesFile={self.excludes}", *arguments],
                stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment(),
                cwd=self.folder,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise CannotStore(f"git cannot be started: {error.strerror or error}") from None
        return Running(process, arguments[0], self.pipes)

    def run(self, *arguments: str, deadline: Deadline, given: bytes | None = None) -> bytes:
        """The output of git.

        Raises:
            CannotStore: it failed, with its own words. TooSlow: it took too long, and was ended.
        """
        return self.start(*arguments, given=given is not None).output(deadline, given or b"")

    def _environment(self) -> dict[str, str]:
        own = {
            "PATH": "/usr/bin:/bin",
            "HOME": self.folder,
            "XDG_CONFIG_HOME": self.folder,
            "LC_ALL": "C",
            "GIT_DIR": self.folder,
            "GIT_WORK_TREE": self.work,
            "GIT_INDEX_FILE": self.index,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LITERAL_PATHSPECS": "1",
        }
        return own | ({"GIT_OBJECT_DIRECTORY": self.objects} if self.objects else {})


class Running:
    """A started git."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, pipes: Pipes | None) -> None:
        self._process = process
        self._name = name
        self._pipes = pipes

    def output(self, deadline: Deadline, given: bytes = b"") -> bytes:
        """Write its input and read its output; it has ended afterwards, whatever happens.

        Raises:
            CannotStore: it failed. TooSlow: it took too long.
        """
        try:
            out, err = self._exchange(deadline, given)
            status = self._process.wait(deadline.left())
        except subprocess.TimeoutExpired:
            raise TooSlow("storing the tree took longer than it may") from None
        except OSError as error:
            raise CannotStore(f"git {self._name}: {error.strerror or error}") from None
        finally:
            self.end()
        if status:
            reason = " ".join(err.decode("utf-8", "replace").split())[:_MOST_ERROR]
            raise CannotStore(f"git {self._name}: {reason or f'status {status}'}")
        return out

    def end(self) -> None:
        """Kill it if it runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _exchange(self, deadline: Deadline, given: bytes) -> tuple[bytes, bytes]:
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        out, err, view = bytearray(), bytearray(), memoryview(given)
        patience = deadline.left() - min(_PATIENCE_S, deadline.left() / 2)
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ, out)
            waiting.register(process.stderr, selectors.EVENT_READ, err)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                waiting.register(process.stdin, selectors.EVENT_WRITE)
            while waiting.get_map():
                for key, _ in waiting.select(self._wait_s(deadline, patience)):
                    if key.data is None:
                        view = view[_written(key.fd, view) :]
                        if not view and process.stdin is not None:
                            waiting.unregister(process.stdin)
                            process.stdin.close()
                    elif chunk := os.read(key.fd, _CHUNK):
                        key.data.extend(chunk)
                    else:
                        waiting.unregister(key.fileobj)
                if len(out) > _MOST_OUTPUT:
                    raise CannotStore(f"git {self._name} answers more than can be read")
        return bytes(out), bytes(err)

    def _wait_s(self, deadline: Deadline, patience: float) -> float:
        """Seconds to wait for git, which is let go on first where it may wait at a pipe.

        Args:
            patience: when it has no more than so many seconds, pipes are looked for.
        """
        left = deadline.left()
        if self._pipes is None:
            return left
        if left <= patience:
            self._pipes.look(deadline.left)
            left = deadline.left()
        self._pipes.wake()
        if self._pipes.known:
            return min(left, _BETWEEN_WAKING_S)
        return left if self._pipes.looked else min(left, max(left - patience, _BETWEEN_WAKING_S))


def _written(descriptor: int, view: memoryview) -> int:
    """Write what git takes now; all of it where it reads no more."""
    if not view:
        return 0
    try:
        return os.write(descriptor, view[:_CHUNK])
    except BrokenPipeError:
        return len(view)


def names_of(output: bytes) -> Sequence[str]:
    """The names of an answer whose lines end with NUL."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def entries_of(git: Git, tree: str, deadline: Deadline, *options: str) -> Iterator[tuple[str, str, str]]:
    """Mode, id and name of each entry of a stored tree, and of those below it; raises CannotStore."""
    output = git.run("ls-tree", "-r", "-z", *options, tree, deadline=deadline)
    for line in filter(None, output.split(b"\0")):
        about, _, name = line.partition(b"\t")
        mode, _, blob = about.decode().split(" ")
        yield mode, blob, os.fsdecode(name)


def present(git: Git, names: Sequence[str], deadline: Deadline) -> set[str]:
    """The objects that a repository has, of these."""
    given = "".join(f"{name}\n" for name in names).encode()
    lines = git.run("cat-file", "--batch-check", deadline=deadline, given=given).decode().splitlines()
    return {line.split(" ")[0] for line in lines if not line.endswith("missing")}
