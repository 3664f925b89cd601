"""Files of vectors: every format gives the same Vectors, and every fault is a RankjuryError that names it."""

import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save

from rankjury.core.types import Vectors
from rankjury.errors import DataError, RankjuryError, UsageError
from rankjury.io.vectors import VECTOR_SUFFIXES, read_vectors
from tests.io.support import COMPRESS, put

IDS = ["x", "y", "z"]
ROWS = [[0.5, -1.0], [2.0, 0.25], [0.0, 3.0]]  # exact in float16
ARRAY = np.array(ROWS, dtype=np.float32)


def npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(**arrays: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def parquet(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def by_header(header: str, body: bytes = ARRAY.tobytes()) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + body


def refused(path: Path | str, **options: Any) -> RankjuryError:
    with pytest.raises(RankjuryError) as caught:
        read_vectors(path, **options)
    assert caught.value.exit_code in (2, 3)
    return caught.value


def holds(vectors: Vectors, dtype: Any, ids: list[str] = IDS) -> None:
    assert vectors.ids.to_list() == ids
    assert vectors.values.tolist() == ROWS
    assert vectors.values.dtype == np.dtype(dtype) and vectors.values.dtype.isnative
    assert vectors.values.flags.c_contiguous and not vectors.values.flags.writeable


OBJECTS = [{"id": name, "vector": row, "title": "t"} for name, row in zip(IDS, ROWS, strict=True)]
FORMS: dict[str, str | bytes] = {
    "v.npz": npz(vectors=ARRAY.astype(np.float64), ids=np.array(IDS)),
    "v.parquet": parquet({"id": IDS, "title": ["t"] * 3, "vector": ROWS}),
    "array.pq": parquet({"id": IDS, "vector": pl.Series(ROWS, dtype=pl.Array(pl.Float64, 2))}),
    "v.json": json.dumps(dict(zip(IDS, ROWS, strict=True))),
    "objects.json": json.dumps(OBJECTS),
    "space.json": json.dumps({"only": dict(zip(IDS, ROWS, strict=True))}),
    "v.jsonl": "\n".join(map(json.dumps, OBJECTS)),
    "v.NDJSON": "\r\n".join(map(json.dumps, OBJECTS)) + "\r\n",
    "v.safetensors": save({"vectors": ARRAY.astype(np.float64)}, {"ids": json.dumps(IDS)}),
}


@pytest.mark.parametrize("name", FORMS)
def test_all_forms_give_the_same(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, FORMS[name])
    vectors = read_vectors(path)
    holds(vectors, np.float64)
    assert vectors.source == str(path) and len(vectors) == 3 and vectors.dimensions == 2


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("name", ["v.json", "v.jsonl"])
def test_text_may_be_compressed(tmp_path: Path, name: str, packing: str) -> None:
    holds(read_vectors(put(tmp_path, name + packing, FORMS[name])), np.float64)


def test_packed_arrays_are_refused_and_not_called_pickles(tmp_path: Path) -> None:
    (tmp_path / "v.npy.gz").write_bytes(COMPRESS[".gz"](npy(ARRAY)))
    assert "pickle" not in str(refused(tmp_path / "v.npy.gz"))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f2", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_keep_their_width(tmp_path: Path, dtype: str, order: Any) -> None:
    array = np.array(ROWS, dtype=dtype, order=order)
    kept = np.dtype(dtype).newbyteorder("=")
    holds(read_vectors(put(tmp_path, "v.npy", npy(array))), kept, ["0", "1", "2"])
    holds(read_vectors(put(tmp_path, "w.npz", npz(ids=np.array(IDS), a=array))), kept)
    if np.dtype(dtype).isnative:
        holds(
            read_vectors(
                put(tmp_path, "v.safetensors", save({"a": np.ascontiguousarray(array)}, {"ids": json.dumps(IDS)}))
            ),
            kept,
        )


@pytest.mark.parametrize("dtype", [pl.Float16, pl.Float32, pl.Float64])
@pytest.mark.parametrize("column", [pl.List, lambda inner: pl.Array(inner, 2)])
def test_columns_keep_their_width(tmp_path: Path, dtype: Any, column: Callable[[Any], Any]) -> None:
    path = put(tmp_path, "v.parquet", parquet({"id": IDS, "v": pl.Series(ROWS, dtype=column(dtype))}))
    holds(read_vectors(path), {pl.Float16: "f2", pl.Float32: "f4", pl.Float64: "f8"}[dtype])


@pytest.mark.parametrize(
    ("dtype", "wide"), [("i1", "f4"), ("u2", "f4"), (">i2", "f4"), ("i4", "f8"), (">u4", "f8"), ("i8", "f8")]
)
def test_whole_numbers_become_floats_that_hold_them(tmp_path: Path, dtype: str, wide: str) -> None:
    largest = np.iinfo(dtype).max if np.dtype(dtype).itemsize < 8 else 2**53
    array = np.array([[largest, 0], [1, 2]], dtype=dtype)
    vectors = read_vectors(put(tmp_path, "v.npy", npy(array)))
    assert vectors.values.dtype == np.dtype(wide) and vectors.values.tolist() == array.tolist()
    if np.dtype(dtype).isnative:
        columns = {"id": ["a", "b"], "v": pl.Series(list(array))}
        assert read_vectors(put(tmp_path, "v.parquet", parquet(columns))).values.tolist() == array.tolist()


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize <= 8, reason="no float wider than 64 bits here")
def test_wider_floats_are_narrowed_and_named_where_they_overflow(tmp_path: Path) -> None:
    holds(read_vectors(put(tmp_path, "v.npy", npy(ARRAY.astype(np.longdouble)))), "f8", ["0", "1", "2"])
    array = np.array([[1, 2], [np.finfo(np.longdouble).max, 0]], dtype=np.longdouble)
    assert "infinite numbers in the vectors of 1;" in str(refused(put(tmp_path, "w.npy", npy(array))))


@pytest.mark.parametrize("name", ["v[1].parquet", "v*.parquet", "v[1].json", "v [a].npz"])
def test_names_are_no_patterns(tmp_path: Path, name: str) -> None:
    holds(read_vectors(put(tmp_path, name, FORMS["v" + Path(name).suffix])), np.float64)


def with_bad(bad: float) -> list[list[float]]:
    return [[1.0, 2.0], [3.0, bad], [5.0, 6.0], [bad, bad]]


BAD_IDS = ["a", "b", "c", "d"]
FINITE: dict[str, Callable[[float], str | bytes]] = {
    "v.npy": lambda bad: npy(np.array(with_bad(bad))),
    "half.npy": lambda bad: npy(np.array(with_bad(bad), dtype=np.float16)),
    "v.npz": lambda bad: npz(v=np.array(with_bad(bad), dtype=np.float32), ids=np.array(BAD_IDS)),
    "v.parquet": lambda bad: parquet({"id": BAD_IDS, "v": with_bad(bad)}),
    "v.json": lambda bad: json.dumps(dict(zip(BAD_IDS, with_bad(bad), strict=True))),
    "v.safetensors": lambda bad: save({"v": np.array(with_bad(bad))}, {"ids": json.dumps(BAD_IDS)}),
}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", FINITE)
def test_rows_that_are_not_finite_are_named(tmp_path: Path, name: str, bad: float) -> None:
    error = refused(put(tmp_path, name, FINITE[name](bad)))
    assert error.found.endswith("vectors of 1, 3" if name.endswith(".npy") else "vectors of b, d")
    assert error.exit_code == 3 and error.hint


def test_rows_far_down_are_named_and_counted(tmp_path: Path) -> None:
    array = np.ones((40_000, 2), dtype=np.float32)
    array[[5, 16_383, 16_384, 20_000, 32_768, 39_999], 1] = np.nan
    error = refused(put(tmp_path, "v.npy", npy(array)))
    assert error.found.endswith("the vectors of 5, 16383, 16384, 20000, 32768 … (6 in all)")


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["bare.npy", "object.npy", "object.npz", "ids.npz", "bare.npz", "bare.safetensors"])
def test_no_pickle_is_opened(tmp_path: Path, name: str) -> None:
    sprung = tmp_path / "sprung"
    objects = np.array([[Trap(sprung)]], dtype=object)
    content = npy(objects) if name == "object.npy" else npz(a=objects)
    content = npz(a=ARRAY[:1], ids=objects[0]) if name == "ids.npz" else content
    content = pickle.dumps(Trap(sprung)) if name.startswith("bare") else content
    np.load(io.BytesIO(pickle.dumps(Trap(sprung))), allow_pickle=True)
    assert sprung.exists(), "the trap works"
    sprung.unlink()
    error = refused(put(tmp_path, name, content))
    assert not sprung.exists() and error.exit_code == 3
    if name.startswith(("object", "ids")) or name == "bare.npy":
        assert "pickled" in str(error)


def zip_of(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


NPY, NPZ, TENSORS, PARQUET = npy(ARRAY), npz(a=ARRAY), FORMS["v.safetensors"], FORMS["v.parquet"]
assert isinstance(TENSORS, bytes) and isinstance(PARQUET, bytes)
HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s, 2), }"
EIGHT = json.dumps({"a": {"dtype": "F8_E4M3", "shape": [3, 2], "data_offsets": [0, 6]}}).encode()
SHAPES: list[tuple[str, NDArray[Any], str]] = [
    ("scalar", np.array(3.0), "type float64"),
    ("flat", np.zeros(3), "an array of shape 3 "),
    ("deep", np.zeros((2, 2, 2)), "shape 2×2×2"),
    ("text", np.array([["a", "b"]]), "type <U1"),
    ("complex", np.zeros((2, 2), dtype=complex), "type complex128"),
    ("bool", np.zeros((2, 2), dtype=bool), "type bool"),
    ("date", np.zeros((2, 2), dtype="M8[s]"), "type datetime64"),
    ("no_rows", np.zeros((0, 2)), "found 0 vectors of 2 numbers"),
    ("no_columns", np.zeros((2, 0)), "found 2 vectors of 0 numbers"),
]
TEXTS = [
    ('{"a": [1, 2], "b": [3], "c": [4, 5], "d": []}', "unequal length: b, d not of 2 numbers"),
    ('[{"id": "a", "v": [1]}, {"id": "b", "v": [1, 2]}, {"id": "c", "v": [1]}]', "unequal length: b not"),
    ('{"a": [1, null], "b": [2, 3], "c": [true, 1], "d": ["1", 2], "e": 5}', "no list of numbers for a, c, d, e"),
    ('[{"id": "a", "v": [1]}, {"id": "b"}]', "object 2 has no v"),
    ('[{"id": "a", "v": [1]}, 3]', "found list"),
    ('{"a": [1' + "0" * 400 + "]}", "a"),
    ('{"a": [1e999]}', "infinite numbers in the vectors of a"),
    ("{}", "found 0 vectors"),
    ("[]", "found list"),
    ("3", "found int"),
    ('{"a": ' * 100_000, "JSON"),
    ("[" * 100_000, "JSON"),
]
LINES = [
    ('{"id": "a", "v": [1]}\n{"id": "b", "v": [1, 2]}\n{"id": "c", "v": [1]}', "unequal length: b not of 1"),
    ('{"id": "a", "v": [1]}\n{"id": "b"}\n{"id": "c", "v": null}', "no vector for b, c"),
    ('{"id": "a", "v": [1, null]}', "infinite numbers in the vectors of a"),
    ('{"id": "a", "v": ["x"]}', "found 0 columns"),
    ("[1, 2]", "JSONL"),
    ("\t", "only blank lines"),
]
COLUMNS: list[tuple[dict[str, Any], str]] = [
    ({"id": ["a", "b", "c"], "v": [[1.0, 2.0], [3.0], [4.0, 5.0]]}, "unequal length: b not of 2 numbers"),
    ({"id": ["a", "b"], "v": [[1.0], None]}, "no vector for b"),
    ({"id": ["a", "b"], "v": pl.Series([None, [1, 2]], dtype=pl.Array(pl.Int64, 2))}, "no vector for a"),
    ({"id": ["a", "b"], "v": pl.Series([[1, 2], [1, None]], dtype=pl.Array(pl.Int64, 2))}, "in the vectors of b"),
    ({"id": ["a"], "v": [["1"]], "w": [[[1.0]]]}, "found 0 columns"),
    ({"id": pl.Series([], dtype=pl.String), "v": pl.Series([], dtype=pl.List(pl.Float32))}, "found 0 vectors"),
]
BROKEN: list[tuple[str, str | bytes, str]] = [
    *((f"{n}{suffix}", b"", "empty") for n, suffix in enumerate(VECTOR_SUFFIXES)),
    *((f"cut{n}.npy", NPY[:n], "NumPy") for n in (3, 8, 20, 100, len(NPY) - 1)),
    *((f"cut{n}.npz", NPZ[:n], "NumPy") for n in (3, 40, len(NPZ) - 1)),
    *((f"cut{n}.safetensors", TENSORS[:n], "cannot be read as safetensors") for n in (5, 40, len(TENSORS) - 1)),
    *((f"cut{n}.parquet", PARQUET[:n], "cannot be read as Parquet") for n in (4, 30, len(PARQUET) - 1)),
    *((f"cut{n}.json", str(FORMS["v.json"])[:n], "not JSON") for n in (1, 9, 30)),
    ("cut.jsonl", str(FORMS["v.jsonl"])[:-1], "not JSON"),
    ("zip.npy", NPZ, "NumPy"),
    ("array.npz", NPY, "NumPy"),
    ("crc.npz", NPZ.replace(ARRAY.tobytes(), bytes(24)), "CRC"),
    ("text.npz", zip_of("a.txt", b"hello"), "a.txt is not an array"),
    ("hollow.npz", zip_of("a.npy", b""), "NumPy"),
    ("none.npz", npz(), "found 0 arrays"),
    ("ids_only.npz", npz(ids=np.array(IDS)), "found 0 arrays"),
    ("header.npy", by_header("{'descr': '<f4', 'shape': (3, 2)"), "NumPy"),
    ("brackets.npy", by_header("[" * 300), "NumPy"),
    ("overflow.npy", by_header(HUGE % 10**20), "NumPy"),
    ("memory.npy", by_header(HUGE % 10**15), "NumPy"),
    ("minus.npy", by_header(HUGE % -3), "NumPy"),
    *((f"{suffix}.npy", npy(array), found) for suffix, array, found in SHAPES),
    *((f"{suffix}.npz", npz(a=array), found) for suffix, array, found in SHAPES),
    *((f"{n}.json", text, found) for n, (text, found) in enumerate(TEXTS)),
    *((f"{n}.jsonl", text, found) for n, (text, found) in enumerate(LINES)),
    *((f"{n}.parquet", parquet(columns), found) for n, (columns, found) in enumerate(COLUMNS)),
    ("scalar.safetensors", save({"a": np.array(3.0)}), "type float64"),
    ("bool.safetensors", save({"a": ARRAY > 0}), "type bool"),
    ("eight.safetensors", len(EIGHT).to_bytes(8, "little") + EIGHT + bytes(6), "has no attribute"),
    ("utf16.json", '{"a": [1]}'.encode("utf-16"), "UTF-16"),
    ("latin.jsonl", '{"id": "é", "v": [1]}'.encode("latin-1"), "not UTF-8"),
]


@pytest.mark.parametrize(("name", "content", "found"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_what_is_damaged_is_an_error_of_the_data(tmp_path: Path, name: str, content: str | bytes, found: str) -> None:
    error = refused(put(tmp_path, name, content))
    assert isinstance(error, DataError) and found in str(error) and str(tmp_path / name) in str(error.where)


def test_what_is_not_there_or_of_no_known_kind(tmp_path: Path) -> None:
    assert "no such file" in str(refused(tmp_path / "none.npy"))
    assert "folder" in str(refused(tmp_path))
    error = refused(put(tmp_path, "v.bin", NPY))
    assert isinstance(error, UsageError) and all(suffix in str(error.expected) for suffix in VECTOR_SUFFIXES)


# --- inputs that have to be converted, or to be chosen from -------------------------------------------------------


def converts(error: RankjuryError, folder: Path) -> None:
    """Run the line that the error gives, which the owner of the file may run."""
    line = str(error.hint)
    command = line[line.index('python -c "') + len('python -c "') : line.rindex('"')]
    subprocess.run([sys.executable, "-c", command], cwd=folder, check=True, timeout=120)


def test_an_array_for_each_id(tmp_path: Path) -> None:
    """np.savez(path, **{id: vector}) was refused: three arrays that may be the vectors."""
    path = put(tmp_path, "v.npz", npz(**dict(zip(IDS, ARRAY, strict=True))))
    holds(read_vectors(path), np.float32)


def test_arrays_for_ids_must_be_of_one_length_and_have_names(tmp_path: Path) -> None:
    path = put(tmp_path, "v.npz", npz(x=ARRAY[0], y=ARRAY[1], z=ARRAY[2, :1]))
    assert "unequal length: z not of 2 numbers" in str(refused(path))
    buffer = io.BytesIO()
    np.savez(buffer, *ARRAY)
    assert "3 arrays without a name" in str(refused(put(tmp_path, "w.npz", buffer.getvalue())))


@pytest.mark.parametrize("name", ["movie_ids", "item_id", "movieIds", "IDS_id", "id"])
def test_ids_under_another_name(tmp_path: Path, name: str) -> None:
    """np.savez(path, movie_ids=…, embeddings=…) was refused: two arrays that may be the vectors."""
    path = put(tmp_path, "v.npz", npz(**{name: np.array(IDS), "embeddings": ARRAY}))
    holds(read_vectors(path), np.float32)
    holds(read_vectors(f"{path}:embeddings"), np.float32)


def test_centroids_are_no_ids(tmp_path: Path) -> None:
    path = put(tmp_path, "v.npz", npz(centroids=ARRAY, embeddings=ARRAY))
    assert "centroids, embeddings" in str(refused(path))


@pytest.mark.parametrize("name", ["v.npz", "v.npy", "v.ids.npy"])
def test_object_arrays_are_refused_with_the_line_that_converts_them(tmp_path: Path, name: str) -> None:
    ids, rows = np.array(IDS, dtype=object), np.empty(3, dtype=object)
    rows[:] = list(ARRAY)
    content = {"v.npz": npz(vectors=ARRAY, movie_ids=ids), "v.npy": npy(rows), "v.ids.npy": npy(ids)}
    path = put(tmp_path, name, content[name])
    if name == "v.ids.npy":
        path = put(tmp_path, "v.npy", npy(ARRAY))
    error = refused(path)
    assert isinstance(error, DataError) and "pickled" in str(error)
    converts(error, tmp_path)
    holds(read_vectors(path), np.float32, ["0", "1", "2"] if name == "v.npy" else IDS)


@pytest.mark.parametrize("name", ["v.pkl", "v.pickle", "v.bin", "v"])
def test_pickles_are_refused_with_the_line_that_converts_them(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, pickle.dumps(dict(zip(IDS, ARRAY, strict=True))))
    error = refused(path)
    assert isinstance(error, DataError) and "pickled" in str(error)
    converts(error, tmp_path)
    holds(read_vectors(tmp_path / "v.npz"), np.float32)


@pytest.mark.parametrize("name", ["v.pt", "v.pth", "pytorch_model.bin"])
def test_tensors_of_torch_are_refused_with_the_line_that_converts_them(tmp_path: Path, name: str) -> None:
    error = refused(put(tmp_path, name, zip_of("archive/data.pkl", pickle.dumps({}))))
    assert isinstance(error, DataError) and "weights_only=True" in str(error.hint)


def test_spaces_within_each_id(tmp_path: Path) -> None:
    """{id: {space: vector}} was read as spaces that are called by the ids."""
    tree = {name: {"title": row, "plot": [7.0, 7.0]} for name, row in zip(IDS, ROWS, strict=True)}
    path = put(tmp_path, "v.json", json.dumps(tree))
    error = refused(path)
    assert "2 spaces that may be the vectors: title, plot" in str(error) and f"{path}:title" in str(error.hint)
    holds(read_vectors(f"{path}:title"), np.float64)
    assert "title, plot" in str(refused(f"{path}:nothing"))
    only = put(tmp_path, "only.json", json.dumps({name: {"title": row} for name, row in zip(IDS, ROWS, strict=True)}))
    holds(read_vectors(only), np.float64)
    del tree["y"]["title"]
    put(tmp_path, "v.json", json.dumps(tree))
    assert "no vector of the space 'title' for y" in str(refused(f"{path}:title"))
