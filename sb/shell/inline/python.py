"""Judge Python code in a command line: deleting, writing, running and sending, like the same thing in shell."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sb.shell import tables
from sb.shell.credentials.texts import is_login_header
from sb.shell.handlers.sql import of_file, sql
from sb.shell.inline.effects import PLACING, Effects, given_input, unknown_code
from sb.shell.inline.python_values import Values
from sb.shell.parsing.words import UNKNOWN, is_literal
from sb.shell.programs.rules import DESTROY, QUIET, Finding

if TYPE_CHECKING:
    from sb.shell.judge import Judge

LONGEST = 64 << 10  # characters of code that are parsed
_DEEPEST = 3  # code in code
_OWN_PROCESS = frozenset("exec eval builtins.exec builtins.eval".split())
_RUNS = frozenset(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen "
    "asyncio.create_subprocess_exec pty.spawn".split()
)
_RUNS_LINES = frozenset(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell commands.getoutput "
    "os.popen2 popen2.popen2".split()
)
_CLIENTS = ("requests", "httpx", "aiohttp", "urllib3", "session", "client", "http")
_METHODS = frozenset("get post put patch delete head options".split())
_OPENS = frozenset(
    "open io.open builtins.open codecs.open os.fdopen io.FileIO gzip.open bz2.open lzma.open".split()
)
# Methods of clients of databases, and beginnings of those of clouds.
_DESTROYS = frozenset(
    "flushall flushdb drop_database drop_collection drop_all drop_table drop_index delete_many dropDatabase".split()
)
_DESTROYS_IN_A_CLOUD = tuple("delete_ terminate_ purge_ deregister_ revoke_ stop_ detach_ disable_".split())
_MOST_ORIGINS = 4
_LONGEST_CHAIN = 12  # calls and attributes between a client and what deletes
_DELETES_OBJECTS = ("delete", "terminate", "stop", "purge")  # of their objects
_CLOUDS = ("boto3.", "google.cloud.", "azure.", "botocore.", "openstack.")
_SENDS_MAIL = frozenset(
    "django.core.mail.send_mail django.core.mail.send_mass_mail django.core.mail.mail_admins django.core.mail.mail_managers".split()
)
_DYNAMIC = frozenset("os subprocess shutil builtins posix pty __builtins__".split())


def inline_python(judge: Judge, name: str, code: str, argv: Sequence[str] = (), depth: int = 0) -> Finding:
    """Judge Python code; what it does that is not recognised is left out, and what cannot be parsed gives nothing.

    Args:
        name: of the interpreter, for reasons.
        argv: `sys.argv` of the code.
    """
    if len(code) > LONGEST:
        return Finding(
            DESTROY,
            f"{name}: the code is too long to be judged ({len(code):,} characters, limit {LONGEST:,})",
        )
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return QUIET
    position = judge.paths.position
    code_judge = _Code(judge, name, Values(tree, argv, judge.values), depth)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        code_judge.call(call)
    judge.paths.position = position
    return code_judge.effects.settle()


_FETCHING = ("GET", "HEAD", "OPTIONS", "DELETE")
_OPTIONS = frozenset("method url timeout verify allow_redirects follow_redirects stream auth cert".split())


class _Code:
    """The calls of one piece of code."""

    def __init__(self, judge: Judge, name: str, values: Values, depth: int) -> None:
        self._judge = judge
        self._interpreter = name
        self._values = values
        self._depth = depth
        self.effects = Effects(judge, name)

    def call(self, call: ast.Call) -> None:
        """Judge one call."""
        name = self._values.name(call.func)
        if handler := _CALLS.get(name.removeprefix("posix.") if name.startswith("posix.") else name):
            handler(self, name, call)
        elif name in _RUNS:
            self._run(name, call)
        elif name in _RUNS_LINES:
            self.effects.line(name, self._argument(call, 0, "cmd", "command"))
        elif name in _SENDS_MAIL:
            self.effects.note(Finding(DESTROY, f"{self._interpreter} {name.rpartition('.')[2]}: sends mail"))
        elif name in _OWN_PROCESS:
            self._code(name, call)
        elif name in _OPENS:
            self._open(name, call, self._texts(call, 0, "file", "filename", "name"), 1)
        elif name.startswith(("os.exec", "os.spawn", "os.posix_spawn")):
            self._replace(name, call)
        elif isinstance(call.func, ast.Attribute):
            self._method(call, call.func.value, call.func.attr)
        elif isinstance(call.func, ast.Call) and self._is_dynamic(call.func):
            self.effects.note(unknown_code(self._interpreter, "getattr"))

    # --- arguments

    def _texts(self, call: ast.Call, at: int, *names: str) -> list[str]:
        for keyword in call.keywords:
            if keyword.arg in names:
                return self._values.texts(keyword.value)
        if at < len(call.args):
            argument = call.args[at]
            return (
                self._values.elements(argument.value)
                if isinstance(argument, ast.Starred)
                else self._values.texts(argument)
            )
        return [UNKNOWN]

    def _argument(self, call: ast.Call, at: int, *names: str) -> str:
        found = self._texts(call, at, *names)
        return found[0] if len(found) == 1 else UNKNOWN

    def _keyword(self, call: ast.Call, name: str) -> ast.expr | None:
        return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)

    # --- running

    def _run(self, name: str, call: ast.Call) -> None:
        if folder := self._keyword(call, "cwd"):
            self._judge.paths.enter(self._values.text(folder))
            self._judge.paths.here = ""
        given = self._keyword(call, "input")
        stdin = given_input(self._values.text(given) if given else None)
        first = self._keyword(call, "args") or (call.args[0] if call.args else None)
        if first is None:
            return
        if name.endswith("create_subprocess_exec"):
            self.effects.run(name, [self._values.text(argument) for argument in call.args], stdin)
            return
        listed = self._values.list_of(first)
        shell = self._keyword(call, "shell")
        in_shell = shell is not None and not (isinstance(shell, ast.Constant) and not shell.value)
        if listed is not None and not in_shell:
            self.effects.run(name, listed, stdin)
            return
        for text in listed[:1] if listed else self._values.texts(first):
            if in_shell:
                self.effects.line(name, text, stdin)
            else:
                self.effects.run(name, [text], stdin)

    def _replace(self, name: str, call: ast.Call) -> None:
        """`os.execv(path, [name, …])`, `os.execlp(file, name, …)`, `os.spawnv(mode, path, […])`."""
        arguments = call.args[1:] if "spawn" in name and "posix" not in name else call.args
        if not arguments:
            return
        rest = self._values.list_of(arguments[1]) if len(arguments) > 1 else []
        if rest is None:
            rest = [self._values.text(argument) for argument in arguments[1:]]
        self.effects.run(name, [self._values.text(arguments[0]), *rest[1:]])

    def _code(self, name: str, call: ast.Call) -> None:
        for text in self._texts(call, 0, "source") if call.args else ():
            if is_literal(text) and self._depth < _DEEPEST:
                self.effects.note(inline_python(self._judge, self._interpreter, text, depth=self._depth + 1))
            elif not self._is_a_file(call.args[0]):
                self.effects.note(unknown_code(self._interpreter, name))

    def _is_a_file(self, expression: ast.expr) -> bool:
        """True if code comes from a file, which is a script like any other."""
        named = [self._values.name(node.func) for node in ast.walk(expression) if isinstance(node, ast.Call)]
        return any(name in _OPENS or name.endswith((".read_text", ".get_data")) for name in named)

    def _is_dynamic(self, function: ast.Call) -> bool:
        """True if a function is looked up by a computed name where dangerous ones are."""
        named = self._values.name(function.func) in ("getattr", "builtins.getattr") and function.args
        return (
            bool(named)
            and not self._values.name(function)
            and self._values.name(function.args[0]) in _DYNAMIC
        )

    # --- files

    def _open(self, name: str, call: ast.Call, paths: Sequence[str], at: int) -> None:
        given = self._keyword(call, "mode") or (call.args[at] if at < len(call.args) else None)
        mode = self._values.text(given) if given is not None else "r"
        for path in paths:
            if set("wax+") & set(mode) or not is_literal(mode):
                self.effects.write(name, path, replaces="w" in mode or not is_literal(mode))
            else:
                self.effects.read(name, path)

    def _method(self, call: ast.Call, value: ast.expr, method: str) -> None:
        """Judge a method of an object: a path, a client of the network, an archive, a database."""
        if method in _OF_A_PATH and self._values.is_path(value):
            for path in self._values.texts(value):
                self._of_path(call, method, path)
        elif method in ("unlink", "rmtree_p", "remove_p", "write_text", "write_bytes") and not call.keywords:
            for path in self._values.texts(value):  # no other object has these
                self._of_path(call, method, path)
        elif method in ("extractall", "extract"):
            self._extract(call, value)
        elif method in ("execute", "executescript", "executemany") and call.args:
            text = self._values.text(call.args[0])
            if is_literal(text):
                name = f"{self._interpreter} {method}"
                file = self._file_of_sqlite(value)
                self.effects.note(of_file(self._judge, file, text, name) if file else sql(text, name, QUIET))
        elif method == "delete" and self._is_of_rows(value):
            self.effects.note(Finding(DESTROY, f"{self._interpreter} {method}: deletes rows"))
        elif method in _DESTROYS:
            self.effects.note(Finding(DESTROY, f"{self._interpreter} {method}: destroys data"))
        elif (method in _DELETES_OBJECTS or method.startswith(_DESTROYS_IN_A_CLOUD)) and self._is_of_a_cloud(
            value
        ):
            self.effects.note(Finding(DESTROY, f"{self._interpreter} {method}: deletes cloud resources"))
        elif method in _METHODS or method == "request":
            self._request(call, value, method)
        elif method in ("sendall", "sendto", "sendmail", "send_message", "storbinary"):
            self.effects.send(method, "https://unknown.invalid")
        elif method in ("upload_file", "upload_from_filename"):  # of clouds' storages
            self.effects.upload(method, self._argument(call, 0, "Filename"))

    def _of_path(self, call: ast.Call, method: str, path: str) -> None:
        effect, target = _OF_A_PATH[method], self._argument(call, 0, "target")
        if method == "open":
            self._open("open", call, [path], 0)
        else:
            first, second = (target, path) if effect in ("ln", "ln -s") else (path, target)
            self.effects.apply(effect, method, first, second)

    def _extract(self, call: ast.Call, value: ast.expr) -> None:
        archives = [self._values.texts(made.args[0]) for made in self._made(value) if made.args]
        folder = self._argument(call, 0, "path") if call.args or self._keyword(call, "path") else "."
        for archive in (text for texts in archives or [[UNKNOWN]] for text in texts):
            program = (
                ["unzip", archive, "-d", folder]
                if ".zip" in archive
                else ["tar", "-xf", archive, "-C", folder]
            )
            self.effects.change("extractall", *program)

    def _is_of_rows(self, value: ast.expr) -> bool:
        """True for a set of rows of Django, such as `User.objects.all()`."""
        while isinstance(value, ast.Call | ast.Attribute):
            if isinstance(value, ast.Attribute) and value.attr == "objects":
                return True
            value = value.func if isinstance(value, ast.Call) else value.value
        return False

    def _is_of_a_cloud(self, value: ast.expr, depth: int = 0) -> bool:
        """True for an object of a cloud's library, or what its attributes and calls give."""
        inner = value.func if isinstance(value, ast.Call) else value
        if self._values.name(inner).startswith(_CLOUDS):
            return True
        if isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        given = [inner] if inner is not value and isinstance(inner, ast.expr) else self._values.given(value)
        return depth < _LONGEST_CHAIN and any(
            self._is_of_a_cloud(origin, depth + 1) for origin in given[:_MOST_ORIGINS]
        )

    def _file_of_sqlite(self, value: ast.expr, depth: int = 0) -> str:
        """The database of a connection of `sqlite3`, or of its cursor; "" where it is not known, or may be another's."""
        if isinstance(value, ast.Call):
            if self._values.name(value.func) == "sqlite3.connect":
                return self._argument(value, 0, "database")
            chained = isinstance(value.func, ast.Attribute) and value.func.attr in ("cursor", "execute")
            given = [value.func.value] if chained and isinstance(value.func, ast.Attribute) else []
        else:
            given = list(self._values.given(value))
        files = (
            {self._file_of_sqlite(origin, depth + 1) for origin in given} if depth < _LONGEST_CHAIN else set()
        )
        return files.pop() if len(files) == 1 else ""

    def _made(self, value: ast.expr) -> list[ast.Call]:
        """The calls that made an object."""
        if isinstance(value, ast.Call):
            return [value]
        return [expr for expr in self._values.given(value) if isinstance(expr, ast.Call)]

    # --- sending

    def _request(self, call: ast.Call, value: ast.expr, method: str) -> None:
        owner = self._values.name(value).lower()
        if not any(part in _CLIENTS for part in owner.replace("_", ".").split(".")) and not any(
            self._values.name(made.func).startswith(_CLIENTS) for made in self._made(value)
        ):
            return
        at = 1 if method == "request" else 0
        verb = self._argument(call, 0, "method").upper() if method == "request" else method.upper()
        verb = verb if verb.isalpha() else "POST"
        url = self._argument(call, at, "url")
        fetches = verb in _FETCHING and len(call.args) <= at + 1 and all(map(_is_plain, call.keywords))
        self.effects.send(f"{owner}.{method}", url, method=verb, fetches=fetches)

    def fetch(self, name: str, call: ast.Call) -> None:
        """`urllib.request.urlopen(url, data)`: with data it sends."""
        sends = len(call.args) > 1 or self._keyword(call, "data") is not None
        verb = self._keyword(call, "method")
        method = self._values.text(verb).upper() if verb else "POST" if sends else "GET"
        method = method if method.isalpha() else "POST"
        fetches = method in _FETCHING and not sends
        self.effects.send(name, self._argument(call, 0, "url"), method=method, fetches=fetches)

    def download(self, name: str, call: ast.Call) -> None:
        self.effects.write(name, self._argument(call, 1, "filename"))

    # --- functions on paths

    def on_files(self, name: str, call: ast.Call) -> None:
        """Functions of files, by the table of their effects."""
        effect = _ON_FILES[name.removeprefix("posix.")]
        named = ("src",) if effect in PLACING else ("path", "name") if effect in _OF_FOLDERS else ("path",)
        each = effect in ("remove", "removes", "mv", "cp", "cp -R")
        for path in self._texts(call, 0, *named) if each else [self._argument(call, 0, *named)]:
            self.effects.apply(effect, name, path, self._argument(call, 1, "dst"))

    def unpack(self, name: str, call: ast.Call) -> None:
        folder = self._argument(call, 1, "extract_dir") if len(call.args) > 1 or call.keywords else "."
        self.effects.change(name, "tar", "-xf", self._argument(call, 0, "filename"), "-C", folder)

    def descriptor(self, name: str, call: ast.Call) -> None:
        flags = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
        if any(flag in flags for flag in ("O_W", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND")):
            self.effects.write(name, self._argument(call, 0, "path"))
        else:
            self.effects.read(name, self._argument(call, 0, "path"))

    def edit(self, name: str, call: ast.Call) -> None:
        """`fileinput.input(files, inplace=True)`."""
        if self._keyword(call, "inplace") is not None:
            named = self._values.list_of(call.args[0]) if call.args else None
            for path in named or self._texts(call, 0, "files"):
                self.effects.write(name, path)

    def kill(self, name: str, call: ast.Call) -> None:
        target = self._argument(call, 0, "pid")
        group = name == "os.killpg" or not is_literal(target)
        self.effects.change(name, "kill", "-9", "-1" if target == "-1" else "%1" if group else target)


# Methods of paths, and functions of files, by what they do, as `Effects.apply` names it.
_OF_A_PATH = {method: effect for effect, methods in tables.OF_A_PATH.items() for method in methods}
_ON_FILES = {function: effect for effect, functions in tables.ON_FILES.items() for function in functions}
_OF_FOLDERS = ("removes", "rmdir --", "mkdir -p --")
_CALLS: dict[str, Callable[[_Code, str, ast.Call], None]] = {
    **dict.fromkeys(_ON_FILES, _Code.on_files),
    "shutil.unpack_archive": _Code.unpack,
    "fileinput.input": _Code.edit,
    "os.open": _Code.descriptor,
    **dict.fromkeys(("os.kill", "os.killpg"), _Code.kill),
    **dict.fromkeys(("urllib.request.urlopen", "urllib.request.Request", "urllib2.urlopen"), _Code.fetch),
    "urllib.request.urlretrieve": _Code.download,
}


def _is_plain(keyword: ast.keyword) -> bool:
    """True if an argument of a request is an option, or headers that hold a key and no other text."""
    if keyword.arg in _OPTIONS:
        return True
    names = keyword.value.keys if keyword.arg == "headers" and isinstance(keyword.value, ast.Dict) else [None]
    texts = [name.value if isinstance(name, ast.Constant) else None for name in names]
    return all(isinstance(text, str) and is_login_header(f"{text}: x") for text in texts)
