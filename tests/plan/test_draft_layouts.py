"""Plans drafted in folders of many layouts: each runs as it is where a gold has something to judge."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.plan import folder_scan
from rankjury.plan.draft import draft_plan, kind_for
from rankjury.plan.folder_files import MAX_FILES
from rankjury.plan.folder_scan import scan_folder
from rankjury.plan.parse import read_plan
from rankjury.plan.run import Outcome, execute_plan
from tests.plan import QUICK

Rows = list[tuple[str, str, float]]
QUERIES, ITEMS = 8, 30


def as_trec(rows: Rows, kind: str) -> str:
    if kind == "gold":
        return "".join(f"{q} 0 {d} {int(value)}\n" for q, d, value in rows)
    return "".join(f"{q} Q0 {d} {n + 1} {value} me\n" for n, (q, d, value) in enumerate(rows))


def as_table(rows: Rows, kind: str) -> pl.DataFrame:
    value = "grade" if kind == "gold" else "score"
    numbers: list[Any] = [int(one) if kind == "gold" else one for _, _, one in rows]
    return pl.DataFrame({"query_id": [q for q, _, _ in rows], "item_id": [d for _, d, _ in rows], value: numbers})


def as_beir(rows: Rows, kind: str) -> str:
    names = "query-id\tcorpus-id\tscore\n"
    return names + "".join(f"{q}\t{d}\t{int(value) if kind == 'gold' else value}\n" for q, d, value in rows)


def as_nested(rows: Rows, kind: str) -> str:
    nested: dict[str, dict[str, float]] = {}
    for q, d, value in rows:
        nested.setdefault(q, {})[d] = int(value) if kind == "gold" else value
    return json.dumps(nested)


FORMATS: dict[str, Callable[[Rows, str], Any]] = {
    ".txt": as_trec,
    ".trec": as_trec,
    ".tsv": as_beir,
    ".csv": lambda rows, kind: as_table(rows, kind).write_csv(),
    ".json": as_nested,
    ".jsonl": lambda rows, kind: as_table(rows, kind).write_ndjson(),
    ".parquet": as_table,
}
CASES: list[Callable[[str], str]] = [str, str.upper, str.title]


class Layout:
    """A folder that is drawn from a seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw, self.folder = random.Random(seed), folder
        self.queries = [self.draw.choice(["q{}", "{}", "topic-{}"]).format(n) for n in range(QUERIES)]
        self.items = [self.draw.choice(["d{}", "D-{}"]).format(n) for n in range(ITEMS)]
        self.place = folder / self.draw.choice(["", "", "data", "data/sets/mine"])
        self.case = self.draw.choice(CASES)
        self.highest = self.draw.choice([1, 3])

    def path(self, name: str) -> Path:
        folder, _, base = name.rpartition("/")
        stem, dot, suffix = base.rpartition(".")
        path = self.place / folder / f"{self.case(stem)}{dot}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def put_rows(self, name: str, rows: Rows, kind: str, suffix: str) -> str:
        content, path = FORMATS[suffix](rows, kind), self.path(name + suffix)
        if isinstance(content, pl.DataFrame):
            content.write_parquet(path)
        else:
            path.write_text(content)
        return path.relative_to(self.folder).as_posix()

    def put_gold(self, name: str, suffix: str, queries: list[str]) -> str:
        rows = [
            (q, d, float(self.draw.randint(0, self.highest))) for q in queries for d in self.draw.sample(self.items, 6)
        ]
        rows += [(q, self.items[0], 1.0) for q in queries if (q, self.items[0]) not in {row[:2] for row in rows}]
        return self.put_rows(name, rows, "gold", suffix)

    def put_run(self, name: str, suffix: str, queries: list[str], *, whole: bool = False) -> str:
        rows = []
        for q in queries:
            listed = self.draw.sample(self.items, 12)
            rows += [(q, d, float(12 - n) if whole else 1 / (n + 1.5)) for n, d in enumerate(listed)]
        return self.put_rows(name, rows, "run", suffix)

    def put_vectors(self, how: str) -> None:
        numbers = np.random.default_rng(self.draw.randrange(99))
        items, queries = (numbers.normal(size=(n, 5)).astype(np.float32) for n in (ITEMS, QUERIES))
        if how == "npz":
            np.savez(self.path("items.npz"), ids=np.array(self.items), vectors=items)
            np.savez(self.path("queries.npz"), ids=np.array(self.queries), vectors=queries)
        elif how == "keys":
            ids = {"items_ids": np.array(self.items), "queries_ids": np.array(self.queries)}
            np.savez(self.path("vectors.npz"), items=items, queries=queries, **ids)
        elif how == "models":
            for model in ("small", "large"):
                wide = numbers.normal(size=(ITEMS + QUERIES, 4 if model == "small" else 6)).astype(np.float32)
                np.savez(self.path(f"{model}_docs.npz"), ids=np.array(self.items), vectors=wide[:ITEMS])
                np.savez(self.path(f"{model}_queries.npz"), ids=np.array(self.queries), vectors=wide[ITEMS:])
        else:
            for name, ids, matrix in (("items", self.items, items), ("queries", self.queries, queries)):
                path = self.path(f"{name}.npy")
                np.save(path, matrix)
                if how == "ids":
                    path.with_suffix(".ids.txt").write_text("\n".join(ids) + "\n")
            if how == "rows":
                self.put_tables()

    def put_tables(self) -> None:
        corpus = [{"_id": d, "title": f"Title of {d}", "text": f"text {d}", "metadata": {}} for d in self.items]
        queries = [{"_id": q, "text": f"what {q}", "metadata": {}} for q in self.queries]
        self.path("corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in corpus))
        self.path("queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries))

    def put_noise(self) -> None:
        for name in (".git", ".venv", "node_modules", ".rankjury"):
            (self.folder / name).mkdir()
            (self.folder / name / "qrels.txt").write_text("other 0 thing 1\n")
            (self.folder / name / "run.trec").write_text("other Q0 thing 1 1.5 x\n")
        (self.folder / "README.md").write_text("# Mine\n")
        (self.folder / "notes.txt").write_text("remember the milk\n")
        (self.folder / "config.json").write_text('{"a": 1}')


def carry_out(folder: Path) -> tuple[Any, Outcome]:
    found = scan_folder(folder)
    drafted = draft_plan(kind_for(found), found, "mine")
    (folder / "rankjury.toml").write_text(QUICK + drafted.text)
    assert drafted.notes.summary, f"not told to run:\n{drafted.text}"
    return drafted, execute_plan(read_plan(folder / "rankjury.toml"))


@pytest.mark.parametrize("seed", range(24))
def test_runs_and_vectors_in_any_layout(tmp_path: Path, seed: int) -> None:
    layout = Layout(tmp_path, seed)
    draw, suffixes = layout.draw, list(FORMATS)
    name = draw.choice(["qrels", "labels", "gold", "judgments", "qrels/test"])
    gold = layout.put_gold(name, draw.choice(suffixes), layout.queries)
    second = draw.choice([None, "qrels-dev", "qrels/train"])
    if second:
        layout.put_gold(second, draw.choice(suffixes), [f"other-{query}" for query in layout.queries])
    runs = draw.sample(["bm25", "dense", "hybrid", "mine"], draw.randint(0, 3))
    for number, run in enumerate(runs):
        asked = layout.queries if number == 0 else draw.sample(layout.queries, 5)
        layout.put_run(run, draw.choice(suffixes), asked, whole=draw.random() < 0.3)
    strange = layout.put_run("strange", draw.choice(suffixes), ["no", "such", "query"]) if draw.random() < 0.4 else None
    how = (
        draw.choice([None, "npz", "keys", "models", "ids", "rows"])
        if runs
        else draw.choice(["npz", "keys", "models", "ids", "rows"])
    )
    if how:
        layout.put_vectors(how)
    if draw.random() < 0.3:
        layout.put_tables()
    layout.put_noise()

    drafted, outcome = carry_out(tmp_path)

    plan = read_plan(tmp_path / "rankjury.toml").plan
    assert plan.gold.path == gold  # type: ignore[attr-defined]
    assert len(outcome.report.systems) == len(runs) + {None: 0, "models": 2}.get(how, 1)
    for scores in outcome.report.scores.values():
        assert sorted(scores.queries.cast(pl.String)) == sorted(layout.queries)
    assert (strange in drafted.notes.left_out) == (strange is not None)
    assert all((tmp_path / system.path.partition(":")[0]).exists() for system in plan.systems.values())  # type: ignore[attr-defined]


CLIPS = "clip,object,behaviour\n" + "".join(
    f"d{n},{('car', 'bike', 'bike|car')[n % 3]},{('crossing', 'stopped')[n % 2]}\n" for n in range(20)
)
ROWS = np.random.default_rng(3).normal(size=(20, 6)).astype(np.float32)
LOG = [(n % 12, (n * n + n // 3) % 15, 1 + n % 5, 1_500_000_000 + 9 * n) for n in range(160)]


class TestOtherKinds:
    @pytest.mark.parametrize(
        ("columns", "place", "highest"),
        [
            ("user_id,item_id,rating,timestamp", "", 5),
            ("userId,movieId,rating", "data/ML-1M", 5),
            ("user,item,value,ts", "", 10),
            ("user_id,item_id,rating,timestamp", "data/ML-1M", 1),
            ("userId,movieId,rating", "", 1),
            ("user,item,value,ts", "data/ML-1M", 5),
        ],
    )
    def test_logs(self, tmp_path: Path, columns: str, place: str, highest: int) -> None:
        width = columns.count(",") + 1
        rows = [(user, item, rating * highest / 5, time) for user, item, rating, time in LOG]
        folder = tmp_path / place
        folder.mkdir(parents=True, exist_ok=True)
        lines = [columns, *(",".join(map(str, row[:width])) for row in rows)]
        (folder / "Ratings.CSV").write_text("\n".join(lines) + "\n")
        (folder / "MOVIES.csv").write_text(
            "movieId,title,genres\n" + "".join(f"{n},Film {n},Drama\n" for n in range(15))
        )
        _, outcome = carry_out(tmp_path)
        assert "popularity" in outcome.report.systems
        precision = next(label for label in outcome.report.labels if label.startswith("precision"))
        assert precision.split("@")[0] == {5: "precision(rel=4)", 1: "precision", 10: "precision(rel=8)"}[highest]

    def test_annotated_clips_without_ids(self, tmp_path: Path) -> None:
        (tmp_path / "Unified_Annotation.CSV").write_text(CLIPS)
        np.save(tmp_path / "clips.npy", ROWS)
        drafted, outcome = carry_out(tmp_path)
        assert len(outcome.report.scores["clips"].queries) == 20
        assert any("clips.npy" in text for text in drafted.notes.assumed)

    def test_texts_and_clips_are_two_plans(self, tmp_path: Path) -> None:
        (tmp_path / "clips.csv").write_text(CLIPS)
        (tmp_path / "queries.csv").write_text("query_id,text\nq0,a bike\nq1,stopped car\n")
        np.savez(tmp_path / "clips.npz", ids=np.array([f"d{n}" for n in range(20)]), v=ROWS)
        np.savez(tmp_path / "queries.npz", ids=np.array(["q0", "q1"]), v=ROWS[:2])
        drafted, outcome = carry_out(tmp_path)
        assert sorted(outcome.report.scores["clips"].queries) == ["q0", "q1"]
        assert "MAP" in outcome.report.labels, "not cut"
        (tmp_path / "items.toml").write_text(QUICK + drafted.companions["items"])
        items = execute_plan(read_plan(tmp_path / "items.toml"))
        assert len(items.report.scores["clips"].queries) == 20
        assert {output.partition(".")[0] for output in read_plan(tmp_path / "items.toml").plan.outputs} == {"items"}

    def test_products_and_queries_in_tables(self, tmp_path: Path) -> None:
        pytest.importorskip("wordllama")
        (tmp_path / "Catalogue.CSV").write_text("product_id,title\nd0,red dress\nd1,blue dress\nd2,green hat\n")
        (tmp_path / "Queries.TSV").write_text("id\ttext\nq0\tred dress\nq1\tblue dress\n")
        (tmp_path / "labels.csv").write_text("query_id,item_id,grade\nq0,d0,3\nq1,d1,3\n")
        _, outcome = carry_out(tmp_path)
        assert list(outcome.report.systems) == ["title"]

    def test_ordered_lists_and_matrices_without_ids(self, tmp_path: Path) -> None:
        ids = [f"tt{n}" for n in range(20)]
        lists = [
            {"movie_id": name} | {f"3_most_similar_movies_{aspect}_ordered": [one for one in ids if one != name][:3]
                                  for aspect in ("overall", "content", "vibes")} for name in ids
        ]  # fmt: skip
        (tmp_path / "Similarity.json").write_text(json.dumps(lists))
        (tmp_path / "movies.csv").write_text(
            "id,genre\n" + "".join(f"{name},{'ab'[n % 2]}\n" for n, name in enumerate(ids))
        )
        for name in ("DenseAnchor", "DenseVibe"):
            np.save(tmp_path / f"{name}.npy", ROWS)
        np.savez(tmp_path / "other.npz", ids=np.array(ids[:4]), v=ROWS[:4])
        drafted, outcome = carry_out(tmp_path)
        assert list(outcome.report.systems) == ["DenseAnchor", "DenseVibe", "combined", "random"]
        assert set(drafted.notes.left_out) == {"other.npz"} and "hits@3" in outcome.report.headline

    def test_models_of_other_items_are_not_compared(self, tmp_path: Path) -> None:
        for name, rows in (("reference", ROWS), ("small", ROWS[:, :3]), ("strange", ROWS[:7])):
            np.save(tmp_path / f"{name}.npy", rows)
        drafted, outcome = carry_out(tmp_path)
        assert list(outcome.report.systems) == ["small"] and set(drafted.notes.left_out) == {"strange.npy"}
        assert max(read_plan(tmp_path / "rankjury.toml").cuts) < 20


class TestTargets:
    @pytest.mark.parametrize("kind", ["runs", "movies", "papers", "search", "fashion", "driving", "movielens"])
    def test_the_suggested_target_is_about_a_measure_of_the_plan(self, tmp_path: Path, kind: str) -> None:
        """With the target that is commented out, the plan is still one that can be read."""
        text = draft_plan(kind, scan_folder(tmp_path), "mine").text
        lines = text.splitlines()
        if "targets = [" not in lines:
            at = next(number for number, line in enumerate(lines) if line.startswith("# [[target]]"))
            lines[at : at + 2] = [line.removeprefix("# ") for line in lines[at : at + 2]]
        (tmp_path / "rankjury.toml").write_text("\n".join(lines))
        checked = read_plan(tmp_path / "rankjury.toml")
        assert checked.targets


class TestScan:
    def test_beir(self, tmp_path: Path) -> None:
        layout = Layout(tmp_path, 0)
        layout.place, layout.case = tmp_path / "beir" / "scifact", str
        layout.put_tables()
        gold = {part: layout.put_gold(f"qrels/{part}", ".tsv", layout.queries) for part in ("dev", "test", "train")}
        layout.put_run("bm25", ".trec", layout.queries)
        found = scan_folder(tmp_path)
        assert found.texts == ["beir/scifact/queries.jsonl"] and found.products == ["beir/scifact/corpus.jsonl"]
        drafted, outcome = carry_out(tmp_path)
        assert read_plan(tmp_path / "rankjury.toml").plan.gold.path == gold["test"]  # type: ignore[attr-defined]
        assert set(drafted.notes.left_out) == {gold["dev"], gold["train"]}
        assert outcome.report.queries is not None
        assert dict(outcome.report.queries.query_texts)[layout.queries[0]] == f"what {layout.queries[0]}"

    def test_folders_deeper_than_the_limit_are_not_looked_at(self, tmp_path: Path) -> None:
        for depth in range(1, 7):
            folder = tmp_path / "/".join("abcdef"[:depth])
            folder.mkdir()
            (folder / f"qrels{depth}.txt").write_text("q 0 d 1\n")
        assert [Path(name).name for name in scan_folder(tmp_path).golds] == [f"qrels{n}.txt" for n in range(1, 5)]

    def test_a_folder_within_itself_ends(self, tmp_path: Path) -> None:
        (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
        (tmp_path / "again").symlink_to(tmp_path)
        assert scan_folder(tmp_path).golds == ["qrels.txt"]

    def test_of_many_files_data_by_name_comes_first(self, tmp_path: Path) -> None:
        for number in range(MAX_FILES + 30):
            (tmp_path / f"a{number:03}.txt").write_text("something else\n")
        (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
        (tmp_path / "z-run.trec").write_text("q Q0 d 1 1.5 x\n")
        found = scan_folder(tmp_path)
        assert (found.golds, found.runs) == (["qrels.txt"], ["z-run.trec"])
        assert len(found.limits) == 1 and f"{MAX_FILES + 32}" in found.limits[0]

    def test_a_large_file_is_known_by_its_beginning(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(folder_scan, "MAX_BYTES", 200)
        (tmp_path / "a.trec").write_text("q Q0 d 1 1.5 x\n" * 90)
        (tmp_path / "b.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q\td{n}\t1\n" for n in range(90)))
        found = scan_folder(tmp_path)
        assert (found.golds, found.runs) == (["b.tsv"], ["a.trec"]) and len(found.limits) == 2

    def test_garbage_that_is_called_like_data_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "qrels.txt").write_bytes(bytes(range(256)) * 9)
        (tmp_path / "labels.csv").write_text("query_id,item_id,grade\nq,d,high\n")
        (tmp_path / "queries.npy").write_bytes(b"\x93NUMPY")
        found = scan_folder(tmp_path)
        assert set(found.unusable) == {"qrels.txt", "labels.csv", "queries.npy"} and not found.anything

    def test_whole_scores_are_a_run_unless_the_name_says_gold(self, tmp_path: Path) -> None:
        lists = json.dumps({"q1": {f"d{n}": 9 - n for n in range(6)}})
        for name in ("system.json", "gold.json"):
            (tmp_path / name).write_text(lists)
        found = scan_folder(tmp_path)
        assert (found.golds, found.runs) == (["gold.json"], ["system.json"])
