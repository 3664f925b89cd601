"""Shows what a command leaves that is killed at any of its writes: python -m tests.cli.crash_points FOLDER CASE…

Everything is imported once, and each command runs in a fork. Nothing is computed before the fork, since threads do not
live on in it. The command runs once: just before each of its calls that change the file system, its folder is copied.
Such a copy is what a SIGKILL at this moment leaves, since what is in a buffer of the process is not in the file yet.
The outputs in every copy are checked; in some, and in one that has the left-overs of all, the command runs again.
Prints by case the number of copies, and of those in which some outputs were there and in which something was left over.
"""

import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import typer.main  # noqa: E402

from rankjury.cli import app, main  # noqa: E402
from rankjury.tracking.archive.archive import Archive  # noqa: E402
from tests.tracking.archive.made import PLAN, put_small  # noqa: E402

USED = (
    "rankjury.tracking.archive.tables",
    "rankjury.tracking.archive.manifest",
    "rankjury.tracking.view.overview",
    "rankjury.evaluation.compare",
    "rankjury.plan.archive",
    "rankjury.plan.run",
    "rankjury.plan.gold",
    "rankjury.plan.systems",
    "rankjury.plan.outputs",
    "rankjury.reporting.console",
    "rankjury.reporting.html",
    *(
        f"rankjury.reporting.sections.{name}"
        for name in ("agreement", "drift", "gate", "index", "interactions", "partial_matches", "space")
    ),
    *(
        f"rankjury.reporting.writers.{name}"
        for name in ("gate", "index_evaluation", "notebook", "pull_request", "retrievers")
    ),
    "rankjury.retrieval.fusion.methods",
    *(f"rankjury.recsys.splitting.{name}" for name in ("per_user", "random", "temporal")),
    "encodings.ascii",
    "encodings.utf_8_sig",
    "polars._utils.parquet",
    "rich.console",
    "rich.table",
    "rich.box",
    "rich.text",
)


def preload() -> None:
    """What a run imports, and the templates of its page."""
    for module in USED:
        import_module(module)
    from rankjury.plan.schema import plan_model
    from rankjury.reporting.html import _environment

    plan_model()
    for template in ("base.html", "macros.html", "report.html"):
        _environment().get_template(template)


CALLS = ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir", "open", "ftruncate")
_RESUMED = 4
"""Copies in which the command runs again: evenly chosen among those before a rename, after which much differs."""
OUTPUTS = """
outputs = ["out/report.json", "out/page.html", "out/table.csv"]
[[output]]
file = "out/queries.parquet"
form = "queries"
"""
SWEEP = """
gold = "gold.qrels"
statistics.resamples = 100
[systems.exact]
kind = "index"
engine = "exact"
path = "items.npz:vectors"
queries = "queries.npz:vectors"
[lab]
k = 5
rounds = 2
warm_up = 0
[sweep.exact]
"""
MODEL = "import numpy as np\n\ndef model(texts):\n    return np.array([[len(text), 1.0] for text in texts])\n"


@dataclass(frozen=True)
class Case:
    """A command, the files that it makes, and what else has to hold."""

    command: list[str]
    outputs: list[str] = field(default_factory=list)
    prepared: list[list[str]] = field(default_factory=list)
    """Commands that are run once before."""
    modules: tuple[str, ...] = ()
    check: Callable[[], None] | None = None
    """Called in each copy."""


def check_archive() -> None:
    archive = Archive(Path(".rankjury"))
    runs = archive.runs()
    assert archive.troubles == [], archive.troubles
    for run in runs:
        assert run.faults() == [], run.faults()


def check_pruned() -> None:
    check_archive()
    assert Archive(Path(".rankjury")).runs(), "the last run stays"


def check_split() -> None:
    from rankjury.recsys.data.split_folder import is_split_folder, read_split

    if is_split_folder(Path("split")):
        assert sum(len(read_split("split").window(name)) for name in ("train", "validation", "test")) == 60


def check_folds() -> None:
    from rankjury.recsys.data.split_folder import is_split_folder, read_folds

    if is_split_folder(Path("folds")):
        assert len(read_folds("folds")) == 2


def check_journal() -> None:
    from rankjury.core.journal import Journal

    if Path("rankjury-sweep/journal.jsonl").exists():
        with Journal(Path("rankjury-sweep/journal.jsonl")) as journal:
            assert not journal.dropped


RUN = ["run", "plan.toml", "--archive", ".rankjury", "-q"]
MODULES = (
    "rankjury.io.atomic",
    "rankjury.reporting.html",
    "rankjury.evaluation.api",
    "rankjury.scale.evaluate_files",
    "rankjury.retrieval.engines.base",
    "rankjury.reporting.writers.json",
    "rankjury.reporting.writers.html",
    "rankjury.reporting.writers.pictures",
    "rankjury.reporting.writers.tables",
    "rankjury.scale.parquet",
    "numpy.ma",
    "statistics",
)
SWEPT = ("sweep.json", "frontier.csv", "frontier.md", "frontier.png")
LOG_MODULES = ("rankjury.recsys.data.read", "rankjury.recsys.data.split_folder", "rankjury.recsys.splitting")
CASES = {
    "run": Case(RUN, [f"out/{name}" for name in ("report.json", "page.html", "table.csv", "queries.parquet")],
                check=check_archive),
    "evaluate": Case(["evaluate", "gold.qrels", "old.trec", "-o", "a.json", "-o", "b.html", "--per-query", "c.parquet",
                      "--no-ci"],
                     ["a.json", "b.html", "c.parquet"]),
    "split": Case(["split", "log.csv", "-o", "split"], modules=LOG_MODULES, check=check_split),
    "folds": Case(["split", "log.csv", "-o", "folds", "--kind", "users", "--folds", "2"], modules=LOG_MODULES,
                  check=check_folds),
    "embed": Case(["embed", "texts.csv", "--text", "title", "--model", "embedding:model", "-o", "v.npz"], ["v.npz"],
                  modules=("rankjury.retrieval.embedding.vector_files", "rankjury.retrieval.embedding.corpus",
                  "rankjury.retrieval.embedding.chunking")),
    "tune": Case(["tune", "gold.qrels", "old.trec", "new.trec", "--c", "60", "--resamples", "100", "-o", "t.json"],
                 ["t.json"], modules=("rankjury.cli.shared.tune_fusion", "rankjury.retrieval.fusion.tune")),
    "sweep": Case(["sweep", "sweep.toml"], [f"rankjury-sweep/{name}" for name in SWEPT], check=check_journal,
                  modules=("rankjury.plan.trials", "rankjury.reporting.charts", "rankjury.retrieval.engines",
                           "rankjury.retrieval.engines.exact", "rankjury.reporting.tables.sweep",
                           "PIL.PngImagePlugin", "matplotlib.patheffects",
                           "matplotlib.backends.backend_agg", "matplotlib.figure")),
    "baseline": Case(["baseline", "set", "latest", "--archive", ".rankjury"], prepared=[RUN], check=check_archive),
    "prune": Case(["prune", "--keep", "1", "--archive", ".rankjury", "--yes"], prepared=[RUN, RUN, RUN],
                  check=check_pruned),
}  # fmt: skip


def put_inputs(folder: Path) -> None:
    put_small(folder, OUTPUTS.partition("[[")[0] + PLAN + OUTPUTS[OUTPUTS.index("[[") :])
    rows = [f"u{n % 6},i{n % 7},{1 + n % 5},{n}" for n in range(60)]
    (folder / "log.csv").write_text("user,item,rating,timestamp\n" + "\n".join(rows) + "\n")
    (folder / "texts.csv").write_text("id,title\n" + "".join(f"t{n},{'x' * n}word\n" for n in range(9)))
    (folder / "embedding.py").write_text(MODEL)
    (folder / "sweep.toml").write_text(SWEEP)
    rng = np.random.default_rng(0)
    for name, count in (("items", 40), ("queries", 12)):
        ids = np.array([f"{'q' if name == 'queries' else 'i'}{n:02}" for n in range(count)])
        np.savez(folder / f"{name}.npz", ids=ids, vectors=rng.normal(size=(count, 8)).astype(np.float32))


def forked(work: Callable[[], Any]) -> int:
    """Run ``work`` in a fork, and return its exit code; what it says is kept in ``said``."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        said = os.open(os.environ["SAID"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        work()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def run_command(command: list[str], copies: Path | None = None) -> None:
    """In the fork: run the command, and copy the folder before each call that writes, as ``NUMBER-CALL``."""
    count, is_copying = 0, False

    def counted(real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal count, is_copying
            is_writing = name != "open" or (len(arguments) > 1 and arguments[1] & os.O_CREAT)
            if copies is not None and is_writing and not is_copying:
                count, is_copying = count + 1, True
                shutil.copytree(".", copies / f"{count:03}-{name}")
                is_copying = False
            # A power cut is not what is tried, and waiting for the disk takes longer than all else.
            return None if name == "fsync" else real(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name), name))
    sys.argv = ["rankjury", *command]
    sys.path.insert(0, ".")
    main()


def left_over() -> list[str]:
    """Return the files of the current folder that no finished command leaves."""
    paths = [str(path) for path in Path().rglob("*") if path.is_file()]
    return [path for path in paths if any(mark in path for mark in (".part", ".gone", "/running/"))]


def is_whole(path: Path) -> bool:
    content = path.read_bytes()
    if path.suffix == ".json":
        return bool(json.loads(content))
    if path.suffix == ".parquet":
        return content[:4] == content[-4:] == b"PAR1"
    if path.suffix == ".npz":
        return b"PK\x05\x06" in content[-100:]
    ends = {".html": b"</html>", ".png": b"IEND\xaeB`\x82"}
    return content.rstrip().endswith(ends.get(path.suffix, b"")) and bool(content)


def succeeds(work: Callable[[], Any], where: Path) -> None:
    """Run ``work`` in a fork, within a folder."""
    os.chdir(where)
    code = forked(work)
    assert code == 0, f"{where.name}: {code}, {Path(os.environ['SAID']).read_text()}"


def try_case(case: Case, folder: Path) -> dict[str, int]:
    first, copies, every = folder / "first", folder / "copies", folder / "every"
    first.mkdir(parents=True)
    put_inputs(first)
    for command in case.prepared:
        succeeds(lambda command=command: run_command(command), first)  # type: ignore[misc]
    succeeds(lambda: run_command(case.command, copies), first)
    points = sorted(copies.iterdir())
    parted = left = 0
    for point in points:
        os.chdir(point)
        there = [name for name in case.outputs if Path(name).exists()]
        assert all(is_whole(Path(name)) for name in there), f"{point.name}: {there}"
        parted += 0 < len(there) < len(case.outputs)
        left += bool(left_over())
        shutil.copytree(point, every, dirs_exist_ok=True)
    if case.check is not None:
        succeeds(lambda: check_all(case, points), first)
    for name in case.outputs:  # some commands have nothing to do where their output is
        (every / name).unlink(missing_ok=True)
    renames = [point for point in points if point.name.endswith(("-replace", "-rename"))]
    chosen = renames[:: max(1, len(renames) // _RESUMED)] if renames else points[-1:]
    for place in (first, every, *chosen):
        succeeds(lambda: run_command(case.command), place)
        assert all(is_whole(Path(name)) for name in case.outputs), place.name
        assert left_over() == [], f"{place.name}: {left_over()}"
    if case.check is not None:
        succeeds(lambda: check_all(case, [first, every, *chosen]), first)
    return {"copies": len(points), "parted": parted, "left": left, "outputs": len(case.outputs)}


def check_all(case: Case, places: list[Path]) -> None:
    """In the fork: call the check of a case in all of these folders."""
    for place in places:
        os.chdir(place)
        print(place.name)
        case.check()  # type: ignore[misc]


if __name__ == "__main__":
    folder, *names = sys.argv[1:]
    os.environ["SAID"] = str(Path(folder) / "said.txt")
    os.environ.pop("RANKJURY_ARCHIVE", None)
    preload()
    for module in (*MODULES, *(module for name in names for module in CASES[name].modules)):
        import_module(module)
    parser = typer.main.get_command(app)
    typer.main.get_command = lambda _: parser
    print(json.dumps({name: try_case(CASES[name], Path(folder) / name) for name in names}))
