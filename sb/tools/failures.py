"""One-line failures of shipped tools."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from sb.base.secrets.redaction import one_line
from sb.errors import NotFoundError, SBError
from sb.kernel.contracts import ToolError, ToolErrorCode

MOST_NAMED = 5  # paths in one message
_CODES = {
    errno.ENOENT: ToolErrorCode.NOT_FOUND,
    errno.EACCES: ToolErrorCode.PERMISSION_DENIED,
    errno.EPERM: ToolErrorCode.PERMISSION_DENIED,
    errno.EROFS: ToolErrorCode.PERMISSION_DENIED,
    errno.ELOOP: ToolErrorCode.PERMISSION_DENIED,
    errno.ENAMETOOLONG: ToolErrorCode.VALIDATION_ERROR,
    errno.ENOTDIR: ToolErrorCode.VALIDATION_ERROR,
    errno.EISDIR: ToolErrorCode.VALIDATION_ERROR,
    errno.E2BIG: ToolErrorCode.VALIDATION_ERROR,
    errno.ENOEXEC: ToolErrorCode.VALIDATION_ERROR,
    errno.ENXIO: ToolErrorCode.VALIDATION_ERROR,
}


def display(value: object) -> str:
    """A path, host or name as it stands in a message: one line of at most 200 characters."""
    return one_line(value, 200)


def invalid(message: str) -> ToolError:
    return ToolError(ToolErrorCode.VALIDATION_ERROR, message)


def denied(message: str) -> ToolError:
    return ToolError(ToolErrorCode.PERMISSION_DENIED, message)


def not_found(message: str) -> ToolError:
    return ToolError(ToolErrorCode.NOT_FOUND, message)


def os_failure(error: OSError, subject: object) -> ToolError:
    """The tool's own failure for a refusal of the operating system."""
    number = error.errno or 0
    return ToolError(
        _CODES.get(number, ToolErrorCode.UNEXPECTED), f"{display(subject)}: {os.strerror(number).lower()}"
    )


@contextmanager
def os_failures_about(subject: object) -> Iterator[None]:
    """Turn any OSError in the block into a ToolError about `subject`."""
    try:
        yield
    except OSError as error:
        raise os_failure(error, subject) from error


@contextmanager
def failures_of_packs() -> Iterator[None]:
    """Turn what a snapshot refuses into ToolErrors."""
    try:
        yield
    except NotFoundError:
        raise not_found("no snapshot of it is left") from None
    except SBError as error:
        raise invalid(error.message) from None
