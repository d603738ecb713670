"""The house rules that a machine can check: layers, sizes, what a cold start loads, what a wheel holds."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from evals import house
from tests.rows import rows

ROOT = Path(__file__).parents[1]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]

GROUND = ("contracts", "results", "reversibility.contracts", "run_context", "error_kinds", "events", "memory")
# docs/concepts/architecture.md, "Layers": a module may import from its own layer and those below it, the ground first.
LAYERS = (
    (
        *(
            "sb.errors",
            "sb.base",
            "sb.config",
            "sb.protocols",
        ),
    ),
    ("sb.base.secrets", "sb.base.classification"),
    ("sb.store",),
    ("sb.log",),
    # The kernel's ground floor. A command line's parser stands on it: who decides is shown a line as it is parsed.
    tuple(f"sb.kernel.{name}" for name in GROUND),
    ("sb.shell",),
    ("sb.kernel",),
    ("sb.memory",),
    ("sb.tools",),
    ("sb.stack",),
    ("sb.entity", "sb.context_packs", "sb.decisions", "sb.contracts"),
    ("sb.runtime",),
    ("sb.agent",),
    ("sb.present",),
    ("sb.hosts.confinement",),
    ("sb.hosts",),
    ("sb.evals", "sb.harness", "sb.operator"),
    ("sb.cli", "sb.__main__", "sb.commands", "sb.screens", "sb.resident", "sb.mcp"),
)
# The floors of `sb.kernel`: each imports only from itself and those before it.
FLOORS = (
    GROUND,
    *(
        names.split()
        for names in (
            "red_team",
            "contradiction_ledger memory_read_policy",
            "trajectory_eval",
            "claims",
            "authority",
            "registry",
            "error_classifier",
            "policy",
            "calls reversibility",
            "tokenomics",
            "approvals",
            "baselines",
            "incident_response",
            "agent_charter release_tuple context_sources boundaries",
            "autonomy",
            "business_metrics",
            "execution",
            "replay",
            "durable_execution",
            "compensation recovery_loop",
            "functions",
            "harness_audit",
            "review",
            "outcomes",
            "decision_desk",
        )
    ),
)
# Modules that only re-export rooms, under names that the specification gives; no code of ours imports them.
DOORS = {
    "sb.state",
    "sb.decisions.namespace",
    "sb.kernel.agent_charter",
    "sb.kernel.compensation",
    "sb.kernel.context_sources",
    "sb.kernel.data_classification",
    "sb.kernel.durable_execution",
    "sb.kernel.error_classifier",
    "sb.kernel.incident_response",
    "sb.kernel.recovery_loop",
    "sb.kernel.release_tuple",
    "sb.kernel.red_team",
    "sb.kernel.reversibility",
    "sb.kernel.trajectory_eval",
    "sb.kernel.tooling",
    "sb.kernel.tooling.executor",
    "sb.kernel.tooling.permissions",
    "sb.kernel.tooling.registry",
}


def sources() -> Iterator[tuple[str, Path]]:
    for package, folder in SETUPTOOLS["package-dir"].items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), path


def place_of(module: str, places: Sequence[Sequence[str]], root: str = "") -> int:
    """The index of the place with the longest name that the module is in."""
    names = {f"{root}{name}": number for number, place in enumerate(places) for name in place}
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        if (name := ".".join(parts[:count])) in names:
            return names[name]
    raise AssertionError(
        f"{module} has no place: add it to test_architecture.py and docs/concepts/architecture.md"
    )


def below(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a node, at any depth; expressions, of which there are ten times as many, are left out."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, name, ()):
            yield inner
            yield from below(inner)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """The module, and all statements in it."""
    return (tree(path), *below(tree(path)))


def imports(path: Path) -> Iterator[str]:
    """The imports of a file, at any time: at call time and for type checkers too."""
    for node in statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def import_graph() -> dict[str, set[str]]:
    """Our modules, each with those of ours that it imports; doors and packages that only re-export are left out."""
    modules = dict(sources())
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = {name if name in modules else name.rpartition(".")[0] for name in imports(path)}
        graph[module] = {name for name in names if name in modules and name not in ("sb", module)}
    return {module: names for module, names in graph.items() if module not in DOORS | {"sb", "sb.kernel"}}


# Packages that import their own modules when they are loaded; they are there before any thread is started.
LOADED_WHOLE = {"sb.config", "sb.harness.probes", "sb.protocols", "sb.protocols.types"}


def test_a_package_loads_its_modules_when_they_are_asked_for() -> None:
    """Of two threads that import two modules of a package which imports both, one gets a deadlock for an error."""
    eager = {
        module
        for module, path in sources()
        if path.name == "__init__.py"
        for node in tree(path).body
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{module}.")
    }
    assert eager == LOADED_WHOLE


def test_imports_go_downwards_only() -> None:
    upwards = [
        f"{module} imports {name}"
        for module, names in import_graph().items()
        for name in names
        if place_of(name, LAYERS) > place_of(module, LAYERS)
    ]
    assert upwards == []


def test_the_kernels_floors_import_only_from_those_below() -> None:
    kernel = {m: names for m, names in import_graph().items() if m.startswith("sb.kernel.")}
    upwards = [
        f"{module} imports {name}"
        for module, names in kernel.items()
        for name in names
        if name in kernel and place_of(name, FLOORS, "sb.kernel.") > place_of(module, FLOORS, "sb.kernel.")
    ]
    assert upwards == []


def test_our_code_imports_rooms_not_doors() -> None:
    users = [
        f"{module} imports {name}"
        for module, names in import_graph().items()
        for name in names
        if name in DOORS
    ]
    assert users == []


def test_no_circle_between_files() -> None:
    try:
        TopologicalSorter(import_graph()).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(error.args[1]))


def test_only_the_driver_module_imports_a_driver() -> None:
    users = {
        module
        for module, path in sources()
        if any(name.split(".")[0] in ("sqlite3", "pysqlite3") for name in imports(path))
    }
    assert users == {"sb.store.driver"}


def beyond_the_limits(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if text.count("\n") > (600 if "tests" in path.parts else 500):
        yield f"{path}: too many lines"
    for node in statements(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if (node.end_lineno or 0) - node.lineno >= 80:
                yield f"{path}: {node.name} is too long"
        elif isinstance(node, ast.ExceptHandler):
            silent = all(isinstance(line, ast.Pass) for line in node.body)
            if silent and ast.unparse(node.type or ast.Name("all")) in ("Exception", "all"):
                yield f"{path}:{node.lineno}: any exception is passed over"


def test_files_and_functions_stay_within_the_house_limits() -> None:
    paths = [*(path for _, path in sources()), *sorted((ROOT / "tests").rglob("*.py"))]
    assert [fault for path in paths for fault in beyond_the_limits(path)] == []


def test_every_module_states_in_one_line_what_is_in_it() -> None:
    """`sb.store.migrations` holds SQL alone."""
    lines = {module: (ast.get_docstring(tree(path)) or "").split("\n\n")[0] for module, path in sources()}
    assert [module for module, line in lines.items() if not line or "\n" in line or "?" in line] == []


def test_every_code_folder_ships() -> None:
    found = {
        ".".join([name, *init.parent.relative_to(ROOT / folder).parts])
        for name, folder in SETUPTOOLS["package-dir"].items()
        for init in (ROOT / folder).rglob("__init__.py")
    }
    assert found == set(SETUPTOOLS["packages"])


HEAVY = (
    "textual",
    "rich",
    "sqlite_utils",
    "sqlite_vec",
    "yaml",
    "pydantic",
    "numpy",
    "safetensors",
    "Stemmer",
    "kitoken",
    "asyncio",
    "importlib.metadata",
    "cryptography",
    "sqlite3",
    "pysqlite3",
    "orjson",
    "tomlkit",
    "sb.kernel",
    "sb.memory",
    "sb.store",
    "sb.protocols.types",
    "sb.commands.kernel",
    "sb.commands.log",
    "sb.screens",
)


def loaded_by(arguments: list[str], environment: dict[str, str] | None = None) -> set[str]:
    script = (
        "import sys, os\n"
        "from sb.cli import run\n"
        "try: run(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "sys.stderr.write('\\nMODULES ' + ' '.join(sys.modules))\n"
    )
    command = [sys.executable, "-c", script, *arguments]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(environment or {})}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    return set(done.stderr.rpartition("MODULES ")[2].split())


@rows(
    "arguments, environment",
    [
        (["--help"], {}),
        (["--version"], {}),
        (["kernle"], {}),
        (["aproove", "apr_82"], {}),
        (["help", "exit-codes"], {}),
        ([], {"_SB_COMPLETE": "complete_bash", "COMP_WORDS": "sb ", "COMP_CWORD": "1"}),
    ],
)
def test_help_version_completion_and_usage_errors_load_almost_nothing(
    arguments: list[str], environment: dict[str, str]
) -> None:
    loaded = loaded_by(arguments, environment)
    assert "sb.cli" in loaded
    assert sorted(name for name in HEAVY if name in loaded) == []


def house_order(name: str) -> tuple[bool, bool, str]:
    """Constants, classes, functions."""
    return not name.isupper(), name[0].islower(), name


def test_the_kernels_names_are_what_its_export_list_says() -> None:
    import sb.kernel
    import sb.kernel.tooling

    for package in (sb.kernel, sb.kernel.tooling):
        assert list(package.__all__) == sorted(package.__all__, key=house_order)
        for name in package.__all__:
            assert getattr(getattr(package, name), "__name__", name) == name  # a mapping has none
    with pytest.raises(AttributeError, match="no attribute"):
        sb.kernel.Nonsense  # type: ignore[attr-defined] # noqa: B018


def test_importing_the_kernel_opens_no_socket_and_starts_no_process() -> None:
    script = (
        "import sys\n"
        "def hook(event, args):\n"
        "    if event.startswith(('socket.connect', 'subprocess', 'os.exec', 'os.fork', 'os.posix_spawn')):\n"
        "        raise SystemExit(event)\n"
        "sys.addaudithook(hook)\n"
        "import sb.runtime, sb.operator.demo.story, sb.operator.doctor, sb.context_packs, sb.commands.kernel\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_text_of_the_project_names_no_machine_and_no_index() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in tracked.split("\n"):
        path = ROOT / name
        if name and path.is_file() and not name.startswith(".typing/"):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"(?<![\w.])/(?:home|root|work|farm|Users)/\w", text), name
            assert not re.search(r"index-url[\s=:]+\S*://", text), name


def test_rooms_stay_below_their_ceilings() -> None:
    assert not house.above()


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    relative = ("What ", "Whether ", "How ", "Why ", "Who ", "Which ")
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    others = [(name, path) for name in ("evals", "examples", "tests") for path in (ROOT / name).rglob("*.py")]
    found = [
        f"{module}: {text.splitlines()[0]}"
        for module, path in (*sources(), *others)
        for node in statements(path)
        if isinstance(node, documented)
        and (text := ast.get_docstring(node, clean=False) or "").startswith(relative)
    ]
    assert found == []


VAGUE = {"said", "held", "kept", "met", "told", "one"}


def vague_names(path: Path) -> Iterator[str]:
    """Variables, functions and fixtures of a file that are named for what was done to them, not for what they are.

    Fields are others' words.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    fields = {
        id(node.target)
        for scope in ast.walk(tree)
        if isinstance(scope, ast.ClassDef)
        for node in scope.body
        if isinstance(node, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in VAGUE | {"found", "shown"}:
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
            continue
        if node.id in VAGUE and id(node) not in fields:
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {node.id}"


def test_variables_are_named_for_what_they_are() -> None:
    folders = ("sb", "commands", "screens", "evals", "tests")
    paths = (path for name in folders for path in (ROOT / name).rglob("*.py"))
    assert [name for path in paths for name in vague_names(path)] == []
