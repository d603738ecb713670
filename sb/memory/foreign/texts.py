"""Reads JSON, CSV and Markdown, and the files of mem0, of Claude's memory server and of Basic Memory."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from sb.base.secrets.redaction import one_line
from sb.errors import UsageError
from sb.memory.foreign.record import ForeignMemory, texts_in

LONGEST = (
    128 << 20
)  # bytes of a file that has to be read whole: as objects they take up to thirty times as much
LONGEST_LINE = 16 << 20  # characters
_LONGEST_HEADER = 64 << 10  # characters
_LISTS = ("results", "memories", "items", "records", "data")  # where exports keep their list
_TEXTS = ("content", "memory", "text", "fact", "summary", "statement", "body", "note")
_TIMES = ("happened_at", "created_at", "createdAt", "timestamp", "date", "at", "time")
_IDS = ("id", "uid", "uuid", "memory_id", "key")
_HEADER = re.compile(r"\A---\n(.*?)\n---\n?", re.DOTALL)
_HEADING = re.compile(r"#{1,6}\s+(.+)")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,4}[.)])\s+(.+)")
_OBSERVATION = re.compile(r"\[([^\]\[]{1,60})\]\s+(.+)")  # Basic Memory: `- [category] text #tag (context)`
_TAG = re.compile(r"(?<!\S)#([\w\-/]+)")


def json_memories(path: Path, *, ids_last: bool = False) -> Iterator[ForeignMemory]:
    """A JSON list of objects or texts, an object with such a list, or one such value on each line.

    Args:
        ids_last: an id means one memory in every file of the program, whatever its text is now.
    """
    for number, value in enumerate(_values(path), 1):
        if isinstance(value, str):
            yield ForeignMemory(value, value)
        elif isinstance(value, dict):
            yield _of_object(value, number, path, ids_last=ids_last)
        else:
            raise UsageError(f"{path}: entry {number} is neither a text nor an object")


def csv_memories(path: Path) -> Iterator[ForeignMemory]:
    """A table with a header; one of its columns is `content`, or another name of a text."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        try:
            for number, row in enumerate(rows, 2):
                yield _of_object({name: value for name, value in row.items() if name}, number, path)
        except csv.Error as error:
            raise UsageError(f"{path}: line {rows.line_num}: {error}") from None


def markdown_memories(path: Path) -> Iterator[ForeignMemory]:
    """Bullets and paragraphs of a file, or of the files of a folder, each a memory; headings become tags."""
    for file, text in _texts(path):
        heading, paragraph = "", list[str]()
        for line in chain(_HEADER.sub("", text).splitlines(), [""]):
            found, bullet = _HEADING.fullmatch(line), _BULLET.fullmatch(line)
            if (found or bullet or not line.strip()) and paragraph:
                yield _of_text(" ".join(paragraph), file, heading)
                paragraph = []
            if found:
                heading = found[1].strip()
            elif bullet:
                paragraph = [bullet[1].strip()]
            elif line.strip():
                paragraph.append(line.strip())


def claude_memories(path: Path) -> Iterator[ForeignMemory]:
    """The knowledge graph that the reference MCP memory server keeps, an entity or a relation on each line."""
    for number, value in enumerate(_values(path), 1):
        if not isinstance(value, dict):
            raise UsageError(f"{path}: line {number} is no object")
        if value.get("type") == "entity":
            observations = texts_in(value.get("observations"))
            more = {"entity_type": value.get("entityType"), "observations": observations}
            yield ForeignMemory(
                f"entity/{value.get('name')}", str(value.get("name") or ""), "entity", more=more
            )
        elif value.get("type") == "relation":
            text = f"{value.get('from')} {str(value.get('relationType') or '').replace('_', ' ')} {value.get('to')}"
            yield ForeignMemory(f"relation/{text}", text, category="integration")


def basic_memories(path: Path) -> Iterator[ForeignMemory]:
    """Notes of Basic Memory: each is an entity with its observations, and each relation a fact."""
    for file, text in _texts(path):
        title, body, tags = file.stem, text, tuple[str, ...]()
        if header := _HEADER.match(text):
            facts = _header(header[1], file)
            title, body = str(facts.get("title") or title), text[header.end() :]
            tags = texts_in(facts.get("tags"))
        observations = list[str]()
        for line in body.splitlines():
            bullet = _BULLET.fullmatch(line)
            if bullet and (found := _OBSERVATION.fullmatch(bullet[1])):
                observations.append(f"{found[1]}: {_TAG.sub('', found[2]).strip()}")
            elif bullet and "[[" in bullet[1]:
                sentence = f"{title} {bullet[1].replace('[[', '').replace(']]', '').replace('_', ' ')}"
                yield ForeignMemory(f"{file.name}/{sentence}", sentence, category="integration", tags=tags)
        more = {"entity_type": "concept", "observations": observations}
        yield ForeignMemory(f"{file.name}/{title}", title, "entity", tags=tags, more=more)


def _header(text: str, file: Path) -> Mapping[str, Any]:
    try:
        if len(text) > _LONGEST_HEADER:
            raise UsageError(f"{file}: its header is longer than {_LONGEST_HEADER >> 10} KiB")
        facts = yaml.load(text, Loader=_HeaderLoader)
    except RecursionError:
        raise UsageError(f"{file}: its header is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # the latter for dates and numbers that are none
        raise UsageError(f"{file}: its header is no YAML: {one_line(error, 100)}") from None
    return facts if isinstance(facts, dict) else {}


class _HeaderLoader(yaml.SafeLoader):
    """Reads YAML without aliases: with them a few lines can stand for more than memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*) are not used here")
        return super().compose_node(parent, index)


def _of_text(text: str, file: Path, heading: str) -> ForeignMemory:
    return ForeignMemory(f"{file.name}/{text}", text, tags=(heading,) if heading else ())


def _of_object(entry: Mapping[str, Any], number: int, path: Path, *, ids_last: bool = False) -> ForeignMemory:
    text = next((str(entry[name]) for name in _TEXTS if entry.get(name)), "")
    if not text and not any(name in entry for name in _TEXTS):
        raise UsageError(
            f"{path}: entry {number} has no text",
            f"name it one of {', '.join(_TEXTS)}; it has {', '.join(entry)[:100]}",
        )
    metadata = entry.get("metadata") if isinstance(entry.get("metadata"), dict) else {}
    tags = entry.get("tags") or (metadata or {}).get("tags") or ()
    scope = str(entry.get("scope") or "")
    named = str(next((entry[name] for name in _IDS if entry.get(name)), ""))
    # Two files that count from 1 mean different memories.
    reference = "/".join(filter(None, (named, "" if named and ids_last else text.strip())))
    return ForeignMemory(
        reference,
        text,
        category=str(entry.get("category") or (metadata or {}).get("category") or ""),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else tuple(str(tags).split()),
        project=str(entry.get("project") or scope.removeprefix("project:") * scope.startswith("project:")),
        at=next((entry[name] for name in _TIMES if entry.get(name)), None),
    )


def _values(path: Path) -> Iterator[Any]:
    """The values of a JSON document that is a list or holds one, or of JSON Lines."""
    if path.suffix in (".jsonl", ".ndjson"):
        yield from _lines(path)
        return
    text = _read(path)
    try:
        document = json.loads(text)
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
    except ValueError as error:
        if text.lstrip()[:1] == "{" and "\n{" in text.strip():
            yield from _lines(path)
            return
        raise UsageError(f"{path}: no JSON: {one_line(error, 100)}") from None
    if isinstance(document, dict):
        entries = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
        document = [document] if entries is None else entries
    if not isinstance(document, list):
        raise UsageError(f"{path}: neither a list nor an object")
    yield from document


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), ""), 1):
            if len(line) > LONGEST_LINE:
                raise UsageError(f"{path}: line {number} is longer than {LONGEST_LINE >> 20} MiB")
            if line.strip():
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise UsageError(f"{path}: line {number}: no JSON: {one_line(error, 100)}") from None


def _texts(path: Path) -> Iterable[tuple[Path, str]]:
    """The Markdown files of a path, with what they say. Links are followed within a folder, and not out of it.

    Raises:
        UsageError: a link leads out of the folder, or to nothing.
    """
    if not path.is_dir():
        return [(path, _read(path))]
    files = [file for file in sorted(path.rglob("*.md")) if not file.is_dir()]
    inside = path.resolve()
    for file in files:
        if not file.is_file():
            raise UsageError(f"{file}: is no regular file")
        if not file.resolve().is_relative_to(inside):
            raise UsageError(
                f"{file}: links to a file elsewhere", "remove the link, or import that file itself"
            )
    return ((file, _read(file)) for file in files)


def _read(path: Path) -> str:
    if path.stat().st_size > LONGEST:
        raise UsageError(
            f"{path}: longer than {LONGEST >> 20} MiB", "split it, or use one value a line (.jsonl)"
        )
    return path.read_text(encoding="utf-8-sig")


Reader = Callable[[Path], Iterator[ForeignMemory]]
