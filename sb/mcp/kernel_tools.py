"""The tools for governed calls: what an agent may call, what became of it, and how it takes it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from pydantic import Field

from sb.base.sources import MICROSECONDS
from sb.hosts.hooks.wording import after_refusal, ask_for_approval
from sb.kernel.calls.approval import Approval, ApprovalState
from sb.kernel.contracts import ToolResult, ToolSpec
from sb.kernel.reversibility.contracts import MutationRef
from sb.mcp.answers import error_line, when
from sb.mcp.desk import AgentDesk
from sb.mcp.toolsets import Offer, Toolset

LONGEST_WAIT_S = 50.0  # many clients give up on a request after a minute
_TOLD_EVERY_S = 2.0
_NEXT = {
    ApprovalState.APPROVED: "Repeat the call unchanged: it runs once.",
    ApprovalState.DENIED: "Do not repeat or work around it. Tell the user.",
    ApprovalState.REVOKED: "Do not repeat or work around it. Tell the user.",
    ApprovalState.EXPIRED: "Nobody decided in time. Repeat the call to ask again.",
    ApprovalState.USED: "It has run.",
}


class KernelTools:
    """The tools of one server.

    Args:
        desk: the agent that asks now.
    """

    def __init__(self, desk: Callable[[], AgentDesk]) -> None:
        self._desk = desk

    def offers(self) -> Iterator[Offer]:
        yield Offer(Toolset.KERNEL, "List tools", self.list_tools, reads=True)
        yield Offer(Toolset.KERNEL, "Call a tool", self.call_tool, removes=True)
        yield Offer(Toolset.KERNEL, "Ask about a request", self.request_status, reads=True)
        yield Offer(Toolset.KERNEL, "List recent changes", self.recent_calls, reads=True)
        yield Offer(Toolset.KERNEL, "Undo a call", self.undo_call, removes=True)

    def list_tools(self) -> list[dict[str, Any]]:
        """List the tools that you may call with call_tool, and their arguments."""
        return [_tool(spec) for spec in self._desk().calls.tools()]

    async def call_tool(
        self,
        ctx: Context,
        tool: Annotated[str, Field(description="A tool's id, as list_tools gives it.")],
        args: Annotated[dict[str, Any], Field(description="Its arguments by name.")],
        step: Annotated[
            str, Field(description="Your name for this step: asked again, it does not run twice.")
        ] = "",
        wait_s: Annotated[
            float, Field(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for a person's decision.")
        ] = 0.0,
    ) -> dict[str, Any]:
        """Make a governed call: policy, budget and approvals decide, and what it changes can be undone. `waiting` means
        that a person has to agree first."""
        desk = self._desk()
        run = desk.run()  # not in the group, which would hide from the model why it has none
        result: list[ToolResult] = []

        async def make_call() -> None:
            executor = desk.runtime.executor
            result.append(await executor.aexecute(run, tool, args, step=step, wait_s=wait_s))
            waiting.cancel_scope.cancel()

        async with anyio.create_task_group() as waiting:
            waiting.start_soon(make_call)
            elapsed = 0.0
            while wait_s:
                await anyio.sleep(_TOLD_EVERY_S)
                elapsed += _TOLD_EVERY_S
                await ctx.report_progress(min(elapsed, wait_s), wait_s, "waiting for the call")
        return _ended(desk, result[0])

    def request_status(
        self, request: Annotated[str, Field(description="The request's id, such as apr_1a2b.")]
    ) -> dict[str, Any]:
        """See whether a person has decided on a request of yours."""
        return request_answer(self._desk().calls.request(request))

    def recent_calls(self, limit: Annotated[int, Field(ge=1, le=50)] = 10) -> list[dict[str, Any]]:
        """List what your calls changed lately, the newest first, and whether it can be undone."""
        desk = self._desk()
        now = desk.runtime.executor.mutations.now()
        return [_change(ref, now) for ref in desk.calls.changes(limit)]

    def undo_call(
        self,
        change: Annotated[str, Field(description="The change's id (mut_…), or that of its call.")],
        reason: Annotated[str, Field(description="Why.", min_length=1, max_length=500)],
    ) -> dict[str, Any]:
        """Take back a call of yours. Where a person has to agree, it is `waiting`."""
        desk = self._desk()
        undone = desk.calls.undo(change, reason)
        answer = {"change": undone.mutation_id, "state": undone.state}
        if undone.state == "waiting":
            return answer | request_answer(desk.calls.request(undone.detail))
        return answer | {"detail": undone.detail}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    arguments = [
        {"name": arg.name, "type": arg.type, "required": arg.required, "description": arg.description}
        for arg in spec.args_schema
    ]
    return {
        "tool": spec.tool_id,
        "description": spec.description,
        "effect": str(spec.effective_class),
        "args": arguments,
    }


def _ended(desk: AgentDesk, result: ToolResult) -> dict[str, Any]:
    """The outcome of a call: `done`, `waiting`, or `refused` or `failed` with the reason."""
    warning = {"warning": result.warning} if result.warning else {}
    if result.success:
        answer: dict[str, Any] = {"state": "done", "call_id": result.call_id, "value": result.data}
        if result.mutation_id:
            answer["change"] = result.mutation_id
        return answer | warning
    if isinstance(result.data, dict) and "approval_id" in result.data:
        return {"state": "waiting", "call_id": result.call_id} | request_answer(
            desk.calls.request(result.data["approval_id"])
        )
    answer = {
        "state": "refused" if result.refused else "failed",
        "call_id": result.call_id,
        "code": str(result.error_code),
        "reason": error_line(ValueError(result.error_message)),
    }
    if result.refused:
        answer["next"] = after_refusal(result.rule)
    return answer | warning


def request_answer(approval: Approval) -> dict[str, Any]:
    """A request as its agent reads it: the decision and its reason, or why a person is asked, and what to do now."""
    reason, then = approval.reason, _NEXT.get(approval.state, "")
    if approval.state is ApprovalState.WAITING:
        reason = "; ".join(asked["reason"] for asked in approval.request.get("reasons", ()))
        then = ask_for_approval(approval.id)
        then = then[0].upper() + then[1:]
    return {
        "request": approval.id,
        "decision": str(approval.state),
        "reason": reason,
        "expires": when(approval.expires_at / MICROSECONDS),
        "next": then,
    }


def _change(ref: MutationRef, now: int) -> dict[str, Any]:
    return {
        "change": ref.mutation_id,
        "call_id": ref.call_id,
        "tool": ref.tool_id,
        "at": when(ref.bound_at / MICROSECONDS),
        "state": str(ref.state),
        "undo": "undo_call" if ref.undoable(now) else ref.no_way_back or "no more",
    }
