"""A session that runs every command with `--json` in a home where much has happened."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evals.docs import commands
from sb.config import current_config
from sb.kernel import RunContext, SafetyClass
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.protocols.types import MemorySuggestion, RawEntry
from sb.runtime import open_runtime
from sb.runtime.parts import open_log, open_proposals
from sb.stack import SQLiteStack
from tests.conftest import CommandLine, Outcome, approve_tools
from tests.hosts.install.conftest import seed
from tests.hosts.transcripts import written

LEAVES = {
    words.removeprefix("sb "): command
    for words, command in commands()
    if not getattr(command, "commands", None)
}
WITH_JSON = {
    name: command
    for name, command in LEAVES.items()
    if any("--json" in parameter.opts for parameter in command.params)
}
BELIEF = "--agent scribe --from"
Look = Callable[[], Any]

HELD = "memory:\n  scopes: {'team:held': {personal_data: escalate, retention: 1s}}\n  signals: {expertise: true}\n"


def documents(done: Outcome) -> list[Any]:
    """The documents that a command printed: one document over several lines, or one on each line."""
    whole = done.out.startswith("{\n")
    return [json.loads(text) for text in ([done.out] if whole else done.out.splitlines())]


@dataclass
class Session:
    """Runs command lines, and keeps what each command printed.

    Args:
        look: taken before and after each command; tells whether it wrote.
        made: what hooks run from.
        wrote: the lines of each command after which it differed.
    """

    sb: CommandLine
    look: Look
    made: Path
    outcomes: dict[str, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    wrote: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __call__(self, line: str, *codes: int) -> Any:
        """The last JSON document of a command, which has to end with one of the codes, by default 0."""
        before = self.look()
        done = self.sb(*shlex.split(line), "--json")
        name = max((name for name in WITH_JSON if f"{line} ".startswith(f"{name} ")), key=len)
        assert done.code in (codes or (0,)), f"sb {line}: {done.code} {done.out[:400]}{done.err}"
        if self.look() != before:
            self.wrote[name].append(line)
        self.outcomes[name].append(done)
        return documents(done)[-1]

    def ids(self, line: str, key: str = "id") -> list[Any]:
        return [item[key] for item in self(line)["items"]]


def in_doubt(tool: str = "mail.send") -> str:
    """A call of which nobody knows whether it happened."""

    def silent(to: str) -> None:
        raise ToolError(ToolErrorCode.TIMEOUT, f"no answer from {to}")

    with open_runtime() as runtime:
        runtime.registry.register_fn(tool, "Send", silent, SafetyClass.NETWORK)
        approve_tools(runtime)
        runtime.executor.execute(RunContext.create("postman"), tool, {"to": "bob"})
    return tool


def step_in_doubt() -> None:
    """A plain step of a workflow of which nobody knows whether it happened."""

    def send() -> None:
        raise TimeoutError

    with open_runtime() as runtime, suppress(TimeoutError):
        runtime.workflows.run("letter", "letter-7", lambda workflow: workflow.step("send", send))


def decisions(sb: Session, home: Path) -> None:
    """Requests, grants, reversals and calls with unknown outcomes."""
    asked = {item["tool_id"]: item["id"] for item in sb("approvals list")["items"]}
    request, mail = asked.pop("shell.run"), asked.pop("shop.mail")
    sb(f"approvals deny {mail} --reason no")
    (reversal,) = asked.values()
    sb(f"approvals show {request}")
    sb(f"approvals show {reversal} --full")
    escalation = sb.ids("recovery list")[0]
    sb(f"recovery show {escalation}")
    sb("approvals watch --once")
    sb("watch --once")
    sb(f"approvals deny {request} --reason no")
    sb(f"recovery approve {escalation} --reason 'it was shipped'")
    sb('kernel run shell.run --agent clerk --args \'{"argv": ["ls"]}\'', 4)
    waiting = sb.ids("approvals list")[0]
    sb(f"approvals approve {waiting} --reason fine")
    sb(f"approvals revoke {waiting} --reason 'not after all'")
    config = home / "config.yaml"
    config.write_text(
        config.read_text("utf-8") + "policy:\n  - approve: files.write\n" + HELD, encoding="utf-8"
    )
    write = 'kernel run files.write --agent clerk --args \'{"path": "a.txt", "content": "x"}\''
    sb(write, 4)
    waiting = sb.ids("approvals list")[0]
    sb(f"approvals approve {waiting} --reason fine --until 1h --arg path=a.txt")
    sb(write)
    sb("kernel run nope --agent clerk", 1)
    grant = sb.ids("approvals grants --all")[0]
    sb(f"approvals revoke {grant[:12]} --reason over")
    sb("approvals grants --all")
    sb("approvals list --all")
    in_doubt()
    doubtful = sb("recovery list")["in_doubt"][0]["call_id"]
    sb("status")
    sb(f"recovery settle {doubtful} done --reason 'bob has it'")
    step_in_doubt()
    sb("workflow list")
    sb("workflow show letter-7")
    sb("workflow settle letter-7 send done --reason 'bob has it'")
    sb("recovery watch --once")
    sb("recovery list --all")
    planned(sb, home)


def planned(sb: Session, home: Path) -> None:
    """A run of an agent that waits for a person, goes on, and is stopped."""
    plan = home.parent / "plan.yaml"
    step = "{tool: files.write, ask: why, args: {path: plan.txt, content: x}}"
    plan.write_text(f"agent: clerk\nsteps: [{step}]\n", encoding="utf-8")
    sb(f"agent run plan --plan {plan} --dry-run")
    run = sb(f"agent run plan --plan {plan}", 4)["workflow_id"]
    sb("agent list")
    sb(f"agent show {run}")
    waiting = sb.ids("approvals list")[0]
    sb(f"approvals approve {waiting} --reason fine")
    sb(f"agent resume {run}")
    sb(f"agent stop {run} --reason over")


def reversals(sb: Session) -> None:
    sb("undo --list")
    sb("undo --list --all")
    sb("undo last --dry-run")
    sb("undo show last")
    sb("undo last --yes --reason 'not wanted'")
    sb("undo --purge --yes")


def looking_back(sb: Session) -> None:
    sb("log verify")
    sb("log tail -n 1")
    sb("log tail -n 30")
    sb("log search tool:files.read --limit 3")
    call = sb("log tail -n 1 --tool files.read")["call_id"]
    sb(f"log show {call}")
    sb("log prune --older-than 1d --dry-run")
    sb("log prune --older-than 1d --yes --reason old")
    sb("kernel runs")
    sb("kernel policy check")
    sb("kernel policy explain files.read")
    sb("kernel policy explain files.write --agent clerk", 4)
    sb("kernel policy replay")
    for line in ("info", "namespaces", "tools"):
        sb(f"kernel {line}")


def checks(sb: Session, folder: Path) -> None:
    sb("doctor")
    sb("doctor --fix --yes")
    sb("config show")
    sb("config show files.roots")
    sb("config organization")
    sb("config check", 0, 1)
    (folder / "sb.yaml").write_text("safety_mode: safe\n", encoding="utf-8")
    sb("config trust --yes")
    (folder / "sb.yaml").unlink()
    sb("explain ls")
    sb("explain 'rm -rf build'", 4)
    sb("commands")
    sb("filters save mine agent:clerk")
    sb("filters list")
    sb("filters delete mine")
    sb("credentials list")
    sb("credentials check billing", 1)
    (folder / "page.txt").write_text("The parcel comes on Monday.", encoding="utf-8")
    sb(f"red-team check {folder / 'page.txt'}", 0, 1)
    sb("red-team list")
    (folder / "facts.json").write_text('["The vault is blue."]', encoding="utf-8")
    sb(f"memory import {folder / 'facts.json'} --from json --dry-run")
    token = sb("serve token create clerk --reason laptop")["id"]
    sb("serve token list")
    sb(f"serve token revoke {token} --reason lost")
    sb("memory denied")
    sb("replay capture clerk")
    sb("kernel run files.list --agent clerk", 0, 1, 2, 3, 4)
    captured = sb.ids("replay list", "run_id")
    sb(f"replay run {captured[0]}", 0, 1)
    sb(f"replay diff {captured[0]} {captured[0]}")
    sb(f"outcome accept {captured[0]} --workflow files")
    sb(f"outcome reject {captured[0]} --reason 'the wrong folder'")
    sb("outcome list")
    sb(f"outcome show {captured[0]}")
    sb("tokenomics report")
    sb(f"replay delete {captured[0]} --yes")
    sb("harness audit --only HA-01 --write-baseline audit.json", 0, 1, 2)
    sb("harness audit --only HA-01 --live --baseline audit.json", 0, 1, 2)
    sb("migrate")
    sb("migrate --status")
    sb("migrate --dry-run")
    sb("backup copy --all")
    for line in ("tools", "mismatches", "show kernel shop.label"):
        sb(f"runtime-guard {line}", 0, 1)
    sb("runtime-guard snapshot --yes --reason reviewed")
    sb("runtime-guard approve-contract kernel shop.label --yes --reason reviewed")


def charters(sb: Session) -> None:
    folder = current_config().home.charters
    folder.mkdir()
    (folder / "scribe.yaml").write_text(
        "agent: scribe\npurpose: Writes.\nowner: ana\nreview_by: 2099-01-01\nintents: {allow: [note.*]}\n",
        encoding="utf-8",
    )
    sb("agent charter approve scribe --yes --reason reviewed")
    sb("agent charter list")
    sb("agent charter show scribe")
    sb("agent charter check scribe --intent note.write")
    config = current_config().home.config_file
    before = config.read_text("utf-8")
    config.write_text(f"release: {{check: observe}}\n{before}", encoding="utf-8")
    sb("kernel run files.read --agent scribe", 1)
    config.write_text(before, encoding="utf-8")
    sb("release pin scribe --yes --reason evaluated")
    sources = current_config().home.context_sources
    sources.write_text("wiki: {owner: ana, uris: [wiki/*], ttl: 1d, trust: 0.5}\n", encoding="utf-8")
    sb("sources list")
    sb("sources check wiki/refunds")
    for line in ("list", "show scribe", "diff scribe"):
        sb(f"release {line}")


def evaluations(sb: Session) -> None:
    Path("shop_agent.py").write_text(
        "def run(text, *, tools):\n    tools.execute('files.list', {'path': '.'})\n    return 'hello'\n",
        encoding="utf-8",
    )
    given = "--agent python:shop_agent:run"
    sb(f"agent eval init {given} --input hello")
    sb("agent eval run evals --list")
    sb(f"agent eval run evals {given} --save-baseline baseline.json", 0, 1)
    sb(f"agent eval run evals {given} --baseline baseline.json --repeat 2", 0, 1)
    sb("agent eval diff baseline.json last", 0, 1)
    sb("agent eval convert evals/first.yaml --to promptfoo.yaml")


def stops(sb: Session) -> None:
    charters(sb)
    sb("incident open disk --severity sev2 --kill agent:scribe --reason 'it filled up'")
    incident = sb.ids("incident list")[0]
    sb(f"incident show {incident}")
    sb(f"incident close {incident} --reason 'it was cleaned'")
    sb("incident list --all")
    sb("kill agent:clerk --reason 'it refunds'")
    sb("kill list")
    sb("status")
    sb("kill agent:clerk --lift --reason mended")
    sb("kill agent:scribe --lift --reason mended")


def levels(sb: Session) -> None:
    """Autonomy that fell, and is signed back."""
    with closing(open_log(current_config())) as log, log.write() as write:
        levels = open_proposals(current_config(), log).levels
        levels.fall(write, "scribe", "", "files.write", "", "it was denied", safety=False)
    sb("autonomy show")
    proposal = sb.ids("autonomy proposals --agent scribe")[0]
    sb("autonomy proposals --all")
    sb(f"autonomy sign {proposal[:9]} --as ana --reason 'a rule was wrong'")
    sb("autonomy sign prop_0000 --as ana --reason x", 1)
    sb("autonomy freeze scribe files.write --reason 'an audit'")
    sb("autonomy unfreeze scribe files.write --as ana --reason over")
    sb("autonomy evaluate scribe 0.9 --as ana --reason 'CI run 812'")
    sb("autonomy history")


def people(sb: Session, folder: Path) -> None:
    sb("operator init ana --no-passphrase --yes")
    sb("operator add ben --no-passphrase --as ana --reason two")
    sb("operator list")
    levels(sb)
    policy = folder / "policy.yaml"
    policy.write_text("organization: Example\nversion: 1\nsettings: {safety_mode: safe}\n", encoding="utf-8")
    sb(f"config sign {policy} --as ana")
    sb("operator whoami")
    sb("operator rotate ben --no-passphrase --reason spring")
    sb("operator revoke ben --as ana --reason left")


def memories(sb: Session) -> None:
    fact = sb("memory remember 'postgres is the database' --agent scribe --category convention")["id"]
    sb("memory decide 'use postgres' 'everybody knows it' --agent scribe")
    sb("memory log released --agent scribe")
    sb("memory entity shop project --observed large --agent scribe")
    sb("memory entity postgres tool --agent scribe")
    sb("memory relate shop depends_on postgres --agent scribe")
    for line in ("search postgres", "search postgres --explain", "think postgres", "stats", "graph shop"):
        sb(f"memory {line}")
    sb("memory handoff goal state next --agent scribe")
    sb("memory orient --agent scribe")
    sb("memory resume --agent scribe", 0, 1)
    sb("memory wrap-up done --goal g --agent scribe")
    for verb in ("show", "history", "why"):
        sb(f"memory {verb} {fact}")
    for verb in ("protect", "protect --lift", "forget", "recover"):
        sb(f"memory {verb} {fact} --reason 'as agreed'")
    disk = sb("memory remember 'The large disk of the shop was removed.' --agent scribe")["id"]
    sb("memory remember 'The large disk of the shop was deleted.' --agent scribe")
    restatement = sb(f"memory show {disk}")["restatements"][0]["id"]
    for back in ("", " --revert"):
        sb(f"memory split {restatement} --reason 'as agreed'{back}")
    sb("memory gate 'postgres is our database' --agent scribe --category convention")
    sb(f"memory outcome {fact} --reason 'it answered'")
    sb(f"memory correct {fact} 'sqlite is the database' --reason moved --yes")
    (collapse,) = sb("memory collapses")["items"]
    sb(f"memory revert {collapse['id']}")
    sb("memory collapses")
    for port in (80, 81):
        sb(f"memory remember 'The port of staging is {port}' --agent scribe")
    conflict = sb.ids("memory conflicts list")[0]
    side = sb(f"memory conflicts show {conflict}")["sides"][0]["id"]
    sb(f"memory conflicts resolve {conflict} {side} --reason asked")
    sb(f"memory conflicts revert {conflict} --reason rumour")
    for view in ("list", "show expertise", "log"):
        sb(f"memory signals {view}")
    sb("memory fading")
    sb("memory knows scribe 'which database'")
    base = sb("memory remember 'the vendor answers on Fridays' --agent scribe --force")["id"]
    for text, verb in (("Mondays", "dismiss"), ("Tuesdays", "accept")):
        sb(f"memory protect {base} --reason 'as agreed'")
        sb(f"memory correct {base} 'the vendor answers on {text}' --agent scribe --reason r --yes")
        (waiting,) = sb("memory pending list")["items"]
        sb(f"memory pending show {waiting['id']}")
        sb(f"memory pending {verb} {waiting['id']} --reason 'as agreed' --yes --as ana")
    trigger = sb("memory trigger create 'billing schema' 'read the runbook' --agent scribe")["id"]
    sb("memory trigger check 'billing schema' --agent grace")
    sb(f"memory trigger show {trigger}")
    trigger = sb("memory trigger create '' 'run the tests' --path 'src/**' --expires 30d --agent scribe")[
        "id"
    ]
    sb(f"memory trigger snooze {trigger} 7d --reason 'after the release'")
    sb(f"memory trigger retire {trigger} --reason 'nobody heeds it'")
    sb("memory trigger list")
    lesson = sb("memory lesson add 'npm run biuld' 'the script is called build' --agent scribe")["id"]
    sb("memory lesson list")
    sb(f"memory lesson show {lesson}")
    sb(f"memory lesson confirm {lesson} --reason 'it was so'")
    sb(f"memory lesson retire {lesson} --reason 'it was renamed'")
    sb("memory access --scope project:shop --agent scribe")
    sb("memory calibrate")
    sb("memory tidy")
    sb("memory export m.sbmem --as ana")
    sb("memory import m.sbmem --verify-only")
    sb("memory import m.sbmem")
    sb(f"memory erase {fact} --reason asked --yes --as ana")
    sb("memory remember 'call +49 171 5550199' --agent scribe --scope team:held")
    sb("memory pii list")
    sb("memory pii erase --label phone --reason asked --yes --as ana")
    sb("memory forget-subject grace --reason asked --yes --as ana")
    sb("memory retention")
    sb("memory retention --apply --yes --as ana")


def selves(sb: Session, folder: Path) -> None:
    """Entities, stacks, trust, suggestions and checkpoints."""
    episode = sb("entity episode 'ship it' 'it shipped' --lesson small --agent scribe")["id"]
    belief = sb(f"entity belief 'tests help' --confidence 0.9 {BELIEF} episode:{episode}")["id"]
    sb(f"entity value care always --priority 80 {BELIEF} belief:{belief}", 1)  # only suggested
    sb(f"entity goal faster --priority high {BELIEF} belief:{belief}", 0, 1)
    sb("entity note 'remember this' --agent scribe")
    sb(f"entity relationship Ana --trust 0.8 --type person {BELIEF} episode:{episode}")
    sb("entity raw 'some text' --agent scribe")
    drive = f"drive curiosity {BELIEF} belief:{belief} --intensity"
    sb(f"entity {drive} 0.5")
    for line in ("search tests", "load", "status"):
        sb(f"entity {line} --agent scribe")
    sb("stack create research")
    shown = "list", "show default", "search default tests", "load default", "maintain default"
    for line in (*shown, "make default summary 2020s"):
        sb(f"stack {line}")
    sb("stack export default s.db")
    sb(f"entity {drive} 0.9")
    assert sb.sb("--db", str(folder / "s.db"), "entity", *shlex.split(f"{drive} 0.1")).code == 0
    sb("stack sync default s.db", 0, 1)
    for conflict in sb("stack conflicts default")["items"]:
        sb(f"stack resolve default {conflict['id']} --keep local --reason newer")
    sb("stack import s.db --stack copied", 0, 1)
    sb("trust set Ana code 0.9")
    sb("trust list")
    sb("trust show Ana")
    suggestions(sb)
    quarantine(sb)
    sb("checkpoint save --agent scribe --stack default --message first")
    first = sb.ids("checkpoint list --agent scribe", "checkpoint_id")[0]
    sb("checkpoint save --agent scribe --stack research")
    sb(f"checkpoint show {first} --agent scribe")
    sb(f"checkpoint diff {first} --agent scribe")
    sb(f"checkpoint restore {first} --dry-run --reason look")
    sb(f"checkpoint restore {first} --yes --reason back --as ana")


def suggestions(sb: Session) -> None:
    stack = SQLiteStack("default", current_config().database, components=[])
    raw = stack.save_raw(RawEntry("raw-1", "default", "caches that never expire serve what is old"))
    made = [
        stack.save_suggestion(
            MemorySuggestion(
                name,
                "default",
                "belief",
                {"statement": f"caches of {name} that never expire serve what is old"},
                0.9,
                [raw],
            )
        )
        for name in ("sug-1", "sug-2")
    ]
    sb("suggestions list")
    sb(f"suggestions show {made[0]}")
    sb(f"suggestions accept {made[0]} --reason true")
    sb(f"suggestions dismiss {made[1]} --reason false")


def quarantine(sb: Session) -> None:
    for number in range(2):
        sb(f"memory remember 'page {number} says: pay now' --source web-page")
    sb("quarantine list")
    sb("memory remember 'the vendor allows 100 requests'")
    first, second = sb.ids("quarantine list")
    sb(f"quarantine show {first}")
    sb(f"quarantine release {first} --reason checked --yes --as ana")
    sb(f"quarantine add {first} --reason doubtful --yes --as ana")
    sb(f"quarantine purge {second} --reason spam --yes --as ana")


def hosts(sb: Session, user: Path) -> None:
    note = user / "shop" / "note.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("Ask first.\n", encoding="utf-8")
    wrote = ("Write", {"file_path": str(note), "content": "Ask first.\n"})
    written.claude_code(user, str(user / "shop"), [("Bash", {"command": "terraform destroy"}), wrote])
    sb(f"blame {note}:1")
    sb("memory import --from claude-code --as ana")
    sb(f"memory prune --session {written.SESSION} --yes --as ana")
    sb("scan --host claude-code --since 5200w")
    seed(current_config().home, sb.made)
    sb("install claude-code --dry-run --yes")
    sb("install claude-code --yes")
    sb("approvals servers claude-code")
    sb("uninstall claude-code --dry-run --yes")
    sb("uninstall claude-code --yes")
    sb("install agents-md --yes")
    sb("uninstall agents-md --yes")


def run_all(sb: Session, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[str]:
    """Run everything in `folder`, which is the current one, with HOME in it."""
    home = folder / "demo" / "home"
    sb("status")
    sb("init")
    sb("demo demo")
    monkeypatch.setenv("SB_HOME", str(home))
    sb("status")
    decisions(sb, home)
    reversals(sb)
    looking_back(sb)
    checks(sb, folder)
    stops(sb)
    evaluations(sb)
    people(sb, folder)
    memories(sb)
    selves(sb, folder)
    hosts(sb, folder / "user")
    sb("demo other")
    monkeypatch.setenv("SB_HOME", str(folder / "other" / "home"))
    escalation = sb.ids("recovery list")[0]
    sb(f"recovery dismiss {escalation} --reason 'they may keep it'")
    sb("recovery invalidate order_not_shipped:1002 --reason 'it was shipped'", 0, 1)
    for verb in ("encrypt", "decrypt"):
        sb(f"store {verb} --yes", 2)  # no key is named; with one: tests/store/test_encryption.py
    yield from sorted(set(WITH_JSON) - set(sb.outcomes))
