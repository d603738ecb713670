"""Outcomes of runs, judgements of them, and what trusted ones cost: the cells of their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sb.base.fitting import count, short_count
from sb.base.sources import iso_micros
from sb.base.values.frozen import frozen
from sb.kernel.business_metrics import Rate
from sb.kernel.outcomes.judgements import Judgement
from sb.kernel.outcomes.record import Outcome
from sb.kernel.outcomes.reporting import OutcomeGroup
from sb.kernel.tokenomics.outcomes import OutcomeRecord
from sb.present.kind import Field, Kind, time_cell
from sb.present.usage import dollars


def verdict(it: Judgement) -> str:
    """The verdict in a word, with why where it does not count."""
    word = "accepted" if it.accepted else "rejected"
    return f"{word}, does not count: {it.doubt}" if it.doubt else word


JUDGEMENT = Kind[Judgement](
    Field("run", lambda it, now: it.run_id),
    Field("agent", lambda it, now: it.agent),
    Field("verdict", lambda it, now: verdict(it)),
    Field("workflow", lambda it, now: it.workflow or "-"),
    Field("intent", lambda it, now: it.intent or "-"),
    Field("at", lambda it, now: time_cell(f"{it.at[:19]}Z", it.at)),
    Field("by", lambda it, now: it.by),
    Field("signed", lambda it, now: "yes" if it.signed else "no"),
    Field("reason", lambda it, now: it.reason or "-"),
    faces={"table": "run,agent,verdict,workflow,intent,at,by,signed,reason"},
    json={
        "run_id agent by reason workflow intent doubt": "string",
        "seq": "integer",
        "accepted signed": "boolean",
        "at": "time",
    },
)


@frozen
class JudgedRun:
    """A run with its judgements, oldest first; `outcome` is None where its start is not on record."""

    run_id: str
    outcome: Outcome | None
    judgements: tuple[Judgement, ...] = ()

    @property
    def newest(self) -> Judgement | None:
        """The judgement that counts."""
        return next((it for it in reversed(self.judgements) if not it.doubt), None)

    @property
    def record(self) -> OutcomeRecord | None:
        """The outcome as the ledger takes it."""
        return self.outcome.record(self.newest) if self.outcome else None


def _known(value: bool | None) -> str:
    return "not known" if value is None else "yes" if value else "no"


def outcome_lines(it: JudgedRun) -> Iterator[str]:
    """A run's outcome, a fact a line."""
    judged, outcome, record = it.newest, it.outcome, it.record
    by = f" by {judged.by}{'' if judged.signed else ', unsigned'}" if judged else ""
    yield f"{it.run_id}: {verdict(judged) if judged else 'nobody judged it'}{by}"
    if outcome is None or record is None:
        yield "its start is not on record, so nothing else is known"
        return
    yield f"agent: {outcome.agent}"
    yield f"workflow: {record.workflow_id or '-'}"
    yield f"intent: {record.intent or '-'}"
    yield f"version: {outcome.version or '-'}"
    ended = iso_micros(outcome.ended_at)[:19] + "Z" if outcome.ended_at else "not on record"
    back = (
        ", before it began: a clock was set back" if (outcome.ended_at or 1e99) < outcome.started_at else ""
    )
    yield f"began: {iso_micros(outcome.started_at)[:19]}Z; ended: {ended}{back}"
    broken = f" ({count(outcome.violations)} denied or against a rule)" if outcome.violations else ""
    yield f"trusted: {_known(record.trusted)}; grounded: {_known(record.grounded)}"
    yield f"compliant: {_known(record.policy_compliant)}{broken}"
    yield f"cost: {cost_text(outcome.cents)} ({outcome.sources or outcome.unpriced})"
    read, cached = short_count(outcome.input_tokens), short_count(outcome.cached_tokens)
    yield f"tokens: {read} in, of which {cached} from a cache, {short_count(outcome.output_tokens)} out"


def cost_text(cents: float | None) -> str:
    """A cost in cents as US dollars."""
    return dollars(None if cents is None else cents / 100)


def share_text(share: float | None) -> str:
    """A share in percent; "-" where it is not defined."""
    return "-" if share is None else f"{share:.0%}"


def rate_text(rate: Rate) -> str:
    """A share with its number and the interval that the true one lies in: `80% of 10 (49-94%)`."""
    low, high = rate.interval
    return f"{share_text(rate.value)} of {count(rate.n)} ({low * 100:.0f}-{high:.0%})" if rate.n else "-"


def _dearness(it: OutcomeGroup, now: int) -> str:
    each = it.report.cost_per_trusted_outcome_cents
    return "-" if each is None else cost_text(each)


def _cost(it: OutcomeGroup, now: int) -> str:
    report = it.report
    known = cost_text(report.cost_cents) if report.unpriced < report.outcomes else "unknown"
    return f"{known} or more" if 0 < report.unpriced < report.outcomes else known


_FIGURES = """outcomes trusted unpriced tokens cost_cents cost_per_trusted_outcome_cents retry_token_ratio
    eval_overhead_ratio cache_hit_rate"""


def _figure(name: str) -> Callable[[OutcomeGroup, int], object]:
    return lambda it, now: getattr(it.report, name)


OUTCOME_GROUP = Kind[OutcomeGroup](
    Field("name", lambda it, now: it.name or "-", title="of"),
    Field("outcomes", lambda it, now: count(it.report.outcomes)),
    Field("success", lambda it, now: rate_text(it.success)),
    Field("trusted", lambda it, now: count(it.report.trusted)),
    Field("cost", _cost),
    Field("each", _dearness, title="per trusted"),
    Field("retries", lambda it, now: share_text(it.report.retry_token_ratio)),
    Field("evals", lambda it, now: share_text(it.report.eval_overhead_ratio)),
    Field("cache", lambda it, now: share_text(it.report.cache_hit_rate)),
    faces={"table": "name,outcomes,success,trusted,cost,each,retries,evals,cache"},
    json={
        "name undefined": "string",
        "outcomes trusted unpriced judged accepted tokens": "integer",
        "cost_cents cost_per_trusted_outcome_cents success": "number|null",
        "success_interval": ["number"],
        "retry_token_ratio eval_overhead_ratio cache_hit_rate": "number|null",
    },
    computed={
        "judged": lambda it, now: it.success.n,
        "accepted": lambda it, now: it.success.hits,
        "success": lambda it, now: it.success.value,
        "success_interval": lambda it, now: [*it.success.interval],
        **{name: _figure(name) for name in _FIGURES.split()},
        "cost_cents": lambda it, now: (
            it.report.cost_cents if it.report.unpriced < it.report.outcomes else None
        ),
    },
)


def judged_json(it: JudgedRun) -> dict[str, object]:
    """A run's outcome and its judgements as plain JSON."""
    outcome, record = it.outcome, it.record
    document: dict[str, object] = {
        "run_id": it.run_id,
        "accepted": it.newest.accepted if it.newest else None,
        "grounded": record.grounded if record else None,
        "compliant": record.policy_compliant if record else None,
        "trusted": bool(record and record.trusted),
        "outcome": None,
        "judgements": [JUDGEMENT.to_dict(judgement) for judgement in it.judgements],
    }
    if outcome and record:
        times = {name: getattr(outcome, name) for name in ("started_at", "ended_at")}
        texts = {name: at if at is None else iso_micros(at) for name, at in times.items()}
        document["outcome"] = {
            **vars(outcome),
            "workflow": record.workflow_id,
            "intent": record.intent,
            **texts,
        }
    return document
