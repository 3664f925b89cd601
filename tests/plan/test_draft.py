"""Folders looked at, and plans drafted from them: each can be read, names what was found, and runs where it can."""

import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError, UnknownName
from rankjury.plan.draft import DraftNotes, aspect_for, choose_baseline, draft, draft_names, draft_plan, kind_for
from rankjury.plan.folder_scan import FolderContents, scan_folder
from rankjury.plan.parse import CheckedPlan, read_plan
from rankjury.plan.run import Outcome, execute_plan
from tests.plan import OTHER, QUICK, RUN, means, put, with_runs

SAMPLE = Path(str(files("rankjury.plan") / "samples" / "movies"))
ROWS = np.random.default_rng(3).normal(size=(30, 6)).astype(np.float32)
LABELS = "\n".join(json.dumps({"query_id": f"q{n % 5}", "item_id": f"d{n}", "grade": n % 4}) for n in range(20))


def named(rows: Any, letter: str) -> dict[str, Any]:
    return {"ids": np.array([f"{letter}{n}" for n in range(len(rows))]), "v": rows}


def drafted(folder: Path, kind: str | None = None) -> tuple[str, CheckedPlan]:
    """The kind of plan that the files call for, and that plan, read."""
    found = scan_folder(folder)
    chosen = kind or kind_for(found)
    path = folder / "drafted.toml"
    path.write_text(QUICK + draft(chosen, found, 'the "name"'))
    return chosen, read_plan(path)


def run(folder: Path, kind: str) -> Outcome:
    """The draft of the folder carried out, which must be of this kind."""
    chosen, plan = drafted(folder)
    assert chosen == kind and plan.plan.name == 'the "name"'
    return execute_plan(plan)


def search_files(folder: Path) -> Path:
    put(folder, labels__jsonl=LABELS, items__npz=named(ROWS[:20], "d"), queries__npz=named(ROWS[20:25], "q"))
    return folder


class TestKeywords:
    CLIPS = "clip,object,behaviour\n" + "".join(
        f"d{n},{('car', 'bike', 'bike|car')[n % 3]},{('crossing', 'stopped')[n % 2]}\n" for n in range(20)
    )
    TEXTS = '{"query_id": "q0", "text": "a bike"}\n{"query_id": "q1", "text": "stopped car"}\n'

    def test_annotated_items_and_vectors(self, tmp_path: Path) -> None:
        put(tmp_path, clips__csv=self.CLIPS, clips__npz=named(ROWS[:20], "d"))
        outcome = run(tmp_path, "keywords")
        assert len(outcome.report.scores["clips"].queries) == 20
        assert list(outcome.report.labels[:1]) == ["Recall@1"]

    def test_with_texts(self, tmp_path: Path) -> None:
        put(tmp_path, clips__csv=self.CLIPS, queries__jsonl=self.TEXTS)
        ids = {"clips_ids": [f"d{n}" for n in range(20)], "queries_ids": ["q0", "q1"]}
        arrays = {"clips": ROWS[:20], "queries": ROWS[20:22]}
        put(tmp_path, vectors__npz=arrays | {name: np.array(one) for name, one in ids.items()})
        outcome = run(tmp_path, "keywords")
        assert outcome.report.scores["clips"].queries.to_list() == ["q0", "q1"]

    def test_columns_of_many_texts_are_no_keywords(self, tmp_path: Path) -> None:
        rows = "".join(f"d{n},title {n}|{n},{('car', 'bike')[n % 2]}\n" for n in range(60))
        put(tmp_path, items__csv="item_id,words,kind\n" + rows, items__npz=named(ROWS[:20], "d"))
        assert not scan_folder(tmp_path).annotated


class TestRuns:
    def test_qrels_and_runs(self, tmp_path: Path) -> None:
        found = scan_folder(with_runs(tmp_path))
        assert found == FolderContents(golds=["qrels.txt"], runs=["x.trec", "y.trec"]) and found.anything
        outcome = run(tmp_path, "runs")
        assert means(outcome, "x")["rr"] == pytest.approx((1 + 1 / 2 + 1) / 3)
        assert outcome.report.baseline == "x" and {one.system for one in outcome.report.comparisons} == {"y"}

    @pytest.mark.parametrize("names", [("new", "old"), ("candidate", "prod_2026"), ("a", "bm25", "old")])
    def test_the_baseline_is_the_system_called_like_one(self, names: tuple[str, ...]) -> None:
        assert choose_baseline(names, DraftNotes()) in ("old", "prod_2026", "bm25")

    def test_a_baseline_is_a_word_of_the_name(self) -> None:
        assert choose_baseline(["a", "golden"], DraftNotes()) == "a"

    def test_other_formats(self, tmp_path: Path) -> None:
        put(tmp_path, judgments__csv="query_id,item_id,grade\nq1,a,1\nq2,b,2\n")
        put(tmp_path, bm25__json=json.dumps({"q1": {"a": 0.5, "b": 0.25}, "q2": {"b": 0.5}}))
        put(tmp_path, dense__jsonl='{"query_id": "q1", "item_id": "a", "score": 0.5}\n')
        found = scan_folder(tmp_path)
        assert (found.golds, found.runs) == (["judgments.csv"], ["bm25.json", "dense.jsonl"])
        assert set(run(tmp_path, "runs").report.systems) == {"bm25", "dense"}

    def test_a_table_of_queries_gives_slices(self, tmp_path: Path) -> None:
        put(with_runs(tmp_path), queries__csv="query_id,type,text\nq1,a,one\nq2,b,two\nq3,a,three\n")
        assert scan_folder(tmp_path).tables["queries.csv"][0] == "type"
        assert {part.name for part in run(tmp_path, "runs").report.slices} == {"type=a", "type=b"}

    def test_a_table_of_items_gives_slices_of_items(self, tmp_path: Path) -> None:
        put(with_runs(tmp_path), docs__csv="doc_id,subject\na,s\nb,t\nc,s\nd,s\n")
        outcome = run(tmp_path, "runs")
        assert {part.name for part in outcome.report.slices} == {"item.subject=s", "item.subject=t"}

    @pytest.mark.parametrize(
        "name", ["dense v2.trec", 'a"b.trec', "x.y.trec", "b\\c.trec", "-.trec", "1.trec", "#.trec"]
    )
    def test_odd_names_of_files(self, tmp_path: Path, name: str) -> None:
        with_runs(tmp_path)
        (tmp_path / name).write_text(OTHER)
        outcome = run(tmp_path, "runs")
        assert len(outcome.report.systems) == 3
        assert sum(means(outcome, system) == means(outcome, "y") for system in outcome.report.systems) >= 2

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("café.trec", RUN),
            ("q.csv", "query_id,price (EUR)\nq1,1\nq2,2\nq3,2\n"),
            ("q.csv", 'query_id,"a,b"\nq1,s\nq2,t\nq3,s\n'),
            ("q.csv", "query_id,a*b\nq1,s\nq2,t\nq3,s\n"),
            ('"q".csv', "query_id,type\nq1,s\nq2,t\nq3,s\n"),
        ],
    )
    def test_odder_names(self, tmp_path: Path, name: str, content: str) -> None:
        (with_runs(tmp_path) / name).write_text(content)
        assert set(run(tmp_path, "runs").report.systems) >= {"x", "y"}


class TestSpaces:
    def test_the_movies(self, tmp_path: Path) -> None:
        for name in ("gold.json", "vectors.npz", "movies.jsonl"):
            shutil.copy(SAMPLE / name, tmp_path)
        found = scan_folder(tmp_path)
        assert found.ordered == {"gold.json": ["overall", "content", "vibes"]}
        assert found.vectors == ["vectors.npz:anchor", "vectors.npz:content", "vectors.npz:vibe"]
        outcome = run(tmp_path, "spaces")
        shown = execute_plan(read_plan(SAMPLE / "rankjury.toml"))
        assert outcome.report.golds == {
            "anchor": "overall",
            "content": "content",
            "vibe": "vibes",
            "combined": "overall",
            "random": "overall",
        }
        for ours, theirs in (("anchor", "denseanchor"), ("content", "densecontent"), ("vibe", "densevibe")):
            assert means(outcome, ours)["hits@5"] == means(shown, theirs)["hits@5"]
        assert means(outcome, "random")["rr@10"] == means(shown, "random")["rr@10"]
        assert any(part.name.startswith("cluster=") for part in outcome.report.slices)

    @pytest.mark.parametrize(
        "names",
        [
            ("DenseAnchor", "DenseContent", "DenseVibe"),
            ("denseanchor", "densecontent", "densevibe"),
            ("ANCHOR", "PLOT", "Vibes-v2"),
            ("dense_overall", "movie_content_emb", "vibeVectors"),
        ],
    )
    def test_aspects_are_matched_without_case_and_by_words(self, tmp_path: Path, names: tuple[str, str, str]) -> None:
        """With the names of the movies protocol, every space was compared with the overall lists."""
        shutil.copy(SAMPLE / "gold.json", tmp_path)
        with np.load(SAMPLE / "vectors.npz") as held:
            arrays = dict(zip(names, (held[key] for key in ("anchor", "content", "vibe")), strict=True))
            put(tmp_path, vectors__npz={"ids": held["ids"], **arrays})
        outcome = run(tmp_path, "spaces")
        assert list(outcome.report.golds.values()) == ["overall", "content", "vibes", "overall", "overall"]
        assert not any("aspect" in warning for warning in outcome.report.warning_lines)

    @pytest.mark.parametrize("name", ["first", "ContentVibe", "similar", "v"])
    def test_a_name_that_tells_no_aspect_is_compared_with_the_overall_lists_and_marked(
        self, tmp_path: Path, name: str
    ) -> None:
        shutil.copy(SAMPLE / "gold.json", tmp_path)
        with np.load(SAMPLE / "vectors.npz") as held:
            put(tmp_path, vectors__npz={"ids": held["ids"], "anchor": held["anchor"], name: held["vibe"]})
        _, plan = drafted(tmp_path, "spaces")
        assert plan.plan.systems[name].gold == plan.plan.systems["anchor"].gold == "overall"
        marked = [line for line in (tmp_path / "drafted.toml").read_text().splitlines() if "ASSUMED" in line]
        assert len(marked) == 1 and '"content", "vibes"' in marked[0]
        assumed = draft_plan("spaces", scan_folder(tmp_path), "x").notes.assumed
        assert any(name in text and "overall" in text for text in assumed)
        assert set(execute_plan(plan).report.systems) >= {name, "anchor"}

    def test_words_that_all_aspects_have_tell_nothing(self) -> None:
        aspects = ["plot_similarity", "mood_similarity"]
        assert aspect_for("similarity", aspects) is None
        assert aspect_for("Moods", aspects) == "mood_similarity" and aspect_for("content", aspects) == "plot_similarity"

    def test_aspects_that_no_system_uses_are_warned_of(self, tmp_path: Path) -> None:
        for name in ("gold.json", "vectors.npz"):
            shutil.copy(SAMPLE / name, tmp_path)
        system = '[systems.one]\nkind = "vectors"\npath = "vectors.npz:anchor"\ngold = "overall"\n'
        put(tmp_path, rankjury__toml=f'measures = ["rr@5"]\n[gold]\nkind = "ordered"\npath = "gold.json"\n{system}')
        outcome = execute_plan(read_plan(tmp_path / "rankjury.toml"))
        assert any("content, vibes" in warning and "no system" in warning for warning in outcome.report.warning_lines)


class TestReference:
    def test_a_reference_and_a_candidate(self, tmp_path: Path) -> None:
        put(tmp_path, reference__npy=ROWS, candidate__npy=ROWS[:, :3], flat__npy=ROWS[0])
        found = scan_folder(tmp_path)
        assert found.vectors == ["candidate.npy", "reference.npy"] and found.reference == "reference.npy"
        outcome = run(tmp_path, "reference")
        assert set(outcome.report.systems) == {"candidate"} and len(outcome.report.scores["candidate"].queries) == 30
        assert 0 < means(outcome, "candidate")["recall(over=k,gold=k)@10"] < 1

    def test_an_equal_candidate_is_perfect(self, tmp_path: Path) -> None:
        put(tmp_path, teacher__npy=ROWS, student__npy=ROWS * 2)
        assert list(means(run(tmp_path, "reference"), "student").values()) == pytest.approx([1.0] * 25)

    def test_the_one_that_is_called_reference(self, tmp_path: Path) -> None:
        put(tmp_path, reference__npy=ROWS, adapter__npy=ROWS[:, :3], candidate__npy=ROWS[:, :3])
        assert scan_folder(tmp_path).reference == "reference.npy"


class TestSearch:
    def test_labels_items_and_queries(self, tmp_path: Path) -> None:
        found = scan_folder(search_files(tmp_path))
        assert found == FolderContents(golds=["labels.jsonl"], vectors=["items.npz"], query_vectors=["queries.npz"])
        outcome = run(tmp_path, "search")
        assert outcome.report.scores["items"].queries.to_list() == ["q0", "q1", "q2", "q3", "q4"]
        assert {len(top) for top in outcome.report.top_items["items"]} == {10}

    def test_vectors_in_parquet(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"id": [f"d{n}" for n in range(20)], "v": ROWS[:20].tolist(), "w": ROWS[:20, :3].tolist()})
        frame.write_parquet(tmp_path / "items.parquet")
        assert scan_folder(tmp_path).vectors == ["items.parquet:v", "items.parquet:w"]

    def test_a_table_of_products(self, tmp_path: Path) -> None:
        put(search_files(tmp_path), a__csv="product_id,kind\n" + "".join(f"d{n},{'xy'[n % 2]}\n" for n in range(20)))
        assert {part.name for part in run(tmp_path, "search").report.slices} == {"item.kind=x", "item.kind=y"}


class TestNothingMuch:
    @pytest.mark.parametrize("kind", draft_names())
    def test_of_an_empty_folder_each_kind_is_an_example(self, tmp_path: Path, kind: str) -> None:
        assert (
            scan_folder(tmp_path) == FolderContents()
            and not FolderContents().anything
            and kind_for(FolderContents()) == "runs"
        )
        _, plan = drafted(tmp_path, kind)
        assert plan.plan.systems and plan.asked
        with pytest.raises(DataError, match="no such file"):
            execute_plan(plan)

    def test_an_unknown_kind(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown kind of plan 'movie'\. Did you mean movies"):
            draft("movie", FolderContents(), "x")

    JUNK: dict[str, bytes] = {
        "README.txt": b"hello, this is text\n",
        "empty.csv": b"",
        "one.csv": b"a\n1\n",
        "latin.csv": b"query_id,x\n\xff\xfe,1\n",
        "broken.json": b"[{",
        "null.json": b"null",
        "numbers.json": b"[1, 2]",
        "report.json": b'{"schema": "rankjury.report/1"}',
        "objects.json": b'[{"id": "a", "year": 1999}]',
        "broken.parquet": b"PAR1....",
        "broken.npy": b"\x93NUMPY",
        "text.npz": b"hello",
        "picture.png": b"\x89PNG",
        ".hidden.trec": RUN.encode(),
    }

    def test_junk_is_left_aside(self, tmp_path: Path) -> None:
        with_runs(tmp_path)
        (tmp_path / "folder.trec").mkdir()
        for name, content in self.JUNK.items():
            (tmp_path / name).write_bytes(content)
        assert scan_folder(tmp_path) == FolderContents(golds=["qrels.txt"], runs=["x.trec", "y.trec"])

    @pytest.mark.parametrize(
        ("name", "content"),
        [("a.npy", b""), ("a.npz", b""), ("a.json", b"[" * 100_000)],
    )
    def test_damaged_arrays_are_left_aside(self, tmp_path: Path, name: str, content: bytes) -> None:
        (with_runs(tmp_path) / name).write_bytes(content)
        assert scan_folder(tmp_path) == FolderContents(golds=["qrels.txt"], runs=["x.trec", "y.trec"])

    def test_a_damaged_archive_is_left_aside(self, tmp_path: Path) -> None:
        """In a process of its own, for NumPy leaves the file open."""
        put(tmp_path, a__npz=b"PK\x03\x04 cut short", z__npy=ROWS)
        code = "import pathlib, rankjury.plan.folder_scan as scan; print(scan.scan_folder(pathlib.Path('.')).vectors)"
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("['z.npy']\n", "")


class TestFoldersOfTheSpecs:
    """Folders laid out as the five protocols say, where init found nothing or wrote a plan that cannot run."""

    def test_models_in_folders_of_their_own(self, tmp_path: Path) -> None:
        """Three files of one name in models/*/ were not found."""
        for seed, model in enumerate(("ada_embeddings", "sentence_transformer", "finetuned_st")):
            (tmp_path / "models" / model).mkdir(parents=True)
            np.save(tmp_path / "models" / model / "holdout_embeddings.npy", ROWS + seed)
        outcome = run(tmp_path, "reference")
        assert list(outcome.report.systems) == ["finetuned_st", "sentence_transformer"]

    @pytest.mark.parametrize("named", [False, True])
    def test_products_queries_as_plain_text_and_labels(self, tmp_path: Path, named: bool) -> None:
        """Neither the JSON catalogue nor queries_fashion.txt was found, and products were taken for ordered lists."""
        pytest.importorskip("wordllama")
        products = [{"id": f"d{n}", "title": f"{c} dress", "bullets": ["soft"]} for n, c in enumerate(("red", "blue"))]
        for folder in ("data", "docs"):
            (tmp_path / folder).mkdir()
        catalogue = {one["id"]: one for one in products} if named else products
        (tmp_path / "data" / "amazon_fashion_sample.json").write_text(json.dumps(catalogue))
        (tmp_path / "docs" / "queries_fashion.txt").write_text("q0\tred dress\nq1\tblue dress\n")
        labels = [{"query_id": f"q{n}", "item_id": f"d{n}", "grade": 3} for n in range(2)]
        (tmp_path / "docs" / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
        outcome = run(tmp_path, "search")
        assert means(outcome, "title")["ndcg@10"] == 1.0

    def test_queries_that_are_still_to_be_embedded(self, tmp_path: Path) -> None:
        put(tmp_path, labels__jsonl=LABELS, items__npz=named(ROWS[:20], "d"))
        (tmp_path / "queries_fashion.txt").write_text("red dress\nblue dress\n")
        assert scan_folder(tmp_path).texts == ["queries_fashion.txt"]
        assert "rankjury embed queries_fashion.txt" in draft("search", scan_folder(tmp_path), "x")

    def test_annotations_of_one_keyword_a_cell(self, tmp_path: Path) -> None:
        """unified_annotation.csv was taken for a table of attributes unless a cell held several keywords."""
        rows = "".join(f"d{n},{('car', 'bike')[n % 2]},{('crossing', 'stopped')[n // 2 % 2]}\n" for n in range(20))
        put(tmp_path, items__npz=named(ROWS[:20], "d"))
        (tmp_path / "unified_annotation.csv").write_text("slice_id,pv_object_type,pv_actor_behavior\n" + rows)
        run(tmp_path, "keywords")

    def test_spaces_within_one_json(self, tmp_path: Path) -> None:
        """{id: {space: vector}} was one system, whose path names no space."""
        spaces = ("dense_anchor", "dense_content", "dense_vibe")
        gold = [{"movie_id": f"d{n}", **{f"1_most_similar_movies_{one}_ordered": [f"d{(n + 1) % 20}"]
                                         for one in ("overall", "content", "vibes")}} for n in range(20)]  # fmt: skip
        vectors = {f"d{n}": {one: ROWS[n].tolist() for one in spaces} for n in range(20)}
        put(tmp_path, gold__json=json.dumps(gold), embeddings__json=json.dumps(vectors))
        run(tmp_path, "spaces")
        systems = drafted(tmp_path)[1].plan.systems
        assert [systems[one].gold for one in spaces] == ["overall", "content", "vibes"]

    def test_files_whose_arrays_have_one_name(self, tmp_path: Path) -> None:
        """Three files with movie_ids and embeddings were the systems embeddings, embeddings-2 and embeddings-2-2."""
        ids = np.array([f"d{n}" for n in range(20)])
        for name in ("anchor", "content", "vibe"):
            np.savez(tmp_path / f"{name}.npz", movie_ids=ids, embeddings=ROWS[:20])
        assert scan_folder(tmp_path).vectors == ["anchor.npz", "content.npz", "vibe.npz"]
