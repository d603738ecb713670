"""Commands that send something over the network: where to, and what of the line they would carry there."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from sb.shell.credentials.showing import git_verb
from sb.shell.credentials.taints import UNKNOWN_REMOTE
from sb.shell.parsing.words import BRACKET, OPERAND, QUESTION, UNKNOWN, compiled, display, is_sure
from sb.shell.places.this_machine import is_loopback
from sb.shell.programs.facts import having, lists

_HTTP, _COPIES, _STREAMS, _MAIL, _NAMES, _PUBLISH = map(
    having, ("http", "copies_to_hosts", "streams", "mails", "asks_names", "publishes")
)
_COPYING = ("s3 cp", "s3 mv", "s3 sync", "cp", "mv", "rsync", "storage cp", "storage rsync")  # either way
_BODY = (
    r"-d.*|--data.*|-F.*|--form.*|-T.*|--upload-file.*|--json.*|--post-(?:data|file).*|--body-(?:data|file).*|-[a-zA-Z]*[dFT]"
    r"|-X=?(?:POST|PUT|PATCH|DELETE).*|--request=(?:POST|PUT|PATCH).*|--method=(?:POST|PUT|PATCH).*"
)
_FROM_INPUT = r"(?:.*[=<])?@-|.*@/dev/stdin|@/proc/self/fd/0|.*<-|-T-|-T\.|-d@-|-K-|--upload-file=-"
_ADDRESS = r"(?:[a-zA-Z][a-zA-Z0-9+.-]*://)?(?:[^@/\s]*@)?(\[[^\]]+\]|[^/:?#\s]+)"
_REMOTE = r"(?:[^/:@]+@)?([^/:]+|\[[^\]]+\]):.*|(?:rsync|ssh|sftp|scp)://.*"
_PLAIN_VALUE = r"[a-z]{1,8}(?:[-_][a-z]{1,8}){0,2}|[0-9.]{1,8}|"
_MOST_OF_VALUES = 24  # characters of plain values together
# Headers that say what is asked for, and options whose text is sent beside the address.
_PLAIN_HEADER = r"(?i)(?:accept[\w-]*|content-type|cache-control|range|if-[\w-]+|connection|prefer|x-github-api-version)\s*:.*|.*:\s*"
_PLAIN_AGENT = r"(?i)(?:user-agent\s*:\s*)?(?:mozilla/|curl/|wget/).*"
_TEXTS = "-H --header -b --cookie -A --user-agent -e --referer -u --user --oauth2-bearer".split()
_LONG_PART = r"[A-Za-z0-9+_=%-]{32,}"
_LONG_LABEL = r"^(?:[a-z]+://)?(?:[\w-]+\.)*[\w-]{24,}\."
_LOGIN = r"[a-z]+://[^/@]{12,}@"
_VALUED = frozenset(
    "-X -H -d -F -o -u -A -e -b -c -T -K -E -m -w -x --request --header --data --data-raw --data-binary --data-urlencode --form --output --user "
    "--user-agent --referer --cookie --cookie-jar --upload-file --config --cert --key --cacert --max-time --write-out --proxy --json --post-data "
    "--post-file --body-data --body-file --method -O -P --connect-timeout --retry --form-string --resolve --netrc-file --oauth2-bearer -U --limit-rate -Q -t -y -Y -z -C -r "
    "--output-document --aws-sigv4 --interface --directory-prefix --timeout --tries --output-dir --url-query --dir --out".split()
)
_FORMS = ("http", "https", "xh", "httpie")  # programs that take fields as words of their own
_PROXIES = ("-x", "--proxy", "--preproxy", "--socks4", "--socks4a", "--socks5", "--socks5-hostname")
_PROXY = r"--(?:pre)?proxy=(.*)"
# Options with which a command may send elsewhere than its address says.
_REDIRECTING = {
    "curl": r"--(?:resolve|connect-to|config|doh-url)(?:=.*)?|-[a-zA-Z]*K.*",
    "wget": r"-[a-zA-Z]*e.*|--(?:execute|config)(?:=.*)?",
    "": r"-[a-zA-Z]*[JoFeSDxXl].*|--rsh.*|--listen",
}
_ONE_HOST = frozenset("scp rsync sftp nc ncat netcat telnet ssh".split())  # named by their arguments alone
_METHODS = ("POST", "PUT", "PATCH", "DELETE")


class Sink(NamedTuple):
    """A command that sends.

    Args:
        what: as in "curl to example.org". host: "" if it is not known.
        from_input: it sends its standard input. uploads: it surely sends more than a request.
        remote: for git, the remote or address that is pushed to; "" for the usual one.
        computed: a part of the address is known only when it runs.
        destination: as that of an `Upload`.
    """

    what: str
    host: str = ""
    from_input: bool = False
    uploads: bool = False
    remote: str | None = None
    computed: bool = False
    kind: str = ""
    destination: str = ""


def sink(program: str, arguments: Sequence[str]) -> Sink | None:
    """The sink that a command is: what it sends, and where to; None if it sends nothing."""
    if program in _HTTP:
        return _http(program, arguments)
    if program in _COPIES or program in _STREAMS:
        found = (_copy if program in _COPIES else _stream)(program, arguments)
        known = found is not None and program in _ONE_HOST and not _redirects(program, arguments)
        return found._replace(destination=found.host) if found is not None and known else found
    if program in _MAIL:
        return Sink(f"{program}: sends mail", "", from_input=True, uploads=True, kind="mail")
    if program in _NAMES:
        named = [word for word in arguments if word[:1] not in ("-", "+")]
        computed = any(not is_sure(word) or compiled(_LONG_LABEL).search(word) for word in named)
        return Sink(
            f"{program}: asks for a name", host_of(named[-1]) if named else "", computed=computed, kind="name"
        )
    if program in _PUBLISH and "--help" not in arguments and (program != "mc" or _writes_to_store(arguments)):
        return Sink(f"{program}: publishes", "", from_input=True, uploads=True, kind="publish")
    return _cloud(program, arguments)


def _writes_to_store(arguments: Sequence[str]) -> bool:
    """True if `mc` copies something: its other commands keep its settings, or name and list what there is."""
    looking = "alias ls mb stat du tree diff ping config admin".split()
    return not arguments or arguments[0] not in looking


def _http(program: str, arguments: Sequence[str]) -> Sink | None:
    addresses: list[str] = []
    proxies: list[str] = []
    uploads = from_input = spelled_out = False
    for at, word in enumerate(arguments):
        before = arguments[at - 1] if at else ""
        if _is_valued(before, program):
            spelled_out = spelled_out or (program in ("curl", "wget") and _carries_text(before, word))
            if before in ("-X", "--request", "--method"):
                uploads = uploads or word.upper() in _METHODS
            elif before == "--url":
                addresses.append(word)
            elif before in _PROXIES:
                proxies.append(word)
            from_input = from_input or (
                word == "-"
                and before in ("-T", "--upload-file", "-K", "--config", "--post-file", "--body-file")
            )
            from_input = (
                from_input or compiled(_FROM_INPUT).fullmatch(word) is not None or word == "/dev/stdin"
            )
        elif word[:1] == "-":
            from_input = from_input or compiled(_FROM_INPUT).fullmatch(word) is not None
            if word.startswith("--url="):
                addresses.append(word[6:])
            if proxy := compiled(_PROXY).fullmatch(word):
                proxies.append(proxy[1])
            option, equals, text = word.partition("=")
            spelled_out = spelled_out or (bool(equals) and _carries_text(option, text))
        elif program in _FORMS and (word in _METHODS or word == "GET"):
            uploads = uploads or word != "GET"
        elif program in _FORMS and addresses:
            uploads = True
        else:
            addresses.append(word)
        uploads = uploads or compiled(_BODY).fullmatch(word) is not None
    if program in _FORMS:
        from_input = True
    there = [word for word in addresses if not word.lower().startswith("file:")]
    if addresses and not there:
        return None  # files of this machine
    hosts = list(filter(None, map(host_of, (*there, *proxies))))
    host = _not_here(hosts) if not _redirects(program, arguments) else ""
    computed = spelled_out or any(UNKNOWN in word or OPERAND in word or carries_data(word) for word in there)
    return Sink(
        f"{program}: sends to {display(host) or 'the network'}",
        host,
        from_input,
        uploads,
        None,
        computed,
        "http",
        host if program in ("curl", "wget") and len({*hosts}) == 1 else "",
    )


def _is_valued(option: str, program: str) -> bool:
    """True if the next argument is the option's value."""
    if program in _FORMS or (option == "-O" and program != "wget"):
        return False
    cluster = compiled("-[a-zA-Z]{2,}").fullmatch(option)
    return option in _VALUED or (cluster is not None and f"-{option[-1]}" in _VALUED and option[-1] != "O")


def _copy(program: str, arguments: Sequence[str]) -> Sink | None:
    words = [
        word
        for at, word in enumerate(arguments)
        if word[:1] != "-"
        and (not at or arguments[at - 1] not in ("-i", "-P", "-e", "-F", "-o", "-J", "-p", "-l"))
    ]
    if program == "sftp":
        return Sink(
            "sftp: copies files to another host",
            host_of(words[0]) if words else "",
            from_input=True,
            uploads=True,
            kind="stream",
        )
    target = words[-1] if len(words) > 1 else ""
    remote = compiled(_REMOTE).fullmatch(target)
    if not remote and is_sure(target):
        return None
    host = host_of((remote[1] or target) if remote else "")
    to = display(host) or "another host"
    return Sink(f"{program}: copies to {to}", host, uploads=True, kind="copy")


def _stream(program: str, arguments: Sequence[str]) -> Sink | None:
    if program in ("nc", "ncat", "netcat") and any(
        compiled("-[a-km-zA-Z]*z[a-zA-Z]*").fullmatch(word) for word in arguments
    ):
        return None  # only looks whether a port is open
    valued = "-i -p -P -o -F -J -L -R -D -l -w -q -s -c -e -U -m".split()
    words = [
        word
        for at, word in enumerate(arguments)
        if word[:1] != "-" and (not at or arguments[at - 1] not in valued)
    ]
    if program == "socat":
        words = [word.partition(":")[2].rpartition(":")[0] or word for word in words if ":" in word]
    host = host_of(words[0]) if words else ""
    shell = program in ("ssh", "autossh", "mosh")
    return Sink(
        f"{program}: sends to {display(host) or 'another host'}",
        host,
        True,
        uploads=not shell,
        computed=shell and bool(words),  # its command is text for the other host
        kind="shell" if shell else "stream",
    )


def _cloud(program: str, arguments: Sequence[str]) -> Sink | None:
    known = lists("sends_with").get(program)
    if known is None:
        return None
    words = [word for word in arguments if word[:1] != "-"]
    if program == "git":  # `git stash push` sends nothing, `git subtree push` does
        named = git_verb(arguments)
        words = words[words.index(named) + (named in ("subtree", "lfs")) :] if named else []
        known = tuple(verb for verb in known if words[:1] == [verb])
    if "--help" in arguments:
        return None
    text = " ".join(words[:4])
    verb = next((verb for verb in known if text.startswith(verb) or f" {verb} " in f" {text} "), "")
    if not verb:
        return None
    if verb in ("send-pack", "http-push"):
        return Sink(f"git {verb}: publishes commits", "", uploads=True, remote=UNKNOWN_REMOTE, kind="push")
    if verb == "send-email":
        return Sink("git send-email: sends mail", "", uploads=True, kind="mail")
    if program == "git":
        repository = [word[7:] for word in arguments if word.startswith("--repo=")]
        repository += [after for word, after in itertools.pairwise(arguments) if word == "--repo"]
        if repository:
            return Sink("git push: publishes commits", "", uploads=True, remote=repository[0], kind="push")
        after = words[1:]
        if "--dry-run" in arguments or "-n" in arguments:
            return None
        return Sink(
            "git push: publishes commits", "", uploads=True, remote=after[0] if after else "", kind="push"
        )
    if program in ("kubectl", "oc"):
        return (
            None
            if ":" not in words[-1]
            else Sink(f"{program} {verb}: copies to a container", uploads=True, kind="copy")
        )
    if program in ("gh", "glab") and verb == "api":
        sends = any(
            compiled(_BODY + "|-f.*|--field.*|--raw-field.*|--input.*").fullmatch(word) for word in arguments
        )
        return Sink(
            f"{program} api: sends to its service",
            "github.com" if program == "gh" else "gitlab.com",
            True,
            sends,
            kind="service",
        )
    if verb == "push":
        registry, slash, _ = words[-1].partition("/")
        has_registry = bool(slash) and (registry == "localhost" or "." in registry or ":" in registry)
        sure = is_sure(words[-1]) and words[-1] != verb
        host = host_of(registry if has_registry else "docker.io") if sure else ""
        what = f"{program} push: sends to {display(host) or 'a registry'}"
        return Sink(what, host, uploads=True, kind="service", destination=host)
    if verb in _COPYING:
        target = words[words.index(verb.split(" ")[-1]) + 1 :][1:2]
        if target and "://" not in target[0] and is_sure(target[0]):
            return None  # from there to here
    bucket = compiled(r"(?:s3|gs)://[\w.-]+").match(words[-1])
    return Sink(
        f"{program} {verb}: sends to {bucket[0] if bucket else 'a service'}",
        from_input=True,
        uploads=True,
        kind="service",
        destination=bucket[0] if bucket else "",
    )


def _carries_text(option: str, text: str) -> bool:
    """True if an option of `curl` or `wget` sends a text that the line spells out, other than what such requests need."""
    plain = compiled(_PLAIN_HEADER).fullmatch(text) or compiled(_PLAIN_AGENT).fullmatch(text)
    return option in _TEXTS and is_sure(text) and not plain and not text.startswith("@")


def carries_data(address: str) -> bool:
    """True if an address may hold more than where something is: in its query, path, login or host."""
    address = address.replace(QUESTION, "?")  # an unquoted one, which fits no file
    rest = compiled(_ADDRESS).sub("", address, count=1)
    query = rest.partition("?")[2]
    values = [value.partition("=")[2] or value for value in query.partition("#")[0].split("&")]
    return (
        not all(map(compiled(_PLAIN_VALUE).fullmatch, values))
        or sum(map(len, values)) > _MOST_OF_VALUES
        or compiled(_LONG_PART).search(rest.partition("?")[0]) is not None
        or compiled(_LONG_LABEL).search(address) is not None
        or compiled(_LOGIN).match(address) is not None
    )


def _not_here(hosts: Sequence[str]) -> str:
    """The first host that is not this machine, else the first."""
    return next(itertools.chain(itertools.filterfalse(is_loopback, hosts), hosts), "")


def _redirects(program: str, arguments: Sequence[str]) -> bool:
    """True if an option may have a command send elsewhere than its address says."""
    return any(map(compiled(_REDIRECTING.get(program, _REDIRECTING[""])).fullmatch, arguments))


def host_of(word: str) -> str:
    """The host of an address, in small letters."""
    found = compiled(_ADDRESS).match(word.replace(BRACKET, "["))  # of an IPv6 address, no pattern
    return found[1].lower() if found else ""


SENDS_IN_CODE = (
    r"requests\.|urllib|http\.client|httpx|aiohttp|socket|fetch\s*\(|axios|https?\.(?:request|get)|require\(['\"]https?['\"]\)|Net::HTTP|LWP|HTTP::Tiny|XMLHttpRequest|smtplib|ftplib|paramiko"
    r"|open-uri|IO::Socket|TCPSocket|fsockopen|curl_|file_get_contents\s*\(\s*['\"]https?|gethostbyname|getaddrinfo|dns\.|boto3|/inet/tcp|net\.(?:connect|Socket)|websocket|curl |wget |nc "
)
