"""Addresses that a command line fetches from, as far as they can be read in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

_PROGRAM = re.compile(r"(?<![\w.\-])(curl|wget|https?|xhs?|aria2c|lynx|w3m)(?:\.exe)?(?=[\s\"']|$)(?!://)")
_QUOTED = re.compile(r"\\.|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL)
_ESCAPED = re.compile(r"\\([\"\\$`])")
# A redirection; a word, of quoted and other parts (an & before NAME= stands in an address); what ends a command.
_TOKEN = re.compile(
    r"(?:&(?=>)|\d*)[<>]+(?:&[\d\-])?|(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|&(?=\w+=)|[^\s\"'<>\\;|&)`])+|[;|&)`\n\"']",
    re.DOTALL,
)
_END = frozenset(";|&)\n\"'")
_QUOTES = re.compile(r"\\(.)|[\"']", re.DOTALL)
_REDIRECTION = re.compile(r"(?:&|\d*)[<>]+(&[\d\-])?")
_ADDRESS = re.compile(r"(?i)(?:https?|ftps?)://[^\s\"'<>|;)`]+")
_WITHOUT_SCHEME = re.compile(
    r"(?i)(?:[\w\-]+\.)+[a-z][a-z\-]+(?::\d+)?(?:[/?#].*)?|(?:\d+\.){3}\d+(?:[:/].*)?"
)
_METHOD = re.compile(r"[A-Z]+")
_COMPUTED = re.compile(r"[$`{\[]")
_SHORT = re.compile(r"-[A-Za-z#:]\S*")
# Letters of options whose value is no address; a proxy's is one.
_VALUED_LETTERS = {
    "curl": "AbcCdDeEFHmoPQrtTuUwXyYz",
    "wget": "oaetOTwQPUlARDIX",
    "http": "oapsA",
    "xh": "oapsA",
    "aria2c": "do",
}
# The same of long options; what follows an option that is in no list is read as an address, so that none is missed.
_VALUED = frozenset(
    """
    --alt-svc --aws-sigv4 --cacert --capath --cert --cert-type --ciphers --connect-timeout --continue-at --cookie
    --cookie-jar --create-file-mode --crlfile --curves --data --data-ascii --data-binary --data-raw --data-urlencode
    --delegation --dump-header --engine --etag-compare --etag-save --expect100-timeout --form --form-string --header
    --hostpubmd5 --hostpubsha256 --hsts --interface --json --keepalive-time --key --key-type --limit-rate --local-port
    --login-options --max-filesize --max-redirs --max-time --netrc-file --noproxy --oauth2-bearer --output --output-dir
    --parallel-max --pass --pinnedpubkey --proto --proto-default --proto-redir --proxy-header --proxy-user --quote --range
    --rate --referer --request --request-target --retry --retry-delay --retry-max-time --speed-limit --speed-time --stderr
    --time-cond --tls-max --tls13-ciphers --trace --trace-ascii --upload-file --url-query --user --user-agent --write-out

    --accept --append-output --body-data --body-file --ca-certificate --ca-directory --certificate --compression
    --cut-dirs --directory-prefix --dns-timeout --domains --exclude-directories --exclude-domains --http-password
    --http-user --include-directories --level --load-cookies --method --output-document --output-file --password
    --post-data --post-file --private-key --quota --read-timeout --reject --retry-on-http-error --save-cookies
    --secure-protocol --timeout --tries --wait --waitretry

    --auth --auth-type --boundary --pretty --print --session --style --verify
    """.split()
)
_FLAGS_OF_HTTP = frozenset(("--json", "--form"))  # there; of curl they have a value
# Options that fetch from what a file lists, or from elsewhere than an address says.
_ELSEWHERE_LETTERS = {"curl": "K", "wget": "i", "aria2c": "i"}
_ELSEWHERE = frozenset("--config --input-file --resolve --connect-to".split())
_OF_ADDRESS = re.compile(r"--(?:url|proxy|preproxy|base)=|-x(?=\S)")
_EACH_IS_AN_ADDRESS = frozenset(("curl", "wget"))  # whatever is no option or its value
_FIRST_IS_AN_ADDRESS = frozenset(("http", "xh"))  # but for a method; then come the fields of a request
MOST = 32  # addresses of one line, and programs
_MOST_WORDS = 1_000  # of one program
_DEEPEST = 4  # lines in the quotes of others


def addresses_of(command: str) -> list[str]:
    """What a command line fetches from: addresses, or `shell:PROGRAM` where one is computed or cannot be read."""
    line = command.replace("\\\n", " ")
    found, programs = dict.fromkeys(_ADDRESS.findall(line)), 0
    for text in _texts(line):
        for match in _PROGRAM.finditer(_QUOTED.sub(_without_lines, text)):
            programs += 1
            if programs > MOST:
                return [*list(found)[:MOST], f"shell:{MOST}+"]
            inside = text.count("`", 0, match.start()) % 2 == 1
            found |= dict.fromkeys(_of_program(match[1], text, match.end(), inside=inside))
    return list(found)[:MOST] + ([f"shell:{MOST}+"] if len(found) > MOST else [])


def _texts(line: str) -> Iterator[str]:
    """A line, and what is in its quotes, which another shell may run."""
    texts = [line]
    for _ in range(_DEEPEST):
        yield from texts
        texts = [
            _ESCAPED.sub(r"\1", quoted[1:-1])
            for text in texts
            for quoted in _QUOTED.findall(text)
            if _is_line(quoted)
        ]


def _is_line(quoted: str) -> bool:
    return quoted[0] != "\\" and any(map(str.isspace, quoted))


def _without_lines(match: re.Match[str]) -> str:
    return "\0" * len(match[0]) if _is_line(match[0]) else match[0]


def _of_program(program: str, text: str, start: int, *, inside: bool) -> Iterator[str]:
    """What one program fetches from.

    Args:
        start: of its words in the text. inside: whether the program itself stands between backticks.
    """
    unknown = f"shell:{program}"
    words = list(islice(_words(text, start), _MOST_WORDS))
    if len(words) == _MOST_WORDS:
        yield unknown
    if inside and words[-1:] == ["`"]:
        words.pop()
    name, seen, skips = program.rstrip("s"), False, False
    for raw in words:
        redirection = _REDIRECTION.fullmatch(raw)
        word = _OF_ADDRESS.sub("", _QUOTES.sub(r"\1", raw), count=1)
        if redirection is not None:
            skips = redirection[1] is None
        elif skips:
            skips = False
            if raw.startswith("("):  # <(…)
                yield unknown
        elif word.startswith("-"):
            skips, elsewhere = _option(name, word)
            if elsewhere:
                yield unknown
        elif _COMPUTED.search(word):
            yield unknown
        elif _ADDRESS.match(word):
            seen = True
            yield word  # without its quotes, which the address may go on behind
        elif _WITHOUT_SCHEME.fullmatch(word):
            seen = True
            yield f"https://{word}"
        elif name in _EACH_IS_AN_ADDRESS or (
            name in _FIRST_IS_AN_ADDRESS and not seen and not _METHOD.fullmatch(word)
        ):
            yield unknown
    if not seen:
        yield unknown


def _words(text: str, start: int) -> Iterator[str]:
    """The words of a command from a place on, with their quotes; a backtick ends them, and is the last."""
    for match in _TOKEN.finditer(text, start):
        if match[0] in _END or match[0].startswith("#"):
            return
        yield match[0]
        if match[0] == "`":
            return


def _option(program: str, word: str) -> tuple[bool, bool]:
    """Whether the next word is an option's value, and whether the option has the program fetch from elsewhere."""
    if not _SHORT.fullmatch(word):
        valued_there = program not in _FIRST_IS_AN_ADDRESS or word not in _FLAGS_OF_HTTP
        return word in _VALUED and valued_there, word.partition("=")[0] in _ELSEWHERE
    valued = _VALUED_LETTERS.get(program, "")
    for place, letter in enumerate(word[1:], 2):  # -sSLo is -s -S -L -o
        if letter in _ELSEWHERE_LETTERS.get(program, ""):
            return True, True
        if letter in valued:
            return place == len(word), False
    return False, False
