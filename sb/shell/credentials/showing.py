"""Output of programs as far as it may hold secrets: contents of files, values of variables, names alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from sb.shell.credentials.secrets import secret_variable
from sb.shell.parsing.words import OPERAND, compiled, display, is_literal
from sb.shell.programs.facts import having, lists
from sb.shell.programs.rules import operands

SILENT, COUNTS, PASSES, PRINTS, VIEWERS, PRINTS_NAMES, FINDS, CODE, COPIES, GREPS, RUN_OTHERS, PACKS = map(
    having,
    (
        *("silent", "counts", "passes", "prints", "views", "prints_names", "finds", "runs_code"),
        *("copies", "searches_text", "runs_lines", "packs"),
    ),
)
_READ_DISK = (PASSES | VIEWERS | GREPS | COPIES) - PACKS - {"cpio", "zip", "unzip", "zcat"}
PATTERN_FIRST = having("searches_text", "pattern_first")
SHOWING_GIT = frozenset(
    "add diff show blame annotate cat-file grep archive log stash hash-object interpret-trailers merge-file difftool range-diff".split()
)
# Of its other subcommands: options whose value is a file that it reads, by their letters.
_READ_BY_GIT = {
    "commit": "Ft",
    **dict.fromkeys(("tag", "merge", "notes", "commit-tree", "fmt-merge-msg"), "F"),
    "config": "f",
}
_READ_BY_ANY = "--file --template --pathspec-from-file --signature-file --description-file".split()
_SHORTEST = 4  # of a long option: git takes it cut short
LOADING = frozenset(("export", "env", "declare", "local", "readonly", "typeset"))
# Options whose value is a program's own login or configuration.
OWN_LOGINS = (
    "--identity --identity-file --key --cert --cacert --netrc-file --env-file --env --kubeconfig --private-key --key-file --vault-password-file --password-file --var-file "
    "-var-file --credentials --credentials-file --service-account-key-file --key-path --secret --inkey -inkey -CAkey -signkey -keyfile --keyfile --ssl-key --ssl-cert --tlskey --tlscert "
    "--tls-key --tls-cert --config-file --userconfig --globalconfig --netrc --age-key-file --defaults-file --defaults-extra-file --passphrase-file --keystore -keystore --mode --dotenv "
    "--authfile --cloud-config --ssh-key --certfile --keytab --key-filename --gpg-key --backend-config --client-certificate --client-key --certificate-authority --envfile --env-path"
).split()
_BESIDE_JOINED = ("--exclude", "--include", "--glob=", "--ignore")
_PATTERN_OPTIONS = ("-e", "-f", "--regexp", "--file", "-E")
_OPENSSL_SHOWS = frozenset("enc base64 rsa ec pkey pkcs8 pkcs12 dsa asn1parse".split())
_TAKES_LOGIN = (
    r"(?:docker|podman|nerdctl|buildah|skopeo|crane|helm|oras|gh|glab|az|vault|npm|heroku|flyctl|fly|argocd|registry)(?: \S+){0,2} log-?in\b"
    r"|ssh-add|gpg2? .*--import|kubectl .*(?:create|apply)|(?:gh|glab) secret set|(?:vault|op|doppler|wrangler|fly|flyctl|heroku|kubeseal|pass|gcloud secrets|aws secretsmanager) "
    r"|wrangler secret|security add|sudo -S|sshpass|passwd|chpasswd|cryptsetup|kubeseal|ansible-vault encrypt|git credential approve|git credential-\S+ store|secret-tool store"
)
_ONLY_NAMES = (
    r"(?:(?:grep|egrep|rg)\b.* (?:-[a-zA-Z]*[cqlL][a-zA-Z]*|--count|--quiet|--silent|--files-with-matches|--files-without-match)\b.*"
    r"|(?:grep|egrep)\b.* -[a-zA-Z]*o[a-zA-Z]* \^\S*=?"
    r"|cut\b(?=.*-d ?=).* (?:-f ?1|--fields=1)(?: .*)?|cut\b.*-f ?1 .*-d ?=.*"
    r"|g?awk\b.*-F ?=.*\{ ?print \$1 ?\}.*|g?sed\b.*s(.)=\.\*\1[^&\\]*\1.*|jq\b.*\bkeys\b.*|ssh-keygen.*)"
)
ENVIRONMENT = "prints the environment"
_PRINTS_OBJECT = ("-o", "--output", "--dry-run", "--template", "-v", "--v")
_ALL = "-[a-zA-Z0-9]*[aAf][a-zA-Z0-9]*|--all|--almost-all"
_FIELD = r"\.(?:\[\d*\])?(?:\.[a-z_]\w*(?:\[\d*\])?)+"
_READ_BY_SED = r"(?:^|[;{}\n/$\d!])[ \t]*[rR][ \t]*([^\s;}]{1,400})"
_READ_BY_AWK = r"<[ \t]*\"([^\"\n]{1,400})\""
_NAMED_SECRET = r"token|secret|passw|key|cred|auth|aws|pat\b|api|\bpw\b"


def reads_disk(program: str) -> bool:
    """True if a program that is given a path reads that file of this machine: not one of an archive or of a commit."""
    return program in _READ_DISK


def git_verb(arguments: Sequence[str]) -> str:
    """The subcommand of git."""
    return next((arguments[at] for at in operands(arguments, "-C -c --git-dir --work-tree --namespace")), "")


def tells_names_only(program: str, arguments: Sequence[str]) -> bool:
    """True if what a command prints holds names and counts, and nothing of what a file or its input says."""
    if program == "cmp" and any(
        compiled("-[a-z]*[lb][a-z]*|--verbose|--print-bytes").fullmatch(word) for word in arguments
    ):
        return False
    if program in COUNTS:
        return True
    return (
        program in having("may_tell_names")
        and compiled(_ONLY_NAMES, re.DOTALL).fullmatch(" ".join([program, *arguments[:40]])) is not None
    )


def takes_login(program: str, arguments: Sequence[str]) -> bool:
    """True if a command takes a login or a secret for itself."""
    return compiled(_TAKES_LOGIN).match(" ".join([program, *arguments[:40]])) is not None


def shows_files(program: str, arguments: Sequence[str]) -> bool:
    """True if a command may show, copy or send the files that it names; others name, use or place them."""
    if program in ("cmp", "date"):  # `date -f` says which lines are no dates
        return program == "cmp" or any(word.startswith(("-f", "--file")) for word in arguments)
    if program == "git" and git_verb(arguments) not in SHOWING_GIT:
        return bool(_read_by_git(arguments))
    if program in SILENT:
        return False
    if program in ("kubectl", "oc", "docker", "podman", "nerdctl"):
        return _hands_over(arguments)
    return program != "openssl" or _openssl_shows(arguments)


def variables_shown(program: str, arguments: Sequence[str]) -> str | None:
    """The reason why a command prints variables that may be secrets; "" for harmless ones, None for none."""
    if program == "printenv":
        names = [word for word in arguments if word[:1] != "-"]
        secrets = [name for name in names if not is_literal(name) or secret_variable(name)]
        return f"prints ${display(secrets[0])}" if secrets else "" if names else ENVIRONMENT
    if program == "env":
        return (
            ENVIRONMENT
            if all(word[:1] == "-" or "=" in word for word in arguments)
            and "--version" not in arguments
            and "--help" not in arguments
            else ""
        )
    if program in ("export", "set", "declare", "typeset"):
        printing = not arguments or (
            program != "set" and all(word in ("-p", "-x", "-px", "-xp") for word in arguments)
        )
        return ENVIRONMENT if printing else None
    if program == "ps" and any(
        compiled("-?[a-zA-Z]*[eE][a-zA-Z]*w*").fullmatch(word) and word[:1] != "-" for word in arguments
    ):
        return "prints the environment of processes"
    if program in ("declare", "typeset") and arguments[:1] == ["-p"]:
        names = [name for name in arguments[1:] if secret_variable(name)]
        return f"prints ${names[0]}" if names else ""
    return None


def lets_names_through(program: str, arguments: Sequence[str]) -> bool:
    """True if a filter lets only lines of the environment through that name nothing secret."""
    if program not in GREPS:
        return False
    patterns = [word for word in arguments if word[:1] != "-"]
    inverted = any(word[:1] == "-" and word[1:2] != "-" and "v" in word for word in arguments)
    return (
        bool(patterns)
        and not inverted
        and all(is_literal(word) for word in patterns)
        and (
            compiled(_NAMED_SECRET, re.IGNORECASE).search(patterns[0]) is None
            and len(compiled(r"[^\w]|_").sub("", patterns[0])) > 1
        )
    )


def lists_hidden(program: str, arguments: Sequence[str]) -> int:
    """The names of a folder's files that a command prints: 2 for all, 1 for those that are not hidden, 0 for none."""
    if program == "ls":
        return 1 + any(compiled(_ALL).fullmatch(word) is not None for word in arguments)
    if program != "git":
        return 0
    verb = git_verb(arguments)
    others = verb == "ls-files" and any(
        compiled("-[a-z]*[oi][a-z]*|--others|--ignored").fullmatch(word) for word in arguments
    )
    if others and "--exclude-standard" in arguments:
        others = any(compiled("-[a-z]*i[a-z]*|--ignored").fullmatch(word) for word in arguments)
    ignored = verb == "status" and any(word.startswith("--ignored") for word in arguments)
    cleaned = verb == "clean" and any(compiled("-[a-z]*[xX][a-z]*").fullmatch(word) for word in arguments)
    return 2 if others or ignored or cleaned else 0


def lets_fields_through(program: str, arguments: Sequence[str]) -> bool:
    """True if `jq` prints one field of a container's description, which is not its environment."""
    words = [word for word in arguments if word[:1] != "-"]
    path = words[0].lower() if program == "jq" and words else ""
    known = compiled(_FIELD).fullmatch(path) is not None and not path.endswith((".config", "args"))
    return known and ".env" not in path


def lets_listed_through(program: str, arguments: Sequence[str], names: Sequence[str]) -> bool:
    """True if a filter may let one of these names through."""
    patterns = [word for word in arguments if word[:1] != "-"]
    if program not in GREPS or not patterns:
        return True
    inverted = any(word[:1] == "-" and word[1:2] != "-" and "v" in word for word in arguments)
    pattern = patterns[0].lower().replace("\\.", ".").strip("^$")
    plain = compiled(r"[\w.-]*").fullmatch(pattern) is not None
    fits = [pattern in name.lower() or "." in pattern.strip(".") for name in names]
    return (not all(fits) if inverted else any(fits)) if plain else True


def read_words(program: str, arguments: Sequence[str]) -> list[str]:
    """The arguments that may be files which a command reads: no destinations, patterns, or logins of its own."""
    inplace = program in ("sed", "gsed", "perl") and any(
        compiled("-[a-zA-Z]*i.*|--in-place.*").fullmatch(word) for word in arguments
    )
    if (inplace and "-n" not in arguments) or program == "tee" or _unpacks(program, arguments):
        return []
    if program == "git" and git_verb(arguments) not in SHOWING_GIT:
        return _read_by_git(arguments)
    gives_pattern = program in GREPS and any(word in _PATTERN_OPTIONS for word in arguments)
    pattern_comes = program in PATTERN_FIRST and not gives_pattern
    last = _destination(program, arguments)
    found: list[str] = []
    before = ""
    for at, word in enumerate(arguments):
        before, previous = word, before
        if word == "-x" and program == "zip":
            break  # what is left out
        if at == last or word.startswith(("of=", *_BESIDE_JOINED)) or _takes(previous, program):
            continue
        if word[:1] == "-" and word.partition("=")[0] in OWN_LOGINS and "=" in word:
            continue
        if pattern_comes and word[:1] != "-":
            pattern_comes = False
            continue
        found.append(word)
    return found


def _read_by_git(arguments: Sequence[str]) -> list[str]:
    """The words by which a subcommand of git is given a file to read: a value, or an option with it."""
    letters = _READ_BY_GIT.get(git_verb(arguments), "")
    short = compiled(rf"-[aeinopqsvzdlf]*?[{letters}](.*)", re.DOTALL) if letters else None
    found: list[str] = []
    for word, after in itertools.pairwise([*arguments, ""]):
        name, equals, _ = word.partition("=")
        if word[:2] == "--":
            reads = len(name) >= _SHORTEST and any(option.startswith(name) for option in _READ_BY_ANY)
            found += [word if equals else after] if reads else []
        elif match := short and short.fullmatch(word):
            found.append(word if match[1] else after)
    return [word for word in found if word]


def _destination(program: str, arguments: Sequence[str]) -> int:
    """The position of the operand that a copy goes to, -1 for none."""
    copies = program in COPIES or (program in ("docker", "podman", "kubectl", "oc") and "cp" in arguments[:4])
    positions = operands(arguments)
    if not copies or len(positions) < 2 or any(word in ("-t", "--target-directory") for word in arguments):
        return -1
    return positions[-1]


def _takes(option: str, program: str) -> bool:
    """True if an option's value is not a file to show: the program's login, a destination, a pattern."""
    if option[:1] != "-":
        return False
    cluster = compiled("-[a-zA-Z]{2,}").fullmatch(option)
    short = f"-{option[-1]}" if cluster else option
    return option in OWN_LOGINS or short in lists("beside").get(program, ())


def _unpacks(program: str, arguments: Sequence[str]) -> bool:
    if program in ("unzip", "gunzip"):
        return True
    return program in ("tar", "gtar", "bsdtar") and any(
        compiled("-?[a-zA-Z]*x[a-zA-Z]*|--(?:ext|get).*").fullmatch(word) for word in arguments[:2]
    )


def unpacks_to_output(program: str, arguments: Sequence[str]) -> bool:
    """True if a command prints the contents of the files in an archive."""
    if program in ("tar", "gtar", "bsdtar"):
        first = "".join(arguments[:1]).lstrip("-")
        own = any(compiled("-[a-zA-Z]*O[a-zA-Z]*|--to-stdout").fullmatch(word) for word in arguments)
        return (own or "O" in first) and _unpacks(program, arguments)
    if program in ("cpio", "pax"):
        return "--to-stdout" in arguments
    return (
        program == "unzip" and any(compiled("-[a-z]*[pc][a-z]*").fullmatch(word) for word in arguments)
    ) or (program in ("7z", "7za", "7zz", "bsdcat", "funzip") and (program[0] != "7" or "-so" in arguments))


def packs_listed(program: str, arguments: Sequence[str]) -> bool:
    """True if a command packs or copies the files whose names are its input."""
    if program == "cpio":
        return any(
            compiled("-[a-zA-Z]*[op][a-zA-Z]*|--create|--pass-through").fullmatch(word) for word in arguments
        )
    if program == "zip":
        return "-@" in arguments
    if program not in ("tar", "gtar", "bsdtar", "rsync"):
        return False
    named = [
        word[2:] if word[1] == "T" else word.partition("=")[2]
        for word in arguments
        if compiled("-T.+|--files-from=.+").fullmatch(word)
    ]
    option = compiled("-[a-zA-Z]*T|--files-from")
    named += [word for before, word in itertools.pairwise(arguments) if option.fullmatch(before)]
    return any(word in ("-", OPERAND) for word in named)


def script_files(arguments: Sequence[str]) -> list[str]:
    """The files of commands that `sed` or `awk` is told to run."""
    return [after for word, after in itertools.pairwise(arguments) if word in ("-f", "--file")]


def makefiles(arguments: Sequence[str]) -> list[str]:
    """The files that `make` is told to read."""
    given = [word.partition("=")[2] for word in arguments if word.startswith(("--file=", "--makefile="))]
    given += [word[2:] for word in arguments if word[:2] == "-f" and word[2:]]
    given += [name for word in arguments if word.startswith("MAKEFILES=") for name in word[10:].split()]
    pairs = itertools.pairwise(arguments)
    return given + [word for before, word in pairs if before in ("-f", "--file", "--makefile")]


def files_of_script(program: str, script: str) -> list[str]:
    """The files that a script of `sed` or `awk` reads by its own commands."""
    if "sed" in program:
        return compiled(_READ_BY_SED).findall(script)
    return compiled(_READ_BY_AWK).findall(script) if "getline" in script else []


def _hands_over(arguments: Sequence[str]) -> bool:
    """True if a container program gets a file into a container, or out of it, or makes an object of one that it may print."""
    if any(word.startswith("--from-") for word in arguments):
        return "secret" not in arguments or any(word.startswith(_PRINTS_OBJECT) for word in arguments)
    return "cp" in arguments[:4] or any(
        word in ("-v", "--volume", "--mount") or word.startswith(("-v=", "--volume=", "--mount=", "-v/"))
        for word in arguments
    )


def _openssl_shows(arguments: Sequence[str]) -> bool:
    verb = arguments[0] if arguments else ""
    shows = verb in _OPENSSL_SHOWS or verb.startswith(("aes", "des"))
    return shows and "-pubout" not in arguments and ("-noout" not in arguments or "-text" in arguments)
