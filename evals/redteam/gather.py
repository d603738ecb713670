"""Gather texts of each kind from published packages: `python -m evals.redteam.gather FOLDER OUT`.

`gathered.yaml` names the packages; each lies unpacked in FOLDER. OUT is what `REDTEAM_TEXTS` then names.
"""

from __future__ import annotations

import ast
import email
import gzip
import hashlib
import html
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from email import policy
from pathlib import Path
from typing import Any

import yaml

from evals.redteam.corpus import BENIGN, Text

_LENGTH, _LEAST = 1_500, 200  # characters of a passage
_LONGEST = 8_000  # characters of a mail
_DIALOG = 6  # turns that are one text
_LINES = 20  # of a log that are one text
_BIGGEST = 4 << 20  # bytes of a file, but for the one of chats
_THIRDS = 3
_TAG = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]{0,400}>")
_ORDER = re.compile(r"(?i)assistant|must|before|include|ignore|instruct|reveal|prompt|agent")
# What people type to lift a model's rules, and what quotes it, is no benign text.
_ATTACKS = re.compile(
    r"(?i)(ignore|disregard|forget)\s+(all\s+|any\s+|every\w*\s+)?(of\s+)?(the\s+|your\s+|my\s+)?(previous|prior|above|earlier|preceding)\s+"
    r"(instruct|prompt|direct|rule|guid)|jailbreak|\bDAN\b|do anything now|developer mode|uncensored|unfiltered|safety filter"
    r"|without (any )?(ethic|restrict|censor|filter|moral)|no (ethic|moral|censor)|not bound by|bypass.{0,20}(filter|restrict|polic)|never refuse"
)
_QUOTED = re.compile(r"(?i)you are now|system prompt|rm -rf|do not tell|exfil|curl ")
Options = Mapping[str, Any]
Found = Iterator[tuple[str, str]]  # kind and text


def _read(path: Path) -> str:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError):
        return ""
    return raw[:_BIGGEST].decode(errors="replace")


def _number(text: str) -> int:
    """A number that a text always has."""
    return int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:4])


def _pieces(text: str, kind: str) -> Found:
    """Up to four passages of a text."""
    text = re.sub(r"\n{3,}", "\n\n", text)
    if len(text) >= _LEAST:
        room = max(1, len(text) - _LENGTH)
        for start in sorted(
            {_number(f"{number}{text[:80]}") % room for number in range(min(4, len(text) // _LENGTH) or 1)}
        ):
            yield kind, text[start : start + _LENGTH]


def passages(path: Path, options: Options) -> Found:
    yield from _pieces(_read(path), options["kind"])


def pages(path: Path, options: Options) -> Found:
    """Passages of a page, of every second one without tags."""
    text = _read(path)
    yield from _pieces(
        html.unescape(_TAG.sub(" ", text)) if _number(path.name) % 2 else text, options["kind"]
    )


def readmes(path: Path, options: Options) -> Found:
    body = _read(path).partition("\n\n")[2]
    yield from (piece for piece in _pieces(body, "security") if not _QUOTED.search(piece[1]))


def lines(path: Path, options: Options) -> Found:
    every = _read(path).splitlines()
    for start in range(0, len(every) - _LINES, _LINES):
        yield "log", "\n".join(every[start : start + _LINES])


def quotations(path: Path, options: Options) -> Found:
    if path.suffix not in (".dat", ".u8"):
        every = _read(path).split("\n%\n")
        yield from (
            (options["kind"], "\n".join(every[start : start + 4])[:2000]) for start in range(0, len(every), 4)
        )


def chats(path: Path, options: Options) -> Found:
    """A person's turn of every conversation, and the beginning of every fifth one as a log."""
    text = path.read_text(encoding="utf-8")
    end = text.rindex("\n  },") if not text.rstrip().endswith("]") else len(text)
    seen = set[str]()
    for load in json.loads(text[:end] + ("\n  }]" if end < len(text) else "")):
        name = load["id"].rpartition("_")[0] or load["id"]
        number, turns = _number(name), load["conversations"]
        own = [turn["value"] for turn in turns if turn["from"] in ("human", "user")]
        if name in seen or number % _THIRDS != options["third"] or not own:
            continue
        seen.add(name)
        if number // _THIRDS % 5:
            yield "chat", own[min(len(own) - 1, number // 16 % 3)][:3000]
        else:
            who = ("User" if turn["from"] in ("human", "user") else "Assistant" for turn in turns)
            yield (
                "chatlog",
                "\n".join(f"{by}: {turn['value']}" for by, turn in zip(who, turns[:4], strict=False))[:4000],
            )


def dialogs(path: Path, options: Options) -> Found:
    """Some turns of what people say to one another."""
    text = _read(path) if path.suffix != ".json" else path.read_text(encoding="utf-8")
    if path.suffix == ".aiml":
        pairs = re.findall(r"(?s)<pattern>(.*?)</pattern>.*?<template>(.*?)</template>", text)
        turns = [
            part for asked, pair in pairs for part in (asked.lower(), _TAG.sub("", pair).strip()) if part
        ]
    elif path.suffix == ".json":
        turns = []
        for load in sorted(json.loads(text).items())[:1200]:
            messages = [" ".join(part["text"] for part in turn) for turn in load[1]["messages"]]
            yield "people", "\n".join(messages[1 : _DIALOG + 3])[:2500]
    else:
        turns = [str(turn) for talk in yaml.safe_load(text).get("conversations", ()) for turn in talk]
    for start in range(0, len(turns), 2 * _DIALOG):
        yield "people", "\n".join(turns[start : start + 2 * _DIALOG])[:2000]


def mails(path: Path, options: Options) -> Found:
    raw = path.read_bytes()
    for part in re.split(rb"(?m)^From .*\d\d:\d\d.*\n", raw) if raw.startswith(b"From ") else [raw]:
        if not 200 < len(part) < 300_000:
            continue
        try:
            mail = email.message_from_bytes(part, policy=policy.default)
            head = "\n".join(
                f"{name}: {mail[name]}" for name in ("From", "To", "Subject", "Date") if mail[name]
            )
            body = mail.get_body(("plain", "html"))
            text = f"{head}\n\n{_TAG.sub(' ', body.get_content()) if body else ''}"[:_LONGEST]
        except (ValueError, LookupError, AttributeError, TypeError):
            continue
        if head and text.count("\ufffd") < _LINES:
            yield "mail", text


def issues(path: Path, options: Options) -> Found:
    """Titles and bodies of issues and pull requests, and long messages of commits, of recorded answers."""
    waiting = [json.loads(line) for line in _read(path).splitlines() if line.startswith(('{"', '[{"'))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(body := node.get("body") or node.get("message"), str) and len(body) > 100:
                yield "issue", f"{node.get('title') or ''}\n{body}"[:5000]
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def tools(path: Path, options: Options) -> Found:
    """Descriptions of tools of MCP servers."""
    text = _read(path)
    if path.suffix == ".js":
        for match in re.finditer(
            r"description:\s*((?:[\"'`](?:[^\"`\\]|\\.){40,2500}[\"'`]\s*\+?\s*)+)", text
        ):
            yield "tooldesc", re.sub(r"[\"'`]\s*\+\s*[\"'`]", "", match[1]).strip("\"'` ")
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            "tool" in ast.unparse(expr) for expr in node.decorator_list
        ):
            if doc := ast.get_docstring(node):
                yield "tooldesc", f"{node.name}\n{doc}"[:4000]
        elif (
            isinstance(node, ast.keyword)
            and node.arg in ("description", "instructions")
            and len(description := _string(node.value)) > 40
        ):
            yield "tooldesc", description


def labelled(path: Path, options: Options) -> Found:
    text = _read(path)
    for load in json.loads(text) if path.suffix == ".json" else map(json.loads, text.splitlines()):
        yield (
            ("" if load.get("label") == 0 else "attack"),
            (load.get("message") or load["text"]).replace("{canary}", "CN-4711"),
        )


def strings(path: Path, options: Options) -> Found:
    """Attacks in code: the values of a key, the first arguments of a call, or else every long string that orders something."""
    tree, key = ast.parse(_read(path)), options.get("key", "")
    for node in ast.walk(tree):
        if key and isinstance(node, ast.Dict):
            fields = {
                _string(name): value for name, value in zip(node.keys, node.values, strict=True) if name
            }
            if key in fields and _string(fields.get("is_adversarial")) != "False":
                yield "attack", _string(fields[key])
        elif key and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == key:
            yield "attack", _string(node.args[0])
    if not key:
        yield from (("attack", string) for string in _long_strings(tree) if _ORDER.search(string))


def _long_strings(node: ast.AST) -> Iterator[str]:
    if text := _string(node):
        if len(text) >= 60:
            yield text
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.Expr) and _string(child.value)):  # a docstring
            yield from _long_strings(child)


def _string(node: ast.AST | None) -> str:
    """The text that an expression is, with a stand-in for what is filled in; "" for others."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str | bool) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_string(part) or "ABC-4711" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _string(node.left) + _string(node.right)
    return ""


READERS: Mapping[str, Callable[[Path, Options], Found]] = {
    item.__name__: item
    for item in (
        passages,
        pages,
        readmes,
        lines,
        quotations,
        chats,
        dialogs,
        mails,
        issues,
        tools,
        labelled,
        strings,
    )
}


def _texts(folder: Path, source: str, options: Options, taken: set[str]) -> Iterator[Text]:
    """The texts of one source, at most `most` of each language, in an order that chance gave once for all."""
    for lang, name in options.get("languages", {"en": ""}).items():
        pattern = options["files"].replace("{lang}", name)
        root = Path("/") if pattern.startswith("/") else folder
        paths = sorted(
            (path for path in root.glob(pattern.lstrip("/")) if path.is_file()),
            key=lambda path: _number(path.name),
        )
        count = 0
        for kind, text in (item for path in paths for item in _found(path, options)):
            if count == options["most"]:
                break
            attack = kind == "attack"
            text = text.strip()
            if len(text) < 20 or text in taken or (not attack and _ATTACKS.search(text)):
                continue
            taken.add(text)
            count += 1
            origin = options.get(
                "origin", "user" if kind == "chat" or options["how"] == "labelled" else "tool"
            )
            kind = options.get("kind", "") if attack else kind
            yield Text(
                text,
                "injection" if attack else BENIGN,
                origin,
                "plain",
                source,
                kind,
                lang if len(lang) > 1 else "en",
            )


def _found(path: Path, options: Options) -> list[tuple[str, str]]:
    try:
        return list(READERS[options["how"]](path, options))
    except (
        ValueError,
        SyntaxError,
        KeyError,
        TypeError,
        AttributeError,
        yaml.YAMLError,
    ):  # a file of another form
        return []


def main(arguments: Sequence[str]) -> None:
    """Gather and write the texts."""
    folder, out = map(Path, arguments)
    named = yaml.safe_load((Path(__file__).parent / "gathered.yaml").read_text(encoding="utf-8"))
    taken = set[str]()
    for part in ("fit", "choose", "judge"):
        with (out / f"{part}.jsonl").open("w", encoding="utf-8", errors="surrogatepass") as file:
            for source, options in named[part].items():
                texts = list(_texts(folder, source, options, taken))
                print(f"{part} {source}: {len(texts)}")
                file.writelines(json.dumps(text._asdict()) + "\n" for text in texts)


if __name__ == "__main__":
    main(sys.argv[1:])
