"""Whole arguments of open approval requests; the database has only what redaction left.

One private file per request, there from before the request is committed until it is no longer open.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from sb.base.files import write_atomic
from sb.base.values.canonical import encode
from sb.errors import StoreError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SUFFIX = ".json"
_LARGEST = 64 << 20  # bytes; a file that is larger was not written here


class OpenRequests:
    """The arguments of open requests, by the id of the request.

    Args:
        folder: made on first use, readable by the owner alone; None keeps them in memory, for a log without a home.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._in_memory: dict[str, dict[str, Any]] = {}

    def put(self, request_id: str, args: dict[str, Any]) -> None:
        """Keep the arguments of a request; the file appears complete or not at all.

        Raises:
            StoreError: it cannot be written.
        """
        if self.folder is None:
            self._in_memory[request_id] = args
            return
        path = self._path(request_id)
        if path is None:
            raise StoreError(f"{request_id!r} cannot name a request")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            write_atomic(path, encode({"request": request_id, "args": args}), durable=False)
        except OSError as error:
            raise StoreError(f"cannot keep what a person is to be shown: {path}: {error.strerror}") from None

    def get(self, request_id: str) -> dict[str, Any] | None:
        """The arguments of a request, None where none are kept or the file is not what was written here."""
        if self.folder is None:
            return self._in_memory.get(request_id)
        path = self._path(request_id)
        try:
            if path is None:
                return None
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                document = json.loads(file.read(_LARGEST))
        except (OSError, ValueError, RecursionError):
            return None
        args = (
            document.get("args")
            if isinstance(document, dict) and document.get("request") == request_id
            else None
        )
        return args if isinstance(args, dict) else None

    def remove(self, request_id: str) -> None:
        """Forget a request, with copies that a killed process left unfinished; one that is not kept is ignored."""
        self._in_memory.pop(request_id, None)
        path = self._path(request_id)
        if path is None:
            return
        try:
            path.unlink(missing_ok=True)
            for unfinished in path.parent.glob(f".{path.name}@*"):
                unfinished.unlink(missing_ok=True)
        except OSError:
            return  # the next sweep tries again

    def ids(self) -> set[str]:
        """The requests with stored arguments, unfinished ones included."""
        if self.folder is None:
            return set(self._in_memory)
        try:
            names = os.listdir(self.folder)
        except OSError:
            return set()
        return {name.lstrip(".").partition(_SUFFIX)[0] for name in names if _SUFFIX in name}

    def _path(self, request_id: str) -> Path | None:
        if self.folder is None or not _ID.fullmatch(request_id):
            return None
        return self.folder / f"{request_id}{_SUFFIX}"
