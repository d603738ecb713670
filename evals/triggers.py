"""`python -m evals.triggers`: which situations triggers find, and at how many look-alikes they fire too.

The texts are the manual pages of this machine, which nobody wrote for it. Precondition: a page's line of NAME, without the
name. Situation: the first sentence of its DESCRIPTION, or the first command of its EXAMPLES. Look-alikes: up to twenty
situations of other pages that share a content word with the precondition. Families of pages (`git-*`) are in one half. The
thresholds were fitted on `fit`; `judge` was looked at while they were, and `fresh`, other sections, only afterwards.
"""

from __future__ import annotations

import gzip
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sb.config import load_config
from sb.memory import Brain
from sb.memory.triggers.precondition import LEAST_WORDS, Situation, prepared, score
from sb.memory.triggers.reminders import LEAST_WITH_MEANING, MEANING

MANUALS = Path("/usr/share/man")
_HALVED, _FRESH = "1578", "2346"
_PAGES_OF_FAMILY, _LOOK_ALIKES, _SEED = 4, 20, 7
_FONTS = re.compile(r"\\f(?:[BIRP]|\(..|\[[^]]*\])|\\&|\\\|")
_MACRO = re.compile(r"^\.(?:B|I|BR|IR|RB|BI|Nm|Xr|Ar|Fl|Pa|Cm|Li|Em|Sy|Ql|Dq|Sq)\b ?", re.MULTILINE)


class Page(NamedTuple):
    """A manual page: its precondition, and its two situations; `command` may be empty."""

    half: str
    when: str
    prose: str
    command: str


def plain(source: str) -> str:
    """Text of a page's source; a paragraph's end is a NUL."""
    source = re.sub(r'^\.\\".*$', "", source, flags=re.MULTILINE)
    source = _FONTS.sub("", source).replace(r"\-", "-").replace(r"\ ", " ").replace(r"\e", "\\")
    source = re.sub(r"^\.Nd ?", "- ", source, flags=re.MULTILINE)
    return re.sub(r"^[.'].*$", "\0", _MACRO.sub("", source), flags=re.MULTILINE)


def read(path: Path) -> tuple[str, str, str] | None:
    """Precondition, prose and command of a page; None where one of the first two is missing or they say the same."""
    source = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    sections: dict[str, str] = {}
    for part in re.split(r"^\.S[Hh] +", source, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        sections.setdefault(heading.strip().strip('"').upper(), body)
    name = " ".join(plain(sections.get("NAME", "")).replace("\0", " ").split())
    match = re.match(r".+? +-+ +(.+)$", name)
    texts = (
        " ".join(text.split()) for text in re.split(r"\0|\n\s*\n", plain(sections.get("DESCRIPTION", "")))
    )
    paragraph = next((text for text in texts if len(text.split()) >= 8), "")
    prose = re.split(r"(?<=[.;]) ", paragraph)[0][:400]
    if match is None or not 3 <= len(match[1].split()) <= 20 or len(prose.split()) < 6:
        return None
    if match[1].lower()[:25] in prose.lower():
        return None
    program = re.escape(path.name.split(".")[0])
    lines = plain(sections.get("EXAMPLES") or sections.get("EXAMPLE") or "").splitlines()
    commands = [" ".join(line.split()) for line in lines if re.match(rf"\s*[$#%]? ?{program} ", line)]
    return match[1], prose, commands[0] if commands else ""


def pages() -> Iterator[Page]:
    """The usable pages of this machine, a few of each family, in an order that does not change."""
    paths = sorted(
        path for section in (*_HALVED, *_FRESH) for path in (MANUALS / f"man{section}").glob("*.gz")
    )
    random.Random(_SEED).shuffle(paths)
    of_family: Counter[str] = Counter()
    seen: set[str] = set()
    for path in paths:
        family = re.split(r"[-_:0-9]", path.name.split(".")[0])[0]
        if of_family[family] >= _PAGES_OF_FAMILY or (found := read(path)) is None or found[0] in seen:
            continue
        of_family[family] += 1
        seen.add(found[0])
        half = "fit" if random.Random(family).random() < 0.5 else "judge"
        yield Page("fresh" if path.parent.name[-1] in _FRESH else half, *found)


def rates(brain: Brain, some: list[Page], kind: str, *, meaning: bool) -> tuple[int, float, float]:
    """Situations of a kind, the share that is found, and the share of look-alikes at which triggers fire."""
    some = [page for page in some if getattr(page, kind)]
    situations = [Situation(getattr(page, kind)) for page in some]
    embedder = brain.space.usable_embedder
    vectors = embedder.embed([item.text for item in situations]) if embedder and meaning else None
    chance, found, fired, tried = random.Random(_SEED), 0, 0, 0
    for number, page in enumerate(some):
        spec, _ = prepared({"words": page.when}, brain.triggers.rarity)
        own = embedder.embed([page.when])[0] if embedder and meaning else None

        def fits(other: int, spec: dict[str, object] = spec, own: object = own) -> bool:
            total = score(spec, situations[other])
            if vectors is None or own is None:
                return total >= LEAST_WORDS
            return total >= 1 or total + MEANING * float(vectors[other] @ own) >= LEAST_WITH_MEANING

        alike = [other for other, item in enumerate(situations) if other != number and score(spec, item) > 0]
        alike = chance.sample(alike, min(_LOOK_ALIKES, len(alike)))
        found += fits(number)
        fired += sum(map(fits, alike))
        tried += len(alike)
    return len(some), found / max(1, len(some)), fired / max(1, tried)


def main() -> int:
    """Print the rates by half, kind of situation and way of matching."""
    if not MANUALS.is_dir():
        print(f"no manual pages in {MANUALS}")
        return 1
    every = list(pages())
    with Brain("eval", path=":memory:", config=load_config(env={}, cwd=Path.cwd(), flags={})) as brain:
        for half in ("fit", "judge", "fresh"):
            some = [page for page in every if page.half == half]
            for kind in ("prose", "command"):
                for meaning in (False, True):
                    count, found, false = rates(brain, some, kind, meaning=meaning)
                    way = "words and meaning" if meaning else "words"
                    print(
                        f"{half:<6} {kind:<8} {way:<18} {count:>5} situations  {found:.3f} found  {false:.3f} look-alikes"
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
