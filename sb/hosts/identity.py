"""The run of a host's session, the same in every process."""

from __future__ import annotations

from hashlib import sha256


def session_token(host: str, session_id: str) -> str:
    """The token that names a session's run and trace: 64 hex digits."""
    return sha256(f"{host}\n{session_id}".encode()).hexdigest()


def run_id_of(host: str, session_id: str) -> str:
    """The run of a host's session."""
    return f"run_{session_token(host, session_id)[:16]}"
