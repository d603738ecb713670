"""The `sb` program."""

# And no annotations from the future, whose module every hook would read.
import atexit
import gc
import os
import sys

# Commands that a helper runs, if one is there: they only read, and ask nothing.
_OF_A_HELPER = frozenset({("approvals", "list"), ("memory", "search"), ("statusline",)})


def _helped(arguments: list[str]) -> int | None:
    """The exit code of a command that the resident helper ran; None if there is none."""
    try:
        from sb.resident.client import run
    except ImportError:
        return None
    return run(arguments, __file__.rpartition("/")[0])


def _confined(arguments: list[str]) -> int | None:
    """The exit code of a command that the helper runs for one in confinement, where little can be written."""
    try:
        from sb.resident.client import CONFINED, SERVED
    except ImportError:
        return None
    if CONFINED not in os.environb or not {tuple(arguments[:1]), tuple(arguments[:2])} & SERVED:
        return None
    return _helped(arguments)


def main(start: str = "") -> None:
    """Run the command line and end the process with its exit code.

    Args:
        start: the file of a runtime that hooks start with, which names their version; "" for any other start.
    """
    atexit.register(gc.freeze)  # or Python looks for garbage in all that is left, right before it ends
    # A host calls this on every tool call of a person's agent: nothing of the command line is loaded for it.
    if sys.argv[1:2] == ["hook"] and sys.argv[2:] and not {"-h", "--help"} & {*sys.argv}:
        gc.disable()  # it ends after one event: looking for garbage among its imports costs a twelfth of its time
        if start:
            try:
                from sb.resident.client import hook
            except ImportError:  # an interpreter without a module that it needs
                pass
            else:
                return hook(sys.argv[2:], start)
        from sb.hosts.hooks.main import main as answer

        return answer(sys.argv[2:])
    if start and sys.argv[1:2] == ["resident"]:
        from sb.resident.server import serve

        return serve(start, *sys.argv[2:])
    if start and sys.argv[1:2] == ["tree"]:
        from sb.hosts.hooks.snapshots.warm_tree import main as store_tree

        return store_tree(*sys.argv[2:4])
    if start and sys.argv[1:2] == ["confine"]:
        from sb.hosts.confined_start import main as confine

        confine(*sys.argv[2:])
    if start and sys.argv[1:2] == ["engine"]:
        from sb.hosts.hook_engine import main as engine

        return engine(sys.argv[2])
    if not start and (code := _confined(sys.argv[1:])) is not None:
        sys.exit(code)
    if sys.argv[1:] == ["statusline"]:  # drawn after each turn of an agent
        from sb.hosts.statusline import main as draw

        return draw()
    if not start and {tuple(sys.argv[1:2]), tuple(sys.argv[1:3])} & _OF_A_HELPER:
        code = _helped(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    from sb.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
