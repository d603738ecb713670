"""The helper: one process for each home, which imports once and has a child of its own answer each request.

The parent has one thread and opens no database. A child that waits stands ready at any time; as soon as it has taken
a request it says so, and the next one is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from sb.base.files import write_atomic
from sb.config.home import Home
from sb.hosts.hooks.resident import LOCK, SECRET, SOCKET, STARTING, make_folders
from sb.hosts.runs import Runs
from sb.resident import wire
from sb.resident.warming import Hint, rehearse, warm, warm_more
from sb.resident.worker import BUSY, END, HINT, LONGEST_NEWS, MORE, PID_BYTES, WATCH, Listeners, Post, work
from sb.store.trees.watching import is_watchable, open_queue

IDLE_S = "900"
REHEARSAL = "rehearsal"
_LOOK_S = 5.0  # between looks at whether the home is still ours
_SPARE = 2  # children that wait: hosts ask about several calls at once
_MOST_BUSY = 32  # children at work; who comes then judges by itself
_MOST_FAILED = 20
_LONGEST_S = 60.0  # of a request: hooks end by themselves before that
_BACKLOG = 64
_LOCK_PAUSES_S = (0.01, 0.05, 0.2)


def serve(start: str, home: str, idle: str = IDLE_S) -> None:
    """Be the helper of a home, until nobody has asked for a while, or it is replaced.

    Args:
        start: the file that this interpreter was started with. home: absolute path of SB_HOME.
        idle: seconds without a request after which it ends.
    """
    _detach()
    loaded = _stamps(start)
    place = Home(Path(home))
    folder = place.resident
    make_folders(place)
    wire.folder_of(os.fsencode(home))
    wire.inside_of(os.fsencode(home))
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if not taken(lock):  # another one is
        (folder / STARTING).unlink(missing_ok=True)
        return
    status = {"pid": os.getpid(), "since": time.time(), "version": Path(start).parent.name}
    os.ftruncate(lock, 0)
    os.pwrite(lock, json.dumps(status).encode(), 0)
    shutil.rmtree(folder / REHEARSAL, ignore_errors=True)
    warm()
    _rehearse_once(folder / REHEARSAL)
    secret, inside = wire.new_secret(), wire.new_secret()
    write_atomic(folder / SECRET, secret, durable=False)
    write_atomic(place.helper / SECRET, inside, durable=False)
    doors = folder / SOCKET, place.helper / SOCKET
    with _listening(doors[0]) as outside, _listening(doors[1]) as within:
        (folder / STARTING).unlink(missing_ok=True)
        gc.collect()
        gc.freeze()
        post = Post(
            place,
            secret,
            inside,
            start,
            wire.place_digest(),
            lambda: _stamps(start),
            loaded,
            folder / REHEARSAL,
        )
        _Helper(Listeners(outside, within), lock, doors, post, float(idle)).run()


def taken(lock: int) -> bool:
    """Take the lock of the home's one helper; who asks whether one runs holds it for a moment, and is waited for."""
    for pause_s in (*_LOCK_PAUSES_S, 0.0):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(pause_s)
        else:
            return True
    return False


def _rehearse_once(home: Path) -> None:
    """Make the home for rehearsals, in a child: the first one takes long, and nobody is to wait for it."""
    pid = os.fork()
    if pid == 0:
        try:
            rehearse(home)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _detach() -> None:
    """A process group of its own, no folder, nothing open that whoever started it had open."""
    with contextlib.suppress(OSError):
        os.setsid()
    os.chdir("/")
    os.umask(0o077)
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.close(int(name))


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """A socket that has its name when it answers; whatever had that name is replaced."""
    new = path.with_name("new")
    new.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(new))
        new.chmod(0o600)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        os.replace(new, path)
        mine = _inode(path)
        try:
            yield listener
        finally:
            if _inode(path) == mine:
                path.unlink(missing_ok=True)


class _Helper:
    """The parent: keeps one child waiting, and reaps those that have ended."""

    def __init__(
        self, listeners: Listeners, lock: int, doors: tuple[Path, Path], post: Post, idle_s: float
    ) -> None:
        self._listeners, self._lock, self._doors, self._idle_s = listeners, lock, doors, idle_s
        self._post = post
        self._runs = Runs(post.home)
        self._named = [*map(_inode, doors)]
        self._lifeline, self._alive = os.pipe()  # children see by its end that the parent is gone
        self._news, self._tell = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._news.setblocking(False)
        self._woken, wake = os.pipe()
        for descriptor in (self._woken, wake):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        self._waiting: set[int] = set()  # pids of the children that wait
        self._busy: dict[int, float] = {}  # pid to when it took its request
        self._has_more = False
        self._failed = 0  # children that ended before they were asked
        self._ended = False
        self._asked_at = time.monotonic()

    def _signalled(self, number: int, frame: object) -> None:
        self._ended = self._ended or number != signal.SIGCHLD

    def run(self) -> None:
        """Serve until it is time to end; who is being answered then still is."""
        poll = select.poll()
        poll.register(self._news, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while not self._ended:
            while self._needs_child():
                self._fork()
            poll.poll(min(_LOOK_S, self._idle_s) * 1000)
            self._listen()
            self._reap()
            self._look()

    def _warm_more(self) -> None:
        """Import what memory and commands need, once somebody did; the next children have it."""
        if not self._has_more:
            self._has_more = True
            warm_more()
            gc.collect()
            gc.freeze()
            self._replace_waiting()

    def _watch(self, project: str) -> None:
        """Open the queue of a project's changes, once; the next children have it, too."""
        with contextlib.suppress(OSError, ImportError):  # trees are looked at as a whole
            if is_watchable(project) and open_queue(project):
                self._replace_waiting()

    def _replace_waiting(self) -> None:
        """Have the children that wait end, as if this process had; one that has a request by now answers it."""
        os.close(self._alive)
        os.close(self._lifeline)
        self._lifeline, self._alive = os.pipe()
        self._waiting.clear()

    def _needs_child(self) -> bool:
        # The second one rehearses when nobody is being answered, from whom it would take time.
        wanted = 1 if self._busy else _SPARE
        return len(self._waiting) < wanted and len(self._busy) < _MOST_BUSY

    def _fork(self) -> None:
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            for descriptor in (self._lock, self._alive, self._woken):
                os.close(descriptor)
            self._news.close()
            work(self._listeners, self._lifeline, self._tell, self._post)
        self._waiting.add(pid)

    def _listen(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._woken, 4096):
                pass
        with contextlib.suppress(BlockingIOError):
            while news := self._news.recv(LONGEST_NEWS):
                pid, what = int.from_bytes(news[:PID_BYTES], "big"), news[PID_BYTES : PID_BYTES + 1]
                if what == BUSY:
                    self._asked_at = time.monotonic()
                    self._busy[pid] = self._asked_at
                    self._waiting.discard(pid)
                elif what == HINT:
                    payload = json.loads(news[PID_BYTES + 1 :])
                    self._post = self._post._replace(hint=Hint(*payload) if payload else None)
                elif what == MORE:
                    self._warm_more()
                elif what == WATCH:
                    self._watch(os.fsdecode(news[PID_BYTES + 1 :]))
                elif what == END:
                    self._ended = True

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._busy.pop(pid, None)
                if pid in self._waiting:
                    self._waiting.discard(pid)
                    self._failed += 1
                    self._ended = self._failed > _MOST_FAILED

    def _look(self) -> None:
        now = time.monotonic()
        for pid, since in self._busy.items():
            if now - since > _LONGEST_S:
                os.kill(pid, signal.SIGKILL)
        idle = not self._busy and now - self._asked_at > self._idle_s and not self._runs.any_live()
        replaced = [*map(_inode, self._doors)] != self._named or self._post.stamps() != self._post.loaded
        self._ended = self._ended or idle or replaced


def _stamps(start: str) -> tuple[object, ...]:
    """Stamps that change with the imported code: the start file, `sb`, and its folder."""
    package = os.path.dirname(sys.modules["sb"].__file__ or "")
    files = (start, package, os.path.join(package, "__init__.py"), os.path.join(package, "__main__.py"))
    return tuple(_stamp(path) for path in (*files, os.path.dirname(package)))


def _inode(path: Path) -> int:
    """The number of a file; 0 if it is gone."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _stamp(path: str | Path) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
