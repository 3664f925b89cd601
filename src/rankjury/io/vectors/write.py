"""Writer of vectors: an .npz with rankjury's record of how they were made; its bytes are determined by both."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankjury.core.hashing import hash_vectors
from rankjury.core.text import json_text
from rankjury.core.types import Vectors
from rankjury.errors import DataError, UsageError
from rankjury.io.atomic import replacing
from rankjury.io.vectors.quantize import are_units, encode
from rankjury.io.vectors.scan import METADATA_NAME, SCHEMA, VALUES_NAME


def check_output(path: Path) -> None:
    """Refuse a name that does not end in .npz."""
    if path.suffix.lower() != ".npz":
        raise UsageError(f"cannot write vectors as {path.name!r}", expected="a name that ends in .npz")


def write_vectors(path: Path, vectors: Vectors, record: Mapping[str, Any], *, dtype: str) -> dict[str, Any]:
    """Write the file whole, and return its metadata: the record and the facts about the vectors themselves.

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
        archive.writestr(_member(METADATA_NAME), content.encode())
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
    with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    # As early as an archive can tell: the time of writing is in the record alone.
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.create_system = 3
    member.external_attr = 0o644 << 16
    return member
