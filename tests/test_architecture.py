"""Rules over all modules of src/rankjury, one test per rule with a list of what breaks it.

The rules are explained in docs/contributing/architecture.md.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import rankjury
from rankjury.evaluation.sections import SECTIONS, Section

ROOT = Path(rankjury.__file__).parent
MODULES = {
    ".".join(("rankjury", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}

ORDER = (
    "errors < core < io < measures < stats < evaluation < retrieval < labeling recsys < reporting scale"
    " < tracking < plan < cli"
)
"""A package imports from packages before it in this order; those at one place do not import from each other."""
LEVEL = {package: level for level, packages in enumerate(ORDER.split("<")) for package in packages.split()}

CORE_LIBRARIES = {"numpy", "polars", "pydantic", "pydantic_core", "typer", "rich", "matplotlib", "jinja2", "markupsafe"}
EXTRAS = {
    "faiss": "retrieval/engines/faiss.py",
    "hnswlib": "retrieval/engines/hnswlib.py",
    "implicit": "recsys/models/factorization.py",
    "irspack": "recsys/models/",
    "keybert": "labeling/keywords/mappers/keybert.py",
    "lancedb": "retrieval/engines/lancedb.py",
    "mlflow": "tracking/integrations/mlflow.py",
    "myfm": "recsys/models/factorization_machine.py",
    "psutil": "retrieval/engines/pgvector/",
    "psycopg": "retrieval/engines/pgvector/",
    "py4j": "scale/spark/",
    "pyspark": "scale/spark/",
    "pytest": "tracking/pytest_plugin.py",
    "pysqlite3": "retrieval/engines/sqlite_vec.py",
    "qdrant_client": "retrieval/engines/qdrant.py",
    "safetensors": "io/vectors/",
    "scipy": "recsys/models/",
    "sqlite_vec": "retrieval/engines/sqlite_vec.py",
    "threadpoolctl": "recsys/models/",
    "usearch": "retrieval/engines/usearch.py",
    "wandb": "tracking/integrations/wandb.py",
    "wordllama": "retrieval/embedding/models/wordllama.py",
}
"""The one file, or the one package, that imports an optional library."""
SHARED_EXTRAS = {"pyarrow", "sentence_transformers", "torch"}
"""Imported by the file of another library that is built on them: LanceDB and Spark on PyArrow, for example."""
HEAVY_AT_START = {"polars", "numpy", "rich", "matplotlib", "faiss", "pydantic", "jinja2"}


@cache
def imports_of(module: str) -> frozenset[str]:
    """Modules, ours and others, that a module imports at any level, also in functions and for type checking."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & MODULES.keys()) | ({node.module} if names - MODULES.keys() else set())
    return frozenset(found)


def imported_at_run_time(module: str) -> Iterator[str]:
    """Yield our modules that an import of this module, or a call into it, may run, packages on the way included."""
    typing_only = set()
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typing_only |= {id(child) for child in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing_only:
            for name in (f"{node.module}.{alias.name}" for alias in node.names):
                target = name if name in MODULES else node.module
                if target in MODULES and target != module:
                    yield target
                    parents = [target.rsplit(".", up)[0] for up in range(1, target.count("."))]
                    yield from (parent for parent in parents if not f"{module}.".startswith(f"{parent}."))


def package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_the_root_holds_the_packages_of_the_order_only() -> None:
    assert {package_of(module) for module in MODULES} == {"", "__main__", *LEVEL}


def test_imports_follow_the_order_of_packages() -> None:
    upward = [
        f"{module} imports {other}"
        for module in MODULES
        for other in imports_of(module)
        if package_of(module) in LEVEL and other.split(".")[0] == "rankjury" and package_of(other) != package_of(module)
        if LEVEL.get(package_of(other), len(LEVEL)) >= LEVEL[package_of(module)]
        if (package_of(module), other) != ("cli", "rankjury")
    ]
    assert not upward


def test_no_modules_import_each_other_in_a_cycle() -> None:
    try:
        TopologicalSorter({module: set(imported_at_run_time(module)) for module in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_an_optional_library_is_imported_in_one_place() -> None:
    elsewhere = []
    for module, path in MODULES.items():
        for name in {name.split(".")[0] for name in imports_of(module)} - sys.stdlib_module_names - CORE_LIBRARIES:
            home = EXTRAS.get(name)
            inside = home is not None and path.relative_to(ROOT).as_posix().startswith(home)
            if name != "rankjury" and not inside and name not in SHARED_EXTRAS:
                elsewhere.append(f"{module} imports {name}")
    assert not elsewhere


def test_metrics_open_no_files() -> None:
    readers = {"pathlib", "os", "io", "polars"}
    inside = [module for module in MODULES if module.startswith("rankjury.measures.metrics")]
    assert not [module for module in inside if {name.split(".")[0] for name in imports_of(module)} & readers]


def test_a_class_name_exists_once() -> None:
    """Where two modules have a class of one name, a reader does not know which of them is meant."""
    classes = Counter(
        node.name
        for path in MODULES.values()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not {name: n for name, n in classes.items() if n > 1}


def test_modules_have_at_most_600_lines() -> None:
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in MODULES.items()}
    assert not {module: lines for module, lines in lengths.items() if lines > 600}


def test_help_loads_nothing_heavy() -> None:
    shown = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from rankjury.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", shown, "--help"], capture_output=True, text=True, check=True)
    assert not HEAVY_AT_START.intersection(ended.stdout.splitlines()[-1].split())


def test_public_names_all_load() -> None:
    assert {name for name in rankjury.__all__ if getattr(rankjury, name) is None} == set()
    assert set(dir(rankjury)) == set(rankjury.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rankjury.nothing  # noqa: B018


EVALUATE = """
import sys, threading
from rankjury.cli import main

home = sys.modules["rankjury"].__file__.removesuffix("__init__.py")
ran, begun = set(), False


def is_ours(frame):
    return frame.f_code.co_filename.startswith(home)


def note(frame, event, argument):
    global begun
    if frame.f_code.co_name == "evaluate_command":
        begun = event == "call"
    if not begun or event != "call" or not is_ours(frame) or not frame.f_code.co_flags & 2:
        return
    caller = frame
    while caller is not None and not (caller.f_code.co_name == "<module>" and is_ours(caller)):
        caller = caller.f_back
    if caller is None:  # it does not run for an import
        ran.add(frame.f_code.co_filename.removeprefix(home))


sys.setprofile(note)
threading.setprofile(note)
try:
    main()
except SystemExit as ended:
    assert not ended.code
sys.setprofile(None)
print(*(name for name in sys.modules if name.split(".")[0] == "rankjury"))
print(*ran)
"""
"""Prints the modules that were loaded, and the files in which a function ran from the command's own on."""


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """Return our modules that ``rankjury evaluate`` loads for one run file, and the files in which a function ran."""
    folder = tmp_path_factory.mktemp("evaluate")
    (folder / "gold.trec").write_text("q1 0 a 1\nq2 0 b 1\n")
    (folder / "run.trec").write_text("q1 Q0 a 1 2.0 x\nq2 Q0 b 1 1.0 x\n")
    command = [sys.executable, "-c", EVALUATE, "evaluate", "gold.trec", "run.trec", "-m", "ndcg@1"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [set(line.split()) for line in ended.stdout.splitlines()[-2:]]


def test_evaluate_loads_nothing_of_retrieval_keywords_and_recommenders(evaluated: list[set[str]]) -> None:
    loaded = evaluated[0]
    assert "rankjury.evaluation.evaluate" in loaded
    assert not {name for name in loaded if package_of(name) in {"retrieval", "labeling", "recsys", "plan"}}


def test_evaluate_loads_few_modules_and_runs_through_fewer(evaluated: list[set[str]]) -> None:
    loaded, ran = evaluated
    assert len(loaded) < 90
    assert "evaluation/compare.py" in ran and len(ran) <= 32, " ".join(sorted(ran))


def test_every_section_is_found_by_its_name() -> None:
    """The registry names every section class of ours, and imports one of them at a time."""
    for module, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        if re.search(r"^class \w+\((\w+, )*(Mapping)?Section\)", text, re.MULTILINE):
            found = vars(import_module(module))
            for section in found.values():
                if isinstance(section, type) and issubclass(section, Section) and hasattr(section, "name"):
                    assert SECTIONS.get(section.name) is section


BANNED = re.compile(
    r"stands? twice|\bhangs? on\b|\bis no JSON\b|\bwhoever\b|\bsomebody\b|(?<= )nobody\b|held against|\btold apart\b"
    r"|\btells? (?:it|them|the two) apart\b|\bis told\b|\ba row an item\b|\ban id a line\b|\bworked out\b|\bparted by\b"
    r"|\bcarr(?:y|ies) (?:it )?out\b|\bas it comes\b|\bleft aside\b|\bleave (?:it|them)? ?away\b|may as well"
    r"|is to be known|\bstands? in the\b"
)
"""Idioms with plain replacements: duplicate, depends on, not JSON, compared with, distinguish, computed …"""


def test_texts_use_plain_words() -> None:
    """Docstrings and messages of src, and docs/**/*.md (comments are not read)."""
    texts = [
        (f"{path.relative_to(ROOT)}:{node.lineno}", node.value)
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    docs = Path(__file__).parent.parent / "docs"
    texts += [(str(path.relative_to(docs)), path.read_text(encoding="utf-8")) for path in sorted(docs.rglob("*.md"))]
    assert [f"{where}: {found[0]}" for where, text in texts for found in BANNED.finditer(text)] == []
