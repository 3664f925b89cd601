"""The files that a plan asks for: their forms, all or none of them, and refused before anything is computed."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.plan.outputs import check_outputs, write_outputs
from rankjury.plan.run import execute_plan
from tests.plan import QUICK, SHORT, checked, put, with_runs

MEASURES = "measures = ['hits@5', 'rr@5', 'ndcg(gain=exp)@5']\n"
PLAN = QUICK + SHORT + "systems.y = 'y.trec'\n" + MEASURES
ONLY_RANDOM = "gold = 'qrels.txt'\nsystems.r = { kind = 'random', candidates = 9 }\n" + MEASURES
RETRIEVERS = "[[output]]\nform = 'retrievers'\nfile = 'r.json'\n"


def written(folder: Path, more: str, text: str = PLAN, place: Path | None = None) -> list[Path]:
    """The plan run, and what it wrote."""
    plan = checked(folder, text + more)
    check_outputs(plan)
    return list(write_outputs(plan, execute_plan(plan).report, place))


def refused(folder: Path, more: str, text: str = PLAN) -> str:
    """Why, before any file that the plan names was looked for: there is none."""
    with pytest.raises(UsageError) as caught:
        check_outputs(checked(folder, text + more))
    assert caught.value.exit_code == 2
    place, _, rest = str(caught.value).removeprefix(str(folder / "plan.toml")).partition(", ")
    assert place.removeprefix(":").isdecimal()  # the line
    return rest


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class TestForms:
    def test_reports_by_suffix(self, tmp_path: Path) -> None:
        paths = written(with_runs(tmp_path), "outputs = ['a.json', 'b.csv', 'c.md']\n")
        assert paths == [tmp_path / name for name in ("a.json", "b.csv", "c.md")]
        form = json.loads(paths[0].read_text())
        assert form["schema"] == "rankjury.report/1" and form["provenance"]["plan"] == "plan.toml"
        assert form["queries"]["ids"] == ["q1", "q2", "q3"] and form["queries"]["top"]["x"][0] == ["a", "b"]
        rows = list(csv.DictReader(io.StringIO(paths[1].read_text())))
        assert {row["system"] for row in rows} == {"x", "y"}
        lines = paths[2].read_text().splitlines()
        assert all(any(line.startswith("|") and name in line for line in lines) for name in ("hits@5", "rr@5", " x "))

    @pytest.mark.parametrize(("name", "read"), [("q.csv", pl.read_csv), ("q.parquet", pl.read_parquet)])
    def test_every_querys_scores(self, tmp_path: Path, name: str, read: object) -> None:
        """x finds c second for q2; y finds a second for q1."""
        (path,) = written(with_runs(tmp_path), f"[[output]]\nfile = '{name}'\nform = 'queries'\n")
        assert callable(read)
        table = read(path).select("system", "query_id", "rr@5")
        expected = [("x", "q1", 1.0), ("x", "q2", 0.5), ("x", "q3", 1.0)]
        assert table.rows() == [*expected, ("y", "q1", 0.5), ("y", "q2", 1.0), ("y", "q3", 1.0)]

    def test_retrievers(self, tmp_path: Path) -> None:
        """Five is the usual K."""
        (path,) = written(with_runs(tmp_path), RETRIEVERS)
        form = json.loads(path.read_text())
        assert list(form) == ["K", "weights", "c", "timestamp", "model_tag", "x", "y", "per_query"]
        assert (form["K"], form["weights"], form["c"], form["model_tag"]) == (5, None, None, None)
        assert form["y"]["mean_mrr"] == pytest.approx((0.5 + 1 + 1) / 3)
        assert form["per_query"]["q3"]["x"] == {
            "hits": 0.5,
            "rr": 1.0,
            "ndcg": pytest.approx(7 / (7 + 1 / 1.584962500721156)),
            "topK": ["d"],
        }

    def test_a_query_without_anything_relevant(self, tmp_path: Path) -> None:
        put(with_runs(tmp_path), qrels__txt="q1 0 a 1\nq2 0 b 0\n")
        more = "conventions.empty = 'skip'\noutputs = ['a.json']\n[[output]]\nform = 'queries'\nfile = 'q.jsonl'\n"
        (report, table) = written(tmp_path, more)
        assert json.loads(report.read_text())["queries"]["scores"]["x"]["rr@5"] == [1.0, None]
        assert [json.loads(line)["rr@5"] for line in table.read_text().splitlines()][:2] == [1.0, None]

    def test_retrievers_with_a_query_without_anything_relevant(self, tmp_path: Path) -> None:
        put(with_runs(tmp_path), qrels__txt="q1 0 a 1\nq2 0 b 0\n")
        (path,) = written(tmp_path, RETRIEVERS)
        form = json.loads(path.read_text())
        assert form["per_query"]["q2"]["x"] == {"hits": None, "rr": 0.0, "ndcg": None, "topK": ["a", "c"]}
        assert form["x"] == {"mean_hits": 1.0, "mean_mrr": 0.5, "mean_ndcg": 1.0}


class TestPlaces:
    def test_beside_the_plan_in_folders_that_are_made(self, tmp_path: Path) -> None:
        (path,) = written(with_runs(tmp_path), "outputs = 'deep/er/a.json'\n")
        assert path == tmp_path / "deep" / "er" / "a.json" and path.is_file()

    def test_in_another_folder(self, tmp_path: Path) -> None:
        (path,) = written(with_runs(tmp_path), "outputs = 'a.md'\n", place=tmp_path / "out")
        assert path == tmp_path / "out" / "a.md" and path.is_file() and not (tmp_path / "a.md").exists()

    def test_what_was_there_is_replaced(self, tmp_path: Path) -> None:
        put(with_runs(tmp_path), a__md="old")
        (path,) = written(tmp_path, "outputs = 'a.md'\n")
        assert "old" not in path.read_text()

    def test_nothing_asked_for(self, tmp_path: Path) -> None:
        before = names_in(with_runs(tmp_path)) | {"plan.toml"}
        assert written(tmp_path, "") == [] and names_in(tmp_path) == before


class TestAllOrNone:
    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        put(with_runs(tmp_path), taken="a file")
        with pytest.raises(DataError, match=r"cannot (make|write)"):
            written(tmp_path, "outputs = ['a.json', 'taken/b.json']\n")
        assert names_in(tmp_path) == {"plan.toml", "qrels.txt", "x.trec", "y.trec", "taken"}

    TABLES = "[[output]]\nfile = 'a.csv'\nform = 'queries'\n[[output]]\nfile = 'b.csv'\nform = 'queries'\n"

    @pytest.mark.parametrize(
        ("more", "folder"),
        [
            ("outputs = ['a.json', 'b.json', 'c.json']\n", "a.json"),
            ("outputs = ['a.json', 'b.json', 'c.json']\n", "b.json"),
            (TABLES, "b.csv"),
            ("outputs = ['c.json']\n" + TABLES, "c.json"),
        ],
    )
    def test_a_folder_in_the_place_of_a_file(self, tmp_path: Path, more: str, folder: str) -> None:
        (with_runs(tmp_path) / folder).mkdir()
        with pytest.raises(RankjuryError):
            written(tmp_path, more)
        assert names_in(tmp_path) == {"plan.toml", "qrels.txt", "x.trec", "y.trec", folder}


class TestRefused:
    @pytest.mark.parametrize(
        ("more", "told"),
        [
            ("outputs = ['a.json', 'a.txt']\n", "outputs[2] (a.txt): cannot tell the form of the report from 'a.txt'"),
            ("outputs = 'report'\n", "outputs[1] (report): cannot tell the form of the report from 'report'"),
            ("[[output]]\nfile = 'a.md'\nform = 'querys'\n", "output[1] (a.md): unknown form 'querys'. Did you mean"),
            (
                "[[output]]\nfile = 'a.md'\nform = 'queries'\n",
                "output[1] (a.md): the format of 'a.md'",
            ),
            (
                "[[output]]\nfile = 'a.csv'\nform = 'retrievers'\n",
                "output[1] (a.csv): the form retrievers is JSON, not",
            ),
            (
                "[[output]]\nfile = 'a'\nform = 'retrievers'\n",
                "output[1] (a): the form retrievers is JSON, not a name",
            ),
            ("outputs = ['a.md', 'b.md', 'a.md']\n", "outputs[3] (a.md): two outputs have one name"),
            ("outputs = 'a.json'\n[[output]]\nfile = 'a.json'\n", "output[1] (a.json): two outputs have one name"),
        ],
    )
    def test_before_anything_is_computed(self, tmp_path: Path, more: str, told: str) -> None:
        assert refused(tmp_path, more).startswith(told)

    @pytest.mark.parametrize(
        ("more", "text", "told"),
        [
            (RETRIEVERS + "k = 3\n", PLAN, "output[1] (r.json): the form retrievers needs "),
            (RETRIEVERS, QUICK + SHORT, "output[1] (r.json): the form retrievers needs "),
            (RETRIEVERS, PLAN + "conventions.rel = 2\n", "output[1] (r.json): the form retrievers needs "),
            (RETRIEVERS, ONLY_RANDOM, "output[1] (r.json): "),
            ("outputs = ['a.json', './a.json']\n", PLAN, "outputs[2] (./a.json): two outputs have one name"),
            ("outputs = ['a.json', 'b/../a.json']\n", PLAN, "outputs[2] (b/../a.json): two outputs have one name"),
        ],
    )
    def test_what_could_be_known_before(self, tmp_path: Path, more: str, text: str, told: str) -> None:
        assert refused(tmp_path, more, text).startswith(told)

    @pytest.mark.parametrize("name", ["c", "K", "per_query", "weights"])
    def test_retrievers_named_like_a_key_of_the_form(self, tmp_path: Path, name: str) -> None:
        assert f"{name!r}" in refused(tmp_path, RETRIEVERS, PLAN.replace("systems.y", f"systems.{name}"))

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("gold = 'a.json'\nsystems.x = 'x.trec'\n", "a.json"),
            ("gold = 'qrels.txt'\nsystems.x = './a.json'\n", "a.json"),
            ("gold = 'qrels.txt'\nsystems.x = { kind = 'vectors', path = 'a.json:key' }\n", "a.json"),
            ("gold = 'qrels.txt'\nsystems.x = 'x.trec'\nslices = ['q.csv:type']\n", "q.csv"),
        ],
    )
    def test_what_the_plan_reads_is_not_written_over(self, tmp_path: Path, text: str, name: str) -> None:
        assert refused(tmp_path, f"outputs = '{name}'\n", text).startswith(f"outputs[1] ({name}): ")
