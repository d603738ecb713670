"""Documentation that cannot drift: generated parts, links, the table of contents, and the size of lines and folders."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import yaml

from evals.docs import COMMANDS_PAGE, DOCS, commands, files
from sb.cli import COMMANDS, load
from tests.rows import rows
from tests.test_architecture import FLOORS, LAYERS

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
BESIDE = ("reference", "decisions")  # folders that may grow; pages outside them are read in order
WRITTEN_PAGES = 25
LINE = 120


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        text = unicodedata.normalize("NFKD", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading))
        found.add(re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-"))
    return found


def test_generated_documentation_is_current() -> None:
    """The score comes from a whole audit, so it is made here once, and not at collection."""
    stale = [path.name for path, text in files().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


def test_every_command_has_help_and_is_in_the_reference() -> None:
    reference = COMMANDS_PAGE.read_text(encoding="utf-8")
    for words, command in commands():
        assert command.help, words
        assert f"## `{words}`" in reference
        for parameter in command.params:
            if parameter.param_type_name == "option" and "--help" not in parameter.opts:
                assert parameter.help, f"{words} {parameter.opts}"


@rows("name", COMMANDS)
def test_the_summary_of_a_command_is_its_own_help(name: str) -> None:
    command = load(name)
    if getattr(command, "commands", None):
        assert command.help == COMMANDS[name]


@rows("page", PAGES)
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    for path, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)", prose(page)):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{path}#{anchor}"


@rows("page", PAGES)
def test_lines_are_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    long = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LINE and not line.startswith("|") and "](" not in line
    ]
    assert long == [], f"lines of more than {LINE} characters"


def test_every_page_is_in_the_contents_of_the_site() -> None:
    def listed(entry: object) -> list[str]:
        if isinstance(entry, dict):
            entry = list(entry.values())
        return [name for item in entry for name in listed(item)] if isinstance(entry, list) else [str(entry)]

    class Loader(yaml.SafeLoader):
        """mkdocs.yml names functions and variables by tags, which are of no interest here."""

    Loader.add_multi_constructor("!", lambda loader, suffix, node: None)
    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)
    contents = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)["nav"]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(listed(contents)) == sorted(pages)


def test_what_is_read_in_order_stays_short() -> None:
    written = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in BESIDE]
    assert len(written) <= WRITTEN_PAGES, "merge pages, or move details to docs/reference"


def test_readme_leads_to_every_way_in() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ways = [*(DOCS / "start").glob("*.md"), DOCS / "index.md", DOCS / "concepts" / "architecture.md"]
    assert [name_of(page) for page in ways if f"]({name_of(page)})" not in readme] == []


def test_index_leads_to_every_page_but_those_of_decisions() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"index.md"}
    assert [
        page for page in sorted(pages) if f"]({page}" not in index and not page.startswith("decisions/")
    ] == []


def test_architecture_names_every_layer_and_floor() -> None:
    page = (DOCS / "concepts" / "architecture.md").read_text(encoding="utf-8")
    rooms = [
        name.removeprefix("sb.") for layer in LAYERS for name in layer if not name.startswith("sb.kernel.")
    ]
    floors = [name for floor in FLOORS for name in floor]
    inner = {path for path in (ROOT / "sb").rglob("*") if path.is_dir()}
    folders = {"commands", "screens"} | {path.name for path in inner}
    folders |= {path.relative_to(ROOT / "sb").as_posix() for path in inner}
    files = {path.stem for path in (ROOT / "sb").rglob("*.py")}
    places = [name.replace(".", "/") for name in rooms] + floors
    shown = {name: f"`{name}/`" if name in folders else f"`{name}.py`" for name in places}
    assert [name for name, text in shown.items() if text not in page and name in folders | files] == []


def test_architecture_names_no_room_or_floor_that_is_gone() -> None:
    page = (DOCS / "concepts" / "architecture.md").read_text(encoding="utf-8")
    rooms, floors = page.partition("## Layers\n")[2].split("The floors of")
    for table, folder in ((rooms, "sb"), (floors, "sb/kernel")):
        cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
        shown = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
        there = {name for name in shown if (ROOT / folder / name).exists() or (ROOT / name).exists()}
        assert cells
        assert shown - there == set()


def test_names_in_the_architecture_are_in_the_files_beside_them() -> None:
    page = DOCS / "concepts" / "architecture.md"
    for line in page.read_text(encoding="utf-8").splitlines():
        linked = [(page.parent / path).resolve() for path in re.findall(r"\]\((\.\./\.\./[^)#]+)\)", line)]
        code = "".join(path.read_text(encoding="utf-8") for path in linked if path.is_file())
        names = re.findall(r"`(_[a-z_]+|[A-Z_]{2,})`", line)
        assert not linked or [name for name in names if name not in code] == [], line


def shown_calls(page: Path) -> list[list[str]]:
    """The words of each `sb` command line in a page's blocks of shell."""
    blocks = re.findall(r"```(?:console|sh)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    calls = [match[1] for line in lines if (match := re.match(r"(?:\$ )?sb (?=[a-z-])(.*)", line))]
    return [re.sub(r"(--db \S+ |'[^']*'|\"[^\"]*\"|\s#.*)", " ", call).split() for call in calls]


@rows("page", [page for page in PAGES if shown_calls(page)])
def test_shown_commands_and_options_exist(page: Path) -> None:
    for words in shown_calls(page):
        if words[0] not in COMMANDS:
            assert words[0].startswith("-"), words
            continue
        command, rest = load(words[0]), words[1:]
        while getattr(command, "commands", None):
            assert rest, f"sb {' '.join(words)}: no subcommand"
            if hasattr(command, "default_command") and rest[0] not in command.commands:
                rest = [command.default_command, *rest]
            assert rest[0] in command.commands, f"sb {' '.join(words)}"
            command, rest = command.commands[rest[0]], rest[1:]
        known = {
            name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
        }
        given = {word.partition("=")[0] for word in rest if re.match(r"--[a-z]", word)}
        assert given <= known | {"--help"}, f"sb {' '.join(words)}"
