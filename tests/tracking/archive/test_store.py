"""A run holds all of its report, and gives it back."""

import json
import tomllib
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DamagedRun, UnknownName
from rankjury.evaluation.report import read_report
from rankjury.evaluation.scores import QueryData
from rankjury.plan.run import Outcome
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import SCHEMA, Origin
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.archive.store import write_run
from tests.tracking.archive.made import PLAN, QUERIES, START, carried_out, kept, put_small

Made = tuple[Outcome, Origin]


def test_the_files_of_a_run(archive: Archive, run: ArchivedRun) -> None:
    names = {path.name for path in run.path.iterdir()}
    tables = {f"{name}.parquet" for name in ("scores", "queries", "rankings", "golds", "items")}
    assert names == {"manifest.json", "report.json", "plan.toml", *tables}
    assert run.path == archive.path / "runs" / f"20260101T063000Z-small-{run.digest[:8]}"
    assert set(run.files) == names - {"manifest.json"} and run.bytes == sum(run.files.values())
    assert (archive.path / ".gitignore").read_text() == "*\n"
    assert not [path for path in (archive.path / "runs").iterdir() if path.name.startswith(".")]
    assert tomllib.loads((run.path / "plan.toml").read_text()) == tomllib.loads(PLAN)


def test_the_manifest_tells_where_it_comes_from(run: ArchivedRun, made: Made) -> None:
    outcome, origin = made
    octets = (run.path / "manifest.json").read_bytes()
    manifest = json.loads(octets)
    assert manifest.pop("sha256") == sha256(octets.rpartition(b",\n")[0]).hexdigest()
    assert (
        manifest == run.manifest == ArchivedRun.open(run.path).manifest
        and manifest["schema"] == SCHEMA == "rankjury.run/1"
    )
    assert (manifest["name"], manifest["time"]) == ("small", "2026-01-01T06:30:00.000Z")
    assert manifest["plan"]["file"] == "plan.toml" and manifest["plan"]["content"]["baseline"] == "old"
    inputs = {"gold.qrels", "old.trec", "new.trec", "queries.csv", "items.csv"}
    assert set(manifest["inputs"]) == inputs and manifest["inputs"] == dict(origin.inputs)
    assert manifest["digest"] == origin.digest == run.digest and manifest["same_inputs_as"] is None
    assert manifest["packages"].keys() >= {"rankjury", "numpy", "polars"}
    assert manifest["machine"].keys() == {"platform", "processor", "cores", "memory_bytes", "python"}
    assert (manifest["seed"], manifest["verdict"], manifest["baseline"]) == (0, "pass", "old")
    assert manifest["versions"]["queries"]["n"] == manifest["queries"] == QUERIES
    assert manifest["headline"] == ["rr", "ndcg@3"] and list(manifest["measures"]) == ["rr", "ndcg@3", "precision@3"]
    entry = outcome.report.estimates["new"]["rr"]
    found = manifest["summary"]["new"]["rr"]
    assert (found["mean"], tuple(found["ci"]), found["se"], found["n"]) == (entry.mean, entry.ci, entry.se, entry.n)


def test_no_path_and_no_name_of_this_machine(run: ArchivedRun, tmp_path: Path) -> None:
    import getpass
    import platform

    text = (run.path / "manifest.json").read_text() + (run.path / "report.json").read_text()
    assert str(tmp_path.parent) not in text and "pytest-of" not in text
    for name in (platform.node(), str(Path.home())):
        assert len(name) < 4 or name not in text
    assert f'"{getpass.getuser()}"' not in text


def test_hashes_are_those_of_the_files(run: ArchivedRun) -> None:
    for name, about in run.manifest["files"].items():
        octets = (run.path / name).read_bytes()
        assert about == {"bytes": len(octets), "sha256": sha256(octets).hexdigest()}
    assert run.faults() == []
    (run.path / "scores.parquet").write_bytes(b"x")
    (run.path / "golds.parquet").unlink()
    assert sorted(run.faults()) == [
        "golds.parquet: No such file or directory",
        "scores.parquet: it has 1 bytes",
    ]


def test_the_form_is_the_reports(run: ArchivedRun, made: Made) -> None:
    report, gate = made[0].report, made[0].gate
    assert gate is not None
    form = ArchivedRun.open(run.path).report.to_json()
    assert form.pop("gate") == json.loads(json.dumps(gate.to_json() | {"report": "plan.toml"}))
    assert form == json.loads(json.dumps(report.to_json()))


def test_the_form_with_its_queries_is_a_report(run: ArchivedRun, made: Made, tmp_path: Path) -> None:
    form = run.report.to_json(queries=True)
    expected = json.loads(json.dumps(made[0].report.to_json(queries=True)))
    assert form["queries"] == expected["queries"]
    (tmp_path / "report.json").write_text(json.dumps(form))
    report = read_report(str(tmp_path / "report.json"))
    assert report.scores["new"]["rr"].tolist() == made[0].report.scores["new"]["rr"].tolist()
    assert {part.name: len(part.rows) for part in report.slices}["type=odd"] == QUERIES // 2


def test_the_data_of_queries_is_read_when_it_is_asked_for(archive: Archive, tmp_path: Path) -> None:
    plan = put_small(tmp_path / "small", PLAN.replace('targets = ["rr >= 0.3"]', ""))
    outcome, origin = carried_out(plan)
    run = archive.store(outcome.report, origin)
    for path in run.path.glob("*.parquet"):
        path.rename(path.with_suffix(".hidden"))
    found = ArchivedRun.open(run.path).report
    assert found == outcome.report and found.source == run.name
    with pytest.raises(DamagedRun, match=r"queries\.parquet"):
        len(found.slices[0].rows)
    for path in run.path.glob("*.hidden"):
        path.rename(path.with_suffix(".parquet"))
    assert found.to_json(queries=True) == outcome.report.to_json(queries=True)
    assert found.texts == outcome.report.texts and found.names == {"a": "Anchor", "b": "Buoy"}


def test_scores_of_every_query(run: ArchivedRun, made: Made) -> None:
    frame = run.scores().collect()
    assert frame.columns == ["query_id", "system", "rr", "ndcg@3", "precision@3"]
    for name, scores in made[0].report.scores.items():
        own = frame.filter(pl.col("system") == name)
        assert own["query_id"].to_list() == [str(query) for query in scores.queries]
        for label in scores.labels:
            assert own[label].to_list() == scores[label].tolist()


def test_queries_with_their_slices(run: ArchivedRun) -> None:
    frame = run.tables.scan("queries.parquet").collect()
    assert frame["query_id"].to_list() == [f"q{number:02}" for number in range(QUERIES)]
    assert frame["slices"].to_list() == [["type=even"] if n % 2 == 0 else ["type=odd"] for n in range(QUERIES)]


def test_answers_of_all_and_of_one(run: ArchivedRun, made: Made) -> None:
    given, found = made[0].report.answers, run.report.answers
    assert given is not None and found is not None
    assert found.rankings_frame().equals(given.rankings_frame())
    assert found.golds_frame().equals(given.golds_frame())
    assert dict(found.gold_of) == dict(given.gold_of) and list(found.systems) == list(given.systems)
    one = run.answer("q07")
    assert one is not None and one.queries.to_list() == ["q07"]
    assert one.rankings_frame().equals(given.rankings_frame().filter(pl.col("query_id") == "q07"))
    assert one.golds_frame().equals(given.golds_frame().filter(pl.col("query_id") == "q07"))
    with pytest.raises(UnknownName, match="unknown query 'q99'"):
        run.answer("q99")


def test_names_of_items_that_occur(run: ArchivedRun) -> None:
    assert run.tables.item_names() == {"a": "Anchor", "b": "Buoy"}
    assert run.tables.item_names(["b", "c", "b"]) == {"b": "Buoy"} and run.tables.item_names([]) == {}


def test_the_page_is_stored_and_listed(archive: Archive, made: Made) -> None:
    outcome, origin = made
    run = archive.store(outcome.report, origin, page=lambda report, run: f"<p>é {len(report.systems)} {run.name}")
    assert run.read("report.html").decode() == f"<p>é 2 {run.name}" and run.faults() == []
    assert run.files["report.html"] == (run.path / "report.html").stat().st_size


def test_without_names_slices_gate_plan_or_answers(archive: Archive, made: Made) -> None:
    from dataclasses import replace

    data = QueryData(made[0].report.scores)
    bare = replace(made[0].report, queries=data, slices=(), headline=(), baseline=None, comparisons=())
    run = archive.store(bare, Origin("bare"))
    assert set(run.files) == {"report.json", "scores.parquet", "queries.parquet"}
    assert run.report.answers is None and run.answer("q01") is None and run.tables.item_names() == {}
    assert (
        run.verdict is None
        and run.headline == ["rr", "ndcg@3", "precision@3"]
        and "top" not in run.report.to_json(queries=True)["queries"]
    )


def test_a_name_that_is_taken_gets_a_number(archive: Archive, made: Made) -> None:
    outcome, origin = made
    runs = [archive.store(outcome.report, origin, time=START + timedelta(milliseconds=n)) for n in range(3)]
    assert [run.name for run in runs] == [runs[0].name, f"{runs[0].name}-2", f"{runs[0].name}-3"]
    assert [run.name for run in Archive(archive.path).runs()] == [run.name for run in runs]


def test_the_same_plan_and_inputs_are_recognised(archive: Archive, tmp_path: Path) -> None:
    plan = put_small(tmp_path / "small")
    first, second = kept(archive, plan, 0), kept(archive, plan, 1)
    assert second.manifest["same_inputs_as"] == first.name and second.manifest["results"] == first.manifest["results"]
    plan.write_text(PLAN + '\n[[output]]\nfile = "report.md"\n')
    assert kept(archive, plan, 2).manifest["same_inputs_as"] == second.name, "outputs change no figure"
    (tmp_path / "small" / "items.csv").write_text("item_id,title\na,Ace\n")
    other = kept(archive, plan, 3)
    assert other.manifest["same_inputs_as"] is None and other.digest != first.digest
    assert other.manifest["results"] == first.manifest["results"]


def test_what_can_be_read_only_once_is_never_the_same(archive: Archive, made: Made) -> None:
    outcome, _ = made
    origin = Origin("piped", inputs={"-": None})
    runs = [archive.store(outcome.report, origin) for _ in range(2)]
    assert runs[1].digest == runs[0].digest and runs[1].manifest["same_inputs_as"] is None


def test_results_differ_in_the_last_digit(archive: Archive, tmp_path: Path) -> None:
    plan = put_small(tmp_path / "small")
    first = kept(archive, plan)
    (tmp_path / "small" / "new.trec").write_text((tmp_path / "small" / "old.trec").read_text())
    assert kept(archive, plan, 1).manifest["results"] != first.manifest["results"]


def test_leftovers_of_the_dead_go_with_the_next_run(archive: Archive, made: Made) -> None:
    outcome, origin = made
    runs = archive.path / "runs"
    archive.store(outcome.report, origin)
    left = [".x.999999999-5-0123abcd-ab.part", ".y.1-5-0123abcd-cd.part", ".z.77-5-0123abcd-ef.gone"]
    for name in left:  # process 1 lives, but does not hold it
        (runs / name).mkdir()
        (runs / name / "scores.parquet").write_bytes(b"half")
    (runs / ".mine").mkdir()
    assert [path.name for path in archive.leftovers()] == left
    assert len(archive.runs()) == 1 and archive.troubles == []
    archive.store(outcome.report, origin)
    assert sorted(path.name for path in runs.iterdir() if path.name.startswith(".")) == [".mine"]


def test_what_a_writer_has_in_hand_is_left_alone(archive: Archive, run: ArchivedRun) -> None:
    from rankjury.tracking.archive.files import lock_folder

    part = run.path.parent / ".x.1-5-0123abcd-ab.part"
    part.mkdir()
    handle = lock_folder(part)
    assert handle is not None and handle >= 0
    try:
        assert archive.leftovers() == []
        assert lock_folder(part) is None
    finally:
        import os

        os.close(handle)
    assert archive.leftovers() == [part]


def test_a_writer_that_fails_leaves_nothing(archive: Archive, run: ArchivedRun) -> None:
    before = sorted(path.name for path in run.path.parent.iterdir())
    with pytest.raises(FileNotFoundError):
        write_run(archive.path, (START, "x", "0" * 64), {"a": b"1", "no/such/folder": b"2"}, {})
    assert sorted(path.name for path in run.path.parent.iterdir()) == before


def test_hostile_names(archive: Archive, tmp_path: Path) -> None:
    """Of plans, systems and slices: nothing is lost, and nothing leaves the folder."""
    odd = "<script>alert('1')</script> ../\u202e\U0001f3bd\n\"'"
    plan = PLAN.replace('"small"', json.dumps(odd, ensure_ascii=False)).replace(
        "new = ", f"{json.dumps(odd, ensure_ascii=False)} = "
    )
    folder = tmp_path / "small"
    file = put_small(folder, plan)
    (folder / "queries.csv").write_text("query_id,type\n" + "".join(f'q{n:02},"<b>{n % 2}"\n' for n in range(QUERIES)))
    run = kept(archive, file)
    assert run.path.parent == archive.path / "runs" and run.plan == odd
    assert odd in run.systems and odd in run.report.to_json(queries=True)["queries"]["scores"] and run.faults() == []
    assert archive.runs(odd)[0].name == run.name and run.tables.scan("queries.parquet").collect()["slices"][
        0
    ].to_list() == ["type=<b>0"]


def test_the_commit_is_that_of_the_plans_folder(tmp_path: Path) -> None:
    import subprocess

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    plan = put_small(tmp_path / "small")
    assert carried_out(plan)[1].git is None
    git("init", "-q")
    assert carried_out(plan)[1].git is None, "no commit yet"
    git("add", "small/plan.toml")
    git("commit", "-qm", "x")
    clean = carried_out(plan)[1].git
    assert clean is not None and len(clean["commit"]) == 40 and clean["dirty"] is False
    plan.write_text(PLAN + "# changed\n")
    assert carried_out(plan)[1].git == clean | {"dirty": True}
