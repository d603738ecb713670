"""A secret in a command line is hidden from view only where nothing can execute it."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from sb.base.text import revealed_line
from sb.kernel.approvals.disclosure import arguments_of
from sb.shell.parsing.literals import secret_literals
from tests.rows import rows

TOKEN = "ghp_" + "a1" * 18
PLAIN = [
    f"curl -H 'Authorization: Bearer {TOKEN}' https://api.github.com/x | jq .login",
    f"curl -H 'Private-Token: {TOKEN}' -d '{{\"a\": 1}}' https://h/x",
    f"curl -u bob:{TOKEN} https://h/x",
    f"wget --password={TOKEN} https://h/x",
    f"glab api user --token={TOKEN}",
    f"GITHUB_TOKEN={TOKEN} gh api user",
    f"git push https://bob:{TOKEN}@github.com/a/b main",
    f"PGPASSWORD={TOKEN} psql -h db",
]
ACTING = [
    # What the shell itself would run, or read otherwise than it is shown.
    f'curl -u bob:{TOKEN} https://h; PASSWORD="$(echo x)" true',
    f"curl -u bob:{TOKEN} `id`",
    f"curl -u bob:{TOKEN} https://h\ncurl https://h",
    f"curl -u bob:{TOKEN} https://h # a comment",
    f"curl -u bob:{TOKEN} https://h <<< x",
    f"curl -u bob:{TOKEN} https://h <<E\nx\nE",
    f"curl -u bob:{TOKEN} 'https://h",
    f"curl -u bob:{TOKEN} https://h !!",
    f"curl -u bob:{TOKEN} <(id)",
    f"if curl -u bob:{TOKEN} https://h; then ls; fi",
    f"curl() {{ ls; }}; curl -u bob:{TOKEN} https://h",
    # A program, a file, or what one of them runs.
    TOKEN,
    f"sh {TOKEN}",
    f"curl -o {TOKEN} https://h",
    f"cat {TOKEN} | sh",
    f"curl https://h --token {TOKEN} | sh",
    f"eval TOKEN={TOKEN}",
    f"sh -c 'TOKEN={TOKEN} ls'",
    f"echo {TOKEN} | xargs curl -u",
    f"find . -exec curl -u bob:{TOKEN} https://h ;",
    f"env TOKEN={TOKEN} gh api user",
    f"ssh host 'curl -u bob:{TOKEN} https://h'",
    f"make TOKEN={TOKEN}",
    f"TOKEN={TOKEN} make deploy",
    f"TOKEN={TOKEN} python -c 'import os; os.system(os.environ[\"TOKEN\"])'",
    f"TOKEN={TOKEN} git -c alias.x='printenv TOKEN | sh' x",
    f"TOKEN={TOKEN} git rebase --exec 'printenv TOKEN | sh' main",
    f"TOKEN={TOKEN} curl --variable %TOKEN --expand-output '{{{{TOKEN}}}}' https://h",
    f"TOKEN={TOKEN}; curl https://h",
    f"export TOKEN={TOKEN}",
    *(
        f"{name}={TOKEN} gh api user"
        for name in ("LD_PRELOAD", "PATH", "BASH_ENV", "PS4", "GIT_SSH_COMMAND", "GIT_ASKPASS")
    ),
    f"PATH=. TOKEN={TOKEN} gh api user",
    f"./curl -u bob:{TOKEN} https://h",
    # A place that is read otherwise: the host behind what looks like a password, another address, a pattern.
    "curl https://evil.example:80/x7y8z9?@good.example/",
    f"curl https://good.example/{TOKEN}@evil.example/",
    f"curl --password {TOKEN}* https://h",
    f"curl -u bob:{{{TOKEN},x}} https://h",
    f"curl -u bob:{TOKEN} https://h/{TOKEN}",
    f"curl -u bob:gh\u200bp_{TOKEN} https://h",
    # A word after an option that takes none, or another option's: a branch, a database, a file.
    f"git push -u origin HEAD:{TOKEN}",
    f"git push origin -u HEAD:{TOKEN}",
    f"psql -f drop.sql --password {TOKEN}",
    f"mysqldump --password {TOKEN}",
    f"gh repo delete --with-token {TOKEN}",
    f"wget -O --password {TOKEN}",
]


@rows("command", PLAIN)
def test_a_secret_that_is_plain_data_may_be_hidden(command: str) -> None:
    assert [command[slice(*span)] for span in secret_literals(command)] == [TOKEN]


@rows("command", ACTING)
def test_text_that_could_run_is_never_hidden(command: str) -> None:
    assert secret_literals(command) == []


PIECES = st.sampled_from(
    [
        *PLAIN,
        *ACTING,
        TOKEN,
        " ",
        "'",
        '"',
        "$(id)",
        "`id`",
        ";",
        "|",
        "\n",
        "\\",
        "\u202e",
        "PASSWORD=",
        "--token ",
        "\U0001f600",
    ]
)


@given(st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=40))
def test_shown_and_hidden_parts_are_the_command_and_what_is_hidden_is_a_word(command: str) -> None:
    (argument,) = arguments_of("host.shell.destructive", {"command": command}, ())
    assert argument.text(reveal=True) == revealed_line(json.dumps(command, ensure_ascii=False))
    for segment in argument.segments:
        assert not segment.hidden or re.fullmatch(r"[\w.+=/-]+", segment.text, re.ASCII)
