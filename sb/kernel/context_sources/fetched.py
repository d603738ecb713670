"""Addresses that a command line fetches from, as far as they can be read in it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sb.kernel.policy.command_lines import commands_of_call

_PROGRAM = re.compile(r"(?<![\w.\-])(curl|wget|https?|xhs?|aria2c|lynx|w3m)(?:\.exe)?(?=[\s\"']|$)")
_ADDRESS = re.compile(r"(?i)(?:https?|ftps?)://[^\s\"'<>|;)`]+")
_WITHOUT_SCHEME = re.compile(
    r"(?i)(?:[\w\-]+\.)+[a-z][a-z\-]+(?::\d+)?(?:[/?#].*)?|(?:\d+\.){3}\d+(?:[:/].*)?"
)
_METHOD = re.compile(r"[A-Z]+")
_COMPUTED = re.compile(
    r"[\x00-\x1f{\[]"
)  # in place of what is known only when the line runs, or a pattern of curl's
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


def addresses_of(command: str) -> list[str]:
    """The addresses a command line fetches from; `shell:PROGRAM` where one is computed or unreadable."""
    found, programs = dict.fromkeys(_ADDRESS.findall(command)), Counter[str]()
    for line in commands_of_call({"command": command}):
        for program, *words in line.argvs:
            named = _PROGRAM.fullmatch(os.path.basename(program))
            if named is None:
                continue
            programs[named[1]] += 1
            if programs.total() > MOST:
                return [*list(found)[:MOST], f"shell:{MOST}+"]
            found |= dict.fromkeys(_of_program(named[1], words))
        if not line.understood:
            hidden = Counter(_PROGRAM.findall(command)) - programs
            found |= dict.fromkeys(f"shell:{name}" for name in hidden)
    return list(found)[:MOST] + ([f"shell:{MOST}+"] if len(found) > MOST else [])


def _of_program(program: str, words: Sequence[str]) -> Iterator[str]:
    """The addresses that one program fetches from."""
    unknown = f"shell:{program}"
    if len(words) > _MOST_WORDS:
        yield unknown
    name, seen, skips = program.rstrip("s"), False, False
    for given in words[:_MOST_WORDS]:
        word = _OF_ADDRESS.sub("", given, count=1)
        if skips:
            skips = False
        elif word.startswith("-"):
            skips, elsewhere = _option(name, word)
            if elsewhere:
                yield unknown
        elif _COMPUTED.search(word):
            yield unknown
        elif _ADDRESS.match(word):
            seen = True
            yield word  # whole: in the line it may go on behind its quotes
        elif _WITHOUT_SCHEME.fullmatch(word):
            seen = True
            yield f"https://{word}"
        elif name in _EACH_IS_AN_ADDRESS or (
            name in _FIRST_IS_AN_ADDRESS and not seen and not _METHOD.fullmatch(word)
        ):
            yield unknown
    if not seen:
        yield unknown


def _option(program: str, word: str) -> tuple[bool, bool]:
    """Two truths about an option: the next word is its value, and it has the program fetch from elsewhere."""
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
