"""The handler of requests and grants: approved, denied, revoked, and their secrets shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sb.screens.deciding import Deciding
from sb.screens.handlers.handler import Handler
from sb.screens.requests import decide_request, read_request
from sb.screens.state.approvals import approval_document, grant_document, question, unapprovable
from sb.screens.state.document import Document, Field
from sb.screens.state.runs import newest_calls

from sb.base.values.frozen import frozen
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Decider
from sb.kernel.calls.approval import ApprovalState, Grant
from sb.log.event import Subject
from sb.present.approvals import Request, RequestDetail

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

TAKES = {
    "approve": ApprovalState.WAITING,
    "deny": ApprovalState.WAITING,
    "revoke": ApprovalState.APPROVED,
}
VERBS = {"approve": "approve", "deny": "deny", "take_away": "revoke"}  # by actions


@frozen
class ReadRequest:
    """A request, and what stands around it, which is not read of one among several."""

    disclosed: Disclosure
    detail: RequestDetail | None = None


class RequestHandler(Handler[ReadRequest]):
    """Decides requests."""

    title = "Request"
    several = True

    def __init__(self, screen: Deciding, changed: Callable[[], None], *, read: str = "detail") -> None:
        super().__init__(screen, changed, read=read)
        self._opened: set[str] = set()  # digests of what was opened to be read

    def load(self, reference: str) -> ReadRequest | None:
        return ReadRequest(*read_request(self.records, reference))

    def load_for_dialog(self, reference: str) -> ReadRequest | None:
        queue = ApprovalQueue(self.records.log("rows"))
        return ReadRequest(queue.disclose(queue.get(reference)))

    def open(self) -> None:
        if self.item is not None:
            self._opened.add(self.item.disclosed.digest)

    def document(self) -> Document:
        if self.item is None:
            return []
        about = Request(self.item.disclosed, reveal=self.revealed, detail=self.item.detail)
        return approval_document(about, self.now())

    def possible(self, action: str) -> bool:
        if self.item is None:
            return False
        if action == "reveal":
            return self.item.disclosed.hides
        return action in VERBS and self._takes(VERBS[action], self.item)

    def _takes(self, verb: str, item: ReadRequest) -> bool:
        return item.disclosed.approval.at(self.now()).state is TAKES[verb]

    def command(self) -> str:
        return f"sb approvals show {self.reference}"

    def pointed_at(self) -> Pointed:
        return self.reference or None

    def approve(self, references: Sequence[str] = ()) -> None:
        self._decide("approve", references)

    def deny(self, references: Sequence[str] = ()) -> None:
        self._decide("deny", references)

    def take_away(self, references: Sequence[str] = ()) -> None:
        self._decide("revoke", references)

    def reveal(self) -> None:
        """Show the secrets in its arguments, or hide them again."""
        if self.item is None or not self.item.disclosed.hides:
            self.say("nothing is hidden here")
            return
        self.revealed = not self.revealed
        self.changed()

    def _decide(self, verb: str, references: Sequence[str]) -> None:
        self.chosen(references, lambda found: self._ask(verb, found))

    def _ask(self, verb: str, found: list[ReadRequest]) -> None:
        items = [item for item in found if self._takes(verb, item)]
        if not items:
            self.say(f"nothing to {verb} here: only what is {TAKES[verb]} can be")
            return
        chosen = [item.disclosed for item in items]
        refused = unapprovable(chosen, self._opened) if verb == "approve" else ""
        if refused:
            self.say(refused)
            return
        detail = items[0].detail if len(items) == 1 else None

        def act(item: Disclosure, by: Decider, reason: str) -> str:
            opened = item.digest in self._opened
            return decide_request(self.records, verb, item, by, reason, opened=opened)

        self.hide()
        asked = question(verb, chosen, detail=detail, others=self.screen.others())
        self.screen.ask(asked, chosen, self.noting(act, lambda item: item.approval.id))


@frozen
class ReadGrant:
    """A grant, and what its agent called the tool for."""

    grant: Grant
    calls: Sequence[Field]


class GrantHandler(Handler[ReadGrant]):
    """Revokes grants."""

    title = "Grant"

    def load(self, reference: str) -> ReadGrant | None:
        log = self.records.log("rows")
        grant = next((grant for grant in ApprovalQueue(log).grants() if grant.id == reference), None)
        if grant is None:
            return None
        calls = newest_calls(log, "Newest calls", self.now(), agent=grant.agent, tool=grant.tool_id)
        return ReadGrant(grant, calls)

    def document(self) -> Document:
        if self.item is None:
            return []
        return [*grant_document(self.item.grant, self.now()), *self.item.calls]

    def possible(self, action: str) -> bool:
        active = self.item is not None and self.item.grant.at(self.now()).state == "active"
        return action == "take_away" and active

    def command(self) -> str:
        return f"sb approvals revoke {self.reference}"

    def pointed_at(self) -> Pointed:
        grant = self.item.grant if self.item else None
        return Subject(grant.run_id, "", grant.agent, grant.tool_id) if grant else None

    def take_away(self, references: Sequence[str] = ()) -> None:
        grant = self.item.grant if self.item else None
        if grant is None or not self.possible("take_away"):
            self.say("nothing to revoke here: this grant allows nothing any more")
            return
        self.screen.ask(question("revoke", [grant]), [grant], self._revoke)

    def _revoke(self, grant: Grant, by: Decider, reason: str) -> str:
        self.records.approvals().revoke(grant.id, by, reason)
        return f"Revoked: {grant.agent} asks for {grant.tool_id} again ({grant.id})"
