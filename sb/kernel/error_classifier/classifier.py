"""Classify an exception as a kind of failure.

Source: the survival layer, section 2. What an exception was raised from counts when it says nothing itself.
"""

from __future__ import annotations

import errno

from sb.errors import (
    CheckFailed,
    ConfigError,
    ContractError,
    DeniedError,
    NotFoundError,
    StoreError,
    StoreFull,
    StoreLocked,
    UsageError,
)
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.error_classifier.error_codes import causes, is_instance, own_code
from sb.kernel.error_classifier.provider_errors import provider_kind
from sb.kernel.error_kinds import KINDS, ErrorKind, marked
from sb.kernel.registry.workers import DeadlineExceeded
from sb.store import driver

# The first entry that fits decides, so that a subclass comes before its base.
_BY_TYPE: tuple[tuple[type[BaseException], ErrorKind], ...] = (
    (StoreLocked, ErrorKind.LOCKED),
    (StoreFull, ErrorKind.DISK_FULL),
    (StoreError, ErrorKind.STORAGE),
    (NotFoundError, ErrorKind.NOT_FOUND),
    (DeniedError, ErrorKind.POLICY_DENIED),
    (CheckFailed, ErrorKind.POLICY_DENIED),
    (UsageError, ErrorKind.VALIDATION),
    (ConfigError, ErrorKind.VALIDATION),
    (ContractError, ErrorKind.VALIDATION),
    (DeadlineExceeded, ErrorKind.TIMEOUT),
    (KeyboardInterrupt, ErrorKind.CANCELLED),
    (GeneratorExit, ErrorKind.CANCELLED),
    (SystemExit, ErrorKind.UNKNOWN),
)
_CANCELLED = (("asyncio", "CancelledError"), ("concurrent.futures", "CancelledError"))
_OTHER_DRIVER = ("sqlite3", "Error")  # a tool's own, where the store uses another
_SQLITE: dict[int, ErrorKind] = {
    driver.Code.PERM: ErrorKind.AUTH,
    driver.Code.BUSY: ErrorKind.LOCKED,
    driver.Code.LOCKED: ErrorKind.LOCKED,
    driver.Code.READONLY: ErrorKind.STORAGE,
    driver.Code.INTERRUPT: ErrorKind.CANCELLED,
    driver.Code.IOERR: ErrorKind.STORAGE,
    driver.Code.CORRUPT: ErrorKind.STORAGE,
    driver.Code.FULL: ErrorKind.DISK_FULL,
    driver.Code.CANTOPEN: ErrorKind.STORAGE,
    driver.Code.TOOBIG: ErrorKind.VALIDATION,
    driver.Code.CONSTRAINT: ErrorKind.VALIDATION,
    driver.Code.MISMATCH: ErrorKind.VALIDATION,
    driver.Code.AUTH: ErrorKind.AUTH,
    driver.Code.RANGE: ErrorKind.VALIDATION,
    driver.Code.NOTADB: ErrorKind.STORAGE,
}
# What SQLite says of them, for an error that has lost its code: a wrapper made another of its text.
_SQLITE_SAYS = (
    (" is locked", ErrorKind.LOCKED),
    ("database or disk is full", ErrorKind.DISK_FULL),
    ("database disk image is malformed", ErrorKind.STORAGE),
    ("file is not a database", ErrorKind.STORAGE),
    ("unable to open database file", ErrorKind.STORAGE),
    ("attempt to write a readonly database", ErrorKind.STORAGE),
    ("disk i/o error", ErrorKind.STORAGE),
    ("constraint failed", ErrorKind.VALIDATION),
    ("datatype mismatch", ErrorKind.VALIDATION),
)
_ERRNO = {
    errno.ENOSPC: ErrorKind.DISK_FULL,
    errno.EDQUOT: ErrorKind.DISK_FULL,
    errno.EIO: ErrorKind.STORAGE,
    errno.EROFS: ErrorKind.STORAGE,
    errno.EBUSY: ErrorKind.LOCKED,
    errno.EAGAIN: ErrorKind.LOCKED,
    errno.ETXTBSY: ErrorKind.LOCKED,
    errno.EEXIST: ErrorKind.VALIDATION,
    errno.EINVAL: ErrorKind.VALIDATION,
    errno.EISDIR: ErrorKind.VALIDATION,
    errno.ENOTDIR: ErrorKind.VALIDATION,
    errno.ENOTEMPTY: ErrorKind.VALIDATION,
    errno.ENAMETOOLONG: ErrorKind.VALIDATION,
}


def classify(error: BaseException) -> ErrorKind:
    """The kind of an exception; UNKNOWN when nothing is known about it. Never raises.

    The members of an exception group have to agree.
    """
    try:
        for exception in causes(error):
            if isinstance(exception, BaseExceptionGroup):
                kinds = {classify(member) for member in exception.exceptions}
                return kinds.pop() if len(kinds) == 1 else ErrorKind.UNKNOWN
            kind = _own_kind(exception)
            if kind is not None:
                return kind
    except Exception:  # noqa: BLE001 - an exception's own attributes may raise anything
        return ErrorKind.UNKNOWN
    return ErrorKind.UNKNOWN


def _own_kind(error: BaseException) -> ErrorKind | None:
    if isinstance(error, ToolError):
        return marked(error.code, str(error))[0]
    for kind_of_error, kind in _BY_TYPE:
        if isinstance(error, kind_of_error):
            return kind
    if any(is_instance(error, *name) for name in _CANCELLED):
        return ErrorKind.CANCELLED
    if isinstance(error, driver.Error) or is_instance(error, *_OTHER_DRIVER):
        return _sqlite_kind(error)
    error_kind = provider_kind(error)
    if error_kind is not None:
        return error_kind
    if isinstance(error, OSError) and error.errno in _ERRNO:
        return _ERRNO[error.errno]
    code = own_code(error)
    if code is ToolErrorCode.PERMISSION_DENIED:
        return ErrorKind.AUTH  # the system's permissions, not a policy
    return None if code is None else KINDS[code]


def _sqlite_kind(error: BaseException) -> ErrorKind:
    code = driver.error_code(error)
    if code:
        return _SQLITE.get(code, ErrorKind.UNKNOWN)
    text = str(error).lower()
    return next((kind for say, kind in _SQLITE_SAYS if say in text), ErrorKind.UNKNOWN)
