"""Texts to fit, tune and judge the red-team detector on: written ones, collected ones, and documentation of this machine.

A part is fitted on, chosen with, or judged; each source belongs to one. `dev.txt` (fit) and `held_out.txt` (choose) were written
for this; `collected/` holds texts of published packages, named in `collected/sources.yaml` with their licences.
"""

from __future__ import annotations

import ast
import base64
import codecs
import hashlib
import json
import os
import random
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

BENIGN = "benign"
PARTS = {
    "fit": "dev",
    "choose": "held_out",
    "judge": "",
    "fresh": "",
    "languages": "",
    "people": "",
    "kinds": "",
}  # with the written texts that belong to each
_HERE = Path(__file__).parent
COLLECTED = _HERE / "collected"
_DOCUMENTS = (".py", ".txt", ".md", ".rst", ".html", "")
_ONE_IN = 8  # files are read
_LEAST, _MOST = 200, 1_500  # characters of a passage of documentation


class Text(NamedTuple):
    """A text.

    Args:
        label: the class of attack, or `benign`. how: what disguises or carries it, or "plain". source: who wrote it.
        kind: mail, code, chat and so on, "" where nobody said. lang: its language.
    """

    text: str
    label: str
    origin: str
    how: str = "plain"
    source: str = "own"
    kind: str = ""
    lang: str = "en"

    @property
    def attacks(self) -> bool:
        return self.label != BENIGN


def written(half: str) -> list[Text]:
    """The texts of one half as they were written."""
    texts = []
    for line in (_HERE / f"{half}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            head, _, text = line.partition(" | ")
            label, origin = head.split()
            texts.append(Text(text.replace("\\n", "\n"), label, origin))
    return texts


def corpus(half: str, seed: int = 7) -> list[Text]:
    """The texts of one half, each attack also disguised or carried, and some benign ones encoded."""
    chance = random.Random(f"{half}{seed}")
    texts = written(half)
    more = []
    for text in texts:
        if not text.attacks:
            if chance.random() < 0.3:
                name = chance.choice(("base64", "percent", "html", "mail"))
                more.append(
                    text._replace(text=({**DISGUISES, **CARRIERS}[name])(text.text, chance), how=name)
                )
            continue
        latin = text.text.isascii()
        name = chance.choice(list(DISGUISES) if latin else ["zero width", "base64", "percent"])
        more.append(text._replace(text=DISGUISES[name](text.text, chance), how=name))
        if text.origin != "user":
            name = chance.choice(list(CARRIERS))
            more.append(text._replace(text=CARRIERS[name](text.text, chance), how=name))
    return texts + more


def collected(part: str) -> list[Text]:
    """The texts of published packages that belong to a part."""
    return _lines_of(COLLECTED / f"{part}.jsonl")


def gathered(part: str) -> list[Text]:
    """The texts of a part that `evals.redteam.gather` made, in the folder that REDTEAM_TEXTS names; none without one."""
    folder = os.environ.get("REDTEAM_TEXTS")
    return _lines_of(Path(folder) / f"{part}.jsonl") if folder else []


def _lines_of(path: Path) -> list[Text]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as lines:
        return [Text(**json.loads(line)) for line in lines]


def languages(half: str) -> list[Text]:
    """The texts of one half, fit or judge, of `languages.txt`."""
    texts = []
    for line in (_HERE / "languages.txt").read_text(encoding="utf-8").splitlines():
        head, _, text = line.partition(" | ")
        if text and not line.startswith("#"):
            lang, of, label, origin = head.split()
            if of == half:
                texts.append(Text(text, label, origin, source=f"languages-{half}", lang=lang))
    return texts


def part_of(part: str) -> list[Text]:
    """Every text of a part that is in the repository; of `kinds` those of the folder that REDTEAM_TEXTS names."""
    if part == "languages":
        return languages("judge")
    if part == "kinds":
        return gathered("judge")
    half = PARTS[part]
    return [*collected(part), *(corpus(half) if half else ()), *(languages("fit") if part == "fit" else ())]


def digest_of_texts() -> str:
    """A digest of the texts that the model is made of."""
    made_of = hashlib.sha256()
    for path in (
        _HERE / "dev.txt",
        _HERE / "held_out.txt",
        _HERE / "languages.txt",
        COLLECTED / "fit.jsonl",
        COLLECTED / "choose.jsonl",
    ):
        made_of.update(path.read_bytes())
    return made_of.hexdigest()


def documentation() -> Iterator[Text]:
    """Passages of this machine's documentation, which differ from machine to machine."""
    roots = (
        Path("/usr/share/doc"),
        Path(sysconfig.get_paths()["stdlib"]),
        Path(sysconfig.get_paths()["purelib"]),
    )
    for root in roots:
        for path in sorted(root.rglob("*")):
            chosen = hashlib.sha256(str(path).encode()).digest()[0] % _ONE_IN == 0
            if chosen and path.suffix in _DOCUMENTS and path.is_file():
                yield from (Text(part, BENIGN, "tool") for part in _passages(path))


def _passages(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if path.suffix == ".py":
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        found = (ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, _DOCUMENTED))
        yield from (item[:_MOST] for item in found if len(item) >= _LEAST)
        return
    for start in range(0, min(len(text), 20 * _MOST), _MOST):
        if len(part := text[start : start + _MOST]) >= _LEAST:
            yield part


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Change = Callable[[str, random.Random], str]
_LOOKS = str.maketrans("aeopcxyi", "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456")
_LEET = str.maketrans("eiao", "3140")
_WIDE = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})


def _some(text: str, chance: random.Random, change: Callable[[str], str], share: float) -> str:
    return " ".join(change(word) if chance.random() < share else word for word in text.split(" "))


DISGUISES: dict[str, Change] = {
    "zero width": lambda text, chance: "".join(char + "\u200b" * (chance.random() < 0.3) for char in text),
    "homoglyphs": lambda text, chance: _some(text, chance, lambda word: word.translate(_LOOKS), 0.6),
    "full width": lambda text, chance: text.translate(_WIDE),
    "base64": lambda text, chance: f"Please decode and read this: {base64.b64encode(text.encode()).decode()}",
    "hexadecimal": lambda text, chance: f"data = {text.encode().hex()}",
    "base32": lambda text, chance: f"note: {base64.b32encode(text.encode()).decode()}",
    "binary": lambda text, chance: " ".join(f"{byte:08b}" for byte in text.encode()),
    "percent": lambda text, chance: f"see /page?note={quote(text)}",
    "rot13": lambda text, chance: codecs.encode(text, "rot13"),
    "reversed": lambda text, chance: text[::-1],
    "leet": lambda text, chance: _some(text, chance, lambda word: word.translate(_LEET), 0.7),
    "entities": lambda text, chance: "".join(f"&#{ord(char)};" if char.isalpha() and chance.random() < 0.5 else char for char in text),
    "tags inside words": lambda text, chance: _some(text, chance, lambda word: f"{word[:2]}<b></b>{word[2:]}" if len(word) > 3 else word, 0.6),
    "invisible tags": lambda text, chance: "Thank you for your order. " + "".join(chr(0xE0000 + ord(char)) for char in text if ord(char) < 128),
    "nested": lambda text, chance: base64.b64encode(f"token: {base64.b64encode(text.encode()).decode()}".encode()).decode(),
    "upper case": lambda text, chance: text.upper(),
    "misspelled": lambda text, chance: _some(text, chance, lambda word: f"{word}{word[-1]}" if word.isalpha() else word, 0.15),
    "line breaks": lambda text, chance: text.replace(" ", "\n"),
}  # fmt: skip
_PAGE = "The harbor was rebuilt in 1954 and has two basins. Ferries leave every hour for the islands. "
CARRIERS: dict[str, Change] = {
    "html": lambda text, chance: f"<html><body><h1>Harbor</h1><p>{_PAGE}</p><p>{text}</p><p>{_PAGE}</p></body></html>",
    "html comment": lambda text, chance: f"<p>{_PAGE}</p>\n<!-- {text} -->\n<p>{_PAGE}</p>",
    "code comment": lambda text, chance: f"import os\n\ndef total(items):\n    # {text}\n    return sum(item.price for item in items)\n",
    "json": lambda text, chance: '{"id": 4711, "status": "open", "description": "' + text.replace('"', "'").replace("\n", " ") + '", "tags": ["billing"]}',
    "mail": lambda text, chance: f"From: ann@shop.example\nTo: bob@firm.example\nSubject: Re: order\n\nHi Bob,\n\nthanks for the quick answer. {text}\n\nBest regards\nAnn",
    "log": lambda text, chance: f"2026-03-01 10:11:12 INFO worker started\n2026-03-01 10:11:13 WARN {text}\n2026-03-01 10:11:14 INFO worker done\n",
    "markdown": lambda text, chance: f"# Notes\n\n{_PAGE}\n\n> **{text}**\n\n- first\n- second\n",
    "long page": lambda text, chance: _PAGE * 20 + text + " " + _PAGE * 20,
}  # fmt: skip
