"""Judge a message's claims by the calls that were made. It is pure: no file is opened, no clock is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from sb.kernel.claims.commands import Command, commands, stripped
from sb.kernel.claims.model import Claim, ClaimCall, ClaimFinding, Verdict
from sb.kernel.claims.patterns import PACK, ClaimKind
from sb.kernel.claims.sentences import readable, sentences

MOST_CLAIMS = 40  # of one message
MOST_CALLS = 5_000  # of which the newest count
_SHOWN = 90  # characters of a command in a reason
_CODE = re.compile(
    r"\.(?:pyi?|[mc]?[jt]sx?|go|rs|java|kts?|rb|php|c|h|cc|cpp|hpp|cs|swift|scala|vue|svelte|exs?|erl|hs|mli?|lua|dart|sql|jl|zig|sol|clj)$"
)
_IN_PLACE = re.compile(r"(?:sed -i|perl -\w*i|patch\b|git (?:apply|revert)\b)")
_NAMED = re.compile(r"[\w./-]*\w\.\w{1,6}\b")
_TEST_FILE = re.compile(
    r"[\w./-]*(?:test|spec)[\w.-]*\.(?:py|[mc]?[jt]sx?|rs|go|rb|java|php)\b", re.IGNORECASE
)
_WHOLE = re.compile(r"\b(?:full|entire|whole|complete) (?:\w+ )?(?:test|suite)", re.IGNORECASE)
_SCOPE = re.compile(
    r"(?:^|\s)(?!-)\S*(?:::|\.(?:py|[mc]?[jt]sx?|rs|go|rb|java|php)\b|/\w)|\s(?:-k|-t|--filter|-run|--grep|--test|-p)[ =]\S"
)
_EXIT = re.compile(r"^\W*(?:process )?exit(?:ed with)? code:?\s+(-?\d+)", re.IGNORECASE | re.MULTILINE)
_GENERIC = frozenset(
    "npm git make python python3 cargo go docker yarn pnpm npx uv bash sh node bun just dotnet php composer kubectl".split()
)
_TEMPORARY = ("/tmp/", "/private/tmp/", "/var/folders/", "/dev/")


class _Result(Enum):
    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    NOTHING = "nothing"  # a run whose failure nobody would see


class _Run(NamedTuple):
    """A call that a kind of claim may be about.

    Args:
        number: of the call. command: what ran. evidence: of a failure.
    """

    number: int
    command: str
    result: _Result
    evidence: str = ""

    @property
    def scoped(self) -> bool:
        """True if it ran a part of what there is."""
        return bool(_SCOPE.search(self.command))

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for runs of the same thing, whatever their options."""
        return tuple(word for word in self.command.split() if not word.startswith("-"))[:6]


def claims(
    message: str, calls: Sequence[ClaimCall], exists: Callable[[str], bool] = lambda path: False
) -> list[ClaimFinding]:
    """The claims of a message with the verdict of the record on each.

    Args:
        calls: in the order in which they were made; denied calls are none.
        exists: whether a file is there; only asked in an agent's favour.
    """
    made = made_claims(message)
    return judge(made, calls, message, exists) if made else []


def made_claims(message: str) -> list[Claim]:
    """The claims of a message, each kind and name once."""
    message = readable(message)
    lowered = message.lower()
    kinds = [kind for kind in PACK.kinds.values() if any(word in lowered for word in kind.words)]
    found: dict[tuple[str, str], Claim] = {}
    for sentence in sentences(message) if kinds else ():
        for kind in kinds:
            claim = _claim(kind, sentence)
            if claim:
                found.setdefault((claim.kind, claim.name), claim)
        if len(found) >= MOST_CLAIMS:
            break
    return list(found.values())


def _claim(kind: ClaimKind, sentence: str) -> Claim | None:
    lowered = sentence.lower()
    if not any(word in lowered for word in kind.words):
        return None
    match = kind.says.search(sentence)
    if not match or kind.unless.search(sentence) or (kind.cancelled and PACK.cancels.search(sentence)):
        return None
    named = match.groupdict()
    name = named.get("name") or named.get("name2") or ""
    if kind.judge == "file" and (not name or "//" in name or "://" in sentence):
        return None
    return Claim(kind.name, sentence, name)


def judge(
    made: Iterable[Claim], calls: Sequence[ClaimCall], message: str, exists: Callable[[str], bool]
) -> list[ClaimFinding]:
    """The verdict on each of these claims."""
    record = _Record(calls[-MOST_CALLS:], message, exists)
    return [record.verdict(PACK.kinds[claim.kind], claim) for claim in made]


class _Record:
    """The calls of a session, and what a claim is to them."""

    def __init__(self, calls: Sequence[ClaimCall], message: str, exists: Callable[[str], bool]) -> None:
        self.calls, self.message, self.exists = calls, readable(message), exists
        self.delegated = any(call.delegated for call in calls)

    def verdict(self, kind: ClaimKind, claim: Claim) -> ClaimFinding:
        judged = {
            "run": self._run, "act": self._act, "file": self._file, "ran": self._ran,
            "others": self._others, "changed": self._changed,
        }  # fmt: skip
        verdict, reason = judged[kind.judge](kind, claim)
        if verdict is Verdict.UNSUPPORTED and (self.delegated or not self.calls):
            verdict, reason = Verdict.UNKNOWN, ""
        return ClaimFinding(claim, verdict, reason)

    # --- runs, whose result counts until code is edited

    def _runs(self, kind: ClaimKind, *, thorough: bool = False) -> tuple[list[_Run], bool]:
        """The runs of a kind since one settled it, oldest first, and whether something else may have been one.

        Args:
            thorough: all runs.
        """
        runs, loose = list[_Run](), False
        settled = (_Result.PASSED,) if kind.judge == "act" else (_Result.PASSED, _Result.UNKNOWN)
        for number in range(len(self.calls) - 1, -1, -1):
            found, may_be = self._runs_of(kind, number)
            runs += found[::-1]
            loose = loose or may_be
            if not thorough and any(run.result in settled for run in found):
                break
        return [run for run in reversed(runs) if run.result is not _Result.NOTHING], loose

    def _runs_of(self, kind: ClaimKind, number: int) -> tuple[list[_Run], bool]:
        call = self.calls[number]
        if not call.is_line:
            about = call.text.partition(" ")[0] if call.read_only else call.text
            words = about.replace("_", " ").replace(".", " ")
            may_be = not call.edits and (kind.supports.match(about) or kind.loose.match(words))
            return ([_Run(number, call.text, *_result(kind, call, None))] if may_be else []), False
        acting = [command for command in commands(call.text) if not command.reads]
        named = [command for command in acting if kind.supports.match(command.text)]
        if named and kind.idle.search(call.output):
            return [], True
        if named:
            return [_Run(number, item.text, *_result(kind, call, item)) for item in named], False
        if acting and any(hint in call.output for hint in kind.hints) and kind.shows.search(call.output):
            failed = kind.contradicts.search(call.output)
            return [_Run(number, call.text, _Result.UNKNOWN if failed else _Result.PASSED)], False
        return [], any(kind.loose.match(command.text) for command in acting)

    def _run(self, kind: ClaimKind, claim: Claim) -> tuple[Verdict, str]:
        whole = kind.name == "tests" and bool(_WHOLE.search(claim.sentence))
        named = _TEST_FILE.search(claim.sentence) if kind.name == "tests" else None
        runs, loose = self._runs(kind, thorough=whole or named is not None)
        if not runs:
            return (Verdict.UNKNOWN, "") if loose else (Verdict.UNSUPPORTED, f"no {kind.call} is on record")
        last = runs[-1]
        passed = [run for run in runs if run.result is _Result.PASSED]
        edit, edited = self._last_edit(passed[-1].number if passed else -1)
        if last.result is _Result.FAILED:
            if kind.name == "tests" and any(run.key != last.key and run.number > edit for run in passed):
                return Verdict.UNKNOWN, ""
            return Verdict.CONTRADICTED, f"the last {kind.call} failed: {_shown(last)}"
        if last.result is _Result.UNKNOWN or not passed:
            return Verdict.UNKNOWN, ""
        if kind.stale and edit > passed[-1].number:
            return (
                Verdict.UNSUPPORTED,
                f"{edited} was changed after the last {kind.call} ({_cut(passed[-1].command)})",
            )
        return self._narrow(kind, runs, named[0] if named else "", whole=whole)

    def _narrow(
        self, kind: ClaimKind, runs: Sequence[_Run], file: str, *, whole: bool
    ) -> tuple[Verdict, str]:
        """The verdict on a claim about one file of tests, or about the whole suite; the last run passed."""
        only = f"only {_cut(runs[-1].command)}"
        stem = file.rsplit("/", 1)[-1].rsplit(".", 1)[0].lower()
        passed = [run for run in runs if run.result is _Result.PASSED]
        if file and not any(not run.scoped or stem in self._said(run) for run in passed):
            return Verdict.UNSUPPORTED, f"no {kind.call} of {_cut(file)} is on record, {only}"
        unscoped = [run for run in runs if not run.scoped]
        if whole and not unscoped:
            return Verdict.UNSUPPORTED, f"no {kind.call} of the whole suite is on record, {only}"
        if whole and unscoped[-1].result is _Result.FAILED:
            return Verdict.CONTRADICTED, f"the last whole {kind.call} failed: {_shown(unscoped[-1])}"
        return Verdict.SUPPORTED, ""

    def _said(self, run: _Run) -> str:
        return f"{run.command} {self.calls[run.number].output}".lower()

    def _last_edit(self, after: int) -> tuple[int, str]:
        """The last change of code that was there before, behind a call; -1 for none."""
        known = {path for call in self.calls[: after + 1] for path in call.writes}
        for index in range(len(self.calls) - 1, after, -1):
            call = self.calls[index]
            if call.ok is False:
                continue
            paths = [path for path in call.writes if _CODE.search(path) and not path.startswith(_TEMPORARY)]
            old = [path for path in paths if path in known or not call.text.startswith(("Write ", "create "))]
            if call.edits and old:
                return index, _cut(old[0].rsplit("/", 1)[-1])
            if call.is_line and _IN_PLACE.match(call.text.strip()) and _CODE.search(call.text.split()[-1]):
                return index, _cut(call.text.split()[-1])
        return -1, ""

    # --- acts, which stay done

    def _act(self, kind: ClaimKind, claim: Claim) -> tuple[Verdict, str]:
        runs, loose = self._runs(kind)
        if not runs:
            return (Verdict.UNKNOWN, "") if loose else (Verdict.UNSUPPORTED, f"no {kind.call} is on record")
        if runs[-1].result is _Result.FAILED:
            return Verdict.CONTRADICTED, f"the last {kind.call} failed: {_shown(runs[-1])}"
        supported = any(run.result is _Result.PASSED for run in runs)
        return Verdict.SUPPORTED if supported else Verdict.UNKNOWN, ""

    # --- files

    def _file(self, kind: ClaimKind, claim: Claim) -> tuple[Verdict, str]:
        name = claim.name.rsplit("/", 1)[-1]
        naming = [
            call for call in self.calls
            if name in call.text or any(path.endswith(name) for path in call.writes)
        ]  # fmt: skip
        wrote = [call for call in naming if call.edits or not (call.read_only or _only_reads(call))]
        if any(call.ok for call in wrote) or any(
            name in call.output for call in self.calls if not call.read_only
        ):
            return Verdict.SUPPORTED, ""
        if wrote and all(call.ok is False for call in wrote):
            return Verdict.CONTRADICTED, f"each call that would change {name} failed"
        if wrote or any(self._may_make(call) for call in self.calls) or self.exists(claim.name):
            return Verdict.UNKNOWN, ""
        return Verdict.UNSUPPORTED, f"no call on record changes {name}"

    def _may_make(self, call: ClaimCall) -> bool:
        """True for a call that may change files which it does not name."""
        if call.known or not call.is_line:
            return not (call.known or call.edits or call.read_only)
        runs = [kind for kind in PACK.kinds.values() if kind.judge == "run"]  # which look at code
        return any(
            PACK.makes.match(command.text)
            for command in commands(call.text)
            if not command.reads and not any(kind.supports.match(command.text) for kind in runs)
        )

    def _others(self, kind: ClaimKind, claim: Claim) -> tuple[Verdict, str]:
        spoken = self.message.lower()
        names = {match[0].rsplit("/", 1)[-1].lower() for match in _NAMED.finditer(self.message)}
        none = bool(re.search(r"\bno files\b", claim.sentence, re.IGNORECASE))
        if not names and not none:
            return Verdict.UNKNOWN, ""
        turn = [call for call in self.calls if call.this_turn]
        for call in turn:
            for path in call.writes:
                base = path.rsplit("/", 1)[-1]
                stem = base.split(".")[0].lower()
                if path.startswith(_TEMPORARY) or (not none and (base.lower() in spoken or stem in spoken)):
                    continue
                return Verdict.CONTRADICTED, f"{_cut(base)} was changed too"
        known = all(call.known or call.edits or _only_reads(call) for call in turn)
        return Verdict.SUPPORTED if known and turn else Verdict.UNKNOWN, ""

    def _ran(self, kind: ClaimKind, claim: Claim) -> tuple[Verdict, str]:
        words = [word for word in stripped(claim.name).split() if not word.startswith("-")]
        program = words[0].rsplit("/", 1)[-1].lower() if words else ""
        if not re.fullmatch(r"[\w.+@:-]{2,60}", program):
            return Verdict.UNKNOWN, ""
        wanted = [program, words[1].lower()] if program in _GENERIC and len(words) > 1 else [program]
        for call in self.calls:
            text = call.text.lower()
            if not call.edits and all(word in text for word in wanted):
                return Verdict.SUPPORTED, ""
        if any(
            call.is_line and re.search(r"\b(?:make|just|npm|yarn|pnpm|bash|sh|tox|nox)\b|\./", call.text)
            for call in self.calls
        ):
            return Verdict.UNKNOWN, ""
        return Verdict.UNSUPPORTED, f"no call on record runs {_cut(claim.name)}"

    def _changed(self, kind: ClaimKind, claim: Claim) -> tuple[Verdict, str]:
        acting = [call for call in self.calls if call.edits or not (call.read_only or _only_reads(call))]
        if any(call.edits and call.ok for call in acting):
            return Verdict.SUPPORTED, ""
        if any(call.ok is not False for call in acting):
            return Verdict.UNKNOWN, ""
        if acting:
            return Verdict.CONTRADICTED, "each call that would change something failed"
        return Verdict.UNSUPPORTED, "no call on record changes anything"


def _result(kind: ClaimKind, call: ClaimCall, command: Command | None) -> tuple[_Result, str]:
    """The end of a run, by its exit code where that is its own, and by what it printed; and the evidence of a failure."""
    if call.ok is None or (command is not None and command.background):
        return _Result.UNKNOWN, ""
    shows, contradicts = kind.shows.search(call.output), kind.contradicts.search(call.output)
    exited = _EXIT.search(call.output)
    ok = call.ok and not (exited and exited[1] != "0")
    own = command is None or not (command.masked or command.ignored)
    evidence = contradicts[0].strip() if contradicts else ""
    if not ok:
        unclear = not own or (shows is not None and contradicts is None)
        return (_Result.UNKNOWN if unclear and not contradicts else _Result.FAILED), evidence
    if contradicts:
        unclear = own or (shows is not None and kind.judge == "act")  # it succeeded, and printed of a failure
        return (_Result.UNKNOWN if unclear else _Result.FAILED), evidence
    if own or shows:
        return _Result.PASSED, ""
    return (_Result.NOTHING if command is not None and command.ignored else _Result.UNKNOWN), ""


def _only_reads(call: ClaimCall) -> bool:
    return call.read_only or (
        call.is_line and ">" not in call.text and all(item.reads for item in commands(call.text))
    )


def _shown(run: _Run) -> str:
    return f"{_cut(run.command)}{f' ({_cut(run.evidence)})' if run.evidence else ''}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
