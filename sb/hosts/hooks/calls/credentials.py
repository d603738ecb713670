"""Credentials among the arguments of a call other than a command line: those it reads, and those it sends."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from sb.base.secrets.redaction import one_line
from sb.hosts.hooks.calls.reading import LONGEST_PATH, CallReading, named_texts
from sb.hosts.hooks.event import NO_EFFECTS, GovernedCall
from sb.hosts.hooks.tools import OF_SERVERS, tools
from sb.shell import ShellVerdict, Upload
from sb.shell.credentials.files import PRIVATE, may_be_there, secret_path, secrets_below
from sb.shell.credentials.sinks import carries_data, host_of
from sb.shell.parsing.words import compiled
from sb.shell.places.addresses import metadata_address
from sb.shell.places.sensitive import folded
from sb.shell.places.this_machine import is_loopback
from sb.shell.programs.ruleset import judged_by

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
_COMMAND = r"(?i)(?:shell_?)?(?:commands?|cmd|command_?line|script|bash)$"
_ADDRESS = (
    r"(?:^|_|(?<=[a-z])(?=[A-Z]))(?i:urls?|uri|host|hostname|address|endpoint|href|link|target|domain)$"
)
# Compiled on first use.
PATTERNS = (_SENDING, _SEARCHES, _SHOWS_NOTHING, _SHOWS, _CONTENT, _COMMAND, _ADDRESS)


def with_credentials(call: CallReading, governed: GovernedCall) -> GovernedCall:
    """The call with the credentials that its arguments name; a command line has been judged before."""
    own = _own_name(call.tool)
    shows = not compiled(_SHOWS_NOTHING).search(own) or compiled(_SHOWS).search(own)
    if call.tool in tools("talks") or call.tool in tools("lists") or not shows:
        return governed
    with judged_by(call.context.rules):
        return governed._replace(effects=_effects(call))


def _effects(call: CallReading) -> ShellVerdict:
    """The credentials that the arguments of a call read and send."""
    from sb.hosts.hooks.calls.arguments import is_like_a_line  # few calls are of other tools

    of_server, tool = call.tool.startswith(OF_SERVERS), one_line(call.tool, 60)
    reads: dict[str, None] = {}
    disclosed = dict[str, None]()
    flow, uploads = "", list[Upload]()
    commands = 0
    for count, (name, text) in enumerate(named_texts(call.args)):
        if count > _MOST_TEXTS:
            break
        is_line = compiled(_COMMAND).fullmatch(name) or (of_server and is_like_a_line(name, text))
        if is_line and commands < _MOST_COMMANDS:
            commands += 1
            verdict = call.line(text)
            reads |= dict.fromkeys(verdict.secrets)
            disclosed |= dict.fromkeys(verdict.disclosed)
            flow = flow or verdict.flow
            uploads += verdict.uploads
        elif what := _secret_in(name, text, call) or _searched(call, name, text):
            reads.setdefault(what)
            if of_server or _may_be_there(text, call):
                disclosed[""] = None
        elif "://" in text and not compiled(_CONTENT).fullmatch(name) and (host := _sent_to(text)):
            uploads.append(Upload(f"{tool}: sends to {one_line(host, 60)}", host, destination=host))
    by_host = call.tool in tools("searches")
    if by_host or (of_server and compiled(_SEARCHES).search(_own_name(call.tool))):
        from sb.hosts.hooks.calls.searching import shown_by_search  # few calls search

        if what := shown_by_search(call, by_host=by_host):
            reads.setdefault(what)
            disclosed[""] = None
    if call.tool in tools("publishes") or (of_server and compiled(_SENDING).search(_own_name(call.tool))):
        uploads.append(Upload(f"{tool}: sends or publishes"))
        flow = flow or (f"{tool}: {next(iter(reads))}" if reads else "")
    return NO_EFFECTS._replace(
        secrets=tuple(reads), flow=flow, uploads=tuple(uploads), disclosed=tuple(disclosed)
    )


def _own_name(tool: str) -> str:
    return tool.partition("__")[2].partition("__")[2] or tool


def _secret_in(name: str, text: str, call: CallReading) -> str:
    """The reason why a text of a call's arguments reads credentials, or ""."""
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
    for path in call.loose_spellings(text):
        if " " in path and not path.startswith(("/", "~", ".")):
            continue
        is_path = "/" in path or "." in path or name.endswith(("path", "file"))
        for place in (path, *(call.readings(path) if is_path else ())):
            secret = secret_path(folded(place.replace("**/", "").rstrip("*") if "*" in place else place))
            if secret is not None and secret.kind != PRIVATE:
                return f"reads {secret.what}: {one_line(path, 80)}"
    return ""


def _may_be_there(text: str, call: CallReading) -> bool:
    """True if a text that names credentials names something that is there, as far as it is a path."""
    paths = [place for path in call.loose_spellings(text) for place in call.readings(path)]
    return "*" in text or "://" in text or not call.context.placed or any(map(may_be_there, paths))


def _searched(call: CallReading, name: str, text: str) -> str:
    """The reason why a search shows credentials: its file pattern finds some, or it looks into all of a home; or ""."""
    if call.tool not in tools("searches") or len(text) > LONGEST_PATH:
        return ""
    if name in ("glob", "include", "include_pattern", "includePattern"):
        shapes = (shape.rpartition("/")[2] for shape in _braces(text))
        risky = [shape for shape in shapes if re.search("[a-z0-9]|^[.]", shape) and _finds_secret(shape)]
        if risky and _may_find(risky, str(call.args.get("path") or call.context.cwd), call):
            return f"reads credentials: files named {one_line(text, 60)}"
    elif name == "path" and call.args.get("output_mode", "content") == "content":
        narrow = any(call.args.get(key) for key in ("glob", "include", "include_pattern", "type"))
        own = folded(str(call.context.home))
        if not narrow and any(own[: len(parts)] == parts for parts in map(folded, call.readings(text))):
            return f"reads everything in {one_line(text, 60)}, with its credentials"
    return ""


def _may_find(shapes: list[str], folder: str, call: CallReading) -> bool:
    """True if a search of a folder finds a file with credentials by its name, or that cannot be told."""
    rest = list[str]()
    below = (row for place in call.readings(folder) for row in secrets_below(place, rest=rest))
    names = (name.rpartition("/")[2].casefold() for name, _ in below)
    return any(fnmatchcase(name, shape.casefold()) for name in names for shape in shapes) or bool(rest)


def _finds_secret(shape: str) -> bool:
    return any(fnmatchcase(name, shape.casefold()) for name in _TYPICAL)


def _braces(pattern: str) -> list[str]:
    """A pattern without braces: one for each alternative, up to a limit."""
    waiting, patterns = [pattern], list[str]()
    while waiting and len(patterns) < _MOST_PATTERNS:
        shape = waiting.pop()
        if (part := re.search(r"\{([^{}]*)\}", shape)) and len(waiting) < _MOST_PATTERNS:
            head, rest = shape[: part.start()], shape[part.end() :]
            waiting += (head + choice + rest for choice in part[1].split(",")[:_MOST_PATTERNS])
        else:
            patterns.append(shape)
    return patterns


def _sent_to(address: str) -> str:
    """The host that an address carries data to, or ""."""
    if not carries_data(address):
        return ""
    host = host_of(address)
    return "" if is_loopback(host) else host
