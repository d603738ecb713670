"""Follow secrets through a command line: what reads one, where its text goes, and whether that is the network.

A secret's text may be on standard output, in a variable, or in a file that the line has written. What prints only names or
counts ends its way.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.shell.credentials.files import (
    DOTENV,
    Secret,
    secret_inside,
    secret_word,
    secrets_below,
    secrets_inside,
)
from sb.shell.credentials.finding import found_files
from sb.shell.credentials.searching import FINDERS, RUNS, may_print, searched_folders
from sb.shell.credentials.secrets import (
    is_metadata,
    is_named_after,
    is_own_host,
    own_hosts,
    secret_command,
    secret_in_code,
    shows_every_file,
)
from sb.shell.credentials.showing import (
    CODE,
    COPIES,
    ENVIRONMENT,
    FINDS,
    GREPS,
    PACKS,
    PASSES,
    PRINTS,
    PRINTS_NAMES,
    RUN_OTHERS,
    SILENT,
    VIEWERS,
    files_of_script,
    git_verb,
    lets_fields_through,
    lets_listed_through,
    lets_names_through,
    lists_hidden,
    makefiles,
    packs_listed,
    read_words,
    reads_disk,
    script_files,
    shows_files,
    takes_login,
    tells_names_only,
    unpacks_to_output,
    variables_shown,
)
from sb.shell.credentials.sinks import SENDS_IN_CODE, Sink, sink
from sb.shell.credentials.taints import CLEAN, CONTENT, NAMES, UNKNOWN_REMOTE, Taint, Upload, merged
from sb.shell.credentials.texts import RUN_FIRST, TextTrail, is_key_name
from sb.shell.parsing.reading import NAME
from sb.shell.parsing.words import STAR, compiled, display, is_literal
from sb.shell.places.repositories import settings_of
from sb.shell.places.this_machine import is_loopback
from sb.shell.programs.facts import WRAPPERS, XARGS_VALUED, having
from sb.shell.programs.rules import argument_files, operands

if TYPE_CHECKING:
    from sb.shell.parsing.inputs import Input


_OF_ALL = ("/", "/etc", "/home", "/root", "/Users", "/proc", "/var")
_RECURSIVE = "-[a-zA-Z]*[raR][a-zA-Z]*|--recursive|--archive"
_LEAVES_OUT = r"(?:--exclude(?:-from)?=|-x|--filter=).*(?:env|ignore).*|--exclude-vcs-ignores|\.env.*|\*\.env|\**\.env\**"
OF_A_CONTAINER = "prints the environment of a container"
_QUOTED_NAME = "[\"'/]([\\w.][\\w./-]{1,200})[\"'/]"
_PRINTS = r"\b(?:console\.|stdout|stderr|fetch|write)"
_OF_PROCESS = r"\benv(?:\.|\[['\"])(\w+)"
_TRACES = "-[a-z]*[vx][a-z]*|xtrace|verbose"
_FILES_OF_SQL = r"(?i)\b(?:readfile|read_text|read_blob|read_csv\w*|pg_read_\w+|lo_import)\s*\("
_MOVING = "(?i)proxy|rsh|ssh|curl|wget"  # in names of variables by which programs send elsewhere
_BRING, _HERE = having("packs", "brings"), having("stays_here")
_FILE_SERVERS = having("serves_files")
_TO_HOSTS = ("http", "copy", "stream", "publish")


class Trail(TextTrail):
    """The secrets of one command line."""

    _traced = False  # the shell prints the lines that it reads
    _before = 0  # what was read when the command at hand began

    def wrapping(self, program: str, arguments: Sequence[str], stdin: Input) -> Taint:
        """Before a command that runs another one: its input or what it finds become that one's words; returns what they were."""
        words = self.words
        self._before = len(self.reads)
        brings = program in _BRING or (program == "git" and f"git {git_verb(arguments)}" in _BRING)
        self._judge.paths.arrived = self._judge.paths.arrived or brings
        self._changes = self._changes or not (program in _HERE or reads_disk(program))
        if program == "parallel" or (program == "xargs" and operands(arguments, XARGS_VALUED)):
            listed = self._named_in(stdin.text) if stdin.kind == "text" else CLEAN
            self.words = merged(words, self.input, listed, *self._arguments_of(program, arguments))
            self.input = CLEAN
        elif program in ("find", "fd", "fdfind"):
            self.words = merged(words, self._found(program, arguments))
        return words

    def _arguments_of(self, program: str, arguments: Sequence[str]) -> list[Taint]:
        """The taints of the files whose lines become arguments."""
        valued = XARGS_VALUED if program == "xargs" else WRAPPERS[program].values
        return list(map(self._of_file, argument_files(arguments, valued)))

    def _found(self, program: str, arguments: Sequence[str]) -> Taint:
        """True if a search finds files with secrets."""
        taken = bool(self._feeding) or not RUNS.isdisjoint(arguments)
        return found_files(self._judge.paths, program, arguments, taken=taken)

    def command(self, program: str, arguments: Sequence[str], stdin: Input, *, known: bool) -> None:
        """Follow a command with its expanded words; programs that run another one are left to that one.

        Args:
            known: the table of programs has it.
        """
        if program in ("ssh", "autossh"):
            self._send(program, arguments, CLEAN)
        if program in ("set", *RUN_OTHERS) and any(map(compiled(_TRACES).fullmatch, arguments)):
            self._traced = True  # what a shell reads is printed from here on
        if program in ("make", "gmake"):  # it prints lines that are no rules
            self.output = merged(self.output, self.makefiles, *map(self._of_file, makefiles(arguments)))
        if self._traced and program in RUN_OTHERS:
            merged(*map(self._of_file, arguments[:4]))
        if program == "xargs" and not operands(arguments, XARGS_VALUED):  # it prints what it reads
            self.output = merged(self.output, self.input, *self._arguments_of(program, arguments))
        if (
            program in RUN_OTHERS
            or (program in WRAPPERS and program not in ("command", "dotenv"))
            or program in ("xargs", "sudo")
        ):
            return
        if program == "env" and any(word[:1] != "-" and "=" not in word for word in arguments):
            return
        if program in ("find", "fd", "fdfind", "locate", "mdfind"):
            self.output = merged(self.output, self._found(program, arguments))
            return
        if packs_listed(program, arguments):
            named = self._named_in(stdin.text) if stdin.kind == "text" else CLEAN
            self.words, self.input = merged(self.words, self.input, named), CLEAN
        given = self._operands(program, arguments)
        if program in ("split", "csplit"):
            self._written(
                f"{arguments[-1] if len(operands(arguments)) > 1 else 'x'}aa", merged(given, self.input)
            )
        given = merged(given, self._printed(program, arguments), self._code(program, arguments, stdin))
        unpacked = unpacks_to_output(program, arguments)
        packed = merged(self.input, *(map(self._of_copy, arguments) if unpacked else ()))
        if packed.packed and packed.level == CONTENT and (unpacked or program in VIEWERS):
            given = merged(given, Taint(CONTENT, packed.what, soft=True))
        shows = program not in SILENT and program not in FINDS
        keys = program == "openssl" and shows_files(program, arguments)
        shows = shows and (not self.words.packed or program in VIEWERS or keys)
        if self.words.level == NAMES and shows and not tells_names_only(program, arguments):
            self._read(self.words.what)
            given = merged(given, Taint(CONTENT, self.words.what))
        self._send(program, arguments, given)
        self._keep(program, arguments, given)
        given = merged(given, self._listed(program, arguments))
        if program in self._judge.functions and self.reads:  # it may print what it reads
            self.output = merged(self.output, Taint(CONTENT, next(reversed(self.reads))))
        tainted = given.level or self.words.level or self.input.level
        if not tainted or tells_names_only(program, arguments):
            return
        passes = program in PASSES or not known or program.startswith(("python", "pypy"))
        passes = passes and not takes_login(program, arguments)
        carried = merged(
            given,
            self.words if program in PRINTS or (passes and not known and not self.words.variable) else CLEAN,
            self.input if passes else CLEAN,
        )
        if carried.level == NAMES and program in ("rg", "grep"):
            listed = carried.names and lets_listed_through(program, arguments, carried.names)
            carried = carried if listed else CLEAN
        if carried.what == ENVIRONMENT and lets_names_through(program, arguments):
            carried = CLEAN
        if carried.what.endswith(OF_A_CONTAINER) and (
            lets_names_through(program, arguments) or lets_fields_through(program, arguments)
        ):
            carried = CLEAN
        self.output = merged(self.output, carried)

    def _listed(self, program: str, arguments: Sequence[str]) -> Taint:
        """The names of files with secrets that a command prints."""
        paths = self._judge.paths
        named = [word for word in arguments if word[:1] != "-"]
        if program == "ls" and any(secret_word(paths, word) for word in named):
            return Taint(NAMES, "reads files of a folder with secrets")
        if not self._feeding:
            return CLEAN  # the names alone are shown
        if program in ("echo", "printf"):
            found = [(word, secret_word(paths, word)) for word in named if STAR in word]
        elif program in PRINTS_NAMES or (program == "git" and git_verb(arguments) == "check-ignore"):
            texts = [text for word in named for text in (word, *compiled(_QUOTED_NAME).findall(word))]
            found = [(text, secret_word(paths, text)) for text in texts]
        elif program in VIEWERS or program in GREPS or program in ("sort", "uniq", "cut"):
            names = (name for word in named[-1:] for name in self._judge.names_in(word))
            found = [(name, secret_word(paths, name)) for name in names]
        elif hidden := lists_hidden(program, arguments):
            folders = [
                place for word in (named if program == "ls" else ["."]) or ["."] for place in paths.now(word)
            ]
            inside = (item for folder in folders for item in secrets_inside(folder))
            found = [(name, secret) for name, secret in inside if hidden > 1 or name[0] != "."]
        else:
            return CLEAN
        secrets = [(name, secret) for name, secret in found if secret is not None]
        if not secrets:
            return CLEAN
        what = secrets[0][1].read_by(secrets[0][0])
        return Taint(NAMES, what, names=tuple(name for name, _ in secrets))

    def _operands(self, program: str, arguments: Sequence[str]) -> Taint:
        """The taint of the files that a command reads: secrets, or copies of one."""
        if not shows_files(program, arguments):
            return CLEAN
        found = self._whole(program, arguments)
        for word in read_words(program, arguments):
            own = (
                secret_word(self._judge.paths, word)
                if word[:1] != "-" or "=" in word or len(word) > 3
                else None
            )
            if own is None:
                found = merged(found, self._of_copy(word))
            elif self._stays_guarded(program, arguments, own):
                self._judge.paths.arrived = True
            elif not (own.kind == DOTENV and tells_names_only(program, arguments)):
                found = merged(found, self._source(word, own, on_disk=reads_disk(program)))
        return found

    def _whole(self, program: str, arguments: Sequence[str]) -> Taint:
        """True if a command reads everything in a home, or searches the system for what is secret."""
        searched = searched_folders(program, arguments)
        for word in searched if program not in FINDERS else ():
            for place in self._judge.paths.now(word) if is_literal(word) else ():
                for name, inside in secrets_below(place):
                    if may_print(program, arguments, os.path.join(place, name)):
                        return self._source(name, inside)
        whole = program in PACKS or (
            program in COPIES and any(map(compiled(_RECURSIVE).fullmatch, arguments))
        )
        packed = read_words(program, arguments) if whole else []
        for word in (*searched, *packed):
            if word[:1] == "-" or not is_literal(word) or (word not in ("~", ".") and "/" not in word):
                continue
            for place in self._judge.paths.places(word):
                if self._judge.paths.is_home(place) or (searched and place in _OF_ALL):
                    why = f"reads everything in {display(word, 60)}, with its credentials"
                    self._read(why)
                    return Taint(CONTENT, why)
        for word in packed if not any(map(compiled(_LEAVES_OUT).fullmatch, arguments)) else ():
            for place in self._judge.paths.places(word) if word[:1] != "-" and is_literal(word) else ():
                if own := secret_inside(place, deep=True):
                    return Taint(CONTENT, f"reads {own}", private=True, packed=True)
        return CLEAN

    def _stays_guarded(self, program: str, arguments: Sequence[str], own: Secret) -> bool:
        """True if a copy has a name by which it is a secret of the same kind."""
        if program not in COPIES or program in ("scp", "rsync"):
            return False
        named = operands(arguments)
        target = secret_word(self._judge.paths, arguments[named[-1]]) if len(named) > 1 else None
        return target == own

    def _printed(self, program: str, arguments: Sequence[str]) -> Taint:
        """The taint of a command's own output."""
        what = secret_command(program, arguments)
        if what:
            return Taint(
                CONTENT,
                f"{display(' '.join([program, *arguments]), 60)}: {what}",
                soft=True,
                hosts=own_hosts(program),
            )
        shown = variables_shown(program, arguments)
        if shown == "" and program == "printenv" and self._sourced.level:
            shown = next((f"{self._sourced.what} (${name})" for name in arguments if is_key_name(name)), "")
        if shown is not None:
            return Taint(CONTENT, shown, soft=True) if shown else CLEAN
        if program in ("curl", "wget", "http", "https", "xh"):
            for word in arguments:
                host = compiled(r"(?:https?://)?(?:[^@/]*@)?(\[[^\]]+\]|[^/:?#]+)").match(word)
                if host and ("/" in word or "." in word) and is_metadata(host[1]):
                    why = f"reads credentials of a cloud machine: {display(word, 60)}"
                    self._read(why)
                    return Taint(CONTENT, why)
        return CLEAN

    def _code(self, program: str, arguments: Sequence[str], stdin: Input) -> Taint:
        """The taint of inline code's reads; code that also sends is a flow."""
        if program in ("sqlite3", "sqlite", "duckdb", "psql") and (why := _read_by_sql(arguments, stdin)):
            self._read(f"{program}: {why}")
            return Taint(CONTENT, f"{program}: {why}")
        if program in ("sed", "gsed", "awk", "gawk", "mawk", "nawk"):
            read = [found for word in arguments for found in files_of_script(program, word)]
            read += script_files(arguments)  # a line that is no command of theirs is printed
            return merged(*map(self._of_file, read))
        if program not in CODE and not program.startswith(("python", "pypy")):
            return CLEAN
        codes = [
            arguments[at + 1]
            for at, word in enumerate(arguments[:-1])
            if compiled("-[a-zA-Z]*[cerpE]|--eval|--print").fullmatch(word)
        ]
        codes += [stdin.text] if stdin.kind == "text" else []
        found = CLEAN
        for code in codes:
            sends = compiled(SENDS_IN_CODE).search(code) is not None
            if why := secret_in_code(code) or self._of_env_file(arguments, code):
                why = f"{program}: {why}"
                self._read(why)
                found = Taint(CONTENT, why)
            elif shows_every_file(code) and (inside := self._secret_here()):
                self._read(why := f"{program}: reads {inside}")
                found = Taint(CONTENT, why)
            elif len(self.reads) > self._before:
                found = Taint(CONTENT, next(reversed(self.reads)))  # what its text runs
            if sends and self._judge.guesses and (merged(found, self.words, self.input).level == CONTENT):
                self._sent(
                    merged(found, self.words, self.input),
                    Sink(f"{program}: sends to the network", kind="code"),
                )
        return found

    def _of_env_file(self, arguments: Sequence[str], code: str) -> str:
        """The reason why code prints a key of the environment file that its interpreter loads, or ""."""
        if not any(word.startswith("--env-file") for word in arguments):
            return ""
        shows = {"-p", "-pe", "--print"} & {*arguments} or compiled(_PRINTS).search(code)
        keys = filter(is_key_name, compiled(_OF_PROCESS).findall(code))
        return next((f"prints {key}" for key in keys), "") if shows else ""

    def _secret_here(self) -> str:
        """A file with a secret in the folder of the line."""
        return next(filter(None, map(secret_inside, self._judge.paths.now("."))), "")

    def _keep(self, program: str, arguments: Sequence[str], given: Taint) -> None:
        """Follow what a command keeps: variables that it sets, files that it writes, what goes into a commit."""
        if program in ("export", "declare", "typeset", "local", "readonly"):
            for word in arguments:
                if (found := NAME.match(word)) and "=" in word:
                    self._variables[found[0]] = self.words
                    if found[0] in RUN_FIRST:
                        self.run_first(found[0], [word.partition("=")[2]])
            if self.words.level == CONTENT and not any("=" in word for word in arguments):
                self._sourced = self.words._replace(soft=True)  # export $(cat .env)
            return
        if program in ("source", "."):
            for own in filter(None, (secret_word(self._judge.paths, word) for word in arguments[:1])):
                what = own.read_by(arguments[0])
                if self._traced:
                    self._read(what)
                self._sourced = Taint(CONTENT, what, soft=True)
        if program in ("read", "mapfile", "readarray") and self.input.level:
            for word in arguments:
                if word[:1] != "-" and NAME.fullmatch(word):
                    self._variables[word] = self.input
            if not any(word[:1] != "-" for word in arguments):
                self._variables["REPLY"] = self.input
            return
        if program == "git" and git_verb(arguments) in ("remote", "config"):
            self._remotes_set = True
        if program == "git" and given.level and git_verb(arguments) in ("add", "commit", "stash"):
            self._added = merged(self._added, given)
        if program == "tee" and self.input.level == NAMES:
            given = merged(given, self.input)
        if given.level or (
            program in ("tee", "dd", "sponge", "gpg", "openssl", "split") and self.input.level == CONTENT
        ):
            taint = merged(given, self.input)
            for word in arguments:
                value = word.partition("=")[2] if word.startswith(("of=", "--output=", "--file=")) else word
                if (
                    value
                    and value[:1] != "-"
                    and is_literal(value)
                    and " " not in value
                    and secret_word(self._judge.paths, value) is None
                    and not (taint.packed and self._judge.paths.is_folder(value))
                ):
                    self._written(value, taint)

    # --- what is sent

    def _send(self, program: str, arguments: Sequence[str], given: Taint) -> None:
        if program in _FILE_SERVERS or (program.startswith("python") and "http.server" in arguments):
            self._serve(program, arguments, given)
            return
        found = sink(program, arguments)
        if program in self._judge.functions:
            for item in self._sinks:
                self._sent(merged(self.words, self.input, given), item)
        if found is None:
            return
        self._sinks.append(found)
        if found.kind == "push" and self._elsewhere(arguments):
            found = found._replace(remote=UNKNOWN_REMOTE)
        self._sent(self._carried(found, arguments, given), found)
        if found.uploads or found.computed:
            moved = any(compiled(_MOVING).search(name) for name in self._variables)
            sure = is_literal(found.destination) and not moved
            sends = found.uploads and found.kind in _TO_HOSTS
            place = found.destination if sure else ""
            self._uploads(Upload(found.what, found.host, found.remote, place, sends))

    def _serve(self, program: str, arguments: Sequence[str], given: Taint) -> None:
        """A program that offers a folder, by default the one that it starts in, to whoever asks."""
        here = self._judge.paths.here
        secret = secret_word(self._judge.paths, f"{here}/") if here else None
        served = self._operands(program, arguments) if program.startswith("python") else given
        if secret is not None or served.level:
            what = secret.what if secret else "secrets"
            self.flow = self.flow or f"{program}: serves {what} to the network"

    def _carried(self, found: Sink, arguments: Sequence[str], given: Taint) -> Taint:
        """The taint that goes along where a program sends something."""
        if found.kind == "push":
            return self._added  # whatever its words are, what was committed goes
        if found.kind == "service" and not given.level:
            given = self._named_in(" ".join(arguments))
        elif found.kind == "stream" and not given.level:
            given = merged(*map(self._named_in, [word for word in arguments if " " in word] + [self._text]))
        if found.kind not in ("http", "service", "shell") or not given.level:
            given = merged(given, *map(self._of_copy, arguments))
        by_input = self.input if found.from_input or self.input.level == NAMES else CLEAN
        carried = merged(given, self.words, by_input)
        names_alone = carried in (self.input, given) and carried.names
        expanded_there = found.kind == "shell" and carried.variable
        return CLEAN if names_alone or expanded_there else carried

    def _elsewhere(self, arguments: Sequence[str]) -> bool:
        """True if a push may be to another repository's remotes, or to one that the line itself has set."""
        paths = self._judge.paths
        options = arguments[: arguments.index("push")] if "push" in arguments else arguments
        named = any(
            word in ("-C", "-c", "--git-dir", "--config-env") or word.startswith("--git-dir=")
            for word in options
        )
        set_by_variable = any(
            name in ("GIT_DIR", "GIT_CONFIG") or name.startswith("GIT_CONFIG_") for name in self._judge.values
        )
        return (
            named
            or set_by_variable
            or self._remotes_set
            or not paths.here
            or settings_of(paths.here) != settings_of(paths.folders[0])
        )

    def _sent(self, carried: Taint, to: Sink) -> None:
        """A secret leaves this machine, unless it goes to the service that it is for."""
        if carried.level != CONTENT and not (carried.level == NAMES and to.uploads):
            return
        if carried.private and not carried.packed and to.kind in ("copy", "shell", "push"):
            return
        if (to.host and is_loopback(to.host)) or (
            carried.hosts and to.host and is_own_host(to.host, carried.hosts)
        ):
            return
        if (
            carried.variable
            and to.kind in ("http", "service")
            and (
                to.kind == "service"
                or (carried.auth and not carried.hosts)
                or is_named_after(to.host, carried.what)
            )
        ):
            return
        self.flow = self.flow or f"{to.what}, with what {carried.what}"
        if carried.soft and not carried.private:
            self._read(carried.what, carried.files)


def _read_by_sql(arguments: Sequence[str], stdin: Input) -> str:
    """The reason why statements read a credential's file, or ""."""
    texts = [*arguments, *([stdin.text] if stdin.kind == "text" else [])]
    return next(
        filter(None, (secret_in_code(text) for text in texts if compiled(_FILES_OF_SQL).search(text))), ""
    )
