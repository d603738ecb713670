"""Ask the helper of a home; whatever is wrong with it, the question is answered in this process instead.

Every call of an agent waits for this module, so it imports builtin modules alone, and `wire`.
"""

import _socket
import marshal
import posix
import time

TYPE_CHECKING = False  # as `typing` has it, whose import costs half of what all else does here
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any

    from sb.config import Config
else:
    import _signal

from sb.resident import wire

# What the first field of an answer says: here it is, another helper may, or none will.
ANSWERED, OTHER, REFUSED = 0, 1, 2
CONFINED = b"SB_CONFINED"  # as `sb.hosts.confinement.bubblewrap` sets it for confined commands
# What the helper runs for confined commands, by first words; `sb.resident.confined` has their options.
SERVED = frozenset({("memory", "search"), ("memory", "remember"), ("explain",), ("statusline",)})
_BLOCKED = 2  # the exit code that blocks a call
_INTERNAL, _INTERRUPTED = 70, 130  # as `sb.errors.ExitCode` has them
_STDIN_S = 20  # until the host has written its event
_CONNECT_S = 1.0  # until a helper that is not hung has proved who it is
_ANSWER_S = 5.0  # a host waits 30 s: enough is left to judge here
_LONGEST_S = 7  # for both together
_DYING_S = 0.5
_STARTING_S = 3.0  # until a helper is there that a hook outside of confinement has just started
_PAUSE_S = 0.05
_CHUNK = 1 << 20  # bytes


class Unavailable(Exception):
    """The helper gave no answer.

    Args:
        startable: none is running, so one may be started. hung: one is running and silent.
        again: it may have done what was asked, without anybody having its answer.
        soon: this process is confined and cannot start one, but somebody outside probably has.
    """

    def __init__(
        self, *, startable: bool = False, hung: bool = False, again: bool = False, soon: bool = False
    ) -> None:
        self.startable, self.hung, self.again, self.soon = startable, hung, again, soon


def hook(arguments: list[str], start: str) -> None:
    """Answer the event on stdin, and end the process.

    Args:
        arguments: of `sb hook`. start: the file that this interpreter was started with.
    """
    _signal.signal(_signal.SIGALRM, _late)
    _signal.alarm(_STDIN_S)
    data, nonce = _stdin(), posix.urandom(8).hex()
    began = time.monotonic()
    try:
        if data is None:
            raise Unavailable
        _signal.signal(_signal.SIGALRM, _too_long)
        _signal.alarm(_LONGEST_S)
        code, out, err = ask(start, ("hook", arguments, data, nonce), _ANSWER_S)
        _signal.alarm(0)
    except Exception as error:  # noqa: BLE001 - a host lets a call run when its hook fails
        _signal.alarm(0)
        unavailable = error if isinstance(error, Unavailable) else Unavailable(again=True)
        _judge_here(arguments, start, data, nonce, time.monotonic() - began, unavailable)
        return
    try:
        _write(1, out)
        _write(2, err)
    except OSError:  # nobody listens any more: the exit code still says that there was a verdict
        code = code or (_BLOCKED if out else 0)
    posix._exit(code)


def run(arguments: list[str], package: str) -> int | None:
    """Have the helper run a command with this process's terminal; returns its exit code.

    Args:
        arguments: of `sb`. package: the folder of `sb` here. A helper of another one does not answer.

    Returns:
        None if this process is to run it.
    """
    environment = posix.environ
    if b"SB_HOME" not in environment and b"HOME" in environment:
        environment = environment | {b"SB_HOME": environment[b"HOME"] + b"/.sb"}
    try:
        home = environment.get(b"SB_HOME", b"")
        code, _, complaint = ask(package, ("run", arguments), None, home, (0, 1, 2))
    except Unavailable as unavailable:
        if not unavailable.again:
            return None
        _write(2, b"sb: the resident helper ended meanwhile (run it again)\n")
        return _INTERNAL
    except KeyboardInterrupt:
        _write(2, b"sb: interrupted\n")
        return _INTERRUPTED
    _write(2, complaint)
    return code


def ask(
    version: str,
    request: "tuple[Any, ...]",
    answer_s: float | None,
    home: bytes | None = None,
    descriptors: tuple[int, ...] = (),
) -> tuple[int, bytes, bytes]:
    """The helper's answer to a request: exit code, output, errors.

    Args:
        version: a helper of another one does not answer.
        request: its kind, and what belongs to it.
        answer_s: seconds to wait for each part of the answer; None to wait until it ends.
        home: by default what SB_HOME names. descriptors: handed over with the request.

    Raises:
        Unavailable: there is none.
    """
    if home is None:
        home = posix.environ.get(b"SB_HOME", b"")
    until = time.monotonic() + _STARTING_S
    while True:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            return _asked(connection, home, (version, request), answer_s, descriptors)
        except Unavailable as unavailable:
            if not unavailable.soon or time.monotonic() > until:
                raise
        finally:
            connection.close()
        time.sleep(_PAUSE_S)


def _asked(
    connection: _socket.socket,
    home: bytes,
    wanted: "tuple[str, tuple[Any, ...]]",
    answer_s: float | None,
    descriptors: tuple[int, ...],
) -> tuple[int, bytes, bytes]:
    connection.settimeout(_CONNECT_S)
    inside = False
    try:
        folder, secret = _door(home)
        inside = not secret
        key, worker = _greet_from_inside(connection, folder) if inside else _greet(connection, folder, secret)
        message = _without_code(wanted[1]) if inside else marshal.dumps((*wanted, _surroundings()))
        wire.send_descriptors(connection, descriptors)
    except (FileNotFoundError, ConnectionRefusedError):
        raise Unavailable(startable=not inside, soon=inside) from None
    except TimeoutError:
        raise Unavailable(hung=True) from None
    except (OSError, wire.Untrusted, ValueError):
        raise Unavailable from None
    connection.settimeout(answer_s)
    try:
        wire.send(connection, key, wire.REQUEST, message)
        kind, *answer = marshal.loads(wire.receive(connection, key, wire.ANSWER))
    except (OSError, wire.Untrusted, ValueError) as error:
        _stop(connection, worker)
        raise Unavailable(hung=isinstance(error, TimeoutError), again=True) from None
    if kind != ANSWERED:
        raise Unavailable(soon=inside and kind == OTHER)
    return tuple(answer)


def _door(home: bytes) -> tuple[bytes, bytes]:
    """The folder where this process reaches the helper, and the home's secret; b"" in confinement, which cannot open it."""
    folder = wire.folder_of(home)
    try:
        return folder, wire.secret_of(folder)
    except PermissionError:
        return wire.inside_of(home), b""


def _greet(connection: _socket.socket, folder: bytes, secret: bytes) -> tuple[bytes, int]:
    """Make sure that the other end is the helper of this home; returns the key of the connection, and whom to end."""
    key, place, worker = _proved(connection, folder, secret, b"")
    if place != wire.place_digest():
        raise wire.Untrusted("its processes and files are others")
    return key, worker


def _greet_from_inside(connection: _socket.socket, folder: bytes) -> tuple[bytes, int]:
    """The same from confinement, whose namespaces are others than the helper's."""
    try:
        name, secret = wire.pass_in(folder + wire.PASS)
    except FileNotFoundError:
        name, secret = wire.NO_RUN, wire.secret_of(folder)
    key, _, worker = _proved(connection, folder, secret, name)
    return key, worker


def _proved(
    connection: _socket.socket, folder: bytes, secret: bytes, name: bytes
) -> tuple[bytes, bytes, int]:
    """The key of a connection whose other end knows the secret, the digest of its place, and whom to end."""
    connection.connect(wire.socket_of(folder))
    wire.check_peer(connection)
    mine = posix.urandom(wire.CHALLENGE)
    connection.sendall(mine + name)
    greeting = wire.exactly(connection, wire.GREETING)
    stated, claimed = greeting[: -wire.PROOF], greeting[-wire.PROOF :]
    key = secret + mine + stated[: wire.CHALLENGE]
    wire.confirm(claimed, key, wire.GREETED, stated)
    place = stated[wire.CHALLENGE : wire.CHALLENGE + wire.DIGEST]
    return key, place, int.from_bytes(stated[wire.CHALLENGE + wire.DIGEST :], "big")


def _hangs(home: bytes) -> bool:
    """True if a helper that was silent still is: one that has much to do is not ended."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(_CONNECT_S)
    try:
        _greet(connection, *_door(home))
    except TimeoutError:
        return True
    except (OSError, wire.Untrusted):
        return False
    finally:
        connection.close()
    return False


def _surroundings() -> tuple[dict[bytes, bytes], bytes, int]:
    """The environment, the folder and the umask of this process."""
    umask = posix.umask(0o077)
    posix.umask(umask)
    return dict(posix.environ), posix.getcwdb(), umask


def _without_code(request: "tuple[Any, ...]") -> bytes:
    """A request as JSON: the helper unmarshals nothing that a confined command has sent."""
    import json

    kind, arguments, *more = request
    data, nonce = more or (b"", "")
    environment, folder, _ = _surroundings()
    fields = {
        "kind": kind,
        "arguments": arguments,
        "data": data.decode("latin-1"),
        "nonce": nonce,
        "environment": {
            name.decode("latin-1"): value.decode("latin-1") for name, value in environment.items()
        },
        "folder": folder.decode("latin-1"),
    }
    return json.dumps(fields).encode()


def _stop(connection: _socket.socket, worker: int) -> None:
    """End the process that did not answer, so that it does nothing any more while this one does it."""
    try:
        posix.kill(worker, _signal.SIGKILL)
        connection.settimeout(_DYING_S)
        while connection.recv(_CHUNK):
            pass
    except OSError:
        pass


def _stdin() -> bytes | None:
    """The event; None if the full path is to say what is wrong with it."""
    data = bytearray()
    try:
        if posix.isatty(0):
            return None
        while chunk := posix.read(0, _CHUNK):
            data += chunk
            if len(data) > wire.LONGEST_PAYLOAD:
                break
    except OSError:
        return None
    return bytes(data)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[posix.write(descriptor, data) :]


def _late(number: int, frame: object) -> None:
    try:
        _write(2, b"SecondBrain: the event on stdin did not end in time\n")
    finally:
        posix._exit(_BLOCKED)


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError


def _judge_here(
    arguments: list[str],
    start: str,
    data: bytes | None,
    nonce: str,
    spent_s: float,
    unavailable: Unavailable,
) -> None:
    from sb.hosts.hooks.main import Given, main

    def afterwards(config: "Config | None", cwd: str) -> None:
        if config is None:
            return
        hung = unavailable.hung and _hangs(posix.environ[b"SB_HOME"])
        startable = config.hooks.resident and (hung or unavailable.startable)
        if hung or startable:
            from sb.hosts.hooks import resident

            if hung:
                resident.kill(config.home)
            if startable:
                resident.start(config.home, start)

    main(arguments, Given(data, nonce, unavailable.again, spent_s, afterwards=afterwards))
