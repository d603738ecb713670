"""Tables of programs' arguments: values, files, commands of their own."""

from __future__ import annotations

# Programs whose arguments are files that they write.
WRITES = frozenset(
    (
        "touch mkdir rm rmdir unlink tee truncate gzip gunzip dos2unix unix2dos shred chmod "
        "chown black isort mkfifo mknod fallocate script csplit prettier autopep8 yapf 2to3 biome sd rpl fastmod crudini dasel "
        "ed ex vi vim nvim nano pico emacs micro hexedit strip patchelf chrpath upx objcopy install_name_tool codesign"
    ).split()
)
# Programs that put something at a place that an argument names; python's are modules of its own.
PLACES = frozenset(
    (
        "cp mv ln link install ditto gcp gmv gln ginstall rsync scp rclone gsutil aws docker podman kubectl tar gtar bsdtar "
        "unzip 7z 7za 7zz 7zr p7zip unrar rar jar dpkg dpkg-deb cpio bsdcpio pax stow unar cabextract aunpack ouch patch git "
        "curl wget aria2c gh http https xh sort shuf tree pandoc iconv base64 xmllint diff gpg ssh-keygen split uniq xxd "
        "sponge history zip gunzip bunzip2 unxz unzstd uncompress openssl sftp az gcloud pip pip3 npm pnpm yarn unsquashfs lz4 ffmpeg "
        "convert magick mmv cargo helm hg svn logrotate mysqldump mariadb-dump pg_dump pg_dumpall pg_basebackup mongodump cmake rename "
        "make gmake"
    ).split()
)
# Programs after which everything is where it was, and that do not wait: what is there now is there for the next command too.
INSTANT = frozenset(
    "cd chdir pushd popd test [ [[ echo printf true : pwd ls set export local declare umask dirs".split()
)
# Programs that destroy nothing but files and processes of the machine, or the container, that they run on.
OWN_FILES = frozenset(
    "rm rmdir chmod chown chgrp dd shred truncate kill pkill killall tar unzip cp mv".split()
)
# Programs that leave the shell in the folder that they go to.
GO = frozenset("cd chdir pushd popd eval command builtin".split())

# Options whose value is a command that a program runs.
RUN_OPTIONS: dict[str, str] = {
    "rsync": "-e --rsh",
    "scp": "-S",
    "man": "-P --pager",
    "script": "-c --command",
    "tar": "--to-command --use-compress-program --checkpoint-action -I",
    "zip": "-TT",
    "sort": "--compress-program",
    "rg": "--pre",
    "split": "--filter",
    "hyperfine": "-p --prepare -s --setup -c --cleanup -C --conclude --reference",
    "mapfile": "-C",
    "readarray": "-C",
    "compgen": "-C",
    "complete": "-C",
    "git difftool": "-x --extcmd",
    "git grep": "-O --open-files-in-pager",
    "git instaweb": "-b --browser -d --httpd",
    "git send-email": "--sendmail-cmd --to-cmd --cc-cmd --header-cmd",
    "git svn": "--authors-prog",
}

# Programs that copy or link folders to what their last argument names.
COPIES_TO_LAST = frozenset(("cp", "rsync", "scp", "ditto", "ln"))

# Programs whose folders are removed or changed with all that is in them.
WHOLE_FOLDERS = frozenset(["rm", "mv", "chmod", "chown", "chgrp", "rsync", "find", "shred", "trash"])

# Programs that run the command that their arguments are: the class of that at least, the operands before it, options with a value.
# These give it the secrets of a store or a file, as variables.
ENVIRONMENT_RUNNERS: dict[str, tuple[str, int, str]] = {
    "dotenv": ("N", 0, "-e -f --file -v -c"),
    "dotenv run": ("N", 0, "-e -f --file"),
    "dotenv-cli": ("N", 0, "-e -v -c -p"),
    "dotenvx run": ("N", 0, "-f --env-file -fv --env-vault-file -fk --env-keys-file -e --env --convention"),
    "dotenvx ext run": ("N", 0, ""),
    "godotenv": ("N", 0, "-f"),
    "shdotenv": ("N", 0, "-e --env -d --dialect"),
    "env-cmd": ("N", 0, "-f --file -e --environments -r --rc-file"),
    "envchain": ("N", 1, ""),
    "envdir": ("N", 1, ""),
    "envconsul": ("N", 0, "-config -secret -prefix -vault-addr -consul-addr"),
    "envkey-source": ("N", 0, ""),
    "honcho run": ("N", 0, "-e --env -f -d"),
    "direnv exec": ("N", 1, ""),
    "foreman run": ("N", 0, "-e -f"),
    "op run": ("N", 0, "--env-file --environment --account"),
    "doppler run": (
        "N",
        0,
        "-p --project -c --config -t --token --command --fallback --mount --mount-format",
    ),
    "infisical run": ("N", 0, "-e --env --projectId --token --path --tags -c --command --domain"),
    "chamber exec": ("N", 1, "-b --backend"),
    "aws-vault exec": ("N", 1, "-d --duration --region -t --mfa-token --prompt --backend"),
    "aws-okta exec": ("N", 1, "-d --duration"),
    "saml2aws exec": ("N", 0, "-a --idp-account -p --profile --exec-profile"),
    "sops exec-env": ("N", 1, "--user"),
    "sops exec-file": ("N", 1, "--user --filename"),
    "teller run": ("N", 0, "-c --config"),
    "bws run": ("N", 0, "--project-id --shell -t --access-token"),
    "berglas exec": ("N", 0, ""),
    "gopass env": ("N", 1, ""),
    "hcp vault-secrets run": ("N", 0, "--app"),
    "vlt run": ("N", 0, "-c --command --app-name"),
    "phase run": ("N", 0, "--env --app --path --tags"),
    "summon": ("N", 0, "-p --provider -f -e --environment -D --yaml"),
    "vals exec": ("N", 0, "-f -i"),
    "heroku local:run": ("N", 0, "-e -f --env --procfile -p --port"),
    "railway run": ("N", 0, "-s --service -e --environment"),
    "vercel env run": ("N", 0, "-e --environment --git-branch"),
    "netlify dev:exec": ("N", 0, ""),
    **dict.fromkeys(("mise exec", "mise x"), ("N", 0, "-C --cd -j --jobs -c --command -E --env")),
    "fnox exec": ("N", 0, "-P --profile -c --config"),
    "overmind run": ("N", 0, "-s --socket"),
    "secretspec run": ("N", 0, "-p --provider -P --profile"),
    "varlock run": ("N", 0, "-p --path"),
}
# Options of wrappers that take no value; of others it is not known, so that the word behind one may be its value.
FLAGS: dict[str, str] = {
    **dict.fromkeys(("npx", "bunx", "pnpx", "npm exec"), "-y --yes --no --no-install -q --quiet --bun"),
    "strace": "-c -C -f -ff -t -tt -ttt -T -y -yy -v -q -qq -r -x -xx -i -k -n -d -z -Z",
    "time": "-p -v -a --portability --verbose --append",
    "timeout": "-v --foreground --preserve-status --verbose",
    "watch": "-d -t -g -b -e -c -x --differences --no-title --chgexit --beep --errexit --color --exec",
    "stdbuf": "",
    "setpriv": "--clear-groups --keep-groups --init-groups --no-new-privs --reset-env --dump",
    "setarch": "-R -B -F -I -L -S -T -X -Z -v -3 --addr-no-randomize --verbose",
    "xvfb-run": "-a -l --auto-servernum",
    "ld.so": "--list --verify --inhibit-cache --list-tunables --list-diagnostics --version --help",
    "uv run": "--frozen --locked --isolated --offline --no-sync --quiet -q --no-dev --dev --active --all-extras",
}
WRAPPERS: dict[str, tuple[str, int, str]] = {
    "nohup": ("R", 0, ""),
    "command": ("R", 0, ""),
    "builtin": ("R", 0, ""),
    "time": ("R", 0, "-f -o --format --output"),
    "nice": ("R", 0, "-n --adjustment"),
    "ionice": ("R", 0, "-c -n -p --class --classdata"),
    "chrt": ("R", 1, ""),
    "taskset": ("R", 1, ""),
    "timeout": ("R", 1, "-s -k --signal --kill-after"),
    "gtimeout": ("R", 1, "-s -k --signal --kill-after"),
    "stdbuf": ("R", 0, "-i -o -e --input --output --error"),
    "setsid": ("R", 0, ""),
    "caffeinate": ("R", 0, "-t -w"),
    "unbuffer": ("R", 0, ""),
    "noglob": ("R", 0, ""),
    "nocorrect": ("R", 0, ""),
    "repeat": ("R", 1, ""),
    "-": ("R", 0, ""),
    "busybox": ("R", 0, ""),
    "toybox": ("R", 0, ""),
    "watch": ("R", 0, "-n --interval"),
    "strace": ("R", 0, "-e -o -p -s -u -E -a -O -S -P -b -I"),
    "ltrace": ("R", 0, "-e -o -p -s -u -n"),
    "perf": ("R", 1, "-e -o -p"),
    "valgrind": ("R", 0, ""),
    "ld.so": (
        "R",
        0,
        "--library-path --inhibit-rpath --audit --preload --argv0 --glibc-hwcaps-prepend --glibc-hwcaps-mask",
    ),
    "setpriv": (
        "R",
        0,
        "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig --ptracer",
    ),
    "prlimit": ("R", 0, "-p --pid -o --output"),
    "choom": ("R", 0, "-n --adjust -p --pid"),
    "uclampset": ("R", 0, "-m -M -p --pid"),
    "numactl": ("R", 0, "-i --interleave -p --preferred -P -m --membind -N --cpunodebind -C --physcpubind"),
    "cpulimit": ("R", 0, "-l --limit -p --pid -e --exe -m"),
    "faketime": ("R", 1, ""),
    "fakeroot": ("R", 0, "-l --lib --faked -s -i -b"),
    "runcon": ("R", 1, "-t -u -r -l --type --user --role --range"),
    "aa-exec": ("R", 0, "-p --profile -n --namespace"),
    "capsh": ("R", 0, ""),
    "rlwrap": ("R", 0, "-b -C -D -e -f -g -H -l -m -M -O -P -q -Q -s -S -t -w -z"),
    "systemd-inhibit": ("R", 0, "--what --who --why --mode"),
    "dbus-run-session": ("R", 0, "--config-file --dbus-daemon"),
    "xvfb-run": (
        "R",
        0,
        "-e -f -n -p -s -w --error-file --auth-file --server-num --server-args --xauth-protocol --wait",
    ),
    "gtime": ("R", 0, "-f -o --format --output"),
    "setlock": ("W", 1, ""),
    "softlimit": ("R", 0, "-a -c -d -f -l -m -o -p -r -s -t"),
    **dict.fromkeys(
        "setarch linux32 linux64 i386 i486 i586 i686 x86_64 aarch64 arm armv7l ppc64 ppc64le s390x uname26 "
        "eatmydata catchsegv chronic ifne tini dumb-init with-contenv firejail".split(),
        ("R", 0, ""),
    ),
    "hyperfine": (
        "R",
        0,
        "-w --warmup -m --min-runs -M --max-runs -r --runs -n --command-name -S --shell --export-json -p --prepare -s --setup -c --cleanup",
    ),
    "proot": ("N", 0, "-r --rootfs -b --bind -q --qemu -w --pwd --cwd -R -S"),
    "trickle": ("N", 0, "-d -u -w -t -l -L -n"),
    **dict.fromkeys("torsocks torify proxychains proxychains4".split(), ("N", 0, "-f")),
    "su-exec": ("D", 1, ""),
    "flock": ("W", 1, "-w -E --timeout --conflict-exit-code -c --command"),
    "parallel": (
        "N",
        0,
        "-j --jobs -a --arg-file -I --colsep --joblog -N -n --max-args --results --timeout -S --retries",
    ),
    "entr": ("N", 0, ""),
    "ssh-agent": ("N", 0, "-a -E -P -t -O"),
    "chroot": ("D", 1, "--userspec --groups"),
    "unshare": ("D", 0, ""),
    "nsenter": ("D", 0, "-t --target"),
    "sudo": ("D", 0, "-u -g -h -p -C -r -t -T -U -R -D --user --group --host --prompt --chdir"),
    "doas": ("D", 0, "-u -C"),
    "su": ("D", 0, "-c --command -s --shell -g -G"),
    "pkexec": ("D", 0, "--user"),
    "runuser": ("D", 0, "-u -g -c"),
    "gosu": ("D", 1, ""),
    "systemd-run": ("D", 0, "-u -p --unit --property -E -t"),
    "uvx": ("N", 0, "--from --with -p --python --index-url --refresh-package"),
    "npx": ("N", 0, "-p --package -w --workspace -c --call"),
    "bunx": ("N", 0, "-p --package"),
    "pnpx": ("N", 0, ""),
    "direnv": ("N", 2, ""),
    "foreman": ("N", 1, "-e -f"),
    "uv run": (
        "N",
        0,
        "--with --python -p --extra --group --env-file --project --directory --package --index-url --index",
    ),
    "uv tool run": ("N", 0, "--from --with -p --python"),
    "poetry run": ("N", 0, ""),
    "pdm run": ("N", 0, "-p"),
    "pipenv run": ("N", 0, ""),
    "hatch run": ("N", 0, ""),
    "rye run": ("N", 0, ""),
    "pipx run": ("N", 0, "--spec --python --index-url"),
    "bundle exec": ("N", 0, ""),
    "npm exec": ("N", 0, "-p --package -c --call -w --workspace"),
    "pnpm exec": ("N", 0, ""),
    "pnpm dlx": ("N", 0, "--package"),
    "yarn dlx": ("N", 0, "-p --package"),
    "yarn exec": ("N", 0, ""),
    "bun x": ("N", 0, ""),
    "conda run": ("N", 0, "-n -p --name --prefix --cwd"),
    "mamba run": ("N", 0, "-n -p --name --prefix"),
    "asdf exec": ("N", 0, ""),
    "ssh": ("N", 1, "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w"),
    "screen": ("N", 0, "-S -t -c -T -e -h -p -r -s -x"),
    **dict.fromkeys(
        (
            "tmux new",
            "tmux new-session",
            "tmux neww",
            "tmux new-window",
            "tmux splitw",
            "tmux split-window",
            "tmux send-keys",
            "tmux send",
            "tmux pipe-pane",
            "tmux pipep",
            "tmux run-shell",
            "tmux run",
            "tmux respawn-pane",
        ),
        ("N", 0, "-s -n -c -t -x -y -e -F -l -p"),
    ),
    "git submodule foreach": ("R", 0, ""),
    "git bisect run": ("N", 0, ""),
    **ENVIRONMENT_RUNNERS,
}
XARGS_VALUED = "-I -n -P -L -d -E -s -a -R -J --arg-file --delimiter --max-args --max-procs --max-lines --max-chars --replace --eof"
# Options without a value that may stand before one that only prints what would be done.
DRY_FLAGS = frozenset(
    "--delete --force --tags --all --mirror --prune --force-with-lease --verbose --progress --stats".split()
)
# Variables whose value is a command that a program runs, and those that change which programs or code run.
COMMAND_VARIABLES = frozenset(
    [
        "GIT_SSH_COMMAND",
        "GIT_SSH",
        "GIT_PAGER",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
        "SSH_ASKPASS",
        "PAGER",
        "MANPAGER",
        "EDITOR",
        "VISUAL",
        "FCEDIT",
        "LESSOPEN",
        "LESSCLOSE",
        "BROWSER",
        "PROMPT_COMMAND",
        "RSYNC_RSH",
        "FZF_DEFAULT_COMMAND",
        "GH_PAGER",
        "GH_EDITOR",
        "GH_BROWSER",
        "BAT_PAGER",
        "SUDO_ASKPASS",
        "PS4",
        "CARGO_BUILD_RUSTC_WRAPPER",
        "RUSTC_WRAPPER",
        "AWS_PAGER",
        "PSQL_PAGER",
    ]
)
LOADER_VARIABLES = frozenset(
    [
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "DYLD_LIBRARY_PATH",
        "DYLD_FRAMEWORK_PATH",
        "BASH_ENV",
        "ENV",
        "MAKEFILES",
        "ZDOTDIR",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "PYTHONHOME",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "RUBYLIB",
        "GIT_EXEC_PATH",
        "GIT_CONFIG",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_PARAMETERS",
        "GIT_TEMPLATE_DIR",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "GCONV_PATH",
        "SHELLOPTS",
        "BASHOPTS",
        "CDPATH",
        "HOME",
        "RIPGREP_CONFIG_PATH",
        "AWKPATH",
        "TAR_OPTIONS",
        "MAKEFLAGS",
        "GIT_DIR",
        "GIT_COMMON_DIR",
        "AWKLIBPATH",
    ]
)
# Variables that name a file or a folder which programs write; and those of them that only add to it.
WRITTEN_VARIABLES = frozenset(
    "GIT_INDEX_FILE HISTFILE LESSHISTFILE MYSQL_HISTFILE PSQL_HISTORY SQLITE_HISTORY NODE_REPL_HISTORY PYTHON_HISTORY PIP_LOG PIP_LOG_FILE "
    "TF_LOG_PATH SSLKEYLOGFILE LLVM_PROFILE_FILE COVERAGE_FILE MALLOC_TRACE LD_DEBUG_OUTPUT NODE_V8_COVERAGE GOCOVERDIR "
    "PYTHONPYCACHEPREFIX npm_config_cache NPM_CONFIG_CACHE npm_config_logs_dir CARGO_TARGET_DIR".split()
)
ADDED_TO = ("GIT_TRACE", "PIP_LOG", "TF_LOG", "SSLKEYLOG", "LESSHISTFILE")
# Variables that decide which settings a host's agent goes by, or that it goes by none.
HOST_VARIABLES = frozenset(
    [
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_SIMPLE",
        "CLAUDE_CODE_SAFE_MODE",
        "CODEX_HOME",
        "CURSOR_CONFIG_DIR",
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_CONTENT",
        "OPENCODE_CONFIG_DIR",
        "COPILOT_HOME",
        "GEMINI_CLI_HOME",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    ]
)
