"""Needs of programs inside a confined call: credentials, sockets, caches, or a place outside of confinement.

A line gets these when it uses that program and no other; where it sends something, its text is judged. Paths are below
the user's home. Caches are filled by every confined call; what runs from them is run by builds of the person, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sb.shell.local_effects import FILE_TOOLS

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
        sockets: kinds of `sb.confinement.sockets`.
        caches: folders that they fill, made where they are missing.
        outside: why they cannot work inside, so that a person has to agree; "" where they can.
    """

    programs: str
    credentials: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    outside: str = ""


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
_NODE = (".npmrc", ".yarnrc.yml")
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
    Need("git hub gh glab", _MAY_PUSH, (SSH_AGENT, GPG_AGENT, KEYRING)),
    Need("ssh scp sftp rsync ssh-add mosh", (".ssh",), (SSH_AGENT, GPG_AGENT)),
    Need("gpg gpg2 pass gopass age sops", (".gnupg", ".password-store"), (GPG_AGENT,)),
    Need("npm npx", _NODE, (), (".npm/_cacache", ".npm/_logs")),
    Need("yarn", _NODE, (), (".cache/yarn",)),
    Need("pnpm", _NODE, (), (".cache/pnpm", ".local/share/pnpm/store")),
    Need("bun bunx", (*_NODE, ".bunfig.toml"), (), (".bun/install/cache",)),
    Need("pip pip3 pipx", (".netrc", ".pypirc"), (), (".cache/pip",)),
    Need("uv uvx", (".netrc", ".pypirc"), (), (".cache/uv",)),
    Need("poetry", (".netrc", ".config/pypoetry"), (), (".cache/pypoetry",)),
    Need("twine flit hatch", (".pypirc",)),
    Need("conda mamba micromamba", (".condarc",)),
    Need("cargo", (".cargo/credentials", ".cargo/credentials.toml"), (), (".cargo/registry", ".cargo/git")),
    Need("go", (".netrc", ".gitconfig", ".ssh"), (SSH_AGENT,), (".cache/go-build", "go/pkg/mod", "go/pkg/sumdb")),
    Need("mvn mvnw", (".m2",), (), (".m2/repository",)),
    Need("gradle gradlew", (".gradle",), (), (".gradle/caches", ".gradle/daemon", ".gradle/native")),
    Need("gem bundle bundler", (".gem", ".bundle")),
    Need("composer", (".composer", ".config/composer"), (), (".cache/composer",)),
    Need("dotnet nuget", (".nuget",), (), (".nuget/packages",)),
    Need("docker docker-compose nerdctl", (".docker", ".dockercfg", ".config/containers"), (DOCKER,)),
    Need("podman buildah skopeo", (".docker", ".config/containers"), (DOCKER,)),
    Need("aws sam cdk eksctl terraform tofu terragrunt pulumi packer gcloud gsutil bq az doctl", _CLOUD),
    Need("kubectl helm k9s kustomize flux argocd oc stern skaffold", (".kube", ".aws", ".config/gcloud", ".azure", ".config/helm")),
    Need("psql pg_dump pg_restore createdb dropdb", (".pgpass", ".pg_service.conf")),
    Need("mysql mysqldump mariadb", (".my.cnf", ".mylogin.cnf")),
    Need("wget", (".wgetrc", ".netrc")),
    Need("heroku netlify vercel fly flyctl wrangler railway supabase stripe firebase", (".netrc", ".config", ".fly", ".vercel", ".wrangler", ".railway", ".supabase")),
    Need("huggingface-cli hf", (".huggingface", ".cache/huggingface")),
    Need("sb", (), (HELPER,)),
    Need("tmux screen zellij", (), (TERMINALS,)),
    Need("systemctl journalctl loginctl busctl dbus-send gdbus notify-send hostnamectl timedatectl", (), (SERVICES,)),
    Need("secret-tool keyring", (), (KEYRING,)),
    Need("ccache sccache", (), (), (".cache/ccache", ".ccache", ".cache/sccache")),
    Need("sudo doas pkexec su run0", outside="runs as another user"),
    Need("apt apt-get aptitude dpkg dnf yum zypper pacman apk snap flatpak nix nix-env", outside="installs or removes programs of the system"),
    Need("brew port", outside="installs or removes programs outside of the project"),
)  # fmt: skip
# Written by programs that the line does not name (a test runner, a compiler), where they are there.
COMMON_CACHES = (
    ".cache/huggingface/hub",
    ".cache/matplotlib",
    ".cache/fontconfig",
    ".cache/mypy",
)
# Which subcommands of git and go reach for credentials. The others also run what a repository names (monitors, filters,
# tests), which may be an agent's own program; those that sign get what signs.
_REMOTE = {
    "git": frozenset("push fetch pull clone ls-remote submodule remote lfs".split()),
    "go": frozenset("get mod build install list".split()),
}
_SIGNING = frozenset("commit tag merge rebase cherry-pick revert am".split())
_FOR_SIGNING = (".config/git", ".gnupg")
_CONFIGURATION = (".config/git", ".gitconfig")  # which every subcommand reads
_NAMES_PROGRAM = ("--upload-pack", "--receive-pack", "--exec", "--config", "-c", "-u=", "ext::")
_EFFECTS = frozenset((">", ">>", "<"))  # redirections, in the list of a line's commands
_BY_PROGRAM = {program: need for need in NEEDS for program in need.programs.split()}


def needs_of(commands: Sequence[tuple[str, ...]]) -> list[Need]:
    """What a line gets: the row of its programs, if all of them are of one row but for tools that work on files.

    Whatever else runs in the line would get it too. Git and go get what their subcommands need. A program that is named by a path may be an agent's own, so it counts
    as another one.

    Args:
        commands: programs with their arguments, as the judge of the line gives them.
    """
    programs = {argv[0] for argv in commands if argv} - FILE_TOOLS - _EFFECTS
    rows = {_BY_PROGRAM.get(program) for program in programs}
    row = rows.pop() if len(rows) == 1 else None
    return [_narrowed(row, commands)] if row is not None else []


def _narrowed(row: Need, commands: Sequence[tuple[str, ...]]) -> Need:
    """A row of git or go with no more than the subcommands of a line need; other rows as they are."""
    subcommands = [(argv[0], *argv[1:2]) for argv in commands if argv and argv[0] in _REMOTE]
    if not subcommands:
        return row
    named = {name for _, *rest in subcommands for name in rest}
    words = [word for argv in commands if argv and argv[0] in _REMOTE for word in argv[1:]]
    moves = any(argv[:1] in (("cd",), ("pushd",)) for argv in commands)
    is_plain = not moves and not any(name.startswith("-") for name in named)
    if is_plain and not any(word.startswith(_NAMES_PROGRAM) for word in words):
        if any(name in _REMOTE[program] for program, *rest in subcommands for name in rest):
            return row
        if named & _SIGNING:
            return row._replace(credentials=_FOR_SIGNING)
    return without_credentials(row)


def without_credentials(need: Need) -> Need:
    """A row of git or go for a repository that may be an agent's own; other rows as they are."""
    if not _REMOTE.keys() & set(need.programs.split()):
        return need
    kept = tuple(path for path in need.credentials if path in _CONFIGURATION)
    return need._replace(credentials=kept, sockets=())


def rows_of(programs: Iterable[str]) -> list[Need]:
    """The rows of programs, each once; those of which nothing is known have none."""
    return list(dict.fromkeys(_BY_PROGRAM[program] for program in programs if program in _BY_PROGRAM))


def outside_of(commands: Iterable[tuple[str, ...]]) -> str:
    """Why a program of a line cannot work inside, or ""."""
    rows = (_BY_PROGRAM.get(argv[0].rpartition("/")[2]) for argv in commands if argv)
    return next((row.outside for row in rows if row is not None and row.outside), "")


def caches() -> Iterator[str]:
    """Every cache of the table, below the home."""
    for need in NEEDS:
        yield from need.caches
    yield from COMMON_CACHES
