"""A file that a host wrote elsewhere than it was judged: a program put a link in place of a folder in between.

The host opens the path by itself, after the verdict, so that nothing can keep it from that here. It is noticed when the
host reports the call, put on record, and told at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.hosts.hooks.judged_call import JudgedCall
from sb.kernel.execution.external import ExternalCalls
from sb.tools.hosted.contracts import WRITE, WRITE_CONFIG
from sb.tools.hosted.files import HostedFiles

FIELD = "led_elsewhere"
_FILE_TOOLS = (WRITE, WRITE_CONFIG)
_LONGEST = 300  # characters of a path

Astray = Sequence[Mapping[str, str]]


def astray(call: JudgedCall, calls: ExternalCalls, run_id: str, files: HostedFiles) -> Astray:
    """The judged paths that the host did not write, each with where it leads now; "" where that is not known any more."""
    native, paths = call.native, call.governed.paths
    if not paths or native.error or native.interrupted:
        return []
    step, no_ids = native.step
    pending = calls.pending(run_id, step, host_has_no_call_ids=no_ids)
    if pending is None or pending.tool_id not in _FILE_TOOLS:
        return []
    listed = calls.announced_args(pending).get("paths")
    judged = [path for path in listed if isinstance(path, str)] if isinstance(listed, list) else []
    found = [(path, os.path.realpath(path)) for path in judged if path not in paths]
    found = [(path, real) for path, real in found if path != real]
    if not found and len(judged) == 1 and _misses(native.args, judged[0]):  # the link may be gone again
        found = [] if files.have_changed(judged, pending.idempotency_key) else [(judged[0], "")]
    return [{"path": path, "to": real} for path, real in found]


def _misses(args: Mapping[str, Any], path: str) -> bool:
    """True for a file that does not hold what the call wrote, as far as its arguments tell."""
    content = args.get("content")
    if isinstance(content, str):
        try:
            given = content.encode(errors="replace")
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                return os.fstat(file.fileno()).st_size != len(given) or file.read() != given
        except OSError:
            return False  # somebody has moved it since
    old, new = args.get("old_string"), args.get("new_string")
    return isinstance(old, str) and isinstance(new, str) and old != new


def warning(found: Sequence[Mapping[str, str]]) -> str:
    """The message to the agent on files that were written elsewhere; "" for none."""
    return " ".join(_sentences(found))


def _sentences(found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for item in found:
        path, real = (one_line(item[name], _LONGEST) for name in ("path", "to"))
        if not real:
            yield (
                f"SecondBrain: {path} is as it was before this call: the write went elsewhere, or another program took it back. "
                "Read the file again, and tell the user if you do not know why."
            )
            continue
        yield (
            f"SecondBrain: a program put a link in the way of {path} while it was written; it leads to {real} now. Stop, tell "
            "the user, and do not work around it. Undo cannot restore what was there."
        )
