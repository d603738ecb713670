"""Makes records that agents would remember of this project, from its own texts.

Run in a clone with its history: `python -m evals.retrieval.make_records`. It writes `records/records.jsonl`, which is
kept, since questions name its ids: after it is written anew, questions about texts that changed have to be asked anew.

A record is one text of at most six sentences that can be understood alone, with its kind and category:

- fact: paragraphs, bullets and table rows of the documents, settings and commands
- decision: what the architecture page and others say in bold, with the reason; commits whose message says why
- lesson: commits whose message says what went wrong; errors, with the hint that goes with them
- note: what the changelog and the other commits say; comments that give a reason
- code_fact: what modules, classes and functions say that they are for
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = Path(__file__).parent / "records" / "records.jsonl"
MAX_SENTENCES = 6
ALIKE = 0.7  # of the smaller record's words: above it, the later one of two is left out

_CATEGORY_OF_PAGE = {
    "approvals": "user", "console": "user", "console-web": "user", "incidents": "user", "undo": "user",
    "operator": "identity", "security": "identity",
    "hosts": "environment", "store": "environment", "performance": "environment",
    "configuration": "preference", "policy": "preference",
    "coding-agents": "integration", "python": "integration", "tools": "integration",
    "telemetry": "integration", "ci": "integration", "shell-classes": "integration",
    "calls": "convention", "contracts": "convention", "cli": "convention", "commands": "convention",
    "workflows": "convention", "failures": "convention", "context": "convention",
}  # fmt: skip
# What says how the project came about, and what means nothing without the change it stands beside.
_LEFT_OUT = re.compile(
    r"review|whitepaper|kernel reference|the plan\b|mutations showed|mutation test|saboteur|"
    r"measure again|draw|redraw|pictures?\b|regenerate|up to date|generated documents|"
    r"type a test|follow what was found|/work/|/tmp/|/home/|noqa|type: ignore|count the ways back again",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(was|were|did|could|had|took|ended|went|lost|held|stopped|turned|raised|broke|became|read as|got)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(rather than|on purpose|because|would otherwise|otherwise|instead|so that (no|a|it|what|whoever)|since)\b"
)
_ADVICE = re.compile(
    r"\b(goes wrong|went wrong|fails?, |cannot be (read|brought|undone|told|put)|is refused|what to do|by hand|after a crash|damaged)\b"
)
_DROPPED_COLUMNS = {"proof", "test", "tests", "control", "ref"}


@dataclass(frozen=True, slots=True)
class Record:
    kind: str
    category: str
    date: str  # of the last commit that touched the source, YYYY-MM-DD
    source: str
    text: str

    @property
    def id(self) -> str:
        digest = hashlib.sha256(f"{self.kind}\0{self.text}".encode()).hexdigest()
        return f"{self.kind[0]}{digest[:7]}"


def git(*args: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *args], check=True, capture_output=True, text=True).stdout


def dates() -> dict[str, str]:
    """The day of the last commit of each file."""
    last: dict[str, str] = {}
    day = ""
    for line in git("log", "--format=%x00%ad", "--date=short", "--name-only").splitlines():
        if line.startswith("\0"):
            day = line[1:]
        elif line:
            last.setdefault(line, day)
    return last


def sentences(text: str) -> list[str]:
    # Not after "e.g." or a single letter, and only where a capital, a code or a bold word begins.
    return [
        part
        for part in re.split(r"(?<=[.?!:][\"')*`])\s+(?=[A-Z`*])|(?<=\w\w[.?!])\s+(?=[A-Z`*\"(])", text)
        if part
    ]


def pieces(text: str) -> Iterator[str]:
    """The text, in halves or thirds where it has too many sentences for one record."""
    parts = sentences(text)
    count = -(-len(parts) // MAX_SENTENCES)
    size = -(-len(parts) // max(count, 1))
    for start in range(0, len(parts), max(size, 1)):
        yield " ".join(parts[start : start + size])


def cleaned(text: str) -> str:
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = text.replace("**", "").replace("⏎", " ")
    return re.sub(r"\s+", " ", text).strip()


# Documents


@dataclass(slots=True)
class Block:
    headings: list[str]
    lines: list[str]


def blocks(page: str) -> Iterator[Block]:
    """Paragraphs, bullets and table rows (one line each, beginning with |), without code."""
    headings, lines, fenced = ["", "", ""], list[str](), False

    def done() -> Iterator[Block]:
        if lines:
            yield Block([h for h in headings if h], lines.copy())
            lines.clear()

    for line in page.splitlines():
        if line.startswith("```"):
            yield from done()
            fenced = not fenced
        elif fenced or line.startswith(("<!--", "!")):
            continue
        elif found := re.match(r"(#+) (.*)", line):
            yield from done()
            level = min(len(found[1]), 3) - 1
            headings[level:] = [found[2], *[""] * (2 - level)]
        elif not line.strip():
            yield from done()
            if any(headings) and not line:
                yield Block([h for h in headings if h], [])
        elif (row := line.lstrip().startswith("|")) or re.match(r"\s*([-*]|\d+\.) ", line):
            yield from done()
            lines.append(line.strip() if row else line)
            if row:
                yield from done()
        else:
            lines.append(line)
    yield from done()


def _cells(line: str) -> list[str]:
    inner = re.sub(r"\\\|", "\0", line.strip().strip("|"))
    return [cleaned(cell.replace("\0", "|")) for cell in inner.split("|")]


def _row(header: list[str], cells: list[str]) -> str:
    named = [(h, c) for h, c in zip(header, cells, strict=False) if c and h.lower() not in _DROPPED_COLUMNS]
    if not named or (len(cells) == 2 and not header[0]):
        return ": ".join(c for c in cells if c)
    first, *rest = named
    details = "; ".join(f"{h}: {c}" if h and len(rest) > 1 else c for h, c in rest)
    return f"{first[0]} {first[1]}: {details}".strip().rstrip(": ")


def documents(day: dict[str, str]) -> Iterator[Record]:
    for path in [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.stem == "commands":
            continue
        name = path.relative_to(ROOT).as_posix()
        header: list[str] | None = None
        for block in blocks(path.read_text(encoding="utf-8")):
            if not block.lines:
                header = None
                continue
            line = block.lines[0]
            if line.startswith("|"):
                if header is None:
                    header = _cells(line)
                    continue
                if set(line) <= set("|-: "):
                    continue
                text = _row(header, _cells(line))
            else:
                header = None
                text = cleaned(re.sub(r"^\s*([-*]|\d+\.) ", "", " ".join(block.lines)))
            yield from _of_block(block, text, name, path.stem, day[name])


def _of_block(block: Block, text: str, name: str, page: str, date: str) -> Iterator[Record]:
    setting = text.startswith("Setting `")
    category = "preference" if setting else _CATEGORY_OF_PAGE.get(page, "project")
    topic = ", ".join(dict.fromkeys(block.headings[-2:])).replace("`", "")
    plain_bullet = name.startswith("docs/decisions/") and block.lines[0].startswith("- **")
    for piece in pieces(text):
        table = block.lines[0].startswith("|")
        if not table and not re.search(r"[.?!;)`\"*]$", piece):  # it leads to code or a table
            continue
        content = piece if plain_bullet or setting else f"{topic}: {piece}"
        decided = plain_bullet or (_REASON.search(piece) and not table)
        if decided and len(piece.split()) >= 14:
            yield Record("decision", "decision", date, name, content)
        elif not setting and _ADVICE.search(piece):
            yield Record("lesson", "lesson", date, name, content)
        else:
            yield Record("fact", category, date, name, content)


def commands(day: dict[str, str]) -> Iterator[Record]:
    """Records of each command and option, with its purpose."""
    page = "docs/reference/commands.md"
    for found in re.finditer(
        r"## `(sb[^`]*)`\n\n```text\nUsage: [^\n]*\n((?: {10,}[^\n]*\n)*)(.*?)```",
        (ROOT / page).read_text("utf-8"),
        re.DOTALL,
    ):
        command, body = found[1], found[3]
        if "\nCommands:" in body:
            continue
        about, _, options = body.partition("\nOptions:")
        about = cleaned(re.split(r"\nArguments:", about)[0])
        yield Record("fact", "convention", day[page], page, f"`{command}`: {about}")
        for option in re.split(r"\n  (?=-)", options):
            parts = re.split(r"\s{2,}", option.strip(), maxsplit=1)
            if len(parts) == 2 and len(parts[1].split()) >= 6 and not option.strip().startswith("--help"):
                yield Record(
                    "fact", "convention", day[page], page,
                    f"The option `{parts[0]}` of `{command}`: {cleaned(parts[1])}",
                )  # fmt: skip


def changelog(day: dict[str, str]) -> Iterator[Record]:
    heading = ""
    for block in blocks((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")):
        if block.lines and block.lines[0].startswith("- "):
            heading = block.headings[-1]
            text = cleaned(" ".join(block.lines)[2:])
            yield Record("note", "project", day["CHANGELOG.md"], "CHANGELOG.md", f"{heading}: {text}")


def catalogue(day: dict[str, str]) -> Iterator[Record]:
    """The controls of the harness audit: what each one asks and looks at."""
    import yaml

    name = "sb/kernel/harness_audit/catalogue.yaml"
    for outcome in yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["outcomes"]:
        for control in outcome["controls"]:
            says = " ".join(check["says"] for check in control["checks"])
            text = f"{control['id']} {control['title']} ({control['severity']}): {control['question']} {says}"
            yield Record(
                "fact", "project", day[name], name, " ".join(sentences(cleaned(text))[:MAX_SENTENCES])
            )


# History


def commits() -> Iterator[Record]:
    for entry in git(
        "log",
        "--format=%x00%ad%x01%s%x01%b",
        "--date=short",
        "--",
        ".",
        ":!evals/retrieval",
        ":!tests/test_retrieval*",
    ).split("\0")[1:]:
        date, subject, body = (part.strip() for part in entry.split("\1"))
        body = (
            cleaned(re.sub(r"^[A-Z][\w-]+: .*$", "", body, flags=re.MULTILINE))
            if ":" in body
            else cleaned(body)
        )
        if len(body.split()) < 6:
            if len(subject.split()) >= 7:
                yield Record("note", "project", date, "git log", f"{subject}.")
            continue
        body = body if body.endswith((".", "?", "!")) else body + "."
        kind = "lesson" if _FAILED.search(body) else "decision"
        for piece in pieces(f"{subject}. {body}"):
            yield Record(kind, kind, date, "git log", piece)


# Code


def sources() -> Iterator[tuple[str, str]]:
    for folder in ("sb", "commands", "screens", "evals", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "retrieval" not in path.parts and "migrations" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def _docstring(node: ast.AST) -> str:
    """Its first paragraphs, up to the sections for arguments, without examples and drawings."""
    docstring = (
        ast.get_docstring(node)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        else ""
    )
    docstring = re.split(r"\n(?:Args|Raises|Returns|Attributes|Yields):", docstring or "")[0]
    paragraphs = [
        part
        for part in docstring.split("\n\n")
        if not re.search(r"^(\s{4}|[│├└┌]|\w.*\s{3,}\S)", part, re.MULTILINE)
    ]
    return " ".join(sentences(cleaned(" ".join(paragraphs)))[:MAX_SENTENCES]).replace("::", ":")


def docstrings(day: dict[str, str]) -> Iterator[Record]:
    for name, text in sources():
        tree = ast.parse(text)
        if name.startswith("tests/"):
            continue
        if len((summary := _docstring(tree)).split()) >= 6:
            yield Record("code_fact", "project", day[name], name, f"{name}: {summary}")
        for node in tree.body:
            yield from _of_node(node, name, "", day[name])


def _of_node(node: ast.stmt, name: str, within: str, date: str) -> Iterator[Record]:
    if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    summary = _docstring(node)
    least = 22 if node.name.startswith("_") else 13
    if len(summary.split()) >= least and not summary.startswith("See "):
        yield Record("code_fact", "project", date, name, f"`{within}{node.name}` in {name}: {summary}")
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            yield from _of_node(inner, name, f"{node.name}.", date)


def comments(day: dict[str, str]) -> Iterator[Record]:
    """Comments of at least twelve words that stand on lines of their own: they give reasons."""
    for name, text in sources():
        found: list[tuple[int, list[str]]] = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.COMMENT or token.line[: token.start[1]].strip():
                continue
            words = token.string.lstrip("# ").strip()
            if found and found[-1][0] == token.start[0] - 1:
                found[-1] = (token.start[0], [*found[-1][1], words])
            else:
                found.append((token.start[0], [words]))
        for _, lines in found:
            comment = cleaned(" ".join(lines))
            if len(comment.split()) >= 12 and comment[0].isupper():
                yield Record("note", "project", day[name], name, f"In {name}: {comment}")


def _written(node: ast.expr) -> str:
    """The text of a string in code, with … for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_written(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _written(node.left) + _written(node.right)
    return "…"


def errors(day: dict[str, str]) -> Iterator[Record]:
    """Every error that is raised with a hint, or says enough by itself."""
    for name, text in sources():
        if name.startswith("tests/"):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = node.func.id if isinstance(node.func, ast.Name) else ""
            if not re.fullmatch(
                r"\w+(Error|Failed|Locked|ReadOnly|Full|Corrupt|Mismatch)|Finding|Check", function
            ):
                continue
            message, hint = (cleaned(_written(part)) for part in [*node.args[:2], ast.Constant("")][:2])
            length = len(message.replace("…", "").split())
            helps = f", what helps: {hint}." if len(hint.replace("…", "").split()) >= 3 else ""
            if length >= (3 if helps else 8):
                lesson = f'When sb says "{message}" ({function}, {name}){helps or ": that is refused."}'
                yield Record("lesson", "lesson", day[name], name, lesson)


def stems(text: str) -> frozenset[str]:
    """Rough stems, good enough to see that two records say the same."""
    return frozenset(word[:6] for word in re.findall(r"[a-z0-9_]{3,}", text.lower()))


def distinct(records: Iterable[Record]) -> Iterator[Record]:
    """The records, without those that say what an earlier one says."""
    seen: list[tuple[frozenset[str], int]] = []
    for record in records:
        words = stems(record.text.split(": ", 1)[-1])
        if len(record.text.split()) < 7 or len(words) < 4 or _LEFT_OUT.search(record.text):
            continue
        if any(len(words & other) > ALIKE * min(len(words), len(other)) for other, _ in seen):
            continue
        seen.append((words, len(words)))
        yield record


def make() -> list[Record]:
    day = dates()
    found = [
        *documents(day), *commits(), *errors(day), *docstrings(day), *changelog(day), *comments(day),
        *commands(day), *catalogue(day),
    ]  # fmt: skip
    order = {"decision": 0, "lesson": 1, "note": 2, "fact": 3, "code_fact": 4}
    return list(distinct(sorted(found, key=lambda record: order[record.kind])))


def main() -> None:
    records = make()
    with RECORDS.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps({"id": record.id, **asdict(record)}, ensure_ascii=False) + "\n")
    print(f"{len(records)} records in {RECORDS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
