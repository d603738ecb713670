"""E-mail addresses and IP addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Address

from sb.base.classification.findings import EMAIL, IP_ADDRESS, Finding
from sb.base.classification.words import any_word, before

_TOP = r"(?!(?:png|jpe?g|gif|svg|webp|css|js|ts|py|md|txt|json|ya?ml|local|internal|localhost|lan|svc|test)\b)[^\W\d_]{2,24}(?![\w\-])"
_LABELS = r"(?:[^\W_](?:[\w\-]{0,61}[^\W_])?\.){1,8}"
_ADDRESS = re.compile(r"(?<![\w.+\-/])[\w.!#$%&'*+\-?^{|}~]{1,64}@" + _LABELS + _TOP)
_QUOTED = re.compile(r"(?<![\w\"])\"[\w.+\- ]{1,62}\"@" + _LABELS + _TOP)
_ENCODED = re.compile(r"(?<![\w.+\-%])[\w.+\-]{1,64}%40" + _LABELS + _TOP)
# What stands in for the sign: in brackets, or in capitals with a written dot.
_AT = r"\s{0,2}[\[({<]\s{0,2}(?:at|AT|At|@|arroba)\s{0,2}[\])}>]\s{0,2}"
_DOT = r"(?:\s{0,2}[\[({<]\s{0,2}(?:dot|DOT|Dot|\.|punkt|punto)\s{0,2}[\])}>]\s{0,2}|\s{1,2}(?:dot|DOT)\s{1,2}|\.)"
_HOST = r"[a-zA-Z0-9\-]{1,63}(?:" + _DOT + r"[a-zA-Z0-9\-]{1,63}){0,6}" + _DOT + r"[a-zA-Z]{2,24}(?![\w\-])"
_LOCAL = r"(?<![\w.+\-])[a-zA-Z0-9][\w.+\-]{0,63}"
_WORDS = r"(?: AT | at (?=[a-zA-Z0-9\-]{1,63} (?:dot|DOT) ))"
_SPELLED = re.compile(_LOCAL + "(?:" + _AT + "|" + _WORDS + ")" + _HOST)
# Part of every spelled sign, and quickly told to be absent.
_SIGN = re.compile(_AT.removeprefix(r"\s{0,2}") + "|" + _WORDS)
_REMOTE = re.compile(r"(?:ssh|scp|sftp|rsync|mosh)\s[^\n]{0,40}$|://[^\s/@]{0,64}$|message-id:\s{0,3}<?$")

_V4 = re.compile(
    r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?![\w]|\.\w|[\-+][a-zA-Z])"
)
_V6 = re.compile(
    r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\d{0,3}(?:\.\d{1,3}){3})?(?![\w:])"
)
_NET_SIZE = re.compile(r"/(\d{1,2})(?!\d)")
_VERSION = re.compile(
    r"(?:\b(?:versions?|ver|releases?|firmware|builds?|revision|section|sections|chapter|clause|paragraph|article|appendix"
    r"|oid|schema|driver|bios|changelog|upgraded?|downgraded?|installer|versi[oó]n|versione|versão|версия|abschnitt|kapitel"
    r"|chrome|firefox|safari|edge|oracle|java|jdk|jre|windows|android|ios|macos|ubuntu|debian|kernel|openssl|python|nodejs|sdk"
    r"|plugin|package|library|\.net)\b|§|(?:updat|bump|migrat)\w* [^\n]{0,20}\bto\b|バージョン)[^\n.;]{0,24}$|[a-z]/$|[a-z]-$|[=<>~^]=\s?$|[\^~]$"
)
_HOSTED = "ip|ipv4|ipv6|ips|address|host|hosts|server|client|peer|from|node|gateway|dns|login|remote|addr|subnet|ping|curl|ssh"


def may_hold_email(text: str) -> bool:
    """True if `emails` could find one; False is certain."""
    return "@" in text or "%40" in text or _may_be_spelled(text)


def _may_be_spelled(text: str) -> bool:
    if not (" at " in text or " AT " in text or "[" in text or "(" in text or "<" in text or "{" in text):
        return False
    return _SIGN.search(text) is not None


def emails(text: str) -> Iterator[Finding]:
    """E-mail addresses, also with a spelled or an encoded sign; none that name an account on a machine."""
    if "@" in text:
        for pattern in (_ADDRESS, _QUOTED):
            for match in pattern.finditer(text):
                start = match.start() + len(match[0]) - len(match[0].lstrip(".!#$%&'*?^{|}~"))
                after = text[match.end() : match.end() + 2]
                if (
                    text[start] == "@"
                    or ".." in match[0]
                    or after in (":/", ":~")
                    or text.startswith("git@", start)
                ):
                    continue
                if not _REMOTE.search(before(text, start, 80)):
                    yield Finding(EMAIL, start, match.end(), 0.95)
    if "%40" in text:
        for match in _ENCODED.finditer(text):
            if "://" not in text[max(0, match.start() - 3) : match.start()]:
                yield Finding(EMAIL, match.start(), match.end(), 0.9)
    if _may_be_spelled(text):
        for match in _SPELLED.finditer(text):
            yield Finding(EMAIL, match.start(), match.end(), 0.7)


def ip_addresses(text: str) -> Iterator[Finding]:
    """Addresses of machines; none that name no machine: loopback, netmasks and whole networks."""
    if text.count(":") > 1:
        for match in _V6.finditer(text):
            if len(match[0]) > 6 and _is_v6(match[0].rstrip(".")):
                yield Finding(IP_ADDRESS, match.start(), match.end(), 0.95)
    if text.count(".") > 2:
        for match in _V4.finditer(text):
            if _is_host(text, match):
                yield Finding(IP_ADDRESS, match.start(), match.end(), 0.9)


def _is_host(text: str, match: re.Match[str]) -> bool:
    octets = [int(part) for part in match[0].split(".")]
    if octets[0] in (0, 127, 255) or octets[2:] == [0, 0]:
        return False
    size = _NET_SIZE.match(text, match.end())
    if size and int(size[1]) < 32 and _is_network(f"{match[0]}{size[0]}"):
        return False
    words = before(text, match.start())
    named = any_word(_HOSTED).search(words[-24:]) is not None
    version = _VERSION.search(words)
    if version and not (named and not words.endswith(("/", "-", "=", "^", "~"))):
        return words.endswith("//")
    return named or not _is_release(octets, words, text[match.end() : match.end() + 2])


def _is_release(octets: list[int], words: str, after: str) -> bool:
    """True if four numbers that nothing beside them calls an address are more likely a version, as of a package."""
    in_brackets = words.endswith("(") and after[:1] == "-" and after[1:].isdigit()
    return max(octets) < 10 or in_brackets or (octets[0] < 10 and max(octets) < 100)


def _is_network(text: str) -> bool:
    try:
        IPv4Network(text)
    except ValueError:
        return False
    return True


def _is_v6(text: str) -> bool:
    """True if a text is an address that one machine has; words of code such as `dead::beef` are none."""
    groups = [part for part in text.split(":") if part]
    if "::" not in text and all(len(part) == 2 for part in groups):
        return False  # the name of a network card
    if "::" in text and not (len(groups) > 1 and any(char.isdigit() for char in text)):
        return False
    if "::" in text and len(groups[0]) < 3 and len(groups) < 3:
        return False
    try:
        address = IPv6Address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
