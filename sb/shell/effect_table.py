"""Programs by what they do to paths, as far as following a line needs to know."""

from __future__ import annotations

# Programs that leave every path as it is, when the table says of their arguments that they only read.
INERT = frozenset(
    "ls dir cat tac head tail nl wc cut paste comm cmp diff grep egrep fgrep rg ag tr rev fold column expand tsort seq expr "
    "echo printf true false : pwd dirname basename realpath readlink stat du df ps pgrep free uname nproc id groups "
    "whoami which type jq md5sum sha1sum sha256sum shasum cksum b2sum test [ sleep tree bat exa eza date file uniq sort "
    "git find fd sed awk gawk mawk exit cd break continue".split()
)
# These make what was not there, or change permissions; every path stays what it is.
MAKING = frozenset(("mkdir", "touch", "chmod", "mktemp"))
# These change no content of a file that is there.
NO_CONTENT = frozenset(
    ("mkdir", "touch", "chmod", "kill", "mktemp", "ln", "git add", "git commit", "git branch", "git tag")
)
# Of these, and no others, the table's class says no more than what is collected here.
DESTROYING = frozenset(("rm", "dd", "git", "find"))
GIT_MOVES = tuple(
    f"GIT_{name}"
    for name in "DIR WORK_TREE INDEX_FILE OBJECT_DIRECTORY ALTERNATE COMMON_DIR NAMESPACE CEILING CONFIG LITERAL GLOB "
    "NOGLOB ICASE DISCOVERY".split()
)
GIT = ("reset", "rm ", "mv ", "checkout", "restore", "clean", "stash drop", "stash clear")
# Variables that decide how words, patterns and folders are read.
READING = frozenset(
    "IFS CDPATH GLOBIGNORE PATH HOME PWD OLDPWD BASH_ENV ENV SHELLOPTS BASHOPTS POSIXLY_CORRECT TMPDIR".split()
)
# These run the project's code, which could delete by itself what a later command of the line deletes.
BUILDS = frozenset(
    "npm npx pnpm pnpx yarn bun bunx make gmake cmake ninja cargo go tsc vite webpack rollup esbuild parcel turbo next jest vitest "
    "playwright cypress mocha pytest tox nox gradle gradlew mvn mvnw dotnet bazel mkdocs sphinx-build hugo jekyll".split()
)
