"""Import modules from a file that an install compiled, as long as their sources are what they were.

`sb.hosts.install.client_file` writes such files. Looking for each module in its folder costs a tenth of a hook. As for
the client, builtin modules alone are imported here.
"""

import marshal
import posix
import sys
from _frozen_importlib_external import (
    MAGIC_NUMBER,
    ExtensionFileLoader,
    SourceFileLoader,
    spec_from_file_location,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _frozen_importlib import ModuleSpec
    from types import CodeType

    # Name to file, its size in bytes, its time of change in ns, and its code; None for an extension.
    Modules = dict[str, tuple[str, int, int, CodeType | None]]


class _Loader(SourceFileLoader):
    code: "CodeType | None" = None

    def get_code(self, fullname: str) -> "CodeType | None":
        return self.code


class _Finder:
    """Finds these modules, and no others."""

    def __init__(self, modules: "Modules") -> None:
        self._modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        if name not in self._modules:
            return None
        file, _, _, code = self._modules[name]
        if code is None:
            return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))
        loader = _Loader(name, file)
        loader.code = code
        return spec_from_file_location(name, file, loader=loader)


def use_file(path: str) -> bool:
    """Import the modules that an install compiled into a file; returns whether it fits this interpreter and sources."""
    try:
        descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
        try:
            data = posix.read(descriptor, posix.fstat(descriptor).st_size)
        finally:
            posix.close(descriptor)
        return data.startswith(MAGIC_NUMBER) and use(marshal.loads(memoryview(data)[len(MAGIC_NUMBER) :]))
    except (OSError, ValueError, EOFError, TypeError):  # each module is imported from its own file
        return False


def use(modules: "Modules") -> bool:
    """Import these modules from their code; returns False, and does nothing, if a file was changed since.

    Raises:
        OSError: a file is gone.
    """
    for file, size, changed, _ in modules.values():
        status = posix.stat(file)
        if (status.st_size, status.st_mtime_ns) != (size, changed):
            return False
    sys.meta_path.insert(0, _Finder(modules))
    return True
