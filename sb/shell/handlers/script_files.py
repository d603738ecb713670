"""Files that a line writes before it runs them: what they hold, as far as the line tells."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence

from sb.shell.credentials.sinks import SENDS_IN_CODE
from sb.shell.parsing.computed import short_text
from sb.shell.parsing.inputs import NOT_KNOWN, Input
from sb.shell.parsing.words import compiled
from sb.shell.programs.rules import operands

_MOST = 64  # files of one line
_SENDS = (
    r"\b(?:curl|wget|xh|https?|nc|ncat|netcat|socat|telnet|scp|sftp|rsync|ssh|ftp|lftp|mail\w*|sendmail|aria2c|dig|nslookup|host)\s"
    r"|\bgit\b.{0,300}\bpush\b|/dev/(?:tcp|udp)/|\b(?:gh|aws|gsutil|gcloud|az|rclone|s3cmd|docker|node|python3?|ruby|perl|php)\s"
)
_SECRET = (
    r"(?i)\.env|\benv\b|printenv|/environ|\.ssh|id_[rde]|secret|token|key|passw|cred|\.aws|\.kube|\.gnupg|\.netrc|\.npmrc"
    r"|\.pypirc|\.pem|\.p12|shadow|vault|keychain|history|cookies|\bop\b|\bpass\b"
)
_SECRET_FILE = (
    r"(?i)\.env\b|\.ssh\b|id_(?:rsa|dsa|ecdsa|ed25519)|\.aws\b|\.kube\b|\.gnupg|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.pem\b|\.p12\b"
    r"|\.key\b|shadow|credential|service[-_]account|cookies"
)
_SENDS_IN_CODE = rf"{SENDS_IN_CODE}|subprocess|os\.system|child_process"
_SHEBANG = r"#!\s*(?:\S*/env +(?:-S +)?)?(?:\S*/)?([\w.-]+)"
_PROGRAMS = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh"), "sh"),
    **dict.fromkeys(("py", "python", "pypy"), "python3 -c"),
    **dict.fromkeys(("js", "cjs", "mjs", "node"), "node -e"),
    **dict.fromkeys(("rb", "ruby"), "ruby -e"),
}
_COPIES = frozenset(("cp", "mv", "ln", "install"))


class ScriptFiles:
    """Texts that a line has written to files so far, by absolute path.

    Attributes:
        ran: the paths of scripts that the line runs, each with the program that it has run it, or "".
        lines: command lines that it has programs run from files on disk, each with the folder in which that is.
    """

    def __init__(self) -> None:
        self._contents: dict[str, Input] = {}
        self._edits: dict[str, list[str]] = {}
        self.ran: dict[str, str] = {}
        self.lines: dict[tuple[str, str], None] = {}

    def edit(self, places: Iterable[str], texts: Sequence[str]) -> None:
        """Note texts that are put into files."""
        for place in places:
            if place in self._edits or len(self._edits) < _MOST:
                self._edits.setdefault(place, []).extend(texts)

    def edits(self, places: Iterable[str]) -> list[str]:
        """The texts that the line has put into a file."""
        return [text for place in places for text in self._edits.get(place, ())]

    def write(self, places: Iterable[str], content: Input, *, append: bool = False) -> None:
        """Note the content that files are given; more of them than fit are taken for unknown."""
        for place in places:
            before = self._contents.get(place)
            if append and before is not None:
                known = before.kind == content.kind == "text"
                merged = Input("text", f"{before.text}\n{content.text}") if known else NOT_KNOWN
            else:
                merged = content if content.kind == "text" else NOT_KNOWN._replace(program=content.program)
            self._contents[place] = merged if len(self._contents) < _MOST else NOT_KNOWN

    def copy(self, program: str, arguments: Sequence[str], places: Sequence[Sequence[str]]) -> None:
        """Note that a program gives written files another name.

        Args:
            places: the absolute paths of each operand.
        """
        if program not in _COPIES or len(places) < 2 or not self._contents:
            return
        names = [arguments[at] for at in operands(arguments)]
        for name, sources in zip(names[:-1], places[:-1], strict=False):
            for content in [self._contents[source] for source in sources if source in self._contents]:
                inside = [os.path.join(place, os.path.basename(name)) for place in places[-1]]
                self.write((*places[-1], *inside), content)

    def content(self, places: Iterable[str], by: str) -> Input | None:
        """The text that the line wrote to the file it has a program run; None if it did not write it."""
        places = list(places)
        self.ran.update(dict.fromkeys(places, by))
        return self.text_of(places)

    def text_of(self, places: Iterable[str]) -> Input | None:
        """The text that the line wrote to a file; None if it did not write it."""
        return next((self._contents[place] for place in places if place in self._contents), None)


def line_of(path: str, by: str) -> tuple[str, bool]:
    """The command line that a script on disk is, or that runs its text, and whether it is code of another language.

    Args:
        by: the program that runs it; "" where its first line or its ending says which one does.

    Returns:
        "" for what need not be judged: it does not name both something that sends and something that may be secret.
    """
    text = short_text(path)
    first = compiled(_SHEBANG).match(text)
    named = first[1] if first and not by else by or path.lower().rpartition(".")[2]
    program = _PROGRAMS.get(named.rstrip("0123456789."), "")
    if program == "sh":
        return (text if may_leak(text) else ""), False
    sends = (
        compiled(_SENDS_IN_CODE).search(text) is not None and compiled(_SECRET_FILE).search(text) is not None
    )
    return (f"{program} {shlex.quote(text)}" if program and sends else ""), True


def may_leak(text: str) -> bool:
    """True if a script names both something that sends and something that may be secret: few do, and only those are judged."""
    return compiled(_SENDS).search(text) is not None and compiled(_SECRET).search(text) is not None
