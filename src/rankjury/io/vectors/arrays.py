"""NumPy files: one array in .npy, several by name in .npz, never pickles; and the checks of vectors that are read."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Matrix, Vectors, listed, names_of
from rankjury.errors import DataError, guard_reading
from rankjury.io.source import Source
from rankjury.io.vectors.quantize import DTYPES, Quantized, decode
from rankjury.io.vectors.scan import (
    METADATA_NAME,
    VALUES_NAME,
    are_single_vectors,
    array_header,
    check_member,
    member_headers,
    parse_metadata,
    read_array,
    read_record,
)

_CHOICES_LISTED = 20


@dataclass(frozen=True, eq=False)
class Raw:
    """Vectors as a file holds them; ``ids`` is None where it holds none."""

    values: NDArray[np.generic]
    ids: pl.Series | None = None


def choose_name(names: list[str], key: str | None, what: str, where: str) -> str:
    """The one that the key names, or the only one there is."""
    if key is not None and key not in names:
        expected = f"one of {listed(names, _CHOICES_LISTED)}" if names else "none"
        raise DataError(f"no {what} is called {key!r}", where=where, expected=expected)
    if key is None and len(names) != 1:
        found = f"found {len(names)} {what}s that may be vectors" + (
            f": {listed(names, _CHOICES_LISTED)}" if names else ""
        )
        hint = f"Name one: {where}:{names[0]}" if names else None
        raise DataError(found, where=where, expected="one", hint=hint)
    return names[0] if key is None else key


def check_vectors(ids: pl.Series, numbers: Matrix, where: str) -> Vectors:
    """Vectors, or an error that names the rows at fault."""
    return Vectors(names_of(ids, where), np.ascontiguousarray(numbers), where).check()


def check_lengths(lengths: NDArray[np.integer], ids: pl.Series, where: str) -> int:
    """The length that most have; an error that names those of another."""
    found, counts = np.unique(lengths, return_counts=True)
    usual = int(found[counts.argmax()]) if len(found) else 0
    if len(found) > 1:
        odd = ids.filter(pl.Series(lengths != usual))
        raise DataError(
            f"vectors of unequal length: {listed(odd)} of other than {usual:,} numbers",
            where=where,
            expected="one length for all",
        )
    return usual


_ID_NAMES = ("ids", "id", "item_ids", "item_id", "names", "keys")
_LIKE_IDS = re.compile(r"(^|_)ids?$|[a-z]I[dD]s?$")
"""movie_ids, item_id and movieIds, but not centroids."""
_WITHOUT_NAME = re.compile(r"arr_[0-9]+$")
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06")


def load(source: Source, holds: str = "vectors") -> Any:
    """Return the array of an .npy file of ``vectors`` or ``ids``, or raise an error that says why there is none."""
    source.refuse_pickle("vectors")
    with _opened(source) as file:
        _, dtype = array_header(file)
        if dtype.hasobject:
            plain = "a.astype(str)" if holds == "ids" else "np.stack(list(a.ravel())).astype('float32')"
            loaded, saved = f"a = np.load({source.name!r}, allow_pickle=True)", f"np.save({source.name!r}, {plain})"
            raise _objects(source.name, f"{loaded}; {saved}")
        file.seek(0)
        return read_array(file, len(source.content) if source.path is None else source.path.stat().st_size)


def _objects(where: str, conversion: str) -> DataError:
    return DataError(
        "holds pickled Python objects (dtype object), which can run code when they are opened",
        where=where,
        expected="numbers, or strings of NumPy's own type",
        hint=f'If you trust the file, convert it: python -c "import numpy as np; {conversion}"',
    )


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    """The file while NumPy reads it, and an error that says why it cannot."""
    held = source.path is None or source.held is not None
    with (
        guard_reading(source.name, "NumPy"),
        io.BytesIO(source.content) if held or source.path is None else source.path.open("rb") as file,
    ):
        yield file


def read_npy(source: Source, key: str | None) -> Raw:
    """One array, without ids."""
    if key is not None:
        raise DataError(f"an .npy file holds one array, and none called {key!r}", where=source.name)
    return Raw(load(source))


def read_npz(source: Source, key: str | None) -> Raw:
    """Read arrays by name: one of them the ids, or a vector for each id as ``np.savez(path, **{id: vector})`` writes.

    The ids of one array among several are called ``{array}_ids``.
    """
    with _opened(source) as file:
        if file.read(4) not in _ARCHIVES:
            raise ValueError("no archive of arrays")
        file.seek(0)
        with np.load(file, allow_pickle=False) as held:
            members = held.zip.namelist()
            names = [name.removesuffix(".npy") for name in members if name.endswith(".npy")] or list(held.files)
            if key is None and are_single_vectors(member_headers(held.zip)):
                return _by_id(names, [_member(held.zip, name, source.name) for name in names], source.name)
            id_name = find_ids(names, key)
            arrays = [name for name in names if name != id_name and not _are_ids_of(name, names)]
            chosen = choose_name(arrays, key, "array", source.name)
            id_name = f"{chosen}_ids" if f"{chosen}_ids" in names else id_name
            for name in filter(None, (chosen, id_name)):
                _refuse_objects(held.zip, name, source.name, "ids" if name == id_name else "vectors")
            values = _member(held.zip, chosen, source.name)
            ids = None if id_name is None else _member(held.zip, id_name, source.name)
            recorded = METADATA_NAME in members and chosen == VALUES_NAME
            record = read_record(held.zip, source.name) if recorded else None
    if record is not None:
        values = _decoded(values, parse_metadata(record, source.name), source.name)
    return Raw(values, None if ids is None else ids_of(ids, f"{source.name}:{id_name}"))


def _member(archive: zipfile.ZipFile, name: str, where: str) -> NDArray[Any]:
    """Return one array of an .npz file; refuse one that becomes too large when it is decompressed."""
    if f"{name}.npy" not in archive.NameToInfo:
        raise DataError(f"{name} is no array", where=where, expected="arrays as np.savez writes them")
    entry = check_member(archive, f"{name}.npy", where)
    with archive.open(entry) as file:
        return read_array(file, entry.file_size)


def find_ids(names: Iterable[str], key: str | None = None) -> str | None:
    """Return which array of an .npz file holds the ids of the array ``key``, by its name: ids, or movie_ids."""
    others = [name for name in names if name != key]
    like_ids = [name for name in others if _LIKE_IDS.search(name)]
    known = next((name for name in (f"{key}_ids", *_ID_NAMES) if name in others), None)
    return known or (like_ids[0] if len(like_ids) == 1 else None)


def _by_id(names: list[str], vectors: list[NDArray[Any]], where: str) -> Raw:
    if all(map(_WITHOUT_NAME.match, names)):
        raise DataError(
            f"found {len(names):,} arrays without a name, one vector each",
            where=where,
            expected="ids",
            hint="Save them with np.savez(path, ids=ids, vectors=np.stack(vectors)).",
        )
    ids = pl.Series("id", names, dtype=pl.String)
    check_lengths(np.array([len(one) for one in vectors]), ids, where)
    return Raw(np.stack(vectors), ids)


def _refuse_objects(archive: zipfile.ZipFile, name: str, path: str, holds: str) -> None:
    header = member_headers(archive).get(name)
    if header is not None and header[1].hasobject:
        array = f"a[{name!r}]"
        plain = f"{array}.astype(str)" if holds == "ids" else f"np.stack(list({array}.ravel())).astype('float32')"
        loaded, saved = f"a = dict(np.load({path!r}, allow_pickle=True))", f"np.savez({path!r}, **a)"
        raise _objects(f"{path}:{name}", f"{loaded}; {array} = {plain}; {saved}")


def _are_ids_of(name: str, names: list[str]) -> bool:
    return name.endswith("_ids") and name.removesuffix("_ids") in names


def _decoded(values: NDArray[Any], record: dict[str, Any], where: str) -> Matrix:
    """The numbers that rankjury's codes stand for, if array and record are of one another."""
    dtype, dimensions = record.get("dtype"), record["dimensions"]
    stored = "uint8" if dtype == "binary" else dtype
    width = -(-dimensions // 8) if dtype == "binary" else dimensions
    if dtype not in DTYPES or str(values.dtype) != stored or values.shape != (record["count"], width):
        raise DataError(
            f"found an array of shape {'×'.join(map(str, values.shape))} and type {values.dtype}",
            where=f"{where}:{VALUES_NAME}",
            expected=f"{record['count']:,} vectors of {dimensions:,} numbers as {dtype}, as its metadata says",
        )
    return decode(Quantized(values, dtype, dimensions, record.get("scale")))


def ids_of(held: Any, where: str) -> pl.Series:
    """An array's strings or whole numbers."""
    if not isinstance(held, np.ndarray) or held.ndim != 1 or held.dtype.kind not in "UiuS":
        found = f"an array of shape {held.shape} and type {held.dtype}" if isinstance(held, np.ndarray) else "no array"
        raise DataError(f"found {found}", where=where, expected="a list of strings or whole numbers")
    with guard_reading(where, "ids"):
        names = np.char.decode(held, "utf-8") if held.dtype.kind == "S" else held
        return pl.Series("id", names.tolist(), dtype=pl.String) if names.dtype.kind == "U" else pl.Series("id", names)
