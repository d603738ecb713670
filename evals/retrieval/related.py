"""Questions whose answer is related to what they name: this repository's modules, classes and decisions, and their relations.

All is read from the working tree, so figures change a little with it. A question has the words of one record and asks for
others: what imports that module (`depends_on`), what uses the class in it (`part_of`, then `depends_on`). Decisions are rows
too, with the code that they are `about`. Beside them stand plain questions, every second word of a module's description, and
those about the records that agents noted, with the relations that their texts name; neither may lose. Split by topic: the
package of a module, the source of a record.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from zlib import crc32

from evals.retrieval.agent_records import load_records
from evals.retrieval.corpora import Question, Row, load_agent_records

ROOT = Path(__file__).parents[2]
_PACKAGES = ("sb", "commands", "screens", "evals")
_MOST_EVIDENCE = 5
_SHARED = 6  # records that name the same identifier, for that to relate them
_LONGEST = 1_500  # characters of a decision


@dataclass(frozen=True)
class Related:
    """Rows, the relations between them, and what may be asked.

    Args:
        relations: source, relation and target, by the ids of rows. questions: with the half, 0 or 1, that each is in.
    """

    name: str
    rows: tuple[Row, ...]
    relations: tuple[tuple[str, str, str], ...]
    questions: tuple[tuple[int, Question], ...]


@dataclass(frozen=True)
class _Module:
    path: str
    about: str
    classes: tuple[tuple[str, str], ...]
    imports: frozenset[str]


def load_repository(root: Path = ROOT) -> Related:
    """The repository's modules, classes and decisions."""
    modules = {item.path: item for item in _modules(root)}
    rows = {item.path: f"{item.path}: {item.about}" for item in modules.values()}
    relations, homes, users = [], defaultdict(set), defaultdict(set)
    for module in modules.values():
        for name, about in module.classes:
            rows[f"{module.path}#{name}"] = f"`{name}` in {module.path}: {about}"
            relations.append((f"{module.path}#{name}", "part_of", module.path))
            homes[name].add(module.path)
        for other in sorted(module.imports & modules.keys()):
            relations.append((module.path, "depends_on", other))
            users[other].add(module.path)
    for page in sorted((root / "docs/decisions").glob("*.md")):
        for number, section in enumerate(re.split(r"^## ", page.read_text("utf-8"), flags=re.MULTILINE)[1:]):
            title, _, body = section.partition("\n")
            rows[f"{page.name}#{number}"] = f"{title}: {' '.join(body.split())}"[:_LONGEST]
            code = _named(body, modules, homes)
            relations += [(f"{page.name}#{number}", "about", item) for item in sorted(code)]
    documents = tuple(Row(name, "", text, "", float(at)) for at, (name, text) in enumerate(rows.items()))
    return Related(
        "repository", documents, tuple(relations), tuple(_questions(_about_modules(modules, users)))
    )


def load_noted() -> Related:
    """The records that agents noted, related where one names the module of another, or few name the same."""
    records, corpora = load_records(), load_agent_records()
    modules = {
        found[1]: item["id"]
        for item in records
        if (found := re.match(r"(\S+\.py): ", item["text"])) is not None
    }
    relations: set[tuple[str, str, str]] = set()
    naming = defaultdict(set)
    for record in records:
        for path in re.findall(r"[\w/]+\.py", record["text"]):
            if modules.get(path, record["id"]) != record["id"]:
                relations.add((record["id"], "about", modules[path]))
        for name in re.findall(r"`([^`]{3,60})`", record["text"]):
            naming[name].add(record["id"])
    for those in naming.values():
        if len(those) <= _SHARED:
            relations |= {(first, "mentions", second) for first, second in combinations(sorted(those), 2)}
    asked = tuple(
        (fold % 2, Question(question.text, "noted", question.evidence))
        for fold, corpus in enumerate(corpora)
        for question in corpus.questions
    )
    return Related("records", corpora[0].rows, tuple(sorted(relations)), asked)


def _modules(root: Path) -> Iterator[_Module]:
    """Every module that says what is in it."""
    files = [path for package in _PACKAGES for path in sorted((root / package).rglob("*.py"))]
    paths = {_dotted(path.relative_to(root)): path.relative_to(root).as_posix() for path in files}
    for path in files:
        tree = ast.parse(path.read_text("utf-8"))
        if about := _first(tree):
            classes = [
                (node.name, _first(node))
                for node in tree.body
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and _first(node)
            ]
            own = path.relative_to(root).as_posix()
            yield _Module(own, about, tuple(classes), frozenset(_imported(tree, paths)) - {own})


def _statements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every statement in these; expressions, which hold no import, are nine tenths of a tree."""
    for node in nodes:
        yield node
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, inner, ()))


def _imported(tree: ast.Module, paths: dict[str, str]) -> Iterator[str]:
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found = paths.get(f"{node.module}.{alias.name}", paths.get(node.module))
                if found:
                    yield found


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _first(node: ast.Module | ast.ClassDef) -> str:
    """The first paragraph of a docstring."""
    return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())


def _named(body: str, modules: dict[str, _Module], homes: dict[str, set[str]]) -> set[str]:
    """The modules that a text names, by their path or by a class that only one has."""
    named: set[str] = set()
    for code in re.findall(r"`([^`]+)`", body):
        named |= {code} & modules.keys()
        for word in re.findall(r"\w+", code):
            if len(homes.get(word, ())) == 1:
                named |= homes[word]
    return named


def _about_modules(
    modules: dict[str, _Module], users: dict[str, set[str]]
) -> Iterator[tuple[str, str, str, set[str]]]:
    for path, module in sorted(modules.items()):
        topic, about = "/".join(path.split("/")[:-1][:3]), module.about.rstrip(".")
        yield topic, "dependents", f"what would a change to this affect: {about}", users.get(path, set())
        for _, does in module.classes[:1]:
            text = f"what uses the thing that {does[0].lower()}{does[1:].rstrip('.')}?"
            yield topic, "two steps", text, users.get(path, set())
        telling = re.findall(r"[A-Za-z]{4,}", about)[::2]
        if crc32(path.encode()) % 4 == 0 and len(telling) > 1:
            yield topic, "plain", " ".join(telling), {path}


def _questions(asked: Iterable[tuple[str, str, str, set[str]]]) -> Iterator[tuple[int, Question]]:
    for topic, category, text, evidence in asked:
        if 1 <= len(evidence) <= _MOST_EVIDENCE:
            yield crc32(topic.encode()) % 2, Question(text, category, frozenset(evidence))
