"""Probes of the "policy-governed" controls about personal data: classification, and what is kept of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import StringIO

from sb.base.classification import Sensitivity, classify
from sb.config.scope_patterns import ANY
from sb.config.scopes import scopes_of
from sb.harness.harness import Harness
from sb.harness.probes.spans import Spans
from sb.kernel.harness_audit import Check
from sb.memory.erasure import MEMORY_ERASED, erase
from sb.memory.personal_data import REDACT
from sb.memory.retention import overdue
from sb.runtime import Runtime

NAME, NUMBER = "Quixotrope", "0171-5550199"
QUESTION = "How can Quixotrope be called?"
PARTS = (b"quixotrop", b"5550199")  # the stem in the index, and what else is told apart


MAIL = "quixote@posteo.de"
SENTENCE = f"Quixote reads his letters at {MAIL} after lunch."
DAYS = 30
_DAY_S = 86_400
_KEY = "AKIA" + "Q4X7TPLM2WZRD5NY"
_CARD, _IBAN = "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"
_LOOK_ALIKES = (
    "the order 4111 1111 1111 1112 was packed",  # fails its check digit
    "version 4.2.1.7 is out",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
)


def data_classification(h: Harness) -> Iterator[Check]:
    """HA-08."""
    plain = classify("The meeting about the garden was moved to Friday.")
    seen = f"{plain.sensitivity.name}, {len(plain.findings)} findings"
    yield Check("plain", plain.sensitivity == Sensitivity.INTERNAL, f"classify: {seen}")

    texts = (f"{MAIL} or +49 171 5550199", f"card {_CARD}", f"account {_IBAN}", f"the key is {_KEY}")
    classes = [classify(text).sensitivity for text in texts]
    wanted = [Sensitivity.PERSONAL, Sensitivity.PAYMENT, Sensitivity.PAYMENT, Sensitivity.SECRET]
    labels = classify(texts[0]).labels
    ok = classes == wanted and labels == ("email", "phone")
    yield Check(
        "sensitive", ok, f"classify: {', '.join(class_.name for class_ in classes)}; {' and '.join(labels)}"
    )

    raised = [label for text in _LOOK_ALIKES for label in classify(text).labels]
    yield Check("lookalikes", not raised, f"classify: {raised} in {len(_LOOK_ALIKES)} look-alikes")

    mixed = [classify(f"{MAIL}, {_IBAN}{rest}").sensitivity for rest in ("", f", {_KEY}")]
    ok = mixed == [Sensitivity.PAYMENT, Sensitivity.SECRET]
    yield Check("highest", ok, f"classify: {' and then '.join(item.name for item in mixed)}")


def privacy(h: Harness) -> Iterator[Check]:
    """HA-09."""
    with h.open() as runtime:
        yield _erased(h, runtime)
    with h.open({"memory.personal_data_readers": ("ada",)}) as runtime:
        record = runtime.brain("ada", scope="project:a").remember(SENTENCE)
        own, other = (runtime.brain(name, scope="project:a").get(record).content for name in ("ada", "bob"))
        ok = own == SENTENCE and other == SENTENCE.replace(MAIL, "[redacted:email]")
        yield Check("redacted", ok, f"Brain.get: {own!r} and for others {other!r}")
        erase(runtime.brain("ada").space, runtime.log, [record], actor="grace", reason="tried")
    yield _logged(h)
    yield _past_retention(h)


def _logged(h: Harness) -> Check:
    """Written, asked for and given to a tool, in a scope that keeps none: in no file, no span and no log line."""
    spans, lines = Spans(), StringIO()
    handler = logging.StreamHandler(lines)
    logging.getLogger().addHandler(handler)
    try:
        with h.open(
            {"memory.scopes": scopes_of({"project:b": {"personal_data": REDACT}})},
            tracer_provider=spans.provider,
        ) as runtime:
            brain = runtime.brain("ada", scope="project:b")
            brain.remember(SENTENCE)
            found = brain.search(f"who reads {MAIL}")
            sent = h.tool(runtime, "probe.mail", lambda to="": "sent")
            runtime.executor.execute(h.context("ada"), "probe.mail", {"to": MAIL})
    finally:
        logging.getLogger().removeHandler(handler)
    files = [path for path in h.folder.rglob("*") if path.is_file() and MAIL.encode() in path.read_bytes()]
    attributes = [str(dict(span.attributes or {})) for span in spans.of("probe.mail")]
    ok = (
        bool(found)
        and sent.called == 1
        and not files
        and MAIL not in "".join((lines.getvalue(), *attributes))
    )
    seen = f"{len(files)} files, {lines.getvalue().count(MAIL)} log lines, {sum(MAIL in attribute for attribute in attributes)} spans"
    return Check("logged", ok, f"{seen} hold it; found {len(found)}x, tool called {sent.called}x")


def _past_retention(h: Harness) -> Check:
    """Before its time it stays; after it, it is gone, and what is protected stays."""
    settings = {"memory.scopes": scopes_of({"project:c": {"retention": {ANY: DAYS * _DAY_S}}})}
    with h.open(settings) as runtime:
        brain = runtime.brain("ada", scope="project:c")
        old, protected = brain.remember("the lamp is white"), brain.remember("the lamp is lit")
        brain.protect(protected)
        early = overdue(brain.space, runtime.config.memory, h.clock.now())
        h.clock.sleep(DAYS * _DAY_S)
        late = overdue(brain.space, runtime.config.memory, h.clock.now())
        due = [item.id for item in late if not item.protected]
        erase(brain.space, runtime.log, due, actor="grace", reason="past its time")
        found = {hit.id for hit in brain.search("lamp")}
        ok = not early and due == [old] and found == {protected}
        seen = f"{len(early)} before and {len(due)} after {DAYS} days; {len(found)} found, the protected one"
        return Check("retention", ok, f"overdue: {seen}")


def _erased(h: Harness, runtime: Runtime) -> Check:
    """Out of what is found and out of the bytes of all files: its former text too, and the question that found it."""
    brain = runtime.brain("ada", scope="project:a")
    record = brain.entity(NAME, "person", observations=[f"called from {NUMBER}"])
    brain.entity(NAME, "person", observations=["moved away"])
    neighbour = brain.remember("They want to be called about the garden.")
    asked = [hit.id for hit in brain.search(QUESTION)]
    before = _parts(h), _vectors(runtime)
    erase(brain.space, runtime.log, [record], actor="grace", reason="the person asked for it")
    after = _parts(h), _vectors(runtime)  # before it is asked for again, which is on record as well
    found = [hit.id for hit in brain.search(QUESTION)]
    tombstone = brain.space.records.find(record)
    left = tombstone is not None and (tombstone["state"], tombstone["text"]) == ("erased", "")
    by = [(event.payload or {}).get("by") for event in runtime.log.events(kind=MEMORY_ERASED)]
    ok = (before, after) == ((len(PARTS), 2), (0, 1)) and left and by == ["grace"]
    ok = ok and record in asked and record not in found and neighbour in found
    seen = f"{before[0]} of its words in the files before and {after[0]} after, {before[1]} vectors and {after[1]}"
    found_again = "found" if record in found else "not found"
    seen += f"; {found_again}; {'a tombstone' if left else 'no tombstone'}, by {', '.join(map(str, by))}"
    return Check("erased", ok, f"erase: {seen}")


def _parts(h: Harness) -> int:
    """The number of these words in any file of the home."""
    files = [path.read_bytes().lower() for path in h.folder.rglob("*") if path.is_file()]
    return sum(any(part in content for content in files) for part in PARTS)


def _vectors(runtime: Runtime) -> int:
    return int(runtime.database.query("SELECT count(*) FROM vectors")[0][0])
