"""In blocks, however small and however the rows are laid out, comes what comes of everything at once, byte for byte."""

import json
import resource
import signal
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.core.progress import Progress
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Quantiles
from rankjury.scale.local import ScoreStore, open_per_query
from rankjury.stats.resampling import Resampling
from tests.paths import ROOT
from tests.scale.made import QUICK, WAYS, Study, form_of
from tests.stats.support import thorough

QUERIES = 40
ASKED = "type,length,tags,type*length(bins=0.3/0.6),seen"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With attributes of queries and of items; some have none, and of others nothing is known."""
    place = tmp_path_factory.mktemp("one_process")
    known = range(3, QUERIES)
    pl.DataFrame(
        {
            "query_id": known,
            "type": [("x", "y", "z", None)[query % 4] for query in known],
            "length": [None if query % 9 == 0 else (query * 37 % 100) / 100 for query in known],
            "tags": [["a", "b"][: query % 3] for query in known],
            "seen": [query % 5 for query in known],
        }
    ).write_parquet(place / "queries.parquet")
    pl.DataFrame({"item_id": range(55), "shelf": ["low", "high", None, "top", "low"] * 11}).write_csv(place / "i.csv")
    return place


@pytest.fixture(scope="module", params=WAYS)
def study(request: pytest.FixtureRequest, folder: Path) -> Study:
    return Study.of(folder / request.param, request.param, queries=QUERIES, systems=3)


def same(study: Study, max_rows: int = 700) -> Report:
    """CheckedPlan for being so, in every word and digit; the report in blocks."""
    expected, found = study.at_once(), study.in_blocks(max_rows)
    assert json.dumps(form_of(found)) == json.dumps(form_of(expected))
    assert found.warnings == expected.warnings
    return found


def test_whatever_the_layout_of_files(study: Study, folder: Path) -> None:
    report = same(study.asking(baseline="b", slices=[(folder / "queries.parquet", "type")]))
    assert len(report.slices) == 4 and len(report.comparisons) == 8


@pytest.fixture(scope="module")
def shuffled(folder: Path) -> Study:
    return Study.of(folder / "of_two", "shuffled", queries=QUERIES)


@pytest.mark.parametrize("baseline", [None, "b"])
def test_slices_of_all_kinds(shuffled: Study, folder: Path, baseline: str | None) -> None:
    """Of text, of numbers by quartiles and by edges, of lists, crossed, of whole numbers; and of items."""
    slices, item_slices = [(folder / "queries.parquet", ASKED)], [(folder / "i.csv", "")]
    study = shuffled.asking(measures=["ndcg@10", "ap"], baseline=baseline, slices=slices, item_slices=item_slices)
    report = same(study, 500)
    assert {part.of for part in report.slices} == {"queries", "items"} and len(report.slices) > 15


@pytest.mark.parametrize(("max_rows", "kind"), [(1, pl.Float64), (100, pl.Float32), (10_000, pl.Float64)])
def test_minus_zero_is_zero(shuffled: Study, tmp_path: Path, max_rows: int, kind: Any) -> None:
    numbers = pl.Series([(-0.0, 0.0, 1.0, None)[query % 4] for query in range(QUERIES)], dtype=kind)
    lists = [[(-0.0, 0.0, 2.5)[query % 3]] for query in range(QUERIES)]
    table = pl.DataFrame({"query_id": range(QUERIES), "v": numbers, "w": lists}, strict=False)
    table.write_parquet(tmp_path / "v.parquet")
    report = same(shuffled.asking(measures=["ap"], slices=[(tmp_path / "v.parquet", "v,w")]), max_rows)
    sizes = {part.name: part.n for part in report.slices}
    assert sizes == {"v=0": 20, "v=1": 10, "v=(none)": 10, "w=0": 27, "w=2.5": 13}


def test_ids_that_are_text(folder: Path) -> None:
    same(Study.of(folder / "text", "files", queries=20, text=True))


def test_whole_numbers_beside_text(folder: Path) -> None:
    """The gold's ids are numbers, those of the run are the same as text."""
    study = Study.of(folder / "mixed", "sorted", queries=20, systems=1)
    rows, path = study.runs["a"]
    text = rows.with_columns(pl.col("query_id", "item_id").cast(pl.String))
    text.write_parquet(path)
    same(study.asking(runs={"a": (text, path)}))


@pytest.mark.parametrize(
    "measures",
    [
        ["gm_ap", "ap(rel=2)", "ndcg(gain=exp)@5", "recall(gold=k)@5"],
        ["rr(rel=9)", "num_rel_ret", "unjudged@3"],
        ["precision(empty=zero,missing=skip)@5", "ap(missing=skip)", "bpref"],
    ],
)
@pytest.mark.parametrize("baseline", [None, "a"])
def test_measures_of_all_kinds(shuffled: Study, measures: list[str], baseline: str | None) -> None:
    same(shuffled.asking(measures=measures, baseline=baseline))


@pytest.mark.parametrize(("max_rows", "seed"), [(1, 1), (200, 2), (10_000, 3)])
def test_size_of_blocks_and_seed(shuffled: Study, max_rows: int, seed: int) -> None:
    same(shuffled.asking(resampling=Resampling(resamples=150, seed=seed), baseline="a"), max_rows)


def test_means_alone(shuffled: Study, folder: Path) -> None:
    report = same(shuffled.asking(resampling=None, slices=[(folder / "queries.parquet", "type")]))
    assert report.estimates["a"]["ap"].ci is None


@pytest.mark.parametrize("rule", ["first", "last", "max"])
@pytest.mark.parametrize("way", ["split", "shuffled"])
def test_pairs_that_stand_twice(tmp_path: Path, rule: str, way: str) -> None:
    study = Study.of(tmp_path / "of_one", "sorted", queries=20, systems=1)
    rows, _ = study.runs["a"]
    again = rows.filter(pl.col("item_id") % 5 == 0).with_columns(score=1.01 - pl.col("score"))
    both = pl.concat([rows, again])
    if way == "split":
        path = tmp_path / "split"
        path.mkdir()
        rows.write_parquet(path / "1.parquet")
        again.write_parquet(path / "2.parquet")
    else:
        path, both = tmp_path / "shuffled.parquet", both.sample(fraction=1.0, shuffle=True, seed=2)
        both.write_parquet(path)
    report = same(study.asking(runs={"a": (both, path)}, duplicates=rule))
    assert any("duplicate rows were dropped" in warning for warning in report.warning_lines)


def test_whatever_groups_well_is_found_in_blocks(shuffled: Study, folder: Path) -> None:
    report = same(shuffled.asking(slices=[(folder / "queries.parquet", "")]))
    assert {part.name.partition("=")[0] for part in report.slices} >= {"type", "length"}


@pytest.mark.parametrize("name", ["types.csv", "types.parquet"])
@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_a_small_table_of_attributes_keeps_others_in_order(tmp_path: Path, kind: pl.DataType, name: str) -> None:
    """Ids in a CSV are text, those in Parquet are numbers here: they are sorted as those of the gold are."""

    def sorted_as(given: tuple[pl.DataFrame, Path]) -> tuple[pl.DataFrame, Path]:
        rows = given[0].cast({"query_id": kind}).sort("query_id", maintain_order=True)
        rows.write_parquet(given[1])
        return rows, given[1]

    study = Study.of(tmp_path / "sorted", "sorted", queries=12, systems=1)
    study = study.asking(gold=sorted_as(study.gold), runs={"a": sorted_as(study.runs["a"])})
    types, path = pl.DataFrame({"query_id": range(12), "type": ["x", "y", "z"] * 4}), tmp_path / name
    types.write_csv(path) if path.suffix == ".csv" else types.write_parquet(path)
    study = study.asking(slices=[(path, "type")])
    told: set[str] = set()
    found = study.in_blocks(100, progress=Progress(lambda what, done, of: told.add(what)))
    assert "Partitioning" not in told and "Scoring" in told
    assert form_of(found) == form_of(study.at_once())


@thorough(25)
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=60),
    runs=st.lists(
        st.lists(st.tuples(st.integers(-2, 11), st.integers(0, 8), st.integers(0, 5)), min_size=1, max_size=80),
        min_size=1,
        max_size=3,
    ),
    max_rows=st.integers(1, 40),
    text=st.booleans(),
    compared=st.booleans(),
)
def test_any_rows(
    rows: list[tuple[int, int, int]],
    runs: list[list[tuple[int, int, int]]],
    max_rows: int,
    text: bool,
    compared: bool,
) -> None:
    """Both give the same report, or refuse it with the same words."""

    def put(path: Path, given: list[tuple[int, int, int]], value: str) -> tuple[pl.DataFrame, Path]:
        frame = pl.DataFrame(given, schema=["query_id", "item_id", value], orient="row")
        frame = frame.unique(["query_id", "item_id"], keep="first", maintain_order=True)
        if text:
            frame = frame.with_columns(pl.format("q{}", "query_id").alias("query_id"))
        frame.write_parquet(path)
        return frame, path

    with TemporaryDirectory() as place:
        systems = {
            f"s{number}": put(Path(place, f"s{number}.parquet"), run, "score") for number, run in enumerate(runs)
        }
        study = Study(
            put(Path(place, "gold.parquet"), rows, "grade"),
            systems,
            ("ndcg@5", "ap", "rr(rel=2)"),
            QUICK,
            "s0" if compared else None,
        )
        try:
            expected = study.at_once()
        except DataError as error:
            with pytest.raises(DataError) as refused:
                study.in_blocks(max_rows)
            assert str(refused.value).partition(":")[0] == str(error).partition(":")[0]
        else:
            found = study.in_blocks(max_rows)
            assert json.dumps(form_of(found)) == json.dumps(form_of(expected))


def figures(form: Any) -> list[bytes]:
    """Every mean, deviation, bound and p-value, in order, as the bytes it is held in."""
    if isinstance(form, dict):
        return [
            one
            for key, value in form.items()
            for one in (
                _bytes(value)
                if key in ("mean", "std", "ci", "p", "p_holm", "difference") and value is not None
                else figures(value)
            )
        ]
    return [one for value in form for one in figures(value)] if isinstance(form, list) else []


def _bytes(value: float | list[float]) -> list[bytes]:
    return [struct.pack("<d", one) for one in (value if isinstance(value, list) else [value])]


def test_figures_are_the_same_bytes(shuffled: Study, folder: Path) -> None:
    study = shuffled.asking(baseline="a", slices=[(folder / "queries.parquet", "type")])
    expected = figures(form_of(study.at_once()))
    assert len(expected) > 100
    for max_rows in (100, 1_000):
        assert figures(form_of(study.in_blocks(max_rows))) == expected


def test_quantiles_are_those_of_all_scores(shuffled: Study) -> None:
    scores = shuffled.at_once().scores["b"]["ap"]
    found = shuffled.asking(quantiles=(0.0, 0.25, 0.9)).in_blocks(60).sections_of(Quantiles)["b"].measures["ap"]
    known = pl.Series(scores).drop_nans().to_numpy()
    assert found.at == {"0": known.min(), "0.25": np.quantile(known, 0.25), "0.9": np.quantile(known, 0.9)}
    assert found.relative_error == 0.0


def test_a_comparison_needs_resampling(shuffled: Study) -> None:
    with pytest.raises(UsageError, match="a comparison needs confidence intervals"):
        shuffled.asking(baseline="a", resampling=None).in_blocks()


@pytest.mark.parametrize("share", [50.0, -0.1, float("nan")])
def test_quantiles_are_at_shares(shuffled: Study, share: float) -> None:
    with pytest.raises(UsageError, match=r"found a quantile at .*; expected a share between 0 and 1"):
        shuffled.asking(quantiles=(0.5, share)).in_blocks()


def test_measures_of_all_lists_together(shuffled: Study) -> None:
    with pytest.raises(UsageError, match="coverage@10 needs all lists at once, and cannot be computed in blocks"):
        shuffled.asking(measures=["coverage@10"]).in_blocks()


def test_scores_of_single_queries_are_not_held(shuffled: Study) -> None:
    expected, found = shuffled.at_once(), shuffled.in_blocks()
    assert found.estimates == expected.estimates and found.n_queries == QUERIES
    assert repr(found) == repr(expected)
    assert found.queries is None
    with pytest.raises(UsageError, match=r"no per-query scores.*--per-query"):
        found.scores  # noqa: B018


FRAMES = [pl.DataFrame({"query_id": [f"q{number}"] * 50, "0.0": [number / 3] * 50}) for number in range(20)]
SIZE = int(FRAMES[0].estimated_size())


@pytest.mark.parametrize("held", [0, 7, 100])
def test_they_come_back_as_often_as_they_are_asked_for(tmp_path: Path, held: int) -> None:
    with ScoreStore(held * SIZE + 20, tmp_path) as kept:
        for frame in FRAMES:
            kept.add(frame)
        assert len(kept) == len(FRAMES)
        for _ in range(2):
            assert all(one.equals(other) for one, other in zip(kept, FRAMES, strict=True))
        assert list(tmp_path.iterdir()) == []


def test_what_fits_needs_no_folder(tmp_path: Path) -> None:
    with ScoreStore(10**6, tmp_path / "nowhere") as kept:
        kept.add(FRAMES[0])
        assert len(kept) == 1


def test_a_full_disk(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        with (
            pytest.raises(DataError, match=r"too small: File too large .*space for the scores of all queries.*--temp"),
            ScoreStore(0, tmp_path) as kept,
        ):
            for frame in FRAMES:
                kept.add(frame)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture(scope="module")
def written_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study.of(tmp_path_factory.mktemp("per_query"), "shuffled", queries=30)


def test_a_folder_is_written_in_parts(written_study: Study, tmp_path: Path) -> None:
    written_study.in_blocks(400, per_query=tmp_path / "scores")
    assert len(list((tmp_path / "scores").iterdir())) > 2 and [path.name for path in tmp_path.iterdir()] == ["scores"]
    found = pl.read_parquet(tmp_path / "scores").sort("system", "query_id")
    expected = [
        scores.per_query.cast({"query_id": pl.String}).select(pl.lit(name).alias("system"), pl.all())
        for name, scores in written_study.at_once().scores.items()
    ]
    assert found.equals(pl.concat(expected).sort("system", "query_id"))


def test_an_empty_folder_takes_them(written_study: Study, tmp_path: Path) -> None:
    (tmp_path / "scores").mkdir()
    written_study.in_blocks(10_000, per_query=tmp_path / "scores")
    assert [path.name for path in (tmp_path / "scores").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("name", ["scores", "scores.csv"])
def test_an_error_in_the_middle_leaves_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyError), open_per_query(tmp_path / name) as written:
        written.add(pl.DataFrame({"system": ["a"], "query_id": ["1"], "ap": [0.5]}))
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    old = tmp_path / "scores.csv"
    old.write_text("old")
    with pytest.raises(KeyError), open_per_query(old) as written:
        written.add(pl.DataFrame({"ap": [0.5]}))
        raise KeyError
    assert old.read_text() == "old"
    with open_per_query(old) as written:
        written.add(pl.DataFrame({"ap": [0.5]}))
    assert old.read_text() == "ap\n0.5\n"


def test_a_folder_that_fills_up_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "scores" / "mine"
    with (
        pytest.raises(DataError, match="scores: cannot write: Directory not empty"),
        open_per_query(mine.parent) as written,
    ):
        written.add(pl.DataFrame({"ap": [0.5]}))
        mine.parent.mkdir()
        mine.write_text("")
    assert [path.name for path in tmp_path.iterdir()] == ["scores"] and mine.exists()


INTERRUPTED = """
import signal, sys
from pathlib import Path
from rankjury.core.progress import Progress
from rankjury.scale import evaluate

signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])

def tell(what, done, of):
    if what == sys.argv[2]:
        print(what, flush=True)
        sys.stdin.read()

evaluate(folder / "gold", folder / "a", slices=folder / "types.parquet", per_query=folder / "out" / "scores",
         temp=folder / "temp", progress=Progress(tell))
"""


@pytest.mark.parametrize("when", ["Partitioning", "Resampling"])
def test_ctrl_c_leaves_nothing(written_study: Study, when: str) -> None:
    folder = written_study.gold[1].parent
    pl.DataFrame({"query_id": range(30), "type": ["x", "y", "z"] * 10}).write_parquet(folder / "types.parquet")
    for name in ("out", "temp"):
        (folder / name).mkdir(exist_ok=True)
    command = [sys.executable, "-c", INTERRUPTED, str(folder), when]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == f"{when}\n"
        assert list((folder / "out").iterdir()) != []
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT
    assert list((folder / "out").iterdir()) == [] and list((folder / "temp").iterdir()) == []
