"""Needs of programs inside a confined call: credentials, sockets, caches, or a place outside of confinement.

A line gets these when it uses that program and no other; where it sends something, its text is judged. Paths are below
the user's home. Caches are filled by every confined call; what runs from them is run by builds of the person, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from sb.hosts.confinement.git_addresses import added_remotes, reaches_only
from sb.hosts.confinement.harmless_options import has_harmless_options
from sb.hosts.confinement.plain_lines import is_plain, reads_no_file
from sb.shell.snapshots.local_effects import FILE_TOOLS, OF_GIT, REDIRECTIONS

DOCKER, SSH_AGENT, GPG_AGENT, TERMINALS, SERVICES, KEYRING, HELPER = (
    "docker",
    "ssh-agent",
    "gpg-agent",
    "terminals",
    "services",
    "keyring",
    "helper",
)


class Need(NamedTuple):
    """One row of the table.

    Args:
        programs: by their names.
        credentials: files and folders that they may read.
        sockets: kinds of `sb.hosts.confinement.sockets`.
        caches: folders that they fill, made where they are missing.
        outside: why they cannot work inside, so that a person has to agree; "" where they can.
        given: subcommands that run nothing of a project, which may be an agent's own program; with harmless options
            alone they get credentials and sockets. "*" for all.
        asked: subcommands that do, or take another source where they cannot read their credentials; they get these once
            a person agrees. "*" for all but those of `given`.
        reads: a pattern of all arguments, joined by null characters, with which it only asks its servers: given at once,
            whatever `asked` says.
        sources: those of the credentials that may name another source of packages.
        public: subcommands that need no login where `sources` name none: they go without, and ask at a repeat if they fail.
    """

    programs: str
    credentials: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    outside: str = ""
    given: str = "*"
    asked: str = ""
    reads: str = ""
    sources: tuple[str, ...] = ()
    public: str = ""


_CLOUD = (
    ".aws",
    ".config/gcloud",
    ".azure",
    ".kube",
    ".terraformrc",
    ".terraform.d",
    ".pulumi",
    ".config/doctl",
)
_CLUSTER = (".kube", ".aws", ".config/gcloud", ".azure", ".config/helm")
_NODE = (".npmrc", ".yarnrc.yml")
# What reaches a registry: a project's own `.npmrc` may name a proxy for it.
_OF_REGISTRY = "install i in ci add update up upgrade uninstall remove rm publish pack exec x create init dedupe rebuild link ln clean-install view info show v whoami search audit outdated login adduser logout token team owner access dist-tag deprecate profile org"
_PUBLIC = "install i in ci add update up upgrade uninstall remove rm pack exec x create init dedupe rebuild link ln clean-install view info show v search audit outdated dlx"
# Lists and descriptions of a cloud: nouns, a verb, names, and options that choose what is printed.
_LISTS = r"(?:[a-z][a-z-]*\0){1,5}(?:list|describe|show|get|read)(?:\0(?![-@])[^\0]+)*(?:\0(?:--(?:format|filter|project|region|zone|location|limit|freshness|sort-by|output|query|subscription|resource-group)(?:[=\0](?!@)[^\0]+)?|-[og]\0\w[\w-]*))*"
# What is hosted, as its owner sees it.
_OF_APPS = r"(?:status|logs|info|releases|regions|apps|domains|addons|ps|history|dashboard|(?:apps|pg|ps|releases|domains|addons|redis):(?:info|list|ps)|(?:apps|machines?|ips|checks|services|volumes|releases)\0(?:list|status)|scale\0show)(?:\0(?![-@])[^\0]+)?(?:\0(?:--(?:app|tail|json|num|remote|region|instance)(?:[=\0](?!@)[^\0]+)?|-[anrijt]|-[anri]\0[\w-]+))*"
_INFRASTRUCTURE = "init plan apply destroy import refresh state output show providers get deploy diff synth ls bootstrap package build sync delete list logs up preview config stack create upgrade"
_MAY_PUSH = (
    ".ssh",
    ".git-credentials",
    ".config/git",
    ".config/gh",
    ".config/glab-cli",
    ".gitcookies",
    ".netrc",
    ".gnupg",
)


NEEDS: tuple[Need, ...] = (
    Need("git", _MAY_PUSH, (SSH_AGENT, GPG_AGENT, KEYRING), given="push fetch pull clone ls-remote remote lfs submodule"),
    Need("gh glab", _MAY_PUSH, (SSH_AGENT, GPG_AGENT, KEYRING)),
    Need("hub", _MAY_PUSH, (SSH_AGENT, GPG_AGENT, KEYRING), given="pr issue release ci-status browse api", asked="*"),
    Need("ssh scp rsync ssh-add", (".ssh",), (SSH_AGENT, GPG_AGENT)),
    Need("sftp mosh", (".ssh",), (SSH_AGENT, GPG_AGENT), given="", asked="*"),
    Need("gpg gpg2", (".gnupg",), (GPG_AGENT,)),
    Need("pass gopass age sops", (".gnupg", ".password-store"), (GPG_AGENT,), given="", asked="*"),
    Need("npm", _NODE, (), (".npm/_cacache", ".npm/_logs"), given="", asked=_OF_REGISTRY, sources=(".npmrc",), public=_PUBLIC),
    Need("npx", (), (), (".npm/_cacache", ".npm/_logs")),
    Need("yarn", _NODE, (), (".cache/yarn",), given="", asked=f"{_OF_REGISTRY} dlx npm"),
    Need("pnpm", _NODE, (), (".cache/pnpm", ".local/share/pnpm/store"), given="", asked=f"{_OF_REGISTRY} dlx", sources=(".npmrc",), public=_PUBLIC),
    Need("bun", (*_NODE, ".bunfig.toml"), (), (".bun/install/cache",), given="", asked=_OF_REGISTRY),
    Need("bunx", (), (), (".bun/install/cache",)),
    Need("pip pip3 pipx", (".netrc",), (), (".cache/pip",), given=""),
    Need("uv uvx", (".netrc", ".pypirc"), (), (".cache/uv",), given="", asked="publish"),
    Need("poetry", (".netrc", ".config/pypoetry"), (), (".cache/pypoetry",), given="", asked="publish"),
    Need("twine", (".pypirc",)),
    Need("flit hatch", (".pypirc",), given="", asked="publish"),
    Need("conda mamba micromamba", (".condarc",), given="search info list config", asked="install create update env"),
    Need("cargo", (".cargo/credentials", ".cargo/credentials.toml"), (), (".cargo/registry", ".cargo/git"), given="", asked="publish login owner yank search install"),
    Need("go", (".netrc", ".ssh"), (SSH_AGENT,), (".cache/go-build", "go/pkg/mod", "go/pkg/sumdb"), given=""),
    Need("mvn mvnw", (".m2",), (), (".m2/repository",), given="", asked="*"),
    Need("gradle gradlew", (".gradle",), (), (".gradle/caches", ".gradle/daemon", ".gradle/native"), given="", asked="*"),
    Need("gem", (".gem",), given="list search info", asked="push yank install"),
    Need("bundle bundler", (".bundle",), given="", asked="*"),
    Need("composer", (".composer", ".config/composer"), (), (".cache/composer",), given="", asked="*"),
    Need("dotnet nuget", (".nuget",), (), (".nuget/packages",), given="", asked="*"),
    Need("docker docker-compose nerdctl", (".docker", ".dockercfg", ".config/containers"), (DOCKER,)),
    Need("podman buildah skopeo", (".docker", ".config/containers"), (DOCKER,)),
    Need("aws", _CLOUD),
    Need("gcloud az", _CLOUD, given="", asked="*", reads=_LISTS),
    Need("gsutil bq doctl", _CLOUD, given="", asked="*"),
    Need("sam cdk eksctl terraform tofu terragrunt pulumi packer", _CLOUD, given="", asked=_INFRASTRUCTURE, sources=(".terraformrc",), public="init providers"),
    Need("kubectl oc stern", _CLUSTER),
    Need("helm", _CLUSTER, given="", asked="install upgrade uninstall delete rollback list ls status history get test pull push repo registry plugin"),
    Need("k9s kustomize flux argocd skaffold talosctl tsh", (*_CLUSTER, ".config/argocd", ".talos", ".tsh"), given="", asked="*"),
    Need("svn", (".subversion",), given="", asked="*"),
    Need("modal scw mc snow cloudflared vastai", (".modal.toml", ".config/scw", ".mc", ".config/mc", ".snowflake", ".cloudflared", ".vast_api_key"), given="", asked="*"),
    Need("psql", (".pgpass", ".pg_service.conf"), given="", asked="*"),
    Need("pg_dump pg_restore createdb dropdb", (".pgpass", ".pg_service.conf"), given="", asked="*"),
    Need("mysql mariadb", (".my.cnf", ".mylogin.cnf"), given="", asked="*"),
    Need("mysqldump", (".my.cnf", ".mylogin.cnf"), given="", asked="*"),
    Need("wget", (".wgetrc", ".netrc")),
    Need("heroku", (".netrc",), given="", asked="*", reads=_OF_APPS),
    Need("fly flyctl", (".fly",), given="", asked="*", reads=_OF_APPS),
    Need("netlify vercel wrangler railway supabase stripe firebase", (".netlify", ".config/netlify", ".vercel", ".local/share/com.vercel.cli", ".wrangler", ".config/.wrangler", ".railway", ".supabase", ".config/stripe", ".config/configstore"), given="", asked="*"),
    Need("huggingface-cli hf", (".huggingface", ".cache/huggingface")),
    Need("sb", (), (HELPER,)),
    Need("tmux screen zellij", (), (TERMINALS,)),
    Need("systemctl journalctl loginctl busctl dbus-send gdbus notify-send hostnamectl timedatectl pm2 supervisorctl watchman mutagen", (), (SERVICES,)),
    Need("secret-tool keyring", (), (KEYRING,)),
    Need("ccache sccache", (), (), (".cache/ccache", ".ccache", ".cache/sccache")),
    Need("sudo doas pkexec su run0", outside="runs as another user"),
    Need("apt apt-get aptitude dpkg dnf yum zypper pacman apk snap flatpak nix nix-env", outside="installs or removes programs of the system"),
    Need("brew port", outside="installs or removes programs outside of the project"),
)  # fmt: skip
_WAITS = re.compile(r"watch|trace|wait|--?(?:watch|live|wait|follow|w)(?:=.*)?")  # of clients of forges
_NIX_NAMES = re.compile(
    "--(?:option|accept-flake-config|builders|post-build-hook|store|extra-|sandbox|substituters)"
)
_OF_TERMINALS = ("tmux", "zellij")
# Subcommands that only look, by program.
_LOOKS = {
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        frozenset(
            "ps images logs inspect info version top stats port events diff history search tag".split()
        ),
    ),
    **{
        f"docker {group}": frozenset(words.split())
        for group, words in {
            "system": "df info events",
            "image": "ls list inspect history tag",
            "container": "ls list inspect logs top stats port diff",
            "network": "ls list inspect",
            "volume": "ls list inspect",
            "context": "ls list show inspect",
            "manifest": "inspect",
        }.items()
    },
    **dict.fromkeys(
        ("docker-compose", "docker compose", "podman compose"),
        frozenset("ps logs config images top port ls version".split()),
    ),
    **dict.fromkeys(
        ("apt", "apt-cache", "brew", "dnf", "snap", "flatpak"),
        frozenset("list show search policy info".split()),
    ),
    # Their daemon writes into nix's own store alone, unless an option names what it runs.
    "nix": frozenset(
        "develop build flake shell run eval fmt path-info search log why-depends show-derivation repl".split()
    ),
    "pm2": frozenset("ls list l status jlist logs describe show info".split()),
    "supervisorctl": frozenset("status tail avail version".split()),
    "dpkg": frozenset("-l -L -s -S --list --listfiles --status --search".split()),
    **dict.fromkeys(_OF_TERMINALS, frozenset("ls list-sessions list-windows -V".split())),
}
# Written by programs that the line does not name (a test runner, a compiler), where they are there.
COMMON_CACHES = (
    ".cache/huggingface/hub",
    ".cache/matplotlib",
    ".cache/fontconfig",
    ".cache/mypy",
)
# Where programs are fetched to and started from: the person's next start would run them. So each command has an empty
# folder in their place.
FETCHED_PROGRAMS = (".npm/_npx",)
_SIGNING = frozenset("commit tag merge rebase cherry-pick revert am".split())
# What sends whole folders, in which any link may be.
SENDS_FOLDERS = frozenset("scp rsync aws gcloud gsutil az".split())
OF_REPOSITORIES = frozenset("git hub gh glab go".split())
# What one command may be let do with its row: all, what signs, all once a person agrees; or it needs nothing, runs what
# a project holds, or names a program itself.
_GIVEN, _SIGNS, _ASKED, _NOTHING, _RUNS, _NAMED = "given", "signs", "asked", "nothing", "runs", "named"
_WITH_PATTERN = frozenset("grep egrep fgrep rg jq".split())
# What works on files, and runs nothing of a project.
KNOWN_TOOLS = FILE_TOOLS | _WITH_PATTERN | frozenset(REDIRECTIONS)
_BY_PROGRAM = {program: need for need in NEEDS for program in need.programs.split()}


class Needs(NamedTuple):
    """The needs of one line's programs.

    Args:
        rows: with the credentials and sockets that the line gets.
        asked: the programs for which a person has to agree to that first.
        withheld: the credentials of its rows that it does not get, since it may run an agent's own program.
    """

    rows: tuple[Need, ...] = ()
    asked: tuple[str, ...] = ()
    withheld: tuple[Need, ...] = ()


def needs_of(
    commands: Sequence[tuple[str, ...]],
    line: str = "",
    *,
    runs_own: bool = False,
    elsewhere: bool = False,
    unsafe: bool = False,
    named: bool = False,
    remotes: Collection[str] | None = None,
    logins_only: Collection[Need] = (),
) -> Needs:
    """The needs that a line is given: the rows of its programs, if every program has one but for tools that work on files.

    Whatever else runs in the line would get it too. So it gets credentials only if none of its commands runs what a
    project holds, or once a person agrees. A program that is named by a path may be an agent's own, so it has no row.

    Args:
        commands: programs with their arguments, as the judge of the line gives them. line: its text.
        runs_own: the repository has hooks or settings by which git runs other programs.
        elsewhere: the repository is not the session's.
        unsafe: a program of the line is an agent's own, or a word of it names a link.
        named: a word of the line names a credential, or a file that may have become a link to one: its program could show it.
        remotes: names that git knows for repositories on other machines; None where any name may be one.
        logins_only: rows whose files name no other source of packages.
    """
    used = [(_BY_PROGRAM[argv[0]], argv) for argv in commands if argv and argv[0] in _BY_PROGRAM]
    others = [argv for argv in commands if argv and argv[0] not in _BY_PROGRAM]
    if not used:
        return Needs()
    rows = tuple(dict.fromkeys(row for row, _ in used))
    if any(argv[0] not in KNOWN_TOOLS for argv in others):
        # What a person is asked about anyway is opened all the same: the other program may run in a container.
        doors = doors_of(commands, rows) & {DOCKER, TERMINALS, SERVICES}
        return Needs(_opening(map(_bare, rows)) if doors else (), (), rows)
    known = None if remotes is None else {*remotes, *added_remotes(commands)}
    levels = [
        _level(row, argv, runs_own=runs_own, remotes=known, is_public=row in logins_only)
        for row, argv in used
    ]
    runs = [level for level in levels if level in (_ASKED, _RUNS)]
    foreign = elsewhere and any(argv[0] in OF_REPOSITORIES for _, argv in used)
    plain = is_plain(line, {argv[0] for argv in commands if argv}) and all(map(reads_no_file, others))
    unclear = foreign or unsafe or named or _NAMED in levels or not plain or _waits(commands)
    if unclear or (runs and (_ASKED not in runs or len(rows) > 1)):
        bare = map(_bare, rows) if not unsafe else (row._replace(credentials=(), sockets=()) for row in rows)
        return Needs(_opening(bare), (), rows)
    given = _opening(_at(row, level) for (row, _), level in zip(used, levels, strict=True))
    asked = [argv[0] for (_, argv), level in zip(used, levels, strict=True) if level == _ASKED]
    return Needs(given, tuple(dict.fromkeys(asked)))


def _waits(commands: Sequence[tuple[str, ...]]) -> bool:
    """True if git comes after a program that may wait: until then the agent's next calls can change what git reads."""
    named = [argv for argv in commands if argv and argv[0] in _BY_PROGRAM]
    last = max((index for index, argv in enumerate(named) if argv[0] in OF_REPOSITORIES), default=0)
    return any(
        argv[0] not in OF_REPOSITORIES or any(map(_WAITS.fullmatch, argv[1:])) for argv in named[:last]
    )


def _opening(rows: Iterable[Need]) -> tuple[Need, ...]:
    """The rows, each once, that open or make something."""
    return tuple(row for row in dict.fromkeys(rows) if row.credentials or row.sockets or row.caches)


def _level(
    row: Need, argv: tuple[str, ...], *, runs_own: bool, remotes: Collection[str] | None, is_public: bool
) -> str:
    subcommand = argv[1] if len(argv) > 1 else ""
    of_git = argv[0] == "git"
    if of_git and subcommand not in row.given.split():
        return _of_local_git(argv, runs_own=runs_own)
    if of_git and not reaches_only(argv, remotes):
        return _NAMED
    if row.given == "*" or subcommand in row.given.split():
        opens = row.credentials or KEYRING in row.sockets
        if opens and not of_git and not has_harmless_options(argv):
            return _NAMED
        return _ASKED if argv[0] in OF_REPOSITORIES and runs_own else _GIVEN
    if row.reads and re.fullmatch(row.reads, "\0".join(argv[1:])):
        return _GIVEN
    if is_public and (subcommand in row.public.split() or "--dry-run" in argv):
        return _RUNS
    return _ASKED if row.asked == "*" or subcommand in row.asked.split() else _RUNS


def _of_local_git(argv: tuple[str, ...], *, runs_own: bool) -> str:
    if argv[1:2] and argv[1] in _SIGNING:
        return _SIGNS if has_harmless_options(argv) and not runs_own else _RUNS
    return _NOTHING if argv[1:2] and argv[1] in OF_GIT and "--no-index" not in argv else _RUNS


def _at(row: Need, level: str) -> Need:
    if level == _SIGNS:
        return row._replace(credentials=(".gnupg",), sockets=(SSH_AGENT, GPG_AGENT))
    return _bare(row) if level == _NOTHING else row


def _bare(row: Need) -> Need:
    """A row without what opens something to others; what runs things outside is asked for anyway."""
    sockets = tuple(kind for kind in row.sockets if kind in (DOCKER, TERMINALS, SERVICES, HELPER))
    return row._replace(credentials=(), sockets=sockets)


def rows_of(programs: Iterable[str]) -> list[Need]:
    """The rows of programs, each once; unknown programs have none."""
    return list(dict.fromkeys(_BY_PROGRAM[program] for program in programs if program in _BY_PROGRAM))


def only_looks(argv: Sequence[str]) -> bool:
    """True for a command that only looks, by its program and subcommand."""
    program = argv[0].rpartition("/")[2]
    if program in _OF_TERMINALS and len(argv) != 2:
        return False  # its formats and further commands run programs
    if program == "nix" and any(map(_NIX_NAMES.match, argv[1:])):
        return False
    found = _LOOKS.get(program, frozenset())
    if of_group := _LOOKS.get(" ".join((program, *argv[1:2]))):
        return argv[2:3] != () and argv[2] in of_group
    return argv[1:2] != () and argv[1] in found


def doors_of(commands: Iterable[tuple[str, ...]], rows: Iterable[Need]) -> set[str]:
    """The kinds of sockets that a line uses for more than looking."""
    used = {argv[0] for argv in commands if argv and not only_looks(argv)}
    return {kind for row in rows for kind in row.sockets if used & set(row.programs.split())}


def outside_of(commands: Iterable[tuple[str, ...]]) -> str:
    """The reason why a program of a line cannot work inside, or ""."""
    rows = (_BY_PROGRAM.get(argv[0].rpartition("/")[2]) for argv in commands if argv and not only_looks(argv))
    return next((row.outside for row in rows if row is not None and row.outside), "")


def caches() -> Iterator[str]:
    """Every cache of the table, below the home."""
    for need in NEEDS:
        yield from need.caches
    yield from COMMON_CACHES
