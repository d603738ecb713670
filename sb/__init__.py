"""SecondBrain: a kernel that governs what agents do, and a memory for what they learn.

These five names are enough to begin: `governed`, `ToolSpec`, `RunContext`, `open_runtime` and `Brain`.
"""

TYPE_CHECKING = False  # as of `typing`, which takes a hook 3 ms to import
if TYPE_CHECKING:
    from sb.kernel import RunContext, ToolSpec, governed
    from sb.memory import Brain
    from sb.runtime import open_runtime

__version__ = "0.1.0"
__all__ = ["Brain", "RunContext", "ToolSpec", "governed", "open_runtime"]
_ROOMS = {"Brain": "sb.memory", "open_runtime": "sb.runtime"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'sb' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_ROOMS.get(name, "sb.kernel")), name)
