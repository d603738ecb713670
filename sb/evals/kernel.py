"""The kernel that governs an agent in an eval: a temporary home of its own, a clock, ids, and who approves."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.sources import SYSTEM_CLOCK, Clock, CountingIds
from sb.base.values.canonical import digest
from sb.config import Config, Home, load_config
from sb.errors import CheckFailed, ConfigError, SBError
from sb.evals.case_charter import put_charter
from sb.evals.suite import Setup, Suite
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.authority.signing import Label
from sb.kernel.calls.call import ToolCall
from sb.kernel.execution.executor import Person
from sb.kernel.policy.patterns import matches
from sb.kernel.release_tuple.release import ReleaseTuple
from sb.kernel.replay.shelf import EVERY_AGENT
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_packets, open_releases

WORK, HOME = "work", "home"  # in the folder of an attempt
_RELEASE = "release.json"  # in a template, once it is whole
BEGIN = 1_800_000_000.0  # seconds since the epoch, at which every attempt begins
AGENT = "default"  # whose runs they are, unless the suite's configuration names one agent alone
_SETUP_BEFORE_S = 3600.0  # what a case finds is as old as this
_PERSON = Label("eval")
_WHY = "approved for the eval"


class EvalClock:
    """A clock that begins at the same moment in every attempt, and then goes on as time does."""

    monotonic = staticmethod(time.perf_counter)
    sleep = staticmethod(time.sleep)

    def __init__(self, begin: float = BEGIN) -> None:
        self._offset = begin - time.perf_counter()

    def now(self) -> float:
        return self._offset + time.perf_counter()


class SeededIds:
    """Ids and chance that a seed decides."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def token(self, size: int) -> str:
        with self._lock:
            return self._random.randbytes(size).hex()

    def random(self) -> float:
        with self._lock:
            return self._random.random()


def answer_request(approvals: Approvals, approval_id: str, approve: tuple[str, ...]) -> None:
    """Answer a request of the agent: approve a call of a tool that fits a glob, and deny any other."""
    request = approvals.get(approval_id)
    if any(matches(glob, request.tool_id) for glob in approve):
        approvals.approve(approval_id, _PERSON, _WHY, displayed=approvals.disclose(request).digest)
    else:
        approvals.deny(approval_id, _PERSON, "the case's setup.approve does not name this tool")


def person_of(approve: tuple[str, ...]) -> Person:
    """The person who answers the agent's requests as they open."""

    def decide(approvals: Approvals, approval_id: str, call: ToolCall) -> bool:
        answer_request(approvals, approval_id, approve)
        return True

    return decide


def environment(home: Path, **more: str) -> dict[str, str]:
    """The process environment of an agent: that of this process, with another home and nothing else of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SB_")} | {
        "SB_HOME": str(home),
        **more,
    }


def approve_contracts(runtime: Runtime) -> None:
    """Approve the contracts of every registered tool, and its way back, as they are now."""
    for store in (runtime.baselines, runtime.reversals):
        live = store.seen.fingerprints(runtime.registry)
        approved = {tool: baseline.fingerprint for tool, baseline in store.latest().items()}
        new = {tool: mark for tool, mark in live.items() if approved.get(tool) != mark}
        if new:
            store.seen.note_all(runtime.registry)
            store.approve(new, _PERSON, _WHY)


class CaseHomes:
    """Makes the home of each attempt, as a copy of one that was made once for all alike.

    Args:
        folder: where the templates are kept, those of earlier runs too.
        real: the home of this process, which no case may reach.
        own_clock: whether kernels run on the eval's clock; False for agents that open them in their own processes.
    """

    def __init__(self, folder: Path, real: Home, *, own_clock: bool = True) -> None:
        self._folder = folder
        self._real = real
        self._own_clock = own_clock
        self._lock = threading.Lock()

    def check(self, suite: Suite) -> None:
        """Make the home without records of a suite, so that a wrong configuration is found before anything runs.

        Raises:
            ConfigError: the suite's configuration is wrong, or reaches the real home.
        """
        config = _load(self._template(suite, Setup()))
        with _of_suite(suite, config.home):
            self._refuse_reach(config, suite)

    def release(self, suite: Suite) -> ReleaseTuple:
        """The release of the agent's runs of a suite."""
        document = json.loads((self._template(suite, Setup()) / _RELEASE).read_bytes())
        return ReleaseTuple.from_document(document)

    def make(self, suite: Suite, setup: Setup, place: Path) -> tuple[Path, Path]:
        """The working folder and the home of an attempt, made in `place`, which must exist.

        Raises:
            SBError: the case's setup cannot be made.
        """
        work, home = place / WORK, place / HOME
        template = self._template(suite, setup)
        shutil.copytree(template / HOME, home)
        home.chmod(0o700)
        work.mkdir()
        _write_files(setup.files, work)
        return work, home

    def _template(self, suite: Suite, setup: Setup) -> Path:
        parts = [self._own_clock, _plain(suite.config), [dict(record) for record in setup.records]]
        if setup.charter:
            parts.append(_plain(setup.charter))
        place = self._folder / f"template-{digest(json.dumps(parts, default=str).encode())[:24]}"
        with self._lock:
            if not (place / _RELEASE).exists():
                self._create(suite, setup, place)
        return place

    def _create(self, suite: Suite, setup: Setup, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)  # of one that failed
        home = Home(place / HOME)
        (place / WORK).mkdir(parents=True)
        home.create()
        home.config_file.write_text(_config_text(suite.config, own_clock=self._own_clock), encoding="utf-8")
        with _of_suite(suite, home):
            config = _load(place)
            self._refuse_reach(config, suite)
        begin = EvalClock(BEGIN - _SETUP_BEFORE_S) if self._own_clock else SYSTEM_CLOCK
        if not self._own_clock:
            open_packets(config).capture(EVERY_AGENT, on=True)
        # A case's records are there before its charter is, which need not let the agent write them.
        opened = replace(config, agent_charters="off") if setup.charter else config
        with open_runtime(opened, clock=begin, ids=CountingIds()) as runtime:
            if runtime.load_failures:
                raise ConfigError(f"{suite.name}: config: {runtime.load_failures[0]}")
            approve_contracts(runtime)
            releases = open_releases(
                _elsewhere(config, place), runtime.log, runtime.executor.approvals.authority, runtime.registry
            )
            release = releases.of_run(runtime.context(agent_name(config)))
            _remember(runtime, setup)
            if setup.charter:
                put_charter(setup.charter, agent_name(config), config, runtime, _PERSON)
        (place / _RELEASE).write_text(json.dumps(release.document()), encoding="utf-8")

    def _refuse_reach(self, config: Config, suite: Suite) -> None:
        """Refuse what would let the agent's tools reach the home of this process, or the suite that grades it."""
        refuse_other_database(config)
        if not _is_below(config.operators.file, config.home.folder) and not config.organization:
            raise ConfigError("operators.file: an eval has a home of its own", "leave operators.file out")
        for path in (self._real.folder, suite.path):
            own = Path(os.path.realpath(path))
            for root in config.files.roots:
                opened = Path(os.path.realpath(root))
                if own.is_relative_to(opened) or opened.is_relative_to(own):
                    raise ConfigError(
                        f"files.roots: {root} would open {path} to the agent", "name a folder without it"
                    )


def refuse_other_database(config: Config) -> None:
    """Refuse a configuration whose database is not the home's own: an eval would write to what is in use.

    Raises:
        ConfigError: a suite or an organization's policy names another one.
    """
    if not _is_below(config.database, config.home.folder):
        origin = config.origin("database")
        raise ConfigError("database: an eval has a home of its own", f"{origin} names {config.database}")


def _is_below(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


@contextmanager
def _of_suite(suite: Suite, home: Home) -> Iterator[None]:
    """Report a fault in a home's configuration as one in its suite's."""
    try:
        yield
    except ConfigError as error:
        reason = error.message.replace(f"{home.config_file}:", "line ")
        raise ConfigError(f"{suite.name}: config: {reason}", error.hint) from None


def agent_name(config: Config) -> str:
    """Whose runs the agent's are: the one agent that the configuration names, else `AGENT`."""
    return next(iter(config.agents)) if len(config.agents) == 1 else AGENT


def open_kernel(
    config: Config, *, seed: int, approve: tuple[str, ...], clock: Clock | None = None, **more: Any
) -> Runtime:
    """The kernel of an attempt, with every contract approved.

    Args:
        approve: as in `Setup`. more: as for `open_runtime`.

    Raises:
        ConfigError: the configuration names the database of another home.
    """
    refuse_other_database(config)
    return open_runtime(
        config, clock=clock or EvalClock(), ids=SeededIds(seed), person=person_of(approve), **more
    )


def home_config(home: Path, work: Path) -> Config:
    """The configuration of an attempt's home."""
    return load_config(env=environment(home), cwd=work, flags={}, with_project=False)


def _elsewhere(config: Config, place: Path) -> Config:
    """The configuration with roots of its own folder by their names: each run's folder has another one."""
    own = Path(os.path.realpath(place))
    roots = [Path(os.path.realpath(root)) for root in config.files.roots]
    named = tuple(root.relative_to(own) if root.is_relative_to(own) else root for root in roots)
    return replace(config, files=replace(config.files, roots=named))


def _load(place: Path) -> Config:
    return home_config(place / HOME, place / WORK)


def _config_text(config: Mapping[str, Any], *, own_clock: bool) -> str:
    """The suite's settings as a configuration file; agents' file tools begin in the working folder."""
    import yaml

    settings = _plain(config)
    if isinstance(settings.get("files", {}), dict):
        settings["files"] = {"roots": [f"../{WORK}"]} | settings.get("files", {})
    if not own_clock:  # tools of another process are met there for the first time
        settings.setdefault("contract_enforcement", "observe")
    return yaml.safe_dump(settings, sort_keys=True)


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(dict(config), default=str))
    return plain


def _remember(runtime: Runtime, setup: Setup) -> None:
    if not setup.records:
        return
    brain = runtime.brain(agent_name(runtime.config))
    for number, record in enumerate(setup.records, 1):
        try:
            brain.remember(**record)
        except (TypeError, ValueError, SBError) as error:
            raise CheckFailed(f"setup.records: record {number}: {one_line(error, 200)}") from None


def _write_files(files: Mapping[str, str], work: Path) -> None:
    for name, content in files.items():
        path = work / name
        if not Path(os.path.normpath(path)).is_relative_to(work) or Path(name).is_absolute():
            raise CheckFailed(f"setup.files: {one_line(name, 100)} is not below the working folder")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        except OSError as error:
            raise CheckFailed(f"setup.files: {one_line(name, 100)}: {error.strerror}") from None
