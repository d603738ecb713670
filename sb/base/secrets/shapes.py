"""Secret shapes: what tokens, keys and passwords look like, and a quick test whether a text can hold one.

Each shape is as its issuer documents it. Every quantifier is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property

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

# Passwords by their place in a command: beside an option of that program, in a variable that one reads, before a pipe.
_GIVEN_VALUE = r"\\{0,3}[\"']?(?P<value>(?![$<{])[^\s\"'\-\\][^\s\"'\\]{1,200})"
_LOGINS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"\bhtpasswd\s[^\n|;&]{0,80}?-[a-zA-Z]{0,8}b[a-zA-Z]{0,8}\s{1,3}(?:[^\s|;&]{1,200}\s{1,3}){1,6}"
        + _GIVEN_VALUE + r"(?=[\\\"']{0,4}\s{0,3}(?:$|[|;&>)\n\\\"',]))",
        ("htpasswd",),
    ),
    (r"-pass(?:in|out)?\s{1,3}[\"']?pass:" + _GIVEN_VALUE, ("-pass",)),
    (r"\bopenssl\s(?:enc|aes|des|camellia)" + _OPTIONS + r"-k\s{1,3}" + _GIVEN_VALUE, ("openssl",)),
    (r"\b(?:7z[az]?|unrar|rar) [^\n|;&]{0,200}?\s-p" + _GIVEN_VALUE, ("7z", "rar ")),
    (r"\b(?:un)?zip (?:[^\n|;&]{0,200}?\s)?-P\s{0,3}" + _GIVEN_VALUE, ("zip ",)),
    (
        r"\b(?:PGPASSWORD|MYSQL_PWD|SSHPASS|REDISCLI_AUTH|RESTIC_PASSWORD|BORG_PASSPHRASE)=\\{0,3}[\"']?(?P<value>(?!\$)[^\s\"';&|\\]{1,300})",
        ("pgpassword", "mysql_pwd", "sshpass", "rediscli_auth", "restic_password", "borg_passphrase"),
    ),
    (
        r"\b(?:wget|docker|podman|nerdctl|gpg2?|redis-cli|valkey-cli|helm|svn|mysql|mariadb|mongo|restic|borg)" + _OPTIONS
        + r"--(?:http-|ftp-|proxy-)?pass(?:word|phrase)?(?:=|\s{1,3})" + _GIVEN_VALUE,
        ("--pass", "--http-pass", "--ftp-pass", "--proxy-pass"),
    ),
    (r"\bldap(?:search|modify|add|delete|whoami|passwd)" + _OPTIONS + r"-w\s{1,3}" + _GIVEN_VALUE, ("ldap",)),
    (r"\b(?:smbclient|rpcclient|mount\.cifs)" + _OPTIONS + r"-U\s{0,3}[\"']?[^\s%\"']{1,100}%" + _GIVEN_VALUE, ("smbclient", "rpcclient", "mount.cifs")),
    (r"-(?:store|key|deststore|srcstore|destkey)pass\s{1,3}" + _GIVEN_VALUE, ("storepass", "keypass")),
    (r"\bchpasswd\s{0,3}<<<\s{0,3}[\"']?[\w.\-]{1,60}:" + _GIVEN_VALUE, ("chpasswd",)),
    (r"\b(?:echo|printf)\s{1,3}\\{0,3}[\"']?[\w.\-]{1,60}:(?P<value>[^\s\"'|\\]{2,200})[\\\"']{0,4}\s{0,3}\|[^\n]{0,20}chpasswd", ("chpasswd",)),
    (r"\b(?:echo|printf)\s{1,3}\\{0,3}[\"']?(?P<value>(?!\$)[^\s\"'|\\]{2,200})[\\\"']{0,4}\s{0,3}\|\s{0,3}sudo\s[^\n|;&]{0,40}-[a-zA-Z]{0,5}S", ("sudo",)),
    (r"\b(?:https?|xh) (?:[^\n|;&]{0,200}?\s)?(?:-a|--auth)[\s=]{1,3}[\"']?[^\s:\"']{1,100}:" + _GIVEN_VALUE, ("http ", "https ", "xh ")),
    (r"\blftp" + _OPTIONS + r"-u\s{1,3}[\"']?[^\s,\"']{1,100}," + _GIVEN_VALUE, ("lftp",)),
    (r"\baz login" + _OPTIONS + r"-p\s{1,3}" + _GIVEN_VALUE, ("az login",)),
    (r"\b(?:mysql|mariadb-?)admin" + _OPTIONS + r"password\s{1,3}" + _GIVEN_VALUE, ("mysqladmin", "mariadb-admin", "mariadbadmin")),
    (
        # A hash in single quotes begins with a dollar sign too.
        r"\buser(?:mod|add)" + _OPTIONS + r"(?:-p\s{0,3}|--password[\s=]{1,3})"
        + _GIVEN_VALUE.replace("[$<{]", r"\$[A-Z_{(]|[<{]"),
        ("usermod", "useradd"),
    ),
    *((r"\bssh-keygen" + _OPTIONS + option + r"\s{0,3}" + _GIVEN_VALUE, ("ssh-keygen",)) for option in ("-N", "-P")),
    (
        r"\bnet use (?:[A-Za-z*]:?\s{1,3})?(?:\\{2,8}\S{1,200}\s{1,3}|[^\n|;&]{0,200}?/user:\S{1,100}\s{1,3})"
        + r"[\"']?(?P<value>(?![/*$\-&|;>])[^\s\"'\\]{2,200})",
        ("net use",),
    ),
    *(  # one expression for each, since a command may give several
        (r"\brclone config (?:create|update|password) [^\n|;&]{0,400}?\b" + key + r"[\s=]{1,3}" + _GIVEN_VALUE, ("rclone config",))
        for key in ("pass(?:word)?", "secret_access_key", "client_secret", "(?:bearer_)?token", "(?:api_|account_)?key")
    ),
    (r"_authtoken[\s=]{1,3}" + _GIVEN_VALUE.replace("{1,200}", "{7,300}"), ("_authtoken",)),
)  # fmt: skip

# After a hint, in lower case and perhaps within JSON, where a quote and a line break are two characters.
_RUN = r"[a-z0-9_\-.+/=]{16}"  # of a token, after a hint that ends in a separator
_SPACE = r"(?:\s|\\[a-z0-9]{1,5})"
# The comma: a flag in a list.
_VALUE = r"(?:\\{0,7}[\"'])?" + _SPACE + r"{0,5}(?:[:=]|is(?:\s|\\)|(?<=[\"']),)"

# Order is priority, earlier wins where two overlap.
RECOGNISERS: tuple[Recogniser, ...] = (
    _shape(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\S]{0,8000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s:,\-]{0,8000})",
        "private key", near=r"(?: block)?-----",
    ),
    # The first line of a key without the one before it.
    _shape("private_key", r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=\s]{0,8000}", "b3blbnnzac1rzxktdje"),
    _shape("age_key", r"AGE-SECRET-KEY-(?:PQ-)?1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58,120}", "age-secret-key-"),
    _shape("url_password", r"(?<![a-z0-9+.\-])[a-z][a-z0-9+.\-]{0,30}://[^\s/:@\"']{0,200}:(?P<value>[^\s@\"']{1,300})@", "://", near=r"[^\s@]{0,1000}@", flags=re.IGNORECASE),
    _shape("aws_key_id", r"(?<![0-9A-Z])(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Z])", "akia", "asia", "abia", "acca", near=r"[0-9a-z]{16}"),
    _shape("github_token", r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{30,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _shape("gitlab_token", r"gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_\-.]{20,255}", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"),
    _shape("slack_token", r"xox[abeoprs]-[A-Za-z0-9\-]{16,255}|xapp-[A-Za-z0-9\-]{16,255}", *(f"xox{kind}-" for kind in "abeoprs"), "xapp-"),
    _shape("slack_webhook", r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,255}", "hooks.slack.com"),
    _shape("anthropic_key", r"sk-ant-[A-Za-z0-9_\-]{20,255}", "sk-ant-"),
    _shape("openai_key", r"sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_\-]{20,255}|" + _FREE + r"sk-(?=[A-Za-z_\-]{0,255}\d)[A-Za-z0-9_\-]{20,255}", "sk-"),
    _shape("groq_key", _FREE + r"gsk_[A-Za-z0-9]{48,60}", "gsk_"),
    _shape("xai_key", _FREE + r"xai-[A-Za-z0-9]{60,100}", "xai-"),
    _shape("perplexity_key", _FREE + r"pplx-[A-Za-z0-9]{40,64}", "pplx-"),
    _shape("replicate_token", _FREE + r"r8_[A-Za-z0-9]{37,40}", "r8_"),
    _shape("stripe_key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9]{16,255}", "k_live_", "k_test_", "whsec_"),
    _shape("square_token", _FREE + r"sq0(?:atp|csp)-[A-Za-z0-9_\-]{22,43}", "sq0atp-", "sq0csp-"),
    _shape("shopify_token", _FREE + r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,64}", "shpat_", "shpca_", "shppa_", "shpss_"),
    _shape("google_key", r"AIza[0-9A-Za-z_\-]{35}", "aiza", near=r"[0-9a-z_\-]{35}"),
    _shape("google_key", _FREE + r"(?:ya29\.[0-9A-Za-z_\-]{20,255}|GOCSPX-[0-9A-Za-z_\-]{28,40})", "ya29.", "gocspx-"),
    _shape("azure_sas", r"[?&;]sig=(?P<value>[A-Za-z0-9%+/]{40,120}(?:={1,2})?)", "sig=", near=r"[a-z0-9%+/]{40}"),
    _shape("azure_secret", r"(?<![A-Za-z0-9_~.\-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}(?![A-Za-z0-9_~\-])", "q~", near=r"[a-z0-9_~.\-]{31}"),
    _shape("sb_token", r"sbt_[a-f0-9]{16}_[a-f0-9]{64}", "sbt_"),
    _shape("npm_token", r"npm_[A-Za-z0-9]{30,255}", "npm_"),
    _shape("pypi_token", r"pypi-[A-Za-z0-9_\-]{40,255}", "pypi-"),
    _shape("rubygems_key", _FREE + r"rubygems_[a-f0-9]{48}", "rubygems_"),
    _shape("docker_token", _FREE + r"dckr_(?:pat|oat)_[A-Za-z0-9_\-]{27,64}", "dckr_pat_", "dckr_oat_"),
    _shape("huggingface_token", _FREE + r"hf_[A-Za-z0-9]{30,255}", "hf_"),
    _shape("databricks_token", _FREE + r"dapi[a-f0-9]{32}(?:-\d{1,2})?" + _END, "dapi", near=r"[a-f0-9]{32}"),
    _shape("vault_token", _FREE + r"hv[sbr]\.[A-Za-z0-9_\-]{24,400}", "hvs.", "hvb.", "hvr."),
    # Before version 1.10: 24 characters of base 62; one with a digit and both cases is no name of an attribute.
    _shape(
        "vault_token",
        _ALONE + r"s\.(?=[A-Za-z]{0,23}\d)(?=[A-Z0-9]{0,23}[a-z])(?=[a-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![A-Za-z0-9_\-(\[]|\.[A-Za-z0-9])",
        "s.", near=r"[a-z0-9]{16}",
    ),
    _shape("vault_token", _ALONE + r"b\.AAAA[A-Za-z0-9_\-]{60,400}", "b.", near=r"aaaa.{12}"),
    _shape("doppler_token", _FREE + r"dp\.(?:ct|pt|st|sa|scim|audit)\.(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,44}", *(f"dp.{kind}." for kind in ("ct", "pt", "st", "sa", "scim", "audit"))),
    _shape("terraform_token", _FREE + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{60,70}", ".atlasv1."),
    _shape("pulumi_token", _FREE + r"pul-[a-f0-9]{40}" + _END, "pul-"),
    _shape("atlassian_token", _FREE + r"AT(?:ATT|CTT|STT)3[A-Za-z0-9_\-]{50,400}(?:=[A-F0-9]{8})?", "atatt3", "atctt3", "atstt3", near=r"[a-z0-9_\-]{16}"),
    _shape("grafana_token", _FREE + r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3})", "glsa_", "glc_"),
    _shape("grafana_token", _ALONE + r"eyJrIjoi[A-Za-z0-9+/\-_]{40,400}={0,2}", "eyjrijoi", near=r"[a-z0-9+/\-_]{40}"),
    _shape("linear_key", _FREE + r"lin_(?:api|oauth)_[A-Za-z0-9]{32,100}", "lin_api_", "lin_oauth_"),
    _shape("notion_token", _FREE + r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}" + _END + ")", "ntn_", "secret_"),
    _shape("figma_token", _FREE + r"fig[dr]_[A-Za-z0-9_\-]{40,64}", "figd_", "figr_"),
    _shape("airtable_token", _FREE + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}" + _END, ".", near=r"[a-f0-9]{16}"),
    _shape("hubspot_token", _FREE + r"pat-(?:na|eu|ap)\d-[A-Fa-f0-9]{8}(?:-[A-Fa-f0-9]{4}){3}-[A-Fa-f0-9]{12}", "pat-"),
    _shape("supabase_key", _FREE + r"(?:sbp_(?:v\d_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_\-]{20,80})", "sbp_", "sb_secret_"),
    _shape("planetscale_token", _FREE + r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-=.]{32,64}", "pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
    _shape("netlify_token", _FREE + r"nfp_[A-Za-z0-9_]{36,40}", "nfp_"),
    _shape("heroku_key", _FREE + r"HRKU-[A-Za-z0-9_\-]{36,64}", "hrku-"),
    _shape("cloudflare_key", _FREE + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", "v1.0-"),
    _shape("fly_token", _FREE + r"(?:fo1_[A-Za-z0-9_\-]{43}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{100,600}={0,3})", "fo1_", "fm1a_", "fm1r_", "fm2_"),
    _shape("sendgrid_key", _FREE + r"SG\.[A-Za-z0-9_\-]{16,255}\.[A-Za-z0-9_\-]{16,255}", "sg."),
    _shape("mailgun_key", r"(?<![A-Za-z0-9_\-])key-[a-f0-9]{32}" + _END, "key-"),
    _shape("brevo_key", _FREE + r"x(?:keysib|smtpsib)-[a-f0-9]{64}-[A-Za-z0-9]{16}", "xkeysib-", "xsmtpsib-"),
    _shape("digitalocean_token", r"do[oprt]_v1_[a-f0-9]{64}", "_v1_"),
    _shape("postman_key", _FREE + r"PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}", "pmak-"),
    _shape("sentry_token", _FREE + r"sntry(?:s_eyJ[A-Za-z0-9+/=_\-]{60,400}|u_[a-f0-9]{64})", "sntrys_", "sntryu_"),
    _shape("new_relic_key", _FREE + r"NR(?:AK-[A-Z0-9]{27}|JS-[a-f0-9]{19}|I[IQ]-[A-Za-z0-9_\-]{32})", "nrak-", "nrjs-", "nrii-", "nriq-"),
    _shape("new_relic_key", _FREE + r"[a-z0-9]{36}NRAL" + _END, "nral"),
    _shape("telegram_token", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_\-]{33}", ":", near=r"aa[a-z0-9_\-]{14}"),
    # The number of an account in base 64, a time, a signature.
    _shape("discord_token", r"(?<![A-Za-z0-9_\-.])(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[A-Za-z0-9_\-]{0,4}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}", ".", near=r"[a-z0-9_\-]{6}\.[a-z0-9_\-]{9}"),
    _shape("discord_token", _FREE + r"mfa\.[A-Za-z0-9_\-]{80,100}", "mfa."),
    _shape("discord_webhook", r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{17,20}/[A-Za-z0-9_\-]{60,80}", "discord.com/api/", "discordapp.com/api/"),
    _shape("twilio_key", _FREE + r"SK[a-f0-9]{32}" + _END, "sk", near=r"[a-f0-9]{32}"),
    _shape("twilio_token", _FREE + r"AC[a-f0-9]{32}" + _END + r"[^\n]{1,60}?" + _FREE + r"(?P<value>[a-f0-9]{32})" + _END, "ac", near=r"[a-f0-9]{32}"),
    _shape("jwt", r"(?<![_\-])eyJ[A-Za-z0-9_\-]{8,500}\.eyJ[A-Za-z0-9_\-]{8,4000}\.[A-Za-z0-9_\-]{0,1000}", "eyj", near=r"[a-z0-9_\-]{8}"),
    _shape("authorization", r"\b(?:bearer|basic)\s{1,5}(?P<value>[A-Za-z0-9+/_\-.~]{16,4000}=*)", "bearer", "basic", near=_SPACE + r"{1,5}[a-z0-9+/_\-.~]{16}", flags=re.IGNORECASE),
    _shape("login", r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<value>[^\s\"']{1,200})", "curl", flags=re.IGNORECASE),
    _shape("login", _PASSWORD_OPTION + r"[\"']?(?!\d{1,5}:\d)(?P<value>[^\s\"'\-][^\s\"']{2,200})", *_PASSWORD_OPTION_HINTS, near=r"[^\n]{0,240}-[ap]"),
    *(_shape("login", expression, *hints, flags=re.IGNORECASE if "authtoken" in expression else 0) for expression, hints in _LOGINS),
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
