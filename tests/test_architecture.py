"""The rooms, and which may import which: docs/architecture.md in force."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import rankjury
from rankjury.evaluation.sections import SECTIONS, Section

ROOT = Path(rankjury.__file__).parent

# Each room may import from its own layer's exceptions below, and from any layer further down.
LAYERS = [
    {"_version", "errors", "progress", "signals", "temporary"},
    {"functions", "json_types", "masking", "registry", "settings", "shared_ids", "validation"},
    {"targets", "types", "wording"},
    {"intake", "lists", "measure", "similarity", "variants", "vocabulary"},
    {"formats", "judged", "names", "selection", "statistics"},
    {"changes", "dialects", "gold", "judging", "metrics", "neighbours", "sections", "timing"},
    {"agreement", "answers", "catalogue", "engines", "exposures", "findings", "hygiene", "slices", "stability", "text"},
    {"interactions", "pairing", "partial", "rankers", "results"},
    {"comparisons", "evaluation", "examples", "indexed", "recommenders"},
    {"breakdown", "chance", "coded", "explain", "lab", "recommending"},
    {"report", "trying", "tuning"},
    {"assessment", "circumstances", "gates"},
    {"against", "archive", "drift", "scale"},
    {"hints"},
    {"reports"},
    {"api", "files", "integrations", "view"},
    {"plan"},
    {"cli"},
    {"__init__", "__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# formats is for the rim: where gold and rankings come from, and where reports go.
FORMATS_ARE_FOR = {
    *(
        "formats",
        "gold",
        "rankers",
        "reports",
        "archive",
        "text",
        "interactions",
        "recommenders",
        "integrations",
        "api",
        "against",
    ),
    *("files", "plan", "cli", "scale"),
}
HEAVY_AT_START = {"polars", "numpy", "rich", "matplotlib", "faiss", "pydantic", "jinja2"}
CORE_LIBRARIES = {
    "numpy",
    "polars",
    "pydantic",
    "pydantic_core",
    "typer",
    "rich",
    "matplotlib",
    "faiss",
    "jinja2",
    "markupsafe",
}
# An optional library is imported in one file, which says which extra installs it.
EXTRAS = {
    "engines/hnsw_lib.py": {"hnswlib"},
    "engines/lance.py": {"lancedb", "pyarrow"},
    "engines/pgvector/homes.py": {"psutil"},
    "engines/pgvector/links.py": {"psycopg"},
    "engines/pgvector/statements.py": {"psycopg"},
    "engines/qdrant.py": {"qdrant_client"},
    "engines/sqlite_vec.py": {"sqlite_vec", "pysqlite3"},
    "engines/usearch.py": {"usearch"},
    "formats/vectors/__init__.py": {"safetensors"},
    "integrations/mlflow.py": {"mlflow"},
    "integrations/sentence_transformers.py": {"sentence_transformers", "torch"},
    "integrations/wandb.py": {"wandb"},
    "scale/spark/api.py": {"pyspark"},
    "scale/spark/evaluation.py": {"py4j", "pyarrow", "pyspark"},
    "scale/spark/frames.py": {"pyspark"},
    "scale/spark/files.py": {"pyspark"},
    "scale/spark/packing.py": {"pyarrow"},
    "scale/spark/sources.py": {"pyspark"},
    "scale/spark/paths.py": {"pyspark"},
    "scale/spark/tasks.py": {"pyarrow"},
    "recommenders/factors.py": {"implicit", "scipy"},
    "recommenders/linear.py": {"irspack"},
    "recommenders/machines.py": {"myfm", "scipy"},
    "recommenders/neighbours.py": {"irspack"},
    "recommenders/sparse.py": {"scipy", "threadpoolctl"},
    "scale/spark/explaining.py": {"py4j", "pyspark"},
    "scale/spark/launching.py": {"pyspark"},
    "scale/spark/session.py": {"pyspark"},
    "text/keywords/keybert.py": {"keybert"},
    "text/transformers.py": {"sentence_transformers", "torch"},
    "text/wordllama.py": {"wordllama"},
}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


@cache
def imported(path: Path, *, top_level_only: bool = False) -> frozenset[str]:
    """Names of modules that a file imports; those under TYPE_CHECKING do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def rooms_imported(path: Path) -> set[str]:
    names = {name.split(".")[1] for name in imported(path) if name.startswith("rankjury.") and name.count(".") >= 1}
    return {name for name in names if name in LEVEL}


def test_every_module_has_a_room() -> None:
    assert {room_of(path) for path in modules()} <= set(LEVEL)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    upward = {other for other in rooms_imported(path) if other != room and LEVEL[other] >= LEVEL[room]}
    assert not upward, f"{path.name} imports upward or sideways: {upward}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_rim_reads_files(path: Path) -> None:
    if "formats" in rooms_imported(path):
        assert room_of(path) in FORMATS_ARE_FOR


@pytest.mark.parametrize("path", sorted((ROOT / "metrics").glob("*.py")), ids=lambda path: path.name)
def test_metrics_open_nothing(path: Path) -> None:
    assert imported(path) & {"pathlib", "os", "io", "polars", "rankjury.io"} == set()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_core_libraries_without_an_extra(path: Path) -> None:
    import sys

    outside = {name.split(".")[0] for name in imported(path)} - set(sys.stdlib_module_names) - {"rankjury"}
    assert outside <= CORE_LIBRARIES | EXTRAS.get(path.relative_to(ROOT).as_posix(), set())


@pytest.mark.parametrize("path", sorted((ROOT / "cli").glob("*.py")), ids=lambda path: path.name)
def test_the_command_line_loads_nothing_heavy_at_start(path: Path) -> None:
    heavy = {name.split(".")[0] for name in imported(path, top_level_only=True)} & HEAVY_AT_START
    assert not heavy


def test_help_loads_nothing_heavy() -> None:
    """What a command's module imports may import a heavy library in turn."""
    shown = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from rankjury.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", shown, "--help"], capture_output=True, text=True, check=True)
    assert not HEAVY_AT_START.intersection(ended.stdout.splitlines()[-1].split())


def test_public_names_are_those_listed_and_all_load() -> None:
    for name in rankjury.__all__:
        assert getattr(rankjury, name) is not None
    assert set(dir(rankjury)) == set(rankjury.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rankjury.nothing  # noqa: B018


def test_modules_fit_a_sitting() -> None:
    """Past 525 lines a module has two subjects."""
    long = {path.name: n for path in modules() if (n := len(path.read_text(encoding="utf-8").splitlines())) > 525}
    assert not long


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
    specialities = {
        *("engines", "hygiene", "indexed", "interactions", "lab", "neighbours", "partial", "plan", "predicates"),
        *("rankers", "recommenders", "recommending", "similarity", "stability", "text", "timing", "tuning"),
    }
    loaded = evaluated[0]
    assert "rankjury.evaluation.evaluate" in loaded
    assert not {name for name in loaded if name.split(".")[1:2] and name.split(".")[1] in specialities}


def test_evaluate_loads_few_modules_and_runs_through_fewer(evaluated: list[set[str]]) -> None:
    loaded, ran = evaluated
    assert len(loaded) < 90
    assert "assessment.py" in ran and len(ran) <= 30, " ".join(sorted(ran))


def test_every_section_is_found_by_its_name() -> None:
    """The registry names every section class of ours, and imports one of them at a time."""
    for path in modules():
        text = path.read_text(encoding="utf-8")
        if re.search(r"^class \w+\((\w+, )*(Mapping)?Section\)", text, re.MULTILINE):
            found = vars(import_module(".".join(("rankjury", *path.relative_to(ROOT).with_suffix("").parts))))
            for one in found.values():
                if isinstance(one, type) and issubclass(one, Section) and hasattr(one, "name"):
                    assert SECTIONS.get(one.name) is one
