"""NumPy vector files: readers of .npy and .npz, and a writer of .npz with a record of how the vectors were made."""

import os
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.hashing import hash_vectors
from rankjury.core.text import json_text
from rankjury.core.types import Matrix, Vectors, listed, names_of
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.atomic import replacing
from rankjury.io.source import Source
from rankjury.io.vectors.quantize import DTYPES, Quantized, are_units, decode, encode
from rankjury.io.vectors.scan import (
    METADATA_NAME,
    SCHEMA,
    VALUES_NAME,
    are_single_vectors,
    array_header,
    check_member,
    member_headers,
    read_array,
    read_record,
)


@dataclass(frozen=True, eq=False)
class Raw:
    """Vectors as stored in a file; ``ids`` is None if the file has none."""

    values: NDArray[np.generic]
    ids: pl.Series | None = None


def choose_name(names: list[str], key: str | None, what: str, where: str) -> str:
    """Return the key if it is a known name, or the only name."""
    choices = listed(names, 20)
    if key is not None and key not in names:
        expected = f"one of {choices}" if names else "none"
        raise DataError(f"no {what} is called {key!r}", where=where, expected=expected)
    if key is None and len(names) != 1:
        found = f"found {len(names)} {what}s that may be the vectors{': ' if names else ''}{choices}"
        hint = f"Choose one: {where}:{names[0]}" if names else None
        raise DataError(found, where=where, expected="one", hint=hint)
    return names[0] if key is None else key


def check_vectors(ids: pl.Series, numbers: Matrix, where: str) -> Vectors:
    """Return vectors, or raise an error that names the invalid rows."""
    return Vectors(names_of(ids, where), np.ascontiguousarray(numbers), where).check()


def check_lengths(lengths: NDArray[np.integer], ids: pl.Series, where: str) -> int:
    """Return the common length; raise an error that names the ids of any other length."""
    distinct, counts = np.unique(lengths, return_counts=True)
    common = int(distinct[counts.argmax()]) if len(distinct) else 0
    if len(distinct) > 1:
        others = listed(ids.filter(pl.Series(lengths != common)))
        found = f"vectors of unequal length: {others} not of {common:,} numbers"
        raise DataError(found, where=where, expected="one length for all")
    return common


def load(source: Source, holds: str = "vectors") -> Any:
    """Return the array of an .npy file of ``vectors`` or ``ids``, or raise an error with the reason."""
    source.refuse_pickle("vectors")
    with guard_reading(source.name, "NumPy"), source.stream() as file:
        _, dtype = array_header(file)
        if dtype.hasobject:
            raise _pickled_array(source.name, holds)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return read_array(file, size)


def _pickled_array(path: str, holds: str, name: str | None = None) -> DataError:
    """Return the error for an array of objects, with the command that converts it; ``name``: its name in an .npz."""
    array = "a" if name is None else f"a[{name!r}]"
    load = f"np.load({path!r}, allow_pickle=True)"
    load, save = (load, f"np.save({path!r}, a)") if name is None else (f"dict({load})", f"np.savez({path!r}, **a)")
    plain = f"{array}.astype(str)" if holds == "ids" else f"np.stack(list({array}.ravel())).astype('float32')"
    hint = f'convert it: python -c "import numpy as np; a = {load}; {array} = {plain}; {save}"'
    found = "holds pickled Python objects (dtype object), which can run code when opened"
    where, expected = path if name is None else f"{path}:{name}", "numbers, or strings of NumPy's own type"
    return DataError(found, where=where, expected=expected, hint=f"If you trust the file, {hint}")


def read_npy(source: Source, key: str | None) -> Raw:
    """Read one array, without ids."""
    if key is not None:
        raise DataError(f"an .npy file has one unnamed array, so :{key} cannot be selected", where=source.name)
    return Raw(load(source))


def read_npz(source: Source, key: str | None) -> Raw:
    """Read arrays by name: one of ids, or one vector per id as ``np.savez(path, **{id: vector})`` writes.

    With several arrays, the ids of each are called ``{array}_ids``.
    """
    with guard_reading(source.name, "NumPy"), source.stream() as file:
        if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
            raise ValueError("not an archive of arrays")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            members = arrays.zip.namelist()
            names = [name.removesuffix(".npy") for name in members if name.endswith(".npy")] or list(arrays.files)
            headers = member_headers(arrays.zip)
            if key is None and are_single_vectors(headers):
                return _by_id(names, [_member(arrays.zip, name, source.name) for name in names], source.name)
            id_name = find_ids(names, key)
            ids_of_others = {f"{name}_ids" for name in names}
            choices = [name for name in names if name != id_name and name not in ids_of_others]
            chosen = choose_name(choices, key, "array", source.name)
            id_name = f"{chosen}_ids" if f"{chosen}_ids" in names else id_name
            for name in filter(None, (chosen, id_name)):
                if name in headers and headers[name][1].hasobject:
                    raise _pickled_array(source.name, "ids" if name == id_name else "vectors", name)
            values = _member(arrays.zip, chosen, source.name)
            ids = None if id_name is None else _member(arrays.zip, id_name, source.name)
            recorded = METADATA_NAME in members and chosen == VALUES_NAME
            record = read_record(arrays.zip, source.name) if recorded else None
    if record is not None:
        values = _decoded(values, record, source.name)
    return Raw(values, None if ids is None else ids_of(ids, f"{source.name}:{id_name}"))


def _member(archive: zipfile.ZipFile, name: str, where: str) -> NDArray[Any]:
    """Return one array of an .npz file; refuse one that becomes too large when it is decompressed."""
    if f"{name}.npy" not in archive.NameToInfo:
        raise DataError(f"{name} is not an array", where=where, expected="arrays as np.savez writes them")
    entry = check_member(archive, f"{name}.npy", where)
    with archive.open(entry) as file:
        return read_array(file, entry.file_size)


def find_ids(names: Iterable[str], key: str | None = None) -> str | None:
    """Return the array of an .npz file that has the ids of the array ``key``, by its name: ids, or movie_ids."""
    others = [name for name in names if name != key]
    known = (f"{key}_ids", "ids", "id", "item_ids", "item_id", "names", "keys")
    # movie_ids, item_id and movieIds, but not centroids.
    like_ids = [name for name in others if re.search(r"(^|_)ids?$|[a-z]I[dD]s?$", name)]
    only = like_ids[0] if len(like_ids) == 1 else None
    return next((name for name in known if name in others), only)


def _by_id(names: list[str], vectors: list[NDArray[Any]], where: str) -> Raw:
    if all(re.match(r"arr_[0-9]+$", name) for name in names):
        found = f"found {len(names):,} arrays without a name, one vector each"
        hint = "Save them with np.savez(path, ids=ids, vectors=np.stack(vectors))."
        raise DataError(found, where=where, expected="ids", hint=hint)
    ids = pl.Series("id", names, dtype=pl.String)
    check_lengths(np.array(list(map(len, vectors))), ids, where)
    return Raw(np.stack(vectors), ids)


def _decoded(values: NDArray[Any], record: dict[str, Any], where: str) -> Matrix:
    """Return the numbers that rankjury's codes represent; the array must match the record."""
    dtype, dimensions = record.get("dtype"), record["dimensions"]
    stored = "uint8" if dtype == "binary" else dtype
    width = -(-dimensions // 8) if dtype == "binary" else dimensions
    if dtype not in DTYPES or str(values.dtype) != stored or values.shape != (record["count"], width):
        found = f"found an array of shape {'×'.join(map(str, values.shape))} and type {values.dtype}"
        expected = f"{record['count']:,} vectors of {dimensions:,} numbers as {dtype}, as its metadata says"
        raise DataError(found, where=f"{where}:{VALUES_NAME}", expected=expected)
    return decode(Quantized(values, dtype, dimensions, record.get("scale")))


def ids_of(array: Any, where: str) -> pl.Series:
    """Return an array of strings or whole numbers as ids."""
    if not isinstance(array, np.ndarray):
        raise DataError("not an array", where=where, expected="a list of strings or whole numbers")
    if array.ndim != 1 or array.dtype.kind not in "UiuS":
        found = f"found an array of shape {array.shape} and type {array.dtype}"
        raise DataError(found, where=where, expected="a list of strings or whole numbers")
    with guard_reading(where, "ids"):
        names = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
        return pl.Series("id", names.tolist(), dtype=pl.String) if names.dtype.kind == "U" else pl.Series("id", names)


def check_output(path: Path) -> None:
    """Check that an output file name ends in .npz."""
    if path.suffix.lower() != ".npz":
        raise UsageError(f"cannot write vectors as {path.name!r}", expected="a name that ends in .npz")


def write_vectors(path: Path, vectors: Vectors, record: Mapping[str, Any], *, dtype: str) -> dict[str, Any]:
    """Write vectors and return the metadata: the record and the properties of the vectors.

    Vectors whose ids are their row numbers are written without ids.
    """
    check_output(path)
    codes = encode(vectors.values, dtype, where=vectors.source)
    metadata = {
        "schema": SCHEMA,
        **record,
        "dimensions": codes.dimensions,
        "count": len(vectors),
        "dtype": dtype,
        **({} if codes.scale is None else {"scale": codes.scale}),
        "normalised": are_units(vectors.values),
        "vectors_sha256": hash_vectors(vectors),
    }
    with replacing(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        content = json_text(metadata)
        archive.writestr(_zip_entry(METADATA_NAME), content.encode())
        if not vectors.numbered:
            names = vectors.ids.to_list()
            ids = np.array(names, dtype=np.str_)
            if ids.tolist() != names:  # NumPy drops zeros at the end of a string
                name_with_zero = next(name for name in names if name.endswith("\0"))
                found = f"the id {name_with_zero!r} ends in a zero byte, which NumPy's strings cannot"
                raise DataError(found, where=vectors.source)
            _write_array(archive, "ids", ids)
        _write_array(archive, VALUES_NAME, codes.array)
    return metadata


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    with archive.open(_zip_entry(f"{name}.npy"), "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def _zip_entry(name: str) -> zipfile.ZipInfo:
    # The earliest time of the format, for identical bytes: the time of writing is in the record only.
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.create_system = 3
    member.external_attr = 0o644 << 16
    return member
