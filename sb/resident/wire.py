"""Messages between a client and the helper, which prove that both know the home's secret.

The client imports this on every call of an agent, so it takes builtin modules alone (`os` would cost a tenth).
"""

import _operator
import _socket
import marshal
import posix
import sys
from _blake2 import blake2b

FOLDER = b"/resident"
INSIDE = b"/helper"  # the folder for confined commands, which cannot open the other one
SECRET = b"/secret"
PASS = b"/run/pass"  # in the former, within `sb run`: the name and the secret of the run
SOCKET = b"/socket"
LONGEST_PATH = 100  # bytes of a socket's path: macOS takes 103, Linux 107
LONGEST_PAYLOAD = 64 << 20  # bytes, as `sb.hosts.hooks.main` has it
LONGEST_MESSAGE = LONGEST_PAYLOAD + (8 << 20)  # with environment and arguments
CHALLENGE = 16  # bytes
PROOF = 32
DIGEST = 16
GREETING = CHALLENGE + DIGEST + 4 + PROOF
RUN = 16  # bytes of a run's name, which a confined command sends with its challenge
NO_RUN = bytes(RUN)
# Purposes of proofs. Whoever changes messages changes the first: then another version is nobody to talk to.
GREETED, REQUEST, ANSWER = b"greeting 1", b"request", b"answer"
_SECRET_BYTES = 32
_NAMESPACES = ("mnt", "pid", "user")
_FOLDER, _FILE, _SOCKET = 0o040000, 0o100000, 0o140000  # kinds in a mode
_DARWIN_PEER = (0, 1)  # SOL_LOCAL, LOCAL_PEERCRED of sys/un.h


class Untrusted(Exception):
    """A file or a process is not what the helper of this home would be."""


def folder_of(home: bytes) -> bytes:
    """The helper's folder in a home, if nobody else can have made what is in it.

    Args:
        home: absolute path of SB_HOME.

    Raises:
        Untrusted: another user owns one of the two, or can write there, or the path is too long for a socket.
        OSError: one is not there.
    """
    folder = home + FOLDER
    if not home.startswith(b"/") or len(folder + SOCKET) > LONGEST_PATH:
        raise Untrusted("no path for a socket")
    status = posix.stat(home)
    if status.st_uid != posix.geteuid() or status.st_mode & 0o022:
        raise Untrusted("the home is somebody else's")
    _own(posix.lstat(folder), _FOLDER)
    return folder


def inside_of(home: bytes) -> bytes:
    """The folder for confined commands in a home that `folder_of` has checked."""
    folder = home + INSIDE
    _own(posix.lstat(folder), _FOLDER)
    return folder


def socket_of(folder: bytes) -> bytes:
    """The path of the helper's socket, checked like its folder."""
    path = folder + SOCKET
    _own(posix.lstat(path), _SOCKET)
    return path


def secret_of(folder: bytes) -> bytes:
    """The home's secret, checked like its folder."""
    return _read_own(folder + SECRET, _SECRET_BYTES)


def pass_in(path: bytes) -> tuple[bytes, bytes]:
    """The name and the secret of a run, from its file.

    Raises:
        Untrusted: it is somebody else's, or not whole.
        OSError: it is not there.
    """
    content = _read_own(path, RUN + _SECRET_BYTES)
    return content[:RUN], content[RUN:]


def _read_own(path: bytes, size: int) -> bytes:
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    try:
        _own(posix.fstat(descriptor), _FILE)
        content = posix.read(descriptor, size + 1)
    finally:
        posix.close(descriptor)
    if len(content) != size:
        raise Untrusted("the secret was not written whole")
    return content


def _own(status: posix.stat_result, kind: int) -> None:
    if status.st_mode & 0o170000 != kind or status.st_uid != posix.geteuid() or status.st_mode & 0o077:
        raise Untrusted("a file of the helper is somebody else's")


def new_secret() -> bytes:
    return posix.urandom(_SECRET_BYTES)


def check_peer(connection: _socket.socket) -> None:
    """Raise Untrusted unless the other end belongs to this user, or if the system does not say."""
    if hasattr(_socket, "SO_PEERCRED"):
        level, option = _socket.SOL_SOCKET, _socket.SO_PEERCRED
    elif sys.platform == "darwin":
        level, option = _DARWIN_PEER
    else:
        raise Untrusted("this system does not say who is at the other end")
    credentials = connection.getsockopt(level, option, 76)
    if int.from_bytes(credentials[4:8], sys.byteorder) != posix.geteuid():
        raise Untrusted("another user is at the other end")


def check_peers_place(connection: _socket.socket) -> None:
    """Raise Untrusted unless the other end is in the namespaces of this process, as nothing confined is."""
    if sys.platform != "linux":
        return
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    peer = int.from_bytes(credentials[:4], sys.byteorder)
    try:
        theirs = [posix.readlink(f"/proc/{peer}/ns/{name}") for name in _NAMESPACES]
    except OSError:
        raise Untrusted("the namespaces of the other end are not to be seen") from None
    if theirs != [posix.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES]:
        raise Untrusted("the other end is in other namespaces")


def place_digest() -> bytes:
    """Equal for processes that see the same users, processes and files under the same names."""
    return blake2b(marshal.dumps(place()), digest_size=DIGEST).digest()


def place() -> tuple[int | str, ...]:
    """The user, namespaces, root folder and file names of this process.

    Raises:
        Untrusted: the system does not say.
    """
    root = posix.stat("/")
    try:
        spaces = [posix.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES]
    except OSError:
        if sys.platform == "linux":
            raise Untrusted("the namespaces are not to be seen") from None
        spaces = []
    users = (posix.geteuid(), posix.getuid(), posix.getegid(), *sorted(posix.getgroups()))
    return (*users, *spaces, root.st_dev, root.st_ino, sys.getfilesystemencoding())


def proof(key: bytes, purpose: bytes, message: bytes) -> bytes:
    """The keyed digest of a message; `key` is the home's secret and both challenges."""
    return blake2b(message, key=key, person=purpose, digest_size=PROOF).digest()


def confirm(claimed: bytes, key: bytes, purpose: bytes, message: bytes) -> None:
    """Raise Untrusted unless the proof is that of the message."""
    if not _operator._compare_digest(claimed, proof(key, purpose, message)):
        raise Untrusted("the other end does not know the secret")


def send(connection: _socket.socket, key: bytes, purpose: bytes, message: bytes) -> None:
    """Send a message with its length and its proof."""
    connection.sendall(len(message).to_bytes(8, "big") + proof(key, purpose, message))
    connection.sendall(message)


def receive(connection: _socket.socket, key: bytes, purpose: bytes) -> bytes:
    """A message of `send`.

    Raises:
        Untrusted: it is too long, or its proof is wrong.
        OSError: the other end has gone, or is silent for too long.
    """
    head = exactly(connection, 8 + PROOF)
    size = int.from_bytes(head[:8], "big")
    if size > LONGEST_MESSAGE:
        raise Untrusted("too long a message")
    message = exactly(connection, size)
    confirm(head[8:], key, purpose, message)
    return message


def send_descriptors(connection: _socket.socket, descriptors: tuple[int, ...]) -> None:
    """Hand over open files, or none, with the one byte that a message needs at least."""
    packed = b"".join(descriptor.to_bytes(4, sys.byteorder) for descriptor in descriptors)
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)] if packed else []
    connection.sendmsg([b"+"], rights)


def exactly(connection: _socket.socket, size: int) -> bytes:
    """So many bytes from the other end.

    Raises:
        OSError: it has gone, or is silent for too long.
    """
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if not count:
            raise ConnectionError("the other end has gone")
        view = view[count:]
    return bytes(data)
