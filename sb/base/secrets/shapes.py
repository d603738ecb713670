"""Secret shapes: what tokens, keys and passwords look like, and a quick test whether a text can hold one.

Those of `tables.yaml` are as their issuers document them. Every quantifier is bounded, so that no text takes more than
linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property

from sb.base.secrets import tables
from sb.base.values.frozen import frozen


@frozen
class Recogniser:
    """One shape of a sensitive value.

    Args:
        label: what the placeholder calls it.
        expression: matches it; a group named `value` limits what is masked.
        hints: lower-case strings of which every match contains at least one.
        near: an expression that follows directly one of the hints in every match, in lower case, also where the text
            is escaped as JSON. A hint that ends in a separator is followed by 16 characters of a token, and `near` is
            as long as these.
    """

    label: str
    expression: str
    hints: tuple[str, ...]
    near: str = ""
    flags: int = 0

    @property
    def by_name(self) -> bool:
        """True if it is known by what stands beside it, so that anything may be taken for it."""
        return self.label in ("keyed_secret", "url_password", "login")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text has one of the hints: all of them take 10 ms, which most processes need not pay."""
        return re.compile(self.expression, self.flags)


def _shape(label: str, expression: str, *hints: str, near: str = "", flags: int = 0) -> Recogniser:
    return Recogniser(label, expression, hints, near, flags)


EMAIL = "email"

# Words whose value is a secret whatever it looks like, and words that also have harmless ones (a token count).
_SECRET_KEY = r"(?:[_\- ]?(?:access[_\- ]?)?key)?"  # after "secret"
PASS = r"(?:pass(?:word|wd|phrase)|pwd|secret" + _SECRET_KEY + r"|credential)"
KEY = r"(?:token(?!s)|(?:api|access|account|private)[_\- ]?key)"
_PASS_WORDS = ("password", "passwd", "passphrase", "pwd", "secret", "credential")
_KEY_WORDS = (
    "token",
    *(f"{word}{between}key" for word in ("api", "access", "account", "private") for between in ("", "_", "-", " ")),
)  # fmt: skip
_QUOTE = r"\\{0,3}[\"']"  # escaped too: a JSON in a command line
_GIVEN = r"(?:" + _QUOTE + r")?\s{0,5}(?::=|=>|[:=])\s{0,5}"
_PLAIN = r"(?![\[<{$*%(])[^\s\"',;&)}\]]"
_WITH_DIGIT = r"(?=[^\s\"',;&)}\]]{0,200}\d)"
# Before "_pass": alone it is more often a step of several.
_OWNERS = r"(?:db|database|pg|postgres|mysql|mongo|redis|rabbitmq|smtp|imap|e?mail|ftp|ssh|proxy|ldap|become|admin|root|user|app)"
_FREE = r"(?<![A-Za-z0-9])"
_ALONE = r"(?<![A-Za-z0-9_\-./+])"
_END = r"(?![A-Za-z0-9])"

# The options of one letter by which these programs take a password.
_OPTIONS = r"\b[^\n|;&]{0,200}?\s"
_PASSWORD_OPTION = (
    r"\b(?:(?:mysql|mariadb)(?:dump|admin|import|check|show)?" + _OPTIONS + r"-p|sshpass\s{1,3}-p\s{0,3}"
    r"|redis-cli" + _OPTIONS + r"-a\s{1,3}|sqlcmd" + _OPTIONS + r"-P\s{0,3}"
    r"|mongo(?:sh|dump|restore|export|import)?" + _OPTIONS + r"-p\s{1,3}"
    r"|(?:docker|podman|nerdctl|registry) login" + _OPTIONS + r"-p\s{1,3})"
)
_PASSWORD_OPTION_HINTS = (
    "mysql", "mariadb", "sshpass", "redis-cli", "sqlcmd",
    "mongo",
    *(f"{program} login" for program in ("docker", "podman", "nerdctl", "registry")),
)  # fmt: skip

_GIVEN_VALUE = r"\\{0,3}[\"']?(?P<value>(?![$<{])[^\s\"'\-\\][^\s\"'\\]{1,200})"
# What `@name@` stands for in the expressions of `tables.yaml`.
_PARTS = {"free": _FREE, "alone": _ALONE, "end": _END, "options": _OPTIONS, "given": _GIVEN_VALUE}


def _of_table(
    expression: str, hints: tuple[str, ...], label: str = "login", near: str = "", ignores_case: bool = False
) -> Recogniser:
    whole = re.sub("@([a-z]+)@", lambda part: _PARTS[part[1]], expression)
    return Recogniser(label, whole, hints, near, re.IGNORECASE if ignores_case else 0)


# After a hint, in lower case and perhaps within JSON, where a quote and a line break are two characters.
_RUN = r"[a-z0-9_\-.+/=]{16}"  # of a token, after a hint that ends in a separator
_SPACE = r"(?:\s|\\[a-z0-9]{1,5})"
# The comma: a flag in a list.
_VALUE = r"(?:\\{0,7}[\"'])?" + _SPACE + r"{0,5}(?:[:=]|is(?:\s|\\)|(?<=[\"']),)"

# Order is priority, earlier wins where two overlap.
RECOGNISERS: tuple[Recogniser, ...] = (
    *(_of_table(**row) for row in tables.TOKENS),
    _shape("authorization", r"\b(?:bearer|basic)\s{1,5}(?P<value>[A-Za-z0-9+/_\-.~]{16,4000}=*)", "bearer", "basic", near=_SPACE + r"{1,5}[a-z0-9+/_\-.~]{16}", flags=re.IGNORECASE),
    _shape("login", r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<value>[^\s\"']{1,200})", "curl", flags=re.IGNORECASE),
    _shape("login", _PASSWORD_OPTION + r"[\"']?(?!\d{1,5}:\d)(?P<value>[^\s\"'\-][^\s\"']{2,200})", *_PASSWORD_OPTION_HINTS, near=r"[^\n]{0,240}-[ap]"),
    *(_of_table(**row) for row in tables.LOGINS),
    _shape("login", r"\baws configure set (?:[\w.\-]{1,80}\.)?aws_(?:secret_access_key|session_token)\s{1,3}[\"']?(?P<value>[^\s\"']{16,2000})", "aws configure set"),
    # A line of a .netrc, as programs show it that took it for something else; alone it is more often prose.
    _shape("login", r"\b(?:machine\s{1,5}\S{1,200}|default)\s{1,5}(?:(?:login|account)\s{1,5}\S{1,200}\s{1,5}){1,2}password\s{1,5}[\"']?(?P<value>[^\s\"']{1,300})", "machine", "default", near=r"(?:" + _SPACE + r"{1,5}[^\s]{1,200})?" + _SPACE + r"{1,5}(?:login|account)"),
    _shape("login", r"(?:^|:)\s{0,8}(?:login\s{1,5}\S{1,200}\s{1,5})?password\s{1,5}[\"']?" + _WITH_DIGIT + r"(?P<value>" + _PLAIN + r"{5,300})[\"']?\s{0,8}$", "password", near=_SPACE + r"{1,5}[^\s]{0,200}\d", flags=re.MULTILINE),
    _shape("keyed_secret", PASS + r"s?" + _GIVEN + _QUOTE + r"(?P<value>[^\"'\n]{1,300}?)" + _QUOTE, *_PASS_WORDS, near=_SECRET_KEY + "s?" + _VALUE, flags=re.IGNORECASE),
    _shape("keyed_secret", PASS + r"s?(?:" + _GIVEN + r"|\s{1,3}is\s{1,3}" + _WITH_DIGIT + r")(?P<value>" + _PLAIN + r"{5,300})", *_PASS_WORDS, near=_SECRET_KEY + "s?" + _VALUE, flags=re.IGNORECASE),
    _shape("keyed_secret", KEY + r"(?:" + _GIVEN + r"(?:" + _QUOTE + r")?|\s{1,3}is\s{1,3})" + _WITH_DIGIT + r"(?P<value>" + _PLAIN + r"{8,300})", *_KEY_WORDS, near=_VALUE, flags=re.IGNORECASE),
    _shape("keyed_secret", _OWNERS + r"_pass" + _GIVEN + r"(?:" + _QUOTE + r")?(?P<value>" + _PLAIN + r"{3,300})", "_pass", near=_VALUE, flags=re.IGNORECASE),
    _shape("keyed_secret", r"(?<![\w\-])--(?:[a-z0-9]{1,30}[_\-]){0,4}(?:" + PASS + "|" + KEY + r")\s{1,5}(?:" + _QUOTE + r")?" + _WITH_DIGIT + r"(?P<value>" + _PLAIN + r"{6,300})", *_PASS_WORDS, *_KEY_WORDS, near=_SECRET_KEY + _SPACE + r"{1,5}[^\s]{0,200}\d", flags=re.IGNORECASE),
    _shape("authorization", r"\bauthorization" + _GIVEN + r"(?:" + _QUOTE + r")?(?:token|apikey)\s{1,5}(?P<value>[A-Za-z0-9+/_\-.~]{16,4000}=*)", "token", "apikey", near=_SPACE + r"{1,5}[a-z0-9+/_\-.~]{16}", flags=re.IGNORECASE),
    _shape(
        EMAIL,
        r"(?<![\w.+\-])(?!git@[^\s:]{1,100}:)[A-Za-z0-9._%+\-]{1,64}@(?:[A-Za-z0-9\-]{1,63}\.){1,8}"
        r"(?!(?:png|jpe?g|gif|svg|webp|css|js|py|md|txt)\b)[A-Za-z]{2,24}(?![\w\-])",
        "@",
    ),
)  # fmt: skip

EMAIL_SHAPE = next(shape for shape in RECOGNISERS if shape.label == EMAIL)
_BY_HINT = tuple((hint, shape) for shape in RECOGNISERS for hint in shape.hints)


def hinted(lowered: str) -> list[Recogniser]:
    """The shapes that a lower-case text hints at, in order of priority."""
    found: list[Recogniser] = []
    # A plain loop: any() with a generator for each shape takes five times as long.
    for hint, shape in _BY_HINT:
        if hint in lowered and not (found and found[-1] is shape):
            found.append(shape)
    return found


# What is written where a secret would be, and is none. A match ends before a bracket that closes.
_STAND_IN = re.compile(
    r"\$[A-Z_][A-Z0-9_]{2,80}|\$\{[^{}\s]{1,80}\}?|\{\{[^{}]{1,80}(?:\}\})?|<[^<>]{1,60}>?"  # a variable, a placeholder
    r"|(?:[A-Za-z_]{1,40}\.){1,5}[A-Za-z_]{0,40}(?:[Pp]ass|PASS|[Ss]ecret|SECRET|[Tt]oken|TOKEN|[Kk]ey|KEY)[A-Za-z_]{0,40}"
    r"|(?:op://|arn:aws:|vault:[a-z]{1,20}/|projects/[a-z0-9\-]{1,40}/secrets/)[\w\-/:.#@]{1,200}"
    r"|!(?:vault|secret|ENV|env|Ref|Sub|GetAtt|reference)"  # tags of YAML
    r"|~?(?:/[A-Za-z]?[a-z._\-]{1,40}){2,10}/?"  # a file or a folder
    r"|[Ss]tring|[Rr]equired|[Oo]ptional|[Aa]sked|[Pp]rompted|[Ff]alse|inherit|include|same-origin|password|PASSWORD|\*{3,40}"
)
_NAMES = r"[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40})"
_CODE = {  # by the character behind the match: a call, an item
    ")": re.compile(_NAMES + r"{0,5}\(|" + _NAMES + r"{1,5}\(\d{0,4}"),
    '"': re.compile(_NAMES + r"{0,5}\["),
    "'": re.compile(_NAMES + r"{0,5}\["),
}


def is_stand_in(value: str, behind: str) -> bool:
    """True if a value beside a keyword only stands for a secret: a variable, code, a place.

    Args:
        behind: the character after it.
    """
    code = _CODE.get(behind)
    return bool(_STAND_IN.fullmatch(value) or (code is not None and code.fullmatch(value)))


_SEPARATORS = "_-.:"
_UNUSUAL = "zqxj3kvwbpgyc"  # what a search starts at: the rarest first, so that it hardly ever looks further
_DIGITS = r"[0-9 \-\u00a0\u2013]{12}"  # of a payment card, after the first

_Behind = tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _quick() -> tuple[re.Pattern[str], re.Pattern[str], _Behind]:
    """Two expressions, and others behind a string that they need: every text with a secret has one, in lower case.

    Each alternative starts with one of few characters, and looks back from there: so it is found ten times as fast as
    when it is spelled from its beginning.
    """
    tokens: dict[int, dict[str, None]] = {}
    words: dict[str, dict[tuple[str, str], dict[str, None]]] = {}
    plain: dict[str, re.Pattern[str]] = {}
    for shape, hint in (
        (recogniser, hint)
        for recogniser in RECOGNISERS
        if recogniser.label != EMAIL
        for hint in recogniser.hints
    ):
        start = next((char for char in _UNUSUAL if char in hint), "")
        if hint[-1] in _SEPARATORS:
            tokens.setdefault(len(hint), {})[re.escape(hint) + (shape.near or ".{16}")] = None
        elif start:
            rest = re.escape(hint.partition(start)[2])
            words.setdefault(start, {}).setdefault((rest, shape.near), {})[f"(?<={re.escape(hint)})"] = None
        else:
            plain[hint] = re.compile(re.escape(hint) + shape.near)
    behind = _any(f"(?<={_any(hints)})" for hints in tokens.values())
    first = f"[{re.escape(_SEPARATORS)}0-9](?:(?<=[0-9]){_DIGITS}|(?<![0-9]){_RUN}{behind})"
    others = _any(
        start + _any(f"{rest}{_any(hints)}{near}" for (rest, near), hints in found.items())
        for start, found in words.items()
    )
    return re.compile(first), re.compile(others), tuple(plain.items())


def _any(expressions: Iterable[str]) -> str:
    return f"(?:{'|'.join(expressions)})"


_first_looks = [
    True
] * 50  # are taken one hint at a time: a process that ends soon need not compile for all of them


def compile_all() -> None:
    """Compile every expression now, for a process whose children look at texts."""
    _first_looks.clear()
    _quick()
    for recogniser in RECOGNISERS:
        _ = recogniser.pattern


def _one_by_one(lowered: str) -> bool:
    """The same answer, or True where it would be False, without the large expressions."""
    for hint, shape in _BY_HINT:
        if shape.label != EMAIL and hint in lowered and _hint_with_near(hint, shape.near).search(lowered):
            return True
    return sum(map(lowered.count, "0123456789")) > 12 and _card_digits().search(lowered) is not None


@cache
def _card_digits() -> re.Pattern[str]:
    return re.compile("[0-9]" + _DIGITS)


@cache
def _hint_with_near(hint: str, near: str) -> re.Pattern[str]:
    return re.compile(re.escape(hint) + (near or (_RUN if hint[-1] in _SEPARATORS else "")))


def may_hold_secret(text: str) -> bool:
    """True if `text`, or a JSON of it, may hold a known shape other than an e-mail address; False is certain."""
    lowered = text.lower()
    if _first_looks:
        del _first_looks[-1:]
        return _one_by_one(lowered)
    first, others, behind = _quick()
    for hint, expression in behind:  # a plain loop: any() with a generator takes three times as long
        if hint in lowered and expression.search(lowered) is not None:
            return True
    return first.search(lowered) is not None or others.search(lowered) is not None
