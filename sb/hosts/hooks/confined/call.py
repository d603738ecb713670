"""Rights of one shell call beyond what its session's calls may do anyway, judged by its text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sb.base.repository import git_root
from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import frozen
from sb.config.home import Home
from sb.hosts.confinement import no_links
from sb.hosts.confinement.brought import goes_into_others, reads_brought
from sb.hosts.confinement.credentials import names_logins_only
from sb.hosts.confinement.git_config import (
    has_local_remote,
    keys_to_ask,
    remote_addresses,
    remote_names,
    runs_others,
)
from sb.hosts.confinement.needs import (
    DOCKER,
    GPG_AGENT,
    KEYRING,
    KNOWN_TOOLS,
    OF_REPOSITORIES,
    SERVICES,
    SSH_AGENT,
    TERMINALS,
    Need,
    Needs,
    doors_of,
    needs_of,
    outside_of,
)
from sb.hosts.confinement.plain_lines import is_plain, reads_no_file
from sb.hosts.confinement.profile import Grounds, Profile, contains, make_profile
from sb.hosts.confinement.repositories import linked_trees, trees_of
from sb.hosts.confinement.ssh_here import is_address_here, reaches_this_machine
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.confinement.symptoms import Symptoms
from sb.hosts.hooks.confined.approved_paths import decides, made_files, made_folders, moved_trees
from sb.hosts.hooks.confined.named_credentials import asked_words, closed_by, named_credentials
from sb.hosts.hooks.confined.named_files import hides_link, names_credential, reads_files
from sb.hosts.hooks.confined.questions import LONGEST, MOST_ASKED, ask, of_deletions, of_tree, says
from sb.hosts.hooks.confined.session_settings import is_made_settings, removes_ignored
from sb.hosts.hooks.judged_call import JudgedCall
from sb.kernel.calls.approval import WRITES_OUTSIDE
from sb.kernel.calls.call import Ask
from sb.kernel.contracts import SafetyClass
from sb.shell.programs.facts import having
from sb.shell.snapshots.local_effects import OF_GIT, REDIRECTIONS, harms_files_alone
from sb.tools.hosted.guarding import LAUNCHER

if TYPE_CHECKING:
    from sb.hosts.confinement.checkouts import Checkout

# What programs with credentials start by name.
_STARTED = frozenset(
    "git git-remote-https ssh gpg gpg2 sh bash env less docker-credential-desktop aws session-manager-plugin gcloud kubectl node diff vi vim nano editor pager more xdg-open".split()
)
# What such programs start by the beginning of its name.
_EXTENSIONS = ("git-", "kubectl-", "docker-", "aws-", "gke-", "kubelogin")
# What may stand beside a git command that is let change settings of hosts.
_OF_GIT, _RUNS = OF_GIT | {"fetch", "pull"}, ("-x", "--exec", "--upload-pack")
_BESIDE_GIT = KNOWN_TOOLS - {"awk", "env", "find", "sed", "xargs"}
_INERT = having("inert", "instant", "views") | KNOWN_TOOLS | {LAUNCHER}
_RUN_OUTSIDE = frozenset((DOCKER, TERMINALS, SERVICES))


def _is_inert(argv: Sequence[str]) -> bool:
    """True for a program that reads no settings of a project which make it run or write something."""
    return argv[0] in _INERT and not (argv[0] == "git" and {"help", "--help"} & set(argv[1:]))


class Confined(NamedTuple):
    """A judged shell call, with what it may do.

    Args:
        commands: of the line. needs: of its programs. opened: paths that it may write beyond the default, once they are agreed to.
        alone: those of `opened` that are files, or folders that it makes, and need no folder around them.
        folders: those of `alone` that are folders.
        readable: credentials that it may read. outside: why it runs without an engine, or "".
        asked: its programs that run what a project holds, with credentials that they may read once that is agreed to.
        withheld: credentials that its programs use, which it cannot read.
        disclosed: the existing files with credentials that it reads, as far as it may open them.
        failure: what its last run could not write or read.
        trees: those of `opened` that are linked worktrees, which it deletes or moves.
        cleans: git removes ignored files in it. modes: it changes modes of whole folders, and nothing else.
        here: it reaches this machine by ssh. checkouts: its git commands that change settings of hosts.
        refused: why nobody is asked about it, but it has to be made in another way, or "".
        may_run_own: it only reads by its text, and a program of it may be the project's, or run what lies there.
    """

    command: str
    folder: str
    commands: tuple[tuple[str, ...], ...] = ()
    needs: tuple[Need, ...] = ()
    opened: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    outside: str = ""
    asked: tuple[tuple[str, str], ...] = ()
    withheld: tuple[str, ...] = ()
    disclosed: tuple[str, ...] = ()
    failure: Mapping[str, Sequence[str]] = MappingProxyType({})
    trees: tuple[str, ...] = ()
    cleans: bool = False
    modes: bool = False
    here: bool = False
    checkouts: tuple[Checkout, ...] = ()
    refused: str = ""
    may_run_own: bool = False

    @property
    def brought(self) -> tuple[str, ...]:
        """The settings of hosts that git in it changes."""
        return tuple(path for item in self.checkouts for path in item.paths)

    @property
    def is_plain(self) -> bool:
        """True where the profile of its folder says all that it may do."""
        more = (self.needs, self.opened, self.readable, self.outside, self.cleans, self.modes, self.checkouts)
        return not any(more)

    @property
    def has_credentials(self) -> bool:
        """True where it reads a person's credentials, or reaches an agent of theirs."""
        agents = (SSH_AGENT, GPG_AGENT, KEYRING)
        given = (need.credentials or any(kind in agents for kind in need.sockets) for need in self.needs)
        return bool(self.readable) or any(given)

    @property
    def beyond_run(self) -> str:
        """The reason why it cannot work in a host that is confined as a whole, or ""."""
        reasons = [self.outside] if self.outside else []
        reasons += ["reaches this machine by ssh"] if self.here else []
        reasons += [f"writes {one_line(path, LONGEST)}" for path in self.opened]
        reasons += [f"opens {one_line(path, LONGEST)}" for path in self.readable]
        if not reasons:
            return ""
        return f"{reasons[0]}, which nobody can allow under `sb run` (ask the user to do it in a terminal)"


@frozen
class CallRights:
    """The judge of what single calls of one session may do.

    Args:
        home: of SecondBrain. project: the session's; "" for none. cwd: of the event.
        grounds: of the session's profiles. profile: the profile of calls with some needs.
    """

    store: ConfineStore
    home: Home
    project: str
    cwd: Path
    grounds: Grounds
    profile: Callable[[tuple[Need, ...]], Profile]

    def judge(self, call: JudgedCall) -> Confined:
        """The permissions of a call beyond the session's profile, some of them once a person agrees."""
        folder, command, commands = str(call.governed.args["cwd"]), call.command, call.effects.commands
        failure = self.store.failure(command, folder)
        needs = self._needs(call, folder)
        withheld = self._existing(needs.withheld)
        if set(failure.get("reads", ())) & set(withheld):  # the person is asked for what it failed without
            needs, withheld = Needs(needs.withheld), []
        profile = self.profile(needs.rows)
        placed = [(argv, at or folder) for argv, at in zip(commands, call.effects.folders, strict=True)]
        folders = list(made_folders(placed))
        made = [*folders, *made_files(placed)]
        trees = list(moved_trees(placed, self._root(folder)))
        checked = self._checkouts(placed)
        brought = [path for item in checked for path in item.paths]
        writes = [*call.written, *folders, *failure.get("writes", ()), *trees]
        writes += [place for place in profile.read_only if any(contains(place, path) for path in brought)]
        beyond = [path for path in dict.fromkeys(map(_real, writes)) if not profile.may_write(path)]
        beyond = [path for path in beyond if not (is_made_settings(path) or _is_device(path))]
        opened = make_profile(self.grounds, needs.rows, beyond).opened if beyond else ()
        readable = [path for path in self._named(call, failure, profile) if not self.is_own(path)]
        outside = outside_of(commands)
        closed = () if outside else [place for place in profile.unreadable if place not in readable]
        return Confined(
            command,
            folder,
            commands,
            needs.rows,
            opened,
            tuple(path for path in opened if path in made),
            tuple(path for path in opened if path in folders),
            tuple(readable),
            outside,
            tuple((program, path) for program in needs.asked for path in self._existing(needs.rows)[:1]),
            tuple(withheld),
            tuple(
                path for path in call.effects.disclosed if not any(contains(place, path) for place in closed)
            ),
            failure,
            tuple(path for path in opened if path in trees),
            bool(self.project) and removes_ignored(commands),
            self._changes_modes(call),
            any(reaches_this_machine(argv, self.grounds.home) for argv in commands),
            checked,
            self._mixed(checked, commands),
            call.governed.safety_class is SafetyClass.READ_ONLY and self._may_run_own(commands),
        )

    def _may_run_own(self, commands: Sequence[tuple[str, ...]]) -> bool:
        """True unless every program of a line is the system's and known to leave paths as they are."""
        return not all(map(_is_inert, commands)) or self._is_shadowed(commands)

    def _checkouts(self, commands: Iterable[tuple[Sequence[str], str]]) -> tuple[Checkout, ...]:
        """The git commands that change settings of hosts in the project."""
        of_git = [item for item in commands if item[0][0] == "git"]
        if not (of_git and self.project):
            return ()
        from sb.hosts.confinement.checkouts import checkouts  # other lines do without

        return tuple(checkouts(of_git, self.project))

    def _mixed(self, checked: Sequence[Checkout], commands: Iterable[tuple[str, ...]]) -> str:
        """The reason why a line has to be split: what else runs in it could write the settings that git may, or ""."""
        if not checked or all(map(_stands_beside, commands)):
            return ""
        return f"{says(checked[0], self.project)} (run `{one_line(checked[0].command, LONGEST)}` in a call of its own, so that the user can be asked)"

    def _changes_modes(self, call: JudgedCall) -> bool:
        """True for a line that changes modes of whole folders and can do nothing else, which a person is asked about."""
        commands = call.effects.commands
        others = [argv for argv in commands if argv[0] != "chmod"]
        return (
            bool(self.project)
            and call.governed.safety_class is SafetyClass.DESTRUCTIVE
            and len(others) < len(commands)
            and all(
                reads_no_file(argv) and (argv[0] not in REDIRECTIONS or argv[1] == os.devnull)
                for argv in others
            )
            and is_plain(call.command, {argv[0] for argv in commands})
            and not (call.native.in_background or self._is_shadowed(commands))
        )

    def _root(self, folder: str) -> str:
        """The root of the repository that a call is in, if it is one of the project, else the project."""
        root = git_root(folder)
        return root if self.project and contains(self.project, root) else self.project

    def _needs(self, call: JudgedCall, folder: str) -> Needs:
        command, commands = call.command, list(map(self._by_name, call.effects.commands))
        most = needs_of(commands, command)
        if not most.rows:  # nothing more has to be looked at
            return most
        of_repository = bool(self.project) and uses_repository(commands)
        placed = [
            (argv, at or folder) for argv, at in zip(commands, call.effects.folders, strict=True) if argv
        ]
        closed, asked = self.profile(()).unreadable, asked_words(call.effects)
        return needs_of(
            commands,
            command,
            # A program in the background, or a call that has not ended, could change what git reads after it was looked at.
            runs_own=of_repository
            and (
                runs_others(self.project)
                or self.store.is_alive()
                or any(self.store.watched(tree) is not None for tree in trees_of(self.project))
                or goes_into_others(commands, self.project)
            ),
            elsewhere=(git_root(folder, bare=True) or folder) != self.project
            or (of_repository and self._has_near_remote()),
            # What runs beside the agent's next calls could be led elsewhere by them.
            unsafe=call.native.in_background
            or (any(map(reads_files, commands)) and self.store.is_alive())
            or self._is_shadowed(commands)
            or any(hides_link(argv, at) for argv, at in placed),
            named=reads_brought(commands)
            or any(names_credential(argv, at, closed, asked) for argv, at in placed),
            remotes=remote_names(self.project) if of_repository else (),
            logins_only=[
                row for row in (*most.rows, *most.withheld) if row.public and self._names_no_source(row)
            ],
        )

    def _has_near_remote(self) -> bool:
        """True if a remote of the project is on this machine, also as an alias of ssh's settings."""
        addresses = remote_addresses(self.project)
        return has_local_remote(self.project) or any(
            is_address_here(address, self.grounds.home) for address in addresses
        )

    def _by_name(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """A command, with the installed `sb` by its name where its path is given and no call can put another one there."""
        folder, name = os.path.split(argv[0] if argv else "")
        if name != LAUNCHER or not os.path.isabs(folder) or os.path.realpath(folder) != folder:
            return argv
        profile = self.profile(())
        if os.path.realpath(argv[0]) not in profile.closed or profile.may_write(os.path.join(folder, "x")):
            return argv
        return (LAUNCHER, *argv[1:])

    def _names_no_source(self, row: Need) -> bool:
        """True if the files of a row hold logins alone, so that packages come from the same place without them."""
        return all(map(names_logins_only, self._existing([row._replace(credentials=row.sources)])))

    def _is_shadowed(self, commands: Iterable[tuple[str, ...]]) -> bool:
        """True if a program of a line, or one that it starts, is found where an agent may have put it."""
        names = {*(argv[0] for argv in commands if argv), *_STARTED}
        profile = self.profile(())
        path = os.environ.get("PATH", "").split(os.pathsep)
        if not all(map(os.path.isabs, path)):  # the folder that the call is in
            return True
        folders = dict.fromkeys(map(os.path.realpath, path))
        own = [folder for folder in folders if profile.may_write(os.path.join(folder, "x"))]
        if any(name.startswith(_EXTENSIONS) for folder in own for name in no_links.names_in(folder)):
            return True
        return any(os.path.lexists(os.path.join(folder, name)) for folder in own for name in names)

    def _existing(self, rows: Iterable[Need]) -> list[str]:
        """The credentials of some rows that are there and that no call reads by itself."""
        using = [row for row in rows if row.credentials]
        closed = self.profile(()).unreadable if using else ()
        return [path for path in closed if self.grounds.is_given(path, using)]

    def _named(
        self, call: JudgedCall, failure: Mapping[str, Sequence[str]], profile: Profile
    ) -> dict[str, None]:
        """The credentials that a person is asked about: those that a line reads, and those that its last run could not read."""
        named = named_credentials(call.effects, call.written, profile.unreadable, str(self.cwd))
        if named and self._is_shadowed(call.effects.commands):
            named = {}
        failed = (path for word in failure.get("reads", ()) for path in closed_by(word, profile.unreadable))
        return named | dict.fromkeys(failed)

    def is_own(self, path: str) -> bool:
        """True for SecondBrain's own files, which no call is let open."""
        return self.home.contains(Path(path))

    def asks(self, confined: Confined, call: JudgedCall) -> Iterator[Ask]:
        """The questions that a person has to say yes to before a call may do what it was judged with."""
        safety_class = call.governed.safety_class
        if confined.outside:
            yield ask(f"{confined.outside}, so it runs outside of confinement")
        if confined.here:
            yield ask("reaches this machine by ssh, which runs things outside of confinement")
        doors = doors_of(confined.commands, confined.needs) & _RUN_OUTSIDE
        for kind in sorted(doors) if safety_class is not SafetyClass.READ_ONLY else ():
            reason = f"uses {kind}, which runs things outside of confinement"
            yield ask(reason)._replace(standing=f"confinement {kind}")
        for program, path in confined.asked:
            reason = f"{program} may run programs of the project or of its packages, which could then read {one_line(path, LONGEST)}"
            yield ask(reason)._replace(standing=f"confinement credentials {program} {self.project}")
        for item in confined.checkouts:
            standing = f"confinement settings {self.project} {item.name}"
            yield ask(says(item, self.project))._replace(standing=standing)
        yield from of_deletions(zip(confined.commands, call.effects.folders, strict=True), self.project)
        for name, value in keys_to_ask(confined.command, confined.commands):
            setting = one_line(f"{name}={value}", LONGEST)
            yield ask(
                f"sets {setting} in git's configuration, which may run a program later, outside of confinement"
            )
        # A person has to agree to a destructive line anyway, which names what it changes; but not where what it harms
        # is stored first, git takes the end of a path for a worktree that may be anywhere, and nothing names what its
        # last run could not write.
        by_output = confined.failure.get("writes", ())
        brought = confined.brought
        asked = [path for path in confined.opened if not any(contains(path, place) for place in brought)]
        if safety_class is SafetyClass.DESTRUCTIVE and not harms_files_alone(confined.commands):
            unnamed = {*confined.trees, *map(_real, by_output)}
            asked = [path for path in confined.opened if path in unnamed]
        lost = [place for place, _ in call.effects.replaced if os.path.isfile(place) or os.path.islink(place)]
        yield from self._asks_for_writes(asked, by_output, confined, lost)
        for path in confined.failure.get("reads", ()) if confined.readable or confined.needs else ():
            yield ask(f"opens {one_line(path, LONGEST)}, as the output of its last run says")

    def _asks_for_writes(
        self, opened: Sequence[str], by_output: Iterable[str], confined: Confined, lost: Sequence[str]
    ) -> Iterator[Ask]:
        decisive = [path for path in opened if decides(path, self.grounds.home)]
        sources = dict.fromkeys(by_output, ", as the output of its last run says")
        for path in decisive[:MOST_ASKED]:
            reason = f"writes {one_line(path, LONGEST)}, which decides about more than itself"
            yield ask(f"{reason}{sources.get(path, '')}")
        others = [path for path in opened if path not in decisive]
        for path in others[:MOST_ASKED]:
            here = bool(self.project) and contains(self.project, path)
            where = "beside settings of a host" if here else "outside of the project"
            reason = f"writes {one_line(path, LONGEST)}, {where}{sources.get(path, '')}"
            tree = self._tree_of(path, confined)
            question = ask(reason, WRITES_OUTSIDE)
            # What was there comes back by no snapshot, so a yes to other writes says nothing of it.
            is_told = not tree or any(contains(tree, place) for place in lost)
            yield question if is_told else of_tree(question, tree)
        if (more := len(opened) - len(decisive[:MOST_ASKED]) - len(others[:MOST_ASKED])) > 0:
            yield ask(f"writes {more} more outside of the project")

    def _tree_of(self, path: str, confined: Confined) -> str:
        """The worktree of this repository that a path lies in, or that the line adds there; "" for none."""
        adds = any(tuple(argv[:3]) == ("git", "worktree", "add") for argv in confined.commands)
        trees = linked_trees(self.project) if self.project else []
        trees += [path] if adds and path in confined.folders else []
        return next((tree for tree in trees if contains(tree, path)), "")


def _stands_beside(argv: Sequence[str]) -> bool:
    """True for a command that runs no program beside git, which may change settings of hosts meanwhile."""
    if argv[0] != "git":
        return argv[0] in _BESIDE_GIT
    return "".join(argv[1:2]) in _OF_GIT and not any(word.startswith(_RUNS) for word in argv[2:])


def uses_repository(commands: Iterable[tuple[str, ...]]) -> bool:
    """True for a line with git, or a program that calls it."""
    return any(argv[:1] and argv[0] in OF_REPOSITORIES for argv in commands)


def _real(path: str) -> str:
    """A path without links in its folders; the last component stays, since that is what is replaced."""
    return (
        os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) if path != "/" else path
    )


def _is_device(path: str) -> bool:
    return path.startswith(("/dev/", "/proc/self/fd/"))


def advice(found: Symptoms, *, in_run: bool) -> str:
    """The text for the agent where confinement may be why a call failed; "" without a sign of it.

    Args:
        in_run: the whole host is confined, by `sb run`.
    """
    writes = [path for path in found.writes if not is_made_settings(path.rstrip("/"))]
    if not found:
        return ""
    if len(writes) < len(found.writes) and not (writes or found.reads):
        path = one_line(found.writes[0], LONGEST)
        return f"SecondBrain keeps {path} there while the session lasts, and no command can change it. Nothing has to be done about it."
    if found.outside and not (found.writes or found.reads):
        return "Confinement may be the cause: a program that it runs needs rights which no confined command has. Run that program by itself (sudo …), so that the user can be asked."
    if found.unnamed and not found.reads:
        return "Confinement may be the cause: the command could not write a path that its output does not name. Name that path in the command, so that the user can be asked."
    retry = "If the task needs it, repeat exactly this call: the user is then asked."
    if in_run:
        retry = (
            "If the task needs it, ask the user to do it in a terminal: under `sb run` nobody can allow it."
        )
    what = [f"it may not write {path}" for path in writes] + [
        f"it may not open {path}" for path in found.reads
    ]
    return f"Confinement may be the cause: {one_line('; '.join(what), 5 * LONGEST)}. {retry}"
