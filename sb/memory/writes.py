"""Write memories: facts, decisions, events, entities and relations; forget, recover and protect them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from sb.memory.beliefs.claims import given_claim
from sb.memory.beliefs.operations import Beliefs
from sb.memory.beliefs.revision import check_correctable
from sb.memory.decay import FORGET, recovered
from sb.memory.gate.confidence import Beta
from sb.memory.personal_data import ESCALATE
from sb.memory.trust.scores import NEUTRAL, weight_of_outcome
from sb.protocols.types import Decision, EntityRecord, Event
from sb.protocols.types.brain import EntityFields, FactFields, Fields, SpokenFields
from sb.store.records.columns import ACTIVE, FORGOTTEN, QUARANTINED, SUPERSEDED, Row
from sb.store.records.evidence import CONFIRMED, REFUTED, Evidence
from sb.store.records.places import Execute

if TYPE_CHECKING:
    from sb.memory.gate.worth import GateVerdict


class Writes(Beliefs):
    """The writing operations of a Brain."""

    def remember(
        self,
        content: str,
        category: str = "project",
        *,
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        force: bool = False,
        replaces: str = "",
        **more: Unpack[FactFields],
    ) -> str:
        """Save a fact, or merge it into the memory that says the same; returns the id of either.

        `Brain.verdict` says which, and why. A fact with another number, date, name or negation is never merged.

        Args:
            category: convention, decision, environment, identity, integration, lesson, preference, project or user.
            project, scope: where it belongs, by default the session's scope; `project="x"` is `scope="project:x"`.
            private: only this agent may read it.
            force: save it as a memory of its own, whatever there is.
            replaces: the id of a memory whose place it takes; it then stands where that does. See `correct`.
            more: further fields of `sb.protocols.types.Fact`, such as `confidence`, `source_type`, `derived_from`, `tags`,
                `speaker`, `happened_at`, and `claim`: the key of what it claims, such as `Alice · role`. Of one key an agent's newer
                memory supersedes its older ones, and others' memories are a conflict. Without it the text's form says.

        Raises:
            ValueError: a field has a value that it cannot have. NotFoundError, DeniedError: as `correct` says.
        """
        claim = more.get("claim")
        if claim:
            given_claim(claim, content)
        if replaces:
            row = self._changeable_row(replaces)
            check_correctable(row)
            elsewhere = project is not None or scope is not None or private
            place = (
                self._place(project, scope, private)
                if elsewhere
                else self.space.places.numbered(row["place"])
            )
            fact = self._fact(content, category, place, more)
            return self.writer.keep_all([fact], place, revision=self._revision(row, ""))[0]
        place = self._place(project, scope, private)
        fact = self._fact(content, category, place, more)
        gate = None if force or claim or fact.id else self.gate
        return self.writer.keep(fact, place, gate=gate)

    def explain(
        self,
        content: str,
        category: str = "project",
        *,
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Unpack[FactFields],
    ) -> GateVerdict:
        """Say what `remember` would do with a fact, and why; saves nothing. The arguments are those of `remember`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        place = self._place(project, scope, private)
        fact = self._fact(content, category, place, more)
        screened = self.space.screening.look(fact, place.scope)
        reason = f"personal data ({', '.join(screened.labels)})"
        [(row, _)] = self.writer.record_writer.pairs([fact])
        from sb.memory.gate.worth import REFUSED, GateVerdict

        if screened.refused:
            return GateVerdict(False, f"{reason}, which {place.scope} does not keep", held=REFUSED)
        if screened.labels and screened.action == ESCALATE:
            return GateVerdict(True, reason, held=QUARANTINED)
        if row["source_type"] in self.space.untrusted_sources:
            return GateVerdict(True, f"{row['source_type']} is an untrusted source", held=QUARANTINED)
        return self.space.shown_verdict(self.gate.look(row, fact, place).verdict)

    def decide(
        self,
        title: str,
        rationale: str,
        *,
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Unpack[Fields],
    ) -> str:
        """Save a decision and its rationale, which cannot be changed later; returns its id.

        Args:
            more: further fields of `sb.protocols.types.Decision`; the others are those of `remember`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        decision = Decision(title=title, rationale=rationale, **more)
        return self.writer.keep(decision, self._place(project, scope, private))

    def log(
        self,
        summary: str,
        event_type: str = "observation",
        *,
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Unpack[SpokenFields],
    ) -> str:
        """Save an event, which cannot be changed; returns its id.

        Args:
            event_type: artifact, decision, error, handoff, result, session_start, session_end, task_update, warning or
                observation.
            more: further fields of `sb.protocols.types.Event`; the others are those of `remember`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        event = Event(summary=summary, event_type=event_type, **more)
        return self.writer.keep(event, self._place(project, scope, private))

    def entity(
        self,
        name: str,
        entity_type: str,
        *,
        observations: Sequence[str] = (),
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Unpack[EntityFields],
    ) -> str:
        """Save an entity, or add observations to the one of that name; returns its id.

        Args:
            entity_type: agent, concept, document, event, location, organization, person, project, service or tool.
            more: further fields of `sb.protocols.types.EntityRecord`; the others are those of `remember`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        entity = EntityRecord(name=name, entity_type=entity_type, observations=list(observations), **more)
        return self.writer.keep(entity, self._place(project, scope, private))

    def relate(self, source: str, relation: str, target: str, *, weight: float = 1.0) -> None:
        """Relate two visible records, each by its id or as an entity by its name.

        Args:
            relation: a word for what the first is to the second, such as `depends_on`; other agents are shown it, so it has up
                to six words and 60 characters, and nothing that reads like an attack unless `memory.attacks` is off.
            weight: how strong, above 0; `think` follows strong relations further.

        Raises:
            NotFoundError: there is no such record. ValueError: the relation or its weight cannot be used.
            AttackRefused: the relation reads like an attack.
        """
        self.writer.relate(self._visible_row(source), relation, self._visible_row(target), weight)

    def confirm(self, record: str, reason: str = "") -> None:
        """Record that a memory proved right: its confidence rises by one observation.

        Raises:
            NotFoundError: there is none that this agent sees. ValueError: it is of a kind without confidence. DeniedError: it
                is withheld, or this agent may not write there.
        """
        self._outcome(record, CONFIRMED, reason)

    def refute(self, record: str, reason: str = "") -> None:
        """Record that a memory proved wrong: its confidence falls by one observation. Raises as `confirm` does."""
        self._outcome(record, REFUTED, reason)

    def _outcome(self, record: str, outcome: str, reason: str) -> None:
        row = self._changeable_row(record)
        if row["confidence"] is None:
            raise ValueError(f"{row['uid']} is of kind {row['kind']}, which has no confidence")
        now = self.space.clock.now()
        weight = self._weight_of_outcome(row)

        def evidence(execute: Execute) -> None:
            given = Evidence(
                now,
                self.agent_id,
                row["source_type"],
                row["session"],
                outcome,
                weight,
                None,
                row["confidence"],
            )
            self.space.evidence.add(execute, row["id"], given)

        belief = Beta.of(row)
        after = belief.supported(weight) if outcome == CONFIRMED else belief.refuted(weight)
        self.writer.change(row, after.columns(), outcome, reason, also=evidence)

    def _weight_of_outcome(self, row: Row) -> float:
        """The weight of this agent's outcome reports as evidence; less for an untrusted agent."""
        standing = self.space.trust.score_of(self.stack, self.agent_id)
        if standing is None or standing >= NEUTRAL:
            return 1.0
        return weight_of_outcome(standing, self.space.evidence.outcomes_by(row["id"], self.agent_id))

    def split(self, record: str, reason: str = "", *, revert: bool = False) -> str:
        """Make a restatement a memory of its own again, and take back what it counted; returns the other memory's id.

        Args:
            record: the id of the restatement, as `Brain.verdict` and `sb memory show` have it.
            revert: merge it into the same memory again.

        Raises:
            NotFoundError: there is none that this agent sees. ValueError: it is no restatement, or was not split.
            DeniedError: as `forget` says, of either.
        """
        from sb.memory.gate.splitting import split

        row = self._changeable_row(record, states=(ACTIVE if revert else SUPERSEDED,))
        number = self.space.evidence.memory_of(row["id"])
        memory = None if number is None else self.space.records.row(number)
        if memory is None:
            raise ValueError(f"{row['uid']} is no restatement of a memory")
        into = self._changeable_row(memory["uid"], states=(ACTIVE,) if revert else (ACTIVE, FORGOTTEN))
        for item in (row, into):
            self.writer.record_writer.check_trusted(item)
        split(self.writer, row, into, reason, revert=revert)
        return str(into["uid"])

    def forget(self, record: str, reason: str = "") -> None:
        """Remove a memory from every search until it is recovered.

        Raises:
            NotFoundError: there is none that this agent sees. ValueError: it is protected. DeniedError: it is withheld, or
                one that is trusted more wrote it.
        """
        row = self._changeable_row(record)
        if row["protected"]:
            raise ValueError(
                f"{row['uid']} is protected: lift that first, with sb memory protect ID --lift --reason WHY"
            )
        self.writer.record_writer.check_trusted(row)
        self.writer.change(row, FORGET, "forget", reason)

    def recover(self, record: str, reason: str = "") -> None:
        """Recover a forgotten memory, as strong as it was.

        Raises:
            NotFoundError: this agent has forgotten no such memory. DeniedError: as `forget` says.
        """
        row = self._changeable_row(record, states=(FORGOTTEN,))
        self.writer.record_writer.check_trusted(row)
        self.writer.change(row, recovered(self.space.records.history(row["id"])), "recover", reason)

    def protect(self, record: str, protected: bool = True, reason: str = "") -> None:
        """Protect a memory from being forgotten, or no longer.

        Raises:
            NotFoundError: there is none that this agent sees. DeniedError: as `forget` says.
        """
        row = self._changeable_row(record)
        self.writer.record_writer.check_trusted(row)
        self.writer.change(row, {"protected": int(protected)}, "protect", reason)
