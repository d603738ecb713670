"""Kinds of what governs agents besides contracts and grants: charters, releases, sources, operators and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sb.base.duration import human_duration
from sb.base.sources import iso_micros
from sb.present.kind import Column, Field, Kind, time_cell
from sb.present.states import DANGER, OK, SOFT, WARN, State
from sb.present.times import minute

if TYPE_CHECKING:  # a face loads what it shows
    from sb.config.rules import PolicyRule
    from sb.kernel.agent_charter.charters import CharterEntry
    from sb.kernel.authority.root_file import EnrolledOperator
    from sb.kernel.boundaries.tokens import AccessToken
    from sb.kernel.calls.servers import ServerState
    from sb.kernel.context_sources.sources import ContextSource
    from sb.kernel.release_tuple.releases import ReleaseEntry
    from sb.protocols.types import TrustAssessment

SHORT_RELEASE = 19  # characters of an id in a table: sha256: and twelve digits

CHARTER: Kind[CharterEntry] = Kind(
    Field("agent", lambda it, now: it.agent),
    Field("state", lambda it, now: str(it.state)),
    Field("version", lambda it, now: it.charter.version if it.charter else ""),
    Field("owner", lambda it, now: it.charter.owner if it.charter else ""),
    Field("review by", lambda it, now: str((it.charter and it.charter.review_by) or "")),
    Field("purpose", lambda it, now: it.charter.purpose if it.charter else it.problem),
    faces={"table": "agent,state,version,owner,review by,purpose"},
    json={"agent state problem fingerprint approved": "string", "charter": "object"},
    computed={
        "fingerprint": lambda it, now: it.charter.fingerprint if it.charter else "",
        "charter": lambda it, now: it.charter.document() if it.charter else {},
    },
)
RELEASE: Kind[ReleaseEntry] = Kind(
    Field("agent", lambda it, now: it.agent),
    Field("state", lambda it, now: "pinned" if it.pinned else ""),
    Field("last run", lambda it, now: iso_micros(it.last_seen_at)[:19]),
    Field("model", lambda it, now: it.release.model.name),
    Field("release", lambda it, now: it.id[:SHORT_RELEASE]),
    faces={"table": "agent,state,last run,model,release"},
    json={
        "agent id": "string",
        "pinned": "boolean",
        "first_seen_at last_seen_at": "time",
        "parts": {"*": "release_part"},
    },
    computed={"parts": lambda it, now: it.release.document()},
)
SOURCE: Kind[ContextSource] = Kind(
    Field("source", lambda it, now: it.source_id),
    Field("owner", lambda it, now: it.owner),
    Field("fresh for", lambda it, now: human_duration(it.ttl_s)),
    Field("trust", lambda it, now: f"{it.trust:g}"),
    Field("access", lambda it, now: str(it.access)),
    Field("sensitivity", lambda it, now: it.sensitivity),
    Field("addresses", lambda it, now: ", ".join(it.uris)),
    faces={"table": "source,owner,fresh for,trust,access,sensitivity,addresses"},
    json={"source_id owner sensitivity access": "string", "uris": ["string"], "ttl_s trust": "number"},
)
OPERATOR: Kind[EnrolledOperator] = Kind(
    Field("operator", lambda it, now: it.name),
    Field("key", lambda it, now: it.key_id),
    Field("state", lambda it, now: it.state),
    Field("since", lambda it, now: time_cell(f"{it.since[:19]}Z", it.since)),
    Field("enrolled by", lambda it, now: it.by),
    faces={"table": "operator,key,state,since,enrolled by"},
    json={"name key_id public_key state by until ended_by": "string", "since": "time"},
)
TOKEN: Kind[AccessToken] = Kind(
    Field("token", lambda it, now: it.id),
    Field("agent", lambda it, now: it.agent),
    Field("toolsets", lambda it, now: " ".join(it.toolsets)),
    Field("state", lambda it, now: it.state(now)),
    Field("created by", lambda it, now: it.created_by),
    faces={"table": "token,agent,toolsets,state,created by"},
    json={
        "id agent created_by reason revoked_by": "string",
        "toolsets": ["string"],
        "created_at": "time",
        "expires_at": "time|null",
    },
)
TRUST: Kind[TrustAssessment] = Kind(
    Field("name", lambda it, now: it.entity),
    Field(
        "trust",
        lambda it, now: ", ".join(f"{name} {of.get('score', '?')}" for name, of in it.dimensions.items()),
    ),
    Field("evidence", lambda it, now: str(len(it.evidence_episode_ids or ()))),
    Field("updated", lambda it, now: time_cell(minute(it.last_updated), it.last_updated)),
    faces={"table": "name,trust,evidence,updated"},
    json={"+": "trust_score"},
)


_EFFECTS = {"deny": DANGER, "approve": WARN, "allow": OK}
POLICY_RULE: Kind[PolicyRule] = Kind(
    Field("effect", lambda it, now: State(it.effect, _EFFECTS[it.effect]), Column(8), "Effect"),
    Field("calls", lambda it, now: rule_text(it), Column(), "Calls"),
    Field("agents", lambda it, now: ", ".join(it.agents) or "every agent", Column(14, 50, SOFT), "Agents"),
    Field("reason", lambda it, now: it.reason, label="Reason"),
    Field("name", lambda it, now: it.name, label="Name"),
    faces={"list": "effect,calls,agents", "document": "calls,effect,agents,reason,name"},
)


SERVER: Kind[ServerState] = Kind(
    Field(
        "state",
        lambda it, now: State("approved", OK) if it.grant else State("asks", WARN),
        Column(8),
        "State",
    ),
    Field("server", lambda it, now: it.server.name, Column(), "Server"),
    Field("host", lambda it, now: it.host, Column(12, tone=SOFT), "Host"),
    Field("starts", lambda it, now: "\n".join(it.server.entries) or it.server.configured, label="Starts"),
    Field("grant", lambda it, now: it.grant.id if it.grant else "", label="Grant"),
    Field("digest", lambda it, now: it.server.digest, folded=True),
    faces={"list": "state,server,host", "document": "server,state,host,starts,grant,digest"},
)


def rule_text(rule: PolicyRule) -> str:
    """A rule of the policy in a line: its calls, the arguments that have to fit, and the reason that it gives."""
    what = ", ".join((*rule.tools, *rule.classes, *rule.runs))
    given = ", ".join(f"{name} {' or '.join(patterns)}" for name, patterns in rule.args.items())
    return what + (f" with {given}" if given else "") + (f": {rule.reason}" if rule.reason else "")
