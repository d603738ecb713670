"""Probe of the "tool-controlled" control about the network."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import sb
from sb.config.host_patterns import HostPattern
from sb.harness.harness import Harness, saw
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.harness_audit import Check
from sb.kernel.run_context import SafetyMode
from sb.runtime import Runtime

DENIED = ToolErrorCode.PERMISSION_DENIED
GET = "http.get"
ALLOWED = "shop.example"
OTHERS = (
    f"https://{ALLOWED}.evil.example/",
    f"https://{ALLOWED}:8443/",
    "https://evil.example/",
    "http://127.0.0.1/",
)
_IMPORTED = "sb.runtime", "sb.memory", "sb.store", "sb.tools"  # with all that is in them
_DEADLINE_S = 50  # it takes two without compiled code; less than a probe may take
_IMPORT = """
import gc, importlib, pkgutil, sys
gc.disable()
sys.path.insert(0, sys.argv[1])
touched = set()
def hook(event, _):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system")):
        touched.add(event)
sys.addaudithook(hook)
for name in sys.argv[2:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), name + "."):
        importlib.import_module(module.name)
print(*sorted(touched))
gc.freeze()
"""


def network(h: Harness) -> Iterator[Check]:
    """HA-15."""
    with h.open({"http.allow": (HostPattern(ALLOWED),)}) as runtime:
        yield _offline(runtime)
        yield _modes(h, runtime)
        yield _egress(h, runtime)
    yield _importing(h)


def _offline(runtime: Runtime) -> Check:
    """A whole session, with vectors; whatever reached for the network would fail the control."""
    brain = runtime.brain("ada")
    package = brain.orient(project="shop")
    ids = [
        brain.remember("Deploys go out on Tuesdays."),
        brain.decide("use SQLite", "one file"),
        brain.entity("Billing", "service"),
    ]
    found = [hit.id for hit in brain.search("On which day of the week do we release?")]
    packet = brain.wrap_up("the schema is made")
    ok = package.empty and ids[0] in found and packet.verified and not brain.vector_search_disabled_reason
    seen = f"orient, remember, decide, entity, search ({len(found)} found), wrap_up"
    return Check(
        "offline", ok, f"Brain: {seen}; {brain.vector_search_disabled_reason or 'words and vectors'}"
    )


def _modes(h: Harness, runtime: Runtime) -> Check:
    """The shipped tool, to a host that is allowed: had it been called, the audit would say that the network was touched."""
    contexts = {mode: h.context(safety_mode=mode) for mode in (SafetyMode.SAFE, SafetyMode.STRICT)}
    results = {
        mode: runtime.executor.execute(ctx, GET, {"url": f"https://{ALLOWED}/"})
        for mode, ctx in contexts.items()
    }
    ok = all(result.error_code is DENIED for result in results.values())
    return Check("modes", ok, "; ".join(f"{mode} {saw(result)}" for mode, result in results.items()))


def _egress(h: Harness, runtime: Runtime) -> Check:
    results = {url: runtime.executor.execute(h.context(), GET, {"url": url}) for url in OTHERS}
    ok = all(result.error_code is DENIED for result in results.values())
    return Check("egress", ok, "; ".join(f"{url} {saw(result)}" for url, result in results.items()))


def _importing(h: Harness) -> Check:
    """In a process of its own, since this one has imported everything."""
    command = [sys.executable, "-c", _IMPORT, str(Path(sb.__file__).parents[1]), *_IMPORTED]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_DEADLINE_S, cwd=h.folder, check=False
    )
    touched = done.stdout.split() if done.returncode == 0 else [f"exit code {done.returncode}"]
    return Check(
        "importing", not touched, f"import {', '.join(_IMPORTED)}: {', '.join(touched) or 'nothing touched'}"
    )
