"""Imports kitoken in a thread that lives as long as the process."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from threading import Event, Lock, Thread, current_thread, main_thread

_lock = Lock()


def load() -> None:
    """Import kitoken, whichever thread asks.

    Its allocator, mimalloc, keeps its first heap with the thread that loads the library: once that thread has ended, any
    third one that makes tokens ends the process. The main thread does not end; in its place there is one that waits for
    ever, which only a child made by `fork` has not: load it there before the fork.

    Raises:
        ImportError: it is not installed.
    """
    if "kitoken" in sys.modules or current_thread() is main_thread():
        importlib.import_module("kitoken")
        return
    with _lock:
        if "kitoken" not in sys.modules:
            _load_for_good()
    importlib.import_module("kitoken")  # for the error, if there was one


def load_early() -> None:
    """Import kitoken if this is the main thread, so that no other has to; who needs it later says why it is missing."""
    if current_thread() is main_thread():
        with suppress(ImportError):
            importlib.import_module("kitoken")


def _load_for_good() -> None:
    tried = Event()

    def stay() -> None:
        try:
            importlib.import_module("kitoken")
        except ImportError:  # whoever waits meets the same
            return
        finally:
            tried.set()
        Event().wait()

    Thread(target=stay, name="sb-tokens", daemon=True).start()
    tried.wait()
