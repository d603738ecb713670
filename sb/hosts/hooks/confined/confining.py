"""Confinement of a session's shell calls: what each may write is decided here, and held by the system."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from sb.base.secrets.redaction import one_line
from sb.base.sources import Clock
from sb.config import Config
from sb.hosts.confinement import processes, watched
from sb.hosts.confinement.beside import at_once, check_known
from sb.hosts.confinement.bubblewrap import NAME, SHARED_MEMORY
from sb.hosts.confinement.credentials import credentials_of, moved_credentials
from sb.hosts.confinement.engines import Engine
from sb.hosts.confinement.git_config import keys_named
from sb.hosts.confinement.keyed import KeyedCalls
from sb.hosts.confinement.needs import Need
from sb.hosts.confinement.profile import (
    Grounds,
    Profile,
    as_held,
    closed_places,
    contains,
    held_by,
    is_linked,
    is_loose,
    loose,
    make_caches,
    make_profile,
    own_and_private,
    still_held,
    with_modes,
    without_nested,
)
from sb.hosts.confinement.sockets import control_sockets
from sb.hosts.confinement.store import ConfineStore, Made, session_of
from sb.hosts.confinement.symptoms import symptoms_in, without_login
from sb.hosts.confinement.watched import Watch
from sb.hosts.hook_engine import engine_of_hooks
from sb.hosts.hooks import resident
from sb.hosts.hooks.calls.context import NOT_CONFINED, SHELL_PREFIX, JudgingContext
from sb.hosts.hooks.calls.reading import texts
from sb.hosts.hooks.confined.approved_paths import make, remove_unused, within
from sb.hosts.hooks.confined.call import CallRights, Confined, advice
from sb.hosts.hooks.confined.questions import LONGEST, brought_by, movable, put_back_message
from sb.hosts.hooks.confined.session_settings import made_settings, make_settings, remove_settings
from sb.hosts.hooks.event import Finding, HookEvent, Moment
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.runs import Run, Runs
from sb.shell.places.sensitive import decisive_paths
from sb.shell.snapshots.area import project_of_area, temporary_folders
from sb.tools.hosted.contracts import WRITE_CONFIG
from sb.tools.hosted.guarding import confiner_path

if TYPE_CHECKING:
    from sb.store.trees.known_settings import KnownSettings

_ENTERS = "claude-code"
_STARTED_IN = "CLAUDE_PROJECT_DIR"
_HELD_UP = "{} is using the user's keys (wait until it ends, or stop it, then repeat this call)"


class Confining:
    """The confinement of one event's session.

    Args:
        project: the session's at its first event; "" for none.
        looks_only: there is no session: a host is taken to start commands as `sb install` had it, and nothing is tried.
    """

    def __init__(
        self,
        config: Config,
        event: HookEvent,
        context: JudgingContext,
        project: str,
        clock: Clock,
        *,
        looks_only: bool = False,
    ) -> None:
        self._looks_only = looks_only
        self._config = config
        self._event = event
        self._context = context
        self._home = str(context.home)
        self._project = project_of_area(project, self._home)
        self._clock = clock
        self._profiles: dict[tuple[Need, ...], Profile] = {}
        # The call that was asked about last.
        self._judged: tuple[JudgedCall, tuple[str, Confined | None]] | None = None
        self.store = ConfineStore(config.home, clock, session=session_of(os.environ))
        self._keyed = KeyedCalls(self.store, clock)

    @cached_property
    def _run(self) -> Run | None:
        """The run of `sb run` that the event belongs to."""
        return Runs(self._config.home).find(self._event.run) if self._event.run else None

    @property
    def mode(self) -> str:
        return self._config.hooks.confine

    @cached_property
    def engine(self) -> Engine:
        """The engine of this home; while its state cannot be written, commands are refused."""
        if self._looks_only:
            return self.store.known_engine() or engine_of_hooks(self._config.home)
        try:
            return self.store.engine()
        except OSError as error:
            return Engine("", f"what holds commands here cannot be read or written: {error}", unknown=True)

    @property
    def enters(self) -> bool:
        """True where the host starts its commands by `sb-confine`."""
        if self._looks_only:
            return self._event.host == _ENTERS and confiner_path(self._config.home).exists()
        return self._event.host == _ENTERS and os.environ.get(SHELL_PREFIX) == str(
            confiner_path(self._config.home)
        )

    @property
    def holds(self) -> bool:
        """True where this session's commands are confined."""
        return self._run is not None or not self.fault

    @property
    def has_own_processes(self) -> bool:
        """True where confined commands reach no process but those that confined ones have started."""
        if self._run is not None:
            return True
        if not self.holds or self.engine.name != NAME:
            return False
        if not self._looks_only:
            with suppress(OSError):  # what comes of it is noted there
                processes.begin(self.store.folder, self.engine.program)
        return not processes.fault(self.store.folder)

    @property
    def may_run(self) -> bool:
        """True while a command of the session may run; nobody tells of the end of one that is not confined."""
        return self._event.moment is not Moment.SESSION_ENDED and not (
            self.holds and self.engine.holds and not self.store.is_alive()
        )

    @property
    def fault(self) -> str:
        """The reason why this session's commands are not confined, or ""."""
        if self.mode == "off":
            return "hooks.confine = off"
        if not self.enters:
            return f"{self._event.host} does not start its commands through sb-confine"
        return "" if self.engine.holds else self.engine.fault

    def rights(self, call: JudgedCall) -> Confined | None:
        """The permissions of a call; None where it is not confined."""
        if self.mode == "off" or not call.command or call.args.get(NOT_CONFINED) or not self.holds:
            return None
        return self._judge(call)[1]

    def _judge(self, call: JudgedCall) -> tuple[str, Confined | None]:
        """The command beside which a call must not begin, or "" and its permissions."""
        if self._judged is None or self._judged[0] is not call:
            keyed = ""
            if self._run is None and not self._looks_only and self._project:
                folder = str(call.governed.args["cwd"])
                self._keyed.look(self._project)
                keyed = self._keyed.running_beside(self._project, call.command, folder)
            self._judged = call, (keyed, None if keyed else self._rights.judge(call))
        return self._judged[1]

    def finding(self, call: JudgedCall) -> Finding | None:
        """The questions of confinement about a call, or its refusal."""
        if self.mode == "off" or not call.command:
            return None
        if call.args.get(NOT_CONFINED):
            return Finding(f"{NOT_CONFINED} is set (repeat the call without it)")
        if not self.holds:
            return Finding(self._required())
        keyed, confined = self._judge(call)
        if confined is None:
            return Finding(_HELD_UP.format(one_line(keyed, LONGEST)))
        if self._run is not None or confined.refused:
            return Finding(confined.beyond_run if self._run is not None else confined.refused)
        more = (movable(path, self.store.folder) for path in self._lost[:1])
        return Finding(asks=(*self._rights.asks(confined, call), *more))

    def _required(self) -> str:
        """The reason why a call that cannot be confined is refused, or ""."""
        if self.mode == "require":
            return f"hooks.confine = require, and it cannot be confined: {self.fault}"
        return f"it cannot be confined: {self.fault}" if self.enters and self.engine.unknown else ""

    def prepare(self) -> None:
        """Write the profile of the session's folder, for lines that its person types before a first call was judged.

        Raises:
            OSError: SB_HOME/confine cannot be written.
        """
        if self._run is None and self._project and self.holds:
            self.store.set_mode(on=True, required=self.mode == "require")
            # Nothing may be watched yet, so that a process could put a link in the place of what is mounted.
            self._put_profile(self._event.cwd, replace(self.profile_beside_others(), held=(), work=()))

    def open(self, confined: Confined, tree: tuple[str, str] = ("", "")) -> None:
        """Let a call that goes on do what it was judged with, and no more; `tree` as for `ConfineStore.issue`.

        Raises:
            OSError: SB_HOME/confine cannot be written.
        """
        if self._run is not None:
            self._begin_watch(confined)
            return
        self.store.set_mode(on=True, required=self.mode == "require")
        make_caches(self._home, confined.needs)
        default = self._begin_watch(confined)
        if self._project:
            self._keyed.arrive(self._project, confined.command, confined.folder)
        self._put_profile(confined.folder, default)
        if confined.is_plain and not tree[1]:
            self.store.revoke(confined.command, confined.folder)
            return
        new = [path for path in confined.alone if not os.path.lexists(path)]
        alone = [path for path in confined.alone if make(path, wants_folder=path in confined.folders)]
        made = Made(tuple(new), tuple(self._beside(confined)), confined.brought)
        if made != Made():
            self.store.note_made(confined.command, confined.folder, made)
        rest = [path for path in confined.opened if path not in alone]
        profile = without_nested(make_profile(self._grounds, confined.needs, rest), self._lost)
        unreadable = tuple(path for path in profile.unreadable if path not in confined.readable)
        granted = replace(
            profile,
            held=default.held,
            work=(*default.work, *within(alone, profile.read_only)),
            read_only=as_held(profile, default),
            unreadable=unreadable,
            writable=(*profile.writable, *alone),
            passed_over=made_settings((self._project, *self._started)) if confined.cleans else (),
        )
        if confined.modes:
            granted = with_modes(granted, self._project)
        keyed = confined.has_credentials
        if self._project and keyed:
            self._keyed.begin(self._project, confined.command, confined.folder)
        self.store.issue(
            confined.command, confined.folder, granted, outside=bool(confined.outside), keyed=keyed, tree=tree
        )
        try:
            self.check_beside()
            if self._project and keyed:
                self._keyed.check_alone(self._project)
        except BlockingIOError:
            self.withdraw(confined.command, confined.folder)
            raise

    def _put_profile(self, folder: str, profile: Profile) -> None:
        path = self.store.put_profile(folder, profile)
        try:
            self.check_beside()
        except BlockingIOError:
            path.unlink(missing_ok=True)
            raise

    def check_beside(self) -> None:
        """Look again at what other sessions hold, after what is started by this one's profile could be seen by them.

        Raises:
            BlockingIOError: one has begun since the profile was made, and its project could be moved.
        """
        if self.engine.name == NAME:
            folders, known = self.store.held_folders(self._project), self._grounds.others
            check_known(folders, known, self._project, self.profile().writable)

    def profile(self, needs: tuple[Need, ...] = ()) -> Profile:
        """The default profile of the session's commands, with what these programs need; of a run, the run's."""
        if self._run is not None:
            return self._run.profile
        if needs not in self._profiles:
            self._profiles[needs] = make_profile(self._grounds, needs)
        return self._profiles[needs]

    def profile_of_host(self, state: Sequence[str], needs: Iterable[Need]) -> Profile:
        """The profile of a host that is confined as a whole.

        Args:
            state: folders that the host writes. needs: of the programs that it may start.
        """
        return make_profile(replace(self._grounds, writable=[*self._grounds.writable, *state]), needs)

    @cached_property
    def _started(self) -> tuple[str, ...]:
        """The folder in which the host was started, where that is one of the project but not its root."""
        folder = os.path.realpath(os.environ.get(_STARTED_IN) or self._project)
        return (folder,) if folder != self._project and contains(self._project, folder) else ()

    @cached_property
    def _rights(self) -> CallRights:
        home, cwd = self._config.home, self._context.cwd
        return CallRights(self.store, home, self._project, cwd, self._grounds, self.profile)

    @cached_property
    def _grounds(self) -> Grounds:
        home = self._config.home
        own, private = own_and_private(home, self._context.protected)
        resident.make_folders(home)  # what is not there could not be closed, and is made later
        if not self._looks_only:
            make_caches(self._home)
        grounds = Grounds(
            self._home,
            self._project,
            own=own,
            private=private,
            guarded=self._context.guarded,
            temporary=[*temporary_folders(), SHARED_MEMORY],
            writable=[str(path) for path in self._config.hooks.writable],
            credentials=credentials_of(self._home),
            usual=moved_credentials(self._home, os.environ),
            sockets=tuple(control_sockets(self._home, os.environ, os.getuid(), str(home.helper))),
            linked=is_linked(),
            started=self._started,
        )
        others = self.store.held_folders() if self.engine.name == NAME else ()
        return replace(grounds, closed=tuple(closed_places(grounds)), others=others)

    @cached_property
    def _lost(self) -> tuple[str, ...]:
        """The folders below one that all calls write, settings and hooks that a process could have a link in place of."""
        profile = self.profile()
        if self._run is not None or not self._project or self.engine.name != NAME:
            return ()
        before = self.store.watched(self._project)
        if before is None:
            return profile.nested if profile.nested and self.store.may_run() else ()
        folders = still_held(before.held, profile.nested)
        gone = tuple(path for path in profile.nested if path not in folders)
        return (*gone, *loose(before.held, before.known, profile)[1])

    def _begin_watch(self, confined: Confined) -> Profile:
        """Note what is there before a call; returns the session's profile with the folders that can be held in their place."""
        if not self._project:
            return self.profile()
        self.make_settings()
        profile = self.profile()
        before, beside = self.store.watched(self._project), self._beside(confined)
        if before is None:
            sound = without_nested(profile, self._lost)
            closed = [path for path in sound.read_only if is_loose(path, sound)]
            nested = (*sound.nested, *sound.held, *sound.work, *closed)
            now = watched.watch(self._project, beside, nested, self.store.copies, self._started)
            self.store.keep_watch(self._project, now)
            if sound.nested and self._run is None and self.engine.name == NAME:
                self._settle(sound.nested)
            return self._held_by(now, profile)
        absent = [path for path in beside if path not in before.absent and not os.path.lexists(path)]
        now = watched.also_started(replace(before, absent=[*before.absent, *absent]), self._started)
        if now != before:
            self.store.keep_watch(self._project, now)
        return self._held_by(now, profile)

    def make_settings(self) -> None:
        """Make the folders of settings that are missing, so that no command makes another; raises OSError."""
        for folder in (self._project, *self._started) if self._project and self._run is None else ():
            if make_settings(folder):
                self._profiles.clear()  # it was judged by one without

    def known_settings(self) -> KnownSettings | None:
        """The settings that were there before confined programs that may still run; None where none may."""
        from sb.hosts.confinement.undoable_settings import settings_of  # with trees, which few hooks need

        return settings_of(self.store.watched(self._project), self._project) if self._project else None

    def _settle(self, nested: Sequence[str]) -> None:
        """Have every command that begins from now on hold the project in its place.

        Raises:
            BlockingIOError: one has begun that does not.
        """
        self.store.hold_in_others(nested)
        if self.store.may_run():
            self.store.keep_watch(self._project, None)
            raise at_once()

    def profile_beside_others(self) -> Profile:
        """The session's profile for what no hook judges, beside confined processes that may run."""
        before = self.store.watched(self._project) if self._project else None
        profile = self.profile()
        return without_nested(profile, profile.nested) if before is None else self._held_by(before, profile)

    def _held_by(self, now: Watch, profile: Profile) -> Profile:
        return held_by(now.held, now.known, without_nested(profile, self._lost))

    def _beside(self, confined: Confined) -> list[str]:
        """The decisive paths in folders of approved ones, where the call may make them, too."""
        opened = confined.opened
        folders = {os.path.dirname(path) for path in opened if path not in confined.alone}
        decisive = decisive_paths(self._home)
        return [path for path in decisive if os.path.dirname(path) in folders and path not in opened]

    def put_back(self, call: JudgedCall | None = None, *, pending: bool = False) -> str:
        """Restore what commands changed of the project's watched paths; returns what the agent is told, "" for nothing.

        Args:
            call: one that has ended, whose changes were agreed to. pending: others of the session still run.
        """
        before = self.store.watched(self._project) if self._project else None
        if before is None:
            return ""
        waiting = {path for made in self.store.not_run() for path in made.absent}
        allowed = [*call.let, *brought_by(self.store, call)] if call is not None else []
        # The keys, with their values, that it sets in git's configuration, if that is all that it does.
        keys = keys_named(call.command, call.effects.commands) if call is not None and call.command else []
        theirs = waiting & {*before.absent}  # what a person makes while a call waits for their answer
        done = watched.restore(
            self._project, before, self.store.folder / "removed", [*allowed, *theirs], keys
        )
        after = watched.accept(self._project, before, done, allowed, keys)
        if after != before:
            self.store.keep_watch(self._project, after)
        if not pending and not self.store.is_alive():
            self.store.keep_watch(self._project, None)
            if self._run is None and self.profile().nested:  # others may move it from now on
                self.store.forget_profiles(self._project)
                with suppress(BlockingIOError):  # without a profile the stricter default applies
                    self.prepare()
        return put_back_message(done, self._project)

    def report(self, call: JudgedCall, *, pending: bool) -> str:
        """Message to the agent at the end of a call: what was restored, and that confinement may be why it failed.

        Args:
            pending: other calls of the session have not ended.
        """
        if self.mode == "off" or not (call.command or call.governed.tool_id == WRITE_CONFIG):
            return ""
        restored = self.put_back(call, pending=pending)
        if not call.command or not self.holds:
            return restored
        confined = self._rights.judge(call)
        self.withdraw(confined.command, confined.folder, unused=bool(call.native.error))
        return " ".join(filter(None, (restored, self._failed(call, confined))))

    def withdraw(self, command: str, folder: str, *, unused: bool = True) -> None:
        """Take back what a call could do: it has ended, or nobody will run it.

        Args:
            unused: what was made for it and is still empty goes.
        """
        self._keyed.end(self._project, command, folder)
        ran = self.store.was_taken(command, folder)
        self.store.revoke(command, folder)
        made = self.store.take_made(command, folder)
        if unused:
            remove_unused(made.paths)
        if unused and not ran:
            self._forget_absent(made)

    def _forget_absent(self, made: Made) -> None:
        """Let a person make what a call that did not run could have made."""
        before = self.store.watched(self._project) if self._project else None
        if before is not None and made.absent:
            left = [path for path in before.absent if path not in made.absent]
            self.store.keep_watch(self._project, replace(before, absent=left))

    def _failed(self, call: JudgedCall, confined: Confined) -> str:
        """Message to the agent where confinement may be why a call failed, or ""."""
        error = call.native.error
        output = "\n".join((error, *texts(call.native.response)))
        profile, denies = self.profile(confined.needs), self.engine.kind.denies
        denied = symptoms_in(output, profile, home=self._home, cwd=confined.folder, denies=denies)
        missed = without_login(error, confined.withheld)
        reads = [path for path in dict.fromkeys((*denied.reads, *missed)) if not self._rights.is_own(path)]
        denied = replace(denied, reads=tuple(reads))
        if self._run is None and (denied.writes or denied.reads):
            failure = {"writes": list(denied.writes), "reads": list(denied.reads)}
            self.store.note_failure(confined.command, confined.folder, failure)
        from sb.hosts.confinement import ports  # nothing before a call needs it

        in_vain = self.engine.name == NAME and ports.looks_in_vain(confined.commands, output)
        return advice(denied, in_run=self._run is not None) or (ports.ADVICE if in_vain else "")

    def leave(self) -> None:
        """Tidy up when a session ends."""
        if self.mode == "off" or not self._project:
            return
        self.put_back()
        if self._run is not None:
            return
        for made in self.store.take_all_made():
            remove_unused(made.paths)
        for folder in (self._project, *self._started):
            remove_settings(folder)
        self.store.forget_profiles(self._project)
        self.store.tidy()
