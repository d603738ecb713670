"""The sentences of a message that may claim something: no quotes, code blocks, questions or plans."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sb.kernel.claims.patterns import PACK

MOST_READ = 32_768  # characters; of a longer message its beginning and its end
MOST_SENTENCES = 600
LONGEST_SENTENCE = 400  # characters; a longer one is prose about something, or hostile
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s+(.*)|\*\*([^*]{1,80})\*\*:?\s*$|([A-Z][\w ]{1,40}):\s*$)")
_PROSE = re.compile(r"[A-Z\u2705\u2713]")
_LEAD = re.compile(r"^[\s>*+\-•\u2013\u2014|]*(?:\d+[.)]\s+)?(?:\[[xX]\]\s*)?")
_QUOTED = re.compile(r'"[^"\n]{1,300}"|“[^”\n]{1,300}”')
_ENDS = re.compile(r"(?<=[.!;])\s+|(?<=[.!])(?=[A-Z])|\s+[\u2014\u2013]\s+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_MARKS = re.compile(r"\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)")


def readable(message: str) -> str:
    """The beginning and the end of a message, without characters that nobody sees."""
    if len(message) > MOST_READ:
        half = MOST_READ // 2
        message = f"{message[:half]}\n{message[-half:]}"
    return _CONTROL.sub("", message.replace("\r\n", "\n"))


def sentences(message: str) -> Iterator[str]:
    """Sentences of a readable message in order, without marks of lists and emphasis."""
    count = 0
    for line in _lines(message):
        for part in _ENDS.split(line):
            text = part.strip()
            if not 3 < len(text) <= LONGEST_SENTENCE or "?" in text:
                continue
            yield text
            count += 1
            if count >= MOST_SENTENCES:
                return


def _lines(message: str) -> Iterator[str]:
    fence, skipped, blank, by_mark = "", False, False, False
    for line in message.split("\n"):
        opened = _FENCE.match(line)
        if opened and not fence:
            fence = opened[1][:3]
        elif opened and opened[1].startswith(fence):
            fence = ""
        elif not fence:
            heading = _HEADING.match(line)
            title = (heading[1] or heading[2] or heading[3]) if heading else ""
            if heading and title:
                skipped, by_mark = bool(PACK.sections.match(title.strip(" *_`:"))), heading[1] is not None
            elif blank and skipped and not by_mark and _PROSE.match(line):
                skipped = False  # the list below a title in plain text is over
            blank = not line.strip()
            if skipped or line.lstrip().startswith(">") or "[ ]" in line:
                continue
            text = _QUOTED.sub(" ", line)
            yield _MARKS.sub("", _LEAD.sub("", text)).replace("|", " ")
