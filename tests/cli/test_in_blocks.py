"""rankjury evaluate, compare and gate with --memory: the same words and digits, or one clear line and nothing left."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.support import check_failure
from tests.scale.made import gold_of, run_of

QUERIES = 30
OPTIONS = ("--resamples", "100")
IN_BLOCKS = (*OPTIONS, "--memory", "1GB")


@pytest.fixture
def tables(folder: Path) -> Path:
    """gold.parquet, a.parquet and b.parquet, of which the last is not sorted; queries.csv with their types."""
    gold_of(QUERIES).write_parquet("gold.parquet")
    run_of(QUERIES, 1).write_parquet("a.parquet")
    run_of(QUERIES, 2).sample(fraction=1.0, shuffle=True, seed=1).write_parquet("b.parquet")
    types = [("long", "short")[query % 2] for query in range(QUERIES)]
    pl.DataFrame({"query_id": range(QUERIES), "type": types}).write_csv("queries.csv")
    (folder / "temp").mkdir()
    return folder


def split(name: str, *parts: pl.DataFrame) -> None:
    Path(name).mkdir()
    for number, part in enumerate(parts):
        part.write_parquet(Path(name, f"{number}.parquet"))


@pytest.mark.parametrize("more", [(), ("--quantiles", "5,50,95"), ("--no-ci",), ("-s", "queries.csv:type")])
def test_evaluate_prints_the_same(rankjury: Rankjury, tables: Path, more: tuple[str, ...]) -> None:
    given = ("evaluate", "gold.parquet", "a.parquet", "b.parquet", *more)
    expected, found = rankjury(*given, *OPTIONS), rankjury(*given, *IN_BLOCKS)
    assert found.code == 0 and found.out == expected.out
    assert found.warnings == expected.warnings
    assert rankjury(*given, *IN_BLOCKS, "--json").out == rankjury(*given, *OPTIONS, "--json").out


def test_compare_prints_all_but_the_largest_losses(rankjury: Rankjury, tables: Path) -> None:
    given = ("compare", "gold.parquet", "a.parquet", "b.parquet")
    expected, found = rankjury(*given, *OPTIONS), rankjury(*given, *IN_BLOCKS)
    assert found.code == 0 and found.warnings == expected.warnings
    assert set(found.out.splitlines()) - set(expected.out.splitlines()) == {
        line.partition("; largest losses:")[0] for line in expected.out.splitlines() if "largest losses" in line
    }


def test_folders_are_read_in_blocks_without_being_asked(rankjury: Rankjury, tables: Path) -> None:
    expected = rankjury("evaluate", "gold.parquet", "a.parquet", *OPTIONS)
    rows = pl.read_parquet("a.parquet")
    Path("a.parquet").rename("whole")
    split("a", rows.head(100), rows.slice(100))
    assert rankjury("evaluate", "gold.parquet", "a", *OPTIONS).out == expected.out


def test_folders_of_attributes(rankjury: Rankjury, tables: Path) -> None:
    queries = pl.read_csv("queries.csv")
    items = pl.DataFrame({"item_id": range(60), "shelf": ["low", "high"] * 30})
    queries.write_parquet("q.parquet")
    items.write_parquet("i.parquet")
    split("q", queries.head(7), queries.slice(7))
    split("i", items.head(50), items.slice(50))
    given = ("evaluate", "gold.parquet", "a.parquet", "-m", "ap", *OPTIONS)
    for option, name in (("--slices", "q"), ("--item-slices", "i")):
        expected = rankjury(*given, option, f"{name}.parquet")
        found = rankjury(*given, option, name)
        assert expected.code == 0 and (found.out, found.warnings) == (expected.out, expected.warnings)
        assert rankjury(*given, option, name, "--memory", "1GB").out == expected.out
    Path("i/2.parquet").write_text("item_id,shelf")
    check_failure(rankjury(*given, "--item-slices", "i"), 3, "error: i/2.parquet: cannot be read as Parquet")


def test_gate_on_runs_in_blocks(rankjury: Rankjury, tables: Path) -> None:
    targets = '["ndcg@10 >= 0.01", "ap drop <= 0.5"]\n[[target]]\nrequire = "ap >= 0"\nslice = "type=long"\n'
    Path("targets.toml").write_text(f"targets = {targets}")
    given = ("gate", "targets.toml", "gold.parquet", "b.parquet", "--baseline", "a.parquet", "-s", "queries.csv:type")
    expected, found = rankjury(*given, *OPTIONS, "-o", "at-once.xml"), rankjury(*given, *IN_BLOCKS, "-o", "blocks.xml")
    assert (found.code, found.out) == (expected.code, expected.out) and "type=long" in found.out
    assert Path("blocks.xml").read_text() == Path("at-once.xml").read_text()


def test_gate_on_a_report_made_in_blocks(rankjury: Rankjury, tables: Path) -> None:
    """Absolute targets hold as ever; between two reports queries cannot be paired, which is said."""
    Path("targets.toml").write_text('targets = ["ndcg@10 >= 0.01", "ap drop <= 0.5"]')
    for name in "ab":
        made = rankjury("evaluate", "gold.parquet", f"{name}.parquet", *IN_BLOCKS, "-o", f"{name}.json")
        assert made.code == 0 and "gates on it cannot pair them" in made.err
    gated = rankjury("gate", "targets.toml", "b.json", "--baseline", "a.json")
    assert gated.code == 0 and "not paired: the reports do not hold these queries' scores" in gated.err
    rankjury("compare", "gold.parquet", "a.parquet", "b.parquet", *IN_BLOCKS, "-o", "both.json")
    paired = rankjury("gate", "targets.toml", "both.json")
    assert paired.code == 0 and "not paired" not in paired.err


@pytest.mark.parametrize("form", ["html", "json", "csv", "md", "png", "svg"])
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_every_form_of_report_is_written(rankjury: Rankjury, tables: Path, command: str, form: str) -> None:
    given = ("gold.parquet", "a.parquet", "b.parquet", "-m", "ndcg@10,ap", "-s", "queries.csv:type", "-q")
    written = rankjury(command, *given, *IN_BLOCKS, "-o", f"report.{form}")
    assert written.code == 0 and Path(f"report.{form}").stat().st_size > 300


def test_the_page_says_where_the_scores_are(rankjury: Rankjury, tables: Path) -> None:
    given = ("evaluate", "gold.parquet", "a.parquet", *IN_BLOCKS, "-o", "report.html")
    told = rankjury(*given)
    assert "Single queries are not on the page: rankjury evaluate --per-query writes their scores." in told.err
    assert "--per-query scores.csv</code> writes them" in Path("report.html").read_text()
    assert "not on the page" not in rankjury(*given, "--per-query", "scores").err
    assert "they are in <code><bdi>scores</bdi></code>" in Path("report.html").read_text()


@pytest.mark.parametrize("target", ["scores.parquet", "scores.csv", "scores.tsv", "scores.jsonl.gz"])
def test_scores_of_every_query(rankjury: Rankjury, tables: Path, target: str) -> None:
    given = ("evaluate", "gold.parquet", "a.parquet", "b.parquet", *OPTIONS, "--per-query")
    assert rankjury(*given, f"expected-{target}").code == 0
    assert rankjury(*given, target, "--memory", "1GB").code == 0
    assert by_query(target).equals(by_query(f"expected-{target}"))


def by_query(path: str) -> pl.DataFrame:
    read = {".parquet": pl.read_parquet, ".csv": pl.read_csv, ".gz": pl.read_ndjson}.get(Path(path).suffix)
    frame = pl.read_csv(path, separator="\t") if read is None else read(path)
    return frame.cast({"query_id": pl.String}).sort("system", "query_id")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def refused(rankjury: Rankjury, folder: Path, *arguments: str, code: int = 3) -> str:
    """The one line that says why; nothing is printed, written, or left in the folder for what is temporary."""
    before = sorted(folder.rglob("*"))
    outcome = rankjury("evaluate", *arguments, "--memory", "1GB", "--temp", "temp", "--per-query", "scores")
    first, *more = outcome.err.splitlines(keepends=True)
    check_failure(type(outcome)(outcome.code, outcome.out, first), code)
    assert all(line.startswith("  ") for line in more)
    assert sorted(folder.rglob("*")) == before
    return outcome.err


def test_duplicates_over_files(rankjury: Rankjury, tables: Path) -> None:
    rows = pl.read_parquet("a.parquet")
    split("twice", rows, rows.slice(20, 1))
    told = refused(rankjury, tables, "gold.parquet", "twice")
    assert "duplicate item" in told and "--duplicates first, last or max" in told
    assert told.splitlines()[1:] == ["  in twice/0.parquet", "  in twice/1.parquet"]
    assert "duplicate pair" not in told  # other blocks may have more
    assert rankjury("evaluate", "gold.parquet", "twice", "--duplicates", "first", *IN_BLOCKS).code == 0


def test_queries_that_must_not_be_there(rankjury: Rankjury, tables: Path) -> None:
    """How many there are is told where all are looked at."""
    given = ("gold.parquet", "a.parquet", "-m", "ap", "--empty", "error")
    assert "query '0' has nothing relevant; expected none" in refused(rankjury, tables, *given)
    assert "query '0' has nothing relevant (5 such queries); expected none" in rankjury("evaluate", *given).err


def test_files_that_differ(rankjury: Rankjury, tables: Path) -> None:
    rows = pl.read_parquet("a.parquet")
    split("types", rows, rows.cast({"score": pl.String}))
    assert "types/1.parquet: column 'score' is of type String; expected Float64" in refused(
        rankjury, tables, "gold.parquet", "types"
    )
    split("columns", rows, rows.drop("score"))
    assert "columns/1.parquet: found the columns query_id, item_id; no column score" in refused(
        rankjury, tables, "gold.parquet", "columns"
    )


def test_nulls(rankjury: Rankjury, tables: Path) -> None:
    rows = pl.read_parquet("a.parquet")
    bad = rows.with_columns(query_id=pl.when(pl.int_range(pl.len()) != 6).then("query_id"))
    split("nulls", rows.head(3), bad)
    assert "nulls/1.parquet: row 7 has no query_id" in refused(rankjury, tables, "gold.parquet", "nulls")


def test_a_corrupt_file_in_the_middle(rankjury: Rankjury, tables: Path) -> None:
    rows = pl.read_parquet("b.parquet")
    split("corrupt", *(rows.slice(100 * part, 100) for part in range(3)))
    broken = Path("corrupt/1.parquet")
    content = broken.read_bytes()
    broken.write_bytes(content[:20] + b"\xff" * 200 + content[220:])
    assert "corrupt/1.parquet: cannot be read as Parquet" in refused(rankjury, tables, "gold.parquet", "corrupt")


def test_nothing_in_common_or_nothing_at_all(rankjury: Rankjury, tables: Path) -> None:
    pl.read_parquet("a.parquet").with_columns(pl.col("query_id") + 1000).write_parquet("other.parquet")
    told = refused(rankjury, tables, "gold.parquet", "other.parquet")
    assert "gold.parquet × other.parquet: no query in common: the gold has '0'" in told
    gold_of(1).clear().write_parquet("empty.parquet")
    assert "empty.parquet: found no rows" in refused(rankjury, tables, "empty.parquet", "a.parquet")
    assert "nowhere: no such file or folder" in refused(rankjury, tables, "gold.parquet", "nowhere")


def test_what_is_no_parquet(rankjury: Rankjury, tables: Path) -> None:
    told = refused(rankjury, tables, "gold.parquet", "run.trec")
    assert (
        "run.trec: not a Parquet file; block-wise evaluation reads Parquet only" in told and "rankjury convert" in told
    )
    assert "format trec in blocks; expected Parquet" in refused(
        rankjury, tables, "gold.parquet", "a.parquet", "--format", "trec", code=2
    )


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ([*range(3, QUERIES), 99], "1 id is unknown to the gold, such as '99', and 3 of the gold's 30 are not here"),
        ([*range(QUERIES), 4], "duplicate query_id '4'; expected each id once"),
    ],
)
def test_attributes_of_other_queries(rankjury: Rankjury, tables: Path, ids: list[int], told: str) -> None:
    table = pl.DataFrame({"query_id": ids, "type": ["x", "y", "z"] * (len(ids) // 3) + ["x"] * (len(ids) % 3)})
    table.write_csv("bad.csv")
    table.write_parquet("bad.parquet")
    for path in ("bad.csv", "bad.parquet"):
        assert f"{path}: {told}" in refused(rankjury, tables, "gold.parquet", "a.parquet", "-s", f"{path}:type")


def test_missing_and_unknown_ids_of_attributes_are_warned_of(rankjury: Rankjury, tables: Path) -> None:
    for name, ids in {"fewer.csv": range(2, QUERIES), "more.csv": range(QUERIES + 3)}.items():
        pl.DataFrame({"query_id": ids, "type": ["x" if query % 2 else "y" for query in ids]}).write_csv(name)
        given = ("evaluate", "gold.parquet", "a.parquet", "-s", f"{name}:type", "--full")
        expected, found = rankjury(*given, *OPTIONS), rankjury(*given, *IN_BLOCKS)
        assert found.code == 0 and found.warnings == expected.warnings
        assert any(name in warning for warning in found.warnings)


def test_a_full_temporary_folder(rankjury: Rankjury, tables: Path) -> None:
    run_of(400, 1).sample(fraction=1.0, shuffle=True, seed=1).write_parquet("large.parquet")
    gold_of(400).write_parquet("gold.parquet")
    with files_of_at_most(60_000):
        told = refused(rankjury, tables, "gold.parquet", "large.parquet")
    assert "temp: the temporary folder is too small: File too large after" in told
    assert "expected space for about" in told and "--temp DIR" in told


@pytest.mark.parametrize("temp", ["nowhere", "a.parquet"])
def test_a_temporary_folder_that_is_none(rankjury: Rankjury, tables: Path, temp: str) -> None:
    told = rankjury("evaluate", "gold.parquet", "a.parquet", *IN_BLOCKS, "--temp", temp)
    check_failure(told, 3, f"{temp}: the temporary folder cannot be written: No", "--temp DIR")


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("--memory", "much"), "'much'; expected a size such as 2GB"),
        (("--memory", "3MB"), "'3MB' is too small; expected at least 512 MB"),
        (("--quantiles", "x"), "--quantiles is 'x'; expected percentages such as 5,50,95"),
        (("--quantiles", "5,101"), "--quantiles is '5,101'"),
        (("--quantiles", ""), "--quantiles is ''"),
        (("-m", "coverage@10"), "coverage@10 needs all lists at once"),
    ],
)
def test_options_that_make_no_sense(rankjury: Rankjury, tables: Path, option: tuple[str, str], told: str) -> None:
    check_failure(rankjury("evaluate", "gold.parquet", "a.parquet", *IN_BLOCKS, *option), 2, told)


@pytest.mark.parametrize("where", [("--memory", "1GB"), ("--on", "spark")])
@pytest.mark.parametrize("files", [("-", "a.parquet"), ("gold.parquet", "-")])
def test_standard_input(rankjury: Rankjury, tables: Path, files: tuple[str, str], where: tuple[str, str]) -> None:
    check_failure(rankjury("evaluate", *files, *where), 2, "standard input cannot be read in blocks or on Spark")


def test_a_temporary_folder_that_nothing_needs(rankjury: Rankjury, tables: Path) -> None:
    told = rankjury("evaluate", "gold.parquet", "a.parquet", "--temp", "temp")
    check_failure(told, 2, "temp", "memory, on = spark")


@pytest.mark.parametrize("where", [(), ("--memory", "1GB"), ("--on", "spark")])
def test_two_outputs_of_one_name(rankjury: Rankjury, tables: Path, where: tuple[str, ...]) -> None:
    given = ("evaluate", "gold.parquet", "nowhere", *where)
    check_failure(rankjury(*given, "--per-query", "x.csv", "-o", "temp/../x.csv"), 2, "x.csv is named for two outputs")
    check_failure(rankjury(*given, "-o", "x.md", "-o", "x.html", "-o", "x.md"), 2, "x.md is named for two outputs")
    check_failure(rankjury("gate", "targets.toml", "r.json", "-o", "x.md", "-o", "x.md"), 2, "x.md is named for two")


def test_a_target_that_cannot_be_written_is_refused_at_once(rankjury: Rankjury, tables: Path) -> None:
    """Before anything is read: the runs are not even there."""
    given = ("evaluate", "gold.parquet", "nowhere", *IN_BLOCKS, "--per-query")
    check_failure(rankjury(*given, "temp/below/scores"), 3, "temp/below/scores: cannot write here: no such folder")
    check_failure(rankjury(*given, "scores.odt"), 2, "'scores.odt'")
    Path("scores").mkdir()
    Path("scores/mine").write_text("")
    check_failure(rankjury(*given, "scores"), 3, "scores: the path already exists; expected a new or an empty")
    check_failure(rankjury(*given, "gold.qrels"), 2, "gold.qrels")


def test_json_of_a_report_in_blocks_is_that_of_everything(rankjury: Rankjury, tables: Path) -> None:
    given = ("compare", "gold.parquet", "a.parquet", "b.parquet", "-s", "queries.csv:type")
    rankjury(*given, *OPTIONS, "-o", "at-once.json")
    rankjury(*given, *IN_BLOCKS, "-o", "blocks.json")
    expected, found = (json.loads(Path(name).read_text()) for name in ("at-once.json", "blocks.json"))
    for form in (expected, found):
        for key in ("queries", "gold", "changes"):
            form.pop(key, None)
    assert found == expected
