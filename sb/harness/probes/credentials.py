"""Probe of credentials by reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from sb.config.credentials import CredentialSource
from sb.context_packs import ContextInjector, ContextPack, PackStore, injection_plan_to_compiled_items
from sb.contracts.envelopes import ContextEnvelope
from sb.decisions.resolver import DecisionResolver
from sb.harness.harness import Counted, Harness, saw
from sb.harness.probes.boundaries import secret_names
from sb.kernel.contracts import SafetyClass, ToolResult
from sb.kernel.harness_audit import Check
from sb.kernel.registry.credentials import reference
from sb.kernel.replay.packet import Step
from sb.runtime import Runtime
from sb.runtime.parts import open_packets

AGENT = "clerk"
_NAME = "billing"
_VALUES = ("plover-quartz-9931-zx", "gannet-basalt-4417-qy")  # a value, and the one after it was changed


def secret_handling(h: Harness) -> Iterator[Check]:
    """HA-10."""
    file = h.folder / "billing.token"
    file.touch(mode=0o600)
    settings = {"credentials": {_NAME: CredentialSource("file", str(file))}}
    with h.open(settings) as runtime:
        open_packets(runtime.config, h.clock).capture(AGENT, on=True)
    with h.open(settings) as runtime:
        pay, fail = _tool(h, runtime, "shop.pay", _echo), _tool(h, runtime, "shop.fail", _fail)
        results, steps = list[ToolResult](), list[Step]()
        shelf = open_packets(runtime.config, h.clock)
        for value in _VALUES:
            file.write_text(value, encoding="utf-8")
            with runtime.run(AGENT) as ctx:
                results += [runtime.executor.execute(ctx, tool) for tool in ("shop.pay", "shop.fail")]
            steps += shelf.read(ctx.run_id).steps  # the next run removes packets by the date of the file
        got = [[call["token"] for call in tool.calls] for tool in (pay, fail)]
        received = got[0] == [*_VALUES] and dict.fromkeys(got[1]) == dict.fromkeys(
            _VALUES
        )  # however often tried
        received = received and results[0].success and results[2].success
        seen = f"{saw(results[0], pay)}, with the value of that moment: {received}"
        yield Check("reference", received, seen)

        texts = {"compiled context": _compiled(h, results[0]), "result": str(results)}
        pays = [event.payload or {} for event in runtime.log.events(tool_id="shop.pay")]
        texts["log"] = str([tuple(row) for row in runtime.database.query("SELECT * FROM events")])
    texts["packet"] = str(steps)
    texts["message"] = " ".join(result.error_message or "" for result in results)
    leaks = [name for name, text in texts.items() if any(value in text for value in _VALUES)]
    leaks += _files_with_values(h.folder / "home")
    digests = {payload["args_digest"] for payload in pays if "args_digest" in payload}
    if len(digests) != 1:  # one that depends on a value lets it be guessed
        leaks.append("digest")
    looked = len(steps) == len(results) and reference(_NAME) in texts["packet"]
    looked = looked and "401" in texts["message"]
    seen = f"{len(pays)} rows, {len(steps)} captured calls; in {', '.join(leaks) or 'none of them'}"
    yield Check("leaked", received and looked and not leaks, f"the value: {seen}")
    names = h.folder / "names"
    names.mkdir()
    yield from secret_names(Harness(names))


def _tool(h: Harness, runtime: Runtime, tool_id: str, answer: Callable[..., object]) -> Counted:
    metadata = {"credentials": {"token": _NAME}}
    return h.tool(runtime, tool_id, answer, SafetyClass.LOCAL_WRITE, metadata=metadata)


def _echo(token: str) -> dict[str, str]:
    return {"sent": f"Bearer {token}"}


def _fail(token: str) -> None:
    raise RuntimeError(f"401 for {token}")


def _compiled(h: Harness, result: ToolResult) -> str:
    """The content of a prompt, from a pack that holds a tool's result."""
    spec = DecisionResolver().resolve("support.context.injection.v1")
    pack = ContextPack("support.policy", "1", str(result.data), source_uri="shop/pay")
    plan = ContextInjector().build_plan(spec, ContextEnvelope.from_run(h.context()), PackStore([pack]))
    return str((plan, injection_plan_to_compiled_items(plan)))


def _files_with_values(folder: Path) -> list[str]:
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(value.encode() in path.read_bytes() for value in _VALUES)
    ]
