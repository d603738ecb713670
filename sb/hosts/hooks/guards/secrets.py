"""Credentials in a host's calls: who has to agree that one is read, and what a session may send afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sb.base.secrets.redaction import one_line
from sb.hosts.hooks.event import Finding
from sb.hosts.hooks.guards.remotes import is_known, remotes_of
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.session import HookSession
from sb.kernel.calls.approval import CREDENTIALS_LEAVE, CREDENTIALS_READ, SENDS, SENT_AFTER_READING
from sb.kernel.calls.call import AnsweredBy, Ask
from sb.shell.credentials.sinks import SENDS_IN_CODE, host_of
from sb.shell.credentials.taints import MOST_UPLOADS, UNKNOWN_REMOTE
from sb.shell.parsing.words import compiled, is_literal
from sb.shell.places.this_machine import is_loopback

SECRET, FLOW, UPLOAD = CREDENTIALS_READ, CREDENTIALS_LEAVE, SENT_AFTER_READING
READ_SECRET = "read_secret"  # the note of a call that reads credentials which are there
WITHHELD = {"withheld": "the call read credentials"}  # in place of a result
NO_MESSAGE = "failed; the message is withheld, since the call read credentials"
_LONGEST_SCRIPT = 256 * 1024  # bytes that are looked at
_SENDS_IN_SHELL = (
    r"\b(?:curl|wget|ncat|netcat|socat|telnet|scp|sftp|rsync|ssh|sendmail|mailx|aria2c|dig|nslookup)\s|\bgit\s+push\b|/dev/(?:tcp|udp)/"
    r"|\b(?:gh|aws|gsutil|gcloud|az|rclone|s3cmd)\s"
)
_ADDRESS_IN_TEXT = r"(?i)\b(?:https?|wss?|ftp)://[^\s'\"<>`]*"


def credentials(call: JudgedCall, session: HookSession) -> Finding | None:
    """Ask about credentials that a call reads, and about what it would send, above all after one was read."""
    hooks, run_id, effects = session.config.hooks, session.run.run_id, call.effects
    finding = reading(call, hooks.secrets)
    if finding is not None and (effects.flow or session.disclosed(call)) and not finding.refused:
        finding = finding._replace(notes={READ_SECRET: True})
    finding = finding or Finding()
    if finding.refused or effects.flow or not (effects.uploads or effects.scripts):
        return finding
    then = str((session.started or ({}, 0))[0].get("remotes", ""))
    if not _has_read(session):
        asks = sending(call, hooks.uploads, then, session.event.cwd, run_id)
        return finding._replace(asks=(*finding.asks, *asks))
    asks = (
        Ask(
            UPLOAD,
            f"{what}, in a session that has read credentials",
            _answer(hooks.secrets in ("ask", "allow")),
            destination and f"upload {run_id} {destination}",
        )
        for what, destination in _sent(call, then, session.event.cwd)
    )
    return finding._replace(asks=(*finding.asks, *asks))


def _has_read(session: HookSession) -> bool:
    """True if a call of the session has read credentials; one in the background has been reported."""
    calls, run_id = session.calls, session.run.run_id
    running = filter(session.is_in_background, calls.unreported(run_id))
    noted = calls.noted(run_id, READ_SECRET, reports_all=session.adapter.reports_all)
    return noted or any(calls.has_note(intent, READ_SECRET) for intent in running)


def sending(call: JudgedCall, setting: str, then: str, cwd: str, run_id: str) -> Iterator[Ask]:
    """The questions about what a call sends to hosts by their names; one answer holds for a session and a destination.

    Args:
        setting: of hooks.uploads. then: the remotes with which the session began.
    """
    uploads = call.effects.uploads if setting == "ask" else ()
    for upload in uploads:
        pushed = upload.remote is not None and _leads_elsewhere(upload.remote, then, cwd)
        if pushed or (upload.sends and not _is_local_name(upload.host)):
            place = upload.destination or upload.remote
            named = place and place != UNKNOWN_REMOTE and is_literal(place)
            known = named and len(uploads) < MOST_UPLOADS
            yield Ask(SENDS, upload.what, AnsweredBy.BY_HOST, f"sends {run_id} {place}" if known else "")


def _leads_elsewhere(remote: str, then: str, cwd: str) -> bool:
    """True if a push goes to an address, or to remotes that were set in the session."""
    by_address = remote == UNKNOWN_REMOTE or "/" in remote or ":" in remote
    return by_address or (then != "" and then != remotes_of(cwd))


def _is_local_name(host: str) -> bool:
    """True if a host is named without a dot, as containers and machines of one network are."""
    return bool(host) and not {".", ":"} & {*host}


def reading(call: JudgedCall, setting: str) -> Finding | None:
    """Ask about the credentials that a call reads or sends by itself, whatever came before it in its session.

    Args:
        setting: of hooks.secrets.
    """
    secrets, flow = call.effects.secrets, call.effects.flow
    if not (secrets or flow):
        return None
    if setting == "deny":
        return Finding(f"{flow or secrets[0]} (hooks.secrets: deny)")
    if flow:
        return Finding(asks=(Ask(FLOW, f"{flow}: credentials would leave this machine"),))
    answer = _answer(setting == "ask")
    return Finding(asks=tuple(Ask(SECRET, text, answer) for text in secrets if setting != "allow"))


def _answer(permitted: bool) -> AnsweredBy:
    return AnsweredBy.PERMITTED if permitted else AnsweredBy.QUEUED


def _sent(call: JudgedCall, then: str, cwd: str) -> Iterator[tuple[str, str]]:
    """The sent data that needs a person after credentials were read, each with what one answer covers.

    Args:
        then: the remotes with which the session began.
    """
    now, uploads = remotes_of(cwd), call.effects.uploads
    all_told = len(uploads) < MOST_UPLOADS
    for upload in uploads:
        if upload.remote is None:
            yield upload.what, upload.destination if all_told else ""
        elif not is_known(upload.remote, then, now):
            named = upload.remote not in ("", UNKNOWN_REMOTE) and is_literal(upload.remote)
            yield upload.what, f"{upload.remote} of {cwd} {now}" if named and all_told else ""
    if sends := next(filter(_sends, call.effects.scripts), ""):
        yield f"{one_line(sends, 80)}: a script that sends to the network", ""


def _sends(script: str) -> bool:
    """True if a script's text has a command or a call that sends to the network, not to addresses of this machine alone."""
    try:
        with open(os.open(script, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            text = opened.read(_LONGEST_SCRIPT).decode(errors="replace")
    except OSError:
        return False
    sends = "\0" not in text and compiled(f"(?:{SENDS_IN_CODE})|{_SENDS_IN_SHELL}").search(text) is not None
    hosts = [host_of(address) for address in compiled(_ADDRESS_IN_TEXT).findall(text)]
    in_shell, address = compiled(_SENDS_IN_SHELL), compiled(_ADDRESS_IN_TEXT)
    # A command may name its host without a scheme.
    whole = all(len(in_shell.findall(line)) <= len(address.findall(line)) for line in text.splitlines())
    return sends and not (whole and hosts and all(map(is_loopback, hosts)))
