"""Which format a file is in: its content first, its suffix where the content leaves it open, --format above both."""

import io
import pickle
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DataError, UnknownName
from rankjury.io.formats import FORMATS, format_of, kind_of, read
from rankjury.io.source import Source
from rankjury.io.vectors.scan import holds_vectors
from tests.io.support import exact, put, read_rows

RUN = "q1 Q0 d1 1 2.5 tag\n"
QRELS = "q1 0 d1 1\n"
CSV = "query_id,item_id,score\nq1,d1,2.5\n"
TSV = CSV.replace(",", "\t")
JSON = '{"q1": {"d1": 2.5}}\n'
PRETTY = '{\n  "q1": {\n    "d1": 2.5\n  }\n}\n'
JSONL = '{"query_id": "q1", "item_id": "d1", "score": 2.5}\n'
HITS = '{"query_id": "q1", "hits": [{"id": "d1", "score": 2.5}]}\n'
LONG = HITS.replace("d1", "d" * 100_000) * 2
LONG_JSON = JSON.replace("d1", "d" * 100_000)
RECORDS = '[{"query_id": "q1", "item_id": "d1", "score": 2.5}]'


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("run.trec", RUN, "trec"),
        ("run.txt", RUN, "trec"),
        ("run", RUN, "trec"),
        ("run.tsv", RUN.replace(" ", "\t"), "trec"),
        ("run.foo", RUN, "trec"),
        ("qrels.test", QRELS, "trec"),
        ("qrels.dev.tsv", "1185869\t0\t0\t1\n1185868\t0\t16\t1\n", "trec"),
        ("qrels.tsv.gz", "1185869\t0\t0\t1\n", "trec"),
        ("run.csv", CSV, "csv"),
        ("run.txt", CSV, "csv"),
        ("run", CSV, "csv"),
        ("run.CSV.GZ", CSV, "csv"),
        ("run.tsv", TSV, "tsv"),
        ("run.csv", TSV, "tsv"),
        ("run", TSV, "tsv"),
        ("run.csv", CSV.replace(",", ";"), "csv"),
        ("run.json", JSON, "json"),
        ("run", JSON, "json"),
        ("run.trec", PRETTY, "json"),
        ("run.json", RECORDS, "json"),
        ("run.jsonl", JSONL, "jsonl"),
        ("run.ndjson", JSONL * 2, "jsonl"),
        ("run", JSONL * 2, "jsonl"),
        ("run.json", JSONL * 2, "jsonl"),
        ("run.json", JSON.replace("}}", "},\n") + '"q2": {"d1": 1}}', "json"),
        ("run.json", JSONL, "jsonl"),
        ("run", JSONL, "jsonl"),
        ("run.json", HITS, "jsonl"),
        ("run", HITS * 2, "jsonl"),
        ("run.json", LONG, "jsonl"),
        ("run.json", '{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("run.json", '{"query": {"d1": 2.5}}\n', "json"),
        ("run.json", LONG_JSON, "json"),
        ("run.trec", "[1] Q0 d1 1 2.5 tag\n", "trec"),
        ("run.trec", "{a} Q0 d1 1 2.5 tag\n", "trec"),
    ],
)
def test_format_is_told_by_content_and_suffix(tmp_path: Path, name: str, text: str, form: str) -> None:
    assert format_of(Source.open(put(tmp_path, name, text))) == form


def test_ms_marco_qrels_are_read_as_trec(tmp_path: Path) -> None:
    path = put(tmp_path, "qrels.dev.small.tsv", "300674\t0\t7067032\t1\n125705\t0\t7067056\t1\n")
    assert read_rows(path, "gold") == exact([("300674", "7067032", 1.0), ("125705", "7067056", 1.0)])


@pytest.mark.parametrize(
    ("form", "text"), [("trec", RUN), ("csv", CSV), ("tsv", TSV), ("json", JSON), ("jsonl", JSONL)]
)
@pytest.mark.parametrize("suffix", [".parquet", ".json", ".trec", ".csv", ".foo"])
def test_a_given_format_is_above_the_suffix(tmp_path: Path, form: str, text: str, suffix: str) -> None:
    assert read_rows(put(tmp_path, "file" + suffix, text), "run", form) == exact([("q1", "d1", 2.5)])


def test_a_given_format_is_above_the_content(tmp_path: Path) -> None:
    path = put(tmp_path, "run.txt", "query_id,item_id,score Q0 d1 1 2.5 tag\n")
    assert read_rows(path, "run", "trec") == exact([("query_id,item_id,score", "d1", 2.5)])


def test_an_unknown_format_is_an_error_of_usage(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        read(put(tmp_path, "run.trec", RUN), "run", "jsn")
    assert "json" in str(caught.value)
    assert caught.value.exit_code == 2


def test_every_format_is_known_by_name() -> None:
    assert set(FORMATS) == {"trec", "json", "jsonl", "csv", "tsv", "parquet"}


# --- standard input -----------------------------------------------------------------------------------------------


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"query_id": ["q1"], "item_id": ["d1"], "score": [2.5]}).write_parquet(buffer)
    return buffer.getvalue()


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    "data",
    [RUN.encode(), CSV.encode(), TSV.encode(), JSON.encode(), (JSONL * 2).encode(), _parquet()],
    ids=["trec", "csv", "tsv", "json", "jsonl", "parquet"],
)
def test_standard_input_is_told_by_content(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(data))
    found = read("-", "run")
    assert found.select("query_id", "item_id", "score").row(0) == ("q1", "d1", 2.5)


@pytest.mark.parametrize("data", [b"", b"\n", b" \t\r\n\n"])
def test_nothing_on_standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(data))
    with pytest.raises(DataError, match="standard input: no input"):
        read("-", "run")


# --- what cannot be read at all -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["file.trec", "file.csv", "file.json", "file.jsonl", "file.parquet", "file"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="the file is empty"):
        read(put(tmp_path, name, ""), "run")


@pytest.mark.parametrize("name", ["file.trec", "file.csv", "file.json", "file.jsonl", "file", "file.csv.gz"])
@pytest.mark.parametrize("text", ["\n", " \t\n\n", "\r\n"])
def test_a_file_of_blanks(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DataError, match="only blank lines"):
        read(put(tmp_path, name, text), "run")


@pytest.mark.parametrize("name", ["file.trec", "file.csv", "file.json", "file.jsonl", "file.tsv"])
@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("latin-1", "not UTF-8"),
        ("cp1252", "not UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", None),
        ("utf-32", None),
    ],
)
def test_other_encodings_are_recognised(tmp_path: Path, name: str, encoding: str, found: str | None) -> None:
    text = {
        "file.trec": RUN,
        "file.csv": CSV,
        "file.tsv": TSV,
        "file.json": JSON,
        "file.jsonl": JSONL * 2,
    }[name].replace("d1", "dé")
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, name, text.encode(encoding)), "run")
    if found is not None:
        assert found in caught.value.found
        assert caught.value.expected == "UTF-8"


@pytest.mark.parametrize("name", ["file.trec", "file.csv", "file.jsonl"])
def test_the_line_that_is_not_utf8_is_named(tmp_path: Path, name: str) -> None:
    """Far behind the part that is looked at to tell the format."""
    start, line = {"file.trec": ("", RUN), "file.csv": (CSV, "q1,d1,2.5\n"), "file.jsonl": ("", JSONL)}[name]
    data = (start + line * 20_000).encode() + line.replace("d1", "dé").encode("latin-1")
    with pytest.raises(DataError, match="not UTF-8") as caught:
        read(put(tmp_path, name, data), "run")
    assert caught.value.where == f"{tmp_path / name}:{20_001 + start.count(chr(10))}"


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found a folder"):
        read(tmp_path, "run")
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere.trec", "run")


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read(tmp_path / ("x" * 300), "run")


@pytest.mark.parametrize(
    "name", ["run[1].trec", "run*.trec", "run?.csv", "run[1].jsonl", "run[a-z].parquet", "~run.json"]
)
def test_names_are_taken_as_they_stand(tmp_path: Path, name: str) -> None:
    """No pattern is expanded: beside each file stands another that the pattern would match."""
    text = {".trec": RUN, ".csv": CSV, ".jsonl": JSONL, ".json": JSON, ".parquet": _parquet()}[Path(name).suffix]
    for other in ("run1", "runx", "runa"):
        put(tmp_path, other + Path(name).suffix, "")
    assert read_rows(put(tmp_path, name, text), "run") == exact([("q1", "d1", 2.5)])


@pytest.mark.parametrize("name", ["file.trec", "file.csv", "file.json"])
def test_a_byte_order_mark_alone_is_blank(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="only blank lines"):
        read(put(tmp_path, name, "\ufeff"), "run")


@pytest.mark.parametrize("text", [RUN, QRELS, CSV], ids=["run", "qrels", "csv"])
def test_line_ends_of_old_macs_are_an_error_of_the_data(tmp_path: Path, text: str) -> None:
    """Never one long line of which only the first row is read."""
    with pytest.raises(DataError):
        read(put(tmp_path, "file.txt", (text * 2).replace("\n", "\r")), "run")


# --- gold or run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.trec", RUN, "run"),
        ("a.qrels", QRELS, "gold"),
        ("a.csv", CSV, "run"),
        ("a.csv", CSV.replace("2.5", "2"), "gold"),
        ("a.csv", "query_id,item_id,grade\nq1,d1,0.5\n", "gold"),
        ("a.csv", "query_id,item_id,rank\nq1,d1,1\n", "run"),
        ("a.json", JSON, "run"),
        ("a.json", JSON.replace("2.5", "2"), "gold"),
        ("a.jsonl", JSONL, "run"),
    ],
)
def test_kind_is_told_by_columns_then_by_values(tmp_path: Path, name: str, text: str, kind: str) -> None:
    assert kind_of(Source.open(put(tmp_path, name, text))) == kind


def test_kind_of_nonsense_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        kind_of(Source.open(put(tmp_path, "a.csv", "a,b\n1,2\n")))


# --- vectors or a run -----------------------------------------------------------------------------------------------


def _table(**columns: pl.Series) -> bytes:
    held = io.BytesIO()
    pl.DataFrame(columns).write_parquet(held)
    return held.getvalue()


_LISTS = pl.Series([[0.5, 1.0], [0.1, 0.2]])


@pytest.mark.parametrize(
    ("name", "content", "vectors"),
    [
        ("a.npy", b"\x93NUMPY", True),
        ("a.NPZ", b"PK\x03\x04", True),
        ("a.safetensors", b"\x00", True),
        ("a.parquet", _table(id=pl.Series(["a", "b"]), vector=_LISTS), True),
        ("a.pq", _table(id=pl.Series(["a", "b"]), vector=_LISTS.list.to_array(2)), True),
        ("a.parquet", _table(id=pl.Series([1, 2]), vector=pl.Series([[1, 2], [3, 4]], dtype=pl.List(pl.Int8))), True),
        ("a.parquet", _table(query_id=pl.Series(["a"]), item_id=pl.Series(["b"]), score=pl.Series([0.5])), False),
        ("a.parquet", _table(query_id=pl.Series(["a"]), items=pl.Series([["b", "c"]])), False),
        ("a.parquet", b"PAR1 and nothing more", False),
        ("a.jsonl", '{"id": "a", "vector": [0.5, 1]}\n', True),
        ("a.jsonl", '\n\n{"vector": [0.5, 1.0], "id": 7}\n{"id"', True),
        ("a.ndjson", '\ufeff{"id": "a", "text": "x", "vector": [-1e-3, 2]}\n', True),
        ("a.jsonl.gz", '{"id": "a", "vector": [0.5, 1.5]}\n', True),
        ("a.jsonl.zst", '{"id": "a", "vector": [0.5, 1.5]}\n', True),
        ("a.jsonl", JSONL, False),
        ("a.jsonl", '{"query_id": "q", "items": [1, 2, 3]}\n', False),
        ("a.jsonl", '{"query_id": "q", "items": ["1.5", "2.5"]}\n', False),
        ("a.jsonl", '{"id": "a", "vector": [0.5, true]}\n', False),
        ("a.jsonl", '{"id": "a", "vector": [0.5, null]}\n', False),
        ("a.jsonl", '{"id": "a", "vector": [0.5]}\n', False),
        ("a.jsonl", "[0.5, 1.5]\n", False),
        ("a.jsonl", "no JSON\n", False),
        ("a.jsonl", "\n \n", False),
        ("a.json", '{"a": [0.5, 1.0], "b": [0.1, 0.2]}', True),
        ("a.json.gz", '{"a": [0.5, 1.0]}', True),
        ("a.json", '[{"id": "a", "vector": [0.5, 1.0]}]', True),
        ("a.json", '{"space": {"a": [0.5, 1.0], "b": [0.1, 0.2]}}', True),
        ("a.json", JSON, False),
        ("a.json", RECORDS, False),
        ("a.json", '{"q": ["a", "b"]}', False),
        ("a.json", '{"q": [1, 2]}', False),
        ("a.json", '{"q": {}}', False),
        ("a.json", "{}", False),
        ("a.json", "[]", False),
        ("a.json", "[[0.5, 1.0]]", False),
        ("a.json", "0.5", False),
        ("a.json", "not JSON", False),
        ("a.json", "[" * 100_000, False),
        ("a.json", '{"a": [' + "9" * 5_000 + "]}", False),
        ("a.trec", RUN, False),
        ("a.csv", CSV, False),
        ("a.tsv", TSV, False),
        ("a", '{"id": "a", "vector": [0.5, 1]}\n', False),
    ],
)
def test_vectors_are_told_from_runs(tmp_path: Path, name: str, content: str | bytes, vectors: bool) -> None:
    assert holds_vectors(put(tmp_path, name, content)) is vectors
    assert holds_vectors(str(tmp_path / name)) is vectors


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".json"])
def test_a_vector_longer_than_the_part_that_is_looked_at(tmp_path: Path, suffix: str) -> None:
    """4,096 numbers of 20 digits are more than 64 KB in one line."""
    numbers = ", ".join(f"0.{number:018d}1" for number in range(4_096))
    line = f'{{"id": "a", "vector": [{numbers}]}}'
    text = f"[{line}]" if suffix == ".json" else line + "\n" + line + "\n"
    assert holds_vectors(put(tmp_path, "a" + suffix, text))


def test_a_file_of_vectors_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    put(tmp_path, "a1.parquet", _table(query_id=pl.Series(["a"])))
    assert holds_vectors(put(tmp_path, "a[1].parquet", _table(id=pl.Series(["a", "b"]), vector=_LISTS)))


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_another_encoding_is_an_error_and_no_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="UTF-16"):
        holds_vectors(put(tmp_path, name, '{"a": [0.5, 1.0]}'.encode("utf-16")))


@pytest.mark.parametrize("name", ["run.pkl", "run.trec", "run"])
def test_a_pickled_run_is_refused_with_the_line_that_converts_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(pickle.dumps({"q": {"a": 1.5}}))
    with pytest.raises(DataError, match="pickled") as caught:
        read(path, "run")
    line = str(caught.value.hint)
    command = line[line.index('python -c "') + len('python -c "') : line.rindex('"')]
    subprocess.run([sys.executable, "-c", command], check=True, timeout=60)
    assert read(tmp_path / "run.json", "run").rows() == [("q", "a", 1.5)]
