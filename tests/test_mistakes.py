"""A catalogue of mistakes that people make in their first days, and what the message must contain.

Every row: what happened, the call, the exit code or the exception, the names of the offending things, and the hint.
Only these are compared, no sentences. tests/cli/test_errors.py has more of the same kind, on single lines of files.
"""

import gzip
import io
import shlex
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury import DataError, Fusion, UsageError, Vectors
from tests.cli.conftest import Rankjury, folder, rankjury as command_line
from tests.cli.support import Outcome, means_of, put

__all__ = ["command_line", "folder"]  # fixtures

QUERIES = [f"q{number}" for number in range(1, 9)]
GOLD = {query: {"d1": 2, "d2": 1, "d3": 0} for query in QUERIES}
RUN = {query: {"d3": 0.8125, "d1": 0.7312, "d2": 0.1234} for query in QUERIES}
TREC = "".join(
    f"{query} Q0 {item} {rank} {score} tag\n"
    for query, items in RUN.items()
    for rank, (item, score) in enumerate(items.items(), 1)
)
QRELS = "".join(f"{query} 0 {item} {grade}\n" for query, items in GOLD.items() for item, grade in items.items())
TRIPLES = "".join(f"{query} {item} {score}\n" for query, items in RUN.items() for item, score in items.items())
MATRIX = np.random.default_rng(0).normal(size=(8, 4))
HOLED = np.where(np.arange(32).reshape(8, 4) == 12, np.nan, MATRIX)


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _excel() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return buffer.getvalue()


HEADER = "query_id,item_id,score\n"
PLAN = 'gold = "gold.qrels"\nmeasures = ["ndcg@10"]\n'
SYSTEM = '[systems]\nnew = "run.trec"\n'
INDEX = '[systems.new]\nkind = "index"\npath = "left.npz"\n'

FILES: dict[str, str | bytes] = {
    # What is right.
    "gold.qrels": QRELS,
    "run.trec": TREC,
    "new.trec": TREC,
    "targets.toml": 'targets = ["ndcg@10 >= 0.5"]\n',
    "docs.jsonl": '{"id": "a", "title": "red dress"}\n{"id": "b", "title": "blue shirt"}\n',
    "vectors.npy": _npy(MATRIX),
    "left.npz": _npz(ids=np.array(QUERIES), vectors=MATRIX),
    # Runs and golds.
    "semicolons.csv": HEADER.replace(",", ";") + TRIPLES.replace(" ", ";"),
    "columns.csv": "user,movie,stars\nq1,d1,0.5\n",
    "header.csv": HEADER,
    "commas.csv": HEADER.replace(",", ";") + "q1;d1;0,5\n",
    "utf16.csv": (HEADER + "q1,d1,0.5\n").encode("utf-16"),
    "run.xlsx": _excel(),
    "renamed.csv": _excel(),
    "empty.trec": "",
    "cut.trec.gz": gzip.compress(TREC.encode())[:-9],
    "five.trec": TREC.replace(" tag", ""),
    "nan.trec": TREC.replace("0.7312", "nan", 1),
    "twice.trec": TREC + "q1 Q0 d1 4 0.1 tag\n",
    "numbers.trec": TREC.replace("q", ""),
    "upper.trec": TREC.replace("d", "D"),
    "tabs.qrels": QRELS.replace(" ", "\t"),
    "beir.tsv": "query-id\tcorpus-id\tscore\n" + QRELS.replace(" 0 ", " ").replace(" ", "\t"),
    "headless.tsv": QRELS.replace(" 0 ", " ").replace(" ", "\t"),
    "types.csv": "type,lang\nfact,en\n",
    # Targets.
    "arrow.toml": 'targets = ["ndcg@10 => 0.5"]\n',
    "slice.toml": '[[target]]\nrequire = "ndcg@10 >= 0.5"\nslice = "type=facts"\n',
    # Plans.
    "qrels.toml": 'qrels = "gold.qrels"\n' + SYSTEM,
    "type.toml": PLAN + 'cutoffs = "10"\n' + SYSTEM,
    "path.toml": PLAN + '[systems]\nnew = "runs/nwe.trec"\n',
    "near.toml": PLAN + '[systems]\nnew = "rum.trec"\n',
    "engine.toml": 'gold = "gold.qrels"\n' + INDEX + 'engine = "fais-hnsw"\n',
    "library.toml": 'gold = "gold.qrels"\n' + INDEX + 'engine = "hnswlib"\n',
    # Vectors, and logs of interactions.
    "flat.npy": _npy(MATRIX[0]),
    "holed.npy": _npy(HOLED),
    "narrow.npy": _npy(MATRIX[:, :3]),
    "two.npz": _npz(title=MATRIX, body=MATRIX),
    "few.txt": "q1\nq2\n",
    "users.csv": "visitor,article,seen_at\nu1,i1,1000\n",
    "times.csv": "user_id,item_id,timestamp\nu1,i1,last week\n",
}

EVALUATE = "evaluate gold.qrels run.trec"

# --- on the command line ------------------------------------------------------------------------------------------

TYPED: list[tuple[str, str, int, list[str], str]] = [
    # Measures and cut-offs.
    ("nDCG misspelt", f"{EVALUATE} -m ncdg@10", 2, ["'ncdg@10'"], "ndcg@10"),
    ("recall misspelt", f"{EVALUATE} -m recal@10", 2, ["'recal@10'"], "recall@10"),
    ("cut-off 0", f"{EVALUATE} -m ndcg@0", 2, ["ndcg@0"], "from 1"),
    ("cut-off in letters", f"{EVALUATE} -m ndcg@ten", 2, ["'ten'", "'ndcg@ten'"], "from 1"),
    ("measure as a file", f"{EVALUATE} ndcg@10", 2, ["ndcg@10"], "-m ndcg@10"),
    ("measure as a file, misspelt", f"{EVALUATE} ncdg@10", 2, ["ncdg@10"], "-m ndcg@10"),
    ("file as a measure", "evaluate gold.qrels new.trec -m run.trec", 2, ["run.trec"], "-m ndcg@10"),
    ("cut-off as a file", f"{EVALUATE} 10", 2, ["10"], "-k"),
    ("letters for -k", f"{EVALUATE} -k ten", 2, ["-k", "'ten'"], "1,5,10"),
    # Gold and run.
    ("gold and run swapped", "evaluate run.trec gold.qrels", 3, ["run.trec:1", "TREC run"], "GOLD RUN"),
    ("two golds", "evaluate gold.qrels gold.qrels", 3, ["gold.qrels:1", "TREC qrels"], "GOLD RUN"),
    ("missing run, near name", "evaluate gold.qrels rum.trec", 3, ["rum.trec"], "run.trec"),
    ("missing gold, near name", "evaluate gold.qrel run.trec", 3, ["gold.qrel:"], "gold.qrels"),
    ("missing folder", "evaluate gold.qrels out/run.trec", 3, ["out/run.trec"], "folder out"),
    ("folder as a run", "evaluate gold.qrels runs", 3, ["runs"], "file"),
    ("empty run", "evaluate gold.qrels empty.trec", 3, ["empty.trec"], "at least one line"),
    ("header only", "evaluate gold.qrels header.csv", 3, ["header.csv"], "at least one row"),
    ("other columns", "evaluate gold.qrels columns.csv", 3, ["columns.csv", "stars"], "query_id, item_id, score"),
    ("decimal commas", "evaluate gold.qrels commas.csv", 3, ["commas.csv:2", "'0,5'"], "decimal point"),
    ("UTF-16", "evaluate gold.qrels utf16.csv", 3, ["utf16.csv", "UTF-16"], "iconv"),
    ("Excel", "evaluate gold.qrels run.xlsx", 3, ["run.xlsx", "Excel"], "CSV"),
    ("Excel called CSV", "evaluate gold.qrels renamed.csv", 3, ["renamed.csv", "Excel"], "as CSV"),
    ("gz cut short", "evaluate gold.qrels cut.trec.gz", 3, ["cut.trec.gz", "gzip"], "download"),
    ("five columns", "evaluate gold.qrels five.trec", 3, ["five.trec:1", "5 columns"], "query Q0 item rank score tag"),
    ("score NaN", "evaluate gold.qrels nan.trec", 3, ["nan.trec:2", "'nan'"], "finite number"),
    ("duplicates", "evaluate gold.qrels twice.trec", 3, ["twice.trec", "'d1'", "'q1'"], "--duplicates first"),
    ("1 and q1", "evaluate gold.qrels numbers.trec", 3, ["numbers.trec", "'q1'", "'1'"], "prefixes"),
    ("BEIR without header", "evaluate headless.tsv run.trec", 3, ["headless.tsv", "d1, 2"], "header missing"),
    # Options.
    ("baseline of evaluate", f"{EVALUATE} --baseline new.trec", 2, ["--baseline"], "rankjury compare"),
    ("unknown baseline", "compare gold.qrels run.trec new.trec -b nwe", 2, ["--baseline", "'nwe'"], "new?"),
    ("slices without ids", f"{EVALUATE} --slices types.csv", 3, ["types.csv", "lang"], "query_id or id"),
    ("unknown dialect", f"{EVALUATE} --dialect trec_evl", 2, ["'trec_evl'"], "trec_eval"),
    ("percent for level", f"{EVALUATE} --level 95", 2, ["level", "95"], "0.95"),
    ("report as Word", f"{EVALUATE} -o report.docx", 2, ["'report.docx'"], ".html"),
    ("output in a missing folder", f"{EVALUATE} -o out/report.html", 3, ["out/report.html"], "mkdir -p out"),
    ("error with --json", "evaluate gold.qrels nan.trec --json", 3, ["nan.trec:2"], "finite number"),
    # Targets.
    ("no targets", "gate gold.qrels run.trec", 2, ["gold.qrels", "TOML"], "rankjury gate TARGETS.toml GOLD RUN"),
    ("target for a file", "gate 'ndcg@10 > 0.5' gold.qrels run.trec", 2, ["'ndcg@10 > 0.5'"], "targets = ["),
    ("=> for >=", "gate arrow.toml gold.qrels run.trec", 2, ["arrow.toml", "'ndcg@10 => 0.5'"], "ndcg@10 >= 0.85"),
    ("slice, no slices", "gate slice.toml gold.qrels run.trec", 3, ["'type=facts'"], "--slices"),
    # Plans.
    ("run for a plan", "run run.trec", 2, ["run.trec", "TOML"], "rankjury init"),
    ("gold called qrels", "run qrels.toml", 2, ["qrels.toml", "'qrels'"], "gold?"),
    ("text for a list", "run type.toml", 2, ["type.toml:3", "cutoffs", "'10'"], "list"),
    ("run in a missing folder", "run path.toml", 3, ["runs/nwe.trec", "path.toml:4", "systems.new.path"], "runs"),
    ("run misspelt", "run near.toml", 3, ["rum.trec", "near.toml:4", "systems.new.path"], "run.trec?"),
    ("unknown engine", "run engine.toml", 2, ["engine.toml:5", "'fais-hnsw'"], "faiss-hnsw"),
    ("engine not installed", "run library.toml", 2, ["library.toml", "'hnswlib'"], "pip install 'rankjury[engines]'"),
    ("one run to tune", "tune gold.qrels run.trec", 2, ["one run"], "GOLD RUN RUN"),
    # History and lists.
    ("baseline of nothing", "baseline set", 2, ["no run is named"], "rankjury baseline set RUN"),
    ("sample misspelt", "demo moveis", 2, ["'moveis'"], "movies?"),
    # Vectors.
    ("one vector, no matrix", "neighbours flat.npy", 3, ["flat.npy", "shape 4"], "row of numbers for each id"),
    ("two arrays, no key", "neighbours two.npz", 3, ["two.npz", "title, body"], "two.npz:title"),
    ("too few ids", "neighbours vectors.npy --ids few.txt", 3, ["8 vectors", "2 ids in few.txt"], "one id per row"),
    ("NaN in vectors", "neighbours holed.npy", 3, ["holed.npy", "NaN", "of 3"], "Embed those texts again"),
    ("other dimensions", "neighbours vectors.npy --queries narrow.npy", 3, ["narrow.npy", "of 3", "of 4"], "one model"),
    ("texts of which column?", "embed docs.jsonl -o v.npz", 2, ["--text"], "--text title"),
    ("column misspelt", "embed docs.jsonl --text titel --model wordllama -o v.npz", 2, ["'titel'"], "title?"),
    # Logs of interactions.
    ("audit, no user column", "audit users.csv", 3, ["users.csv", "visitor, article"], "--user"),
    ("audit, times in words", "audit times.csv", 3, ["times.csv:2", "'last week'"], "2020-01-31"),
    ("split, no user column", "split users.csv -o parts", 3, ["users.csv", "visitor, article"], "--user"),
]


def _check(outcome: Outcome, code: int, fragments: list[str]) -> None:
    """One line, or one and an indented one for each of several faults; nothing on standard output."""
    first, *details = outcome.err.splitlines()
    assert (outcome.code, outcome.out) == (code, ""), outcome
    assert first.startswith("error: ") and all(line.startswith("  ") for line in details), outcome.err
    assert "Traceback" not in outcome.err
    for text in fragments:
        assert text in outcome.err


@pytest.fixture
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all the files above, on a machine without hnswlib."""
    for name, content in FILES.items():
        put(name, content)
    (folder / "runs").mkdir()
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    return folder


def _contents(desk: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in desk.rglob("*")}


@pytest.mark.parametrize(("call", "code", "names", "hint"), [pytest.param(*row[1:], id=row[0]) for row in TYPED])
def test_a_mistake_on_the_command_line(
    call: str, code: int, names: list[str], hint: str, desk: Path, command_line: Rankjury
) -> None:
    before = _contents(desk)
    _check(command_line(*shlex.split(call)), code, [*names, hint])
    assert _contents(desk) == before


def test_item_ids_in_another_case(desk: Path, command_line: Rankjury) -> None:
    """No error, since a system may find nothing; a warning shows ids of both sides."""
    outcome = command_line("evaluate", "gold.qrels", "upper.trec")
    assert outcome.code == 0
    assert any("'d1'" in text and "'D1'" in text and "spelled alike" in text for text in outcome.warnings)


@pytest.mark.parametrize(
    "call",
    [
        f"{EVALUATE} -m ndcg_at_10",
        f"{EVALUATE} -m NDCG@10",
        f"{EVALUATE} -m nDCG@10",
        f"{EVALUATE} -m 'ndcg @ 10'",
        f"{EVALUATE} -m ndcg_cut_10",
        f"{EVALUATE} --metrics ndcg@10",
        f"{EVALUATE} -m ndcg --k 10",
        f"{EVALUATE} -m ndcg -k 10",
        f"{EVALUATE} -m ndcg@10 --seed -1",
        f"{EVALUATE} -m ndcg@10 --dialect trec-eval",
        "evaluate gold.qrels semicolons.csv -m ndcg@10",
        "evaluate tabs.qrels run.trec -m ndcg@10",
        "evaluate beir.tsv run.trec -m ndcg@10",
    ],
)
def test_what_looks_like_a_mistake_and_works(call: str, desk: Path, command_line: Rankjury) -> None:
    expected = means_of(command_line(*shlex.split(EVALUATE), "-m", "ndcg@10", "--json"))["ndcg@10"]
    found = means_of(command_line(*shlex.split(call), "--json"), Path(shlex.split(call)[2]).stem)
    assert list(found.values()) == [pytest.approx(expected)]


@pytest.mark.parametrize("files", ["gold.qrels run.trec targets.toml", "gold.qrels targets.toml run.trec"])
def test_targets_in_another_place(files: str, desk: Path, command_line: Rankjury) -> None:
    assert command_line("gate", *files.split()).code == 0


# --- in Python ----------------------------------------------------------------------------------------------------

evaluate: Any = partial(rankjury.evaluate, GOLD)
compare: Any = partial(rankjury.compare, GOLD)
public: Any = rankjury  # calls that type checkers refuse
TWO = {"old": RUN, "new": RUN}
QUICK = rankjury.Resampling(resamples=100)
FRAME = pl.DataFrame({"user": ["q1"], "movie": ["d1"], "stars": [1]})
LOG = pl.DataFrame({"visitor": ["u1"], "article": ["i1"]})
ITEMS = Vectors(list("abc"), np.eye(3))


def _report() -> Any:
    return rankjury.compare(GOLD, TWO, "ndcg@10", resampling=QUICK)


CALLED: list[tuple[str, Callable[[], object], type[Exception], list[str], str]] = [
    # Arguments.
    ("metrics=", lambda: evaluate(RUN, metrics=["ndcg@10"]), UsageError, ["'metrics'"], "measures="),
    ("k=", lambda: evaluate(RUN, k=10), UsageError, ["'k'"], 'measures=["ndcg@10"]'),
    ("measure misspelt", lambda: evaluate(RUN, "ncdg@10"), UsageError, ["'ncdg@10'"], "ndcg@10"),
    ("number for measures", lambda: evaluate(RUN, 10), UsageError, ["measures", "int"], "['ndcg@10']"),
    # Gold and ranking.
    ("swapped", lambda: public.evaluate(RUN, GOLD), DataError, ["gold holds scores"], "evaluate(gold, ranking)"),
    ("swapped files", lambda: public.evaluate("run.trec", "gold.qrels"), DataError, ["run.trec:1"], "GOLD RUN"),
    ("no such file", lambda: evaluate("rum.trec"), DataError, ["rum.trec"], "run.trec?"),
    ("dict for a path", lambda: public.read_run(RUN), UsageError, ["dict"], "Path"),
    ("dicts for files", lambda: public.evaluate_files(GOLD, RUN), UsageError, ["gold", "dict"], "Path"),
    ("matrix for a path", lambda: public.read_vectors(MATRIX), UsageError, ["ndarray"], "Path"),
    ("int as gold", lambda: public.evaluate(5, RUN), DataError, ["the gold", "int"], "a dict of dicts"),
    ("None as ranking", lambda: evaluate(None), DataError, ["the ranking", "NoneType"], "a dict of dicts"),
    ("one list for all", lambda: evaluate(["d1", "d2"]), DataError, ["(2,)"], "a dict of lists"),
    ("other columns", lambda: evaluate(FRAME), DataError, ["user, movie, stars"], "query_id, item_id, score"),
    ("gold, other columns", lambda: public.evaluate(FRAME, RUN), DataError, ["stars"], "query_id, item_id, grade"),
    ("duplicate", lambda: evaluate({"q1": ["d1", "d2", "d1"]}), DataError, ["'d1'", "'q1'"], "each item once"),
    ("NaN", lambda: evaluate({"q1": {"d1": float("nan")}}), DataError, ["'d1'", "'q1'", "NaN"], "finite score"),
    ("None as score", lambda: evaluate({"q1": {"d1": None}}), DataError, ["None", "'d1'", "'q1'"], "a number"),
    ("ints and q1", lambda: evaluate({1: ["d1"]}), DataError, ["'q1'", "'1'"], "prefixes"),
    # Comparison.
    ("one named run", lambda: compare({"new": RUN}), UsageError, ["1 ranking"], "rankjury.evaluate"),
    ("one run", lambda: compare(RUN), UsageError, ["one ranking"], '{"old": a, "new": b}'),
    ("runs in a row", lambda: compare(RUN, RUN), UsageError, ["one ranking"], '{"old": a, "new": b}'),
    # Report and gate.
    ("gate turned round", lambda: public.gate("rr > 0.5", _report()), UsageError, ["Report"], "gate(report, targets)"),
    ("target misspelt", lambda: rankjury.gate(_report(), "ncdg@10 > 0.5"), UsageError, ["'ncdg@10'"], "ndcg@10"),
    ("=> for >=", lambda: rankjury.gate(_report(), "ndcg@10 => 0.5"), UsageError, ["'ndcg@10 => 0.5'"], ">= 0.85"),
    ("other cut-off", lambda: rankjury.gate(_report(), "ndcg@5 > 0.5"), DataError, ["ndcg@5"], "-m 'ndcg@5'"),
    ("saved as Word", lambda: _report().save("x.docx"), UsageError, ["'x.docx'"], ".html"),
    # The rest.
    ("no such plan", lambda: rankjury.run_plan("nowhere.toml"), DataError, ["nowhere.toml"], "Check the path"),
    ("dict for a plan", lambda: public.run_plan({"gold": "x"}), UsageError, ["plan", "dict"], "Path"),
    ("ids too few", lambda: Vectors(["a", "b"], np.eye(3)), DataError, ["3 vectors", "2 ids"], "one id per row"),
    ("ids last", lambda: public.Vectors(np.eye(2), ["a", "b"]), UsageError, ["ndarray"], "Vectors(ids, matrix)"),
    ("one vector, no matrix", lambda: public.rank_vectors(MATRIX[0]), DataError, ["shape 4"], "row of numbers"),
    ("one model to agree", lambda: public.agree(ITEMS, ITEMS), UsageError, ["candidates"], '{"small": matrix}'),
    ("nothing to fuse", lambda: rankjury.fuse([], Fusion()), UsageError, ["no ranking"], "one or more"),
    ("misspelt fusion", lambda: rankjury.fuse([RUN, RUN], "rff"), UsageError, ["rff"], "rrf"),
    ("numbers to fuse", lambda: public.fuse([1, 2]), DataError, ["type int"], "a dict of dicts"),
    ("log, other columns", lambda: rankjury.held_out(LOG), DataError, ["visitor, article"], "user="),
    ("measure as a function", lambda: public.ndcg, AttributeError, ["'ndcg'"], 'evaluate(gold, ranking, "ndcg")'),
    ("name misspelt", lambda: public.evalaute, AttributeError, ["'evalaute'"], "rankjury.evaluate?"),
    ("another name", lambda: public.load_run, AttributeError, ["'load_run'"], "rankjury.read_run?"),
]


@pytest.mark.parametrize(("call", "error", "names", "hint"), [pytest.param(*row[1:], id=row[0]) for row in CALLED])
def test_a_mistake_in_python(
    call: Callable[[], object], error: type[Exception], names: list[str], hint: str, desk: Path
) -> None:
    before = _contents(desk)
    with pytest.raises(error) as caught:
        call()
    assert "\n" not in str(caught.value)
    for text in (*names, hint):
        assert text in str(caught.value)
    assert _contents(desk) == before


@pytest.mark.parametrize("measures", ["ndcg@10", "ndcg_at_10", "NDCG @ 10", ("ndcg@10",), rankjury.Measure("ndcg", 10)])
def test_measures_in_any_form(measures: Any) -> None:
    assert list(evaluate(RUN, measures).mean().values()) == list(evaluate(RUN, ["ndcg@10"]).mean().values())


def test_a_gate_is_true_where_it_passed() -> None:
    assert rankjury.gate(_report(), "ndcg@10 > 0.5") and rankjury.gate(_report(), ["ndcg@10 > 0.5"])
    assert not rankjury.gate(_report(), "ndcg@10 > 0.99")
