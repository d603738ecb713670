"""The home's secret, from which its keys are derived: one file, made once, in no database and no log."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from pathlib import Path

from sb.base.files import write_atomic
from sb.errors import ConfigError


def home_secret(path: Path) -> bytes:
    """The secret in a file; made by the first process, whoever that is of several at once.

    Raises:
        ConfigError: the file can neither be read nor made.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    try:
        with contextlib.suppress(FileExistsError):
            write_atomic(path, os.urandom(32), replace=False)
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot make {path}: {error.strerror}") from None


def derived_key(secret: bytes, label: str) -> bytes:
    """A key for one purpose; from it neither the secret nor the key of another purpose can be told."""
    return hmac.digest(secret, label.encode(), hashlib.sha256)
