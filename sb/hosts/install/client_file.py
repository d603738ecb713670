"""Write the files `client` and `judging` of SB_HOME/runtime/ID: the modules of a hook, compiled.

With the former it asks the helper. The latter has most of what it imports where it judges by itself.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

NAME = "client"
JUDGING = "judging"
_MODULES = ("sb", "sb.__main__", "sb.resident", "sb.resident.client", "sb.resident.wire")
Modules = dict[str, tuple[str, int, int, CodeType | None]]
_EXTENSIONS = ("_blake2", "_socket")  # builtin in some interpreters
_IMPORTER = "resident/compiled.py"


def write_client(made: Path, package: Path) -> None:
    """Compile the client of a package of `sb` into a runtime.

    Args:
        made: the folder of the runtime, whose interpreter runs this. package: the folder of `sb` that it imports.

    Raises:
        OSError: a source cannot be read, or the file not written.
    """
    modules = _compiled(package, _MODULES)
    for name in _EXTENSIONS:
        if (place := getattr(import_module(name), "__file__", None)) is not None:
            modules[name] = (*_stamp(Path(place)), None)
    importer = package / _IMPORTER
    source = (
        f"{importer.read_text('utf-8')}\nimport marshal\nuse(marshal.loads({marshal.dumps(modules)!r}))\n"
    )
    code = compile(source, str(importer), "exec", dont_inherit=True)
    (made / NAME).write_bytes(MAGIC_NUMBER + marshal.dumps(code))


def write_judging(made: Path, package: Path, names: Iterable[str]) -> None:
    """Compile modules of a package of `sb` into a runtime; the arguments, and what is raised, are as above.

    Args:
        names: dotted, of `sb` alone.
    """
    (made / JUDGING).write_bytes(MAGIC_NUMBER + marshal.dumps(_compiled(package, names)))


def _compiled(package: Path, names: Iterable[str]) -> Modules:
    modules: Modules = {}
    for name in names:
        path = package.joinpath(*name.split(".")[1:])
        file = path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")
        modules[name] = (*_stamp(file), SourceFileLoader(name, str(file)).get_code(name))  # or from its cache
    return modules


def _stamp(file: Path) -> tuple[str, int, int]:
    status = file.stat()
    return str(file), status.st_size, status.st_mtime_ns
