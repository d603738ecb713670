"""Write the file SB_HOME/runtime/ID/client: the modules that a hook asks the helper with, compiled."""

from __future__ import annotations

import marshal
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

NAME = "client"
_MODULES = ("__init__", "__main__", "resident/__init__", "resident/client", "resident/wire")
_EXTENSIONS = ("_blake2", "_socket")  # builtin in some interpreters
_IMPORTER = "resident/compiled.py"


def write_client(made: Path, package: Path) -> None:
    """Compile the client of a package of `sb` into a runtime.

    Args:
        made: the folder of the runtime. package: the folder of `sb` that it imports.

    Raises:
        OSError: a source cannot be read, or the file not written.
    """
    modules: dict[str, tuple[str, int, int, CodeType | None]] = {}
    for name in _MODULES:
        file = package / f"{name}.py"
        dotted = ".".join(["sb", *name.split("/")]).removesuffix(".__init__")
        modules[dotted] = (*_stamp(file), compile(file.read_bytes(), str(file), "exec", dont_inherit=True))
    for name in _EXTENSIONS:
        if (place := getattr(import_module(name), "__file__", None)) is not None:
            modules[name] = (*_stamp(Path(place)), None)
    importer = package / _IMPORTER
    source = (
        f"{importer.read_text('utf-8')}\nimport marshal\nuse(marshal.loads({marshal.dumps(modules)!r}))\n"
    )
    code = compile(source, str(importer), "exec", dont_inherit=True)
    (made / NAME).write_bytes(MAGIC_NUMBER + marshal.dumps(code))


def _stamp(file: Path) -> tuple[str, int, int]:
    status = file.stat()
    return str(file), status.st_size, status.st_mtime_ns
