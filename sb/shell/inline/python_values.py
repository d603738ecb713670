"""Values of Python expressions, as far as they are known without running the code: texts, lists, names of functions."""

from __future__ import annotations

import ast
import functools
import itertools
import posixpath
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from sb.shell.parsing.words import FROM_GLOB, MADE, OPERAND, STAR, UNKNOWN, is_literal

_MOST_VALUES = 8
_DEEPEST = 24
_MOST_STEPS = 20_000  # expressions that are looked at
_NOT_KNOWN = [UNKNOWN]
_NO_LIST: list[str] | None = None
_SAME = frozenset(
    "os.path.expanduser os.path.abspath os.path.realpath os.path.normpath os.fspath os.fsdecode os.fsencode str shutil.which "
    "shlex.quote repr os.path.expandvars bytes textwrap.dedent compile".split()
)
_SAME_METHODS = frozenset(
    "expanduser resolve absolute as_posix encode decode strip rstrip lstrip removesuffix open copy".split()
)
_PATHS = frozenset(
    "pathlib.Path pathlib.PurePath pathlib.PosixPath pathlib.PurePosixPath pathlib.Path.home pathlib.Path.cwd anyio.Path".split()
)
_OF_A_PATH = frozenset(
    "expanduser resolve absolute joinpath with_name with_suffix with_stem relative_to".split()
)
_ELEMENTS_OF_A_PATH = frozenset("glob rglob iterdir".split())
_NEW = frozenset(
    "tempfile.mkdtemp tempfile.mktemp tempfile.TemporaryDirectory tempfile.NamedTemporaryFile tempfile.mkstemp".split()
)
_MODULES = {"Path": "pathlib.Path"}
# What `from MODULE import *` brings that matters.
_NAMES = {
    "os": frozenset(
        "system popen remove unlink rmdir removedirs rename replace chmod chown symlink link truncate chdir kill environ getenv".split()
    ),
    "subprocess": frozenset("run call check_call check_output Popen getoutput getstatusoutput".split()),
    "shutil": frozenset("rmtree move copy copy2 copyfile copytree unpack_archive chown".split()),
    "pathlib": frozenset("Path PurePath PosixPath".split()),
}


_Answer = TypeVar("_Answer")
_Looking: TypeAlias = "Callable[[Values, ast.expr], _Answer]"


def _bounded(otherwise: _Answer) -> Callable[[_Looking[_Answer]], _Looking[_Answer]]:
    """Answer something else for an expression that is nested too deeply, or once too many have been looked at."""

    def decorate(look: _Looking[_Answer]) -> _Looking[_Answer]:
        @functools.wraps(look)
        def bounded(self: Values, expression: ast.expr) -> _Answer:
            self.steps += 1
            if self.depth > _DEEPEST or self.steps > _MOST_STEPS:
                return otherwise
            self.depth += 1
            try:
                return look(self, expression)
            finally:
                self.depth -= 1

        return bounded

    return decorate


class Values:
    """The values that the names of a piece of Python code may have, wherever in it they are set.

    Args:
        tree: the parsed code. argv: of `sys.argv`. variables: of the environment, as `Judge.values` has them.
    """

    def __init__(self, tree: ast.AST, argv: Sequence[str], variables: Mapping[str, Sequence[str]]) -> None:
        self._argv = argv
        self._variables = variables
        self._modules: dict[str, str] = {}
        self._whole: list[str] = []  # modules of which every name was imported
        self._given: dict[str, list[ast.expr]] = {}
        self._looped: dict[str, list[ast.expr]] = {}
        self.depth = self.steps = 0  # of the expressions that are looked at
        self._of_names: dict[str, list[str]] = {}
        for node in ast.walk(tree):
            self._learn(node)

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                self._modules[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    self._whole.append(str(node.module))
                self._modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
            self._assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._given.setdefault(node.target.id, []).append(
                ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            )
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and isinstance(
            node.target, ast.Name
        ):
            self._looped.setdefault(node.target.id, []).append(node.iter)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self._given.setdefault(node.optional_vars.id, []).append(node.context_expr)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._given.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for expr, given in zip(target.elts, value.elts, strict=False):
                self._assign(expr, given)

    # --- names

    @_bounded("")
    def name(self, expression: ast.expr) -> str:
        """The dotted name of what an expression stands for, imports and aliases followed; "" where that is not known."""
        match expression:
            case ast.Name(identifier):
                for given in self._given.get(identifier, ())[:1]:
                    if isinstance(given, ast.Name | ast.Attribute | ast.Call) and (found := self.name(given)):
                        return found
                whole = next(
                    (f"{name}.{identifier}" for name in self._whole if identifier in _NAMES.get(name, ())), ""
                )
                return self._modules.get(identifier) or whole or _MODULES.get(identifier, identifier)
            case ast.Attribute(value, attribute):
                owner = self.name(value)
                return f"{owner}.{attribute}" if owner else ""
            case ast.Call(function, [first, *more]):
                called = self.name(function)
                if called in ("__import__", "importlib.import_module"):
                    return self.text(first)
                if called in ("getattr", "builtins.getattr") and more and is_literal(self.text(more[0])):
                    return f"{self.name(first)}.{self.text(more[0])}"
        return ""

    @_bounded(False)
    def is_path(self, expression: ast.expr) -> bool:
        """True if an expression is surely a `pathlib` path."""
        match expression:
            case ast.Name(identifier):
                looped = self._looped.get(identifier, ())
                return any(map(self.is_path, self._given.get(identifier, ()))) or any(
                    map(self._gives_paths, looped)
                )
            case ast.BinOp(left, ast.Div(), right):
                return self.is_path(left) or self.is_path(right)
            case ast.Attribute(value, "parent" | "parents"):
                return self.is_path(value)
            case ast.Call(ast.Attribute(value, method), _) if method in _OF_A_PATH:
                return self.is_path(value)
            case ast.Call(function, _):
                return self.name(function) in _PATHS
            case ast.Subscript(value, _):
                return self.is_path(value)
        return False

    def _gives_paths(self, expression: ast.expr) -> bool:
        match expression:
            case ast.Call(ast.Attribute(value, method), _) if method in _ELEMENTS_OF_A_PATH:
                return self.is_path(value)
            case ast.Call(ast.Name("sorted" | "list" | "reversed" | "set"), [first, *_]):
                return self._gives_paths(first)
            case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
                return any(map(self.is_path, elements))
        return False

    # --- texts

    def text(self, expression: ast.expr) -> str:
        """The text that an expression surely is, or one that is marked as unknown."""
        found = self.texts(expression)
        return found[0] if len(found) == 1 else UNKNOWN

    @_bounded(_NOT_KNOWN)
    def texts(self, expression: ast.expr) -> list[str]:
        """The texts that an expression may be."""
        found = list(dict.fromkeys(self._texts(expression)))
        return found if 0 < len(found) <= _MOST_VALUES else _NOT_KNOWN

    def _texts(self, expression: ast.expr) -> list[str]:
        match expression:
            case ast.Constant(value):
                return [_plain(value)]
            case ast.UnaryOp(ast.USub(), ast.Constant(int(number))):
                return [str(-number)]
            case ast.JoinedStr(parts):
                return self._joined([self._part(part) for part in parts])
            case ast.BinOp(left, ast.Add(), right):
                return self._joined([self.texts(left), self.texts(right)])
            case ast.BinOp(left, ast.Div(), right):
                return [posixpath.join(a, b) for a in self.texts(left) for b in self.texts(right)]
            case ast.BinOp(left, ast.Mod(), right):
                values = right.elts if isinstance(right, ast.Tuple) else [right]
                return self._joined(_between(self.text(left), "%s", [self.texts(value) for value in values]))
            case ast.IfExp(_, body, orelse):
                return [*self.texts(body), *self.texts(orelse)]
            case ast.BoolOp(_, values):
                return [text for value in values for text in self.texts(value)]
            case ast.NamedExpr(_, value) | ast.Await(value):
                return self.texts(value)
            case ast.Name(identifier):
                return self._of_name(identifier)
            case ast.Attribute(value, attribute):
                return self._of_attribute(expression, value, attribute)
            case ast.Subscript(value, index):
                return self._of_index(value, index)
            case ast.Call():
                return self._of_call(expression)
        return _NOT_KNOWN

    def _part(self, part: ast.expr) -> list[str]:
        return self.texts(part.value) if isinstance(part, ast.FormattedValue) else self.texts(part)

    @staticmethod
    def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
        combined = itertools.islice(itertools.product(*parts), _MOST_VALUES + 1)
        return ["".join(texts) for texts in combined]

    def _of_name(self, identifier: str) -> list[str]:
        if identifier not in self._of_names:
            self._of_names[identifier] = _NOT_KNOWN  # what it is while it is being computed from itself
            found = [text for given in self._given.get(identifier, ()) for text in self.texts(given)]
            found += [text for given in self._looped.get(identifier, ()) for text in self.elements(given)]
            self._of_names[identifier] = found or _NOT_KNOWN
        return self._of_names[identifier]

    def _of_attribute(self, whole: ast.expr, value: ast.expr, attribute: str) -> list[str]:
        if attribute == "parent":
            return [
                posixpath.dirname(text) or "." if is_literal(text) else UNKNOWN for text in self.texts(value)
            ]
        known = {"sys.executable": "python3", "os.sep": "/", "os.devnull": "/dev/null", "os.curdir": "."}
        if (name := self.name(whole)) in known:
            return [known[name]]
        return (
            [text for text in self.texts(value) if text.startswith(MADE)]
            if attribute == "name"
            else _NOT_KNOWN
        )

    def _of_index(self, value: ast.expr, index: ast.expr) -> list[str]:
        name = self.name(value)
        if name == "os.environ":
            return list(self._variables.get(self.text(index), _NOT_KNOWN))
        match index:
            case ast.Constant(int(at)) if name == "sys.argv":
                return list(self._argv[at : at + 1]) or _NOT_KNOWN
            case ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1))):
                return [text[::-1] for text in self.texts(value)]
            case ast.Constant(int(at)):
                listed = self.list_of(value)
                return [listed[at]] if listed and -len(listed) <= at < len(listed) else _NOT_KNOWN
        return _NOT_KNOWN

    def _of_call(self, call: ast.Call) -> list[str]:
        name = self.name(call.func)
        first = self.texts(call.args[0]) if call.args else _NOT_KNOWN
        if name in _SAME and call.args:
            return first
        if name in _PATHS or name == "os.path.join":
            if name.endswith(".home"):
                return list(self._variables.get("HOME", _NOT_KNOWN))
            return _paths(map(self.texts, call.args)) if call.args else ["."]
        if name in _NEW:
            return [MADE]
        if name in ("os.getenv", "os.environ.get", "os.environ.pop"):
            return list(self._variables.get(first[0], _NOT_KNOWN))
        if computed := _COMPUTED.get(name):
            return [computed(text) if is_literal(text) else UNKNOWN for text in first]
        if name == "os.getcwd":
            return ["."]
        if isinstance(call.func, ast.Attribute):
            return self._of_method(call, call.func.value, call.func.attr)
        return _NOT_KNOWN

    def _of_method(self, call: ast.Call, value: ast.expr, method: str) -> list[str]:
        if method in _SAME_METHODS:
            return [
                text.strip() if method.endswith("strip") and not call.args else text
                for text in self.texts(value)
            ]
        if method == "format" and not call.keywords:
            return self._joined(
                _between(self.text(value), "{}", [self.texts(argument) for argument in call.args])
            )
        if method == "join" and len(call.args) == 1 and (listed := self.list_of(call.args[0])) is not None:
            return [self.text(value).join(listed)]
        if method == "joinpath":
            return _paths([self.texts(value), *map(self.texts, call.args)])
        if method == "with_name" and call.args:
            return [
                posixpath.join(posixpath.dirname(text), self.text(call.args[0])) for text in self.texts(value)
            ]
        if method == "replace" and len(call.args) == 2:
            old, new = map(self.text, call.args)
            known = is_literal(old) and is_literal(new)
            return [
                text.replace(old, new) if known and is_literal(text) else UNKNOWN
                for text in self.texts(value)
            ]
        return _NOT_KNOWN

    def given(self, expression: ast.expr) -> list[ast.expr]:
        """The expressions that a name is set to."""
        return self._given.get(expression.id, []) if isinstance(expression, ast.Name) else []

    # --- lists

    @_bounded(_NOT_KNOWN)
    def elements(self, expression: ast.expr) -> list[str]:
        """The texts that an element of a list, or of what a pattern matches, may be."""
        match expression:
            case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
                return [text for element in elements for text in self.texts(element)]
            case ast.Name(identifier):
                return [
                    text for given in self._given.get(identifier, ()) for text in self.elements(given)
                ] or _NOT_KNOWN
            case ast.Call(ast.Name("sorted" | "list" | "reversed" | "set" | "tuple"), [first, *_]):
                return self.elements(first)
            case ast.Call(ast.Attribute(value, "glob" | "rglob" as method), [first, *_]) if self.is_path(
                value
            ):
                pattern = f"{STAR}/" if method == "rglob" else ""
                return [
                    f"{folder}/{pattern}{self.text(first).translate(FROM_GLOB)}"
                    for folder in self.texts(value)
                ]
            case ast.Call(ast.Attribute(value, "iterdir"), []):
                return [f"{folder}/{STAR}" for folder in self.texts(value)]
            case ast.Call(function, [first, *_]) if self.name(function) in ("glob.glob", "glob.iglob"):
                return [text.translate(FROM_GLOB) for text in self.texts(first)]
        return self.list_of(expression) or _NOT_KNOWN

    @_bounded(_NO_LIST)
    def list_of(self, expression: ast.expr) -> list[str] | None:
        """The texts of a list whose length is known, such as the arguments of a program; None for any other."""
        match expression:
            case ast.List(elements) | ast.Tuple(elements):
                found: list[str] = []
                for element in elements:
                    if isinstance(element, ast.Starred):
                        found += self.list_of(element.value) or _NOT_KNOWN
                    else:
                        found.append(self.text(element))
                return found
            case ast.BinOp(left, ast.Add(), right):
                first, second = self.list_of(left), self.list_of(right)
                return None if first is None else [*first, *(second or _NOT_KNOWN)]
            case ast.Name(identifier):
                given = self._given.get(identifier, ())
                return self.list_of(given[0]) if len(given) == 1 else None
            case ast.Call(ast.Attribute(value, "split"), []):
                text = self.text(value)
                return text.split() if is_literal(text) else None
            case ast.Call(function, [first]) if self.name(function) == "shlex.split":
                text = self.text(first)
                return shlex.split(text) if is_literal(text) else None
            case ast.Subscript(value, ast.Slice(ast.Constant(int(at)), None)) if (
                self.name(value) == "sys.argv"
            ):
                return list(self._argv[at:])
        return None


def _paths(parts: Iterable[Sequence[str]]) -> list[str]:
    """The paths whose parts may each be one of several."""
    combined = itertools.islice(itertools.product(*parts), _MOST_VALUES + 1)
    return [posixpath.join(*texts) for texts in combined]


def _plain(value: object) -> str:
    """A constant as a word: what only running the code would tell, and control characters, are unknown."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return str(value)
    return "".join(
        char if char.isprintable() or char in "\n\t" + UNKNOWN + OPERAND else UNKNOWN for char in value
    )


def _between(template: str, mark: str, values: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The parts of a template and the values that stand between them, in order."""
    parts = template.split(mark)
    found: list[Sequence[str]] = [[parts[0]]]
    for at, part in enumerate(parts[1:]):
        found += [values[at] if at < len(values) else _NOT_KNOWN, [part]]
    return found


def _decoded(text: str) -> str:
    import base64

    try:
        return _plain(base64.b64decode(text, validate=True))
    except ValueError:
        return UNKNOWN


def _unhexed(text: str) -> str:
    try:
        return _plain(bytes.fromhex(text))
    except ValueError:
        return UNKNOWN


_COMPUTED: Mapping[str, Callable[[str], str]] = {
    "base64.b64decode": _decoded,
    "base64.standard_b64decode": _decoded,
    "bytes.fromhex": _unhexed,
    "bytearray.fromhex": _unhexed,
    "binascii.unhexlify": _unhexed,
    "chr": lambda text: _plain(chr(int(text))) if text.isdigit() and int(text) < 0x110000 else UNKNOWN,
    "os.path.dirname": lambda text: posixpath.dirname(text) or ".",
    "os.path.basename": posixpath.basename,
}
