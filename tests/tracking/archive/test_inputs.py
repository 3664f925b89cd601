"""What a plan reads, and what of it is kept."""

import sys
import tomllib
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from rankjury.plan.archive import RunRecorder, plan_name
from rankjury.plan.input_digests import digest_inputs, list_inputs
from rankjury.plan.parse import read_plan
from rankjury.plan.toml import to_toml
from tests.tracking.archive.made import PLAN, put_small


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("gold.qrels", "queries.csv", "items.csv", "run", "odd:name.csv", "ids.txt"):
        (tmp_path / name).write_text(name)
    np.save(tmp_path / "v.npy", np.eye(2))
    (tmp_path / "v.ids.txt").write_text("a\nb\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").write_text("w")
    (tmp_path / "model" / "deep").mkdir()
    (tmp_path / "model" / "deep" / "more.bin").write_text("m")
    (tmp_path / "log").mkdir()
    for name in ("ratings.csv", "movies.csv", "report.json"):
        (tmp_path / "log" / name).write_text(name)
    (tmp_path / "own_of_inputs.py").write_text("def f(): ...\n")
    return tmp_path


SETTINGS = {
    "name": "items.csv",
    "measures": ["run"],
    "outputs": ["items.csv"],
    "meta": {"model": "model"},
    "gold": {"kind": "run", "path": "gold.qrels"},
    "systems": {
        "a": {"kind": "vectors", "path": "v.npy", "metric": "model"},
        "b": {"kind": "texts", "model": "model", "open": {"folder": "log", "call": "own_of_inputs:f"}},
    },
    "slices": ["queries.csv:type,length(quantiles=3)", "odd:name.csv:x"],
    "item_slices": "no/such.csv:x",
}


def test_all_that_is_read_by_its_spelling(folder: Path) -> None:
    found = list_inputs(SETTINGS, folder)
    expected = {"gold.qrels", "v.npy", "v.npy, ids", "model", "own_of_inputs", "queries.csv", "odd:name.csv"}
    assert set(found) == expected
    assert all(len(digest or "") == 64 for digest in digest_inputs(found).values())


@pytest.mark.parametrize(
    ("file", "name"), [("gold.qrels", "gold.qrels"), ("v.ids.txt", "v.npy, ids"), ("model/deep/more.bin", "model")]
)
def test_any_change_is_one(folder: Path, file: str, name: str) -> None:
    before = digest_inputs(list_inputs(SETTINGS, folder))
    (folder / file).write_bytes((folder / file).read_bytes() + b"#")
    after = digest_inputs(list_inputs(SETTINGS, folder))
    assert {key for key in before if before[key] != after[key]} == {name}


def test_a_file_that_moves_within_a_folder_is_a_change(folder: Path) -> None:
    before = digest_inputs(list_inputs(SETTINGS, folder))["model"]
    (folder / "model" / "weights.bin").rename(folder / "model" / "w2.bin")
    assert digest_inputs(list_inputs(SETTINGS, folder))["model"] != before


@pytest.mark.parametrize("spelling", ["log", "log/", "./log"])
def test_of_a_folder_with_a_log_only_what_is_read(folder: Path, spelling: str) -> None:
    found = list_inputs({"gold": {"kind": "interactions", "path": spelling}}, folder)
    assert set(found) == {f"{spelling.rstrip('/')}/ratings.csv", f"{spelling.rstrip('/')}/movies.csv"}


def test_standard_input_is_unknown(folder: Path) -> None:
    assert digest_inputs(list_inputs({"gold": "-", "systems": {"a": "gold.qrels"}}, folder))["-"] is None


def test_odd_texts_name_nothing(folder: Path) -> None:
    assert list_inputs({"gold": ["x" * 5000, "a\0b", "", ":", "::", "no_such_module:f"]}, folder) == {}


def test_nothing_is_run_to_find_a_module(folder: Path) -> None:
    """``queries.csv:type`` may be the name of a function, csv being a module of the package queries."""
    (folder / "queries.py").write_text("open('ran', 'w')")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("open('ran', 'w')")
    (folder / "package" / "inner.py").write_text("open('ran', 'w')")
    before = sys.path.copy()
    found = list_inputs({"slices": "queries.csv:type", "gold": "package.inner:f", "lab": "json.decoder:f"}, folder)
    assert set(found) == {"queries.csv", "package.inner", "json.decoder"}
    assert found["package.inner"] == folder / "package" / "inner.py"
    assert not (folder / "ran").exists() and sys.path == before


def test_words_and_the_plans_own_folder_are_none(folder: Path) -> None:
    words = {"kind": "run", "no_value": ["-", ".", "model"], "select": ["run"], "separator": "/", "path": "gold.qrels"}
    assert set(list_inputs({"gold": words}, folder)) == {"gold.qrels"}
    assert list_inputs({"gold": {"path": "."}}, folder) == list_inputs({"gold": {"path": ".."}}, folder) == {}
    assert set(list_inputs({"gold": {"path": "."}}, folder / "log")) == {"./ratings.csv", "./movies.csv"}
    assert set(list_inputs({"systems": {"of": {"path": "run"}}}, folder)) == {"run"}, "a system may be called anything"


def test_what_vanishes_is_left_out(folder: Path) -> None:
    found = list_inputs(SETTINGS, folder)
    (folder / "gold.qrels").unlink()
    assert "gold.qrels" not in digest_inputs(found)


def test_a_dsn_is_not_kept_in_a_run(tmp_path: Path) -> None:
    meta = '\n[meta]\nsource = "postgresql://me:hunter2@host/db"\n'
    origin = RunRecorder(read_plan(put_small(tmp_path / "small", PLAN + meta))).origin()
    assert "hunter2" not in str(origin) and "me:***@host" in str(origin.text)
    assert origin.plan["meta"]["source"] == "postgresql://me:***@host/db"


def test_the_plan_is_kept_without_its_comments(tmp_path: Path) -> None:
    text = PLAN + '# the old key: hunter2\n[meta]\n"odd key" = "a\\"b\\u007f"\nratio = 1e-05\nyes = true\n'
    checked = read_plan(put_small(tmp_path / "small", text))
    origin = RunRecorder(checked).origin()
    assert tomllib.loads(origin.text or "") == tomllib.loads(text) and "hunter2" not in (origin.text or "")
    assert origin.file == "plan.toml" and plan_name(checked) == "small"
    assert set(origin.plan) == {
        *("name", "gold", "measures", "headline", "baseline", "slices", "names", "targets", "systems", "statistics"),
        "meta",
    }, "nothing that it leaves unsaid"


def test_the_text_is_that_of_the_beginning(tmp_path: Path) -> None:
    plan = put_small(tmp_path / "small")
    begun = RunRecorder(read_plan(plan))
    plan.write_text("# something else")
    assert tomllib.loads(begun.origin().text or "") == tomllib.loads(PLAN)


def test_tables_lists_and_odd_values_survive_as_toml() -> None:
    content = {
        "a": 1, "b": [1.5, "x", {"k": "v", "w": {}}, []], "empty": {}, "inf": float("inf"), "day": date(2026, 1, 2),
        "t": {"deep": {"er": {"x": "\n\t\\"}}, "a.b": {"c": 1}, "list": [{"x": 1}, {"x": 2}]},
    }  # fmt: skip
    assert tomllib.loads(to_toml(content)) == content


def test_absolute_paths_are_shortened(tmp_path: Path) -> None:
    folder = tmp_path / "home-of-alice"
    elsewhere = tmp_path / "disk-of-bob"
    put_small(folder)
    put_small(elsewhere)
    plan = PLAN.replace('"gold.qrels"', f'"{folder}/gold.qrels"').replace('"old.trec"', f'"{elsewhere}/new.trec"')
    plan = plan.replace('"items.csv:title"', f'"{elsewhere}/items.csv:title"')
    (folder / "plan.toml").write_text(f'{plan}\n[meta]\ndata = "{elsewhere}/raw"\n')
    origin = RunRecorder(read_plan(folder / "plan.toml")).origin()
    assert "alice" not in f"{origin.plan}{origin.text}{origin.inputs}" + "".join(origin.inputs)
    assert "bob" not in f"{origin.plan}{origin.text}{origin.inputs}"
    assert set(origin.inputs) == {"gold.qrels", "new.trec", "new.trec (2)", "queries.csv", "items.csv"}
    assert origin.plan["names"] == "items.csv:title" and origin.plan["meta"]["data"] == "raw"
