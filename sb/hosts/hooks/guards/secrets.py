"""Credentials in a host's calls: which call reads one, who has to agree, and what a session may send afterwards."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from sb.config.groups import Hooks
from sb.hosts.hooks.calls.context import LONGEST_PATH, JudgingContext, loose_spellings, readings
from sb.hosts.hooks.event import GovernedCall, HookEvent, NativeCall
from sb.hosts.hooks.guards.remotes import is_known, remotes_of
from sb.hosts.hooks.tools import OF_SERVERS, tools
from sb.kernel.calls.approval import CREDENTIALS_LEAVE, CREDENTIALS_READ, SENDS, SENT_AFTER_READING
from sb.kernel.calls.call import AnsweredBy, Ask
from sb.kernel.execution.external import ExternalCalls
from sb.redaction import one_line
from sb.shell import classify
from sb.shell.credentials.files import PRIVATE, may_be_there, secret_path, secrets_below
from sb.shell.credentials.secrets import is_loopback
from sb.shell.credentials.sinks import SENDS_IN_CODE, carries_data, host_of
from sb.shell.credentials.taints import MOST_UPLOADS, UNKNOWN_REMOTE, Upload
from sb.shell.parsing.words import compiled, is_literal
from sb.shell.places.addresses import metadata_address
from sb.shell.places.sensitive import folded
from sb.shell.programs.ruleset import judged_by

SECRET, FLOW, UPLOAD = CREDENTIALS_READ, CREDENTIALS_LEAVE, SENT_AFTER_READING
READ_SECRET = "read_secret"  # the note of a call that reads credentials which are there
WITHHELD = {"withheld": "the call read credentials"}  # in place of a result
NO_MESSAGE = "failed; the message is withheld, since the call read credentials"
_MOST_TEXTS = 2_000  # of one call
_MOST_COMMANDS = 16
_SEARCHES = (
    r"(?i)(?:^|[_\W])(?:grep|rg|ripgrep|search_?(?:file_?)?(?:contents?|text|code|files?|in_files?))(?![a-z])"
)
_TYPICAL = (".env", ".env.local", "id_rsa", "id_ed25519", ".netrc", ".npmrc", ".pgpass", ".git-credentials")
_MOST_PATTERNS = 64
_SENDING = r"(?i)(?:^|[_\W]|(?<=[a-z])(?=[A-Z]))(?:send|post|upload|publish|push|share|email|mail|tweet|webhook|notify|comment)(?![a-z])"
# Tools that write a file, or tell names alone.
_SHOWS_NOTHING = (
    r"(?i)(?:^|[_\W])(?:write|edit|create|delete|remove|mkdir|update|insert|list|tree|stat|info)(?![a-z])"
)
_SHOWS = r"(?i)(?:^|[_\W])(?:read|contents?|fetch|cat|copy|move|send|upload|execute|run)(?![a-z])"
_CONTENT = (
    r"(?i)(?:content|contents|text|body|message|query|prompt|description|title|summary|markdown|html|data|snippet|comment|note|reason|explanation|instructions?|question"
    r"|answer|sql|expression|pattern|regex|old_?str(?:ing)?|new_?str(?:ing)?|old|new|search|subject|thought|output_mode)$"
)
_LONGEST_SCRIPT = 256 * 1024  # bytes that are looked at
_SENDS_IN_SHELL = (
    r"\b(?:curl|wget|ncat|netcat|socat|telnet|scp|sftp|rsync|ssh|sendmail|mailx|aria2c|dig|nslookup)\s|\bgit\s+push\b|/dev/(?:tcp|udp)/"
    r"|\b(?:gh|aws|gsutil|gcloud|az|rclone|s3cmd)\s"
)
_ADDRESS_IN_TEXT = r"(?i)\b(?:https?|wss?|ftp)://[^\s'\"<>`]*"
_COMMAND = r"(?i)(?:shell_?)?(?:commands?|cmd|command_?line|script|bash)$"
_ADDRESS = (
    r"(?:^|_|(?<=[a-z])(?=[A-Z]))(?i:urls?|uri|host|hostname|address|endpoint|href|link|target|domain)$"
)
PATTERNS = (
    _SENDING,
    _SEARCHES,
    _SHOWS_NOTHING,
    _SHOWS,
    _CONTENT,
    _COMMAND,
    _ADDRESS,
)  # compiled on first use


class SecretGuard(NamedTuple):
    """What follows from the credentials in a call.

    Args:
        refused: why it is refused, or "". asked: why a person has to agree. notes: for its record.
    """

    refused: str = ""
    asked: tuple[Ask, ...] = ()
    notes: dict[str, Any] | None = None


_NOTHING = SecretGuard()


def guard_secrets(
    governed: GovernedCall,
    hooks: Hooks,
    calls: ExternalCalls,
    event: HookEvent,
    run_id: str,
    is_marked: Callable[[], bool],
) -> SecretGuard:
    """Judge the credentials that a call reads, and what it would send, above all after one was read.

    Args:
        is_marked: whether a call of the session has read credentials.
    """
    setting = hooks.secrets
    guard = guard_reading(governed, setting)
    if guard.refused or governed.flow or not (governed.uploads or governed.scripts):
        return guard
    then = str(calls.started_with(run_id).get("remotes", ""))
    if not is_marked():
        return guard._replace(
            asked=(*guard.asked, *sending(governed, hooks.uploads, then, event.cwd, run_id))
        )
    asked = (
        Ask(
            UPLOAD,
            f"{what}, in a session that has read credentials",
            _answer(setting in ("ask", "allow")),
            destination and f"upload {run_id} {destination}",
        )
        for what, destination in _sent(governed, then, event)
    )
    return guard._replace(asked=(*guard.asked, *asked))


def sending(governed: GovernedCall, setting: str, then: str, cwd: str, run_id: str) -> Iterator[Ask]:
    """The questions about what a call sends to hosts by their names; one answer holds for a session and a destination.

    Args:
        setting: of hooks.uploads. then: the remotes with which the session began.
    """
    for upload in governed.uploads if setting == "ask" else ():
        pushed = upload.remote is not None and _leads_elsewhere(upload.remote, then, cwd)
        if pushed or (upload.sends and not _is_local_name(upload.host)):
            place = upload.destination or upload.remote
            known = (
                place
                and place != UNKNOWN_REMOTE
                and is_literal(place)
                and len(governed.uploads) < MOST_UPLOADS
            )
            yield Ask(SENDS, upload.what, AnsweredBy.BY_HOST, f"sends {run_id} {place}" if known else "")


def _leads_elsewhere(remote: str, then: str, cwd: str) -> bool:
    """True if a push goes to an address, or to remotes that were set in the session."""
    by_address = remote == UNKNOWN_REMOTE or "/" in remote or ":" in remote
    return by_address or (then != "" and then != remotes_of(cwd))


def _is_local_name(host: str) -> bool:
    """True if a host is named without a dot, as containers and machines of one network are."""
    return bool(host) and not {".", ":"} & {*host}


def guard_reading(governed: GovernedCall, setting: str) -> SecretGuard:
    """Judge the credentials that a call reads or sends by itself, whatever came before it in its session.

    Args:
        setting: of hooks.secrets.
    """
    secrets, flow = governed.secrets, governed.flow
    if not (secrets or flow):
        return _NOTHING
    if setting == "deny":
        return SecretGuard(f"{flow or secrets[0]} (hooks.secrets: deny)")
    asked: list[Ask] = []
    if flow:
        asked.append(Ask(FLOW, f"{flow}: credentials would leave this machine"))
    elif secrets and setting != "allow":
        asked += (Ask(SECRET, text, _answer(setting == "ask")) for text in secrets)
    return SecretGuard("", tuple(asked), {READ_SECRET: True} if governed.disclosed or flow else None)


def _answer(permitted: bool) -> AnsweredBy:
    return AnsweredBy.PERMITTED if permitted else AnsweredBy.QUEUED


def _sent(governed: GovernedCall, then: str, event: HookEvent) -> Iterator[tuple[str, str]]:
    """What a call sends that needs a person in a session that has read credentials, each with what one answer covers.

    Args:
        then: the remotes with which the session began.
    """
    now = remotes_of(event.cwd)
    all_told = len(governed.uploads) < MOST_UPLOADS
    for upload in governed.uploads:
        if upload.remote is None:
            yield upload.what, upload.destination if all_told else ""
        elif not is_known(upload.remote, then, now):
            named = upload.remote not in ("", UNKNOWN_REMOTE) and is_literal(upload.remote)
            yield upload.what, f"{upload.remote} of {event.cwd} {now}" if named and all_told else ""
    if sends := next(filter(_sends, governed.scripts), ""):
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


def with_secrets(call: NativeCall, governed: GovernedCall, context: JudgingContext) -> GovernedCall:
    """The call with the credentials that its arguments name; a command line has been judged before."""
    own = _own_name(call.tool)
    shows = not compiled(_SHOWS_NOTHING).search(own) or compiled(_SHOWS).search(own)
    if call.tool in tools("talks") or call.tool in tools("lists") or not shows:
        return governed
    with judged_by(context.rules):
        return _with_found(call, governed, context)


def _with_found(call: NativeCall, governed: GovernedCall, context: JudgingContext) -> GovernedCall:
    from sb.hosts.hooks.calls.arguments import is_like_a_line  # few calls are of other tools

    reads: dict[str, None] = {}
    disclosed = dict[str, None]()
    flow, uploads = "", list[Upload]()
    commands = 0
    for count, (name, text) in enumerate(_leaves(call.args)):
        if count > _MOST_TEXTS:
            break
        is_line = compiled(_COMMAND).fullmatch(name) or (
            call.tool.startswith(OF_SERVERS) and is_like_a_line(name, text)
        )
        if is_line and commands < _MOST_COMMANDS:
            commands += 1
            verdict = classify(
                text,
                cwd=context.cwd,
                home=context.home,
                protected=context.protected,
                guarded=context.guarded,
                rules=context.rules,
            )
            reads |= dict.fromkeys(verdict.secrets)
            disclosed |= dict.fromkeys(verdict.disclosed)
            flow = flow or verdict.flow
            uploads += verdict.uploads
        elif what := _secret_in(name, text, context) or _searched(call, name, text, context):
            reads.setdefault(what)
            if call.tool.startswith(OF_SERVERS) or _may_be_there(text, context):
                disclosed[""] = None
        elif "://" in text and not compiled(_CONTENT).fullmatch(name) and (host := _sent_to(text)):
            uploads.append(
                Upload(f"{one_line(call.tool, 60)}: sends to {one_line(host, 60)}", host, destination=host)
            )
    by_host = call.tool in tools("searches")
    if by_host or _is_search(call.tool):
        from sb.hosts.hooks.guards.searching import shown_by_search  # few calls search

        if what := shown_by_search(call, context, by_host=by_host):
            reads.setdefault(what)
            disclosed[""] = None
    if call.tool in tools("publishes") or (
        call.tool.startswith(OF_SERVERS) and compiled(_SENDING).search(_own_name(call.tool))
    ):
        uploads.append(Upload(f"{one_line(call.tool, 60)}: sends or publishes"))
        flow = flow or (f"{one_line(call.tool, 60)}: {next(iter(reads))}" if reads else "")
    return governed._replace(
        secrets=tuple(reads), flow=flow, uploads=tuple(uploads), disclosed=tuple(disclosed)
    )


def _is_search(tool: str) -> bool:
    """True if a server's tool searches files for a text."""
    return tool.startswith(OF_SERVERS) and compiled(_SEARCHES).search(_own_name(tool)) is not None


def _own_name(tool: str) -> str:
    return tool.partition("__")[2].partition("__")[2] or tool


def _secret_in(name: str, text: str, context: JudgingContext) -> str:
    """Why a text of a call's arguments reads credentials, or ""."""
    if (
        not text
        or len(text) > LONGEST_PATH
        or "\n" in text.strip()
        or "\0" in text
        or compiled(_CONTENT).fullmatch(name)
    ):
        return ""
    if "://" in text or compiled(_ADDRESS).search(name):
        if host := metadata_address(text if "://" in text else f"http://{text}"):
            return f"reads credentials of a cloud machine: {one_line(host, 80)}"
        if "://" in text and not text.lower().startswith("file:"):
            return ""
    for path in loose_spellings(text, context):
        if " " in path and not path.startswith(("/", "~", ".")):
            continue
        for place in (
            path,
            *(
                readings(path, context)
                if "/" in path or "." in path or name.endswith(("path", "file"))
                else ()
            ),
        ):
            found = secret_path(folded(place.replace("**/", "").rstrip("*") if "*" in place else place))
            if found is not None and found.kind != PRIVATE:
                return f"reads {found.what}: {one_line(path, 80)}"
    return ""


def _may_be_there(text: str, context: JudgingContext) -> bool:
    """True if a text that names credentials names something that is there, as far as it is a path."""
    paths = [place for path in loose_spellings(text, context) for place in readings(path, context)]
    return "*" in text or "://" in text or not context.placed or any(map(may_be_there, paths))


def _searched(call: NativeCall, name: str, text: str, context: JudgingContext) -> str:
    """Why a search shows credentials: its file pattern finds some, or it looks into all of a home; or ""."""
    if call.tool not in tools("searches") or len(text) > LONGEST_PATH:
        return ""
    if name in ("glob", "include", "include_pattern", "includePattern"):
        shapes = (shape.rpartition("/")[2] for shape in _braces(text))
        risky = [shape for shape in shapes if re.search("[a-z0-9]|^[.]", shape) and _finds_secret(shape)]
        if risky and _may_find(risky, str(call.args.get("path") or context.cwd), context):
            return f"reads credentials: files named {one_line(text, 60)}"
    elif name == "path" and call.args.get("output_mode", "content") == "content":
        narrow = any(call.args.get(key) for key in ("glob", "include", "include_pattern", "type"))
        own = folded(str(context.home))
        if not narrow and any(own[: len(parts)] == parts for parts in map(folded, readings(text, context))):
            return f"reads everything in {one_line(text, 60)}, with its credentials"
    return ""


def _may_find(shapes: list[str], folder: str, context: JudgingContext) -> bool:
    """True if a search of a folder finds a file with credentials by its name, or that cannot be told."""
    rest = list[str]()
    found = (one for place in readings(folder, context) for one in secrets_below(place, rest=rest))
    names = (name.rpartition("/")[2].casefold() for name, _ in found)
    return any(fnmatchcase(name, shape.casefold()) for name in names for shape in shapes) or bool(rest)


def _finds_secret(shape: str) -> bool:
    return any(fnmatchcase(name, shape.casefold()) for name in _TYPICAL)


def _braces(pattern: str) -> list[str]:
    """A pattern without braces: one for each alternative, up to a limit."""
    waiting, found = [pattern], list[str]()
    while waiting and len(found) < _MOST_PATTERNS:
        one = waiting.pop()
        if (part := re.search(r"\{([^{}]*)\}", one)) and len(waiting) < _MOST_PATTERNS:
            waiting += (
                one[: part.start()] + each + one[part.end() :] for each in part[1].split(",")[:_MOST_PATTERNS]
            )
        else:
            found.append(one)
    return found


def _sent_to(address: str) -> str:
    """The host that an address carries data to, or ""."""
    if not carries_data(address):
        return ""
    host = host_of(address)
    return "" if is_loopback(host) else host


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Texts among arguments with their names, however deep."""
    waiting: list[tuple[str, Any]] = [(name, value)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, list):
            waiting += ((name, item) for item in one)
        elif isinstance(one, dict):
            waiting += ((str(key), item) for key, item in one.items())
