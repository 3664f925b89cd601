"""Bad input and bad requests: one clear line, the right exit code, and nothing written."""

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest
import zstandard

from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, check_failure, put

H = "query_id,item_id,score\n"
MANY = "".join(f"q1 Q0 d{n} 1 {n} tag\n" for n in range(3000)).encode()


def _parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


_RUN_PARQUET = _parquet(query_id=["q1"] * 50, item_id=[f"d{n}" for n in range(50)], score=[n / 7 for n in range(50)])

BAD_RUNS: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "five columns": ("r.trec", RUN + "q2 Q0 d5 3 tag\n", ("r.trec:5: found 5 columns in the line 'q2 Q0 d5 3 tag'",)),
    "letters for a score": ("r.trec", RUN + "q2 Q0 d5 3 best tag\n", ("r.trec:5:", "'best'", "expected a finite")),
    "nan": ("r.trec", RUN + "q2 Q0 d5 3 nan tag\n", ("r.trec:5:", "the score is 'nan'")),
    "inf": ("r.trec", RUN + "q2 Q0 d5 3 inf tag\n", ("r.trec:5:", "the score is 'inf'")),
    "duplicate": (
        "r.trec",
        RUN + "q2 Q0 d1 3 0.1 tag\n",
        ("r.trec: duplicate item 'd1'", "query 'q2'", "--duplicates first"),
    ),
    "duplicate, unjudged": ("r.trec", RUN + "q2 Q0 x 3 0.2 t\nq2 Q0 x 4 0.1 t\n", ("item 'x'", "query 'q2'")),
    "empty": ("r.trec", "", ("r.trec: the file is empty",)),
    "blank": ("r.trec", " \n\t\n", ("r.trec: found only blank lines",)),
    "comments": ("r.trec", "# nothing\n", ("r.trec: found no line with data",)),
    "no query in common": ("r.trec", "x1 Q0 d1 1 2 tag\n", ("no query in common", "'q1', 'q2'", "'x1'", "gold.qrels")),
    "latin-1": ("r.trec", (RUN + "q2 Q0 dé 3 0.1 tag\n").encode("latin-1"), ("r.trec:5:", "not UTF-8")),
    "UTF-16": ("r.trec", RUN.encode("utf-16"), ("r.trec: the text is UTF-16; expected UTF-8",)),
    "UTF-16, CSV": ("r.csv", (H + "q1,d1,1\n").encode("utf-16"), ("r.csv: the text is UTF-16",)),
    "gzip cut short": ("r.trec.gz", gzip.compress(MANY)[:-9], ("r.trec.gz: the gzip stream is damaged or truncated",)),
    "zstd cut short": (
        "r.trec.zst",
        zstandard.ZstdCompressor().compress(MANY)[:-9],
        ("r.trec.zst: the zstd stream is damaged or truncated",),
    ),
    "parquet cut short": ("r.parquet", _RUN_PARQUET[:-30], ("r.parquet: cannot be read as Parquet",)),
    "no parquet at all": ("r.parquet", "hello", ("r.parquet: not a Parquet file",)),
    "parquet with nan": (
        "r.parquet",
        _parquet(query_id=["q1"], item_id=["d1"], score=[float("nan")]),
        ("r.parquet: the score of item 'd1' for query 'q1' is NaN",),
    ),
    "broken JSON": ("r.json", '{"q1": {"d1": 1,\n"d2": }}', ("r.json:2: not JSON",)),
    "JSON cut short": ("r.json", '{"q1": {"d1": 1,\n"d2": 2', ("r.json:2: not JSON",)),
    "JSON with text": ("r.json", '{"q1": {"d1": "x"}}', ("r.json, query 'q1'", "item 'd1'", "expected a number")),
    "JSON with NaN": ("r.json", '{"q1": {"d1": NaN}}', ("r.json: the score of item 'd1' for query 'q1' is NaN",)),
    "JSON without items": ("r.json", "{}", ("r.json: found no items",)),
    "JSON with a pair twice": ("r.json", '{"q1": {"d1": 1, "d1": 2}}', ("duplicate item 'd1'",)),
    "broken JSONL": (
        "r.jsonl",
        '{"query_id": "q1", "item_id": "d1", "score": 1}\n{"query_id": \n',
        ("r.jsonl:2: not JSON",),
    ),
    "CSV, two columns": ("r.csv", H + "q1,d1,1\nq1,d2\n", ("r.csv:3: found 2 columns in the line 'q1,d2'",)),
    "CSV, four columns": ("r.csv", H + "q1,d1,1\nq1,d2,1,2\n", ("r.csv:3: found 4 columns",)),
    "CSV, letters": ("r.csv", H + "q1,d1,1\nq1,d2,best\n", ("r.csv:3:", "'best'", "expected a finite number")),
    "CSV, inf": ("r.csv", H + "q1,d1,-inf\n", ("r.csv:2:", "'-inf'")),
    "CSV, no id": ("r.csv", H + "q1,d1,1\nq1,,2\n", ("r.csv:3: no item_id in the line 'q1,,2'",)),
    "CSV, header alone": ("r.csv", H, ("r.csv: found a header but no rows",)),
    "CSV, unknown columns": (
        "r.csv",
        "a,b,c\n1,2,3\n",
        ("r.csv: found the columns a, b, c", "query_id, item_id, score"),
    ),
    "gold as run, TREC": ("r.qrels", GOLD, ("r.qrels:1: found 4 columns", "looks like a TREC qrels", "GOLD RUN")),
    "gold as run, CSV": ("r.csv", "query_id,item_id,grade\nq1,d1,1\n", ("no column for score", "Is this the gold?")),
    "gold as run, Parquet": (
        "r.parquet",
        _parquet(query_id=["q1"], item_id=["d1"], grade=[1]),
        ("no column for score or rank", "Is this the gold?"),
    ),
}
BAD_GOLDS: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "five columns": ("g.qrels", GOLD + "q2 0 d5 1 2\n", ("g.qrels:5: found 5 columns in the line 'q2 0 d5 1 2'",)),
    "letters for a grade": ("g.qrels", GOLD + "q2 0 d5 good\n", ("g.qrels:5:", "the grade is 'good'")),
    "nan": ("g.qrels", GOLD + "q2 0 d5 nan\n", ("g.qrels:5:", "the grade is 'nan'")),
    "duplicate": ("g.qrels", GOLD + "q2 0 d1 1\n", ("g.qrels: duplicate item 'd1' for query 'q2'",)),
    "empty": ("g.qrels", "", ("g.qrels: the file is empty",)),
    "run as gold, TREC": ("g.trec", RUN, ("g.trec:1: found 6 columns", "looks like a TREC run", "GOLD RUN")),
    "run as gold, CSV with rank": (
        "g.csv",
        "query_id,item_id,score,rank\nq1,d1,2,1\n",
        ("g.csv: columns query_id, item_id, score, rank are those of a run", "The gold comes first"),
    ),
    "run as gold, CSV with fractions": (
        "g.csv",
        H + "q1,d1,0.25\n",
        ("g.csv: the column score holds fractions", "The gold comes first"),
    ),
    "run as gold, JSON": (
        "g.json",
        json.dumps({"q1": {f"d{n}": 1 / (n + 2) for n in range(30)}}),
        ("g.json: the 30 values look like scores, not grades", "The gold comes first"),
    ),
    "JSON of texts": ("g.json", '{"q1": {"d1": "good"}}', ("g.json, query 'q1'", "expected a number")),
}


def _tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("case", BAD_RUNS)
def test_a_bad_run(rankjury: Rankjury, folder: Path, case: str) -> None:
    name, content, fragments = BAD_RUNS[case]
    put(name, content)
    put("old.md", "as it was")
    before = _tree(folder)
    options = ["-o", "new.json", "-o", "old.md", "--per-query", "scores.csv"]
    check_failure(rankjury("evaluate", "gold.qrels", "run.trec", name, *options), 3, *fragments)
    assert _tree(folder) == before


@pytest.mark.parametrize("case", BAD_GOLDS)
def test_a_bad_gold(rankjury: Rankjury, folder: Path, case: str) -> None:
    name, content, fragments = BAD_GOLDS[case]
    put(name, content)
    before = _tree(folder)
    check_failure(rankjury("evaluate", name, "run.trec", "-o", "new.json", "--json"), 3, *fragments)
    assert _tree(folder) == before


_CONVERTIBLE = ("duplicate", "twice", "gold as run", "no query in common")


@pytest.mark.parametrize("case", [case for case in BAD_RUNS if not any(word in case for word in _CONVERTIBLE)])
def test_bad_runs_are_not_converted(rankjury: Rankjury, folder: Path, case: str) -> None:
    name, content, _ = BAD_RUNS[case]
    put(name, content)
    put("target.csv", "as it was")
    before = _tree(folder)
    check_failure(rankjury("convert", name, "target.csv", "--kind", "run"), 3, name)
    assert _tree(folder) == before


@pytest.mark.parametrize("command", ["evaluate", "explain"])
@pytest.mark.parametrize(
    ("gold", "run", "fragment"),
    [
        ("nowhere.qrels", "run.trec", "nowhere.qrels: no such file"),
        ("gold.qrels", "nowhere.trec", "nowhere.trec: no such file"),
        (".", "run.trec", ".: found a folder; expected a file"),
        ("gold.qrels", ".", ".: found a folder; expected a file"),
        ("run.trec", "gold.qrels", "run.trec:1: found 6 columns"),
    ],
)
def test_files_that_are_not_there_or_swapped(
    rankjury: Rankjury, command: str, gold: str, run: str, fragment: str
) -> None:
    check_failure(rankjury(command, gold, run), 3, fragment)


def test_a_qrels_line_of_three_columns(rankjury: Rankjury) -> None:
    put("g.qrels", GOLD + "q2 0 d5\n")
    check_failure(rankjury("evaluate", "g.qrels", "run.trec"), 3, "g.qrels:5: found 3 columns in the line 'q2 0 d5'")


# --- outputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["evaluate", "gold.qrels", "run.trec", "-o", "nowhere/report.json"], "nowhere/report.json: cannot write here"),
        (["evaluate", "gold.qrels", "run.trec", "--per-query", "nowhere/s.csv"], "nowhere/s.csv: cannot write here"),
        (["evaluate", "gold.qrels", "run.trec", "-o", "folder.json"], "folder.json: cannot write here: found a folder"),
        (["convert", "run.trec", "nowhere/run.csv"], "nowhere/run.csv: cannot write here"),
        (["convert", "run.trec", "folder.json"], "folder.json: cannot write here: found a folder"),
    ],
)
def test_targets_that_cannot_be_written(rankjury: Rankjury, folder: Path, arguments: list[str], fragment: str) -> None:
    (folder / "folder.json").mkdir()
    before = _tree(folder)
    check_failure(rankjury(*arguments), 3, fragment)
    assert _tree(folder) == before


def test_an_interrupted_write_leaves_nothing(rankjury: Rankjury, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half_way(self: pl.DataFrame, file: Path, **_: object) -> None:
        Path(file).write_text("half")
        raise OSError(28, "No space left on device")

    put("target.csv", "as it was")
    before = _tree(folder)
    monkeypatch.setattr(pl.DataFrame, "write_csv", half_way)
    check_failure(rankjury("convert", "run.trec", "target.csv"), 3, "target.csv: cannot write: No space left on device")
    assert _tree(folder) == before


# --- usage --------------------------------------------------------------------------------------------------------

EVALUATE = ["evaluate", "gold.qrels", "run.trec"]


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        ([*EVALUATE, "-m", "nddcg@10"], ("unknown measure 'nddcg@10'", "Did you mean ndcg@10")),
        ([*EVALUATE, "-m", "ndcg(gain=ex)@3"], ("unknown value for gain= 'ex'", "Did you mean exp?")),
        ([*EVALUATE, "-m", "ndcg(gian=exp)@3"], ("unknown option of ndcg 'gian'", "Did you mean gain?")),
        ([*EVALUATE, "-m", "ndcg(gain=exp"], ("cannot read the measure",)),
        ([*EVALUATE, "-m", " , "], ("no measure was named",)),
        ([*EVALUATE, "--ties", "random"], ("--ties", "'random'", "id, id-desc, order")),
        ([*EVALUATE, "--missing", "zer"], ("--missing", "'zer'", "zero")),
        ([*EVALUATE, "--empty", "skp"], ("--empty", "'skp'", "Did you mean skip?")),
        ([*EVALUATE, "--format", "jsn"], ("unknown format 'jsn'", "json")),
        ([*EVALUATE, "--gold-format", "xls"], ("unknown format 'xls'",)),
        ([*EVALUATE, "-m", "ndcg@10", "-k", "5"], ("-k 5 has no effect on ndcg@10",)),
        ([*EVALUATE, "-k", "0"], ("-k is '0'",)),
        ([*EVALUATE, "--per-query", "scores.md"], ("'scores.md'", ".csv, .jsonl")),
        (["evaluate", "-", "-"], ("standard input was named twice",)),
        (["evaluate", "gold.qrels", "-", "run.trec", "-"], ("standard input was named twice",)),
        ([*EVALUATE, "run.trec"], ("'run.trec'", "twice")),
        (["explain", "gold.qrels", "run.trec", "-m", "nddcg"], ("unknown measure 'nddcg'", "Did you mean ndcg")),
        (["list", "metrics", "ndgc"], ("unknown measure 'ndgc'", "Did you mean ndcg")),
        (["convert", "run.trec", "run.xls"], ("'run.xls'", "one of the suffixes")),
        (["convert", "run.trec", "run.out", "--to", "xls"], ("unknown format 'xls'",)),
        (["convert", "run.trec", "run.csv", "--format", "xls"], ("unknown format 'xls'",)),
        (["convert", "run.trec", "run.parquet.gz"], ("already compressed",)),
    ],
)
def test_a_request_that_makes_no_sense(
    rankjury: Rankjury, folder: Path, arguments: list[str], fragments: list[str]
) -> None:
    before = _tree(folder)
    check_failure(rankjury(*arguments, stdin=RUN.encode()), 2, *fragments)
    assert _tree(folder) == before


def test_explain_with_standard_input_twice(rankjury: Rankjury) -> None:
    check_failure(rankjury("explain", "-", "-", stdin=RUN.encode()), 2, "standard input was named twice")


@pytest.mark.parametrize("bad", [["-o", "report.xls"], ["--per-query", "scores.md"]])
def test_a_bad_suffix_is_found_before_anything_is_written(rankjury: Rankjury, folder: Path, bad: list[str]) -> None:
    before = _tree(folder)
    check_failure(rankjury(*EVALUATE, "-o", "good.json", *bad), 2)
    assert _tree(folder) == before


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_rel_must_be_a_number_that_grades_can_reach(rankjury: Rankjury, value: str) -> None:
    check_failure(rankjury(*EVALUATE, "--rel", value), 2, "rel")


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["evaluate"], ["missing argument 'GOLD'", "Usage: rankjury evaluate"]),
        (["evaluate", "gold.qrels"], ["missing argument 'RUN", "Usage: rankjury evaluate"]),
        ([*EVALUATE, "--duplicates", "any"], ["'--duplicates'", "'any'", "'first'", "Usage: rankjury evaluate"]),
        ([*EVALUATE, "--duplicates", "frist"], ["'--duplicates'", "'frist'", "Did you mean first?"]),
        ([*EVALUATE, "--rel", "high"], ["'--rel'", "'high'"]),
        ([*EVALUATE, "--slices"], ["'--slices' requires an argument"]),
        (["split", "log.csv"], ["missing option '--output'", "Usage: rankjury split"]),
        (["run", "a.toml", "b.toml"], ["extra argument", "b.toml", "Usage: rankjury run"]),
        (["convert", "run.trec"], ["missing argument 'B'"]),
        (["convert", "run.trec", "run.csv", "--kind", "neither"], ["'--kind'", "'neither'"]),
        (["--foo", "evaluate"], ["unknown option --foo", "rankjury --help"]),
    ],
)
def test_what_the_parser_refuses(rankjury: Rankjury, arguments: list[str], fragments: list[str]) -> None:
    check_failure(rankjury(*arguments), 2, *fragments)


def test_one_measure_is_explained_at_a_time(rankjury: Rankjury) -> None:
    check_failure(rankjury("explain", "gold.qrels", "run.trec", "-m", "ap", "-m", "rr"), 2, "found 2 measures: ap, rr")


def test_standard_output_is_no_file_to_convert_to(rankjury: Rankjury) -> None:
    check_failure(rankjury("convert", "run.trec", "-", "--to", "csv"), 2, "standard output")


def test_other_packings_are_named(rankjury: Rankjury) -> None:
    import bz2

    put("run.trec.bz2", bz2.compress(RUN.encode()))
    check_failure(rankjury("evaluate", "gold.qrels", "run.trec.bz2"), 3, "compressed with bzip2")


def test_a_table_without_a_header(rankjury: Rankjury) -> None:
    put("run.csv", "1,7,1\n1,8,2\n")
    check_failure(rankjury("evaluate", "gold.qrels", "run.csv"), 3, "Is the header missing?")
