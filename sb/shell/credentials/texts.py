"""Where the text of a secret is in a command line: in words, variables, files and sockets."""

from __future__ import annotations

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sb.shell.credentials.files import DOTENV, PRIVATE, Secret, existing, secret_word
from sb.shell.credentials.secrets import own_hosts, secret_variable
from sb.shell.credentials.showing import LOADING, PRINTS
from sb.shell.credentials.sinks import Sink
from sb.shell.credentials.taints import CLEAN, CONTENT, MOST_UPLOADS, NAMES, NO_FILE, Taint, Upload, merged
from sb.shell.parsing.nodes import Compound, Redirect, Simple, Word
from sb.shell.parsing.words import (
    QUESTION,
    SPLIT_VARIABLE,
    STAR,
    VARIABLE,
    VARIABLE_NAME,
    compiled,
    display,
    is_sure,
)
from sb.shell.places.this_machine import is_loopback
from sb.shell.programs.rules import Finding

if TYPE_CHECKING:
    from sb.shell.judge import Judge

_IN_HEADER = r"(?i)(?:-H|--header=?)?\s*(?:authorization|proxy-authorization|x-api-key|api-key|apikey|private-token|x-auth-token|x-token|deploy-token|job-token|x-\w+-(?:token|key)|token|cookie)\s*:.*"
_AUTH_OPTIONS = frozenset(
    "-u --user --oauth2-bearer -b --cookie --password --http-password --http-user -A -a --auth --token".split()
)
_EXPANDED = r"\$\{!?([A-Za-z_]\w*)(?![\w}]|:?\+)"
_BY_NAME = r"\$\{!\w+\}"
_KEY_NAME = r"(?i)(?:key|token|secret|pass(?:word|wd|phrase)?|pw|pwd|cred(?:ential)?s?|auth|dsn)(?:_|$)"
_IN_SINGLE = r"'[^']*'"
RUN_FIRST = ("MAKEFILES", "BASH_ENV", "ENV")
_INTO_FILES = (">", ">|", "&>", ">>", "&>>")
_MOST_WORDS = 200
_MOST_FILES = 64
_AS_GLOB = str.maketrans({STAR: "*", QUESTION: "?"})
_MOST = 8  # secrets that are told of one line


class TextTrail(ABC):
    """The secrets of one command line.

    Attributes:
        makefiles: that a variable has `make` read.
        words: of the current command's words. input, output: of its standard input and output.
        reads: why the line reads secrets, in order. flow: why one would leave this machine, or "".
        uploads: what the line sends, whatever it holds.
        disclosed: the existing files that it reads, as `Taint.files`.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.words = self.input = self.output = self.makefiles = CLEAN
        self.reads: dict[str, None] = {}
        self.flow = ""
        self.uploads: dict[Upload, None] = {}
        self.disclosed: dict[str, None] = {}
        self._variables: dict[str, Taint] = {}
        self._files: dict[str, Taint] = {}
        self._added = CLEAN  # to a commit
        self._socket = ""
        self._feeding = 0  # in pipelines and substitutions, in which another command takes what is printed
        self._remotes_set = False
        self._sinks: list[Sink] = []
        self._text = ""  # of a here-document
        self._loading = False  # the words that are read give variables their values
        self._sourced = CLEAN  # what variables hold that the line does not set itself
        self._changes = False  # a command that has run may have made a file

    # --- parts of a line

    def simple(self, node: Simple, run: Callable[[], Finding]) -> Finding:
        """Follow one command; `run` judges it."""
        outer = self.words, self.input, self._loading
        self._text = ""
        self.words = CLEAN if node.assigned else self._of_words(node)
        self.input = self._of_redirects(node.redirects, self.input)
        first = node.words[0].text if node.words else ""
        self._loading = self._loading or bool(node.assigned) or first in LOADING
        before, self.output = self.output, CLEAN
        into_file = any(redirect.operator in _INTO_FILES for redirect in node.redirects)
        self._feeding += into_file  # another command may take it from there
        found = run()
        self._changes = self._changes or found.rank > 0
        self._feeding -= into_file
        if not node.words and not node.assigned:  # `$(< file)`
            self.output = merged(self.output, self.input)
        self._redirected(node.redirects)
        self.output = merged(before, self.output)
        self.words, self.input, self._loading = outer
        return found

    def within(self, redirects: Sequence[Redirect], run: Callable[[], Finding]) -> Finding:
        """Follow a loop, group or condition with its redirections."""
        outer, before, words = self.input, self.output, self.words
        self.input, self.output, self.words = self._of_redirects(redirects, self.input), CLEAN, CLEAN
        found = run()
        self._redirected(redirects)
        self.output = merged(before, self.output)
        self.input, self.words = outer, words
        return found

    def piped(self, run: Callable[[], Finding]) -> Finding:
        """Follow a pipeline, each of whose parts ends with `pass_on`."""
        outer, before, self.output = self.input, self.output, CLEAN
        self._feeding += 1
        found = run()
        self._feeding -= 1
        self.output = merged(before, self.input)
        self.input = outer
        return found

    def pass_on(self) -> None:
        """Give the output of a part of a pipeline to the next one."""
        self.input, self.output = self.output, CLEAN

    def substituted(self, run: Callable[[], Finding], *, as_file: bool) -> Finding:
        """Follow commands whose output becomes a part of the current words, or of a file that one names."""
        before, words, self.output = self.output, self.words, CLEAN
        self._feeding += 1
        found = run()
        self._feeding -= 1
        self.words = words if as_file and self.output.names else merged(words, self.output)
        self.output = before
        return found

    def assign(self, node: Simple) -> None:
        """Give variables what their words hold; the command behind them has words of its own."""
        if node.assigned:
            for name, word in node.assigned:
                listed = self._named_in(word.text.strip("()")) if word.raw.startswith("(") else CLEAN
                self._variables[name] = merged(self.words, self.of_word(word), listed)
                if name in RUN_FIRST:
                    self.run_first(name, self._judge.expand(word.text))
            self.words = self._of_words(node)

    def run_first(self, name: str, values: Sequence[str]) -> None:
        """Follow the files that a variable has `make` or a shell read before anything else."""
        for path in (path for value in values for path in value.split()):
            secret = secret_word(self._judge.paths, path)
            if secret is None:
                continue
            what = secret.read_by(path)
            if name == "MAKEFILES":  # `make` prints lines that are no rules
                self._read(what)
                self.makefiles = Taint(CONTENT, what)
            else:
                self._sourced = Taint(CONTENT, what, soft=True)

    @contextlib.contextmanager
    def given_variables(self, by: str = "") -> Iterator[bool]:
        """Follow a program that is given secrets as variables; yields whether it is.

        Args:
            by: the program that gives them; "" for the words that are read now, as in `env $(cat .env) make`.
        """
        words, before = self.words, self._sourced
        if not by and not (words.level == CONTENT and words.soft and not words.variable):
            yield False
            return
        self._sourced = Taint(CONTENT, f"prints what {by} gives", soft=True) if by else words
        self.words = words if by else CLEAN
        try:
            yield True
        finally:
            self.words, self._sourced = words, before

    def finish(self) -> None:
        """The line has ended: what is on its output is shown."""
        if self.output.level == CONTENT and not self.output.private:
            self._read(self.output.what, self.output.files)

    def _read(self, why: str, files: Sequence[str] = NO_FILE) -> None:
        self.disclosed |= dict.fromkeys(files)
        if len(self.reads) < _MOST:
            self.reads.setdefault(why)

    # --- words and redirections

    def _of_words(self, node: Simple) -> Taint:
        found = CLEAN
        program = node.words[0].text if node.words else ""
        before = ""
        for word in node.words:
            taint = self.of_word(word)
            if taint.level and taint.variable:
                header = before in _AUTH_OPTIONS or is_login_header(word.text.replace(VARIABLE, "$"))
                taint = taint._replace(auth=header)
            found = merged(found, taint)
            before = word.text
        for redirect in node.redirects:
            if redirect.body is not None or redirect.operator == "<<<":
                found = (
                    merged(found, self.of_word(redirect.body or redirect.target))
                    if program in PRINTS
                    else found
                )
        return found

    def of_word(self, word: Word) -> Taint:
        """The taint of the variables in a word."""
        names = (
            compiled(VARIABLE_NAME).findall(word.text)
            if VARIABLE in word.text or SPLIT_VARIABLE in word.text
            else []
        )
        if "${" in word.raw:
            raw = word.raw if word.raw.startswith('"') else compiled(_IN_SINGLE).sub("", word.raw)
            names = [*names, *compiled(_EXPANDED).findall(raw)]
            if compiled(_BY_NAME).search(raw):
                return Taint(CONTENT, "prints a variable whose name is known only when it runs", soft=True)
        if not names:
            return CLEAN
        from sb.shell.parsing.derived import base_name  # most lines need none of it

        return merged(*map(self._of_variable, map(base_name, names)))

    def _of_variable(self, name: str) -> Taint:
        if name in self._variables:
            return self._variables[name]
        if secret_variable(name):
            return Taint(CONTENT, f"prints ${name}", soft=True, hosts=own_hosts(name), variable=True)
        if self._sourced.level and name not in self._judge.values:
            secret = is_key_name(name)
            return self._sourced._replace(
                what=f"{self._sourced.what} (${name})",
                hosts=own_hosts(name),
                variable=True,
                private=not secret,
            )
        return CLEAN

    def loop(self, node: Compound) -> None:
        """Give the variable of a loop what its words hold."""
        self._variables[node.name] = merged(self.words, *map(self.of_word, node.words))

    def _of_redirects(self, redirects: Sequence[Redirect], given: Taint) -> Taint:
        for redirect in redirects:
            if redirect.operator in ("<", "<>"):
                given = CLEAN
                for target in self._judge.expand(redirect.target.text):
                    given = merged(given, self._of_file(target))
            elif redirect.operator == "<<<":
                self._text = " ".join(self._judge.expand(redirect.target.text))
                given = self.of_word(redirect.target)
            elif redirect.body is not None:
                self._text = " ".join(self._judge.expand(redirect.body.text))
                given = self.of_word(redirect.body)
        return given

    def _redirected(self, redirects: Sequence[Redirect]) -> None:
        """Follow the output into the files and sockets that it is redirected to."""
        for redirect in redirects:
            if redirect.operator in ("<", "<<", "<<-", "<<<", "<&"):
                continue
            for target in self._judge.expand(redirect.target.text):
                if target.startswith(("/dev/tcp/", "/dev/udp/")):
                    self._socket = target.split("/")[3] if target.count("/") > 2 else target
                    what = f"{display(target)}: sends to the network"
                    self._uploads(Upload(what, self._socket, destination=self._socket))
                    self._sent(
                        self.output,
                        Sink(what, self._socket, kind="stream"),
                    )
                elif redirect.operator in (">&", "<>") and (
                    target.isdigit() and len(target) == 1 and int(target) > 2
                ):
                    if self._socket:
                        self._sent(
                            self.output,
                            Sink(
                                f"{display(self._socket)}: sends to the network", self._socket, kind="stream"
                            ),
                        )
                elif self.output.level == NAMES:
                    self._written(target, self.output)
                elif self.output.level == CONTENT and not target.startswith("/dev/") and not target.isdigit():
                    self._written(target, self.output)
                    if (
                        self.output.soft
                        and not self.output.private
                        and secret_word(self._judge.paths, target) is None
                    ):
                        self._read(self.output.what.replace("prints", "writes", 1), self.output.files)
                    self.output = CLEAN

    def _written(self, target: str, taint: Taint) -> None:
        if is_sure(target) and target[:1] != "-" and len(target) < 1000:
            for place in self._judge.paths.places(target)[:_MOST_FILES]:
                if len(self._files) >= _MOST_FILES:
                    return
                self._files[place] = taint._replace(soft=False)

    def _of_file(self, word: str) -> Taint:
        """The taint of a file; one with a secret is read by that."""
        own = secret_word(self._judge.paths, word)
        if own is not None:
            return self._source(word, own)
        return self._of_copy(word)

    def _of_copy(self, word: str) -> Taint:
        """The taint of a file that the line itself has written."""
        if not self._files or not is_sure(word):
            return CLEAN
        found = CLEAN
        for piece in {word, *compiled("[=@<]").split(word)} - {""}:
            for place in self._judge.paths.places(piece):
                known = place.translate(_AS_GLOB) if STAR in place else ""
                for path, taint in self._files.items():
                    below = path.startswith(f"{place}/") or place.startswith(f"{path}/")
                    if place == path or below or (known and fnmatchcase(path, known)):
                        found = merged(found, taint)
        return found

    def _source(self, word: str, secret: Secret, *, on_disk: bool = True) -> Taint:
        what = secret.read_by(word)
        if secret.kind == PRIVATE:
            return Taint(CONTENT, what, soft=True, private=True)
        if secret.kind == DOTENV and self._loading:
            return Taint(CONTENT, what, soft=True)
        files = existing(self._judge.paths, word) if on_disk and not self._changes else None
        taint = Taint(CONTENT, what, files=NO_FILE if files is None else files)
        self._read(what, taint.files)
        return taint

    def _named_in(self, text: str) -> Taint:
        """The file with a secret that a text names, such as the commands of `sftp`."""
        for word in text.split()[:_MOST_WORDS]:
            secret = secret_word(self._judge.paths, word)
            if secret is not None and secret.kind != PRIVATE:
                return Taint(NAMES, secret.read_by(word))
        return CLEAN

    def _uploads(self, upload: Upload) -> None:
        if not is_loopback(upload.host) and len(self.uploads) < MOST_UPLOADS:
            self.uploads.setdefault(upload)

    @abstractmethod
    def _sent(self, carried: Taint, to: Sink) -> None:
        """Judge a text that leaves this machine."""


def is_key_name(name: str) -> bool:
    """True if a variable of an environment file is named like a key."""
    return compiled(_KEY_NAME).search(name) is not None


def is_login_header(text: str) -> bool:
    """True if a header, or an option with one, is there to carry a key."""
    return compiled(_IN_HEADER, re.DOTALL).fullmatch(text) is not None
